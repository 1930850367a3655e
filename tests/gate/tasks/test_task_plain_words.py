"""A plain word decides nothing about a task where it may be meant for something else that waits in the thread."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from gate.actions import edit
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.planner_port import Call, Implement, Incoming, Propose, Say
from gate.rules.policy import Rule
from gate.rules.ports import Note, Posted
from gate.rules.reviews import Phase
from gate.rules.settings import Switches
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.sentences.build_intent import intent
from gate.sentences.feedback import classify_feedback, is_thanks
from gate.sentences.thread_commands import YES, is_yes
from gate.tasks import control, inbox
from gate.tasks import plan as flow
from gate.tasks.plain_words import AMBIGUOUS, DOUBTFUL, ELSEWHERE, TO_WHOM
from gate.tasks.steer import DECIDE, STILL_PAUSED
from tests.gate.gate_setup import ANN, BEN, CHANNEL, CLEO, TEAM, Scene
from tests.gate.plan_setup import MANY, approved, on_plan, planned, proposes, waiting, write
from tests.gate.tasks.test_task_step_review import reviewing
from tests.storage.test_ledger_questions import question

# A model may ask for any of them. These stand for all: each other one is heard as one of these, here and elsewhere.
YESES = ("yes", "confirm", "go ahead")
CHANGE = Propose((Call("desk", "write", {"path": "own.md", "content": "mine"}),))
PLAN = proposes(write("a.md"), write("b.md"))


async def newest(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


async def beside_a_plan(stage: Scene) -> Task:
    """A plan that waits, asked for while the card of something else of theirs did."""
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    stage.planner.assessments, stage.planner.script = [MANY], [PLAN]
    await stage.say("and tidy up")
    task = await newest(stage)
    assert task.state is S.PLAN_REVIEW
    return task


def test_what_stands_for_every_yes_is_heard_as_all_of_them_are() -> None:
    def heard(words: Iterable[str]) -> set[tuple[object, ...]]:
        return {(is_thanks(word), classify_feedback(word), intent(word).kind) for word in words}

    assert heard(YESES) == heard(YES)
    assert all(map(is_yes, YES))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["continue", "go on", "retry", "skip", "and use b.md"])
async def test_no_word_lets_a_plan_go_on_while_another_card_waits(stage: Scene, word: str) -> None:
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    assert task.state is S.PAUSED
    card = await stage.prepare(path="own.md", content="mine")
    calls = list(stage.desk.calls)
    await stage.say(word, mentioned=False)
    assert ((await newest(stage)).state, stage.texts[-1], stage.desk.calls) == (S.PAUSED, ELSEWHERE, calls)
    assert (await stage.now(card.id)).state is State.PREPARED


async def test_a_yes_approves_no_plan_while_another_card_waits(stage: Scene) -> None:
    task = await beside_a_plan(stage)
    await stage.say("yes", mentioned=False)
    assert ((await newest(stage)).plan, stage.texts[-1], stage.desk.calls) == (task.plan, ELSEWHERE, [])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_after_a_result_approves_no_plan_that_stood_there_before(stage: Scene, word: str) -> None:
    await beside_a_plan(stage)
    await stage.confirm(await waiting(stage))
    await stage.play()
    calls = list(stage.desk.calls)
    await stage.say(word, mentioned=False)
    assert ((await newest(stage)).state, stage.texts[-1]) == (S.PLAN_REVIEW, AMBIGUOUS)
    assert stage.desk.calls == calls


async def test_ok_approves_a_plan_whose_card_came_after_the_result(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.confirm(await waiting(stage))
    await stage.play()
    stage.planner.assessments, stage.planner.script = [MANY], [PLAN]
    await stage.say("and tidy up")
    # The stage's clock is behind that of the database, by which the result was shown.
    now = time.time()
    await stage.ledger.set_posted(
        f"{(await newest(stage)).id}:plan:1", Posted(CHANNEL, f"{now + 60:.6f}", 99)
    )
    await stage.say("ok", mentioned=False, ts=f"{now + 120:.6f}")
    assert len(stage.desk.calls) > 1


TWO = Propose(
    (
        Call("desk", "write", {"path": "a.md", "content": "1"}),
        Call("desk", "write", {"path": "b.md", "content": "2"}),
    )
)


def later() -> str:
    """A timestamp after all that the database has stamped by its own clock, which the stage's is behind."""
    return f"{time.time() + 60:.6f}"


async def paused(stage: Scene) -> Task:
    """A plan of three steps that was approved as a whole, and paused before the first."""
    task = await planned(stage, write("a.md"), write("b.md"), write("c.md"))
    await flow.approve_all(stage.world, on_plan(task))
    await control.pause(stage.world, on_plan(await newest(stage)))
    await stage.play()
    task = await newest(stage)
    assert (task.state, task.plan is not None, stage.desk.notes) == (S.PAUSED, True, {})
    return task


async def nothing_comes_of(stage: Scene, word: str, why: str, mentioned: bool = False, ts: str = "") -> None:
    """The word, said in the thread, runs nothing, and its person is told why."""
    calls = [call for call in stage.desk.calls if call[0] == "write"]
    await stage.say(word, mentioned=mentioned, ts=ts)
    assert stage.texts[-1] == why
    assert [call for call in stage.desk.calls if call[0] == "write"] == calls


async def test_a_yes_to_a_pause_is_none_to_another_change_of_the_task(stage: Scene) -> None:
    stage.planner.script = [TWO]
    await stage.say("write both")
    await stage.say("mode manual")
    first, _ = await stage.ledger.pending(TEAM)
    await stage.confirm(first)
    await stage.play()
    assert (await newest(stage)).state is S.PAUSED
    await nothing_comes_of(stage, "yes", ELSEWHERE)


async def test_a_yes_is_none_to_a_card_while_a_result_waits_for_its_release(stage: Scene) -> None:
    await stage.prepare(path="b.md", content="2")
    reviewing(stage, Phase.AFTER, "desk.look")
    stage.desk.notes["a.md"] = "secret"
    assert (await stage.now((await stage.prepare("look", path="a.md")).id)).under_review
    await nothing_comes_of(stage, "yes", ELSEWHERE, mentioned=True)


async def test_a_yes_approves_no_plan_while_a_result_waits_for_its_release(stage: Scene) -> None:
    await planned(stage, write("p.md"), write("q.md"))
    reviewing(stage, Phase.AFTER, "desk.look")
    stage.desk.notes["a.md"] = "secret"
    await stage.prepare("look", path="a.md")
    await nothing_comes_of(stage, "yes", ELSEWHERE)


@pytest.mark.parametrize("word", ["Y...", "ok..", "yes…", "ok….", "ok. . .", "y"])
async def test_what_may_begin_a_sentence_is_no_yes_to_a_card(stage: Scene, word: str) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("escribe eso")
    await nothing_comes_of(stage, word, DOUBTFUL)
    await stage.say("yes", mentioned=False)
    assert stage.desk.notes["own.md"] == "mine"


@pytest.mark.parametrize("word", ["Y...", "ok…", "y"])
async def test_what_may_begin_a_sentence_approves_no_plan_and_has_none_made_anew(
    stage: Scene, word: str
) -> None:
    task = await planned(stage, write("p.md"), write("q.md"))
    await nothing_comes_of(stage, word, DOUBTFUL)
    assert await newest(stage) == task


@pytest.mark.parametrize(("word", "mentioned"), [("y", True), ("ok.", False), ("Yes!", False)])
async def test_a_short_yes_to_the_bot_counts(stage: Scene, word: str, mentioned: bool) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.say(word, mentioned=mentioned)
    assert stage.desk.notes["own.md"] == "mine"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_to_words_of_the_model_is_none_to_a_card_above_them(stage: Scene, word: str) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    stage.planner.script = [Say(f"It is sunny. Shall I tell you about tomorrow, too? Just answer “{word}”.")]
    await stage.say("how is the weather?")
    await nothing_comes_of(stage, word, AMBIGUOUS)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_to_the_answer_of_a_read_is_none_to_a_card_above_it(stage: Scene, word: str) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    stage.desk.notes["z.md"] = "zz"
    stage.planner.script = [Propose((Call("desk", "look", {"path": "z.md"}),)), Say("It says zz.")]
    await stage.say("what is in z.md?")
    await nothing_comes_of(stage, word, AMBIGUOUS)
    assert "own.md" not in stage.desk.notes
    await stage.confirm(await waiting(stage))
    await stage.play()
    assert stage.desk.notes["own.md"] == "mine"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_to_words_of_the_model_approves_no_plan_above_them(stage: Scene, word: str) -> None:
    await planned(stage, write("p.md"), write("q.md"))
    async with stage.ledger.begin() as tx:
        await tx.note(Note("below", stage.session, "answer", {"text": f"Shall I? Just say “{word}”."}))
    await stage.play()
    await nothing_comes_of(stage, word, AMBIGUOUS, ts=later())
    assert (await newest(stage)).state is S.PLAN_REVIEW


async def test_a_yes_to_words_of_the_model_confirms_no_card_that_was_edited_since(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    action = await waiting(stage)
    stage.planner.script = [Say("It is sunny. Shall I tell you about tomorrow, too? Just answer “yes”.")]
    await stage.say("how is the weather?")
    assert (await edit.submit(stage.world, stage.press(action), {"path": "own.md", "content": "new"})).ok
    await stage.play()
    assert (await waiting(stage)).version > 1
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())


async def test_a_yes_to_words_of_the_model_confirms_no_requirements_above_them(stage: Scene) -> None:
    """The card of the requirements is drawn anew with each of them, where it stood."""
    stage.world = replace(stage.world, switches=lambda channel: Switches(conversational=True))
    stage.planner.script = [Say("Which method?"), Implement(("OAuth", "JWT"))]
    await stage.say("help me design an authentication system")
    await stage.say("implement it")
    assert (await newest(stage)).requirements
    async with stage.ledger.begin() as tx:
        await tx.note(Note("below", stage.session, "answer", {"text": "Shall I? Just say “yes”."}))
    await stage.play()
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())
    assert (await newest(stage)).state is S.TALKING


async def test_a_yes_to_a_result_confirms_no_card_that_was_edited_since(stage: Scene) -> None:
    """The result stands on a card further up, so no message is newer than the card that waits."""
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    first = await waiting(stage)
    action = await stage.prepare(path="other.md", content="1")
    await stage.confirm(first)
    await stage.play()
    assert (await newest(stage)).state is S.SATISFACTION
    assert (await edit.submit(stage.world, stage.press(action), {"path": "other.md", "content": "2"})).ok
    await stage.play()
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())


async def test_a_yes_of_somebody_else_says_nothing_of_a_private_card(stage: Scene) -> None:
    stage.rule(Rule("in private", ("desk.poke",), private=True))
    only = f"Only <@{ANN}> can confirm this."
    stage.planner.script = [Propose((Call("desk", "poke", {"at": "x"}),))]
    await stage.say("poke it")
    assert (await waiting(stage)).private
    await stage.say("yes", user=BEN, mentioned=False)
    assert only not in stage.texts
    await stage.prepare(path="own.md", content="mine")
    await stage.say("yes", user=BEN, mentioned=False)
    assert stage.texts[-1] == only


async def test_messages_of_other_threads_are_not_below_a_card(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    other = replace(stage.session, thread="1699999999.000001")
    async with stage.ledger.begin() as tx:
        await tx.note(Note("elsewhere", other, "answer", {"text": "Something else"}))
        await tx.note(Note("alone", stage.session, "answer", {"text": "For Ben alone"}, BEN))
    await stage.play()
    await stage.say("yes", mentioned=False)
    assert stage.desk.notes["own.md"] == "mine"


ASKED_BY_BEN = (
    "Please wait with that. May I finish first?",
    "Ann, are you coming to lunch?",
    "Do not confirm that",
)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("said", ASKED_BY_BEN)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_to_somebody_else_is_none_to_the_card_above(stage: Scene, said: str, word: str) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.say(said, user=BEN, mentioned=False)
    await nothing_comes_of(stage, word, TO_WHOM)
    await stage.say(word)  # to the bot
    assert stage.desk.notes == {"own.md": "mine"}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YESES)
async def test_a_yes_to_another_app_is_none_to_the_card_above(stage: Scene, word: str) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    ts = "4100000000.000000"
    await inbox.overhear(stage.world, Incoming(f"{TEAM}:{CHANNEL}:{ts}", stage.session, "app", "", ts, False))
    await nothing_comes_of(stage, word, TO_WHOM, ts="4100000001.000000")


async def test_a_yes_to_somebody_else_approves_no_plan_above(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await stage.say("This plan is wrong, please do not approve it. Shall I tell Gil?", BEN, mentioned=False)
    await nothing_comes_of(stage, "yes", TO_WHOM)
    await stage.say("yes")
    assert stage.desk.notes == {"a.md": "new", "b.md": "new"}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["continue", "go on", "yes", "the second one, Ben"])
async def test_words_to_somebody_else_let_no_paused_task_go_on(stage: Scene, word: str) -> None:
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    assert task.state is S.PAUSED
    await stage.say("Which of them do you want?", user=BEN, mentioned=False, ts=later())
    await nothing_comes_of(stage, word, TO_WHOM)
    assert (await newest(stage)).state is S.PAUSED


async def test_what_somebody_wrote_before_the_card_or_below_the_yes_leaves_it_one(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("Good morning", user=BEN, mentioned=False, ts="1500000000.000001")
    await stage.say("write it")
    await stage.say("And later?", user=BEN, mentioned=False, ts="4200000000.000000")
    await stage.say("yes", mentioned=False)
    assert stage.desk.notes == {"own.md": "mine"}


async def test_a_yes_to_somebody_else_is_none_to_a_card_that_was_edited_since(stage: Scene) -> None:
    now = time.time()
    stage.planner.script = [CHANGE]
    await stage.say("write it", ts=f"{now - 200:.6f}")
    asked = await waiting(stage)
    await stage.say("Ann, are you coming to lunch?", user=BEN, mentioned=False, ts=f"{now - 50:.6f}")
    await edit.submit(stage.world, stage.press(asked), {"path": "own.md", "content": "other"})
    await stage.play()
    await nothing_comes_of(stage, "yes", TO_WHOM, ts=later())


async def test_a_yes_to_somebody_else_approves_no_plan_whose_card_was_drawn_anew_since(stage: Scene) -> None:
    task, now = await planned(stage, write("a.md"), write("b.md")), time.time()
    key, place = f"{task.id}:plan:1", f"{now - 100:.6f}"
    await stage.ledger.set_posted(key, Posted(CHANNEL, place, 99, "one"))
    await stage.say("Please do not approve it. Shall I tell Gil?", BEN, mentioned=False, ts=f"{now - 50:.6f}")
    await stage.ledger.set_posted(key, Posted(CHANNEL, place, 100, "two"))
    await nothing_comes_of(stage, "yes", TO_WHOM, ts=later())


async def test_what_somebody_else_wrote_is_known_as_long_as_anything_waits_in_the_thread(
    stage: Scene,
) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await stage.say("This plan is wrong, please do not approve it.", BEN, mentioned=False)
    stage.travel(25 * 3600)
    await stage.ledger.purge(await stage.ledger.now() - timedelta(hours=24))
    await nothing_comes_of(stage, "yes", TO_WHOM)


async def test_what_somebody_wrote_who_has_too_much_unread_is_known_of(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    other = replace(stage.session, thread="1699999999.000001")
    for number in range(stage.world.limits.requests_per_user + 1):
        ts = f"{4_050_000_000 + number}.000000"
        thread = stage.session if number == stage.world.limits.requests_per_user else other
        said = Incoming(f"{TEAM}:{CHANNEL}:{ts}", thread, BEN, "Ann, lunch?", ts, thread == other)
        taken_in = await inbox.receive(stage.world, said)
    assert not taken_in
    await nothing_comes_of(stage, "yes", TO_WHOM, ts="4070000000.000000")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "text",
    [
        "<@U_BEN> is this right?",
        "Ben, what do you think?",
        "hm, let me look at that first",
        "this looks wrong",
    ],
)
async def test_words_that_need_not_be_for_the_bot_let_no_paused_plan_go_on(stage: Scene, text: str) -> None:
    await paused(stage)
    await nothing_comes_of(stage, text, STILL_PAUSED, ts=later())
    assert (await newest(stage)).state is S.PAUSED


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("answered", ["yes", "ok", "go ahead"])
async def test_a_yes_below_what_the_bot_said_about_a_paused_plan_lets_it_not_go_on(
    stage: Scene, answered: str
) -> None:
    await paused(stage)
    await nothing_comes_of(stage, "but b.md has to go into the archive", STILL_PAUSED, ts=later())
    await nothing_comes_of(stage, answered, AMBIGUOUS, ts=f"{time.time() + 120:.6f}")
    assert (await newest(stage)).state is S.PAUSED


async def test_an_ok_below_what_the_bot_said_to_thanks_confirms_nothing(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await nothing_comes_of(stage, "thanks", DECIDE, ts=later())
    await nothing_comes_of(stage, "ok", AMBIGUOUS, ts=f"{time.time() + 120:.6f}")


async def test_an_ok_below_what_the_bot_said_to_thanks_approves_no_plan(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await nothing_comes_of(stage, "thanks", DECIDE, ts=later())
    await nothing_comes_of(stage, "ok", AMBIGUOUS, ts=f"{time.time() + 120:.6f}")
    assert (await newest(stage)).state is S.PLAN_REVIEW


async def told_alone(stage: Scene, kind: str, to: str = ANN) -> None:
    """The bot tells one person alone something below the card that waits."""
    read = {"name": "desk.look", "summary": "Look", "arguments": {}, "clipped": False, "open_world": False}
    body = {"text": "Shall I show you the second half, too? Just answer yes.", **read, "error": False}
    async with stage.ledger.begin() as tx:
        await tx.note(Note(f"below {kind}", stage.session, kind, body, to))
    await stage.play()


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", ["read", "text", "answer", "refused", "talk", "news"])
async def test_a_yes_to_what_they_alone_were_told_below_the_card_confirms_nothing(
    stage: Scene, kind: str
) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    action = await waiting(stage)
    await told_alone(stage, kind)
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())
    await nothing_comes_of(stage, "yes", AMBIGUOUS, mentioned=True)
    assert (await stage.now(action.id)).state is State.PREPARED


async def test_a_yes_to_a_private_answer_below_the_card_confirms_nothing(stage: Scene) -> None:
    stage.rule(Rule("own", ("desk.look",), private=True))
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await waiting(stage)
    stage.desk.notes["z.md"] = "The first half. Shall I show the second half? Just answer yes."
    stage.planner.script = [Propose((Call("desk", "look", {"path": "z.md"}),))]
    await stage.say("what is in z.md?")
    assert stage.wall.notes[-1].to == ANN
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())


async def test_a_yes_to_what_they_alone_were_told_below_a_plan_approves_nothing(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await told_alone(stage, "read")
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())
    assert (await newest(stage)).state is S.PLAN_REVIEW


async def test_a_yes_to_what_they_alone_were_told_below_a_pause_lets_nothing_go_on(stage: Scene) -> None:
    await paused(stage)
    await told_alone(stage, "read")
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=later())
    assert (await newest(stage)).state is S.PAUSED


async def test_what_somebody_else_alone_was_told_below_the_card_leaves_their_yes(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await waiting(stage)
    await told_alone(stage, "read", BEN)
    await stage.say("yes", mentioned=False, ts=later())
    assert stage.desk.notes == {"own.md": "mine"}


async def test_a_yes_may_be_said_again_after_they_were_told_why_the_first_did_nothing(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.say("And later?", user=BEN, mentioned=False)
    await nothing_comes_of(stage, "yes", TO_WHOM)
    await stage.say("yes", mentioned=True)
    assert stage.desk.notes == {"own.md": "mine"}


async def test_a_yes_counts_after_they_were_told_that_an_edit_changed_nothing(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.say("change 'nowhere' to 'x'", mentioned=False, ts=later())
    assert "cannot find" in stage.texts[-1]
    await stage.say("yes", mentioned=False, ts=later())
    assert stage.desk.notes == {"own.md": "mine"}


async def test_a_yes_approves_a_plan_after_hold_on(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await stage.say("hold on", mentioned=False, ts=later())
    await stage.say("yes", mentioned=False, ts=later())
    assert stage.desk.notes == {"a.md": "new", "b.md": "new"}


PAY_BY_TWO = Rule(
    "two",
    ("desk.write",),
    approvers=Approvers(needed=2),
    schema={"required": ["path"], "properties": {"path": {"const": "pay.md"}}},
)


@pytest.mark.parametrize("first", [ANN, BEN])
async def test_a_yes_of_who_may_confirm_something_else_there_runs_nothing(stage: Scene, first: str) -> None:
    stage.rule(PAY_BY_TWO)
    wanted = [(ANN, "pay.md"), (BEN, "own.md")]
    cards = [
        await stage.prepare(user=user, path=path, content="1")
        for user, path in sorted(wanted, key=lambda one: one[0] != first)
    ]
    await stage.say("yes", user=BEN, mentioned=True)
    assert stage.texts[-1] == ELSEWHERE
    assert [(await stage.now(card.id)).state for card in cards] == [State.PREPARED] * 2


async def test_a_yes_counts_once_they_have_confirmed_what_else_they_may_confirm_there(stage: Scene) -> None:
    stage.rule(PAY_BY_TWO)
    shared = await stage.prepare(user=ANN, path="pay.md", content="1")
    await stage.prepare(user=BEN, path="own.md", content="1")
    await stage.confirm(shared, user=BEN)
    await stage.say("yes", user=BEN, mentioned=True)
    assert stage.desk.notes == {"own.md": "1"}


@pytest.mark.parametrize("mentioned", [False, True])
async def test_a_yes_of_an_admin_lets_no_paused_plan_of_somebody_else_go_on(
    stage: Scene, mentioned: bool
) -> None:
    stage.rule(admins=frozenset({CLEO}))
    await paused(stage)
    await stage.say("yes", user=CLEO, mentioned=mentioned, ts=later())
    assert (await newest(stage)).state is S.PAUSED
    assert stage.desk.notes == {}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("answered", ["ok", "okay", "OK!", "yep", "y"])
async def test_an_ok_after_hold_on_approves_no_plan(stage: Scene, answered: str) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await stage.say("hold on", mentioned=False, ts=later())
    await nothing_comes_of(stage, answered, AMBIGUOUS, ts=f"{time.time() + 120:.6f}")
    await nothing_comes_of(stage, "yes", AMBIGUOUS, ts=f"{time.time() + 180:.6f}")
    assert (await newest(stage)).state is S.PLAN_REVIEW


async def test_an_ok_after_an_edit_that_changed_nothing_confirms_nothing(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.say("change 'nowhere' to 'x'", mentioned=False, ts=later())
    assert "cannot find" in stage.texts[-1]
    await nothing_comes_of(stage, "ok", AMBIGUOUS, ts=f"{time.time() + 120:.6f}")


async def test_a_yes_beside_what_a_server_asks_an_approver_decides_nothing(stage: Scene) -> None:
    """It is asked in the thread, and may be what the word is about."""
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    asked = question(await stage.ledger.now(), session=stage.session, requester=BEN)
    async with stage.ledger.begin() as tx:
        await tx.questions.open(asked)
    await nothing_comes_of(stage, "yes", ELSEWHERE, ts=later())
