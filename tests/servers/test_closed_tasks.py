"""A rule about the words of a task holds for each tool that names the task by its number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gate.rules.action import CallClass, Verdict
from gate.rules.policy import Rule
from gate.rules.previews import COVERED_BY_RULE
from tests.servers.gate_around_server import Gate
from tests.servers.test_closed_calendars import Asker
from tests.servers.test_closed_holders import verdict
from tests.servers.test_task_tools import tasks

HELD = {"title": "legal hold: the papers", "notes": "says the court"}
OPEN = {"title": "water the plants", "notes": "twice a week"}
TITLE = {"title": {"pattern": "^legal hold"}}
NOTES = {"notes": {"pattern": "court"}}
TEXTS: Mapping[str, dict[str, Any]] = {
    "a text in the title": {"texts": ("(?i)LEGAL hold",)},
    "a text in the notes": {"texts": ("the court$",)},
}
WORDS: Mapping[str, dict[str, Any]] = {
    **TEXTS,
    "the title": {"schema": {"required": ["title"], "properties": TITLE}},
    "the notes": {"schema": {"required": ["notes"], "properties": NOTES}},
    "both": {"schema": {"required": ["title", "notes"], "properties": {**TITLE, **NOTES}}},
}
BOTH = WORDS["both"]
CHANGED: Mapping[str, dict[str, Any]] = {
    "the day": {"due": "2026-12-01"},
    "the state": {"status": "done"},
    "the title": {"title": "papers"},
    "the notes": {"notes": "none"},
    "both": {"title": "papers", "notes": "none"},
}


def under(gate: Gate, tool: str, words: Mapping[str, Any], **more: Any) -> Asker:
    """Whoever asks under a rule about the words of what this tool is called for."""
    return Asker(gate, (Rule("hold", (f"task.{tool}",), **words, **(more or {"deny": True})),))


async def row(gate: Gate, task_id: int, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await gate("get_task", task_id=task_id))["task"]
    return {**found, **more}


async def with_two(gate: Gate) -> None:
    await gate("create_task", **HELD)
    await gate("create_task", **OPEN)


@pytest.mark.parametrize("words", WORDS)
async def test_no_change_is_made_to_a_task_whose_words_a_rule_denies(words: str, tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await with_two(gate)
        update, delete, restore = (
            under(gate, tool, WORDS[words]) for tool in ("update_task", "delete_task", "restore_task")
        )
        for change in CHANGED.values():
            assert await verdict(update, "update_task", task_id=1, **change) is Verdict.DENY
            assert await verdict(update, "update_task", task_id=2, **change) is Verdict.CONFIRM
        assert await verdict(delete, "delete_task", task_id=1) is Verdict.DENY
        assert await verdict(delete, "delete_task", task_id=2) is Verdict.TYPED
        for task_id, what in ((1, Verdict.DENY), (2, Verdict.CONFIRM)):
            task = await row(gate, task_id, title="papers", notes="none")
            assert await verdict(restore, "restore_task", task=task) is what


@pytest.mark.parametrize("words", WORDS)
async def test_no_words_that_a_rule_denies_are_written_into_a_task(words: str, tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await with_two(gate)
        update, restore = (under(gate, tool, WORDS[words]) for tool in ("update_task", "restore_task"))
        assert await verdict(update, "update_task", task_id=2, **HELD) is Verdict.DENY
        for blanks in (" {}", "\u00a0{}\t", "{} "):
            held = {name: blanks.format(text) for name, text in HELD.items()}
            assert await verdict(update, "update_task", task_id=2, **held) is Verdict.DENY, blanks
        assert await verdict(restore, "restore_task", task=await row(gate, 2, **HELD)) is Verdict.DENY
        await gate("delete_task", task_id=2)
        other = {**await row(gate, 1, **OPEN), "id": 2}
        assert await verdict(restore, "restore_task", task={**other, **HELD}) is Verdict.DENY
        assert await verdict(restore, "restore_task", task=other) is Verdict.CONFIRM


async def test_a_rule_about_two_words_sees_what_a_task_says_once_it_is_changed(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await gate("create_task", title=HELD["title"], notes="none")
        await gate("create_task", title="papers", notes=HELD["notes"])
        ask = under(gate, "update_task", BOTH)
        assert await verdict(ask, "update_task", task_id=1, notes=HELD["notes"]) is Verdict.DENY
        assert await verdict(ask, "update_task", task_id=2, title=HELD["title"]) is Verdict.DENY
        assert await verdict(ask, "update_task", task_id=1, notes="some") is Verdict.CONFIRM
        assert await verdict(ask, "update_task", task_id=2, title="paper") is Verdict.CONFIRM


async def test_a_rule_that_spares_words_spares_a_task_that_is_made_anew(tmp_path: Path) -> None:
    """Nothing is there that it could be about besides."""
    spared = {"required": ["title"], "properties": {"title": {"not": {"pattern": "plants"}}}}
    async with tasks(tmp_path) as gate:
        await with_two(gate)
        task = await row(gate, 2)
        await gate("delete_task", task_id=2)
        ask = under(gate, "restore_task", {"schema": spared})
        assert await verdict(ask, "restore_task", task=task) is Verdict.CONFIRM


def reads(held: dict[str, Any], task_id: int) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "get_task", {"task_id": task_id}
    yield "preview_delete", {"task_id": task_id}
    yield "preview_update", {"update": {"task_id": task_id, "status": "done"}}
    yield "preview_restore", {"task": {**held, "title": "papers", "notes": "none"}}


@pytest.mark.parametrize("words", TEXTS)
@pytest.mark.parametrize(
    "more", [{"deny": True}, {"at_least": CallClass.WRITE}, {"channels": ("X",)}], ids=str
)
async def test_no_read_by_its_number_tells_a_task_of_which_a_text_keeps_the_words(
    words: str, more: dict[str, Any], tmp_path: Path
) -> None:
    async with tasks(tmp_path) as gate:
        await with_two(gate)
        for tool, args in reads(await row(gate, 1), 1):
            said = await under(gate, tool, TEXTS[words], **more)(tool, **args)
            assert "the rule “hold”" in said, tool
            assert [word for word in ("papers", "court") if word in said] == []
        for tool, args in reads(await row(gate, 2), 2):
            said = await under(gate, tool, TEXTS[words], **more)(tool, **args)
            assert "hold" not in said
            assert "plants" in said


async def test_the_card_of_a_task_that_a_text_keeps_shows_its_words_in_its_first_line_alone(
    tmp_path: Path,
) -> None:
    kept = Rule("hold", ("task.*",), at_least=CallClass.DESTRUCTIVE, texts=("court",))
    async with tasks(tmp_path) as gate:
        await with_two(gate)
        for tool, args in (("update_task", {"task_id": 1, "notes": "none"}), ("delete_task", {"task_id": 1})):
            seen = await Asker(gate, (kept,)).look(tool, **args)
            assert seen.decision
            assert seen.decision.verdict is Verdict.TYPED
            assert "court" not in str(seen.preview)
            assert COVERED_BY_RULE in seen.preview.notes
