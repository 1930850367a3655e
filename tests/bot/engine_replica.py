"""A replica in a process of its own, for tests that kill or freeze it: `engine_replica.py URL NAME LOG [hang]`.

It carries out runs named `note`: it writes "NAME begin", and "NAME end" unless it hangs, into LOG.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from sqlalchemy.ext.asyncio import create_async_engine

from bot.engine import Engine, Job
from bot.heartbeats import Rhythm
from gate.rules.jobs import Run


def write(log: Path, line: str) -> None:
    with log.open("a") as file:
        file.write(line + "\n")


async def main(url: str, name: str, log: Path, hang: bool) -> None:
    async def work(*_: str) -> None:
        write(log, f"{name} begin")
        if hang:
            await asyncio.Event().wait()
        write(log, f"{name} end")

    engine = Engine(url, name, rhythm=Rhythm(beat=0.2, dead=1.5))
    await engine.start({"note": Job("cards", work)})
    ledger = create_async_engine(url)
    async with ledger.begin() as conn:
        await conn.run_sync(engine.enqueue, Run("note", "k", ()))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), "hang" in sys.argv[4:]))
