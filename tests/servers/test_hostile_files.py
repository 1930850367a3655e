"""Files made to hang a reader or to eat its memory, given to every bundled server that opens files of their kind."""

from __future__ import annotations

import asyncio
import io
import time
import zipfile
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from email.headerregistry import Address
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from PIL import Image

from servers import ocr
from servers.calendar import events
from servers.email import mailboxes
from servers.email import server as email
from servers.email.mailboxes import identified
from servers.email.smtp import Post
from servers.sandbox import calling
from servers.sandbox.calling import Limits
from tests.servers import papers
from tests.servers.all_servers import one

pytestmark = pytest.mark.slow
FEW = Limits(seconds=1, memory=512 << 20)  # what is good in one portion of mails must be read in it
STALL = 1.5  # seconds without a turn of the event loop: a parser in this process would hold it for minutes
Call = tuple[str, dict[str, Any]]


def with_part(package: bytes, name: str, content: bytes) -> bytes:
    """A Word or Excel file with another part in place of one of its own."""
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    assert name in parts
    return papers.package(*(parts | {name: content}).items())


def laughs() -> bytes:
    lines = [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12)]
    return f'<!DOCTYPE x [<!ENTITY a0 "ha">{"".join(lines)}]><x>&a11;</x>'.encode()


def nested(tag: str, depth: int, head: str = "") -> bytes:
    return f"<{tag}{head}>{f'<{tag}>' * depth}{f'</{tag}>' * (depth + 1)}".encode()


def pdf_bomb() -> bytes:
    """A page whose content unpacks to 1 GB."""
    made = zlib.compressobj(9, wbits=-15)
    packed = made.compress(bytes(1 << 20)) + made.flush(zlib.Z_FULL_FLUSH)  # which looks back at nothing
    total = (1 << 30) % 65521 << 16 | 1  # Adler-32 of so many zeros
    stream = b"\x78\xda" + packed * 1024 + made.flush() + total.to_bytes(4, "big")
    assert zlib.decompressobj().decompress(stream, 9) == bytes(9)
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(stream), stream),
    ]
    body = b"".join(b"%d 0 obj%b\nendobj\n" % (n, part) for n, part in enumerate(parts, 1))
    return b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Size 5>>\n%%EOF"


def huge_picture() -> bytes:
    """A PNG that says it is 60,000 by 60,000 pixels."""
    out = io.BytesIO()
    Image.new("1", (8, 8)).save(out, "PNG")
    data = bytearray(out.getvalue())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    return bytes(data)


def many_frames() -> bytes:
    """A GIF of a hundred thousand pictures."""
    frame = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x4c\x01\0"
    return b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff" + frame * 100_000 + b"\x3b"


def endless_rule() -> bytes:
    """An event at every second of most days, for a hundred years."""
    seconds, hours = ",".join(map(str, range(60))), ",".join(map(str, range(24)))
    rule = f"RRULE:FREQ=DAILY;BYDAY=MO,TU,WE;BYHOUR={hours};BYMINUTE={seconds};BYSECOND={seconds}"
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:x",
        "BEGIN:VEVENT",
        "UID:hostile",
        "DTSTAMP:20200101T000000Z",
    ]
    lines += ["DTSTART:20200101T000000Z", "DTEND:20200101T000001Z", rule, "END:VEVENT", "END:VCALENDAR", ""]
    return "\r\n".join(lines).encode()


def mail(header: bytes) -> bytes:
    return b"From: Bob <bob@example.com>\r\nSubject: hostile\r\n" + header + b"\r\n\r\nWords\r\n"


def document(name: str) -> list[Call]:
    """What reads a document of that name."""
    return [
        ("document", {"tool": "extract_text", "path": name}),
        (
            "document",
            {
                "tool": "preview_document",
                "make": "convert_format",
                "call": {"source": name, "destination": "new.md"},
            },
        ),
        ("knowledge", {"tool": "index_folder", "path": "."}),
        ("security", {"tool": "scan_for_pii", "path": name}),
    ]


def sheet(name: str) -> list[Call]:
    return [*document(name), ("document", {"tool": "read_spreadsheet", "path": name})]


def picture(name: str) -> list[Call]:
    return [
        ("ocr", {"tool": "extract_text_from_image", "path": name}),
        ("ocr", {"tool": "extract_table", "path": name}),
    ]


WORD, BOOK = "word/document.xml", "xl/worksheets/sheet1.xml"
W = ' xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
HOSTILE: dict[str, tuple[str, Callable[[], bytes], list[Call]]] = {
    "a PDF of brackets": (
        "a.pdf",
        lambda: b"%PDF-1.4\n" + b"[" * 3_000_000,
        [*document("a.pdf"), ("document", {"tool": "list_form_fields", "path": "a.pdf"}),
         ("ocr", {"tool": "extract_text_from_pdf", "path": "a.pdf"})],
    ),
    "a PDF that unpacks to 1 GB": (
        "a.pdf", pdf_bomb, [*document("a.pdf"), ("ocr", {"tool": "extract_text_from_pdf", "path": "a.pdf"})],
    ),
    "a Word file that unpacks to 1 GB": ("a.docx", lambda: papers.package((WORD, bytes(1 << 30))), document("a.docx")),
    "a Word file of entities": ("a.docx", lambda: with_part(papers.docx(), WORD, laughs()), document("a.docx")),
    "a Word file nested deeply": (
        "a.docx", lambda: with_part(papers.docx(), WORD, nested("w:p", 100_000, W)), document("a.docx"),
    ),
    "an Excel file of entities": ("a.xlsx", lambda: with_part(papers.xlsx([[1]]), BOOK, laughs()), sheet("a.xlsx")),
    "an Excel file nested deeply": (
        "a.xlsx", lambda: with_part(papers.xlsx([[1]]), BOOK, nested("row", 100_000)), sheet("a.xlsx"),
    ),
    "a web page nested deeply": ("a.html", lambda: b"<div>" * 2_000_000, document("a.html")),
    "a table of one line": (
        "a.csv",
        lambda: b'"' + b"a," * 10_000_000,
        [("data", {"tool": "summarize_anomalies", "path": "a.csv"}),
         ("document", {"tool": "read_spreadsheet", "path": "a.csv"})],
    ),
    "JSON nested deeply": (
        "a.json", lambda: b"[" * 10_000_000, [("data", {"tool": "deduplicate_records", "path": "a.json"})],
    ),
    "a picture of 3.6 billion pixels": ("a.png", huge_picture, picture("a.png")),
    "a picture of many frames": ("a.gif", many_frames, picture("a.gif")),
    "an encrypted file of headers": (
        "a.age",
        lambda: b"age-encryption.org/v1\n" + b"-> X25519 A\nB\n" * 1_000_000,
        [("security", {"tool": "preview_decrypt", "call": {"path": "a.age"}})],
    ),
}  # fmt: skip
CALENDAR = {
    "a rule without an end": endless_rule,
    "a calendar nested deeply": lambda: b"BEGIN:VEVENT\r\n" * 280_000,
}
MAIL = {
    "an address of quotes": lambda: mail(b"To: " + b'"' * 60_000),
    "an address of commas": lambda: mail(b"To: " + b"," * 60_000),
    "an address of brackets": lambda: mail(b"To: " + b"(" * 60_000),
    "parts in parts": lambda: mail(
        b"Content-Type: multipart/mixed; boundary=a\r\n\r\n" + b"--a\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n" * 190
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can wait for; also where a reader of documents has some of its own."""
    for module in (calling, ocr, events, mailboxes):
        monkeypatch.setattr(module, "LIMITS", FEW)
    run = calling.Sandbox._run

    def soon(sandbox: calling.Sandbox, job: calling.Job, limits: Limits) -> calling.Result:
        reads = job.task.startswith("formats.")
        return run(sandbox, job, replace(limits, seconds=FEW.seconds) if reads else limits)

    monkeypatch.setattr(calling.Sandbox, "_run", soon)


@asynccontextmanager
async def turning() -> AsyncIterator[None]:
    """Fails when the event loop did not turn for a while."""
    longest = 0.0

    async def turn() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    task = asyncio.create_task(turn())
    try:
        yield
    finally:
        task.cancel()
    assert longest < STALL


def written(folder: Path, files: dict[str, bytes]) -> Path:
    """The folder with these files."""
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@asynccontextmanager
async def over(folder: Path, server: str) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """What the tools of one server over a folder answer. Fails when one crashed, or held the event loop up."""
    bob = Address("Bob", addr_spec="bob@example.com")
    app = (
        email(folder / "mail", bob, Post("127.0.0.1", 9, "none"))
        if server == "email"
        else one(folder, server)
    )
    async with Client(app, read_timeout_seconds=60) as client:

        async def said(tool: str, **args: Any) -> str:
            async with turning():
                answer = await client.call_tool(tool, args)
            told = str(answer.content[0].text)  # type: ignore[union-attr]
            assert told
            assert told != f"Error executing tool {tool}", "it crashed"
            return told

        yield said


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_hostile_file_ends_in_a_sentence_and_holds_nobody_up(tmp_path: Path, what: str) -> None:
    name, made, calls = HOSTILE[what]
    written(tmp_path, {f"files/{name}": await asyncio.to_thread(made)})
    for server, asked in groupby(sorted(calls, key=itemgetter(0)), key=itemgetter(0)):
        async with over(tmp_path, server) as said:
            for _, call in asked:
                assert name in await said(**call)


@pytest.mark.parametrize("what", CALENDAR)
async def test_a_hostile_calendar_is_named_and_the_others_are_read(tmp_path: Path, what: str) -> None:
    good = endless_rule().replace(b"RRULE:FREQ=DAILY;BYDAY=MO", b"X-OLD:").replace(b"hostile", b"good")
    files = {"calendar/bad.ics": CALENDAR[what](), "calendar/good.ics": good, "calendar/zz.ics": good}
    span = {"start": "2020-01-01", "days": 1}
    async with over(written(tmp_path, files), "calendar") as said:
        told = await said("list_events", **span)
        assert "bad.ics" in told
        assert told.count('"event_id": "good"') == 2 or told.count('"event_id":"good"') == 2
        assert "bad.ics" in await said("find_free_slots", **span)
        assert "in 2 files" in await said("get_event", event_id="good")


@pytest.mark.parametrize("what", MAIL)
async def test_a_hostile_mail_hides_no_other(tmp_path: Path, what: str) -> None:
    good = mail(b"To: ann@example.com\r\nMessage-ID: <good@example.com>")
    bad, id_ = MAIL[what](), identified("1.bad")
    files = {"mail/cur/1.bad:2,": bad, "mail/cur/2.good:2,": good, "mail/.Drafts/cur/3.bad:2,D": bad}
    draft = identified("3.bad")
    async with over(written(tmp_path, files), "email") as said:
        for call in ({"recipient": "ann@"}, {"text": "words", "recipient": "ann@"}):
            assert identified("2.good") in await said("search_emails", **call)
        for tool in ("read_email", "summarize_thread"):
            assert await said(tool, message_id=id_)
        assert await said("preview_send", sending={"draft_id": draft})
        assert await said("preview_delete", draft_id=draft)
