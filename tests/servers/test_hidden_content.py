"""What a file holds and one of two programs does not show is read, named or refused: it is never left out in silence."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from servers.formats import captions
from tests.servers import papers
from tests.servers.test_hostile_files import over, written

SHEET = "xl/worksheets/sheet1.xml"
SECRET = "max.mustermann@example.org"
ROWS = [["note", "x", "y"], ["ok", "y", "z"], ["mail", "to", SECRET], ["a", "b", "c"]]


def workbook(change: Callable[[str], str]) -> bytes:
    """A workbook with an address in its last column, after a change of what its sheet says."""
    data = papers.xlsx([*ROWS])
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        before = archive.read(SHEET)
    changed = change(before.decode()).encode()
    assert changed != before
    return papers.swapped(data, SHEET, before, changed)


def sized(size: str) -> Callable[[str], str]:
    """Whatever the sheet holds, it says that it is so large."""

    def changed(sheet: str) -> str:
        said = f'<dimension ref="{size}"/>'
        return re.sub(r"<dimension [^>]*/>", "", sheet).replace("<sheetData>", f"{said}<sheetData>")

    return changed


@pytest.mark.slow
@pytest.mark.parametrize("size", ["A1:B2", "A1", "C1:C1"])
async def test_a_sheet_is_read_whole_whatever_size_it_says(tmp_path: Path, size: str) -> None:
    home = written(tmp_path, {"files/a.xlsx": workbook(sized(size))})
    async with over(home, "document") as said:
        assert SECRET in await said("extract_text", path="a.xlsx")
        assert SECRET in await said("read_spreadsheet", path="a.xlsx")
    async with over(home, "security") as said:
        for path in ("a.xlsx", "."):
            assert "email" in await said("scan_for_pii", path=path)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "change",
    [
        lambda sheet: sheet.replace('<row r="4"', '<row r="1"'),
        lambda sheet: sheet.replace('<row r="3"', '<row r="2"'),
        lambda sheet: sheet.replace('<row r="1"', '<row r="0"'),
        lambda sheet: sheet.replace('<row r="4"', '<row r="99999999999"'),
        lambda sheet: sheet.replace('r="B3"', 'r="D3"'),
        lambda sheet: sheet.replace('r="C3"', 'r="B3"'),
    ],
)
async def test_rows_and_cells_that_go_back_are_refused(tmp_path: Path, change: Callable[[str], str]) -> None:
    home = written(tmp_path, {"files/a.xlsx": workbook(change)})
    async with over(home, "document") as said:
        assert "a.xlsx has rows or cells of a sheet out of their order" in await said(
            "extract_text", path="a.xlsx"
        )
    async with over(home, "security") as said:
        for path in ("a.xlsx", "."):
            assert "a.xlsx has rows or cells of a sheet out of their order" in await said(
                "scan_for_pii", path=path
            )


async def test_a_cell_far_beyond_the_columns_that_are_read_is_not_dropped(tmp_path: Path) -> None:
    data = workbook(lambda sheet: sheet.replace('r="C3"', 'r="ABC3"'))
    async with over(written(tmp_path, {"files/a.xlsx": data}), "document") as said:
        assert "a.xlsx has more than 500 columns" in await said("extract_text", path="a.xlsx")


VTT = """WEBVTT

NOTE
made by hand

00:01.000 --> 00:02.000
Ann: We agree to pay.

00:00:0x.000 --> 00:00:04.000
Bob: But only after the audit.

1:00:05,000 --> 00:00:06.000
Cid: I object.

00:07.000 -> 00:08.000
Dora: So do I.

00:09.000 --> 00:10.000
Ann: Done.
"""
SRT = """1
00:00:01,000 --> 00:00:02,000
Ann: We agree to pay.

2
00:00:03.000 -> 00:00:04,000
Bob: But only after the audit.

three
00:00:05,000 --> 00:00:06,000
Cid: I object.

4
00:00:xx,000 --> 00:00:08,000
Dora: So do I.

5
00:00:09,000 --> 00:00:10,000
Ann: Done.

At last.
"""
WHOLE = """WEBVTT - a meeting
Kind: captions

STYLE
::cue { color: white }

intro
00:01.000 --> 00:02.000 align:start
<v Ann>Good morning,
everybody. It is
2026

2
00:02.000 --> 00:03.000
Done.
"""


@pytest.mark.parametrize(("ending", "text"), [(".vtt", VTT), (".srt", SRT)])
async def test_captions_whose_time_cannot_be_read_are_named(tmp_path: Path, ending: str, text: str) -> None:
    lines = [n for n, line in enumerate(text.splitlines(), 1) if re.match("Bob|Cid|Dora", line)]
    firsts = ", ".join(str(line - (1 if ending == ".vtt" else 2)) for line in lines)
    why = f"has 3 captions whose time cannot be read (lines {firsts}): left out, or read with"
    assert why in captions.read(text, ending)[1]
    home = written(tmp_path, {f"files/a{ending}": text.encode()})
    async with over(home, "meeting") as said:
        told = await said("preview_minutes", call={"source": f"a{ending}", "destination": "new.md"})
    assert f"It {why}" in told


def test_an_arrow_in_what_is_said_is_no_time() -> None:
    cues = "00:01.000 --> 00:02.000\nOne.\n\n00:03.000 --> 00:04.000\nFrom A --> B and pay 500.\n"
    said, untimed = captions.read(f"WEBVTT\n\n{cues}", ".vtt")
    assert "pay 500" in said or "has a caption whose time cannot be read (line 6)" in untimed
    numbered = "1\n00:00:01,000 --> 00:00:02,000\nFrom A --> B and pay 500.\n"
    assert captions.read(numbered, ".srt") == ("From A --> B and pay 500.", "")


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (".vtt", WHOLE),
        (
            ".srt",
            "1\n" + WHOLE.partition("intro\n")[2].replace("00:0", "00:00:0").replace(" align:start", ""),
        ),
    ],
)
def test_captions_that_are_read_whole_are_read_without_a_word(ending: str, text: str) -> None:
    said, untimed = captions.read(text, ending)
    assert "everybody. It is 2026" in said
    assert untimed == ""


TWICE = '[{"id": 1, "iban": "DE1"}, {"id": 2, "iban": "DE2", "iban": "DE1"}]'
WHICH = "has names more than once in a record (“iban”): the last value was taken"


async def test_a_name_that_stands_twice_in_a_record_is_told(tmp_path: Path) -> None:
    lines = TWICE.strip("[]").replace("}, {", "}\n{")
    home = written(tmp_path, {"files/a.json": TWICE.encode(), "files/b.jsonl": lines.encode()})
    async with over(home, "data") as said:
        for name in ("a.json", "b.jsonl"):
            assert f"The file {WHICH}." in await said("summarize_anomalies", path=name)
    async with over(home, "document") as said:
        for ending in ("csv", "html"):
            call = {"source": "a.json", "destination": f"new.{ending}"}
            assert f"it {WHICH}" in await said("preview_document", make="convert_format", call=call)


async def test_generated_columns_of_a_database_are_shown(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE t(a, b TEXT AS (a || '!') STORED, c AS (a || '?') VIRTUAL)")
        data = base.serialize()
    async with over(written(tmp_path, {"files/a.sqlite": data}), "data") as said:
        told = json.loads(await said("describe_database", path="a.sqlite"))
    [table] = told["tables"]
    assert [(one["name"], one["type"]) for one in table["columns"]] == [
        ("a", "any"),
        ("b", "TEXT (generated)"),
        ("c", "any (generated)"),
    ]


def event(uid: str, day: int, more: str = "") -> str:
    return (
        f"BEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\nSUMMARY:On the {day}th\r\n{more}"
        f"DTSTART:202611{day}T090000Z\r\nEND:VEVENT\r\n"
    )


async def test_events_behind_another_one_of_the_same_id_are_told(tmp_path: Path) -> None:
    moved = event("weekly", 20, "RECURRENCE-ID:20261117T090000Z\r\n")
    whole = event("weekly", 10, "RRULE:FREQ=WEEKLY;COUNT=3\r\n") + moved
    home = written(
        tmp_path,
        {
            f"calendar/{name}.ics": f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{held}END:VCALENDAR\r\n".encode()
            for name, held in {"whole": whole, "twice": event("one", 10) + event("one", 12)}.items()
        },
    )
    async with over(home, "calendar") as said:
        told = json.loads(await said("list_events", start="2026-11-01", days=30))
        for tool in ("get_event", "delete_event"):
            assert "The event one is several times in its file" in await said(tool, event_id="one")
        assert "On the 10th" in await said("get_event", event_id="weekly")
    assert "twice.ics has several events with one id (one), of which only one is told" in told["note"]
    assert "whole.ics" not in told["note"]
    assert len(told["events"]) == 4
