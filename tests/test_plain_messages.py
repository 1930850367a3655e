"""The check on every message of the bot that the tests of Slack hold: it finds what it is for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gate.fake_tools import SPECS
from tests.plain_messages import texts_of, unplain


def wrong(blocks: Any, said: str = "") -> list[str]:
    return [told.partition(",")[0] for told in unplain(texts_of(blocks), SPECS.values(), said)]


def section(text: str) -> list[dict[str, Any]]:
    return [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"It is {'ab' * 32} now", ["a digest"]),
        ('Gave {"exists": true}', ["a JSON object"]),
        ("desk.write is done", ["the id of a tool"]),
        ("desk__write is done", ["the id of a tool"]),
        ("I call put_back", ["the id of a tool"]),
        ("*changes something* · medium risk", ["an old wording"]),
        ("Now it is 9:30 (UTC, UTC+00:00)", ["an old wording"]),
        ("What changes something waits for you · at risk · 9:30 UTC", []),
        (f"{'ab' * 16} · {{steps.1.path}} · write it back · desk.writer", []),
        ('```{"exists": true}```', []),
    ],
)
def test_only_what_programs_read_is_found_in_a_message(text: str, found: list[str]) -> None:
    assert wrong(section(text)) == found


@pytest.mark.parametrize(
    "block",
    [
        {"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [{"text": "T"}]}]},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "T"}]]},
        {"type": "plan", "title": "T", "tasks": []},
        {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "T"}}]},
    ],
)
def test_it_is_found_wherever_it_stands(block: dict[str, Any]) -> None:
    told = [*unplain((text.replace("T", "ab" * 32) for text in texts_of([block])), ())]
    assert len(told) == 1


def test_what_a_button_carries_is_no_text_and_what_people_wrote_is_theirs() -> None:
    assert wrong([{"type": "button", "value": "ab" * 32, "action_id": "desk.write"}]) == []
    assert wrong(section("You wrote desk.write"), "please call desk.write") == []
