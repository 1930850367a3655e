"""Reading documents: every kind as text, rows of sheets, what differs; bombs and broken files are refused."""

from __future__ import annotations

import io
import os
import struct
import sys
import time
import zipfile
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver.exceptions import ToolError
from openpyxl import Workbook
from pypdf import PdfReader, PdfWriter

from servers.document import comparing, server
from servers.sandbox import calling
from tests.cpu_time import within
from tests.servers import papers
from tests.servers.files import Ask, Clock, Mode
from tests.servers.gate_around_server import check_cards
from views.tool_results import in_words

CLASSES = dict.fromkeys(
    "extract_text diff_documents read_spreadsheet list_form_fields preview_document get_metadata describe_paths "
    "preview_restore".split(),
    "read",
) | dict.fromkeys(
    "convert_format create_pdf fill_pdf_form merge_pdfs create_docx restore_file".split(), "write"
) | {"delete_file": "destructive"}  # fmt: skip


@asynccontextmanager
async def documents(root: Path, mode: Mode = "auto", **files: bytes) -> AsyncIterator[Ask]:
    for name, data in files.items():
        (root / name.replace("_", ".")).write_bytes(data)
    async with Client(server([root], Clock()), mode=mode, read_timeout_seconds=90) as client:
        yield Ask(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Mode) -> None:
    async with documents(tmp_path, mode) as ask:
        check_cards((await ask.client.list_tools()).tools, CLASSES)


async def test_text_is_read_out_of_every_kind_of_document(tmp_path: Path) -> None:
    page = b"<html><title>no</title><script>evil()</script><h1>Rent</h1><p>The lease ends in <b>May</b>.</p></html>"
    files = {
        "a_pdf": papers.pdf(),
        "a_docx": papers.docx(),
        "a_html": page,
        "a_md": papers.TEXT.encode(),
        "a_txt": "Rent\n\nThe lease ends in May.".encode("utf-8-sig"),
        "a_json": b'{"Rent": "The lease ends in May."}',
        "a_csv": b"Rent,what\nThe lease ends in May.,x\n",
        "a_xlsx": papers.xlsx([["Rent"], ["The lease ends in May."]]),
    }
    async with documents(tmp_path, **files) as ask:
        for name in files:
            found = await ask("extract_text", path=name.replace("_", "."))
            assert "Rent" in found["text"], name
            assert "The lease ends in" in found["text"], name
            assert "evil" not in found["text"]
            assert found["pages"] == (1 if name == "a_pdf" else 0)
        part = await ask("extract_text", path="a.md", offset=2, limit=100)
        assert part["text"] == papers.TEXT[2:102]
        first = await ask("extract_text", path="a.txt", limit=100)
        assert (first["next_offset"], first["characters"]) == (None, 28)


async def test_a_text_that_is_longer_than_one_answer_says_where_it_goes_on(tmp_path: Path) -> None:
    async with documents(tmp_path, a_txt=b"word " * 300) as ask:
        first = await ask("extract_text", path="a.txt", limit=1_000)
        rest = await ask("extract_text", path="a.txt", limit=1_000, offset=first["next_offset"])
    assert first["note"] == "There is more text: ask for what follows."
    assert (rest["note"], rest["next_offset"]) == ("", None)


async def test_a_picture_of_text_says_that_it_holds_none(tmp_path: Path) -> None:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    out = io.BytesIO()
    writer.write(out)
    async with documents(tmp_path, scan_pdf=out.getvalue()) as ask:
        assert "OCR" in (await ask("extract_text", path="scan.pdf"))["note"]


async def test_documents_of_different_kinds_are_compared_by_their_text(tmp_path: Path) -> None:
    async with documents(
        tmp_path,
        a_md=b"Rent\n\nMay\n",
        b_docx=papers.docx("Rent\n\nJune\n"),
        c_docx=papers.docx("Rent\n\nMay"),
    ) as ask:
        other = await ask("diff_documents", first="a.md", second="b.docx")
        same = await ask("diff_documents", first="a.md", second="c.docx")
        itself = await ask("diff_documents", first="a.md", second="a.md")
    assert "-May\n+June" in other["difference"]
    assert (other["added"], other["removed"], other["same_text"]) == (1, 1, False)
    assert (same["same_text"], same["same_bytes"], same["difference"]) == (True, False, "")
    assert itself["same_bytes"]
    assert other["summary"] == (
        "From a.md to b.docx: 1 line added, 1 line removed.\n\nLine 1:\n  Rent\n\n- May\n+ June"
    )
    assert in_words(other, "") == other["summary"]
    assert same["summary"] == "a.md and c.docx hold the same text."


async def test_words_that_change_in_a_line_are_told_in_words(tmp_path: Path) -> None:
    before, after = (
        b"Close the Q2 office in Lisbon by the end of May\n",
        b"Close the Q3 office in Lisbon at the end of May\n",
    )
    async with documents(tmp_path, a_md=before, b_md=after) as ask:
        told = await ask("diff_documents", first="a.md", second="b.md")
    assert told["summary"] == (
        "From a.md to b.md: 1 line changed.\n\nLine 1:\n~ Close the [Q2 → Q3] office in Lisbon [by → at] the end of May"
    )
    with within(1):
        counts = {"added": 0, "removed": 0, "changed": 1}
        assert len(comparing.in_words("a", "b", counts, "~" + "[-{+" * 60_000)) < 21_000


async def test_rows_of_a_spreadsheet_come_with_their_types_a_part_at_a_time(tmp_path: Path) -> None:
    book = Workbook()
    first, second = book.active, book.create_sheet("Costs")
    assert first is not None
    first.append(["name", "n", "day", "at", "yes", None, "=1+1"])
    first.append(["Ann", 1.5, date(2026, 5, 1), datetime(2026, 5, 1, 9, 30), True, None, None])  # noqa: DTZ001 - Excel knows no zones
    for n in range(10):
        second.append([n])
    second["XFD1048576"] = "far away"
    out = io.BytesIO()
    book.save(out)
    async with documents(tmp_path, b_xlsx=out.getvalue(), c_csv=b"a;b\n1;2\n") as ask:
        sheet = await ask("read_spreadsheet", path="b.xlsx")
        part = await ask("read_spreadsheet", path="b.xlsx", sheet="Costs", first_row=3, limit=2)
        text = await ask("read_spreadsheet", path="c.csv")
        assert "The sheets are: Sheet, Costs" in await ask.refused(
            "read_spreadsheet", path="b.xlsx", sheet="x"
        )
        assert "must end in .xlsx" in await ask.refused("read_spreadsheet", path="c.pdf")
    assert sheet["sheets"] == ["Sheet", "Costs"]
    assert sheet["rows"][1][:5] == ["Ann", 1.5, "2026-05-01", "2026-05-01T09:30:00", True]
    assert (part["rows"], part["next_row"]) == ([[2], [3]], 5)
    assert text["rows"] == [["a", "b"], ["1", "2"]]


async def test_a_form_is_listed_with_what_stands_in_it(tmp_path: Path) -> None:
    async with documents(tmp_path, f_pdf=papers.form("Ann"), a_pdf=papers.pdf()) as ask:
        found = {one["name"]: one for one in (await ask("list_form_fields", path="f.pdf"))["fields"]}
        assert (await ask("list_form_fields", path="a.pdf"))["fields"] == []
    assert (found["name"]["kind"], found["name"]["value"]) == ("text", "Ann")
    assert (found["agreed"]["kind"], found["agreed"]["value"]) == ("checkbox", "Off")
    assert (found["size"]["kind"], found["size"]["choices"]) == ("choice", ["small", "large"])


def quoted_overlap() -> bytes:
    """Many entries that all point at the same compressed bytes."""
    data = zlib.compress(b"\0" * 1_000_000)[2:-4]
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(data), 1_000_000, 1, 0) + b"a" + data
    central = b"".join(
        struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 0, 0, len(data), 1_000_000, 1, 0, 0, 0, 0, 0, 0) + b"%c" % (97 + n)
        for n in range(20)
    )  # fmt: skip
    return local + central + struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 20, 20, len(central), len(local), 0)


def linked() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("word/document.xml")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")
    return out.getvalue()


def many_pages() -> bytes:
    writer = PdfWriter()
    for _ in range(2_001):
        writer.add_blank_page(10, 10)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def inflating() -> bytes:
    """A page whose content is 200 MB of blanks in 200 KB."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(200)) + packer.flush()
    head = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
    page = b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
    stream = b"4 0 obj<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream endobj\n" % (len(packed), packed)
    return head + page + stream + b"trailer<</Root 1 0 R>>\n"


LAUGHS = b'<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
BAD = {
    "bomb.docx": lambda: papers.package(("word/document.xml", b"\0" * (60 << 20))),
    "crowd.xlsx": lambda: papers.package(*((f"p{n}", b"") for n in range(5_001))),
    "overlap.docx": quoted_overlap,
    "slip.docx": lambda: papers.package(("../../etc/x.xml", b"<a/>")),
    "link.docx": linked,
    "laughs.docx": lambda: papers.swapped(
        papers.docx(), "word/document.xml", b"<w:document", LAUGHS + b"<w:document"
    ),
    "laughs.xlsx": lambda: papers.swapped(
        papers.xlsx([["a"]]), "xl/workbook.xml", b"<workbook", LAUGHS + b"<workbook"
    ),
    "outside.docx": lambda: papers.swapped(
        papers.docx(), "word/document.xml", b"<w:document", b'<!DOCTYPE w SYSTEM "file:///etc/passwd"><w:document'
    ),
    "half.docx": lambda: papers.docx()[:-500],
    "half.pdf": lambda: papers.pdf()[:400],
    "empty.pdf": lambda: b"",
    "empty.docx": lambda: b"",
    "other.docx": lambda: papers.xlsx([["a"]]),
    "other.xlsx": lambda: papers.docx(),
    "loop.pdf": lambda: b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[2 0 R]>>endobj\ntrailer<</Root 1 0 R>>\n",
    "pages.pdf": many_pages,
    "inflating.pdf": inflating,
    "binary.txt": lambda: b"a\0b",
    "large.txt": lambda: b"a" * (21 << 20),
    "picture.png": lambda: b"\x89PNG",
}  # fmt: skip


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", BAD)
async def test_bombs_and_broken_files_are_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(BAD[name]())
    async with documents(tmp_path) as ask:
        start = time.monotonic()
        said = await ask.refused("extract_text", path=name)
        assert time.monotonic() - start < 20
        assert said.startswith(name)
        assert said.endswith(".")


async def test_a_locked_document_says_what_to_do(tmp_path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(papers.pdf())))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    async with documents(tmp_path, l_pdf=out.getvalue()) as ask:
        assert "locked with a password" in await ask.refused("extract_text", path="l.pdf")


@pytest.mark.slow
async def test_a_document_without_an_end_is_stopped_and_the_server_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "LIMITS", calling.Limits(seconds=1))
    deep = b"%PDF-1.4\n" + b"[" * 3_000_000
    async with documents(tmp_path, a_md=b"fine", slow_pdf=deep) as ask:
        start = time.monotonic()
        assert await ask.refused("extract_text", path="slow.pdf")
        assert time.monotonic() - start < 10
        monkeypatch.undo()
        assert (await ask("extract_text", path="a.md"))["text"] == "fine"


def test_a_document_may_take_no_more_memory_than_is_given() -> None:
    assert calling.run("formats.text", "a.md", [b"fine"], ending=".md")[1] == b"fine"
    with pytest.raises(ToolError, match="it was stopped"):
        calling.run("formats.text", "a.md", [b"x" * (8 << 20)], calling.Limits(memory=1 << 20), ending=".md")


async def test_what_lies_outside_or_is_no_file_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "sample"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    os.symlink(tmp_path / "secret.txt", root / "link.txt")
    os.mkfifo(root / "pipe.txt")
    (root / "folder.txt").mkdir()
    async with documents(root) as ask:
        for path in (
            "../secret.txt",
            "link.txt",
            "pipe.txt",
            "folder.txt",
            "missing.txt",
            "/etc/hosts.txt",
            ".",
        ):
            assert "secret" not in (await ask.refused("extract_text", path=path)).replace("secret.txt", "")


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(papers.docx())
    words = ["-m", "servers.document", "--root", str(tmp_path)]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        assert "lease" in (await Ask(client)("extract_text", path="a.docx"))["text"]
