"""Plans as values: what an approval of one covers, how later steps use earlier results, and how it went in words."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from gate.arguments.tool_names import tool_in_words
from gate.rules.action import Action, CallClass, Decision, Json, Verdict
from gate.rules.advisers import of_task
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.receipt import digest
from gate.rules.steps import is_shown_in_thread, public_step
from gate.rules.task import TEXT, Output, Plan, Step, StepRun, StepState, Task
from gate.rules.task import clipped as clipped
from gate.rules.templates import PLACEHOLDER, TemplateError, expand, names
from gate.rules.templates import STEP as PART
from gate.sentences.past_tense import past_if_known

RESULT = re.compile(r"\{steps\.([\w$-]+)(?=[.|\[}])")
# Characters kept of a structured result: one that a later step takes, and others
LARGE, SMALL = 64_000, 8_000
# Bytes of all results of a plan together, as they are stored: each step writes them all, and each list reads them. The
# last of them are for results of the usual size, so that one that comes after large ones is kept.
TOGETHER, SPARED = 1_000_000, 250_000
MAX_NAMES = 5  # steps named in a result
MOST_NAMED = 50  # parts of earlier results in the arguments of one step
UNDONE = "It was done, and taken back since."  # in place of what a step gave

S = StepState


class MissingResult(Exception):
    """A step needs something that no earlier step has given. Its text is a sentence for people."""


def place(plan: Plan, step: Step) -> int:
    """The number of a step as people see it: its place in the plan, from 1."""
    return next(i for i, one in enumerate(plan.steps, 1) if one.id == step.id)


def label(plan: Plan, step: Step) -> str:
    """How a sentence begins that is about a step: by its number in the plan that people were shown, or by what it does
    where none was."""
    return f"Step {place(plan, step)}" if plan.version else f"“{step_sentence(step)}”"


def step_of(plan: Plan | None, step_id: str) -> Step | None:
    return next((one for one in plan.steps if one.id == step_id), None) if plan else None


def applies_when(task: Task) -> str:
    """Where in a task an instruction is taken in, in words."""
    plan = task.plan
    if plan is None:
        return "for the plan"
    return f"before step {place(plan, plan.current)}" if plan.current else "after the last step"


# Seals


def step_seal(action: Action) -> str:
    """SHA-256 (hex) over all that a step's approval is given for; the same for the action drafted to be looked
    at and the one that is to run, unless anything of it changed. Of another version of this program, too: as the
    other seals, it stands in tasks that wait."""
    return digest(
        {
            "task": action.task,
            "step": action.step,
            "session": action.session.key,
            "requester": action.requester,
            "server": action.server,
            "tool": action.tool,
            "definition": action.definition,
            "args": hashlib.sha256(action.args).hexdigest(),
            "preconditions": action.capture,
            "class": action.cls,
            "policy": action.proposal.policy,
        }
    )


def with_seal(task_id: str, plan: Plan) -> Plan:
    """The plan with its seal: over its version and all that it says of its steps, in their order."""
    steps = [
        [s.id, s.title, s.server, s.tool, dict(s.args), dict(s.refs), s.ask, s.note, p.cls, p.verdict, p.seal]
        for s, p in ((step, step.preflight) for step in plan.steps)
    ]
    seen = [[s.rules, s.problem] for s in plan.steps]
    return replace(
        plan, seal=digest({"task": task_id, "version": plan.version, "steps": steps, "seen": seen})
    )


def rules_hash(definition: str, policy: str, decision: Decision) -> str:
    """Hash over a tool and what the policy says of a call of it, to see whether either has changed."""
    deciders = decision.approvers
    also = [[sorted(one.users), sorted(one.groups)] for one in deciders.also]
    return digest(
        {
            "definition": definition,
            "policy": policy,
            "verdict": decision.verdict,
            "class": decision.cls,
            "always": decision.always_gated,
            "approvers": [sorted(deciders.users), sorted(deciders.groups), deciders.needed, *also],
        }
    )


# Consent


def is_coverable(action: Action) -> bool:
    """Whether the approval of a plan can be the yes to this action. Nothing destructive, always gated, not
    reviewed, that others decide, or that cannot be shown, is ever covered."""
    return (
        action.verdict is Verdict.CONFIRM
        and action.cls is CallClass.WRITE
        and action.preview.is_complete
        and not action.always_gated
        and not action.private
        and not action.approvers.named
        and action.approvers.needed <= 1
        and not action.undoes
        and not action.review
    )


def covers(task: Task, step: Step, action: Action) -> bool:
    """Whether the requester has approved exactly this action when they approved the plan."""
    plan = task.plan
    return (
        plan is not None
        and plan.approved_by == task.requester == action.requester
        and not plan.stepwise
        and not step.ask
        and step.attempt == 1
        and not _repeats_a_try(plan, step)
        and not asks_each(task)
        and is_coverable(action)
        and bool(step.consent)
        and step.consent == step_seal(action)
    )


def _repeats_a_try(plan: Plan, step: Step) -> bool:
    """Whether another step made the very same call in a try that ran, or may have, and is not done: this would be one
    more."""
    call = step.server, step.tool, step.args
    others = (
        one for one in plan.steps if one.run.tries and one.state is not StepState.DONE and one is not step
    )
    return any((one.server, one.tool, one.args) == call for one in others)


def asks_each(task: Task) -> bool:
    """Whether the switches want every step that changes something to ask for itself."""
    return task.switches.review in ("before_step", "both")


def reviews_each(task: Task) -> bool:
    """Whether the switches want a look at the result of every step that changes something."""
    return task.switches.review in ("after_step", "both")


def with_consent(task: Task, plan: Plan, shown: frozenset[str]) -> Plan:
    """The plan with its requester's consent to each step that an approval covers. `shown`: the steps whose whole
    preview they saw."""
    if asks_each(task):
        return replace(plan, stepwise=True)
    seen = {step.id for step in plan.steps if step.id in shown and awaited(plan, step) is None}
    return replace(plan, steps=tuple(_with_step_consent(step, step.id in seen) for step in plan.steps))


def _with_step_consent(step: Step, shown: bool) -> Step:
    asks = step.ask or step.attempt > 1  # a try before may have changed something
    covered = shown and step.state is S.WAITING and not asks and step.verdict is Verdict.CONFIRM
    return replace(step, consent=step.preflight.seal if covered else "")


def without_consent(plan: Plan) -> Plan:
    """The plan without anybody's consent."""
    steps = tuple(replace(step, consent="") for step in plan.steps)
    return replace(plan, steps=steps, approved_by="", stepwise=False, approved=0)


def without_consent_to_what_is_left(plan: Plan) -> Plan:
    """The plan without the consents to its steps that are not over."""
    return replace(
        plan,
        steps=tuple(step if step.is_finished else replace(step, consent="") for step in plan.steps),
    )


def is_blocked(step: Step) -> bool:
    """Whether a step that is left will not run as it is: its tool, its arguments or the policy forbid it."""
    return not step.is_finished and step.verdict is Verdict.DENY


def awaited(plan: Plan, step: Step) -> Step | None:
    """The first step before this one that is to change what this one is about, so that what this one does is seen only
    after that. None where none is, or nobody is asked about this one."""
    if step.state is not S.WAITING or step.verdict not in (Verdict.CONFIRM, Verdict.TYPED):
        return None
    wanted = {*step.preflight.rests_on}
    before = takewhile(lambda one: one.id != step.id, plan.steps)
    changing = (one for one in before if not one.is_finished and one.cls is not CallClass.READ)
    return next((one for one in changing if not wanted.isdisjoint(one.preflight.touches)), None)


# References to earlier results


def required_steps(step: Step) -> set[str]:
    """The ids of the steps whose results this one takes."""
    return {found for template in step.refs.values() for found in RESULT.findall(template)}


def out_of_order(steps: Iterable[Step]) -> Iterator[tuple[Step, str]]:
    """Each step that takes a result which no step before it gives, with the name of the argument."""
    before: set[str] = set()
    for step in steps:
        for name, template in step.refs.items() if not step.is_finished else ():
            if bad_template(template) or not set(RESULT.findall(template)) <= before:
                yield step, name
        before.add(step.id)


def bad_template(template: str) -> bool:
    """Whether a reference cannot be read, or names anything but results of steps."""
    try:
        paths = names(template)
    except TemplateError:
        return True
    return has_filter(template) or not paths or any(path[0] != "steps" or len(path) < 2 for path in paths)


def has_filter(template: str) -> bool:
    """Whether a reference takes a result in another form, `{steps.1.text|lines}`. None does: a filter goes through all
    of a result, which may be long, and a step may name fifty."""
    return any(found[2] for found in PLACEHOLDER.finditer(template))


def fill_arguments(plan: Plan, step: Step) -> dict[str, Json]:
    """The arguments of a step, with what earlier steps have given. Raises MissingResult."""
    if names_too_many(step.refs):
        raise MissingResult(
            f"{label(plan, step)} names results of earlier steps more than {MOST_NAMED} times."
        )
    done = {s.id: s.result for s in plan.steps if s.state is S.DONE and isinstance(s.result, dict)}
    args = dict(step.args)
    for name, template in step.refs.items():
        try:
            if has_filter(template):
                raise TemplateError(template)
            args[name] = expand(template, {"steps": done})
        except TemplateError:
            raise MissingResult(_missing_result(plan, step, name, template)) from None
    return args


def names_too_many(refs: Mapping[str, str]) -> bool:
    """Whether these arguments name more of earlier results than are filled in, each of which may be long."""
    return sum(template.count("{") for template in refs.values()) > MOST_NAMED


def takes_private(plan: Plan, step: Step) -> bool:
    """Whether a step takes arguments from a result that is, or will be, for whoever asked alone."""
    return any(one.is_private for one in _sources(plan, step))


def takes_unjudged(plan: Plan, step: Step) -> bool:
    """Whether a step takes arguments from another that may yet turn out to be private."""
    return not all(map(is_shown_in_thread, _sources(plan, step)))


def _sources(plan: Plan, step: Step) -> list[Step]:
    wanted = required_steps(step)
    return [one for one in plan.steps if one.id in wanted]


def _missing_result(plan: Plan, step: Step, name: str, template: str) -> str:
    begin = f"Step {place(plan, step)} takes its `{name}` from"
    for path in names(template):
        source = step_of(plan, path[1])
        if source is None:
            return f"{begin} a step that is not part of the plan any more."
        which = f"{begin} the result of step {place(plan, source)}"
        if source.state is S.SKIPPED:
            return f"{which}, which was skipped."
        if source.state is not S.DONE:
            return f"{which}, which is not done."
        try:
            expand("{" + ".".join(path) + "}", {"steps": {source.id: source.result or {}}})
        except TemplateError:
            return f"{which}, and there is no “{'.'.join(PART.findall('.'.join(path[2:])))}” in it."
    told = template if is_shown_in_thread(step) else "an earlier step"
    return f"{begin} {told}, which cannot be filled in."


def _size(value: Json) -> int:
    return len(json.dumps(value, ensure_ascii=False))


def _stored(value: Json) -> int:
    """The bytes of a value as it is stored, or a few more."""
    return len(json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace"))


def with_result(plan: Plan, step: Step, text: str, structured: Json) -> Step:
    """The step, done, with as much of its result as is kept: more of it where a later step takes it."""
    wanted = any(step.id in required_steps(other) for other in plan.steps)
    room = LARGE if wanted else SMALL
    result = {"text": text[:room], **_smallest(_fields(text, structured), room)}
    output = replace(step.output, text=clipped(text), result=_smallest(result, _left(plan, step), _stored))
    return replace(step, state=S.DONE, output=output)


def without_results(task: Task) -> Task:
    """The task without what its steps gave for later ones."""
    if task.plan is None:
        return task
    steps = (replace(step, output=replace(step.output, result=None)) for step in task.plan.steps)
    return replace(task, plan=replace(task.plan, steps=tuple(steps)))


def is_shortened(step: Step) -> bool:
    """Whether not all words that a step gave are kept."""
    kept = step.result.get("text") if isinstance(step.result, dict) else ""
    return len(str(kept)) >= SMALL if kept else len(step.text) >= TEXT


def _left(plan: Plan, step: Step) -> int:
    """The bytes that the result of a step may take beside those of the others."""
    left = TOGETHER - sum(_stored(one.result) for one in plan.steps if one.id != step.id)
    return max(left - SPARED, min(left, 2 * SMALL))


def _smallest(fields: dict[str, Json], room: int, size: Callable[[Json], int] = _size) -> dict[str, Json]:
    """The fields that have room together, as JSON; the largest go first."""
    sizes = {name: size(value) for name, value in fields.items()}
    left, gone = size(fields), set()
    for name in sorted(sizes, key=lambda name: sizes[name], reverse=True):
        if left <= room:
            break
        gone.add(name)
        left -= size(name) + sizes[name] + len(": , ")
    return {name: value for name, value in fields.items() if name not in gone}


def _fields(text: str, structured: Json) -> dict[str, Json]:
    """The fields of a result: of its structured content, and of the JSON object that its text is.

    A server made with the MCP SDK gives the text that its function returned as `{"result": text}`.
    """
    given = structured if isinstance(structured, dict) else {}
    only = text if not given else given.get("result") if len(given) == 1 else None
    try:
        return {**(parse(only) if isinstance(only, str) else {}), **given}
    except BadArguments:
        return given


def with_failure(step: Step, text: str) -> Step:
    """The step, failed: nothing that it gave may be used. `text` says what went wrong."""
    return replace(step, state=S.FAILED, output=replace(step.output, text=clipped(text), result=None))


# In words


def step_sentence(step: Step) -> str:
    """What a step does, in one line."""
    told = public_step(step).preview
    said = told.summary if told else ""
    return clipped(said or step.title.strip() or tool_in_words(step.name), 150)


def is_taken_back(task: Task) -> bool:
    """Whether all that the steps of a plan changed was taken back: then its result says nothing else. Where one did
    not go through, that may not be all: nobody may know what it did."""
    if task.plan is None or task.plan.undone == "" or task.plan.undone != task.result:
        return False
    return all(
        step.cls is CallClass.READ or step.state not in (S.ASKED, S.FAILED) for step in task.plan.steps
    )


def summary(plan: Plan) -> str:
    """How a plan went, counted by code: `2 of 3 steps done, 1 skipped: Moved a.md; Wrote b.md.`"""
    counts = Counter(step.state for step in plan.steps if step.text != UNDONE)
    counts[S.WAITING] -= sum(step.state is S.WAITING for step in _left_after_try(plan))
    back = sum(step.text == UNDONE for step in plan.steps)
    parts = [f"{counts[S.DONE]} of {len(plan.steps)} step{'s' * (len(plan.steps) != 1)} done"]
    parts += [f"{back} taken back"] * (back > 0)
    parts += [f"{counts[state]} {word}" for state, word in UNFINISHED_TEXTS.items() if counts[state]]
    parts += filter(None, [ran_before(plan)])
    kept = (step for step in plan.steps if step.state is S.DONE and step.text != UNDONE)
    done = [past_if_known(step_sentence(step)) for step in kept]
    more = [f"{len(done) - MAX_NAMES} more"] if len(done) > MAX_NAMES else []
    listed = f": {'; '.join([*done[:MAX_NAMES], *more])}" if done else ""
    return f"{', '.join(parts)}{listed}."


def ran_before(plan: Plan) -> str:
    """Which steps that are not done as they stand ran before, or may have, in words; "" where none did."""
    places = [str(place(plan, step)) for step in _left_after_try(plan)]
    return f"step{'s' * (len(places) != 1)} {', '.join(places)} ran before, or may have" if places else ""


def _left_after_try(plan: Plan) -> list[Step]:
    return [step for step in plan.steps if step.run.tries and step.state is not S.DONE]


UNFINISHED_TEXTS = {
    S.SKIPPED: "skipped",
    S.FAILED: "did not go through",
    S.ASKED: "not decided",
    S.WAITING: "not begun",
}


def with_advisers(plan: Plan, people: Iterable[str]) -> Plan:
    """The plan, with these people as some who have said something that its planner is told, too."""
    return replace(plan, advised_by=tuple(dict.fromkeys((*plan.advised_by, *sorted(people)))))


def with_heard(task: Task, plan: Plan, told_by: Iterable[str]) -> Plan:
    """The plan, with a note in each of its steps that is new of who had been heard when it was proposed. `told_by`: as
    of the PlannerContext that it was made of."""
    advised = with_advisers(plan, told_by)
    heard = tuple(sorted(of_task(replace(task, plan=advised))))
    steps = (step if step.heard is not None else replace(step, heard=heard) for step in plan.steps)
    return replace(advised, steps=tuple(steps))


def new_attempt(step: Step) -> Step:
    """A step to be begun once more, as another action. Whoever approved it did so for one try."""
    return replace(
        step,
        consent="",
        state=S.WAITING,
        run=StepRun(attempt=step.attempt + 1, tries=step.run.tries),
        output=Output(),
        look=None,
    )
