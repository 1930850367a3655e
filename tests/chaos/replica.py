"""A replica in a process of its own: the real composition, with short rhythms, and where ordered with a fuse."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from bot.connections import listening
from bot.heartbeats import Rhythm
from bot.settings import Settings
from bot.wiring import Rig, build, serve
from tests.chaos.failpoints import Fuse

# Takeover within seconds instead of half a minute; long enough for a machine whose cores are shared.
RHYTHM = Rhythm(beat=0.3, dead=2.0, steady=2)
SWEEP = 0.4


@dataclass(frozen=True)
class Orders:
    """What one replica has to be. Without a fuse it is `bot.wiring.serve` as it stands."""

    settings: Settings
    log: Path
    fuse: Fuse | None = None


def run(orders: Orders, line: Connection) -> None:
    """Serve until SIGTERM or until the test process is gone; says its address, or "" where it has none."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.basicConfig(filename=orders.log, level=logging.INFO, format="%(process)d %(asctime)s %(message)s")
    asyncio.run(_fused(orders.settings, orders.fuse, line) if orders.fuse else _served(orders.settings, line))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


async def _served(settings: Settings, line: Connection) -> None:
    line.send("")
    await serve(settings, rig=Rig(RHYTHM, SWEEP))


async def _fused(settings: Settings, fuse: Fuse, line: Connection) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with build(settings, rig=Rig(RHYTHM, SWEEP, fuse.dress)) as parts:
        parts.web.middlewares.append(fuse.acks)
        async with listening(parts.web, "127.0.0.1", 0, settings.http) as port:
            line.send(f"http://127.0.0.1:{port}/slack/events")
            await stop.wait()
