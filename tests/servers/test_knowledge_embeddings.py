"""Files found by what they say in other words, where the optional package for embeddings is installed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from servers.knowledge import embeddings, taking, tasks
from tests.servers import test_knowledge_answers as answers
from tests.servers.figures import told
from tests.servers.test_knowledge_tools import knowing

pytestmark = pytest.mark.skipif(not embeddings.installed(), reason="wordllama has no wheel for this Python")

OFFICE = """# Office

## Opening

The building is locked at 8 pm, and the alarm is armed by whoever leaves last.

## Travel

Train tickets are reimbursed when receipts are handed in by the fifth of the month. Taxis need the consent of a lead.

## Data

Backups run every night at two and are kept for ninety days. The standby site is in Dublin.

## Customers

Goods can be returned within 14 days in their original packaging. The refund goes to the card that paid.

## Contracts

The lease ends on 31 March and renews by a year unless it is cancelled three months before.
"""
TEXTS = answers.TEXTS | {"office.md": OFFICE}
# Questions that share no telling word, or one by accident, with the sentence that answers them, of which this is the
# beginning.
REWORDED = {
    "How much holiday do employees get?": "Everybody has 30 days a year",
    "What should I do if I am ill?": "Call the office before",
    "Can I do my job from Spain?": "Work from another country",
    "How do I get an automobile?": "Book one in the calendar",
    "Who buys the program for bookkeeping?": "The software for accounting",
    "When does the office close in the evening?": "The building is locked",
    "How do I get my money back for a train ride?": "Train tickets are reimbursed",
    "How long do we store copies of our files?": "Backups run every night",
    "Can buyers send products back?": "Goods can be returned",
    "How do I terminate the rent agreement?": "The lease ends",
    "Where is the second data centre?": "The standby site is in Dublin",
    "How do I take a cab?": "Taxis need",
    "Wann ziehen wir um?": "Der Umzug findet am 14. März",
}
UNANSWERED = [
    "Who won the football match?",
    "What is the capital of Peru?",
    "How do I bake bread?",
    "What is the wifi password?",
    "When was the company founded?",
    "Wie wird das Wetter morgen?",
]


def written(folder: Path) -> Path:
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.slow
async def test_a_question_in_other_words_is_answered_and_the_answer_says_so(tmp_path: Path) -> None:
    async with knowing(written(tmp_path)) as ask:
        await ask("index_folder", path=".")
        near = await ask("ask_about_files", question="Can buyers send products back?", limit=1)
        assert near["answer"] == "Goods can be returned within 14 days in their original packaging."
        assert near["sources"][0]["path"] == "office.md"
        assert near["note"].startswith("Found by what it means")
        by_words = await ask("ask_about_files", question="When can goods be returned?", limit=1)
        assert (by_words["answer"], by_words["note"]) == (near["answer"], "")


@pytest.mark.slow
async def test_a_search_in_other_words_finds_the_part_and_says_so(tmp_path: Path) -> None:
    async with knowing(written(tmp_path)) as ask:
        await ask("index_folder", path=".")
        near = await ask("search_documents", query="holiday of employees")
        assert "handbook.md" in [hit["path"] for hit in near["hits"]]
        assert "hold none of the words" in near["note"]
        exact = await ask("search_documents", query="standby site Dublin")
        assert ([hit["path"] for hit in exact["hits"]], exact["note"]) == (["office.md"], "")


@pytest.mark.slow
def test_questions_in_other_words_are_answered_as_often_as_the_documentation_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = made()
    right = [question for question, begins in REWORDED.items() if quotes(index, question).startswith(begins)]
    wrong = [question for question in UNANSWERED if quotes(index, question)]
    found = f"{len(right)} of {len(REWORDED)}; {len(wrong)} of {len(UNANSWERED)} is given a sentence"
    assert found == told("knowledge.ask_about_files, with the package for embeddings"), (right, wrong)
    monkeypatch.setattr(embeddings, "installed", lambda: False)
    assert [q for q, begins in REWORDED.items() if quotes(index, q).startswith(begins)] == []


def made(index: bytes = b"", texts: dict[str, str] = TEXTS, gone: tuple[str, ...] = ()) -> bytes:
    """An index after these files were taken in."""
    new = [[name, f"{n:064x}", len(text)] for n, (name, text) in enumerate(texts.items())]
    files = [text.encode() for text in texts.values()]
    return tasks.changed(index, *files, folder=["", True], gone=gone, new=new)[1]


def quotes(index: bytes, question: str) -> str:
    found = tasks.quotes(index, question=question, within="", limit=1)[0]["found"]
    return str(found[0]["quote"]) if found else ""


def test_an_index_from_before_the_package_gets_its_vectors_with_the_next_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as without:
        without.setattr(embeddings, "installed", lambda: False)
        before = made()
        assert quotes(before, "Can buyers send products back?") == ""
        assert tasks.known(before)[0]["missing"] == 0
    parts = tasks.counts(before)[0]["chunks"]
    assert quotes(before, "Can buyers send products back?") == ""
    assert (tasks.counts(before)[0]["vectors"], tasks.known(before)[0]["missing"]) == (0, parts)
    after = made(before, {})
    assert (tasks.counts(after)[0]["vectors"], tasks.known(after)[0]["missing"]) == (parts, 0)
    assert quotes(after, "Can buyers send products back?").startswith("Goods can be returned")


def test_parts_that_are_left_for_the_next_change_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_EMBEDDED", 2)
    text = OFFICE.encode()
    new = [
        ["office.md", "0" * 64, len(text)],
        ["again.md", "1" * 64, len(text)],
        ["third.md", "2" * 64, len(text)],
    ]
    told, index = tasks.changed(b"", text, text, text, folder=["", True], gone=[], new=new)
    counts = tasks.counts(index)[0]
    assert (counts["vectors"], told["missing"]) == (2, told["chunks"] - 2)
    assert told["missing"] == tasks.known(index)[0]["missing"] > 0


@pytest.mark.slow
async def test_a_change_says_how_many_parts_it_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def left(data: bytes, task: str, *blobs: bytes, **args: Any) -> tuple[dict[str, Any], bytes]:
        told, made = ask_sandbox(data, task, *blobs, **args)
        return (told | {"missing": 7} if task == "changed" else told), made

    ask_sandbox = taking.ask
    monkeypatch.setattr(taking, "ask", left)
    async with knowing(written(tmp_path)) as ask:
        done = await ask("index_folder", path=".")
    assert done["skipped"] == ["7 parts (found by their words alone until the index is updated)"]


def test_the_vectors_of_a_file_leave_the_index_with_it() -> None:
    index = made(made(), {}, gone=("office.md",))
    counts = tasks.counts(index)[0]
    assert counts["vectors"] == counts["chunks"]
    assert quotes(index, "Can buyers send products back?") == ""


BAD: list[Any] = [
    "x" * embeddings.SIZE,
    b"\xff" * embeddings.SIZE,
    b"\x00\x7c" * embeddings.DIMENSIONS,
    b"x",
    7,
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", BAD, ids=["text", "NaN", "infinite", "short", "number"])
def test_vectors_that_are_none_find_nothing(value: Any) -> None:
    with closing(sqlite3.connect(":memory:")) as base:
        base.deserialize(made())
        base.execute("UPDATE vector SET value = ?", [value])
        base.commit()
        index = base.serialize()
    assert quotes(index, "Can buyers send products back?") == ""
    assert quotes(index, "When can goods be returned?").startswith("Goods can be returned")


def test_a_secret_file_and_what_is_elsewhere_are_not_near() -> None:
    index = made(b"", {"keys/.env": OFFICE, "a/office.md": OFFICE})
    found = tasks.search(index, query="buyers send products back", within="", limit=9)[0]["hits"]
    assert {hit["path"] for hit in found} == {"a/office.md"}
    assert tasks.search(index, query="buyers send products back", within="b", limit=9)[0]["hits"] == []
