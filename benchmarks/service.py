"""The bot in its own processes, on databases with fsync, below one directory."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import multiprocessing
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from mcp.server import MCPServer

from benchmarks.slack import INSTALLED, Slack
from bot.cli.serve import serve_as
from bot.process_priority import take_turns
from bot.settings import Secret, Settings
from gate.rules.tool import Trust
from servers.data.sources import looked
from servers.filesystem import server as filesystem
from servers.filesystem.paths import Roots
from servers.security.scan import scan_files
from storage.migrate import migrate
from tests.services import Postgres
from tools.mcp.server_config import ServerConfig

SPAWN = multiprocessing.get_context("spawn")
DURABLE = ["-c", "shared_buffers=128MB"]  # and otherwise PostgreSQL's own defaults: every commit is on disk
KEY = "the audit key of the benchmarks, long enough"
START_SECONDS = 60.0
SQLITE, POSTGRES = "SQLite", "PostgreSQL"


@dataclass
class Bench:
    """The environment of the benchmarks: a directory, Redis, PostgreSQL if installed, and a fake Slack."""

    home: Path
    redis_url: str
    slack: Slack
    api_url: str
    postgres: Postgres | None
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def databases(self) -> list[str]:
        return [SQLITE, *([POSTGRES] if self.postgres else [])]

    async def new_settings(self, database: str) -> Settings:
        """Settings with a new, migrated database of this kind and a new folder of files."""
        home = self.home / f"place{next(self.numbers)}"
        (home / "files").mkdir(parents=True)
        url = f"sqlite+aiosqlite:///{home / 'countersign.db'}"
        if database == POSTGRES:
            assert self.postgres is not None
            url = self.postgres.url(self.postgres.create())
        await migrate(url)
        return Settings(
            home=home,
            database_url=url,
            redis_url=self.redis_url,
            host="127.0.0.1",
            bot_token=Secret(INSTALLED.bot_token),
            signing_secret=Secret(INSTALLED.signing_secret),
            audit_secret=Secret(KEY),
            api_url=self.api_url,
            namespace=home.name,
            servers=(files(home),),
        )


def files(home: Path) -> ServerConfig:
    """The bundled filesystem server, which logs the start of each write."""
    args = (str(home / "files"), str(home / "began"), str(home / "work"))
    return ServerConfig(
        name="filesystem", inproc="benchmarks.service:timed_files", args=args, trust=Trust.BUNDLED
    )


def timed_files(paths: list[Path]) -> MCPServer:
    """The main function of that server: serves the first path, and logs file and time to the second.

    Beside that it does the work whose name stands in the third, as long as it stands there.
    """
    root, log, work = paths
    if work.with_name("much").exists():  # otherwise its looks would count as the idle bot's CPU
        threading.Thread(target=_beside, args=[work], daemon=True).start()
    made, out = filesystem([root]), os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def note(ctx: Any, call_next: Callable[[Any], Any]) -> Any:
        params = ctx.params or {}
        if ctx.method == "tools/call" and params.get("name") == "write_file":
            os.write(out, json.dumps([params["arguments"]["path"], time.monotonic()]).encode() + b"\n")
        return await call_next(ctx)

    made.middleware.append(note)
    return made


def _beside(work: Path) -> None:
    """Work as a tool call does it: in a thread of the bot, over the folder `much` beside the file."""
    folder = work.parent / "much"
    tasks: dict[str, Callable[[], object]] = {
        "scan": lambda: _scan_through(Roots.at([folder])),
        "table": lambda: looked(Roots.at([folder]), "t.csv", None, "twins", columns=None, alike=None),
    }
    while True:
        name = work.read_text() if work.exists() else ""
        state = work.with_name("working")
        if name:
            state.touch()
            tasks[name]()
        else:
            state.unlink(missing_ok=True)
            time.sleep(0.05)


def _scan_through(roots: Roots) -> None:
    cursor, begun = "", False
    while cursor or not begun:
        cursor, begun = scan_files(roots, ".", "credentials", cursor).next_cursor, True


def began(home: Path) -> dict[str, float]:
    """The start time of each write, by file."""
    return dict(map(json.loads, (home / "began").read_text().splitlines()))


@dataclass
class Bot:
    """One process of the bot. `url`: for Slack's requests, if the process has the role web."""

    process: BaseProcess
    url: str

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid


@asynccontextmanager
async def running(settings: Settings, *roles: frozenset[str]) -> AsyncIterator[list[Bot]]:
    """The bot, with one process per set of roles; they are killed at the end."""
    ports = [free_port() if "web" in these else 0 for these in roles]
    orders = [(replace(settings, port=port), these) for port, these in zip(ports, roles, strict=True)]
    async with AsyncExitStack() as stack:
        bots = [
            stack.enter_context(started(port, _serve, *order))
            for port, order in zip(ports, orders, strict=True)
        ]
        for bot in bots:
            await reachable(bot)
        yield bots


@contextmanager
def started(port: int, target: Callable[..., None], *args: Any) -> Iterator[Bot]:
    """A process that serves on this port (0: none); it is killed at the end."""
    process = SPAWN.Process(target=target, args=args, daemon=True)
    process.start()
    try:
        yield Bot(process, f"http://127.0.0.1:{port}/slack/events" if port else "")
    finally:
        process.kill()
        process.join()


def _serve(settings: Settings, roles: frozenset[str]) -> None:
    end_with_parent()
    take_turns()  # as `bot serve` does
    logging.basicConfig(filename=settings.home / "bot.log", level=logging.WARNING)
    asyncio.run(serve_as(settings, roles))


def end_with_parent() -> None:
    """Ends this process when its parent has ended, even by SIGKILL."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def free_port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def reachable(bot: Bot) -> None:
    """Waits until the process answers, if it serves HTTP."""
    if not bot.url:
        return
    async with ClientSession() as session, asyncio.timeout(START_SECONDS):
        while True:
            if not bot.process.is_alive():
                raise RuntimeError("the bot did not start")
            try:
                async with session.get(bot.url.replace("/slack/events", "/healthz")) as answer:
                    answer.raise_for_status()
                    return
            except OSError:
                await asyncio.sleep(0.05)
