"""The action of a step: how it is put in together with its step, how it is withdrawn, and what became of it."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.action_versions import audit_entry, record_proposed, with_receipt
from gate.actions.button_press import PressResult
from gate.actions.claim_click import approve, end_pending, notify_ended
from gate.actions.grant_consent import approve_by_grant
from gate.actions.prepare import Write, has_too_many_pending, insert_pending
from gate.arguments.tool_names import tool_in_words
from gate.rules import advisers, jobs, plans
from gate.rules.action import Action, CallClass, Preview, Vote
from gate.rules.action_states import Event, State
from gate.rules.canonical_json import stored_args
from gate.rules.plans import step_of
from gate.rules.ports import Tx, World
from gate.rules.previews import target_of
from gate.rules.reviews import released
from gate.rules.steps import PRIVATE, Try, judged
from gate.rules.task import PauseReason, Plan, Step, StepState, Task
from gate.rules.task_states import TaskState
from gate.rules.undo_privacy import is_confidential
from gate.tasks.plan_preview import current_rules_hash
from gate.tasks.task_transitions import lock_unchanged, update_step, with_step

SUPERSEDED = "Something else was asked for instead."
CHANGED = "{what} changed since you approved the plan, so please look again."
RULES_CHANGED = CHANGED.format(what="The tool or its rules")
OTHERWISE = "This would not do what it did when you approved the plan, so please look again."
BUSY = "That step is running right now. Please wait for its end."
STEP_SUCCEEDED = "That step has gone through meanwhile, so the task goes on."
STEP_UNKNOWN = "Nobody knows yet whether that step went through. Please look at its card first."
SAID_ALONE = "its own card says more, to whoever asked alone."  # of what is confidential
WAITS = (State.PREPARED, State.APPROVED)
AWAY = (State.SUCCEEDED, State.UNDOING)
FAILURE_REASONS = (PauseReason.STEP, PauseReason.LAPSED, PauseReason.DOUBT)
WENT_WELL = (State.SUCCEEDED, State.UNDOING, State.UNDONE)
MAY_HAVE_RUN = (State.UNKNOWN, *WENT_WELL)


class NotPreviewable(Exception):
    """What a step would change could not be seen, so nobody could confirm it. Its text is a sentence for people; where
    it is `private`, for whoever asked alone."""

    def __init__(self, text: str, private: bool) -> None:
        super().__init__(text)
        self.private = private


def step_inserter(task: Task, step: Step, begun_here: dict[str, Task]) -> Write:
    """Writes down the action of a step together with the step: approved at once where the requester has approved
    exactly this with the plan, else waiting for its person. `begun_here` gets the task as it stands then, by the id of
    the step. Raises StaleTask when the task has moved on, and NotPreviewable when there is no preview of it."""

    async def write(world: World, action: Action) -> Action | None:
        if action.preview.problem and step.origin is None:  # of a reply, its card says so
            raise NotPreviewable(action.preview.problem, is_confidential(action))
        async with world.ledger.begin() as tx:
            now = await lock_unchanged(tx, task)
            if plans.covers(now, step, action):
                stored = await _approved(tx, now, action)
            elif (granted := await _grant_applies(tx, world, (now, step), action)) is not None:
                stored = granted
            elif await has_too_many_pending(tx, world, action):
                return None
            else:
                stored = await insert_pending(tx, _with_reason_to_ask(world, now, step, action))
            after = await store_begun_step(tx, now, step, stored)
        begun_here[step.id] = after
        return stored

    return write


def _with_reason_to_ask(world: World, task: Task, step: Step, action: Action) -> Action:
    """The action of a step with why it asks, where its requester has approved it with the plan."""
    spec = world.tools.find(action.server, action.tool)
    plan = task.plan
    approved = plan is not None and plan.approved_by == task.requester and bool(step.consent)
    if spec is None or not approved or plans.asks_each(task) or step.consent == plans.step_seal(action):
        return action
    same = current_rules_hash(world, task, step) == step.rules
    again = _difference(step.preview, action.preview) if same else RULES_CHANGED
    source = replace(action.proposal.source, again=again)
    return with_receipt(world, spec, replace(action, proposal=replace(action.proposal, source=source)))


def _difference(approved: Preview | None, now: Preview) -> str:
    """What is not as it was: the one thing that it is about, where it would still do the same with it."""
    names = {thing.name for thing in now.affected}
    same = approved is not None and names == {thing.name for thing in approved.affected}
    target = target_of(now) if same else ""
    return CHANGED.format(what=target) if target else OTHERWISE


async def _grant_applies(tx: Tx, world: World, of: tuple[Task, Step], action: Action) -> Action | None:
    """A grant is no answer where somebody has said that just this step, or every step, is to ask; nor to a further
    try of a step."""
    task, step = of
    asks = step.ask or step.attempt > 1 or plans.asks_each(task) or bool(task.plan and task.plan.stepwise)
    return None if asks else await approve_by_grant(tx, world, action)


async def _approved(tx: Tx, task: Task, action: Action) -> Action:
    """The action, approved by its requester's approval of the plan. It never waits, so no card asks for it."""
    assert task.plan is not None
    stored = await tx.insert(action)
    if stored.receipt != action.receipt:
        return stored
    await record_proposed(tx, action)
    await tx.vote(Vote(action.id, action.version, task.requester, True, await tx.now()))
    return await approve(tx, stored, task.requester, f"by approval of plan version {task.plan.approved}")


async def store_begun_step(tx: Tx, task: Task, step: Step, action: Action) -> Task:
    """Write down which action a step is now."""
    run, output = replace(step.run, action=action.id), replace(step.output, text="")
    asked = replace(judged(step, action.private), state=StepState.ASKED, run=run, output=output)
    seen = replace(step.preflight, cls=action.cls, verdict=action.verdict)
    if action.private:
        asked = replace(asked, title=step.title.strip() or tool_in_words(action.name))
    elif step.origin is not None:
        seen = replace(seen, preview=action.preview)
        asked = replace(asked, title=action.preview.summary, preflight=seen)
    else:
        seal = plans.step_seal(action) if plans.is_coverable(action) else ""
        asked = replace(asked, preflight=replace(seen, preview=action.preview, seal=seal))
    return await update_step(tx, task, asked, "step_begun", plans.step_sentence(asked))


class StepNotCurrent(Exception):
    """A step does not wait for an action any more, nor for one that asks it again."""


def step_renewer(old: Action) -> Write:
    """Writes down a fresh preview of a step's action, in place of the one before. Raises MovedOn."""

    async def write(world: World, action: Action) -> Action | None:
        async with world.ledger.begin() as tx:
            task = await tx.task(old.task)
            step = step_of(task.plan, old.step) if task else None
            if task is None or step is None or not may_become(task, step, old.id):
                raise StepNotCurrent
            if await has_too_many_pending(tx, world, action):
                return None
            stored = await insert_pending(tx, action)
            await store_begun_step(tx, task, step, stored)
        return stored

    return write


def is_current(task: Task | None, step_id: str, action_id: str) -> bool:
    """Whether this action is still what its step waits for: an ended task, and a step that is over or was begun
    anew, start nothing."""
    step = step_of(task.plan, step_id) if task else None
    return (
        task is not None and step is not None and not step.is_finished and may_become(task, step, action_id)
    )


def may_become(task: Task, step: Step, action_id: str) -> bool:
    """Whether a step could still become the action that asks this one again: what did not go through in a reply is
    over for its planner, and yet may be asked again while its task runs."""
    open_ = task.state in (TaskState.RUNNING, TaskState.PAUSED)
    done = step.state in (StepState.DONE, StepState.SKIPPED)
    return open_ and not done and step.action == action_id


async def withdraw_action(tx: Tx, step: Step | None, user: str, why: str) -> Action | None:
    """The action of a step as it now stands, cancelled where it has not started yet. Raises Stale."""
    action = await tx.action(step.action) if step and step.action else None
    if action is None or action.state not in WAITS:
        return action
    if action.state is State.PREPARED and action.expires_at <= await tx.now():
        return action  # nobody can confirm it any more: it expires in a moment
    return await end_pending(tx, action, Event.CANCEL, user, why, own=True)


def under_way(tx: Tx, task: Task, action: Action | None) -> PressResult | None:
    """Why the step of this action cannot begin anew, or go, at the moment: it runs, or what became of it is not written
    down in its task yet, which a run is asked for. None where it can."""
    if action is None:
        return None
    if action.state is State.EXECUTING:
        return PressResult(False, "busy", BUSY, task=task)
    is_unknown = action.state is State.UNKNOWN and task.why not in FAILURE_REASONS
    if not is_unknown and (action.state not in AWAY or task.why is PauseReason.DOUBT):
        return None
    tx.enqueue(jobs.task(task.id, f"{action.id}:{action.state}:{task.revision}"))
    return PressResult(False, "late", STEP_UNKNOWN if is_unknown else STEP_SUCCEEDED, task=task)


def with_try(step: Step, action: Action | None) -> Step:
    """The step that is to begin anew, or to go, with a note of the try that this was, where it may have changed
    something."""
    if action is None:
        return step
    tries = [one for one in step.run.tries if one.action != action.id]
    if action.state in MAY_HAVE_RUN and action.cls is not CallClass.READ:
        tries.append(Try(action.id, action.name))
    return replace(step, run=replace(step.run, tries=tuple(tries)))


async def withdraw_begun(tx: Tx, task: Task, user: str, why: str) -> Task | PressResult:
    """Withdraw all that waits of a plan whose steps are to begin anew: the task with a note of what ran of them. Why
    one of them cannot, as `under_way`, and then all stays. Raises Stale."""
    begun = [step for step in task.plan.steps if step.action and not step.is_finished] if task.plan else []
    for step in begun:
        if late := under_way(tx, task, await tx.action(step.action)):
            return late
    for step in begun:
        task = with_step(task, with_try(step, await withdraw_action(tx, step, user, why)))
    return task


async def supersede_pending(tx: Tx, task: Task, user: str) -> tuple[Task, tuple[Action, ...]]:
    """Withdraw what waits of a reply, as its requester has asked for something else; the task, and what was."""
    gone = []
    plan = task.plan or Plan(0, ())
    for step in (one for one in plan.begun if one.origin):
        action = await tx.action(step.action)
        if action is not None and action.state is State.PREPARED:
            resolution = replace(action.resolution, by=user, reason=SUPERSEDED, own=True)
            moved = await tx.move(action, Event.SUPERSEDE, resolution=resolution)
            tx.audit(
                audit_entry(
                    "superseded",
                    moved,
                    user,
                    status="rejected_by_user",
                    outcome="superseded",
                    note=SUPERSEDED,
                )
            )
            notify_ended(tx, moved)
            gone.append(moved)
            output = replace(step.output, text=SUPERSEDED)
            task = with_step(task, replace(step, state=StepState.SKIPPED, output=output))
    now = await tx.update_task(task, plan=task.plan) if gone else task
    return now, tuple(gone)


def step_done(plan: Plan, step: Step, action: Action) -> Step:
    """The step, done: with what really ran, where somebody edited it and everybody may know it."""
    outcome = released(action)
    if action.edited_by and not action.private:
        call = replace(step.call, args=stored_args(action.args), refs={})
        step = replace(step, call=call, preflight=replace(step.preflight, preview=action.preview))
    text, structured = (outcome.text, outcome.structured) if outcome else ("", None)
    ran = replace(judged(step, action.private), run=replace(step.run, action=action.id))
    done = plans.with_result(plan, ran, text, structured)
    return replace(done, output=replace(done.output, text=PRIVATE)) if action.private else done


def failure_text(plan: Plan, step: Step, action: Action) -> tuple[PauseReason, str]:
    """Why a task has to wait after what became of a step's action, in a sentence. It begins with whoever decided on it,
    as a mention, where somebody did."""
    if action.state is State.EXPIRED:
        return PauseReason.LAPSED, f"Nobody decided on step {plans.place(plan, step)} in time."
    label = plans.label(plan, step)
    if action.state in (State.CANCELLED, State.REJECTED) and action.decided_by and not action.resolution.own:
        label = label.replace("Step", "step", 1) if plan.version else label
        return PauseReason.STEP, f"<@{action.decided_by}> {action.state} {label}{_reason(action)}"
    return PauseReason.STEP, f"{label} {_what_became(action)}"


def failed_step(plan: Plan, step: Step, action: Action) -> Step:
    """The step, failed because of that. Nothing is begun anew of a reply, so a step of one keeps a note of its try."""
    step = judged(step, action.private)
    step = with_try(step, action) if step.origin else step
    text = failure_text(plan, step, action)[1]
    said = f"It was {action.state}{_reason(action)}"
    return plans.with_failure(step, said if text.startswith("<@") else text)


def with_adviser(plan: Plan, action: Action) -> Plan:
    """The plan, with who has said something about what became of this."""
    return plans.with_advisers(plan, advisers.of_action(action.resolution, action.result_review))


def _reason(action: Action) -> str:
    """Why a person decided so, as the end of a sentence; of what is confidential, nothing: a task and its record are
    read by many."""
    return f": {action.decision}" if action.decision and not is_confidential(action) else "."


async def settle_unknown_steps(world: World, task: Task) -> bool:
    """Take over what a person has said since of a call of a reply whose outcome was unknown: its step counts as failed
    from then on, whether it happened or not. True where something was written."""
    for step in task.plan.steps if task.plan else ():
        if step.origin is None or step.state is not StepState.FAILED or step.ran or not step.action:
            continue
        action = await world.ledger.action(step.action)
        now = _settled(task, step, action) if action else step
        if action and now != step:
            async with world.ledger.begin() as tx:
                locked = await lock_unchanged(tx, task)
                locked = replace(locked, plan=with_adviser(task.plan, action)) if task.plan else locked
                await update_step(tx, locked, now, "step_settled", now.text)
            return True
    return False


def _settled(task: Task, step: Step, action: Action) -> Step:
    assert task.plan is not None
    rejected = action.judged is not None and not action.judged.kept
    if action.state in WENT_WELL and not action.under_review and not rejected:
        return step_done(task.plan, step, action)
    if action.state is State.FAILED:
        return failed_step(task.plan, step, action)
    return step


def _what_became(action: Action) -> str:
    text = SAID_ALONE if is_confidential(action) else action.outcome.text if action.outcome else ""
    if action.judged is not None and not action.judged.kept:
        return "was done, and its result was rejected."
    if action.state is State.FAILED:
        return f"failed: {text}"
    if action.state is State.UNKNOWN:
        return f"may have run or not: {text} Please look there, and say on its card what became of it."
    if action.state is State.UNDONE:
        return "was done, and taken back since."
    if is_confidential(action):
        return "was called off."
    if action.decided_by:
        return f"was called off. {action.decision}."
    return f"was called off. {action.decision} Its card asks again where that is possible."
