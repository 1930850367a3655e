"""A run: work that the durable engine carries out after the transaction that asked for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

# For whom the work at hand is done: the id of a person, with that of their agent's token behind a colon where it is
# that agent's, "" for the service itself. What is asked for
# on the way, runs and calls of tools, counts as theirs, so that much of one does not keep others waiting.
OWNER: ContextVar[str] = ContextVar("owner", default="")


def person_of(owner: str) -> str:
    """The id of the person whose work, or whose agent's, it is; "" for the service itself."""
    return owner.partition(":")[0]


@contextmanager
def for_owner(who: str) -> Iterator[None]:
    """Within it, work is done for this person or token."""
    before = OWNER.set(who)
    try:
        yield
    finally:
        OWNER.reset(before)


@dataclass(frozen=True, slots=True)
class Run:
    """One piece of waiting work. `key` is its identity: enqueued twice, it is still one run."""

    name: str
    key: str
    args: tuple[str, ...]
    delay: float = 0.0  # seconds until it is due
    owner: str = ""  # whom it is for; "": whoever OWNER names when it is asked for
    # It carries somebody's decision: the ledger adds a MAC of its arguments as the last one.
    proved: bool = False
    # The sweep asks for it again where it is lost (`restart_given_up`), so it may be written after the transaction
    found_again: bool = False
    # Records as they stand after the transaction. A run that follows at once in this process gets them as further
    # arguments and need not read them again; they are stored nowhere.
    known: tuple[object, ...] = ()


def owned(run: Run) -> Run:
    """The run, with the person or token for whom the work at hand is done as its owner where it has none."""
    return run if run.owner else replace(run, owner=OWNER.get())


def take_in(session: str, event: str) -> Run:
    """Read the inbox of a session, in order; asked for by every event of it."""
    return Run("take_in", f"take_in:{event}", (session, event), found_again=True)


def resume(name: str, about: str, cause: str) -> Run:
    """Let everything go on that the run `name` about this thread, task, turn or action may have left behind when
    its process died. `cause` tells one death from the next."""
    return Run("resume", f"resume:{name}:{about}:{cause}", (name, about, cause))


def turn(turn_id: str, cause: str, *known: object) -> Run:
    """Let the planner go on with a turn, because of what just happened. `known`: the turn, its task,
    and the action that has just ended, as they stand; None for what is not known."""
    return Run("turn", f"turn:{turn_id}:{cause}", (turn_id,), known=known)


def card(kind: str, about: str, within: float, number: int) -> Run:
    """Bring a card up to date, at the latest `within` seconds after it was asked for; `number`: the how manieth such
    run of this card. Asked for by `Tx.show` alone."""
    return Run("card", f"card:{about}:{number}", (kind, about, f"{within:g}"))


def card_of_run(key: str) -> tuple[str, int]:
    """What a run `card` with this key is about, and its number."""
    about, _, number = key.removeprefix("card:").rpartition(":")
    return about, int(number)


def refresh(action_id: str, version: int) -> Run:
    """Make a new preview for a version that was voided or edited."""
    return Run("refresh", f"refresh:{action_id}:{version}", (action_id, str(version)))


def renew(action_id: str, user: str, cause: str | int) -> Run:
    """Ask again for what expired or drifted. `cause` tells one asking from the next: it may be refused today
    and not tomorrow."""
    return Run("renew", f"renew:{action_id}:{cause}", (action_id, user, str(cause)))


def confirm_all(group: str, cause: str, *press: str) -> Run:
    """Confirm what one press on the card of a group, `cause`, was a yes to: see gate.actions.batch.Yes."""
    return Run("confirm_all", f"confirm_all:{cause}", (group, cause, *press), proved=True)


def carry_out(action_id: str, again: int | str | None = None) -> Run:
    """Run what was approved. `again` tells the askings after the first apart, in case that one was lost."""
    return Run("carry_out", f"carry_out:{action_id}" + (f":{again}" if again else ""), (action_id,))


def follow(action_id: str, look: int = 1, told: str = "", delay: float = 0.0) -> Run:
    """Look the how manieth time whether there is news of what an action has begun. `told`: what the looks before have
    come to (gate/actions/follow.py)."""
    return Run("follow", f"follow:{action_id}:{look}", (action_id, str(look), told), delay)


def undo(undo_id: str) -> Run:
    """Look whether the target is still as the action left it, then go on or ask."""
    return Run("undo", f"undo:{undo_id}", (undo_id,))


def check(action_id: str, user: str, revision: int) -> Run:
    """Read how the target of an action of unknown outcome stands now."""
    return Run("check", f"check:{action_id}:{revision}:{user}", (action_id, user))


def task(task_id: str, cause: str | int, *known: object) -> Run:
    """Let a task go on, because of what just happened. `known`: the task, and its turn, as they stand."""
    return Run("task", f"task:{task_id}:{cause}", (task_id,), known=known)


def deliver(hook_id: str, seq: int, owner: str, attempt: int = 0, delay: float = 0.0) -> Run:
    """Send an event to a webhook; each try is a run of its own. `owner`: see gate.rules.webhooks.Webhook.owner."""
    key = f"deliver:{hook_id}:{seq}:{attempt}"
    return Run("deliver", key, (hook_id, str(seq), str(attempt)), delay, owner=owner)
