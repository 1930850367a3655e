"""All of a result where its message has room for the beginning alone, of a read or of a plan: to whom it is shown."""

from __future__ import annotations

from gate.actions.button_press import NOT_FOUND, Press, PressResult
from gate.rules.permissions import PRIVATE, account
from gate.rules.ports import Note, World
from gate.rules.task import Task

NOT_ITS_MESSAGE = "I show all of a result from its own message alone. Please press the button there."


async def whole_result(world: World, press: Press, channel: str) -> Note | Task | PressResult:
    """The note that the button stands on, or the task on one of whose cards it does: to whom it was shown alone, or
    whoever sees its message in its channel; else what to tell them. What is held back or was rejected has no note, and
    is on no such card. Raises Unavailable."""
    note = await world.ledger.note(press.ref.id)
    task = await world.ledger.task(press.ref.id) if note is None else None
    record = note or task
    if record is None or record.session.team != press.team or (note and note.kind != "read"):
        return PressResult(False, "gone", NOT_FOUND)
    ruling = account(await world.people.known(press.team, press.user))
    if not ruling.allowed:
        return PressResult(False, "not_allowed", ruling.reason)
    if note and note.to:
        return note if note.to == press.user else PressResult(False, "not_allowed", PRIVATE)
    keys = _cards(task) if task else [record.id]
    posted = (await world.ledger.posted_of(keys)).values()
    ours = any(one.ts and one.ts == press.message_ts for one in posted)
    if ours and channel == record.session.channel:
        return record
    return PressResult(False, "not_ours", NOT_ITS_MESSAGE)


def _cards(task: Task) -> list[str]:
    """The keys of the cards that show what a plan has read."""
    version = task.plan.version if task.plan else 0
    return [f"{task.id}:satisfaction:{task.ends}", f"{task.id}:plan:{version}"]
