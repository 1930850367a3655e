"""How things stand, and the words of a conversation with their button."""

from dataclasses import replace

import pytest

from gate.rules.ports import Note
from gate.rules.task import Flow, StepState, StopRequest, Usage
from gate.rules.task_states import TaskState
from tests.tasks import having
from tests.views.samples import action, buttons, parts, sent, shown
from tests.views.task_samples import WHICH, approved, paused, plan, reading, said, step, task
from views import notices
from views.notices import status

S = TaskState


def told(of, *waiting):
    return shown(sent(status(of, waiting)).blocks)


def note(kind, of, **body):
    return sent(notices.message(Note("n", task().session, kind, {"task": "t", **body}), task=of))


def test_the_state_the_step_what_waits_for_whom_and_the_cost_are_told():
    running = approved(replace(reading(), state=StepState.DONE), step(state=StepState.ASKED), step("c"))
    of = task(S.RUNNING, plan=running, instructions=(said("hurry"),), usage=Usage(3, 12_345, 678))
    assert told(of, action(task=of.id)).split("\n") == [
        "Working: Archive the reports and delete the drafts",
        "Step 2 of 3: Move reports/q3.md to archive/q3.md",
        "Move reports/q3.md to archive/q3.md",
        "Waits for <@UANA>.",
        "Mode `auto`: goes on by itself where it is sure. 1 instruction waits for the next step. The model was asked 3 times: 12,345 tokens in, 678 out.",
    ]


def test_actions_of_other_tasks_of_the_thread_are_left_out():
    assert "Move reports" not in told(task(S.RUNNING, plan=approved()), action(task="another"))


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (task(S.CLARIFYING), "Looking at the request: "),
        (task(S.CLARIFYING, questions=(WHICH,)), "Waits for <@UANA> to answer the questions."),
        (task(S.PLANNING), "Making a plan: "),
        (task(plan=plan()), "Waits for <@UANA> to decide on the plan."),
        (paused(), "Paused, as asked: "),
        (paused(), "Waits for <@UANA> to say how it goes on."),
        (
            task(S.RUNNING, plan=approved(), wish=StopRequest.STOP),
            "Stopping as soon as the current step is over…",
        ),
        (task(S.SATISFACTION, ends=2, attempts=2), "Attempt 2."),
        (task(S.DONE, plan=approved(replace(step(), state=StepState.DONE))), "1 of 1 step over."),
        (task(S.TALKING, flow=Flow.TALK), "Waits for <@UANA> to say more"),
    ],
)
def test_each_state_says_what_it_waits_for(of, words):
    assert words in told(of)


def test_without_a_task_it_says_that_nothing_is_under_way():
    assert told(None) == "Nothing is under way in this thread."
    assert "nothing" in note("status", None).text.lower()


# promise: TASK-24
def test_words_of_a_conversation_carry_implement_now_while_it_is_talked_about():
    talking = task(S.TALKING, flow=Flow.TALK, attempts=3)
    made = note("talk", talking, text="Which login?\n`oauth` or not?")
    assert made.text.startswith("Which login?")
    (press,) = parts(made.blocks, "button")
    assert (press["action_id"], press["value"]) == ("task_implement", f"{talking.id}.3.0")
    off = replace(talking.switches, allow_execution_transition=False)
    for other in (
        None,
        having(talking, requirements=("x",)),
        replace(talking, state=S.PLANNING),
        having(talking, switches=off),
    ):
        assert buttons(note("talk", other, text="Which login?").blocks) == []
