"""The action that an undo takes back: it moves in the same transaction as the undo itself."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.action_versions import audit_entry, update_cards
from gate.rules import jobs, plans
from gate.rules.action import Action
from gate.rules.action_states import Event
from gate.rules.ports import Stale, StaleTask, Tx

TRIES = 3  # to write a plan that others change at the same moment


async def move_original(tx: Tx, undo: Action, event: Event) -> None:
    """Move the original along with its undo. Raises Stale or NoSuchArrow: somebody else undoes it already."""
    found = await tx.action(undo.undoes)
    if found is None:
        raise Stale(None)
    by = undo.decided_by if event is Event.UNDO_DONE else ""
    way_back = replace(found.undo, open=event is Event.UNDO_FAILED, by=by)
    original = await tx.move(found, event, undo=way_back)
    if event is Event.UNDO and undo.requester != original.requester:
        await _void_what_follows(tx, original)
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


async def _void_what_follows(tx: Tx, original: Action) -> None:
    """Take the consents from the steps that are left of its plan: they were approved as what follows it. Its requester
    knows what they have taken back. Raises StaleTask."""
    for last in (False,) * (TRIES - 1) + (True,):
        task = await tx.task(original.task) if original.task else None
        if task is None or task.is_finished or task.plan is None:
            return
        left = plans.without_consent_to_what_is_left(task.plan)
        try:
            if left != task.plan:
                await tx.update_task(task, plan=left)
            return
        except StaleTask:
            if last:
                raise
