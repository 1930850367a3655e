"""The whole product as `make run` starts it: workspace, bot, sample folder, servers; in a home of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from bot.demo import local, sample_files
from bot.settings import Settings
from bot.wiring import Parts, build
from gate.rules.action import Session
from gate.rules.ports import Limits
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from servers.sandbox.calling import SANDBOX
from storage.migrate import migrate
from tests.plain_messages import assert_plain
from tools.mcp.server_config import ServerConfig
from tools.model.model_port import ModelConfig
from workspace.server import Workspace

OPS = "C_OPS"


@dataclass(frozen=True)
class Product:
    """What runs: the local Slack, the folder of files that the bundled server serves, the parts of the bot."""

    ws: Workspace
    files: Path
    parts: Parts

    def text(self, name: str) -> str | None:
        """The text of a file in the folder, or None where there is none."""
        path = self.files / name
        return path.read_text(encoding="utf-8") if path.exists() else None

    async def task(self, ts: str, *states: TaskState) -> Task:
        """The one task of a thread, once it is in one of these states (in a final one where none is given). Its last
        message may be seen before."""
        ledger, session = self.parts.world.ledger, Session("T1", OPS, ts)

        def is_there(task: Task) -> bool:
            return task.state in states if states else task.is_finished

        async with asyncio.timeout(40):
            while not (found := await ledger.tasks_of(session)) or not all(map(is_there, found)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        (task,) = found
        return task

    def names(self) -> set[str]:
        """The names of all files that people see there."""
        found = (path.relative_to(self.files) for path in self.files.rglob("*") if path.is_file())
        return {str(path) for path in found if path.parts[0] != ".countersign"}


@cache
def _tables() -> bytes:
    """What `migrate` makes."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "countersign.db")
        asyncio.run(migrate(f"sqlite:///{path}"))
        return path.read_bytes()


def _put_tables(database: Path) -> None:
    if not database.exists():
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        database.touch(mode=0o600)
        database.write_bytes(_tables())


@asynccontextmanager
async def _kept(parts: AbstractAsyncContextManager[Parts]) -> AsyncIterator[Parts]:
    """The parts, whose end leaves the process that opens files to the next test: it loads libraries for a second. It
    ends with this process."""
    with patch.object(SANDBOX, "stop", lambda: None):
        async with parts as made:
            yield made


@asynccontextmanager
async def running_product(
    home: Path,
    *,
    limits: Limits | None = None,
    policy: str = "",
    servers: Sequence[ServerConfig] = (),
    model: ModelConfig | None = None,
    phrases: Path | None = None,
    first: bool = False,
) -> AsyncIterator[Product]:
    """Start everything below `home`, and stop it again. `policy`: the text of a policy file. `phrases`: another
    file of phrases. `first`: there is no database yet; else there is one with all tables and no rows, which saves two
    fifths of the start."""
    if not first:
        await asyncio.to_thread(_put_tables, home / "countersign.db")
    settings = Settings.load({"COUNTERSIGN_HOME": str(home)}, home)
    settings = replace(settings, limits=limits or settings.limits, servers=tuple(servers))
    settings = replace(settings, model=model, phrases=phrases or settings.phrases)
    if policy:
        (home / "policy.yaml").write_text(policy, encoding="utf-8")
        settings = replace(settings, policy=home / "policy.yaml")
    ws, files = Workspace(), sample_files(home / "files")
    try:
        async with _kept(build(local(settings, await ws.start(), ws.installation, files))) as parts:
            await ws.settled()
            yield Product(ws, files, parts)
            assert ws.refused == []
            assert_plain(ws, parts.world.tools.specs())
    finally:
        await ws.stop()
