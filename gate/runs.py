"""A run: work that the durable engine carries out after the transaction that asked for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """One piece of waiting work. `key` is its identity: enqueued twice, it is still one run."""

    name: str
    key: str
    args: tuple[str, ...]
    delay: float = 0.0  # seconds until it is due


def take_in(session: str, event: str) -> Run:
    """Read the inbox of a session, in order; asked for by every event of it."""
    return Run("take_in", f"take_in:{event}", (session, event))


def turn(turn_id: str, cause: str) -> Run:
    """Let the planner go on with a turn, because of what just happened."""
    return Run("turn", f"turn:{turn_id}:{cause}", (turn_id,))


def draw(action_id: str, revision: int) -> Run:
    """Post or redraw the card of an action as it stands in the ledger."""
    return Run("draw", f"draw:{action_id}:{revision}", (action_id,))


def refresh(action_id: str, version: int) -> Run:
    """Make a new preview for a version that was voided or edited."""
    return Run("refresh", f"refresh:{action_id}:{version}", (action_id, str(version)))


def renew(action_id: str, user: str, cause: str | int) -> Run:
    """Ask again for what expired or drifted. `cause` tells one asking from the next: it may be refused today
    and not tomorrow."""
    return Run("renew", f"renew:{action_id}:{cause}", (action_id, user, str(cause)))


def confirm_all(cause: str, team: str, user: str, message_ts: str, shown: str) -> Run:
    """Confirm what one press, `cause`, was a yes to: see gate.flows.together.Yes."""
    return Run("confirm_all", f"confirm_all:{cause}", (cause, team, user, message_ts, shown))


def carry_out(action_id: str, again: int | None = None) -> Run:
    """Run what was approved. `again` numbers the askings after the first, in case that one was lost."""
    return Run("carry_out", f"carry_out:{action_id}" + (f":{again}" if again else ""), (action_id,))


def undo(undo_id: str) -> Run:
    """Look whether the target is still as the action left it, then go on or ask."""
    return Run("undo", f"undo:{undo_id}", (undo_id,))


def check(action_id: str, user: str, revision: int) -> Run:
    """Read how the target of an action of unknown outcome stands now."""
    return Run("check", f"check:{action_id}:{revision}:{user}", (action_id, user))


def expire(action_id: str, version: int, delay: float) -> Run:
    return Run("expire", f"expire:{action_id}:{version}", (action_id, str(version)), delay)


def close_undo(action_id: str, delay: float) -> Run:
    """Take the undo button off the result card once its time is over."""
    return Run("close_undo", f"close_undo:{action_id}", (action_id,), delay)


def post(note_id: str) -> Run:
    """Post a stored note into its thread."""
    return Run("post", f"post:{note_id}", (note_id,))


def task(task_id: str, cause: str | int) -> Run:
    """Let a task go on, because of what just happened."""
    return Run("task", f"task:{task_id}:{cause}", (task_id,))


def draw_task(task_id: str, revision: int) -> Run:
    """Post or update the cards of a task as it stands in the ledger."""
    return Run("draw_task", f"draw_task:{task_id}:{revision}", (task_id,))


def proceed(task_id: str, pauses: int, round_: int, delay: float) -> Run:
    """Let a task go on from a summary that nobody held. `round_`: 2 where its time was given once more."""
    key = f"proceed:{task_id}:{pauses}:{round_}"
    return Run("proceed", key, (task_id, str(pauses), str(round_)), delay)


def lapse_plan(task_id: str, version: int, delay: float) -> Run:
    """Take the approval off a version of a plan that nobody decided on in time."""
    return Run("lapse_plan", f"lapse_plan:{task_id}:{version}", (task_id, str(version)), delay)


def lapse_question(task_id: str, asked: int, delay: float) -> Run:
    """Let a task go whose question nobody answered in time. `asked`: how many times something was asked by then."""
    return Run("lapse_question", f"lapse_question:{task_id}:{asked}", (task_id, str(asked)), delay)


def settle_task(task_id: str, ends: int, delay: float) -> Run:
    """Take a finished task as done when nobody said otherwise."""
    return Run("settle_task", f"settle_task:{task_id}:{ends}", (task_id, str(ends)), delay)


def deliver(hook_id: str, seq: int, attempt: int = 0, delay: float = 0.0) -> Run:
    """Send an event to a webhook; each try is a run of its own."""
    return Run("deliver", f"deliver:{hook_id}:{seq}:{attempt}", (hook_id, str(seq), str(attempt)), delay)
