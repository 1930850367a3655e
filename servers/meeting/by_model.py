"""What a model adds to minutes: lines whose quotation stands in the line of the notes that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from mcp.server.mcpserver.resolve import Sample

from servers.meeting.minutes import ActionItem, Decision, Line, Minutes, action_item, sentence
from servers.model_answers import PROMPT_CHARS, Answer, Cited, about, answer_text, cited, refusal

Found = TypeVar("Found", bound=Decision | ActionItem)
TASK = (
    "Take out of the notes of a meeting what its minutes have to hold. Begin what a line says with one of these words: "
    "“Attendee: ” and one name; “Decision: ” and what was decided; “Action: ” and the name of who does it, a colon, "
    "and what by when, the day in the words of the notes. Take nothing that was only proposed, asked or rejected."
)


def question(notes: str) -> Sample | None:
    """What the model is asked: each line of the notes is a source. None where they are too long."""
    return about(TASK, notes.splitlines()) if len(notes) <= PROMPT_CHARS else None


def completed(found: Minutes, told: Answer, notes: str) -> tuple[Minutes, str]:
    """The minutes by rule, with what a model adds to them, and a sentence that says what was used; "" where no model
    was asked. Names and days are kept only where they stand in the notes."""
    if refused := refusal(told):
        return found, f"By rules: no model answered ({refused})."
    if not (answer := answer_text(told)) or len(notes) > PROMPT_CHARS:
        return found, ""
    sources = notes.splitlines()
    quoted, dropped = cited(answer, sources)
    added = [_quoted_decision(one) for one in quoted if _kind(one) == "decision"]
    told_of = [_quoted_action(one, found, sources) for one in quoted if _kind(one) == "action"]
    actions = [one for one in told_of if not one.owner or _is_named(one, found, sources)]
    names = [*_named(quoted, sources)]
    dropped += len(quoted) - len(added) - len(actions) - len(names)
    made = found.model_copy(
        update={
            "attendees": list(dict.fromkeys([*found.attendees, *names])),
            "decisions": _merged(found.decisions, added),
            "actions": _merged(found.actions, actions),
        }
    )
    left_out = (
        f" {dropped} of its lines were dropped: what they quote or name is not there." if dropped else ""
    )
    return made.bounded, f"By rules and a model.{left_out}"


def _kind(one: Cited) -> str:
    return one.text.partition(":")[0].strip().lower()


def _told(one: Cited) -> str:
    return one.text.partition(":")[2].strip()


def _named(lines: Sequence[Cited], sources: Sequence[str]) -> Iterator[str]:
    for one in lines:
        if _kind(one) == "attendee" and _told(one) and _told(one) in sources[one.source - 1]:
            yield _told(one)


def _quoted_decision(one: Cited) -> Decision:
    return Decision(what=sentence(_told(one)), line=one.source, by_model=True)


def _quoted_action(one: Cited, found: Minutes, sources: Sequence[str]) -> ActionItem:
    owner, _, what = _told(one).partition(":")
    owner, text = (owner.strip(), what.strip()) if what else ("", owner)
    made = action_item(text, owner, Line(one.source, "", text, text), found.held)
    if made.due and made.due not in sources[one.source - 1]:
        made = made.model_copy(update={"what": sentence(text), "due": "", "due_date": None})
    return made.model_copy(update={"by_model": True})


def _is_named(one: ActionItem, found: Minutes, sources: Sequence[str]) -> bool:
    """Whether the notes know who is to do it: on that line, or among those who were there."""
    return one.owner in sources[one.line - 1] or one.owner in found.attendees


def _merged(by_rule: list[Found], by_model: list[Found]) -> list[Found]:
    """In the order of the notes; what the rules found on a line stands."""
    taken = {one.line for one in by_rule}
    return sorted([*by_rule, *(one for one in by_model if one.line not in taken)], key=lambda one: one.line)
