"""Starts, kills and awaits replicas: processes forked from one that has imported everything already."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from bot.settings import Secret, Settings
from gate.rules.ports import Limits
from tests.chaos.failpoints import Fuse
from tests.chaos.replica import Orders, run
from tests.forks import FORKS
from tools.mcp.server_config import ServerConfig
from workspace.context import Installation

INSTALLED = Installation("xoxb-chaos", "xapp-chaos", "the signing secret of the chaos tests")
KEY = "the audit key of the chaos tests, long enough"
# A claim far shorter than the shortest that an operator may set, renewed three times in its life.
LIMITS = Limits(claim=2.0, proceed=0.5, ttl=120.0, pending_per_user=1000)
SECONDS = 300.0  # for anything to come about, on a machine that has many other things to do


def settings_for(home: Path, database_url: str, redis_url: str, api_url: str, bell_url: str) -> Settings:
    """Of a replica that people reach by signed HTTP. Replicas of one database have one home."""
    return Settings(
        home=home,
        database_url=database_url,
        redis_url=redis_url,
        host="127.0.0.1",
        port=0,
        bot_token=Secret(INSTALLED.bot_token),
        signing_secret=Secret(INSTALLED.signing_secret),
        api_url=api_url,
        audit_secret=Secret(KEY),
        namespace=f"chaos-{home.name}",
        limits=LIMITS,
        servers=(ServerConfig(name="bell", url=bell_url, mode="legacy"),),
    )


async def until(true: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    """What `true` gives once it gives something; fails with `what` when it never does."""
    try:
        async with asyncio.timeout(seconds):
            while not (found := true()):  # noqa: ASYNC110 - it is true of other processes
                await asyncio.sleep(0.02)
            return found
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None


@dataclass
class Process:
    """A process that this one started. It ends with this one at the latest."""

    process: BaseProcess
    line: Connection

    @classmethod
    def start(cls, target: Callable[..., None], *args: Any) -> Process:
        ours, theirs = FORKS.Pipe()
        process = FORKS.Process(target=target, args=(*args, theirs), daemon=True)
        process.start()
        theirs.close()
        return cls(process, ours)

    @property
    def alive(self) -> bool:
        return self.process.is_alive()

    async def hear(self) -> Any:
        """What it says next; None when it ends without a word."""
        await until(self.line.poll, "a word of a replica")
        try:
            return self.line.recv()
        except EOFError:
            return None

    def signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    async def ended(self) -> int:
        """Its exit code: minus the signal when one killed it."""
        await until(lambda: not self.alive, "the end of a replica")
        assert self.process.exitcode is not None
        return self.process.exitcode

    def close(self) -> None:
        """Kill it, if it still lives, and wait for its end."""
        if self.alive:
            self.signal(signal.SIGKILL)
        self.process.join()
        self.process.close()
        self.line.close()


@dataclass
class Replica(Process):
    url: str | None = None


@dataclass
class Fleet:
    """The replicas of one database. `point` names where the first of them to come there dies."""

    settings: Settings
    bell: Path
    point: str = ""
    replicas: list[Replica] = field(default_factory=list)

    @property
    def spent(self) -> Path:
        return self.settings.home / "spent"

    @property
    def log(self) -> Path:
        return self.settings.home / "replicas.log"

    async def start(self, *, sockets: bool = False) -> Replica:
        """One more, ready to be reached; by Socket Mode it may take a moment longer."""
        fuse = None if sockets else Fuse(self.point, self.spent, self.bell)
        settings = self.settings
        if sockets:
            settings = replace(settings, app_token=Secret(INSTALLED.app_token))
        replica = Replica.start(run, Orders(settings, self.log, fuse))
        assert isinstance(replica, Replica)
        self.replicas.append(replica)
        replica.url = await replica.hear()
        if replica.url is None:
            raise AssertionError(f"a replica did not start:\n{self.said()}")
        return replica

    @property
    def urls(self) -> list[str]:
        """Where living replicas are reached."""
        return [replica.url for replica in self.replicas if replica.alive and replica.url]

    def said(self) -> str:
        """The end of what they logged."""
        return self.log.read_text()[-4000:] if self.log.exists() else ""

    def close(self) -> None:
        for replica in self.replicas:
            replica.close()
