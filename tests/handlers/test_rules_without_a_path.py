"""Rules about files hold for calls that name no file: of what is restored, moved with its folder, or kept by an id."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from gate.actions.prepare import Answered, CallRequest, Prepared, Refused, prepare
from gate.rules.action import Action, Json, Session, Verdict
from gate.rules.planner_port import Call
from gate.rules.previews import COVERED, COVERED_BY_RULE
from gate.rules.tool import Trust
from tests.product import OPS, Product, running_product
from tools.mcp.server_config import ServerConfig

pytestmark = pytest.mark.slow

SESSION = Session("T1", OPS, "1700000000.000100")
HELD = {
    "schema": """schema:
      anyOf:
        - {required: [path], properties: {path: {pattern: "^hr/"}}}
        - {required: [source], properties: {source: {pattern: "^hr/"}}}
        - {required: [destination], properties: {destination: {pattern: "^hr/"}}}""",
    "text": 'text: "^hr/"',
}


def rule(tools: str, held: str, says: str) -> str:
    return f"version: 1\nrules:\n  - name: personnel files\n    tools: [{tools}]\n    {held}\n    {says}\n"


@dataclass
class Desk:
    """Somebody who asks for calls of one server."""

    product: Product
    server: str
    folder: Path

    async def ask(self, tool: str, **args: Json) -> Prepared | Refused | Answered:
        world = self.product.parts.world
        asked = CallRequest(world.ids.new(), SESSION, "U_ANN", Call(self.server, tool, args))
        return await prepare(world, asked)

    async def proposed(self, tool: str, **args: Json) -> Action:
        found = await self.ask(tool, **args)
        assert isinstance(found, Prepared), found
        return found.action

    async def done(self, action: Action) -> Mapping[str, Json]:
        """What the tool answers to a call that was confirmed."""
        world = self.product.parts.world
        answer = await world.tools.call(self.server, action.tool, action.args, 30, action.definition)
        found = json.loads(answer.text)
        assert isinstance(found, dict)
        return found


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


@asynccontextmanager
async def files(home: Path, policy: str) -> AsyncIterator[Desk]:
    """The bundled files, with a folder `hr` that a rule may be about."""
    _made(home)
    async with running_product(home, policy=policy) as product:
        (_made(product.files / "hr") / "pay.txt").write_text("98,000")
        yield Desk(product, "filesystem", product.files)


@pytest.mark.parametrize("held", HELD)
async def test_what_moves_or_restores_a_folder_with_such_a_file_takes_the_approver(
    tmp_path: Path, held: str
) -> None:
    policy = rule('"filesystem.*"', HELD[held], "approvers: {users: [U_BEN]}")
    async with files(tmp_path / "home", policy) as desk:
        asked = [
            await desk.proposed("write_file", path="hr/pay.txt", content="y"),
            await desk.proposed("move_file", source="hr", destination="elsewhere"),
            await desk.proposed("copy_file", source="hr", destination="elsewhere"),
            delete := await desk.proposed("delete_file", path="hr"),
            await desk.proposed("restore_file", trash_id=(await desk.done(delete))["trash_id"]),
        ]
        other = await desk.proposed("copy_file", source="drafts", destination="elsewhere")
    assert [action.tool for action in asked if action.approvers.users != {"U_BEN"}] == []
    assert not other.approvers.named


async def test_a_rule_with_a_schema_that_forbids_or_hides_is_held_against_what_is_restored(
    tmp_path: Path,
) -> None:
    says = {"deny: true": None, "private: true": Verdict.CONFIRM, "at_least: destructive": Verdict.TYPED}
    for number, (line, verdict) in enumerate(says.items()):
        policy = rule('"filesystem.restore_file"', HELD["schema"], line)
        async with files(tmp_path / str(number), policy) as desk:
            delete = await desk.proposed("delete_file", path="hr")
            found = await desk.ask("restore_file", trash_id=(await desk.done(delete))["trash_id"])
            if verdict is None:
                assert isinstance(found, Refused)
                assert "personnel files" in f"{found.reasons}"
            else:
                assert isinstance(found, Prepared)
                assert (found.action.verdict, found.action.private) == (verdict, "private" in line)


@asynccontextmanager
async def tables(home: Path, policy: str, path: str) -> AsyncIterator[Desk]:
    """A database whose rows somebody has changed."""
    shared = home / "shared"
    _made(shared / "hr")
    with closing(sqlite3.connect(shared / path)) as base:
        base.executescript(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, pay TEXT, note TEXT);"
            "INSERT INTO t VALUES (1, 'CANARY-1', 'a'), (2, 'CANARY-2', 'b');"
        )
    server = ServerConfig(name="data", inproc="servers.data:server", args=(str(shared),), trust=Trust.BUNDLED)
    async with running_product(_made(home / "product"), policy=policy, servers=[server]) as product:
        yield Desk(product, "data", shared)


async def changed(desk: Desk, path: str) -> Json:
    """The record of a change of rows."""
    where: dict[str, Json] = {"table": "t", "where": {"id": 1}, "values": {}, "op": "delete"}
    return (await desk.done(await desk.proposed("write_sqlite", path=path, changes=[where])))["record"]


PATHS = 'schema: {required: [path], properties: {path: {pattern: "^hr/"}}}'


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("cookies.sqlite", ""),
        ("hr/pay.sqlite", rule('"data.*"', HELD["text"], "private: true")),
        ("hr/pay.sqlite", rule('"data.*"', PATHS, "private: true")),
        ("hr/pay.sqlite", rule('"data.query_sqlite"', PATHS, "at_least: destructive")),
        ("hr/pay.sqlite", rule('"data.query_sqlite"', HELD["text"], "deny: true")),
        ("hr/pay.sqlite", rule('"data.preview_restore_rows"', HELD["text"], "deny: true")),
        ("hr/pay.sqlite", rule('"data.preview_restore_rows"', PATHS, "private: true")),
    ],
    ids=["secret", "private", "private by schema", "gated", "denied", "denied itself", "private itself"],
)
async def test_a_record_of_rows_that_a_rule_keeps_from_being_read_tells_none_of_them(
    tmp_path: Path, path: str, policy: str
) -> None:
    async with tables(tmp_path, policy, path) as desk:
        record = await changed(desk, path)
        told = await desk.ask("preview_restore_rows", record=record)
        assert isinstance(told, Answered)
        assert told.answer.is_error
        assert "CANARY" not in f"{told.answer}"
        action = await desk.proposed("restore_rows", record=record)
        assert (
            "CANARY" in action.preview.diff
        ) is action.private  # who may read it sees what would come back
        log = await desk.product.parts.world.ledger.audit_tail(team="T1", limit=1_000)
        assert action.private or "CANARY" not in f"{action.preview}{log}"


async def test_a_record_of_other_rows_is_told_and_shown(tmp_path: Path) -> None:
    policy = rule('"data.*"', PATHS, "private: true")
    async with tables(tmp_path, policy, "notes.sqlite") as desk:
        record = await changed(desk, "notes.sqlite")
        told = await desk.ask("preview_restore_rows", record=record)
        assert isinstance(told, Answered)
        assert "CANARY-1" in told.answer.text
        action = await desk.proposed("restore_rows", record=record)
        assert "CANARY-1" in action.preview.diff
        assert not action.private


@pytest.mark.parametrize(
    ("path", "policy", "note"),
    [
        ("cookies.sqlite", "", COVERED),
        ("hr/pay.sqlite", rule('"data.query_sqlite"', PATHS, "at_least: destructive"), COVERED_BY_RULE),
    ],
)
async def test_a_card_that_covers_what_comes_back_says_why(
    tmp_path: Path, path: str, policy: str, note: str
) -> None:
    async with tables(tmp_path, policy, path) as desk:
        action = await desk.proposed("restore_rows", record=await changed(desk, path))
    assert note in action.preview.notes
    assert path in action.preview.summary
