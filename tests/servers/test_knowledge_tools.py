"""Searching and asking: what is answered stands in a file, word for word, and the index says what it holds."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from servers.filesystem import trash
from servers.knowledge import indexing, server, tasks
from servers.knowledge.text_parts import SIZE, chunks, sentences
from servers.sandbox import protocol
from servers.sandbox.protocol import Refused
from tests.cpu_time import within
from tests.servers import papers
from tests.servers.files import Ask, Clock, Mode
from tests.servers.gate_around_server import check_cards

CLASSES = dict.fromkeys(
    "search_documents ask_about_files get_related_chunks check_index preview_index preview_update "
    "preview_restore_index".split(),
    "read",
) | dict.fromkeys(["index_folder", "update_index", "restore_index"], "write")
LEASE = """# Lease of the Lisbon office

The lease of the Lisbon office ends on 31 May 2027. Rent is 900 euros a month.
It can be ended three months before.

Keys: Ann has two, Bob has one.
"""
TRIP = "Trip to Lisbon in June.\nThe hotel costs 120 euros a night. We stay three nights.\n"
SOUP = "A good soup needs time, onions and patience.\n"


@asynccontextmanager
async def knowing(*roots: Path, mode: Mode = "auto") -> AsyncIterator[Ask]:
    async with Client(server(roots, Clock()), mode=mode, read_timeout_seconds=90) as client:
        yield Ask(client)


def notes(root: Path) -> Path:
    for name, text in {"lease.md": LEASE, "trip.txt": TRIP, "deep/soup.md": SOUP}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Mode) -> None:
    async with knowing(tmp_path, mode=mode) as ask:
        check_cards((await ask.client.list_tools()).tools, CLASSES)


@pytest.mark.slow
async def test_words_are_found_in_the_files_that_hold_them(tmp_path: Path) -> None:
    async with knowing(notes(tmp_path)) as ask:
        assert "Index a folder first" in (await ask("search_documents", query="lease"))["note"]
        await ask("index_folder", path=".")
        both = await ask("search_documents", query="the hotel in Lisbon")
        some = await ask("search_documents", query="onions unicorns")
        below = await ask("search_documents", query="soup", path="deep")
        elsewhere = await ask("search_documents", query="hotel", path="deep")
        none = await ask("search_documents", query="unicorns")
        odd = await ask("search_documents", query='") OR word MATCH "x* NEAR(')
        ended = await ask("search_documents", query="ending leases")
    assert [hit["path"] for hit in both["hits"]] == ["trip.txt"]
    assert (both["hits"][0]["first_line"], both["hits"][0]["last_line"]) == (1, 2)
    assert [hit["path"] for hit in some["hits"]] == ["deep/soup.md"]
    assert [hit["path"] for hit in below["hits"]] == ["deep/soup.md"]
    assert elsewhere["hits"] == none["hits"] == []
    assert "holds these words" in none["note"]
    assert odd["asked"].startswith('"')
    assert ended["hits"][0]["path"] == "lease.md"
    assert both["files"] == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "answer", "path"),
    [
        (
            "When does the lease of the Lisbon office end?",
            "The lease of the Lisbon office ends on 31 May 2027.",
            "lease.md",
        ),
        ("What does the hotel cost?", "The hotel costs 120 euros a night.", "trip.txt"),
        ("Who has keys?", "Keys: Ann has two, Bob has one.", "lease.md"),
        ("what does a good soup need", "A good soup needs time, onions and patience.", "deep/soup.md"),
    ],
)
async def test_a_question_is_answered_with_a_sentence_and_its_source(
    tmp_path: Path, question: str, answer: str, path: str
) -> None:
    async with knowing(notes(tmp_path)) as ask:
        await ask("index_folder", path=".")
        told = await ask("ask_about_files", question=question, limit=1)
    assert told["found"]
    assert told["answer"] == answer
    assert told["sources"][0]["path"] == path
    assert answer in (tmp_path / path).read_text()


@pytest.mark.slow
async def test_what_no_file_says_is_not_made_up(tmp_path: Path) -> None:
    async with knowing(notes(tmp_path)) as ask:
        await ask("index_folder", path=".")
        told = await ask("ask_about_files", question="What is quantum chromodynamics?")
        assert (told["found"], told["answer"], told["sources"]) == (False, "", [])
        assert (await ask("ask_about_files", question="lease", path="deep"))["sources"] == []
        (tmp_path / "lease.md").write_text("The lease is over.")
        told = await ask("ask_about_files", question="When does the lease end?", limit=1)
    assert told["sources"][0]["changed_since"]
    assert "update the index" in told["note"]


@pytest.mark.slow
async def test_related_parts_share_rare_words(tmp_path: Path) -> None:
    async with knowing(notes(tmp_path)) as ask:
        await ask("index_folder", path=".")
        found = await ask("get_related_chunks", chunk="trip.txt#1")
        assert "no part" in await ask.refused("get_related_chunks", chunk="trip.txt#9")
        assert "no part" in await ask.refused("get_related_chunks", chunk="trip.txt#x")
    assert found["hits"][0]["path"] == "lease.md"
    assert "trip.txt" not in [hit["path"] for hit in found["hits"]]


@pytest.mark.slow
async def test_the_index_follows_the_files(tmp_path: Path) -> None:
    async with knowing(notes(tmp_path)) as ask:
        first = await ask("index_folder", path=".")
        assert (first["added"], first["chunks"]) == (3, 3)
        assert "Nothing has changed" in await ask.refused("update_index")
        (tmp_path / "trip.txt").write_text("Cancelled.")
        (tmp_path / "deep" / "soup.md").unlink()
        (tmp_path / "new.md").write_text("Unicorns.")
        plan = await ask("preview_update", call={})
        assert [item["name"] for item in plan["items"]] == [
            "new.md (new)", "trip.txt (changed)", "deep/soup.md (gone, taken out)"
        ]  # fmt: skip
        (tmp_path / "late.md").write_text("Later.")
        assert "have changed since" in await ask.refused(
            "update_index", expected_files=plan["expected_files"]
        )
        second = await ask("update_index")
        assert (second["added"], second["changed"], second["removed"]) == (2, 1, 1)
        assert (await ask("search_documents", query="unicorns"))["hits"]
        assert not (await ask("search_documents", query="hotel"))["hits"]
        assert "has changed since" in await ask.refused(
            "restore_index", record=second["record"], expected_index=first["sha256"]
        )
        back = await ask("restore_index", record=second["record"])
        assert back["sha256"] == first["sha256"]
        assert (await ask("search_documents", query="hotel"))["hits"]
        state = await ask("check_index", path=".")
    assert (state["folders"], state["files"], state["sha256"]) == (["."], 3, first["sha256"])


@pytest.mark.slow
async def test_what_a_killed_server_left_staged_goes_with_the_next_change(tmp_path: Path) -> None:
    async with knowing(notes(tmp_path)) as ask:
        await ask("index_folder", path="deep")
        ours = tmp_path / ".countersign" / "knowledge"
        (ours / ("0a" * 16)).write_bytes(b"half an index")
        (ours / ("0b" * 16)).mkdir()
        await ask("index_folder", path=".")
        assert sorted(path.name for path in ours.iterdir()) == ["before", "index.sqlite"]


@pytest.mark.slow
@pytest.mark.parametrize("limit", [("MOST_RECORDED", 50_000), ("MOST_RECORDS", 2)], ids=["bytes", "files"])
async def test_earlier_indexes_have_a_total_limit_and_the_refusal_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: tuple[str, int]
) -> None:
    monkeypatch.setattr(trash, *limit)
    kept = tmp_path / ".countersign" / "knowledge" / "before"
    async with knowing(notes(tmp_path)) as ask:
        done = 0
        for number in range(9):
            (tmp_path / "trip.txt").write_text(f"{TRIP}{number}")
            if (await ask.client.call_tool("index_folder", {"path": "."})).is_error:
                break
            done += 1
        before = (tmp_path / ".countersign" / "knowledge" / "index.sqlite").read_bytes()
        said = await ask.refused("index_folder", path=".")
        assert 0 < done < 9
        assert "delete the oldest files in .countersign/knowledge/before" in said
        assert (tmp_path / ".countersign" / "knowledge" / "index.sqlite").read_bytes() == before
        assert len(list(kept.iterdir())) == done
        for record in kept.iterdir():
            record.unlink()
        await ask("index_folder", path=".")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "day", ["99999999T999999", "20261399T000000", "２０２０0101T000000", "20200101T000000"]
)
async def test_a_record_that_others_put_beside_ours_stops_no_change(tmp_path: Path, day: str) -> None:
    (tmp_path / ".countersign" / "knowledge" / "before" / f"{day}-0123456789abcdef").mkdir(parents=True)
    async with knowing(notes(tmp_path)) as ask:
        assert (await ask("index_folder", path="."))["added"] == 3


@pytest.mark.slow
async def test_documents_are_taken_in_and_what_holds_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(papers.pdf("The deposit is 1800 euros."))
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 junk")
    (tmp_path / "raw.bin").write_bytes(b"\0\1\2")
    (tmp_path / "large.txt").write_bytes(b"a" * (indexing.LARGEST_TEXT + 1))
    os.symlink("/etc/passwd", tmp_path / "link.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    async with knowing(tmp_path) as ask:
        made = await ask("index_folder", path=".")
        told = await ask("ask_about_files", question="How much is the deposit?")
        assert "Nothing has changed" in await ask.refused("update_index")
    assert told["answer"] == "The deposit is 1800 euros."
    assert made["added"] == 2
    assert sorted(made["skipped"]) == [
        "broken.pdf (broken, or too much to open)",
        "large.txt (larger than 4 MB)",
        "raw.bin (is not text)",
    ]


async def test_too_much_at_once_and_what_is_no_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "MOST_FILES", 2)
    monkeypatch.setattr(indexing, "MOST_DOCUMENTS", 0)
    notes(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "a.pdf").write_bytes(b"%PDF")
    async with knowing(tmp_path) as ask:
        assert "more than 2 files" in await ask.refused("index_folder", path=".")
        assert "new documents" in await ask.refused("index_folder", path="papers")
        for path in ("lease.md", "missing", "../x", "/etc"):
            assert await ask.refused("index_folder", path=path)
        assert "No folder" in await ask.refused("update_index")
        assert "no record" in await ask.refused("restore_index", record="../../x")
        assert (await ask("check_index", path="."))["sha256"] == "absent"


@pytest.mark.slow
async def test_an_index_of_more_files_that_are_gone_than_a_card_lists_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card of 50,000 of them held up a bot for 0.2 s."""
    notes(tmp_path)
    async with knowing(tmp_path) as ask:
        await ask("index_folder", path=".")
        for name in ("lease.md", "trip.txt"):
            (tmp_path / name).unlink()
        monkeypatch.setattr(indexing, "MOST_FILES", 1)
        for tool, args in (("preview_update", {"call": {"path": "."}}), ("update_index", {"path": "."})):
            assert "2 files are gone; at most 1 at once" in await ask.refused(tool, **args)
        monkeypatch.undo()
        assert (await ask("update_index", path="."))["removed"] == 2


def test_the_files_of_an_index_are_told_in_lines_that_are_parsed_one_by_one() -> None:
    names = [f"f{number}\r\n\x85\u2028.md" for number in range(1_001)]
    new = [[name, "0" * 64, 1] for name in names]
    index = tasks.changed(b"", *[b"x"] * len(new), folder=["", True], gone=[], new=new)[1]
    assert len(tasks.known(index)[1].splitlines()) == 3
    assert sorted(indexing.known(index).files) == sorted(names)


async def test_an_index_that_is_broken_says_so(tmp_path: Path) -> None:
    folder = notes(tmp_path) / ".countersign" / "knowledge"
    folder.mkdir(parents=True)
    (folder / "index.sqlite").write_bytes(b"SQLite format 3\0 and then nothing")
    async with knowing(tmp_path) as ask:
        assert "cannot be read" in await ask.refused("search_documents", query="lease")
        assert "cannot be read" in await ask.refused("index_folder", path=".")


FORGED = {
    "a view of files without end": "DROP TABLE file; CREATE VIEW file AS WITH RECURSIVE n(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000) SELECT CAST(i AS TEXT) AS path, '' AS sha256, 0 AS size "
    "FROM n",
    "a view of folders": "ALTER TABLE folder RENAME TO f; CREATE VIEW folder AS SELECT * FROM f",
    "a view of parts": "DROP TABLE chunk; CREATE VIEW chunk AS SELECT 1 id, 'a' path, 1 n, 1 first, 1 last, 'x' text",
    "a column that is worked out": "DROP TABLE file; CREATE TABLE file(path TEXT PRIMARY KEY, size INT, "
    "sha256 TEXT GENERATED ALWAYS AS (hex(zeroblob(100000000)))) WITHOUT ROWID",
    "one more trigger": "CREATE TRIGGER mine AFTER INSERT ON file BEGIN DELETE FROM folder; END",
    "another trigger": "DROP TRIGGER chunk_in; CREATE TRIGGER chunk_in AFTER INSERT ON chunk BEGIN SELECT 1; END",
    "one more search index": "CREATE VIRTUAL TABLE mine USING fts5(text)",
    "another search index": "DROP TABLE word; CREATE VIRTUAL TABLE word USING fts5(text)",
    "one more index": "CREATE INDEX mine ON chunk(hex(path))",
    "a table of vectors that is a view": "DROP TABLE IF EXISTS vector; CREATE VIEW vector AS SELECT 1 id, x'00' value",
    "a table less": "DROP TABLE folder",
}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED)
async def test_an_index_with_anything_that_is_not_ours_is_refused_and_gives_nothing(
    tmp_path: Path, forged: str
) -> None:
    """One view of 12 kB made the bot take 745 MB and 8 s of processor time."""
    calls: dict[str, dict[str, object]] = {
        "check_index": {"path": "."},
        "preview_update": {"call": {"path": "."}},
        "update_index": {"path": "."},
        "search_documents": {"query": "lease"},
        "ask_about_files": {"question": "Who has keys?"},
        "get_related_chunks": {"chunk": "lease.md#1"},
    }
    async with knowing(notes(tmp_path)) as ask:
        await ask("index_folder", path=".")
        with closing(sqlite3.connect(tmp_path / ".countersign" / "knowledge" / "index.sqlite")) as base:
            base.executescript(forged)
        with within(1, time.process_time):
            for tool, args in calls.items():
                said = await ask.refused(tool, **args)
                assert (
                    "is none that this server has made. Move it away, then index the folders anew." in said
                ), tool


def test_an_index_has_a_limit_of_files_and_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(index: bytes, *names: str, folder: str = "") -> bytes:
        new = [[name, "0" * 64, 1] for name in names]
        return tasks.changed(index, *[b"x"] * len(new), folder=[folder, True], gone=[], new=new)[1]

    index = changed(b"", "a", "b", "c")
    monkeypatch.setattr(tasks, "MOST_FILES", 2)
    with pytest.raises(Refused, match="Move it away, then index smaller folders anew"):
        tasks.known(index)
    with pytest.raises(Refused, match="Index fewer or smaller folders"):
        changed(index, "d")
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "MOST_PATHS", 100)
    with pytest.raises(Refused, match="very long paths"):
        tasks.known(index)
    with pytest.raises(Refused, match="Index fewer or smaller folders"):
        changed(index, "d")
    monkeypatch.undo()
    monkeypatch.setattr(tasks, "MOST_FOLDERS", 1)
    with pytest.raises(Refused, match="Index fewer or smaller folders"):
        changed(index, folder="more")
    monkeypatch.setattr(tasks, "MOST_FOLDERS", 0)
    with pytest.raises(Refused, match="index fewer folders anew"):
        tasks.folders(index)


def test_the_most_files_of_an_index_fit_into_what_is_parsed() -> None:
    files = {f"{number:06d}[{{,:.md": "0" * 64 for number in range(tasks.MOST_FILES)}
    text = json.dumps(files).encode()
    assert len(text) <= tasks.MOST_PATHS <= protocol.MOST_JSON
    assert protocol.parsed(text) == files


@pytest.mark.slow
async def test_with_two_roots_each_has_its_index_and_both_are_searched(tmp_path: Path) -> None:
    one, two = notes(tmp_path / "one"), tmp_path / "two"
    two.mkdir()
    (two / "more.md").write_text("Another lease.")
    async with knowing(one) as ask:
        await ask("index_folder", path=".")
    async with knowing(two, one) as ask:
        await ask("index_folder", path="two")
        found = await ask("search_documents", query="lease")
        related = await ask("get_related_chunks", chunk="one/trip.txt#1")
        assert "Nothing has changed" in await ask.refused("update_index", path="one")
    assert {hit["path"] for hit in found["hits"]} == {"one/lease.md", "two/more.md"}
    assert related["hits"][0]["chunk"] == "one/lease.md#1"


def test_parts_hold_every_line_once_and_know_their_numbers() -> None:
    lines = [f"line {n} " + "x" * (n % 90) if n % 7 else "" for n in range(400)] + ["y" * 9_000]
    found = list(chunks("\n".join(lines)))
    assert "".join(part.text for part in found).replace("\n", "") == "".join(lines)
    assert all(len(part.text) <= SIZE + 4_000 for part in found)
    for part in found[:-3]:
        assert part.text.split("\n")[0] in lines[part.first - 1 : part.first + 1]
    assert [part.first for part in found] == sorted(part.first for part in found)


def test_sentences_end_where_people_end_them() -> None:
    assert sentences('It ends. "Really?" Yes… 3 days\nlist') == [
        "It ends.",
        '"Really?',
        "Yes…",
        "3 days",
        "list",
    ]


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    notes(tmp_path)
    words = ["-m", "servers.knowledge", "--root", str(tmp_path)]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        ask = Ask(client)
        await ask("index_folder", path=".")
        assert (await ask("search_documents", query="onions"))["hits"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Sick notes are due on the third day, see Sec. 4.2 of the handbook.",
        "Printer codes are set by Ms. Lopez, ext. 4711.",
        "Fahrkarten der 2. Klasse werden erstattet.",
        "Es gilt ab dem 3. Monat, sonst ab 1. Januar.",
        "Der Umsatz lag bei 3 Mio. Euro.",
    ],
)
def test_a_sentence_does_not_end_in_its_middle(sentence: str) -> None:
    assert sentences(f"{sentence} Another one.") == [sentence, "Another one."]
