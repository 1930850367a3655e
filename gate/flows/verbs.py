"""The four verbs of spec 002 as functions: prepare_action, confirm_action, cancel_action, list_pending_actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.action import Action, Json, Outcome, Preview, Ref, Risk, Session
from gate.canonical import BadArguments, parse
from gate.flows import decide
from gate.flows.prepare import Answered, Asked, Prepared, Refused, prepare
from gate.flows.press import Press, Said
from gate.reviews import released
from gate.states import SETTLED, State
from gate.talk import Call
from gate.world import World

POLL_SECONDS = 0.05
PAUSED = "PAUSED_FOR_REVIEW"  # it ran, and its result waits for a person


class Refusal(Exception):
    """The verb was not carried out; nothing changed. Its text says why; `code` is for programs."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


async def prepare_action(
    world: World,
    tool_name: str,
    tool_args: Mapping[str, Json] | str | bytes,
    risk_level: str,
    user_id: str,
    session_id: str,
) -> dict[str, Any]:
    """Prepare a call for its person, without running it.

    `tool_name` is "server.tool"; `tool_args` an object or its JSON text; `risk_level` may raise the risk, never
    lower it; `session_id` is "team:channel:thread_ts". Returns action_id, preview, expires_at and risk_level; for a
    tool that only reads, which runs at once, status "success" and result. Raises Refusal, or Unavailable.
    """
    server, _, tool = tool_name.partition(".")
    args = _arguments(tool_args)
    call = Call(server, tool, args, _risk(risk_level))
    asked = Asked(world.ids.new(), _session(session_id), user_id, call)
    result = await prepare(world, asked)
    if isinstance(result, Refused):
        raise Refusal("refused", " ".join(result.reasons))
    if isinstance(result, Answered):
        status = "error" if result.answer.is_error else "success"
        return {
            "status": status,
            "result": result.answer.structured or result.answer.text,
            "executed_tool": tool_name,
        }
    assert isinstance(result, Prepared)
    return outcome(result.action) if result.action.held else pending(result.action)


async def confirm_action(
    world: World, action_id: str, user_id: str, *, phrase: str | None = None, seconds: float = 0
) -> dict[str, Any]:
    """A person's yes to the action as it stands; waits up to `seconds` for its end.

    Returns status ("success", "error", "unknown", or "executing" when it is not over yet, "waiting" when more
    people have to agree, "PAUSED_FOR_REVIEW" when its result waits for one), result, executed_tool and
    execution_time in seconds. Raises Refusal, or Unavailable.
    """
    action = await _known(world, action_id)
    team = action.session.team
    await world.people.fresh(team, user_id)
    press = Press(Ref(action.id, action.version, action.receipt[:16]), team, user_id, typed=phrase)
    said = await decide.confirm(world, press)
    if not said.ok:
        raise Refusal(said.code, said.text)
    if said.code == "voted":
        return {"status": "waiting", "result": None, "executed_tool": action.name, "execution_time": 0.0}
    return outcome(await _end(world, action, seconds))


async def cancel_action(world: World, action_id: str, user_id: str) -> dict[str, Any]:
    """Withdraw a pending action. Returns its id and status. Raises Refusal, or Unavailable."""
    action = await _known(world, action_id)
    await world.people.fresh(action.session.team, user_id)
    press = Press(Ref(action.id, action.version, action.receipt[:16]), action.session.team, user_id)
    said: Said = await decide.cancel(world, press)
    if not said.ok:
        raise Refusal(said.code, said.text)
    return {"action_id": action.id, "status": "cancelled"}


async def list_pending_actions(
    world: World, team: str, user_id: str, session_id: str = ""
) -> list[dict[str, Any]]:
    """What waits for this user's decision or was asked by them, oldest first."""
    session = _session(session_id) if session_id else None
    return [pending(action) for action in await world.ledger.pending(team, user=user_id, session=session)]


def pending(action: Action) -> dict[str, Any]:
    """A pending action as programs see it."""
    return {
        "action_id": action.id,
        "preview": text(action),
        "expires_at": action.expires_at,
        "risk_level": action.risk.value,
        "phrase": action.phrase,
    }


def text(action: Action) -> str:
    """The preview of an action as plain text."""
    return text_of(action.preview)


def text_of(preview: Preview) -> str:
    """A preview as plain text: the same facts as on the card."""
    lines = [preview.summary, *(f"{fact.label}: {fact.value}" for fact in preview.facts)]
    if preview.diff:
        lines += ["", preview.diff]
    lines += [f"- {a.name}" + (f" ({a.size} bytes)" if a.size is not None else "") for a in preview.affected]
    if preview.notifies:
        lines.append(f"Will also notify: {preview.notifies}")
    lines.append(f"Can be undone: {preview.undo}")
    return "\n".join([*lines, *preview.notes, *filter(None, [preview.problem])])


def outcome(action: Action) -> dict[str, Any]:
    """The outcome of a confirmed action as programs see it."""
    if action.outcome is None:
        status = "executing" if action.state in (State.APPROVED, State.EXECUTING) else "error"
        return {
            "status": status,
            "result": action.decision,
            "executed_tool": action.name,
            "execution_time": 0.0,
        }
    kinds = {"success": "success", "unknown": "unknown"}
    told = released(action) or action.outcome
    return {
        "status": PAUSED if action.held else kinds.get(told.kind, "error"),
        "result": _result_of(action, told),
        "executed_tool": action.name,
        "execution_time": action.outcome.took_ms / 1000,
    }


def _result_of(action: Action, told: Outcome) -> Json:
    if action.judged is not None and not action.judged.kept:
        return f"<@{action.judged.by}> rejected its result, so it is dropped."
    return told.structured if told.structured is not None else told.text


async def _end(world: World, action: Action, seconds: float) -> Action:
    """The action once it is over, or as it stands when the time is."""
    waited = 0.0
    while True:
        now = await _known(world, action.id)
        if now.state in SETTLED or now.state is State.UNKNOWN or waited >= seconds:
            return now
        await world.clock.sleep(POLL_SECONDS)
        waited += POLL_SECONDS


async def _known(world: World, action_id: str) -> Action:
    action = await world.ledger.action(action_id)
    if action is None:
        raise Refusal("gone", "There is no such action.")
    return action


def _arguments(given: Mapping[str, Json] | str | bytes) -> Mapping[str, Json]:
    if isinstance(given, Mapping):
        return given
    try:
        return parse(given)
    except BadArguments as error:
        raise Refusal("bad_arguments", str(error)) from None


def _session(key: str) -> Session:
    parts = key.split(":")
    if len(parts) != 3 or not all(parts):
        raise Refusal("bad_session", f"“{key}” is not a session; it has the form team:channel:thread_ts.")
    return Session(*parts)


def _risk(level: str) -> Risk:
    try:
        return Risk(level.lower())
    except ValueError:
        known = ", ".join(Risk)
        raise Refusal("bad_risk", f"“{level}” is not a risk level; it is one of {known}.") from None
