"""Actions to draw, and what every drawn thing has to pass."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gate.rules.action import (
    Action,
    Affected,
    CallClass,
    Fact,
    Inverse,
    Outcome,
    Preview,
    Risk,
    Session,
    Verdict,
    Vote,
)
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from tests.actions import action_of, but
from views import payload_check
from views.block_kit import Message
from workspace import check as slack

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MOVE = Preview(
    summary="Move reports/q3.md to archive/q3.md",
    verb="Move",
    facts=(Fact("destination", "archive/q3.md", named=True), Fact("source", "reports/q3.md", named=True)),
    undo="yes",
)
DELETE = Preview(
    summary="Delete q3-draft.md and q3-old.md",
    verb="Delete",
    facts=(Fact("paths[0]", "q3-draft.md", named=True), Fact("paths[1]", "q3-old.md", named=True)),
    affected=(Affected("q3-draft.md", 4100, "file", "2026-11-01"), Affected("q3-old.md", 12_345, "file")),
    undo="yes, for 30 days",
    recoverable="In .countersign/trash for 30 days",
)
INVERSE = Inverse("filesystem", "move_file", b"{}", until=NOW + timedelta(days=30))


def action(preview: Preview = MOVE, **changes: Any) -> Action:
    made = action_of(
        id="0f4c2f0a9a6f4d3c8b1e5d7a6c9b8e71",
        version=1,
        revision=1,
        state=State.PREPARED,
        session=Session("T1", "C1", "1.1"),
        requester="UANA",
        server="filesystem",
        tool="move_file",
        args=b'{"destination":"archive/q3.md","source":"reports/q3.md"}',
        cls=CallClass.WRITE,
        risk=Risk.MEDIUM,
        verdict=Verdict.CONFIRM,
        reason="the bundled server says so",
        rule="recipe",
        policy="p1",
        definition="d1",
        approvers=Approvers(),
        always_gated=False,
        preview=preview,
        capture={},
        receipt="ab" * 32,
        phrase="",
        created_at=NOW,
        expires_at=NOW + timedelta(seconds=300),
    )
    return but(made, **changes)


def destructive(**changes: Any) -> Action:
    given: dict[str, Any] = {
        "preview": DELETE,
        "tool": "delete_file",
        "cls": CallClass.DESTRUCTIVE,
        "risk": Risk.HIGH,
        "verdict": Verdict.TYPED,
        "phrase": "delete 2 7F3K",
    }
    return action(**{**given, **changes})


def done(**changes: Any) -> Action:
    given: dict[str, Any] = {
        "state": State.SUCCEEDED,
        "decided_by": "UANA",
        "outcome": Outcome("success", "Moved reports/q3.md to archive/q3.md"),
        "inverse": INVERSE,
    }
    return action(**{**given, **changes})


def yes(person: str, version: int = 1) -> Vote:
    return Vote("0f4c2f0a9a6f4d3c8b1e5d7a6c9b8e71", version, person, True, NOW)


def sent(made: Message) -> Message:
    """The message, once both validators have nothing to say against it."""
    assert payload_check.message(made) == ()
    assert slack.message_block_problems(made.blocks) == []
    assert slack.message_text_problems(made.text) == []
    return made


def opened(made: dict[str, Any]) -> dict[str, Any]:
    """The view, once both validators have nothing to say against it."""
    assert payload_check.view(made) == ()
    assert slack.view_problems(made) == []
    return made


def parts(value: Any, kind: str) -> list[dict[str, Any]]:
    """Every object of that type in a payload."""
    if isinstance(value, list):
        return [found for item in value for found in parts(item, kind)]
    if not isinstance(value, dict):
        return []
    own = [value] if value.get("type") == kind else []
    return own + [found for item in value.values() for found in parts(item, kind)]


def shown(blocks: Any) -> str:
    """All text of a payload, in order, as a reader meets it."""
    if isinstance(blocks, list):
        return "\n".join(filter(None, map(shown, blocks)))
    if not isinstance(blocks, dict):
        return ""
    if blocks.get("type") == "user":
        return f"<@{blocks['user_id']}>"
    if blocks.get("type") in ("rich_text_section", "rich_text_preformatted"):
        return "".join(map(shown, blocks["elements"]))
    own = [blocks["text"]] if isinstance(blocks.get("text"), str) else []
    return "\n".join(own + [t for t in (shown(v) for v in blocks.values()) if t])


def buttons(blocks: Any) -> list[str]:
    """The action ids of the buttons and menus, in order."""
    rows = [row for kind in ("context_actions", "actions") for row in parts(blocks, kind)]
    return [e["action_id"] for row in rows for e in row["elements"]]
