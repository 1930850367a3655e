"""The log of the bot, as people ask for it: only read, secrets masked, reported on, exported and taken back."""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
import string
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError
from pypdf import PdfReader
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine

from gate.rules.audit import Entry
from gate.rules.canonical_json import canonical
from servers.audit import configured, report, server
from servers.audit.log import LOG, Log
from servers.audit.report import masked
from servers.command_line import zone
from servers.formats import markdown
from servers.formats.blocks import plain
from storage import audit_log
from storage.migrate import migrate
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_task_tools import Now

KEY = b"k" * 32
ONE, TWO = "T1:C1:1.1", "T2:C2:2.2"
CALL = Entry(
    event="finished", session=ONE, actor="U1", action="a1", tool="filesystem.move_file", status="success"
)
ENTRIES = [
    Entry(event="proposed", session=ONE, actor="U1", action="a1", tool="filesystem.move_file"),
    replace(CALL, user_confirmed=True, execution_ms=12, arguments='{"source":"a|b*.md"}'),
    replace(CALL, tool="filesystem.read_file", execution_ms=3, arguments='{"password":"hunter2!!"}'),
    replace(CALL, tool="task.create_task", status="error", outcome="failed", reason="漢 द <b>no</b>\x00"),
    replace(CALL, session=TWO, actor="U2", status="rejected_by_user", user_confirmed=True, reason="not now"),
]


async def written(url: str, entries: Sequence[Entry], ago: timedelta = timedelta()) -> None:
    """Put entries into a log as the bot does, dated on the servers' Saturday; the last of them today."""
    engine = create_async_engine(url)
    offset = Now()() - datetime.now(UTC) - ago
    async with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            await connection.execute(text("SELECT 1"))
        await audit_log.append(connection, audit_log.Chain(KEY), entries, offset)
    await engine.dispose()


@pytest.fixture
async def log(tmp_path: Path, migrated_sqlite: Path) -> Path:
    path = tmp_path / "bot.db"
    shutil.copyfile(migrated_sqlite, path)
    await written(f"sqlite+aiosqlite:///{path}", ENTRIES[:2], timedelta(days=2))
    await written(f"sqlite+aiosqlite:///{path}", ENTRIES[2:])
    return path


@asynccontextmanager
async def gate_over(database: object, folder: Path, team: str = "") -> AsyncIterator[Gate]:
    (folder / "reports").mkdir()
    app = server(str(database), [folder / "reports"], team, zone("UTC"), Now())
    async with gated(folder / "logs", "audit", app) as gate:
        yield gate


async def test_calls_are_listed_by_what_is_asked_for(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path) as gate:
        every = await gate("get_tool_log")
        assert [one["seq"] for one in every["entries"]] == [5, 4, 3, 2]
        assert (every["total"], every["next_before"]) == (4, None)
        assert [one["user_confirmed"] for one in every["entries"]] == [True, False, False, True]
        for args, seqs in (
            ({"every_event": True}, [5, 4, 3, 2, 1]),
            ({"tool": "filesystem"}, [5, 3, 2]),
            ({"session": ONE, "tool": "read"}, [3]),
            ({"actor": "U2"}, [5]),
            ({"status": "error"}, [4]),
            ({"until": "2026-11-19"}, [2]),
            ({"since": "today"}, [5, 4, 3]),
            ({"since": "2026-11-20", "until": "2026-11-20"}, []),
            ({"before": 4}, [3, 2]),
        ):
            found = await gate("get_tool_log", **args)
            assert [one["seq"] for one in found["entries"]] == seqs, args
        page = await gate("get_tool_log", limit=2)
        assert ([one["seq"] for one in page["entries"]], page["next_before"]) == ([5, 4], 4)
        assert "no day I know" in await gate.refused("get_tool_log", since="someday")


async def test_secrets_are_masked_and_strange_signs_shown_by_number(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path) as gate:
        for tool in ("get_tool_log", "generate_audit_report"):
            assert "hunter2" not in repr(await gate(tool))
        [error] = (await gate("get_tool_log", status="error"))["entries"]
    assert error["reason"] == "漢 द <b>no</b>\\u0000"


TOKEN = "ghp_Q3vXw9Lk2TzB7rYp5NcJ8mHs4DfG6aE1uRtV"  # made up
LONG_KEY = f"-----BEGIN PRIVATE KEY-----\n{chr(10).join('MIIJQwIBADANBgkqhkiG9w0BAQEFAASCCS0wggkpAgEAAoICAQC7' for _ in range(60))}"


@pytest.mark.parametrize(
    "before",
    [
        "# tokens\n",
        "\t",
        "a\r\n",
        '"',
        "",
        "\f",
        "\b",
        "\x1b",
        "\x1b[1;31m",
        "“",
        r"\u201C",
        "密钥：",
        "\xa0",
    ],
)
def test_a_secret_on_any_line_of_what_a_file_was_given_is_masked(before: str) -> None:
    shown = masked(
        canonical({"path": "env.txt", "content": f"{before}{TOKEN}\n{before}{TOKEN}\nend"}).decode()
    )
    assert TOKEN not in shown
    assert shown.count("ghp_•••") == 2
    assert "end" in shown


def test_of_a_key_that_is_longer_than_what_is_looked_at_nothing_is_shown() -> None:
    shown = masked(canonical({"content": f"# mine\n{LONG_KEY}\n-----END PRIVATE KEY-----"}).decode())
    assert "# mine" in shown
    assert "MIIJ" not in shown
    assert shown.endswith(" characters)")


def test_nothing_is_shown_that_was_not_looked_at() -> None:
    """What is masked becomes shorter, and what stands behind would come into sight."""
    shown = masked(f"{TOKEN} " * 48 + f"{TOKEN} " * 100)
    assert TOKEN[:12] not in shown
    for before in range(40):  # the last one is cut at any place
        assert TOKEN[:12] not in masked(f"{TOKEN} " * 40 + "x" * (400 - before) + f" {TOKEN} " + "y" * 5_000)


@pytest.mark.parametrize(
    "words",
    [
        r'{"text":"hello\",\"path\":\"/srv/other.txt","to":"a"}',
        "see [approved by U0BOSS](https://evil.example/not-approved) and [^1], ![pic](/etc/passwd)",
        "__init__.py _x_ **x** ~~not~~ `code` ``c`` a*b*c snake_case _",
        r"&lt;x&gt; &#46; <https://x.example/y> <b>no</b> C:\_x C:\new\|x a \\| b | c \\",
        "# title #",
        *(f"{one}{two}x{one}{two}" for one in string.punctuation for two in string.punctuation),
    ],
)
def test_a_report_says_arguments_and_words_as_the_log_has_them(words: str) -> None:
    (table,) = markdown.read(report._table(["Tool", "What"], [["a", words]]))
    assert [plain(cell) for cell in table.rows[1]] == ["a", words]
    (heading,) = markdown.read(f"# {report.marked(words)}")
    assert plain(heading.text) == words


async def test_a_cell_of_a_report_that_is_cut_says_so_and_spells_out_what_draws_nothing(
    log: Path, tmp_path: Path
) -> None:
    long = "pay " * 50 + "but not before it is signed"
    strange = replace(CALL, reason="pay \u202e000,1\u202c to \u200bBob \u00ad\U000e0041")
    await written(f"sqlite+aiosqlite:///{log}", [replace(CALL, reason=long), strange])
    async with gate_over(log, tmp_path) as gate:
        told = (await gate("generate_audit_report"))["text"]
        await gate.do("export_audit_pdf", path="a.pdf", up_to=7)
    pages = PdfReader(tmp_path / "reports" / "a.pdf").pages
    for words in (told.replace(r"\\", "\\"), "".join(page.extract_text() for page in pages)):
        said = "".join(words.split())
        assert "pay…(227characters)" in said
        assert r"pay\u202e000,1\u202cto\u200bBob\xad\U000e0041" in said


async def test_a_session_is_summed_up(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path) as gate:
        summary = await gate("get_session_summary", session=ONE)
        assert summary["actors"] == ["U1"]
        assert [(one["tool"], one["calls"], one["error"]) for one in summary["tools"]] == [
            ("filesystem.move_file", 1, 0),
            ("filesystem.read_file", 1, 0),
            ("task.create_task", 1, 1),
        ]
        assert summary["tools"][0]["milliseconds"] == 12
        assert (await gate("get_session_summary"))["session"] == TWO
        assert "Nothing is on record" in await gate.refused("get_session_summary", session="T9:C9:9")


async def test_of_one_team_nothing_else_is_shown(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path, team="T2") as gate:
        assert [one["seq"] for one in (await gate("get_tool_log"))["entries"]] == [5]
        assert ONE not in (await gate("generate_audit_report"))["text"]
        await gate.refused("get_session_summary", session=ONE)


@pytest.mark.slow
async def test_a_report_is_exported_as_it_was_shown_and_taken_back(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path) as gate:
        seen = await gate.look("export_audit_pdf", path="november.pdf", since="today", up_to=5)
        await written(f"sqlite+aiosqlite:///{log}", [CALL])  # the log goes on, also by this very confirmation
        done = await gate.go_on(
            "export_audit_pdf", seen, {"path": "november.pdf", "since": "today", "up_to": 5}
        )
        path = tmp_path / "reports" / "november.pdf"
        shown = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(path.read_bytes())).pages)
        assert done.preview.summary == "Export 3 entries, from 2026-11-21 as november.pdf"
        assert "november.pdf (new), 1 page" in done.preview.affected[0].name
        assert done.result["entries"] == 3
        assert "up to number 5" in shown
        assert "漢" in shown
        assert "\\u{926}" in shown
        await gate.undo(done)
        assert not path.exists()
        again = await gate.do("export_audit_pdf", path="all.pdf")
        assert again.result["entries"] == 2, "the hour of the others is not over"
        assert "up to which number: it is 6" in await gate.blind(
            "export_audit_pdf", path="b.pdf", since="today"
        )
        whole = " ".join(PdfReader(tmp_path / "reports" / "all.pdf").pages[0].extract_text().split())
        assert "a|b*.md" in whole.replace(" ", "")
        assert "must end in .pdf" in await gate.blind("export_audit_pdf", path="a.txt")


@pytest.mark.slow
async def test_a_day_with_many_entries_is_summed_up_whole_and_exported_in_parts(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_ENTRIES", 50)
    many = [replace(CALL, execution_ms=2, arguments=f'{{"n":{n}}}') for n in range(130)]
    await written(f"sqlite+aiosqlite:///{log}", many)
    async with gate_over(log, tmp_path) as gate:
        summary = await gate("get_session_summary", session=ONE)
        assert (summary["entries"], summary["tools"][0]["calls"]) == (134, 131)
        assert summary["tools"][0]["milliseconds"] == 272
        told = await gate("generate_audit_report")
        assert (told["entries"], told["truncated"]) == (135, True)
        assert "| filesystem.move\\_file | 132 |".replace("\\", "") in told["text"]
        assert "35 older ones are not listed" in told["text"]
        seen: list[str] = []
        part: int | None = 1
        while part:
            done = await gate.do("export_audit_pdf", path=f"{part}.pdf", up_to=135, part=part)
            assert f"part {part} of 3" in done.preview.summary
            whole = "".join(
                page.extract_text() for page in PdfReader(tmp_path / "reports" / f"{part}.pdf").pages
            )
            seen += re.findall(r'"n":(\d+)', whole)
            part = done.result["next_part"]
        assert [int(n) for n in seen] == list(range(130))
        assert "no part 4" in await gate.blind("export_audit_pdf", path="4.pdf", up_to=135, part=4)


async def test_a_broken_chain_is_said(log: Path, tmp_path: Path) -> None:
    async with gate_over(log, tmp_path) as gate:
        assert (await gate("generate_audit_report"))["unbroken"]
        with closing(sqlite3.connect(log)) as base:
            for what in ("update", "delete", "replace"):
                base.execute(f"DROP TRIGGER audit_log_no_{what}")
            base.execute("DELETE FROM audit_log WHERE seq = 3")
            base.commit()
        report = await gate("generate_audit_report")
    assert not report["unbroken"]
    assert "IT IS BROKEN" in report["text"]


async def test_the_log_cannot_be_written(log: Path) -> None:
    with Log.at(str(log), "").engine.connect() as connection:
        with pytest.raises(SQLAlchemyError, match="readonly"):
            connection.execute(LOG.delete())
        connection.execute(text("PRAGMA query_only = OFF")).close()
        with pytest.raises(SQLAlchemyError, match="readonly"):
            connection.execute(LOG.delete())


@pytest.mark.slow
async def test_it_is_the_same_on_postgresql(postgres_url: str, tmp_path: Path) -> None:
    await migrate(postgres_url)
    await written(postgres_url, ENTRIES)
    async with gate_over(postgres_url, tmp_path) as gate:
        assert [one["seq"] for one in (await gate("get_tool_log", since="today"))["entries"]] == [5, 4, 3, 2]
        assert (await gate("generate_audit_report"))["unbroken"]
    with Log.at(postgres_url, "").engine.connect() as connection:
        with pytest.raises(SQLAlchemyError, match="read-only transaction"):
            connection.execute(text("CREATE TABLE x(y int)"))


@pytest.mark.parametrize(
    "database",
    [
        "sqlite:////no/such.db",
        "nowhere.db",
        "mysql://u:secret@h/d",
        "postgresql://u:secret@127.0.0.1:1/d",
        "::://",
    ],
)
def test_what_is_no_log_is_refused_at_the_start_without_its_password(tmp_path: Path, database: str) -> None:
    with pytest.raises(ValueError, match="no database of the bot that can be read") as refused:
        configured(["--database", database, "--root", tmp_path])
    assert "secret" not in str(refused.value)


def test_a_log_that_went_away_is_said(log: Path) -> None:
    found = Log.at(str(log), "")
    log.unlink()
    with pytest.raises(ToolError, match="cannot be read now"):
        found.last()
    assert not log.exists()
