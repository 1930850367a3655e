"""Settle: a person says what became of an action whose outcome nobody knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gate.actions.action_versions import audit_entry
from gate.actions.button_press import Press, PressResult, already_decided, load_action
from gate.actions.claim_click import decision_now, notify_ended
from gate.actions.edit import without_bound_args
from gate.actions.preview import PreviewReadFailed, run_capture
from gate.actions.undone_action import move_original
from gate.rules import jobs
from gate.rules.action import Action, Json, Outcome
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.canonical_json import leaves, stored_args
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb
from gate.rules.ports import Note, Stale, World
from gate.rules.previews import measured, text_of
from gate.rules.templates import TemplateError

DIGEST = re.compile(r"[0-9a-f]{32,}")


async def resolve(world: World, press: Press, happened: bool) -> PressResult:
    """*It happened* or *It did not*. Raises Unavailable: then nothing changed."""
    action = await load_action(world, press, Verb.SETTLE)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.UNKNOWN:
        return already_decided(action)
    words = "it happened" if happened else "it did not happen"
    outcome = Outcome(
        "success" if happened else "error", f"<@{press.user}> says that {words}.", at=world.clock.now()
    )
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            execution = replace(action.execution, outcome=outcome)
            moved = await tx.move(action, Event.SUCCEED if happened else Event.FAIL, execution=execution)
            status = "success" if happened else "error"
            tx.audit(
                audit_entry("settled", moved, press.user, status=status, outcome=words, user_confirmed=True)
            )
            if moved.undoes:
                await move_original(tx, moved, Event.UNDO_DONE if happened else Event.UNDO_FAILED)
            notify_ended(tx, moved)
            if (
                moved.turn and moved.task
            ):  # its planner is told by the turn, its step is corrected by the task
                tx.enqueue(jobs.task(moved.task, f"{moved.id}:settled"))
    except (Stale, NoSuchArrow):
        return already_decided(await world.ledger.action(action.id) or action)
    return PressResult(True, "settled", action=moved)


async def check_by_press(world: World, press: Press) -> PressResult:
    """*Check*: a run reads how the target stands now and shows it to who asked."""
    action = await load_action(world, press, Verb.SETTLE)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.UNKNOWN:
        return already_decided(action)
    async with world.ledger.begin(world.limits.decision) as tx:
        tx.audit(audit_entry("checked", action, press.user))
        tx.enqueue(jobs.check(action.id, press.user, action.revision))
    return PressResult(True, "checking", "I am reading how it stands now…", action)


async def check_target(world: World, action_id: str, user: str) -> None:
    """Read the target of an action of unknown outcome, and post what is there; of a secret file, whether it changed."""
    action = await world.ledger.action(action_id)
    spec = world.tools.find(action.server, action.tool) if action else None
    if action is None or spec is None:
        return
    rules = decision_now(world, action)
    secret = action.proposal.decision.secret or (rules is not None and rules.secret)
    secret = secret or (action.private and user != action.requester)
    try:
        now = await run_capture(
            world, spec, without_bound_args(spec, stored_args(action.args)), action.session.channel
        )
        secret = secret or now.covered or (now.private and user != action.requester)
        text = _difference(action, now.found, secret)
    except (PreviewReadFailed, TemplateError) as error:
        text = "I could not read it." if secret else f"I could not read it: {error}."
    body = {
        "name": "",
        "summary": f"How it stands now: {action.preview.summary}",
        "arguments": {},
        "text": text,
        "clipped": False,
        "open_world": False,
        "error": False,
    }
    note = Note(
        derive_id("check", action.id, action.revision, user, text), action.session, "read", body, user
    )
    async with world.ledger.begin() as tx:
        await tx.note(note)


def _difference(action: Action, now: Mapping[str, Json], secret: bool) -> str:
    """What the preview saw and what is there now, field by field; where that is secret, in lengths and hashes."""
    told = measured if secret else _beginning
    lines: list[str] = []
    for name, value in now.items():
        was = action.capture.get(name)
        lines.append(f"{name}, before: {told(was)}")
        lines.append(f"{name}, now: {told(value)}" + (" (unchanged)" if was == value else ""))
    return "\n".join(lines)


def _beginning(value: Json) -> str:
    """The fields of what was read, without its text, which spells the same again; of a hash only its beginning."""
    fields = value if isinstance(value, dict) else {"text": value}
    kept = {name: one for name, one in fields.items() if name not in ("text", "error")} or fields
    told = (f"{name} {_brief(text_of(one))}".strip() for name, one in leaves(kept))
    return ", ".join(told)[:1000]


def _brief(text: str) -> str:
    return f"{text[:12]}…" if DIGEST.fullmatch(text) else text
