"""Who has said something that a planner or an agent is told: alone, they confirm nothing that may have come of it.

Who asked for something in a thread has, to the planner of what others ask for there after that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gate.rules.action import Resolution, ResultReview
from gate.rules.policy import Policy
from gate.rules.task import Input, Task


def are_counted(policy: Policy) -> bool:
    """Whether it matters who they are: else nothing is read to find out."""
    return any(rule.approvers for rule in policy.rules)


def of_action(said: Resolution, review: ResultReview) -> frozenset[str]:
    """Who has said something about a call: why it was rejected or called off, whatever way that came, or something
    about its result, or what that is to be."""
    people = {said.by} if said.reason and not said.own else set[str]()
    if review.judged and (review.judged.comment or review.judged.revised is not None):
        people.add(review.judged.by)
    return frozenset(people - {""})


def of_words(said: Input, advised_by: Iterable[str]) -> frozenset[str]:
    """Who has said something in a task: what is to be done, a remark in its thread, or why not. `advised_by`: of its
    plan."""
    instructed, remarked = (one.user for one in said.instructions), (one.user for one in said.remarks)
    return frozenset((*instructed, *remarked, *(said.heard or ()), *advised_by)) - {""}


def having_heard(said: Input, people: Iterable[str]) -> Input:
    """With these people as some who have been heard, whatever is kept of what they said."""
    known = said.heard or frozenset[str]()
    heard = known.union(people)
    return said if heard == known else replace(said, heard=heard)


def of_task(task: Task) -> frozenset[str]:
    """Who besides its requester has said something that the planner of a task is told."""
    return of_words(task.input, task.plan.advised_by if task.plan else ()) - {task.requester}
