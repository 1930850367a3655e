"""All of a read's result, where its message has room for the beginning alone: to whom it is shown."""

from __future__ import annotations

from gate.actions.button_press import NOT_FOUND, Press, PressResult
from gate.rules.permissions import PRIVATE, account
from gate.rules.ports import Note, World

NOT_ITS_MESSAGE = "I show all of a result from its own message alone. Please press the button there."


async def whole_read(world: World, press: Press, channel: str) -> Note | PressResult:
    """The note that the button stands on: to whom it was shown alone, or whoever sees its message in its channel; else
    what to tell them. What is held back or was rejected has no note. Raises Unavailable."""
    note = await world.ledger.note(press.ref.id)
    if note is None or note.kind != "read" or note.session.team != press.team:
        return PressResult(False, "gone", NOT_FOUND)
    ruling = account(await world.people.known(press.team, press.user))
    if not ruling.allowed:
        return PressResult(False, "not_allowed", ruling.reason)
    if note.to:
        return note if note.to == press.user else PressResult(False, "not_allowed", PRIVATE)
    posted = await world.ledger.posted(note.id)
    ours = posted is not None and bool(posted.ts) and posted.ts == press.message_ts
    return (
        note if ours and channel == note.session.channel else PressResult(False, "not_ours", NOT_ITS_MESSAGE)
    )
