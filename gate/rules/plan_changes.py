"""How plans come about: steps made of a planner's proposal, and what a person changes in them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.rules.action import Json
from gate.rules.planner_port import ProposedStep
from gate.rules.plans import RESULT, clipped, new_attempt, out_of_order, place, step_of
from gate.rules.steps import is_shown_in_thread, with_call
from gate.rules.task import Plan, Step, StepCall, StepRun, StepState

TITLE, NOTE = 200, 1000  # characters
MOST_ARGS = 400_000  # characters of JSON of all steps together: each change of a task writes its plan anew
TRIED = "It ran before, or may have."
BEGUN = "This step has begun already with its arguments. To have others, please have it planned again."


@dataclass(frozen=True, slots=True)
class StepChange:
    """What somebody wants of one step that is left. `place`: among the steps that are left, from 1. `args`: all
    arguments, where they are changed; None leaves them as they are."""

    id: str
    place: int
    drop: bool = False
    ask: bool = False
    note: str = ""
    args: Mapping[str, Json] | None = None


class BadChange(Exception):
    """A change that cannot be made. Its text is a sentence for people, about the step with this id."""

    def __init__(self, text: str, step: str = "") -> None:
        super().__init__(text)
        self.step = step


# From a proposal


def rebuilt_plan(plan: Plan | None, proposed: Sequence[ProposedStep]) -> tuple[tuple[Step, ...], int]:
    """The steps that are over, then the proposed ones; and the number of the newest id. A step that is kept keeps
    its id, new ones get the next free; references by place become references by id."""
    old = {step.id: step for step in plan.steps} if plan else {}
    last = plan.last if plan else 0
    ids: list[str] = []
    steps = list[Step]()
    named = {one.step for one in proposed}
    tried = tried_tools(old.values())
    for one in proposed:
        before = old.get(one.step)
        if before is not None and before.is_finished:  # it is done: naming it again does not do it again
            ids.append(before.id)
            continue
        refs = _by_id(one.refs, ids)
        if before is None or before.id in ids:
            before = _same_tried(old, {*named, *ids}, _new("", one, refs))
        last += before is None
        ids.append(before.id if before else f"s{last}")
        steps.append(_kept(before, one, refs, tried) if before else _new(ids[-1], one, refs, tried))
    left = (step for step in old.values() if step.is_finished or step.id not in ids)
    return (*_over(left), *_approved_in_order([*old.values()], steps)), last


def _approved_in_order(before: Sequence[Step], steps: Sequence[Step]) -> Iterator[Step]:
    """The steps, without the consent to each that does not follow all that stood before it any more, and is not over:
    it was approved as what follows that, say, a backup, and not as what follows another call that came in its place."""
    needed, passed = list[Step](), list[Step]()
    after: dict[str, list[Step]] = {}
    for step in before:
        after[step.id] = [*needed]
        needed += [] if step.is_finished else [step]
    for step in steps:
        still = all(any(_stands_for(other, one) for other in passed) for one in after.get(step.id, ()))
        yield step if still else replace(step, consent="")
        passed.append(step)


def _stands_for(step: Step, before: Step) -> bool:
    """Whether a step is the one that stood in a plan before."""
    return step.id == before.id and replace(step.call, privacy=before.call.privacy) == before.call


def tried_tools(steps: Iterable[Step]) -> set[str]:
    """The full names of the tools of all tries of these steps that ran, or may have."""
    return {one.name for step in steps for one in step.run.tries}


def _over(steps: Iterable[Step]) -> Iterator[Step]:
    """What is over of these steps, and those that ran, or may have, which nobody wants any more: what such a step did
    can only be taken back while it is part of its plan."""
    for step in steps:
        if step.is_finished:
            yield step
        elif step.run.tries:
            text = step.text if step.state is StepState.FAILED else TRIED
            yield replace(step, state=StepState.SKIPPED, output=replace(step.output, text=text))


def _same_tried(old: Mapping[str, Step], taken: Container[str], proposed: Step) -> Step | None:
    """The step that was tried and makes the very call of one that names none: it is that step once more."""
    for step in old.values():
        tried = step.state is StepState.FAILED or step.attempt > 1
        same = replace(step.call, privacy=proposed.call.privacy) == proposed.call
        if tried and same and not step.is_finished and step.id not in taken:
            return step
    return None


def _by_id(refs: Mapping[str, str], ids: Sequence[str]) -> dict[str, str]:
    """References with places of earlier proposed steps put as their ids; what is an id stays."""

    def named(key: str) -> str:
        return ids[int(key) - 1] if key.isascii() and key.isdigit() and 0 < int(key) <= len(ids) else key

    return {
        name: RESULT.sub(lambda found: f"{{steps.{named(found[1])}", template)
        for name, template in refs.items()
    }


def _new(step_id: str, one: ProposedStep, refs: Mapping[str, str], tried: Container[str] = ()) -> Step:
    """A new step. It counts as tried before where its tool is one of those of the tries that ran, or may have: it may
    be the same once more, in other words, so no approval of the plan covers it."""
    call = one.call
    args = {name: value for name, value in call.args.items() if name not in refs}
    called = StepCall(call.server, call.tool, args, refs)
    run = StepRun(attempt=2 if f"{call.server}.{call.tool}" in tried else 1)
    return Step(id=step_id, title=clipped(one.title.strip(), TITLE), call=called, ask=one.ask, run=run)


def _kept(before: Step, one: ProposedStep, refs: Mapping[str, str], tried: Container[str]) -> Step:
    """A step of the plan before, as it is proposed now. One that was begun is begun anew, and one that has another call
    now counts as tried as a new one does. A planner that knows all arguments may quote them in a title, so one that is
    not for everybody keeps its own."""
    fresh = _new(before.id, one, refs, tried)
    same = (fresh.server, fresh.tool, fresh.args) == (before.server, before.tool, before.args)
    step = before if same and not refs else replace(_with_other_call(before, fresh.call, tried), heard=None)
    step = replace(
        step,
        title=(is_shown_in_thread(before) and fresh.title) or before.title,
        ask=before.ask or fresh.ask,
        preflight=replace(before.preflight, rules=""),
    )
    return step if before.state is StepState.WAITING else new_attempt(step)


def _with_other_call(step: Step, call: StepCall, tried: Container[str]) -> Step:
    """The step with another call, which may be one of those that were tried once more: then no approval of the plan
    covers it."""
    attempt = max(step.attempt, 2) if f"{call.server}.{call.tool}" in tried else step.attempt
    step = with_call(step, call)
    return replace(step, run=replace(step.run, attempt=attempt))


def begun_anew(plan: Plan) -> Plan:
    """The plan where nothing of it runs or waits any more: what was begun of it, and is not over, is to begin once
    more, and to be looked at before."""
    steps = plan.steps
    over = (step.is_finished or step.state is StepState.WAITING for step in steps)
    anew = (one if done else without_preview(new_attempt(one)) for one, done in zip(steps, over, strict=True))
    return replace(plan, steps=tuple(anew))


# From a person


def apply_changes(plan: Plan, changes: Sequence[StepChange]) -> tuple[Step, ...]:
    """All steps of the plan with these changes made; those with other arguments have to be looked at anew.
    Raises BadChange: the arguments themselves are for others to check."""
    left = [step for step in plan.steps if not step.is_finished]
    asked = _asked(plan, left, changes)
    stay = [step for step in left if not (step.id in asked and asked[step.id].drop)]
    if not stay:
        raise BadChange("Nothing would be left of the plan. To give it up, press *Cancel*.")
    order = _ordered(plan, left, stay, asked)
    over = _over(step for step in plan.steps if step not in stay)
    tried = tried_tools(plan.steps)
    steps = (*over, *(_changed(step, asked.get(step.id), tried) for step in order))
    for step, name in out_of_order(steps):
        raise BadChange(
            f"Step {place(plan, step)} takes its `{name}` from a step that would not come before it any more.",
            step.id,
        )
    _check_length(plan, changes, steps)
    return steps


def _check_length(plan: Plan, changes: Sequence[StepChange], steps: Sequence[Step]) -> None:
    """A plan that is too long already may become shorter."""
    longer = next((change.id for change in changes if change.args is not None), "")
    if longer and _length(steps) > max(MOST_ARGS, _length(plan.steps)):
        raise BadChange(
            f"With this the arguments of all steps would be longer than {MOST_ARGS:,} characters together. Please use "
            "shorter ones, or drop a step.",
            longer,
        )


def _length(steps: Iterable[Step]) -> int:
    return sum(len(json.dumps(dict(step.args))) for step in steps)


def _asked(plan: Plan, left: Sequence[Step], changes: Sequence[StepChange]) -> dict[str, StepChange]:
    asked = {change.id: change for change in changes}
    if len(asked) != len(changes):
        raise BadChange("One of the steps is changed twice here. Please open the form again.")
    ids = {step.id for step in left}
    for change in changes:
        if change.id not in ids:
            step = step_of(plan, change.id)
            gone = f"Step {place(plan, step)} is over" if step else "One of these steps is not there"
            raise BadChange(f"{gone}, so it cannot be changed any more. Please open the form again.")
        if not 1 <= change.place <= len(left):
            number = place(plan, left[[s.id for s in left].index(change.id)])
            raise BadChange(
                f"There is no place {change.place} for step {number}: 1 to {len(left)} there are.", change.id
            )
    return asked


def _ordered(
    plan: Plan, left: Sequence[Step], stay: Sequence[Step], asked: Mapping[str, StepChange]
) -> list[Step]:
    """Those that move go where they were put, the others close up around them."""
    at = {step.id: number for number, step in enumerate(left, 1)}
    moves = [step for step in stay if step.id in asked and asked[step.id].place != at[step.id]]
    taken: dict[int, Step] = {}
    for step in moves:
        other = taken.setdefault(asked[step.id].place, step)
        if other is not step:
            both = f"Steps {place(plan, other)} and {place(plan, step)}"
            raise BadChange(f"{both} cannot both be at place {asked[step.id].place}.", step.id)
    order = [step for step in stay if step not in moves]
    for number in sorted(taken):
        order.insert(number - 1, taken[number])
    return order


def _changed(step: Step, change: StepChange | None, tried: Container[str]) -> Step:
    if change is None:
        return step
    step = replace(step, ask=change.ask, note=clipped(change.note.strip(), NOTE))
    if change.args is None or dict(change.args) == dict(step.args):
        return step
    if step.state is not StepState.WAITING:
        raise BadChange(BEGUN, step.id)
    args = dict(change.args)
    refs = {name: template for name, template in step.refs.items() if name not in args}
    return without_preview(_with_other_call(step, replace(step.call, args=args, refs=refs), tried))


def without_preview(step: Step) -> Step:
    """The step as if nobody had looked at what it would change. Its class and verdict stand until somebody does."""
    return replace(step, preflight=replace(step.preflight, rules="", seal="", preview=None))


def added_notes(plan: Plan, steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """The steps that an instruction was newly put on, each with its number."""
    before = {step.id: step.note for step in plan.steps}
    return [(number, s) for number, s in enumerate(steps, 1) if s.note and s.note != before.get(s.id)]
