"""Who may do what with an action, and which votes are enough. Without facts about a person the answer is no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from gate.rules.action import Action, Person, Vote
from gate.rules.approvers import Approvers, Named
from gate.rules.policy import Policy
from gate.rules.task import Task


class Verb(StrEnum):
    """What a person may want to do with an action."""

    CONFIRM = "confirm"
    EDIT = "edit"
    CANCEL = "cancel"
    REJECT = "reject"
    RENEW = "ask again"
    SETTLE = "settle"
    UNDO = "undo"
    GRANT = "always allow"
    VOUCH = "say what the tool does of"
    RELEASE = "release"  # let its result out as it is
    REVIEW = "review"  # change or drop its result
    LOOK = "look at"


class TaskVerb(StrEnum):
    """What a person may want to do with a task."""

    ANSWER = "answer"
    APPROVE = "approve"
    MODIFY = "modify"
    REPLAN = "re-plan"
    CANCEL = "cancel"
    PAUSE = "pause"
    CONTINUE = "continue"
    REVIEW = "review"  # change or reject what a step gave
    STOP = "stop"
    STEER = "steer"
    SATISFY = "settle"
    MODE = "change the mode of"
    IMPLEMENT = "start"
    UNDO = "undo"
    LOOK = "look at"


# Admins may keep others from harm and steer; what is approved, answered or judged stays the requester's.
FOR_ADMINS = (
    TaskVerb.CANCEL,
    TaskVerb.PAUSE,
    TaskVerb.CONTINUE,
    TaskVerb.STOP,
    TaskVerb.STEER,
    TaskVerb.UNDO,
    TaskVerb.LOOK,
)


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether this person may do this, and the sentence that says why not."""

    allowed: bool
    reason: str = ""


YES = Ruling(True)
PRIVATE = "This is private to whoever asked for it."


def account(person: Person | None) -> Ruling:
    """Whether this account may act at all. Without facts the answer is no."""
    if person is None:
        return Ruling(False, "I could not check your account just now. Nothing changed: please try again.")
    if person.is_bot:
        return Ruling(False, "Bots and apps cannot decide anything here.")
    if person.is_deleted:
        return Ruling(False, "This account is deactivated.")
    if person.is_stranger:
        return Ruling(False, "Only members of this workspace can do this, not people from a connected one.")
    if person.is_guest:
        return Ruling(False, "Guests cannot do this. Ask a full member of the workspace.")
    return YES


def may(policy: Policy, verb: Verb, action: Action, person: Person | None) -> Ruling:
    """Whether `person` may do `verb` with `action`, as the policy stands now."""
    usable = account(person)
    if not usable.allowed or person is None:
        return usable
    own, admin = person.id == action.requester, person.id in policy.admins
    if verb is Verb.LOOK:
        return YES if own or admin or not action.private else Ruling(False, PRIVATE)
    if verb is Verb.CONFIRM:
        return _may_confirm(action, person)
    if verb is Verb.REJECT:
        rejecting = own or is_named(action.approvers, person) or admin
        return YES if rejecting else Ruling(False, f"Only {_in_words(action)} can reject this.")
    if verb is Verb.VOUCH:
        return YES if admin else Ruling(False, "Only an admin can say that a tool only reads.")
    asker = f"<@{action.requester}>, who asked for this,"
    if verb in (Verb.EDIT, Verb.RENEW, Verb.GRANT, Verb.REVIEW):
        return YES if own else Ruling(False, f"Only {asker} can {verb} it.")
    if own or admin or (verb is Verb.SETTLE and is_approver(action.approvers, person)):
        return YES
    return Ruling(False, f"Only {asker} or an admin can {verb} it.")


def may_task(policy: Policy, verb: TaskVerb, task: Task, person: Person | None) -> Ruling:
    """Whether `person` may do `verb` with `task`, as the policy stands now."""
    usable = account(person)
    if not usable.allowed or person is None:
        return usable
    if person.id == task.requester or verb is TaskVerb.LOOK:
        return YES
    if verb in FOR_ADMINS and person.id in policy.admins:
        return YES
    others = " or an admin" if verb in FOR_ADMINS else ""
    return Ruling(False, f"Only <@{task.requester}>, who asked for this,{others} can {verb} it.")


def _may_confirm(action: Action, person: Person) -> Ruling:
    if action.approvers.named:
        if person.id == action.requester:
            return Ruling(False, f"You asked for this, so {deciders(action)} must confirm it.")
        if is_approver(action.approvers, person):
            return Ruling(False, _instructed(action)) if person.id in _barred(action) else YES
    elif action.approvers.needed > 1 and person.id != action.requester:
        return YES  # N people without names: any full member but the requester
    elif action.approvers.needed <= 1 and person.id == action.requester:
        return YES
    return Ruling(False, f"Only {deciders(action)} can confirm this.")


def _barred(action: Action) -> frozenset[str]:
    """Whose yes would be the only one to what they have asked for themselves: the four eyes would be two."""
    return action.proposal.source.instructed if action.approvers.needed <= 1 else frozenset()


def _instructed(action: Action) -> str:
    told = f"You said something that its planner or agent is told, so {deciders(action)} must confirm this."
    left = action.approvers.groups or action.approvers.users - _barred(action) - {action.requester}
    return (
        told
        if left
        else f"{told} Where there is none, <@{action.requester}> can ask for it anew in another thread."
    )


def is_approver(approvers: Approvers, person: Person) -> bool:
    """Whether all rules that name people name this person."""
    return all(one.includes(person.id, person.groups) for one in approvers.lists)


def is_named(approvers: Approvers, person: Person) -> bool:
    """Whether some rule names this person, who may see it and say no then."""
    return any(one.includes(person.id, person.groups) for one in approvers.lists)


def deciders(action: Action) -> str:
    """Who may confirm, in words; mentions in Slack's form."""
    return _in_words(action, _barred(action))


def _in_words(action: Action, barred: frozenset[str] = frozenset()) -> str:
    """Who may decide, but for these."""
    if not action.approvers.named:
        if action.approvers.needed > 1:
            return f"{action.approvers.needed} other members of this workspace"
        return f"<@{action.requester}>"
    lists = [_mentions(one, barred) for one in action.approvers.lists]
    others = " or ".join(f"<@{u}>" for u in sorted(barred))
    if not all(lists):
        return f"an approver other than {others}"
    count = f"{action.approvers.needed} of " if action.approvers.needed > 1 else ""
    all_named = count + " who is also one of ".join(lists)
    return f"{all_named} other than {others}" if others and action.approvers.groups else all_named


def _mentions(named: Named, barred: frozenset[str]) -> str:
    """Whom a rule names, but for these, in Slack's form."""
    told = [f"<@{u}>" for u in sorted(named.users - barred)]
    told += [f"<!subteam^{g}>" for g in sorted(named.groups)]
    return " or ".join(filter(None, [", ".join(told[:-1]), *told[-1:]]))


def has_enough_votes(action: Action, votes: Sequence[Vote]) -> bool:
    """Whether these votes on the current version are the yes that the action needs."""
    people = {v.person for v in votes if v.yes and v.version == action.version}
    if action.approvers.named or action.approvers.needed > 1:
        people.discard(action.requester)
        if people <= _barred(action):  # nobody else has looked at what they asked for
            return False
    return len(people) >= max(1, action.approvers.needed)
