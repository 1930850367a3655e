"""A process that a file has taken over answers whatever it likes: that costs the bot next to nothing, and is refused."""

from __future__ import annotations

import json
import logging
import sqlite3
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from servers import ocr
from servers.calendar import events
from servers.data import models, sources
from servers.document.conversion import SHEETS
from servers.email import mailboxes, threads
from servers.email.search import Index
from servers.email.words import Wanted
from servers.filesystem import answers, disk, listing, watch
from servers.filesystem.models import Manifest
from servers.filesystem.paths import Roots
from servers.knowledge import indexing
from servers.knowledge.taking import Texts
from servers.meeting.minutes import Minutes
from servers.sandbox import calling
from servers.sandbox.calling import Sandbox
from tests.cpu_time import within
from tests.servers.mail import Taken, maildir, mailing, posting
from tests.servers.taken_over import BODIES
from tests.servers.taken_over.formats.tasks import PAGES, TABLES
from tests.servers.test_data_query import data
from tests.servers.test_document_reading import documents
from tests.servers.test_knowledge_tools import knowing
from tests.servers.test_meeting_tools import gate_over
from tests.servers.test_ocr_tools import pictures, tesseract  # noqa: F401 - the second is a fixture
from tests.servers.test_security_tools import security

CHANGES = [{"table": "t", "op": "update", "where": {"id": 1}, "values": {"name": "x"}}]
READS: dict[str, dict[str, Any]] = {
    "deduplicate_records": {"path": "t.csv"},
    "summarize_anomalies": {"path": "t.csv"},
    "query_sqlite": {"path": "t.sqlite", "sql": "SELECT 1"},
    "describe_database": {"path": "t.sqlite"},
    "preview_write_sqlite": {"path": "t.sqlite", "changes": CHANGES},
}


@pytest.fixture(scope="module")
def made() -> Iterator[Sandbox]:
    sandbox = Sandbox("tests.servers.taken_over")
    yield sandbox
    sandbox.stop()


@pytest.fixture
def taken_over(made: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "SANDBOX", made)
    monkeypatch.setattr(sources, "SANDBOX", made)


@pytest.mark.slow
@pytest.mark.usefixtures("taken_over")
@pytest.mark.parametrize("body", BODIES)
async def test_no_answer_about_a_table_holds_the_bot_up(tmp_path: Path, body: str) -> None:
    """30 MB of empty lists stopped the event loop for 2.6 s."""
    (tmp_path / "t.csv").write_text(f"a,b\n<{body}>,1\n")
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute(f'CREATE TABLE t("<{body}>")')
    async with data(tmp_path) as ask:
        await ask.refused("query_sqlite", **READS["query_sqlite"])  # the fork server is there
        with within(0.5, time.process_time):
            for tool, args in READS.items():
                assert "is broken, or too much to open" in await ask.refused(tool, **args), tool


@pytest.mark.slow(but=2)
@pytest.mark.usefixtures("taken_over")
@pytest.mark.parametrize("body", BODIES)
async def test_no_answer_about_an_index_holds_the_bot_up(tmp_path: Path, body: str) -> None:
    (tmp_path / "a.md").write_text("lease")
    index = tmp_path / ".countersign" / "knowledge" / "index.sqlite"
    index.parent.mkdir(parents=True)
    index.write_text(f"<{body}>")
    async with knowing(tmp_path) as ask:
        with within(0.5, time.process_time):
            said = await ask.refused("preview_index", call={"path": "."})
            assert "The index in .countersign/knowledge is broken, or too much to open" in said


@pytest.mark.slow
@pytest.mark.parametrize("other", ["people", "bytes"])
async def test_a_mail_goes_to_nobody_but_those_shown_and_says_nothing_else(
    tmp_path: Path, made: Sandbox, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """What was compared was the text that the process gave to be shown, beside which it gave another mail."""
    home, taken = maildir(tmp_path), Taken()
    draft = f"From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: <{other}>\n\nHello Bob\n"
    (home / ".Drafts/cur/9.x:2,DS").write_text(draft)
    draft_id = mailboxes.identified("9.x")
    async with posting(home, taken) as gate:
        plan = await gate("preview_send", sending={"draft_id": draft_id})
        bound = {"expected_sha256": plan["sha256"], "expected_message": plan["shown"]}
        with monkeypatch.context() as patched:
            patched.setattr(mailboxes, "SANDBOX", made)
            assert await gate("preview_send", sending={"draft_id": draft_id}) != plan
            said = await gate.refused("send_draft", draft_id=draft_id, **bound)
        assert "The mail has changed since it was shown" in said
        assert taken.mails == []
        await gate("send_draft", draft_id=draft_id, **bound)
        assert [mail.rcpt_tos for mail in taken.mails] == [["bob@example.com"]]


@pytest.mark.usefixtures("taken_over")
async def test_no_text_of_a_document_is_longer_than_one_may_be(tmp_path: Path) -> None:
    """64 MB became 256 MB where one sign was wide, and held up the event loop."""
    for name in ("a.docx", "b.docx"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "c.docx").write_bytes(b"no text")
    calls: list[tuple[str, dict[str, Any]]] = [
        *(("extract_text", {"path": f"{name}.docx"}) for name in "ac"),
        ("diff_documents", {"first": "a.docx", "second": "b.docx"}),
    ]
    async with documents(tmp_path) as ask:
        tracemalloc.start()
        try:
            for tool, args in calls:
                assert "is broken, or too much to open" in await ask.refused(tool, **args)
            assert tracemalloc.get_traced_memory()[1] < 100 << 20
        finally:
            tracemalloc.stop()
    async with gate_over(tmp_path, a_docx=b"", c_docx=b"no text") as gate:
        for name in "ac":
            said = await gate.refused(
                "preview_minutes", call={"source": f"{name}.docx", "destination": "d.md"}
            )
            assert "is broken, or too much to open" in said


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("lie", ["long", "bytes", "sizes", "list", "again", "beyond"])
async def test_a_mail_with_texts_that_are_none_is_named_and_the_search_goes_on(
    tmp_path: Path, made: Sandbox, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    monkeypatch.setattr(calling, "SANDBOX", made)
    home = maildir(tmp_path)
    for name in (*(home / "cur").iterdir(), *(home / "new").iterdir()):
        name.unlink()
    (home / "cur" / "9.x:2,S").write_text(f"Subject: x\n\n{lie}")
    async with mailing(home) as gate:
        found = await gate("search_emails", text="x")
    assert found["messages"] == []
    assert "is broken, or too much to open" in found["note"]


def documents_of(folder: Path, *contents: bytes) -> list[indexing.Seen]:
    for number, content in enumerate(contents):
        (folder / f"{number}.docx").write_bytes(content)
    return [
        indexing.Seen(f"{number}.docx", len(content), disk.sha256(content))
        for number, content in enumerate(contents)
    ]


@pytest.mark.usefixtures("taken_over")
async def test_no_text_that_is_indexed_is_longer_than_one_may_be(tmp_path: Path) -> None:
    with TemporaryFile() as file:
        texts = Texts(Roots.at([tmp_path]), file)
        read = texts.of(documents_of(tmp_path, b"", b"no text"))
    assert [text.size for _, text in read] == [0, 0]
    assert texts.wrong == [f"{number}.docx (broken, or too much to open)" for number in (0, 1)]


@pytest.mark.usefixtures("taken_over", "tesseract")
async def test_no_answer_about_a_picture_of_text_holds_the_bot_up(tmp_path: Path) -> None:
    tools = ("extract_text_from_image", "extract_structured_data", "extract_table")
    for number, lie in enumerate(PAGES):
        (tmp_path / f"{number}.png").write_text(lie)
    async with pictures(tmp_path) as ask:
        await ask.refused(tools[0], path="0.png")  # the fork server is there
        with within(0.5, time.process_time):
            for number, lie in enumerate(PAGES):
                for tool in tools:
                    said = await ask.refused(tool, path=f"{number}.png")
                    assert "is broken, or too much to open" in said, (lie, tool)


@pytest.mark.usefixtures("taken_over", "tesseract")
async def test_a_table_off_a_picture_has_as_many_cells_as_an_answer_holds(tmp_path: Path) -> None:
    """15 KB of PDF were answered with 3 million cells."""
    for name in TABLES:
        (tmp_path / f"{name}.png").write_text(name)
    async with pictures(tmp_path) as ask:
        few, wide = [await ask("extract_table", path=f"{name}.png") for name in ("few rows", "wide rows")]
        assert "One row on page 1" in await ask.refused("extract_table", path="one row.png")
    assert (len(few["rows"]), few["truncated"]) == (9, False)
    assert (0 < len(wide["rows"]) < 9, wide["truncated"]) == (True, True)
    assert len(json.dumps(wide, indent=2)) <= answers.MOST_CHARACTERS


LONG, TOO_LONG = b"says 200000", b"says 8000000"


@pytest.mark.usefixtures("taken_over")
async def test_what_is_said_of_an_indexed_file_is_cut_or_refused(tmp_path: Path) -> None:
    with TemporaryFile() as file:
        texts = Texts(Roots.at([tmp_path]), file)
        texts.of(documents_of(tmp_path, LONG, TOO_LONG))
    cut, refused = texts.wrong
    assert cut.startswith("0.docx (xxx")
    assert len(cut) < 600
    assert refused == "1.docx (broken, or too much to open)"


@pytest.mark.usefixtures("taken_over")
async def test_what_is_said_of_a_scanned_file_is_cut_or_refused(tmp_path: Path) -> None:
    """600 documents whose processes said 8 MB each took 4.8 GB."""
    async with security(tmp_path, a_docx=LONG, b_docx=TOO_LONG, c_txt=b"long") as ask:
        found = await ask("scan_for_secrets", path=".")
    assert found["findings"] == []
    assert {said.split()[0].rstrip(":") for said in found["skipped"]} == {"a.docx", "b.docx", "c.txt"}
    assert max(map(len, found["skipped"])) <= 500


@pytest.mark.usefixtures("taken_over")
async def test_what_is_said_of_a_document_is_no_longer_than_a_sentence(tmp_path: Path) -> None:
    for name, content in (("a.docx", LONG), ("b.docx", TOO_LONG)):
        (tmp_path / name).write_bytes(content)
    async with documents(tmp_path) as ask:
        assert 3_900 < len((await ask("extract_text", path="a.docx"))["note"]) < 4_200
        assert "is broken, or too much to open" in await ask.refused("extract_text", path="b.docx")


@pytest.mark.usefixtures("taken_over")
def test_the_problems_of_a_calendar_are_so_many_and_so_long_at_most(tmp_path: Path) -> None:
    (tmp_path / "a.ics").write_text("x")
    problems = events.Problems()
    every = events.read_all(events.calendars(Roots.at([tmp_path])), problems)
    list(events.asked("calendar.between", every, problems))
    assert len(problems.said) == 1_000
    assert max(map(len, problems.said)) == 500


@pytest.mark.parametrize("lie", ["more", "wrong"])
def test_of_a_mail_only_the_fields_of_a_list_are_kept_and_none_is_long(
    tmp_path: Path, made: Sandbox, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    monkeypatch.setattr(calling, "SANDBOX", made)
    home, index, wrong = maildir(tmp_path), Index(), list[str]()
    for name in (*(home / "cur").iterdir(), *(home / "new").iterdir()):
        name.unlink()
    (home / "cur" / "9.x:2,S").write_text(f"Subject: x\n\n{lie}")
    boxes, budget = mailboxes.Boxes(Roots.at([home])), listing.Budget()
    found = index.search(
        [*boxes.letters(budget, "INBOX")], Wanted([], None, None, ZoneInfo("UTC")), budget, wrong
    )
    assert [len(facts["subject"]) for _, facts in found] == ([2_000] if lie == "more" else [])
    assert all(facts.keys() == {"date", "sender", "subject"} for _, facts in found)
    assert sum(map(len, wrong)) == (500 if lie == "wrong" else 0)


@pytest.mark.slow
async def test_a_mail_of_a_thread_that_is_none_is_refused_and_fills_no_log(
    tmp_path: Path, made: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What it was refused for went to the log, 66 MB of it."""
    monkeypatch.setattr(calling, "SANDBOX", made)
    caplog.set_level(logging.DEBUG)
    async with mailing(maildir(tmp_path)) as gate:
        said = await gate.refused("summarize_thread", message_id=mailboxes.identified("1.first.host"))
    assert "is broken, or too much to open" in said
    assert sum(len(record.getMessage()) + len(record.exc_text or "") for record in caplog.records) < 20_000


@pytest.mark.slow
@pytest.mark.usefixtures("taken_over")
async def test_minutes_that_are_none_are_refused_and_cost_next_to_nothing(tmp_path: Path) -> None:
    async with gate_over(tmp_path, a_md=b"Decision: x") as gate:
        with within(0.5, time.process_time):
            said = await gate.refused("preview_minutes", call={"source": "a.md", "destination": "d.md"})
    assert "is broken, or too much to open" in said


LIST, MAP = [0] * 1_000, {str(number): "x" for number in range(1_000)}
LOOK = {"number": 1, "at": "2026-03-01T12:00:00Z"}
# What is read of a process, or of a record that others may have written, and each list and each map in it.
WRONG: list[tuple[type[BaseModel] | TypeAdapter[Any], Any]] = [
    (watch.Watch, {"looks": LIST}),
    (watch.Watch, {"looks": [LOOK | {"seen": MAP}]}),
    (watch.Watch, {"looks": [LOOK | {"seen": {name: [1, "a", "b", "c", "d"] for name in MAP}}]}),
    (Manifest, {"files": LIST}),
    (Manifest, {"files": [{}] * 100}),
    *((Minutes, {name: LIST}) for name in ("attendees", "decisions", "actions")),
    (Minutes, {"left_out": MAP}),
    (ocr._PAGES, [{}] * 1_000),
    (ocr._TEXTS, LIST),
    (ocr._VALUES, [[{}] * 1_000, LIST]),
    (ocr._ROWS, [LIST] * 1_000),
    (SHEETS, LIST),
    (sources._NAMES, LIST),
    (models.Table, {"columns": [{}] * 1_000}),
    (models.Group, {"rows": MAP, "record": dict.fromkeys(MAP, LIST), "differs": LIST}),
    (models.Group, {"rows": [*MAP.values()]}),
    (models.Anomaly, {"rows": [*MAP.values()], "values": [LIST] * 1_000}),
    (models.RowsPlan, {"items": [{}] * 1_000, "tables": LIST}),
    (models.RowsState, {"tables": LIST}),
    *((threads.Written, {name: LIST}) for name in ("people", "questions", "decisions", "attached")),
]


@pytest.mark.parametrize(("kind", "given"), WRONG)
def test_what_others_may_have_written_is_validated_no_further_than_to_its_first_error(
    kind: type[BaseModel] | TypeAdapter[Any], given: Any
) -> None:
    """120,000 errors of one record were collected in one step of 0.26 s, in which nobody else was answered."""
    of_json = kind.validate_json if isinstance(kind, TypeAdapter) else kind.model_validate_json
    of_value = kind.validate_python if isinstance(kind, TypeAdapter) else kind.model_validate
    for read, one in ((of_json, json.dumps(given)), (of_value, given)):
        with pytest.raises(ValidationError) as wrong:
            read(one)
        assert wrong.value.error_count() <= 12  # one for each field, and for each kind that a value may be of
