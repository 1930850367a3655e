"""Tasks to draw: one in every state, with plans of every kind of step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate.rules.action import Affected, CallClass, Fact, Preview, Session, Verdict
from gate.rules.settings import Switches
from gate.rules.task import (
    Assessment,
    Flow,
    Instruction,
    Missing,
    PauseReason,
    Plan,
    Question,
    SettledPoint,
    Step,
    StepState,
    Task,
)
from gate.rules.task_states import TaskState
from tests.tasks import having, step_of, task_of
from tests.views.samples import DELETE, MOVE, NOW

S = TaskState
SEAL = "cd" * 32
WHICH = Question("which", "Which folder?", Missing.INPUTS, ("archive", "old"), "archive")
WHEN = Question("when", "Since when?", Missing.CONSTRAINTS, (), "this year")
WHY = Question("why", "What is it for?", Missing.PURPOSE)
DECIDED = (
    SettledPoint("which", "Which folder?", "old", "UANA"),
    SettledPoint("when", "Since when?", "this year", ""),
)
READ = Preview("List reports", "List", (Fact("path", "reports"),))


def step(id: str = "a", preview: Preview | None = MOVE, **changes: Any) -> Step:
    made = step_of(
        id=id,
        title=f"The planner calls this {id}",
        server="filesystem",
        tool="move_file",
        args={"source": "reports/q3.md", "destination": "archive/q3.md"},
        cls=CallClass.WRITE,
        verdict=Verdict.CONFIRM,
        preview=preview,
        rules="01" * 32,
        seal="ef" * 32 if preview else "",
    )
    return having(made, **changes)


def reading(id: str = "r") -> Step:
    return step(id, READ, cls=CallClass.READ, verdict=Verdict.RUN, seal="")


def destroying(id: str = "d") -> Step:
    return step(id, DELETE, tool="delete_file", cls=CallClass.DESTRUCTIVE, verdict=Verdict.TYPED, seal="")


def unknown(id: str = "u") -> Step:
    """A step that waits for the result of another one."""
    refs = {"trash_id": "{steps.d.trash_id}"}
    return step(id, None, tool="restore", args={"deep": True}, refs=refs)


def plan(*steps: Step, **changes: Any) -> Plan:
    made = Plan(1, steps or (reading(), step(), destroying(), unknown()), SEAL, "Reads first, then moves.")
    return having(made, **changes)


def approved(*steps: Step, **changes: Any) -> Plan:
    return plan(*steps, approved_by="UANA", **changes)


def long_plan(count: int = 30) -> Plan:
    def moving(n: int) -> Preview:
        facts = (Fact("destination", f"archive/2026/report-{n}.md"), Fact("source", f"reports/report-{n}.md"))
        return replace(MOVE, summary=f"Move reports/report-{n}.md to archive/2026/report-{n}.md", facts=facts)

    return plan(*(step(f"s{n}", moving(n)) for n in range(1, count + 1)))


def huge(id: str = "h", size: int = 60_000) -> Step:
    """A step with more in it than a card can show."""
    told = replace(
        MOVE, summary="Write long.md", facts=(Fact("content", "x" * size), Fact("path", "long.md"))
    )
    return step(id, told)


def task(state: TaskState = S.PLAN_REVIEW, **changes: Any) -> Task:
    made = task_of(
        id="7d3f0c6e5b1a4f2d9e8c7b6a5f4e3d2c",
        revision=3,
        state=state,
        session=Session("T1", "C1", "1.1"),
        requester="UANA",
        text="Archive the reports and delete the drafts",
        switches=Switches(),
        created_at=NOW,
        since=NOW,
        flow=Flow.PLAN,
        assessment=Assessment(60, 4, reason="several files"),
    )
    return having(made, **changes)


def paused(why: PauseReason = PauseReason.WISH, **changes: Any) -> Task:
    steps = (
        reading(),
        step(state=StepState.DONE, consent="ef" * 32),
        step("f", state=StepState.FAILED, text="no such file") if why is PauseReason.STEP else step("n"),
        unknown(),
    )
    given = {"why": why, "reason": "The file is gone.", "pauses": 1, "plan": approved(*steps)}
    return task(S.PAUSED, **{**given, **changes})


def said(text: str, used: str = "") -> Instruction:
    return Instruction("i", "UANA", text, NOW, used)


def everything(state: TaskState) -> Task:
    """A task with all that it can have, in this state."""
    steps = (
        reading(),
        step(state=StepState.DONE, consent="ef" * 32, text="Moved"),
        step("b", state=StepState.ASKED),
        step("c", state=StepState.ASKED, consent="ef" * 32),
        step("f", state=StepState.FAILED, text="no such file"),
        step("s", state=StepState.SKIPPED),
        step("t", note="mind the umlauts", ask=True, problem="I could not look at it."),
        destroying(),
        unknown(),
        huge(),
    )
    return task(
        state,
        plan=approved(*steps, version=2),
        questions=(WHICH, WHEN, WHY),
        asked=2,
        decided=DECIDED,
        requirements=("Sign in with Google", "Keep it short"),
        because="they wrote “build it”",
        why=PauseReason.STEP if state is S.PAUSED else PauseReason.NONE,
        reason="The file is gone.",
        pauses=2,
        ends=2,
        attempts=2,
        instructions=(said("not the PDFs", "before step 2"), said("and be quick")),
        result="2 done, 1 failed",
        ended_by="UBEN",
    )


AFFECTED = Affected("q3-draft.md", 4100, "file")
