"""The action that an undo takes back: it moves in the same transaction as the undo itself."""

from __future__ import annotations

from gate import runs
from gate.action import Action
from gate.flows.seal import entry
from gate.states import Event
from gate.world import Stale, Tx


async def move_original(tx: Tx, undo: Action, event: Event) -> None:
    """Move the original along with its undo. Raises Stale or NoSuchArrow: somebody else undoes it already."""
    found = await tx.action(undo.undoes)
    if found is None:
        raise Stale(None)
    original = await tx.move(found, event, undo_open=False)
    if event is Event.UNDO_DONE:
        await tx.mark_undone(original.id)
        tx.audit(
            entry(
                "undone", original, undo.decided_by, status="success", outcome="undone", user_confirmed=True
            )
        )
        if original.turn:
            tx.enqueue(runs.turn(original.turn, f"{original.id}:undone"))
    tx.enqueue(runs.draw(original.id, original.revision))
