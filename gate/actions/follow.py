"""Tells in the thread what comes of what an action has begun: the read of its recipe's `follow`, made again and again.

The looks are runs of the engine, each asked for by the one before, so they go on after a restart. What they have told
is an argument of the next one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from gate.actions.action_versions import audit_entry, logged_result
from gate.actions.prepare import CallRequest, CheckedCall, as_sentence, check_call, read_answer
from gate.arguments.tool_names import tool_in_words
from gate.rules import jobs
from gate.rules.action import Action, Json, Outcome, Verdict
from gate.rules.action_states import State
from gate.rules.canonical_json import stored_args
from gate.rules.ids import derive_id
from gate.rules.planner_port import Call
from gate.rules.ports import Note, Tx, World
from gate.rules.reviews import Phase, released
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import Answer, Follow, ServerUnavailable, ToolSpec
from gate.rules.undo_privacy import is_confidential

MOST_DOUBLED = (
    4  # how often the time to the next look is doubled, which each one does that told something or failed
)
MOST_MESSAGES = 30
MOST_FAILURES = 5  # looks that fail one after the other
MOST_NEWS = 240  # of one look that are told apart
MOST_LINES, MOST_TEXT = 60, 300  # of one message, and characters of one of its lines
NOT_FREE = "Looking again would have to be confirmed each time, or is for one person alone."
NO_NEWS = "What it found is not what can be told."


@dataclass(frozen=True, slots=True)
class Progress:
    """What the looks so far have come to. `marks`: of what the last one has found; `doubled`: how often the time to the
    next one is."""

    marks: tuple[str, ...] = ()
    messages: int = 0
    failures: int = 0
    doubled: int = 0

    @classmethod
    def of(cls, told: str) -> Progress:
        """As it was written by `text`; the beginning where nothing was."""
        known = json.loads(told) if told else {}
        return cls(**{**known, "marks": tuple(known.get("marks", ()))})

    @property
    def slower(self) -> Progress:
        return replace(self, doubled=min(self.doubled + 1, MOST_DOUBLED))

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Found:
    """What a look has found. `lines`: what is new; `end`: why no other look follows, a sentence."""

    progress: Progress
    lines: tuple[str, ...] = ()
    end: str = ""


def begin_following(tx: Tx, world: World, spec: ToolSpec | None, action: Action) -> None:
    """Ask for the first look, where the recipe of a tool that has just succeeded wants one."""
    if spec is not None and spec.recipe.follow is not None:
        tx.enqueue(jobs.follow(action.id, delay=world.limits.follow))


async def follow(world: World, action_id: str, look: str, told: str) -> None:
    """Look once, tell what is new, and ask for the next look. Safe to repeat. It ends without a word where the action
    was undone: that is told on its card."""
    action = await world.ledger.action(action_id)
    if action is None or action.flaw or action.state not in (State.SUCCEEDED, State.UNDOING):
        return
    before, title = Progress.of(told), action.preview.summary
    if action.state is State.UNDOING:  # which may fail
        return await _write(world, action, int(look), Found(before), title)
    try:
        spec = await world.tools.declared(action.server, action.tool)
    except ServerUnavailable as error:  # while it starts again, say
        return await _write(world, action, int(look), _failed(before, as_sentence(str(error))), title)
    if spec is None or spec.recipe.follow is None:
        found = Found(before, end=f"“{tool_in_words(action.name)}” does not say any more what to look at.")
        return await _write(world, action, int(look), found, title)
    following, scope = spec.recipe.follow, _scope(action)
    found = await _look(world, action, following, scope, before)
    if not found.end and await _is_over(world, action, following):
        found = replace(found, end=f"{following.hours} hours are over. Ask again to go on.")
    await _write(world, action, int(look), found, _title(following, scope) or title)


async def _is_over(world: World, action: Action, following: Follow) -> bool:
    began = action.outcome.at if action.outcome else None
    return began is None or await world.ledger.now() >= began + timedelta(hours=following.hours)


def _title(following: Follow, scope: Mapping[str, Json]) -> str:
    try:
        return str(expand(following.title, scope))[:MOST_TEXT]
    except TemplateError:
        return ""


def _scope(action: Action) -> dict[str, Json]:
    """What the templates may name: of the result, what its reviewer let out."""
    outcome = released(action)
    result = _result(outcome) if outcome else {}
    return {"args": stored_args(action.args), "capture": action.capture, "result": result}


def _result(outcome: Outcome) -> dict[str, Json]:
    return {"text": outcome.text, **(outcome.structured if isinstance(outcome.structured, dict) else {})}


async def _look(
    world: World, action: Action, following: Follow, scope: Mapping[str, Json], before: Progress
) -> Found:
    """Make the read once more, as it may be made now."""
    try:
        args = expand(following.read.args, scope)
    except TemplateError as error:
        return Found(before, end=f"What to look at cannot be told: {error}.")
    asked = CallRequest(
        derive_id("follow", action.id), action.session, action.requester,
        Call(action.server, following.read.tool, args if isinstance(args, dict) else {}),
    )  # fmt: skip
    checked = await check_call(world, asked)
    if not isinstance(checked, CheckedCall):
        return Found(before, end=NOT_FREE if checked.private else checked.told)
    reviewed = any(world.policy.review(phase, checked.spec.full_name) for phase in Phase)
    if checked.decision.verdict is not Verdict.RUN or reviewed or checked.decision.private:
        return Found(before, end=NOT_FREE)
    return _found(await read_answer(world, checked), before)


def _found(answer: Answer, before: Progress) -> Found:
    """What is new in an answer."""
    if answer.is_error:
        return _failed(before, answer.text[:MOST_TEXT])
    result = answer.structured if isinstance(answer.structured, dict) else {}
    news, over = result.get("news"), str(result.get("over") or "")[:MOST_TEXT]
    if not isinstance(news, list):
        return Found(before, end=NO_NEWS)
    each = [
        (str(one.get("text", ""))[:MOST_TEXT], derive_id(str(one.get("mark", ""))))
        for one in news[:MOST_NEWS]
        if isinstance(one, dict)
    ]
    fresh = [text for text, mark in each if mark not in before.marks]
    more = max(0, len(fresh) - MOST_LINES) + len(news[MOST_NEWS:])
    lines = fresh[:MOST_LINES] + ([f"and {more:,} more"] if fresh and more > 0 else [])
    messages = before.messages + bool(lines)
    full = f"That was the {MOST_MESSAGES}th message. Ask again to go on." if messages == MOST_MESSAGES else ""
    doubled = before.slower.doubled if lines else 0
    return Found(Progress(tuple(mark for _, mark in each), messages, 0, doubled), tuple(lines), over or full)


def _failed(before: Progress, why: str) -> Found:
    """A look that failed: the next one is later, and after so many there is none."""
    failed = replace(before.slower, failures=before.failures + 1)
    return Found(failed, end=why if failed.failures >= MOST_FAILURES else "")


async def _write(world: World, action: Action, look: int, found: Found, title: str) -> None:
    """Tell it and ask for the next look, in one transaction."""
    said = {"title": title, "lines": list(found.lines), "end": found.end}
    note = Note(
        derive_id("news", action.id, look), action.session, "news", said,
        action.requester if action.private else "",
    )  # fmt: skip
    async with world.ledger.begin() as tx:
        if (found.lines or found.end) and await tx.note(note):
            told = logged_result(" ".join(found.lines), is_confidential(action))
            tx.audit(audit_entry("news", action, "system", result=told, reason=found.end, outcome="told"))
        if not found.end:
            pause = world.limits.follow * 2**found.progress.doubled
            tx.enqueue(jobs.follow(action.id, look + 1, found.progress.text, pause))
