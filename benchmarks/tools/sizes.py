"""Seconds and memory of the tools on much: 10,000 files, 100 MB of records, 5,000 mails, 300 pages."""

from __future__ import annotations

import csv
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from mcp_types import TextContent

from benchmarks.measure import Row, heading, line
from benchmarks.tools.measuring import asking, taking
from servers.data import server as data
from servers.document import server as document
from servers.email import server as email
from servers.filesystem import server as filesystem
from servers.formats import markdown
from servers.formats import pdf as pdf_format
from servers.knowledge import server as knowledge
from servers.ocr import server as ocr
from servers.security import server as security
from tests.servers.files import Ask

WORDS = "the budget of this year was agreed on Monday and Bob sends a report about rent lease keys and costs".split()
SENTENCES = 12


async def run(_: object = None, quick: bool = False) -> None:
    print(heading(f"Time and memory on much{' (a tenth of it)' if quick else ''}"))
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory() as folder:
        for part in (_tree, _table, _mails, _pages):
            home = Path(folder) / part.__name__.strip("_")
            home.mkdir()
            await part(home, share)


def _text(r: random.Random, sentences: int = SENTENCES) -> str:
    return (
        " ".join(" ".join(r.choice(WORDS) for _ in range(12)).capitalize() + "." for _ in range(sentences))
        + "\n"
    )


def tree(home: Path, count: int) -> None:
    """So many text files of 1 KB in 100 folders, every fiftieth with an address."""
    r = random.Random(1)
    for n in range(count):
        (home / f"d{n % 100:02}").mkdir(exist_ok=True)
        own = "write to ann@example.org\n" if n % 50 == 0 else ""
        (home / f"d{n % 100:02}" / f"f{n:05}.txt").write_text(own + _text(r))


async def _tree(home: Path, share: int) -> None:
    count = 10_000 // share
    tree(home, count)
    what = f"{count:,} files"
    async with asking(filesystem([home])) as ask:
        await _timed(
            ask,
            f"filesystem.search_files, {what}",
            "search_files",
            path=".",
            pattern="*.txt",
            contains="budget qqq",
        )
    async with asking(security([home])) as ask:
        for tool in ("scan_for_secrets", "scan_for_pii"):
            await _led(ask, f"security.{tool}, {what}", tool, goal=20)
        await _timed(ask, f"security.find_duplicates, {what}", "find_duplicates", path=".")
    async with asking(knowledge([home])) as ask:
        await _timed(ask, f"knowledge.index_folder, {what}", "index_folder", path=".")
        await _timed(
            ask, f"knowledge.index_folder, {min(count // 100, 100)} files", "index_folder", path="d01"
        )
        await _timed(ask, "knowledge.ask_about_files", "ask_about_files", question="Who sends a report?")


async def _table(home: Path, share: int) -> None:
    for rows in (100_000 // share, 1_000_000 // share):
        with (home / f"t{rows}.csv").open("w") as file:
            file.writelines(records(rows))
        size = f"{rows:,} rows, {(home / f't{rows}.csv').stat().st_size / 2**20:,.0f} MB"
        async with asking(data([home])) as ask:
            await _tables(ask, f"t{rows}.csv", size)
            _database(home / f"t{rows}.csv")
            for tool in ("deduplicate_records", "summarize_anomalies"):
                what = f"data.{tool}, SQLite, {rows:,} rows"
                await _timed(ask, what, tool, path=f"t{rows}.sqlite", table="orders")


def _database(file: Path) -> None:
    """The same records in a table of a SQLite database beside the file."""
    with file.open() as lines, closing(sqlite3.connect(file.with_suffix(".sqlite"))) as base, base:
        names, *rows = csv.reader(lines)
        base.execute("CREATE TABLE orders ({})".format(", ".join(f'"{name}"' for name in names)))
        base.executemany(f"INSERT INTO orders VALUES ({', '.join('?' * len(names))})", rows)


async def _tables(ask: Ask, name: str, size: str) -> None:
    for tool in ("deduplicate_records", "summarize_anomalies"):
        await _timed(ask, f"data.{tool}, {size}", tool, path=name)
    await _timed(ask, f"data.deduplicate_records, alike, {size}", "deduplicate_records", path=name, alike=0.9)
    call = {"source": name, "destination": f"once-{name}"}
    await _timed(ask, f"data.preview_without_duplicates, {size}", "preview_without_duplicates", call=call)
    await _timed(ask, f"data.write_without_duplicates, {size}", "write_without_duplicates", **call)


def records(rows: int) -> Iterator[str]:
    """Orders of about a hundred characters each, every hundredth of them there twice."""
    r = random.Random(2)
    yield "order,day,customer,mail,quantity,price,note\n"
    for n in range(rows):
        own = n - 1 if n % 100 == 1 else n
        r.seed(own)
        who = f"customer {r.randrange(50_000)}"
        note = " ".join(r.choice(WORDS) for _ in range(6))
        mail, day = f"{who.replace(' ', '.')}@example.org", f"2026-{own % 10 + 1:02}-{own % 28 + 1:02}"
        yield f"A{own:07},{day},{who},{mail},{r.randint(1, 9)},{r.randint(100, 99_999) / 100:.2f},{note}\n"


async def _mails(home: Path, share: int) -> None:
    r, count = random.Random(3), 5_000 // share
    for part in ("cur", "new", "tmp"):
        (home / part).mkdir()
    for n in range(count):
        mail = EmailMessage()
        mail["From"], mail["To"] = f"Bob {n % 40} <bob{n % 40}@example.com>", "Ann <ann@example.com>"
        mail["Subject"], mail["Message-ID"] = f"Thread {n // 8}", f"<m{n}@example.com>"
        mail["Date"] = f"Wed, {n % 28 + 1} Nov 2025 10:{n % 60:02}:00 +0000"
        mail["References"] = f"<m{n // 8 * 8}@example.com>"
        mail.set_content(_text(r, 8) + ("The needle is here.\n" if n == 7 else ""))
        (home / "cur" / f"{n}.m.host:2,S").write_bytes(mail.as_bytes())
    what = f"{count:,} mails"
    async with asking(email(home, Address("Ann", "ann", "example.com"))) as ask:
        with taking() as taken:
            found, calls = await ask("search_emails", text="needle"), 1
            while "not read yet" in found["note"]:
                found, calls = await ask("search_emails", text="needle"), calls + 1
        note = f"{taken.note}; the index is made by so many calls"
        print(line(Row(f"email.search_emails, {what}, first", taken.seconds, "s", calls, note=note)))
        await _timed(ask, f"email.search_emails, {what}, again", "search_emails", text="needle")
        id_ = found["messages"][0]["message_id"]
        await _timed(ask, f"email.summarize_thread, {what}", "summarize_thread", message_id=id_)


async def _pages(home: Path, share: int) -> None:
    pages, r = 300 // share, random.Random(4)
    text = "\n\n".join(f"# Part {n}\n\n{_text(r, 60)}" for n in range(pages))
    (home / "a.pdf").write_bytes(pdf_format.write(markdown.read(text), ""))
    (home / "b.pdf").write_bytes(
        pdf_format.write(markdown.read(text.replace("Part 7\n", "Part seven\n")), "")
    )
    told_pages = len(pdf_format.reader((home / "a.pdf").read_bytes()).pages)
    async with asking(document([home])) as ask:
        told = await _timed(
            ask, f"document.extract_text, PDF of {told_pages} pages", "extract_text", path="a.pdf"
        )
        print(f"    {told.get('note') or 'no note'}")
        await _timed(
            ask, "document.diff_documents, two of them", "diff_documents", first="a.pdf", second="b.pdf"
        )
    async with asking(ocr([home])) as ask:
        await _timed(
            ask, "ocr.extract_text_from_pdf, 3 pages of it", "extract_text_from_pdf", path="a.pdf", pages=3
        )


async def _timed(ask: Ask, what: str, tool: str, **args: Any) -> dict[str, Any]:
    """One call; what it refuses is printed in its own words."""
    with taking() as taken:
        result = await ask.client.call_tool(tool, args)
    note = taken.note
    if result.is_error:
        said = next((one.text for one in result.content if isinstance(one, TextContent)), "")
        note += f"; refused: {said.removeprefix(f'Error executing tool {tool}: ')}"
    found = (
        result.structured_content
        if not result.is_error and isinstance(result.structured_content, dict)
        else {}
    )
    if found.get("truncated") or found.get("note"):
        note += f"; partly: {found.get('note') or found.get('summary')}"
    print(line(Row(what, taken.seconds, "s", note=note)))
    return found


async def _led(ask: Ask, what: str, tool: str, goal: float) -> None:
    """Calls that go on with the cursor until nothing is left."""
    calls, cursor, files = 0, "", 0
    with taking() as taken:
        while cursor or not calls:
            told = await ask(tool, path=".", cursor=cursor)
            cursor, calls, files = told["next_cursor"], calls + 1, files + told["files"]
    print(
        line(
            Row(
                what,
                taken.seconds,
                "s",
                calls,
                goal=goal,
                note=f"{taken.note}; {files:,} files looked through",
            )
        )
    )
