"""Every write of the servers over folders: shown before, done as shown, taken back exactly, never over a later change."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from gate.rules.action import Preview
from servers.audit import server as audit_server
from servers.clipboard import server as clipboard_server
from servers.clipboard_programs import Held
from servers.data import server as data_server
from servers.document import server as document_server
from servers.knowledge import server as knowledge_server
from servers.knowledge.tasks import SCHEMA
from servers.meeting import server as meeting_server
from servers.security import server as security_server
from tests.servers import papers
from tests.servers.all_servers import log
from tests.servers.files import Clock, tree
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_security_tools import key_beside

Args = dict[str, Any]
State = Any


@dataclass(frozen=True)
class Case:
    """One change: the call, what its preview must say, and what somebody does to its target afterwards."""

    tool: str
    args: Args
    shows: tuple[str, ...]
    spoil: Callable[[Path], None]
    before: tuple[tuple[str, Args], ...] = ()


@dataclass(frozen=True)
class House:
    """A server over a folder: what is in it, and how to see all that it keeps."""

    app: Callable[[Path], MCPServer]
    fill: Callable[[Path], None]
    state: Callable[[Path], State]
    cases: list[Case] = field(default_factory=list)


BOOKS = """
CREATE TABLE bill(id INTEGER PRIMARY KEY, who TEXT, amount REAL, paid INT DEFAULT 0, at TEXT DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE line(id INTEGER PRIMARY KEY, bill INT REFERENCES bill(id) ON DELETE CASCADE, what TEXT);
CREATE TABLE log(what TEXT);
CREATE TRIGGER told AFTER UPDATE ON bill BEGIN INSERT INTO log VALUES (new.id || ' at ' || datetime('now')); END;
CREATE TABLE rate(currency TEXT, day TEXT, value REAL, proof BLOB, PRIMARY KEY (currency, day)) WITHOUT ROWID;
INSERT INTO bill(who, amount, at) VALUES ('Ann', 12.5, 'x'), ('Bob', 0.1, 'x'), ('Cyd', 99, 'x');
INSERT INTO line(bill, what) VALUES (1, 'pens'), (1, 'ink'), (2, 'tea');
INSERT INTO rate VALUES ('EUR', '2026-01-01', 1.1, x'00ff');
"""
BILL = {"table": "bill", "op": "update", "where": {"id": 2}, "values": {"paid": 1}}


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as base:
        return list(base.iterdump())


def run(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as base:
        base.executescript(sql)


def fill_data(root: Path) -> None:
    run(root / "books.sqlite", BOOKS)
    (root / "old.csv").write_text("name,amount\nAnn,1\n")
    (root / "twice.csv").write_text("who;n\nBob Jones;1\nAnn;7\nbob  JONES;2\n")


def fill_documents(root: Path) -> None:
    files = {"a.md": papers.TEXT.encode(), "old.txt": b"old", "old.docx": papers.docx("old")}
    for name, data in (files | {"a.pdf": papers.pdf(), "form.pdf": papers.form("Ann")}).items():
        (root / name).write_bytes(data)


def fill_secrets(root: Path) -> None:
    (root / "a.txt").write_text("the plan")
    (root / "old.age").write_text("something old")


def fill_notes(root: Path) -> None:
    (root / "deep").mkdir()
    (root / "a.md").write_text("The lease ends in May.")
    (root / "deep" / "b.md").write_text("Dogs.")


def index_of(root: Path) -> Path:
    return root / ".countersign" / "knowledge" / "index.sqlite"


def knowledge_state(root: Path) -> State:
    return tree(root), index_of(root).read_bytes() if index_of(root).exists() else None


def other_index(root: Path) -> None:
    """Somebody puts an index of their own there."""
    index_of(root).parent.mkdir(parents=True, exist_ok=True)
    index_of(root).unlink(missing_ok=True)
    run(index_of(root), SCHEMA + "INSERT INTO folder VALUES ('elsewhere', 1);")


def data_state(root: Path) -> State:
    files = {name: what for name, what in tree(root).items() if not name.endswith(".sqlite")}
    return files, dump(root / "books.sqlite")


class Board:
    """A clipboard that is a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Held:
        text = self.path.read_text() if self.path.exists() else ""
        return Held("text" if text else "empty", text)

    def write(self, text: str) -> None:
        self.path.write_text(text)


def fill_meeting(root: Path) -> None:
    (root / "notes.md").write_text(
        "Attendees: Ann, Bob\nDecision: move in May\nAction: Ann will call by 2026-12-01\n"
    )
    (root / "old.md").write_text("old\n")


def fill_audit(root: Path) -> None:
    (root / "old.pdf").write_bytes(b"old")


def rewrite(name: str) -> Callable[[Path], None]:
    """Somebody writes another file of that name."""

    def by_somebody(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        (root / name).write_text("by somebody else")

    return by_somebody


def sql(statement: str) -> Callable[[Path], None]:
    return lambda root: run(root / "books.sqlite", statement)


TABLE = {"columns": ["name", "amount"], "rows": [["Bob, jr.", 2], ["Cyd", None]]}
HOUSES = {
    "data": House(
        app=lambda root: data_server([root], Clock()),
        fill=fill_data,
        state=data_state,
        cases=[
            Case("write_csv", {"path": "new.csv", **TABLE}, ('"Bob, jr.",2',), rewrite("new.csv")),
            Case("write_csv", {"path": "old.csv", **TABLE}, ("-Ann,1", '+"Bob, jr.",2'), rewrite("old.csv")),
            Case(
                "write_without_duplicates",
                {"source": "twice.csv", "destination": "twice.csv", "columns": ["who"]},
                ("- row 3: bob  JONES · 2 (as row 1: Bob Jones · 1)",),
                rewrite("twice.csv"),
            ),
            Case(
                "write_without_duplicates",
                {"source": "books.sqlite", "table": "line", "destination": "old.csv", "columns": ["bill"]},
                ("- row 2: 2 · 1 · ink (as row 1: 1 · 1 · pens)",),
                rewrite("old.csv"),
            ),
            Case(
                "write_sqlite",
                {"path": "books.sqlite", "changes": [BILL]},
                (" who: \"Bob\"", "-paid: 0\n+paid: 1", "@@ log, row 1 (added)", "(known when it is done)"),
                sql("UPDATE bill SET amount = 7 WHERE id = 2"),
            ),
            Case(
                "write_sqlite",
                {
                    "path": "books.sqlite",
                    "changes": [
                        {"table": "bill", "op": "delete", "where": [{"column": "who", "value": "Ann"}]},
                        {"table": "bill", "op": "insert", "values": {"who": "Dee", "amount": 1e300}},
                        {"table": "rate", "op": "update", "where": {"currency": "EUR"}, "values": {"day": "2026-01-02"}},
                        {"table": "rate", "op": "insert", "values": {"currency": "€", "day": "d", "value": None}},
                    ],
                },
                ('-what: "pens"', '-who: "Ann"', '+who: "Dee"', "(binary, 2 bytes) 00ff"),
                sql("INSERT OR REPLACE INTO bill(id, who) VALUES (1, 'Eve')"),
            ),
            Case(
                "restore_rows",
                {"record": "{record}"},
                ("-paid: 1\n+paid: 0",),
                sql("DELETE FROM bill WHERE id = 2"),
                before=(("write_sqlite", {"path": "books.sqlite", "changes": [BILL]}),),
            ),
            Case(
                "restore_file",
                {"trash_id": "{trash_id}"},
                ("old.csv (in place of the present one",),
                rewrite("old.csv"),
                before=(("write_csv", {"path": "old.csv", **TABLE}),),
            ),
            Case("delete_file", {"path": "old.csv"}, ("old.csv",), rewrite("old.csv")),
        ],
    ),
    "document": House(
        app=lambda root: document_server([root], Clock()),
        fill=lambda root: fill_documents(root),
        state=tree,
        cases=[
            Case("create_pdf", {"path": "new.pdf", "content": "# Hi"}, ("new.pdf (new), 1 page",), rewrite("new.pdf")),
            Case("create_docx", {"path": "old.docx", "content": "Hi", "title": "T"}, ("old.docx (in place of",), rewrite("old.docx")),
            Case("convert_format", {"source": "a.md", "destination": "old.txt"}, ("-old", "+The lease"), rewrite("old.txt")),
            Case("convert_format", {"source": "a.md", "destination": "a.docx"}, ("+a.docx (new)",), rewrite("a.docx")),
            Case("merge_pdfs", {"sources": ["a.pdf", "form.pdf"], "destination": "all.pdf"}, ("a.pdf, 1 page", "all.pdf (new), 2 pages"), rewrite("all.pdf")),
            Case("fill_pdf_form", {"path": "form.pdf", "values": {"name": "Bob"}, "destination": "form.pdf"}, ("-name: Ann\n+name: Bob",), rewrite("form.pdf")),
            Case("restore_file", {"trash_id": "{trash_id}"}, ("old.txt (in place of the present one",), rewrite("old.txt"), before=(("convert_format", {"source": "a.md", "destination": "old.txt"}),)),
            Case("delete_file", {"path": "old.txt"}, ("old.txt",), rewrite("old.txt")),
        ],
    ),
    "security": House(
        app=lambda root: security_server([root], Clock(), key_beside(root)),
        fill=lambda root: fill_secrets(root),
        state=tree,
        cases=[
            Case("encrypt_file", {"path": "a.txt"}, ("a.txt", "a.txt.age (new)"), rewrite("a.txt.age")),
            Case(
                "encrypt_file",
                {"path": "a.txt", "destination": "old.age"},
                ("old.age (in place of the present one",),
                rewrite("old.age"),
            ),
            Case(
                "decrypt_file",
                {"path": "a.txt.age", "destination": "b.txt"},
                ("a.txt.age", "b.txt (new)"),
                rewrite("b.txt"),
                before=(("encrypt_file", {"path": "a.txt"}),),
            ),
            Case(
                "restore_file",
                {"trash_id": "{trash_id}"},
                ("old.age (in place of the present one",),
                rewrite("old.age"),
                before=(("encrypt_file", {"path": "a.txt", "destination": "old.age"}),),
            ),
            Case("delete_file", {"path": "old.age"}, ("old.age",), rewrite("old.age")),
        ],
    ),
    "knowledge": House(
        app=lambda root: knowledge_server([root], Clock()),
        fill=lambda root: fill_notes(root),
        state=lambda root: knowledge_state(root),
        cases=[
            Case("index_folder", {"path": "."}, ("a.md (new)", "deep/b.md (new)"), other_index),
            Case("index_folder", {"path": "deep", "recursive": False}, ("deep/b.md (new)",), other_index),
            Case(
                "update_index",
                {"path": "deep"},
                ("deep/c.md (new)",),
                other_index,
                before=(("index_folder", {"path": "deep"}), ("write", {"deep/c.md": "cats"})),
            ),
            Case(
                "restore_index",
                {"record": "{record}"},
                ("the index: from 2 files back to 0",),
                other_index,
                before=(("index_folder", {"path": "."}),),
            ),
        ],
    ),
    "clipboard": House(
        app=lambda root: clipboard_server(root.parent / "kept", Board(root / "board.txt"), Clock()),
        fill=lambda root: Board(root / "board.txt").write("former"),
        state=lambda root: Board(root / "board.txt").read(),
        cases=[
            Case("set_clipboard", {"text": "new"}, ("-former\n+new",), rewrite("board.txt")),
            Case("set_clipboard", {"text": ""}, ("-former",), rewrite("board.txt")),
            Case("restore_clipboard", {"record": "{record}"}, ("-new\n+former",), rewrite("board.txt"), before=(("set_clipboard", {"text": "new"}),)),
        ],
    ),
    "meeting": House(
        app=lambda root: meeting_server([root], Clock()),
        fill=fill_meeting,
        state=tree,
        cases=[
            Case("generate_minutes", {"source": "notes.md", "destination": "old.md"}, ("-old", "+| Call | Ann | 2026-12-01 | 3 |"), rewrite("old.md")),
            Case("restore_file", {"trash_id": "{trash_id}"}, ("old.md",), rewrite("old.md"), before=(("delete_file", {"path": "old.md"}),)),
            Case("delete_file", {"path": "old.md"}, ("old.md",), rewrite("old.md")),
        ],
    ),
    "audit": House(
        app=lambda root: audit_server(str(log(root.parent / "bot.db")), [root], clock=Clock()),
        fill=fill_audit,
        state=tree,
        cases=[
            Case("export_audit_pdf", {"path": "old.pdf"}, ("old.pdf (in place of", "1 page, 1 entry, before 2026-03-01"), rewrite("old.pdf")),
            Case("restore_file", {"trash_id": "{trash_id}"}, ("old.pdf",), rewrite("old.pdf"), before=(("delete_file", {"path": "old.pdf"}),)),
            Case("delete_file", {"path": "old.pdf"}, ("old.pdf",), rewrite("old.pdf")),
        ],
    ),
}  # fmt: skip
CASES = [
    pytest.param(name, case, id=f"{name}-{case.tool}-{n}")
    for name, house in HOUSES.items()
    for n, case in enumerate(house.cases)
]


def root_of(folder: Path) -> Path:
    root = folder / "sample"
    root.mkdir()
    return root


async def begun(gate: Gate, case: Case, root: Path) -> Args:
    """Do what comes before, and fill what it gave into the arguments."""
    args = case.args
    for tool, given in case.before:
        if tool == "write":  # not a tool: somebody else writes files
            for name, text in given.items():
                (root / name).write_text(text)
            continue
        done = await gate.do(tool, **given)
        args = {
            key: value.format(**done.result) if isinstance(value, str) else value
            for key, value in args.items()
        }
    return args


def said(preview: Preview) -> str:
    facts = "\n".join(fact.value for fact in preview.facts)
    affected = "\n".join(thing.name for thing in preview.affected)
    return "\n".join([preview.summary, preview.diff, affected, facts])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("name", "case"), CASES)
async def test_every_change_is_shown_done_and_taken_back_exactly(
    tmp_path: Path, name: str, case: Case
) -> None:
    house, root = HOUSES[name], root_of(tmp_path)
    house.fill(root)
    async with gated(tmp_path / "logs", name, house.app(root)) as gate:
        args = await begun(gate, case, root)
        before = house.state(root)
        seen = await gate.look(case.tool, **args)
        assert seen.preview.is_complete, seen.preview.problem
        assert seen.preview.undo.startswith("yes")
        assert seen.preview.diff or seen.preview.affected or case.tool == "write_csv"
        for words in case.shows:
            assert words in said(seen.preview)
        assert house.state(root) == before, "looking changed something"
        done = await gate.go_on(case.tool, seen, args)
        assert house.state(root) != before
        await gate.undo(done)
        assert house.state(root) == before
        await gate.undo_refused(done)
        assert house.state(root) == before


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("name", "case"), CASES)
async def test_what_changed_since_is_neither_overwritten_nor_taken_back(
    tmp_path: Path, name: str, case: Case
) -> None:
    house, root = HOUSES[name], root_of(tmp_path)
    house.fill(root)
    async with gated(tmp_path / "logs", name, house.app(root)) as gate:
        args = await begun(gate, case, root)
        done = await gate.do(case.tool, **args)
        case.spoil(root)
        spoilt = house.state(root)
        assert not await gate.unchanged(done)
        await gate.undo_refused(done)
        assert house.state(root) == spoilt


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(("name", "case"), CASES)
async def test_what_changed_since_it_was_shown_is_left_alone(tmp_path: Path, name: str, case: Case) -> None:
    house, root = HOUSES[name], root_of(tmp_path)
    house.fill(root)
    async with gated(tmp_path / "logs", name, house.app(root)) as gate:
        args = await begun(gate, case, root)
        seen = await gate.look(case.tool, **args)
        assert seen.preview.is_complete
        case.spoil(root)
        spoilt = house.state(root)
        await gate.refused(case.tool, **seen.args)
        assert house.state(root) == spoilt


@pytest.mark.parametrize("name", HOUSES)
async def test_every_tool_that_changes_something_is_tried(tmp_path: Path, name: str) -> None:
    house, root = HOUSES[name], root_of(tmp_path)
    async with gated(tmp_path / "logs", name, house.app(root)) as gate:
        changing = {spec.name for spec in gate.host.specs() if spec.recipe.cls != "read"}
        assert all(gate.spec(tool).recipe.undo for tool in changing)
    assert changing == {case.tool for case in house.cases}
