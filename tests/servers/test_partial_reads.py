"""Every tool that reads files of people says in words that one is cut off, too large, or in an unknown encoding."""

from __future__ import annotations

import io
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from servers.calendar.events import SEE_WHY
from servers.email.mailboxes import identified
from tests.servers import papers
from tests.servers.all_servers import servers
from tests.servers.gate_around_server import META
from tests.servers.test_hostile_files import over, written
from tests.services import unavailable

pytestmark = pytest.mark.slow
Args = dict[str, Any]
FILE, ID, DRAFT = "{file}", "{id}", "{draft}"  # in arguments: the name of the file, and the ids of mails
PLACES = {"calendar": ("calendar/a{}",), "email": ("mail/cur/a{}", "mail/.Drafts/cur/b{}")}
SAYS = {
    "cut off": r"cut off|is not JSON|broken|cannot be read|cannot be opened|can be read|breaks off|is not a|not closed|No text was found|no picture|no PDF",
    "huge": r"larger than|more than|too large|too long|There is more|There are more|go on|too much|holds [\d,]+ characters",
    "mis-encoded": r"encoding that|is not text|not UTF-8|Not UTF-8|Not text|is not a|cannot be read|broken|No text|not UTF|are not text",
}
EVENT = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:one\r\nDTSTAMP:20200101T000000Z\r\nDTSTART:20200101T100000Z\r\nDTEND:20200101T110000Z\r\nSUMMARY:Größe\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
MAIL = (
    "From: Bob <bob@example.com>\r\nTo: ann@example.com\r\nSubject: =?utf-8?q?Gr=C3=B6=C3=9Fe?=\r\nMessage-ID: <x@example.com>\r\n"
    "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Content-Transfer-Encoding: 8bit\r\n\r\nDecision: the price is 5 € for Jürgen.\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\n"
    f"Content-Transfer-Encoding: base64\r\n\r\n{'QUJD' * 200}\r\n--b--\r\n"
)
NOTES = "Attendees: Ann, Jürgen\nDecision: the price is 5 €.\n"


def base() -> bytes:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript("CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y');")
        return made.serialize()


def picture(kind: str = "PNG") -> bytes:
    page, out = Image.effect_noise((300, 200), 40), io.BytesIO()
    ImageDraw.Draw(page).text((20, 20), "Total: 12.50", 0)
    page.save(out, kind)
    return out.getvalue()


WHOLE: dict[str, Callable[[], bytes]] = {
    ".csv": lambda: 'a,b\n1,Größe €\n1,Größe €\n2,"x"\n'.encode(), ".txt": NOTES.encode, ".sqlite": base, ".pdf": papers.pdf,
    ".docx": papers.docx, ".xlsx": lambda: papers.xlsx([["a", "b"], [1, 2]]), ".png": picture, ".ics": EVENT.encode,
    ".eml": MAIL.encode, ".html": lambda: "<h1>Größe</h1><p>The price is 5 €.</p>".encode(), ".md": lambda: "# Größe\n\n5 €\n".encode(),
    ".json": lambda: '[{"a": 1, "b": "Größe €"}, {"a": 1, "b": "Größe €"}]'.encode(), ".tsv": lambda: "a\tb\n1\tGröße €\n".encode(),
    ".jsonl": lambda: '{"a": 1, "b": "Größe €"}\n{"a": 1, "b": "Größe €"}\n'.encode(), ".jpg": lambda: picture("JPEG"), ".tiff": lambda: picture("TIFF"),
    ".vtt": lambda: "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Jürgen>Decision: the price is 5 €.\n".encode(),
}  # fmt: skip
MANY = {
    ".csv": b"a,b\n1,2\n", ".txt": b"Decision: to wait.\n", ".ics": b"BEGIN:VEVENT\r\n", ".md": b"word word\n", ".html": b"<p>word word\n",
    ".tsv": b"a\tb\n", ".vtt": b"00:01.000 --> 00:02.000\nword\n\n",
}  # fmt: skip


def made(kind: str, ending: str) -> bytes:
    """A file of that kind with what is wrong with it."""
    whole = WHOLE[ending]()
    if kind == "cut off":
        return whole[: len(whole) * 2 // 3] if ending != ".csv" else whole + b"3"
    if kind == "huge":
        return (
            (MANY[ending] * ((41 << 20) // len(MANY[ending]))) if ending in MANY else whole + bytes(41 << 20)
        )
    return whole.decode().encode("cp1252")


# What each tool is asked about, by the ending of a file, with what may be wrong with it.
ALL, BINARY, TEXT = ("cut off", "huge", "mis-encoded"), ("cut off", "huge"), ("huge", "mis-encoded")
CONVERT = {"make": "convert_format", "call": {"source": FILE, "destination": "new.md"}}
INDEX = {"call": {"path": "."}}
READS: dict[str, tuple[Args, dict[str, tuple[str, ...]]]] = {
    "data.query_sqlite": ({"path": FILE, "sql": "SELECT * FROM t"}, {".sqlite": ("cut off",)}),
    "data.describe_database": ({"path": FILE}, {".sqlite": ("cut off",)}),
    "data.deduplicate_records": ({"path": FILE}, {".csv": ALL, ".json": ALL, ".jsonl": ("cut off", "mis-encoded"), ".tsv": TEXT}),
    "data.summarize_anomalies": ({"path": FILE}, {".csv": ALL, ".json": ALL, ".jsonl": ("cut off", "mis-encoded"), ".tsv": TEXT}),
    "data.preview_csv": ({"path": FILE, "columns": ["a"], "rows": [["1"]]}, {".csv": TEXT}),
    "data.preview_without_duplicates": ({"call": {"source": FILE, "destination": "new.csv"}}, {".csv": ALL}),
    "data.preview_write_sqlite": (
        {"path": FILE, "changes": [{"table": "t", "op": "delete", "where": {"a": 1}}]}, {".sqlite": ("cut off",)},
    ),
    "document.extract_text": ({"path": FILE}, {".pdf": BINARY, ".docx": BINARY, ".xlsx": BINARY, ".txt": TEXT, ".csv": TEXT, ".html": TEXT, ".md": TEXT}),
    "document.diff_documents": ({"first": FILE, "second": "other.txt"}, {".pdf": BINARY, ".docx": BINARY, ".txt": TEXT}),
    "document.read_spreadsheet": ({"path": FILE}, {".xlsx": BINARY, ".csv": TEXT}),
    "document.list_form_fields": ({"path": FILE}, {".pdf": BINARY}),
    "document.preview_document": (CONVERT, {".pdf": BINARY, ".docx": BINARY, ".txt": TEXT}),
    "meeting.preview_minutes": ({"call": {"source": FILE, "destination": "new.md"}}, {".docx": BINARY, ".txt": TEXT, ".vtt": TEXT}),
    "ocr.extract_text_from_image": ({"path": FILE}, {".png": BINARY, ".jpg": BINARY, ".tiff": BINARY}),
    "ocr.extract_table": ({"path": FILE}, {".png": BINARY, ".pdf": BINARY}),
    "ocr.extract_structured_data": ({"path": FILE}, {".png": BINARY, ".pdf": BINARY}),
    "ocr.extract_text_from_pdf": ({"path": FILE}, {".pdf": BINARY}),
    "security.scan_for_pii": ({"path": "."}, {".docx": BINARY, ".xlsx": BINARY, ".pdf": BINARY, ".txt": ("huge",)}),
    "security.scan_for_secrets": ({"path": "."}, {".docx": BINARY, ".txt": ("huge",)}),
    "security.propose_cleanup": ({"path": "."}, {".docx": BINARY, ".pdf": BINARY, ".txt": ("huge",)}),
    "filesystem.read_file": ({"path": FILE}, {".txt": TEXT}),
    "filesystem.preview_write": ({"path": FILE}, {".txt": TEXT}),
    "calendar.list_events": ({"start": "2020-01-01", "days": 1}, {".ics": BINARY}),
    "calendar.find_free_slots": ({"start": "2030-01-01", "days": 1}, {".ics": BINARY}),
    "calendar.get_event": ({"event_id": "one"}, {".ics": BINARY}),
    "calendar.preview_event": ({"event": {"title": "x", "start": "2030-01-01T10:00"}}, {".ics": BINARY}),
    "calendar.preview_time_block": ({"block": {"title": "x", "start": "2030-01-01T10:00"}}, {".ics": BINARY}),
    "email.search_emails": ({"text": "price"}, {".eml": ALL}),
    "email.read_email": ({"message_id": ID}, {".eml": ALL}),
    "email.summarize_thread": ({"message_id": ID}, {".eml": ALL}),
    "email.preview_delete": ({"draft_id": DRAFT}, {".eml": ALL}),
    "email.preview_send": ({"sending": {"draft_id": DRAFT}}, {".eml": ALL}),
    "knowledge.preview_index": (INDEX, {".txt": ("huge",)}),
}  # fmt: skip
# Those that open no file of people, or only say that it is there.
OTHERS = {
    "the size and hash of a file alone": "get_metadata describe_paths preview_restore list_dir find_duplicates preview_transfer preview_folder "
    "list_changes list_trash preview_purge preview_encrypt",
    "what the server wrote itself": "get_tool_log get_session_summary generate_audit_report preview_export clipboard_history "
    "preview_restore_clipboard preview_restore_rows check_rows search_documents ask_about_files get_related_chunks "
    "check_index preview_update preview_restore_index show_recipient list_tasks get_overdue daily_briefing get_task "
    "preview_task preview_delete",
    "the host": "get_clipboard preview_clipboard get_system_info list_processes take_screenshot preview_open",
    "a folder, whose large files it skips and names (tests of searching)": "search_files",
    "a file that the server encrypted itself, else a refusal (test_hostile_files)": "preview_decrypt",
    "the headers of drafts alone, and the Message-ID of a mail": "list_drafts preview_draft",
}
CASES = [
    (tool, ending, kind)
    for tool, (_, files) in READS.items()
    for ending, kinds in files.items()
    for kind in kinds
]


def filled(value: Any, name: str) -> Any:
    """Arguments with the name of the file in them."""
    if isinstance(value, dict):
        return {key: filled(each, name) for key, each in value.items()}
    known = {FILE: name, ID: identified(name), DRAFT: identified(name.replace("a", "b", 1))}
    return known.get(value, value) if isinstance(value, str) else value


@pytest.mark.parametrize("server", sorted({tool.partition(".")[0] for tool in READS}))
async def test_what_is_partly_read_or_not_at_all_is_said_in_words(tmp_path: Path, server: str) -> None:
    if server == "ocr" and not shutil.which("tesseract"):
        unavailable("there is no Tesseract: apt-get install tesseract-ocr", "REQUIRE_TESSERACT")
    silent = []
    for number, (tool, ending, kind) in enumerate(case for case in CASES if case[0].startswith(f"{server}.")):
        name, home = f"a{ending}", tmp_path / str(number)
        places = PLACES.get(server, ("files/a{}",))
        written(
            home,
            {place.format(ending): made(kind, ending) for place in places} | {"files/other.txt": b"Other.\n"},
        )
        async with over(home, server) as said:
            told = await said(tool.partition(".")[2], **filled(READS[tool][0], name))
        named = re.search(
            rf"[ab]{re.escape(ending)}|[Tt]he (?:file|mail)|of 2 files|This mail|message was", told
        )
        if SEE_WHY not in told and not (named and re.search(SAYS[kind], told)):
            silent.append((tool, ending, kind, told[:300]))
    assert not silent, "\n".join(map(str, silent))


async def test_every_reading_tool_is_tried_or_has_a_reason(tmp_path: Path) -> None:
    listed = {
        f"{name}.{tool.name}"
        for name, app in servers(tmp_path).items()
        for tool in await app.list_tools()
        if (tool.meta or {})[META]["class"] == "read"
    }
    others = {name for names in OTHERS.values() for name in names.split()}
    assert READS.keys() <= listed
    assert [tool for tool in sorted(listed - READS.keys()) if tool.partition(".")[2] not in others] == []


WIDE = [[*range(501)]]
PAGE = "<table><tr>" + "".join(f"<td>{n}</td>" for n in range(501)) + "</tr></table>"


@pytest.mark.parametrize(("name", "data"), [("a.xlsx", papers.xlsx(WIDE)), ("a.html", PAGE.encode())])
async def test_columns_beyond_those_that_are_read_are_not_dropped_in_silence(
    tmp_path: Path, name: str, data: bytes
) -> None:
    call = {"source": name, "destination": "new.csv"}
    async with over(written(tmp_path, {f"files/{name}": data}), "document") as said:
        assert "more than 500 columns" in await said("extract_text", path=name)
        assert "more than 500 columns" in await said("preview_document", make="convert_format", call=call)


def papers_with(*pages: str) -> bytes:
    """A PDF with these words on its pages."""
    out = io.BytesIO()
    canvas = Canvas(out)
    for words in pages:
        canvas.drawString(100, 700, words)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


async def test_pages_of_a_pdf_that_give_no_text_are_named(tmp_path: Path) -> None:
    call = {"source": "a.pdf", "destination": "new.md"}
    async with over(written(tmp_path, {"files/a.pdf": papers_with("", "Words", "")}), "document") as said:
        assert "a.pdf has no text on page 1, 3: " in await said("extract_text", path="a.pdf")
        assert "has no text on page 1, 3: " in await said(
            "preview_document", make="convert_format", call=call
        )
    if not shutil.which("tesseract"):
        unavailable("there is no Tesseract: apt-get install tesseract-ocr", "REQUIRE_TESSERACT")
    async with over(tmp_path, "ocr") as said:
        assert "No text was found on page 1, 3." in await said("extract_text_from_pdf", path="a.pdf")


async def test_a_pdf_without_any_text_is_said_to_have_none_by_all_who_read_it(tmp_path: Path) -> None:
    blank = papers_with("", "")
    call = {"source": "a.pdf", "destination": "new.md"}
    async with over(written(tmp_path, {"files/a.pdf": blank, "files/b.pdf": blank}), "document") as said:
        assert "a.pdf has no text: " in await said("diff_documents", first="a.pdf", second="b.pdf")
        assert "(it has no text: " in await said("preview_document", make="convert_format", call=call)
    async with over(tmp_path, "security") as said:
        assert "b.pdf has no text: " in await said("scan_for_pii", path=".")
        assert "b.pdf has no text: " in await said("scan_for_secrets", path="b.pdf")
    async with over(tmp_path, "knowledge") as said:
        assert "b.pdf (has no text: " in await said("index_folder", path=".")


async def test_a_document_of_which_a_part_has_no_text_is_looked_through_and_named(tmp_path: Path) -> None:
    data = papers_with("", "mail to ann@example.org", "")
    async with over(written(tmp_path, {"files/a.pdf": data}), "security") as said:
        for path in (".", "a.pdf"):
            told = await said("scan_for_pii", path=path)
            assert "a.pdf has no text on page 1, 3: " in told
            assert "1 file could be looked into only in part: " in told
            assert "email" in told
    async with over(tmp_path, "knowledge") as said:
        assert "a.pdf (has no text on page 1, 3: " in await said("index_folder", path=".")


def workbook(values: dict[str, tuple[str, str]] | None = None, calculation: str = "") -> bytes:
    """A workbook of two sheets with formulas, as a program writes it that does not calculate. `values`: type and value
    that others store for the formula of a cell; `calculation`: attributes of the element about calculating."""
    book = Workbook()
    costs, others = book.active, book.create_sheet("Others")
    assert costs is not None
    costs.append(["what", "sum"])
    costs.append(["rent", "=450*2"])
    costs.append(["none", "=T(A1)"])
    others.append([None, None, "=Sheet!B2"])
    out = io.BytesIO()
    book.save(out)
    with zipfile.ZipFile(io.BytesIO(out.getvalue())) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts["xl/workbook.xml"] = re.sub("<calcPr[^>]*/>", f"<calcPr {calculation}/>", parts["xl/workbook.xml"])
    for cell, (kind, value) in (values or {}).items():
        name = f"xl/worksheets/sheet{1 + (cell == 'C1')}.xml"
        stored = rf'<c r="{cell}" t="{kind}">\1<v>{value}</v>'
        parts[name], count = re.subn(rf'<c r="{cell}">(<f>[^<]*</f>)<v(?: ?/|></v)>', stored, parts[name])
        assert count == 1, parts[name]
    return papers.package(*((name, part.encode()) for name, part in parts.items()))


NO_VALUE = "cells with a formula and no value in the file"


async def test_formulas_without_a_stored_value_are_named_by_all_who_read_a_workbook(tmp_path: Path) -> None:
    home = written(tmp_path, {"files/a.xlsx": workbook(), "files/b.txt": b"what\tsum\n"})
    convert = {"source": "a.xlsx", "destination": "new.csv"}
    async with over(home, "document") as said:
        for told in (
            await said("extract_text", path="a.xlsx"),
            await said("diff_documents", first="a.xlsx", second="b.txt"),
        ):
            assert f"a.xlsx has 3 {NO_VALUE} (Sheet!B2, Sheet!B3, Others!C1), read as empty" in told
        assert f"has 2 {NO_VALUE} (Sheet!B2, Sheet!B3)" in await said("read_spreadsheet", path="a.xlsx")
        assert "a cell with a formula and no value in the file (Others!C1)" in await said(
            "read_spreadsheet", path="a.xlsx", sheet="Others"
        )
        assert f"(it has 2 {NO_VALUE}" in await said("preview_document", make="convert_format", call=convert)
    async with over(home, "security") as said:
        assert f"a.xlsx has 3 {NO_VALUE}" in await said("scan_for_pii", path=".")
    async with over(home, "knowledge") as said:
        assert f"a.xlsx (has 3 {NO_VALUE}" in await said("index_folder", path=".")


async def test_formulas_with_a_stored_value_are_read_without_a_word(tmp_path: Path) -> None:
    values = {"B2": ("n", "900"), "B3": ("str", ""), "C1": ("n", "900")}
    async with over(written(tmp_path, {"files/a.xlsx": workbook(values)}), "document") as said:
        told = await said("read_spreadsheet", path="a.xlsx")
        assert "900" in told
        assert "formula" not in told
    zeros = dict.fromkeys(("B2", "B3", "C1"), ("n", "0"))
    data = workbook(zeros, 'calcId="1" fullCalcOnLoad="1"')
    async with over(written(tmp_path, {"files/a.xlsx": data}), "document") as said:
        told = await said("read_spreadsheet", path="a.xlsx")
        assert (
            "a.xlsx leaves 2 formulas to be worked out when it is opened: the values in the file may be"
            in told
        )


async def test_sheets_that_a_conversion_leaves_out_are_named(tmp_path: Path) -> None:
    async with over(written(tmp_path, {"files/a.xlsx": workbook()}), "document") as said:
        for ending in ("csv", "json", "xlsx"):
            call = {"source": "a.xlsx", "destination": f"new.{ending}"}
            told = await said("preview_document", make="convert_format", call=call)
            assert "(the first sheet alone: left out is Others)" in told
