"""The words about tasks: what state they are in, how each step stands, and who did what."""

from __future__ import annotations

from gate.rules.action import Class, Verdict
from gate.rules.settings import Switches
from gate.rules.task import Plan, Step, StepState, Task, Usage, Why
from gate.rules.task_states import TaskState
from views.block_kit import mention

S = TaskState
STATES = {
    S.TALKING: "Talking it over",
    S.CLARIFYING: "Looking at the request",
    S.PLANNING: "Making a plan",
    S.PLAN_REVIEW: "The plan waits for a decision",
    S.RUNNING: "Working",
    S.PAUSED: "Paused",
    S.SATISFACTION: "Finished",
    S.DONE: "Done",
    S.CANCELLED: "Cancelled",
    S.STOPPED_BY_USER: "Stopped",
    S.FAILED: "Failed",
}
KINDS = {
    Class.READ: "reads only",
    Class.WRITE: "changes something",
    Class.DESTRUCTIVE: "destructive",
    Class.UNKNOWN: "not reviewed by an operator",
}
WHY = {
    Why.NONE: "Paused",
    Why.WISH: "Paused, as asked",
    Why.STEP: "Paused: a step did not go through",
    Why.LAPSED: "Paused: nobody decided in time",
    Why.REVIEW: "Paused for a look at what was done",
    Why.SUMMARY: "A step is done, and the next one begins in a moment",
    Why.DOUBT: "Paused: a step ran, and its result is not trusted",
}


MODES = {
    "auto": "goes on by itself where it is sure",
    "manual": "waits for a person after each step",
    "confidence_threshold": "goes on at a confidence of {least:.2f} or more",
}


def mode(switches: Switches) -> str:
    """How it goes on after a step, in one of our sentences' parts: ``mode `auto`: goes on …``."""
    told = MODES[switches.approval_mode].format(least=switches.confidence)
    return f"mode `{switches.approval_mode}`: {told}"


def looked_at(task: Task, pause: int) -> Step | None:
    """The step whose result stands on this pause card."""
    steps = task.plan.steps if task.plan else ()
    return next((step for step in steps if step.shown == pause), None)


def state(task: Task) -> str:
    """Where the task stands, in a few words."""
    if task.state is S.CLARIFYING and task.questions:
        return "Waiting for answers"
    return WHY[task.why] if task.state is S.PAUSED else STATES[task.state]


def ended(task: Task) -> str:
    """How an open end came about, in one of our sentences: `Stopped by @ann.`"""
    by = f" by {mention(task.ended_by)}" if task.ended_by else ""
    return f"{STATES[task.state]}{by}."


def number(plan: Plan, step: Step) -> int:
    """Its place in the order that people see, from 1."""
    return next((i for i, one in enumerate(plan.steps, 1) if one.id == step.id), 0)


def counted(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"


def waits(step: Step) -> bool:
    """Whether a step that has begun waits for a person: what was approved, and what only reads, runs."""
    consented = bool(step.preflight.seal) and step.consent == step.preflight.seal
    return step.state is StepState.ASKED and step.verdict is not Verdict.RUN and not consented


def mark(step: Step) -> tuple[str, str]:
    """An emoji's name, and the words for how a step stands; "" where the emoji says it all."""
    if step.state is StepState.ASKED:
        return ("raised_hand", "waits for a decision") if waits(step) else ("arrow_forward", "running")
    return {
        StepState.WAITING: ("white_circle", ""),
        StepState.DONE: ("white_check_mark", ""),
        StepState.FAILED: ("x", "did not go through"),
        StepState.SKIPPED: ("no_entry_sign", "skipped"),
    }[step.state]


def spent(usage: Usage) -> str:
    """What the model cost, in one of our sentences; "" where no model was asked."""
    if not usage.requests:
        return ""
    asked = counted(usage.requests, "time")
    return f"The model was asked {asked}: {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out."
