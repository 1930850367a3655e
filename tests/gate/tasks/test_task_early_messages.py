"""A message written before a card was there decides nothing about what that card shows, whatever it says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gate.rules.planner_port import Call, Propose, Say
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment, Missing, PauseReason, Question, StopRequest, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import control, step_review
from gate.tasks.early_messages import UNSEEN
from gate.tasks.plain_words import ELSEWHERE
from gate.tasks.steer import ON_CARD, PAUSED_SINCE
from tests.gate.gate_setup import BEN, Scene
from tests.gate.plan_setup import (
    approved,
    confirmed,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    shred,
    write,
    wrote,
)

EARLY = "1700000000.000001"  # after the request, before any card
LATER = "4100000001.000000"
GOES_ON = ["yes", "ok", "go ahead", "continue", "go on", "Resume!", "retry", "skip", "and use b.md"]
FILE = Question("file", "Which file?", Missing.INPUTS)
PLACE = Question("place", "Where to?", Missing.OUTPUTS)
Pause = Callable[[Scene], Awaitable[Task]]


@pytest.fixture(params=["phrases", "model"])
def played(request: pytest.FixtureRequest, stage: Scene) -> Scene:
    """The scene with a planner that hears what is said meanwhile, as a model does, and with one that does not."""
    stage.planner.follows = request.param == "model"
    return stage


async def by_operator(stage: Scene) -> Task:
    """The operator wants the result of a read reviewed."""
    reviews = (Review("look at it", Phase.AFTER, tools=("desk.look",)),)
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    stage.desk.notes["a.md"] = "x"
    return await approved(stage, await planned(stage, look("a.md"), write("b.md")))


async def by_manual_mode(stage: Scene) -> Task:
    stage.desk.notes["a.md"] = "x"
    return await approved(stage, await planned(stage, look("a.md"), write("b.md"), approval_mode="manual"))


async def by_review_of_steps(stage: Scene) -> Task:
    return await approved(stage, await planned(stage, write("a.md"), write("b.md"), review="after_step"))


async def by_a_failure(stage: Scene) -> Task:
    stage.desk.behave = "says no"
    return await approved(stage, await planned(stage, write("a.md"), write("b.md")))


async def by_an_unknown_outcome(stage: Scene) -> Task:
    stage.desk.behave = "breaks the line"
    return await approved(stage, await planned(stage, write("a.md"), write("b.md")))


async def by_a_lapsed_card(stage: Scene) -> Task:
    await approved(stage, await planned(stage, shred("a.md"), write("b.md")))
    stage.travel(301)
    await stage.play(timers=True)
    return await only(stage)


async def by_a_wish(stage: Scene) -> Task:
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    await pressed(stage, control.pause, on_plan(task))
    return await only(stage)


async def by_doubt(stage: Scene) -> Task:
    """What a step gave was rejected, and its step counts as failed."""
    task = await by_review_of_steps(stage)
    await pressed(stage, step_review.reject_output, on_pause(task))
    return await only(stage)


async def for_a_moment(stage: Scene) -> Task:
    """A result that is shown, with which it goes on by itself in a moment."""
    stage.world = replace(stage.world, limits=replace(stage.world.limits, proceed=60))
    stage.desk.read_nothing_back()
    return await approved(stage, await planned(stage, write("a.md"), write("b.md")))


PAUSES = {
    by_operator: PauseReason.REVIEW,
    by_manual_mode: PauseReason.REVIEW,
    by_review_of_steps: PauseReason.REVIEW,
    by_a_failure: PauseReason.STEP,
    by_an_unknown_outcome: PauseReason.STEP,
    by_a_lapsed_card: PauseReason.LAPSED,
    by_a_wish: PauseReason.WISH,
    by_doubt: PauseReason.DOUBT,
    for_a_moment: PauseReason.SUMMARY,
}


async def paused(stage: Scene, pause: Pause) -> Task:
    task = await pause(stage)
    stage.desk.behave = "well"
    assert (task.state, task.why) == (S.PAUSED, PAUSES[pause])
    return task


@pytest.mark.slow(but=5)
@pytest.mark.parametrize("pause", PAUSES)
async def test_an_early_word_lets_no_pause_go_on(played: Scene, pause: Pause):
    task = await paused(played, pause)
    done = wrote(played)
    for number, word in enumerate(GOES_ON, 1):
        await played.say(word, ts=f"1700000000.00000{number}", mentioned=False)
        now = await only(played)
        assert (now.state, now.why, now.plan) == (S.PAUSED, task.why, task.plan), word
        assert played.texts[-1] in (UNSEEN, ON_CARD), word
    assert (now.instructions, wrote(played)) == (task.instructions, done)
    assert played.texts[-len(GOES_ON)] == UNSEEN


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("pause", [pause for pause in PAUSES if pause is not by_a_wish])
async def test_a_yes_that_comes_after_the_card_lets_a_pause_go_on(played: Scene, pause: Pause):
    task = await paused(played, pause)
    await played.say("yes", ts=LATER, mentioned=False)
    assert (await only(played)).state in (S.RUNNING, S.PAUSED, S.SATISFACTION)
    assert (await only(played)).plan != task.plan
    assert UNSEEN not in played.texts


async def test_a_yes_decides_nothing_where_a_pause_and_the_card_of_its_step_wait(played: Scene):
    task = await paused(played, by_a_wish)
    await played.say("yes", ts=LATER, mentioned=False)
    assert ((await only(played)).plan, played.texts[-1]) == (task.plan, ELSEWHERE)


async def test_a_word_without_a_time_comes_after_every_card_for_years(stage: Scene):
    stage.travel(10 * 365 * 86_400)
    await planned(stage, write("a.md"), write("b.md"))
    await stage.say("yes", mentioned=False)
    assert wrote(stage) == ["a.md", "b.md"]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["stop", "abort", "cancel", "no", "Stop it!"])
async def test_a_stop_counts_whenever_it_was_written(played: Scene, word: str):
    await paused(played, by_operator)
    await played.say(word, ts=EARLY, mentioned=False)
    assert ((await only(played)).state, wrote(played)) == (S.STOPPED_BY_USER, [])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["hold", "wait"])
async def test_a_hold_counts_whenever_it_was_written(played: Scene, word: str):
    await paused(played, for_a_moment)
    await played.say(word, ts=EARLY, mentioned=False)
    assert ((await only(played)).state, (await only(played)).why) == (S.PAUSED, PauseReason.REVIEW)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", [word for word in GOES_ON if word not in ("yes", "ok", "go ahead")])
async def test_of_what_the_operator_wants_reviewed_a_word_besides_yes_decides_nothing(
    stage: Scene, word: str
):
    task = await paused(stage, by_operator)
    await stage.say(word, ts=LATER, mentioned=False)
    assert ((await only(stage)).plan, stage.texts[-1], wrote(stage)) == (task.plan, ON_CARD, [])


@pytest.mark.parametrize("pause", [by_operator, by_a_failure])
async def test_an_early_word_of_an_admin_lets_no_pause_go_on(stage: Scene, pause: Pause):
    task = await paused(stage, pause)
    stage.world = replace(stage.world, policy=replace(stage.world.policy, admins=frozenset({BEN})))
    await stage.say("yes", user=BEN, ts=EARLY)
    assert ((await only(stage)).plan, stage.texts[-1]) == (task.plan, UNSEEN)


async def test_an_early_word_lets_the_pause_of_a_simple_request_not_go_on(stage: Scene):
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await stage.say("write it")
    await stage.say("pause", mentioned=False)
    assert (await confirmed(stage)).state is S.PAUSED
    for number, word in enumerate(("continue", "yes", "skip"), 1):
        await stage.say(word, ts=f"1700000000.00000{number}", mentioned=False)
        assert ((await only(stage)).state, stage.texts[-1]) == (S.PAUSED, UNSEEN)
    await stage.say("continue", ts=LATER, mentioned=False)
    assert (await only(stage)).state is not S.PAUSED


async def test_only_a_continue_written_after_a_pause_was_asked_for_takes_it_back(played: Scene):
    played.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await played.say("write it")
    await played.say("pause", mentioned=False)
    assert ((await only(played)).state, (await only(played)).wish) == (S.RUNNING, StopRequest.PAUSE)
    await played.say("continue", ts=EARLY, mentioned=False)
    assert ((await only(played)).wish, played.texts[-1]) == (StopRequest.PAUSE, PAUSED_SINCE)
    await played.say("continue", ts=LATER, mentioned=False)
    assert ((await only(played)).wish, played.texts[-1]) == (StopRequest.NONE, control.PAUSE_WITHDRAWN)


# What else a word may decide


async def test_an_early_word_approves_no_plan(played: Scene):
    task = await planned(played, write("a.md"), write("b.md"))
    await played.say("yes", ts=EARLY, mentioned=False)
    assert ((await only(played)).plan, played.texts[-1], wrote(played)) == (task.plan, UNSEEN, [])


async def test_an_early_word_answers_no_question(played: Scene):
    played.planner.assessments = [Assessment(20, 1, (Missing.INPUTS,), (FILE, PLACE))]
    await played.say("move it")
    for number, word in enumerate(("ok", "all of them", "continue"), 1):
        await played.say(word, ts=f"1700000000.00000{number}", mentioned=False)
        task = await only(played)
        assert (task.state, task.questions, task.decided, played.texts[-1]) == (
            S.CLARIFYING,
            (FILE, PLACE),
            (),
            UNSEEN,
        )


async def test_two_messages_to_one_card_answer_two_questions(played: Scene):
    """The second may be written before the first is read, and the card drawn without its question."""
    played.planner.assessments = [Assessment(20, 1, (Missing.INPUTS,), (FILE, PLACE))]
    played.planner.script = [Say("Moved.")]
    await played.say("move it")
    task = await only(played)
    since = await played.ledger.posted(f"{task.id}:question:1")
    assert since is not None
    await played.say("a.md", ts=LATER, mentioned=False)
    await played.say("archive", ts=f"{since.ts[:-1]}1", mentioned=False)
    assert [one.answer for one in (await only(played)).decided] == ["a.md", "archive"]


async def test_an_early_no_still_cancels_a_plan_and_a_question(played: Scene):
    played.planner.assessments = [Assessment(20, 1, (Missing.INPUTS,), (FILE,))]
    await played.say("move it")
    await played.say("cancel", ts=EARLY, mentioned=False)
    assert (await only(played)).state is S.CANCELLED


async def finished(stage: Scene) -> Task:
    """A plan that has run to its end, and asks whether that was it."""
    return await approved(stage, await planned(stage, write("a.md"), write("b.md")))


async def finished_simple(stage: Scene) -> Task:
    """A request that asks so on the card of its one change."""
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await stage.say("write it")
    return await confirmed(stage)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("end", [finished, finished_simple])
async def test_an_early_word_judges_no_result(played: Scene, end: Pause):
    task = await end(played)
    assert (task.state, bool(task.asked_on)) == (S.SATISFACTION, end is finished_simple)
    done = wrote(played)
    for number, word in enumerate(("yes", "skip", "call it c.md instead", "start over"), 1):
        await played.say(word, ts=f"1700000000.00000{number}", mentioned=False)
        now = await only(played)
        assert (now.state, now.revision, played.texts[-1]) == (S.SATISFACTION, task.revision, UNSEEN), word
    said = len(played.texts)
    await played.say("thanks!", ts="1700000000.000009", mentioned=False)  # needs no answer
    assert ((await only(played)).state, len(played.texts), wrote(played)) == (S.SATISFACTION, said, done)
    await played.say("thanks!", ts=LATER, mentioned=False)
    assert (await only(played)).state is S.DONE


async def test_a_request_that_mentions_the_bot_is_none_of_the_result_before(played: Scene):
    await finished_simple(played)
    played.planner.script = [Say("Hello.")]
    await played.say("say hello", ts=EARLY)
    assert [task.state for task in await played.ledger.tasks_of(played.session)] == [S.DONE, S.SATISFACTION]
