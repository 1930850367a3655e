"""After a step: look whether it did what it should, score it, and go on, show it for a moment, ask, or give it up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from gate.actions.preview import PreviewReadFailed, policy_decision, run_read
from gate.actions.review_log import announce_step_review, step_under_review
from gate.actions.undo_drift import value_at
from gate.rules import jobs, plans
from gate.rules.action import Action, CallClass, Json
from gate.rules.autonomy import ApprovalMode, Band, BandDecision, StepSignals, decide_band
from gate.rules.canonical_json import stored_args
from gate.rules.confidence import (
    Check,
    Confidence,
    Evidence,
    Judgement,
    admitted_failure,
    contradicts_result,
    score,
    verdict,
    without_quotes,
)
from gate.rules.events import risk_of
from gate.rules.ports import LedgerEvent, Tx, World
from gate.rules.reviews import Phase, matched_names
from gate.rules.steps import PRIVATE, judged
from gate.rules.task import NOBODY, PauseReason, Plan, Step, StepReview, StepState, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import ToolSpec
from gate.rules.undo_privacy import is_confidential
from gate.tasks.task_transitions import (
    move_task,
    next_pause,
    record,
    retire_cards,
    update_step,
    update_task,
    with_step,
    without_pause,
)

MAX_TIMER_DELAY = 30.0  # seconds after its time at which a summary counts as one that nobody could have held
TARGET = "its target is as it should be now"  # the check by a read that the recipe of the tool names
# What the audit log and the events say of a pause; its card quotes the result, and why it is (not) trusted. The log
# adds the score and who judged (StepAssessment.noted).
REVIEW_WANTED = "A person is to look at what it gave."
NOT_TRUSTED = "What it gave is not trusted, and a person is to decide."
TIMED_OUT = "no person decided: nobody pressed Hold within {seconds:g} s"
TIMER_LOST = "its time could not be kept, so it waits for a person"
READ_SINCE = "something from outside was read in this thread meanwhile"

# Ends a task in the same transaction as its last step, or gives None where something comes after it.
EndTask = Callable[[Task], Awaitable[Task | None]]


@dataclass(frozen=True, slots=True)
class StepAssessment:
    """What was found out about a step that went through, before anything is decided."""

    action: Action
    confidence: Confidence
    wrong: bool  # something speaks against the result itself
    gated: bool
    tainted: bool
    verdict: str  # of the second look, without its reason; "" where there was none
    read_back: bool = False  # its target was read, and is as it should be

    @property
    def noted(self) -> str:
        """What the record says of it before the result is let out: how sure and who judged, but not why, since that
        may quote the result."""
        judged = f"; its result was {self.verdict}" if self.verdict else ""
        return f"Confidence {self.confidence.score:.2f}{judged}."


async def assess_step(world: World, task: Task, step: Step, action: Action) -> StepAssessment:
    """Verify and score the result of a step, by reads alone. Raises Unavailable."""
    spec = world.tools.find(action.server, action.tool)
    outcome = action.outcome
    checks = [Check("its tool reports success", outcome is not None and outcome.kind == "success")]
    if spec is not None:
        checks += [check async for check in _checks(world, spec, action)]
    judgement = await world.judge.judge(task, step, action) if world.judge else None
    past = await world.ledger.grants.past(action, task.since)
    seen = _evidence(step, action, checks, judgement, past.went_well)
    gated = action.always_gated or action.cls is CallClass.DESTRUCTIVE
    return StepAssessment(
        action,
        score(seen),
        contradicts_result(seen),
        gated,
        past.tainted,
        verdict(seen.judgement),
        any(check.name == TARGET and check.passed for check in checks),
    )


def _evidence(
    step: Step, action: Action, checks: list[Check], judgement: Judgement | None, known: bool
) -> Evidence:
    """What is known of a step that went through. People and the log read why a result is not trusted, so of what is
    private, and of a secret file, it quotes nothing."""
    outcome = action.outcome
    seen = Evidence(
        checks=tuple(checks),
        judgement=judgement,
        retries=step.attempt - 1,
        destructive=action.cls is CallClass.DESTRUCTIVE,
        succeeded=checks[0].passed,
        known=known,
        admitted=admitted_failure(outcome.text, outcome.structured) if outcome else "",
    )
    return without_quotes(seen) if is_confidential(action) else seen


async def _checks(world: World, spec: ToolSpec, action: Action) -> AsyncIterator[Check]:
    """The result against the tool's schema, and the target against what the recipe says it must be now. A result
    that somebody has vouched for instead of the tool has no structure, and nothing to compare."""
    result = action.outcome.structured if action.outcome else None
    if result is None:
        return
    if spec.output_schema is not None:
        problems = world.tools.problems(spec.output_schema, result)
        yield Check("its result has the form that the tool promises", not problems, _first(problems))
    if spec.recipe.drift is not None:
        yield await _check_target(world, spec, action)


def _first(problems: tuple[Json, ...]) -> str:
    return plans.clipped(str(problems[0].text), 200) if problems else ""


async def _check_target(world: World, spec: ToolSpec, action: Action) -> Check:
    drift, outcome = spec.recipe.drift, action.outcome
    assert drift is not None
    assert outcome is not None
    fields = outcome.structured if isinstance(outcome.structured, dict) else {}
    scope = {
        "args": stored_args(action.args),
        "capture": action.capture,
        "result": {"text": outcome.text, **fields},
    }
    try:
        wanted = {key: expand(template, scope) for key, template in drift.same.items()}
        there = await run_read(world, action.server, drift.read, scope, action.session.channel)
    except (PreviewReadFailed, TemplateError) as error:
        return Check(TARGET, False, f"it could not be read: {error}")
    other = [key for key, value in wanted.items() if value_at(there.found, key) != value]
    return Check(TARGET, not other, f"another {', '.join(other)}" if other else "")


async def finish_step(
    tx: Tx, world: World, task: Task, done: Step, found: StepAssessment, end: EndTask
) -> Task:
    """Write a step down that went through, and do what its confidence asks for: where it asks for nothing, end the
    task where nothing comes after it."""
    done = replace(done, output=replace(done.output, confidence=found.confidence))
    plan = with_step(task, done).plan
    assert plan is not None
    seen = StepSignals(
        gated=found.gated,
        tainted=found.tainted,
        last=not _has_later_steps(plan, done),
        wrong=found.wrong,
        pausing=task.wish is StopRequest.PAUSE,
        matches=found.read_back and bool(done.consent),
    )
    after = decide_band(task.switches, found.confidence, seen)
    # What a reply called for was reviewed on its action before it came here.
    wanted = "" if done.origin else world.policy.review(Phase.AFTER, done.name, matched_names(done))
    outcome = replace(task.outcome, changed=task.changed or found.action.cls is not CallClass.READ)
    if (
        after.band is Band.GO
        and not wanted
        and not plans.reviews_each(task)
        and task.wish is not StopRequest.STOP
    ):
        reason = f"{plans.step_sentence(done)}. Confidence {found.confidence.text}. {after.reason}".strip()
        ended = await end(replace(with_step(task, done), outcome=outcome))
        return ended or await update_step(tx, task, done, "step_done", reason, outcome=outcome)
    task = await tx.update_task(task, outcome=outcome)
    if task.wish is StopRequest.STOP:
        looks = wanted or after.band is not Band.GO or plans.reviews_each(task)
        return await finish_last_step(tx, task, done, found, looks=bool(looks))
    if after.band is Band.ABORT:
        return await _fail_step(tx, task, done, after, found)
    if after.band is not Band.ASK and (wanted or (after.band is Band.GO and plans.reviews_each(task))):
        after = BandDecision(Band.ASK, f"{after.reason} {review_reason(wanted)}".strip())
    timeout = world.limits.proceed if after.band is Band.SHOW and not plans.reviews_each(task) else None
    return await wait_for_review(tx, task, done, after.reason, timeout, found)


def _has_later_steps(plan: Plan, step: Step) -> bool:
    """Whether a step is left that comes after this one."""
    later = plan.steps[plans.place(plan, step) :]
    return any(not one.is_finished and (one.after is None or step.id in one.after) for one in later)


async def finish_last_step(tx: Tx, task: Task, done: Step, found: StepAssessment, *, looks: bool) -> Task:
    """Write down a step after which its task ends. `looks`: somebody would have had to look at what it gave. Then it
    stays without an answer, as after a pause that nobody let it go on from: a stop lets nothing out."""
    done = replace(done, look=StepReview(task.pauses + 1)) if looks else done
    reason = plans.step_sentence(done)
    return await update_step(tx, task, done, "step_done", reason, note=f"{reason}. {found.noted}")


async def wait_for_review(
    tx: Tx,
    task: Task,
    done: Step,
    reason: str,
    timeout: float | None = None,
    found: StepAssessment | None = None,
) -> Task:
    """Wait for a person to look at the result of a step; with `timeout`, only for so many seconds once they can.
    `found`: of a step that was weighed, as reads are not."""
    done = replace(done, look=StepReview(task.pauses + 1, timeout or 0.0))
    plan = with_step(task, done).plan
    assert plan is not None
    label = plans.label(plan, done)
    told = f"{label} is done. {reason}".strip()
    why = PauseReason.REVIEW if timeout is None else PauseReason.SUMMARY
    note = f"{label} is done. {REVIEW_WANTED} {found.noted if found else ''}".strip()
    now = await move_task(
        tx, task, TaskEvent.PAUSE, plan=plan, reason=told, note=note, pause=next_pause(task, why)
    )
    _request(tx, now, done, REVIEW_WANTED, timeout)
    if timeout is None:
        await announce_step_review(tx, now, done)
    return now


def review_reason(name: str) -> str:
    """Why somebody has to look at a result, where the operator says so."""
    return f"The operator wants its result reviewed (“{name}”)." if name else ""


async def _fail_step(tx: Tx, task: Task, done: Step, after: BandDecision, found: StepAssessment) -> Task:
    """The tool came back, and yet nothing good came of it: the step counts as failed, and a person decides."""
    step = plans.with_failure(done, done.text)
    plan = with_step(task, step).plan
    assert plan is not None
    label = plans.label(plan, step)
    reason = f"{label} ran, but I do not trust its result. {after.reason}"
    note = f"{label} ran. {NOT_TRUSTED} {found.noted}"
    now = await move_task(
        tx,
        task,
        TaskEvent.PAUSE,
        plan=plan,
        reason=reason,
        note=note,
        pause=next_pause(task, PauseReason.DOUBT),
    )
    _request(tx, now, step, NOT_TRUSTED, None)
    return now


def _request(tx: Tx, task: Task, step: Step, reason: str, timeout: float | None) -> None:
    """The event of docs/promises.md GATE-20, for whoever listens: without what the step gave, as nobody has
    let that out."""
    body: dict[str, Json] = {
        "task_id": task.id,
        "subtask_id": step.id,
        "reason": reason,
        "proposed_action": "Go on after this step" if step.state is StepState.DONE else "Decide on this step",
        "risk_level": risk_of(step.cls).value,
        "details": {
            "tool": step.name,
            "step": plans.step_sentence(step),
            "confidence": step.confidence.score if step.confidence else None,
            "number": task.pauses,
        },
        "auto_approve_timeout": timeout,
    }
    tx.publish(LedgerEvent("approval_requested", task.session, task.id, body))


def review_card_key(task: Task) -> str:
    """The key of the card on which the result stands that is being looked at."""
    return f"{task.id}:pause:{task.pauses}"


def has_review_timeout(task: Task) -> bool:
    """Whether the task goes on by itself in a moment."""
    return task.state is TaskState.PAUSED and task.why is PauseReason.SUMMARY


async def start_review_timer(world: World, task_id: str) -> None:
    """The cards of a task have been drawn: where one shows a summary, people can see it, and its time begins."""
    task = await world.ledger.task(task_id)
    if task is None or not has_review_timeout(task):
        return
    card = await world.ledger.posted(review_card_key(task))
    if card is not None and card.ts and card.at is not None:
        async with world.ledger.begin() as tx:
            await tx.set_sweep_time(task, card.at + timedelta(seconds=world.limits.proceed))


async def end_review_time(world: World, task: Task, late: float) -> None:
    """The time of a summary is over, since so many seconds. Does nothing when somebody has held it, or it has moved on.
    Long after its time, as after a standstill in which nobody could press *Hold*, it is given its time once more; one
    that nobody was shown waits for a person."""
    card = await world.ledger.posted(review_card_key(task))
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.pauses != task.pauses or not has_review_timeout(now):
            return
        if card is None or not card.ts or now.switches.approval_mode != ApprovalMode.AUTO:
            await pause_for_review(tx, now, "system", TIMER_LOST)
        elif await tx.grants.tainted(now.session, now.since):
            await pause_for_review(tx, now, "system", READ_SINCE)
        elif late > MAX_TIMER_DELAY:
            await tx.set_sweep_time(now, await tx.now() + timedelta(seconds=world.limits.proceed))
        else:
            await _proceed(tx, world, now)


async def _proceed(tx: Tx, world: World, task: Task) -> None:
    """Nobody held it."""
    reason = TIMED_OUT.format(seconds=world.limits.proceed)
    on = await tx.move_task(
        task, TaskEvent.CONTINUE, **without_pause(task, with_review_passed(world, task, NOBODY))
    )
    record(tx, on, "auto_proceeded", reason=reason)
    retire_cards(tx, task, on)
    tx.enqueue(jobs.task(on.id, on.revision))


def with_review_passed(world: World, task: Task, by: str) -> Plan | None:
    """The plan, with who let the task go on from the result that it waits at, which is private where the rules have
    made its call so since it ran."""
    plan = task.plan
    if plan is None:
        return None
    passed = [
        replace(as_ruled_now(world, task, step), look=replace(step.look, by=by))
        if step.look and step.look.pause == task.pauses
        else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(passed))


def as_ruled_now(world: World, task: Task, step: Step) -> Step:
    """A step that ran, for whoever asked alone where the rules make its call private now, or where its tool is away so
    that nobody knows."""
    spec = world.tools.find(step.server, step.tool)
    try:
        args = plans.fill_arguments(task.plan, step) if task.plan else {}
    except plans.MissingResult:  # what it was given was dropped since
        args = dict(step.args)
    if spec is not None and not policy_decision(world, spec, args, task.session.channel).private:
        return step
    return replace(judged(step, private=True), output=replace(step.output, text=PRIVATE))


async def pause_for_review(tx: Tx, task: Task, user: str, reason: str = "") -> Task:
    """From now on it waits until somebody says how it goes on."""
    told = f"{task.reason}\n{reason}".strip()
    pause = replace(task.pause, why=PauseReason.REVIEW)
    now = await update_task(tx, task, "held", user, note=reason or REVIEW_WANTED, pause=pause, reason=told)
    step = step_under_review(now)
    if step is not None:
        await announce_step_review(tx, now, step)
    return now
