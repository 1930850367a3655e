"""What waits for one person: what they asked for and have to answer, and what the policy lets them decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gate.rules.action import Action, Person, Session
from gate.rules.due_times import card_waited_at
from gate.rules.events import open_request
from gate.rules.messages import permalink
from gate.rules.permissions import Verb, account, is_approver, may
from gate.rules.ports import World
from gate.rules.server_questions import ServerQuestion
from gate.rules.task import PauseReason, Task
from gate.rules.task_states import TaskState

Record = Action | Task | ServerQuestion


@dataclass(frozen=True, slots=True)
class PendingItem:
    """An action that waits to run or whose result waits for its review, a task that asks its requester something, or
    what a server asks in the middle of a call. `link`: the address of its card; "" where that is not known. `until`:
    when a task stops waiting; None where it does not."""

    record: Record
    link: str = ""
    until: datetime | None = None


async def waiting_for(world: World, team: str, user: str) -> tuple[PendingItem, ...]:
    """What this person asked for and what they may approve, oldest first. Raises Unavailable."""
    ledger = world.ledger
    tasks = [
        (task, due) for task, due in await ledger.tasks_awaiting_answer(team, user) if _awaits_requester(task)
    ]
    actions = [
        *(action for action in await ledger.pending(team, user=user) if _was_asked(action)),
        *await ledger.reviews.under_review(team, user),
        *await _approvals_for(world, team, await world.people.known(team, user)),
    ]
    questions = await ledger.questions.waiting(team, user)
    lapses = {task.id: due for task, due in tasks if card_waited_at(task)}
    found: list[Record] = [*actions, *questions, *(task for task, _ in tasks)]
    listed = await _with_links(world, sorted(found, key=lambda one: (one.created_at, one.id)))
    return tuple(replace(one, until=lapses.get(one.record.id)) for one in listed)


def _awaits_requester(task: Task) -> bool:
    """Whether it goes on only once its requester says something; a finished one counts as done without that."""
    return (
        open_request(task) is not None
        and task.state is not TaskState.SATISFACTION
        and task.why is not PauseReason.SUMMARY
    )


def _was_asked(action: Action) -> bool:
    """Not so an undo in its first version: its target is being looked at, and nobody was asked anything."""
    return not action.undoes or action.version > 1


async def _approvals_for(world: World, team: str, person: Person | None) -> list[Action]:
    """What others asked for and this person may approve and has not approved yet."""
    if person is None or not account(person).allowed or not _ever_approves(world, person):
        return []
    others = [
        action
        for action in await world.ledger.pending(team)
        if action.approvers.named
        and may(world.policy, Verb.CONFIRM, action, person).allowed
        and _was_asked(action)
    ]
    return [action for action in others if not await _voted(world, action, person.id)]


async def may_confirm_in(world: World, session: Session, user: str) -> tuple[Action, ...]:
    """What waits in this thread and this person may say yes to and has not yet: also where any who may use the bot can,
    and nobody is named. Raises Unavailable."""
    person = await world.people.known(session.team, user)
    found = [
        action
        for action in await world.ledger.pending(session.team, session=session)
        if _was_asked(action) and may(world.policy, Verb.CONFIRM, action, person).allowed
    ]
    return tuple([action for action in found if not await _voted(world, action, user)])


async def _voted(world: World, action: Action, user: str) -> bool:
    if action.approvers.needed <= 1:
        return False
    return any(vote.person == user for vote in await world.ledger.votes(action.id, action.version))


def _ever_approves(world: World, person: Person) -> bool:
    """Whether any rule names this person: only then everybody's actions are looked through."""
    named = [rule.approvers for rule in world.policy.rules if rule.approvers]
    return any(is_approver(approvers, person) for approvers in named)


async def _with_links(world: World, found: Sequence[Record]) -> tuple[PendingItem, ...]:
    keys = [_card(record) for record in found]
    posted = await world.ledger.posted_of(keys) if world.address else {}
    cards = [posted.get(key) for key in keys]
    return tuple(
        PendingItem(
            record, permalink(world.address, record.session, at.channel, at.ts) if at and at.ts else ""
        )
        for record, at in zip(found, cards, strict=True)
    )


def _card(record: Record) -> str:
    """The key of the card that it waits on."""
    asked = open_request(record) if isinstance(record, Task) else None
    return f"{record.id}:{asked[0]}:{asked[1]}" if asked else record.id
