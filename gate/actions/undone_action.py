"""The action that an undo takes back: it moves in the same transaction as the undo itself."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.action_versions import audit_entry, update_cards
from gate.rules import jobs
from gate.rules.action import Action
from gate.rules.action_states import Event
from gate.rules.ports import Stale, Tx


async def move_original(tx: Tx, undo: Action, event: Event) -> None:
    """Move the original along with its undo. Raises Stale or NoSuchArrow: somebody else undoes it already."""
    found = await tx.action(undo.undoes)
    if found is None:
        raise Stale(None)
    by = undo.decided_by if event is Event.UNDO_DONE else ""
    way_back = replace(found.undo, open=event is Event.UNDO_FAILED, by=by)
    original = await tx.move(found, event, undo=way_back)
    if event is Event.UNDO_DONE:
        await tx.mark_undone(original.id)
        tx.audit(
            audit_entry(
                "undone", original, undo.decided_by, status="success", outcome="undone", user_confirmed=True
            )
        )
        if original.turn and not original.task:  # else the end of the undo is told to the task
            tx.enqueue(jobs.turn(original.turn, f"{original.id}:undone"))
    update_cards(tx, original)
