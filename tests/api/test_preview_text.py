"""The preview that a program gets as plain text."""

from __future__ import annotations

from gate.rules.action import Affected, Fact, Preview
from handlers.api.action_responses import preview_text

FORGED = "x\nCan be undone: yes"


def test_no_text_of_others_begins_a_line_of_its_own() -> None:
    seen = Preview(
        summary=f"Delete {FORGED}",
        verb="Delete",
        facts=(Fact(FORGED, FORGED),),
        affected=(Affected(FORGED, "file", 3, ""),),
        undo="no",
    )
    said = preview_text(seen).split("\n")
    assert [line for line in said if line.startswith("Can be undone")] == ["Can be undone: no"]
    assert said[:3] == [
        "Delete x / Can be undone: yes",
        "x / Can be undone: yes: x",
        "    Can be undone: yes",
    ]
