"""What waits for a person, in `/pending` and App Home: all of it is there, with its card, and can be decided."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from gate.rules.action import Session
from gate.rules.action_states import State
from gate.rules.planner_port import Done, ListPending
from gate.rules.task import Assessment
from gate.rules.task_states import TaskState
from handlers.slack.payloads import Click
from handlers.slack.task_buttons import TaskButtons
from tests.handlers.slack_task import Story, begun, proposes, write
from tests.handlers.test_lists import listed, newest
from tests.handlers.test_result_review_story import held
from tests.handlers.test_task_story import UNCLEAR, WHERE, WHY
from tests.slack_app import AGES, ANN, BEN, OPS, TEAM, Edge, said_in
from tests.views.samples import buttons, parts, shown
from views.task_questions import GIVEN, block_of
from workspace.faults import BadGateway
from workspace.state import Message, View

PLAN = proposes(write("a.md", "one"), write("b.md", "two"))


async def home_of(edge: Edge, user: str = ANN) -> View:
    await edge.ws.as_(user).open_home()
    found: View = await edge.ws.wait_for(lambda: edge.ws.as_(user).home, AGES)
    return found


async def window(edge: Edge, callback: str, user: str = ANN) -> View:
    """The window of this kind on top of this person's screen."""

    def find() -> View | None:
        top = edge.ws.as_(user).modal
        return top if top and top.body["callback_id"] == callback else None

    found: View = await edge.ws.wait_for(find, AGES)
    return found


async def submit(edge: Edge, callback: str, user: str = ANN, **given: Any) -> str:
    """What stands in the window then."""
    await edge.ws.as_(user).submit(await window(edge, callback, user), given)
    await edge.settled()
    top = edge.ws.as_(user).modal
    return said_in(top) if top else ""


async def permalink(edge: Edge, card: Message) -> str:
    """As Slack tells it."""
    found = await edge.cards._client.chat_getPermalink(channel=card.channel, message_ts=card.ts)
    return str(found["permalink"])


def links(view: Any) -> list[str]:
    return [one["url"] for one in parts(view.blocks, "link")]


async def state_of(story: Story) -> TaskState:
    return (await story.task()).state


@pytest.mark.slow
async def test_actions_plans_questions_and_held_results_are_listed_with_their_cards(
    edge: Edge,
) -> None:
    result = await held(edge)
    action = await edge.propose("write", path="c.md", content="hello")
    question = await begun(edge, assessment=UNCLEAR)
    plan = await begun(edge, PLAN)
    for view in (await listed(edge, "/pending"), await home_of(edge)):
        told = said_in(view)
        for words in (
            "Done, its result waits for review: Write a.md",
            "Write c.md",
            "Question: ",
            "Plan: tidy up",
        ):
            assert words in told, words
        cards = [result.message, action.message, question.card("question"), plan.card("plan")]
        # By Slack's own word for each of them.
        assert links(view) == [await permalink(edge, card) for card in cards]
    assert (await listed(edge, "/pending")).text == "4 waiting"


@pytest.mark.slow
async def test_each_entry_says_when_it_expires_and_a_pause_waits_for_as_long_as_they_like(http: Edge) -> None:
    await begun(http, assessment=UNCLEAR)
    plan = await begun(http, PLAN)
    paused = await begun(http, PLAN)
    await paused.click("plan", "plan_stepwise")
    await paused.click("plan", "task_pause")
    (card,) = [m for m in http.ws.by_app(OPS, paused.said.ts) if m.text.startswith("Prepared: Write a.md")]
    await http.ann.click(card, "confirm")
    await http.settled()
    ends = [task for task, due in await http.ledger.tasks_awaiting_answer(TEAM, ANN) if due]
    assert [task.state for task in ends[:2]] == [TaskState.CLARIFYING, TaskState.PLAN_REVIEW]
    question, waiting, pause = [
        shown(block) for block in (await listed(http, "/pending")).blocks or [] if block["type"] == "context"
    ]
    for told in (question, waiting):
        found = re.search(r" · expires <!date\^(\d+)\^\{date_short} \{time}\|", told)
        assert found, told
        left = int(found[1]) - datetime.now(UTC).timestamp()
        assert abs(left - http.world.limits.plan) < AGES
    assert "expires" not in pause
    http.travel(http.world.limits.plan + 1)
    await http.sweep()
    assert (await plan.task()).state is TaskState.PLAN_REVIEW
    told = shown((await listed(http, "/pending")).blocks)
    assert "Plan: tidy up" in told
    assert "expires" not in told


async def test_the_mention_in_a_thread_lists_the_same_as_the_command(http: Edge) -> None:
    card = await http.propose("poke", at="a.md")
    await begun(http, PLAN)
    await http.ann.say(OPS, "<@UBOT> pending", thread_ts=card.said.ts)
    await http.told(ANN, "2 waiting")
    in_thread = newest(http)
    command = await listed(http, "/pending")
    assert said_in(in_thread) == said_in(command)
    assert buttons(in_thread.blocks) == buttons(command.blocks)
    await http.ws.as_(BEN).say(OPS, "<@UBOT> pending", thread_ts=card.said.ts)
    await http.told(BEN, "1 waiting")


async def test_an_action_is_confirmed_from_the_list_in_a_window_that_shows_all_of_it_and_runs_once(
    edge: Edge,
) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    message = await listed(edge, "/pending")
    await edge.ann.click(message, "review")
    assert "hello" in said_in(await window(edge, "typed"))
    assert edge.desk.calls == []
    assert "Confirmed. The card in its thread shows how it goes." in await submit(edge, "typed")
    assert edge.desk.notes == {"a.md": "hello"}
    assert card.text == "Wrote a.md"
    await edge.ann.click(message, "review")  # the list that has not been asked for anew
    assert "This was already confirmed by <@U_ANN> and is done." in said_in(await window(edge, "message"))
    assert len(edge.desk.calls) == 1


async def test_one_window_submitted_many_times_and_the_card_beside_it_run_an_action_once(http: Edge) -> None:
    card = await http.propose("write", path="a.md", content="hello")
    await http.ann.click(await listed(http, "/pending"), "review")
    view = await window(http, "typed")
    payload = http.ws.forge.submission(ANN, view)
    clicks = http.ws.forge.click(ANN, card.message, action_id="confirm", value=card.value)
    both = [payload, clicks] * 3
    answers = await asyncio.gather(*[http.ws.forge.send("interactive", dict(one)) for one in both])
    await http.settled()
    assert all(answer.ok for answer in answers)
    assert len(http.desk.calls) == 1


async def test_what_needs_a_phrase_asks_for_it_from_the_list_too(http: Edge) -> None:
    http.desk.notes["a.md"] = "hello"
    card = await http.propose("shred", path="a.md")
    await http.ann.click(await listed(http, "/pending"), "review")
    assert "type exactly" in said_in(await window(http, "typed"))
    assert http.ws.as_(ANN).modal.errors == {}
    await http.ann.submit(await window(http, "typed"), {"phrase": {"phrase": "yes"}})
    assert http.desk.calls == []
    phrase = (await card.action()).phrase
    assert "Confirmed." in await submit(http, "typed", phrase={"phrase": phrase})
    assert len(http.desk.calls) == 1


async def test_app_home_shows_what_came_of_a_confirmation_there(edge: Edge) -> None:
    await edge.propose("write", path="a.md", content="hello")
    await home_of(edge)
    await edge.ann.click("home", "review")
    await submit(edge, "typed")
    await edge.ws.wait_for(lambda: "Wrote a.md" in said_in(edge.ann.home), AGES)
    assert "Nothing waits for a decision." in said_in(edge.ann.home)
    assert buttons(edge.ann.home.blocks) == ["undo", "full"]


async def test_a_plan_is_approved_from_the_list_and_runs_once(edge: Edge) -> None:
    story = await begun(edge, PLAN)
    message = await listed(edge, "/pending")
    await edge.ann.click(message, "plan_decide")
    told = said_in(await window(edge, "plan_approve"))
    assert "*Approve all* is your yes to steps 1 and 2, exactly as shown here." in told
    assert "one" in told
    assert edge.desk.calls == []
    assert "Approved. The plan's card" in await submit(edge, "plan_approve")
    assert edge.desk.notes == {"a.md": "one", "b.md": "two"}
    assert story.card("plan").text.startswith("Finished, 2 of 2 steps done")
    await edge.ann.click(message, "plan_decide")
    assert "Please decide on the card of this plan" in said_in(await window(edge, "message"))
    await edge.ann.click(message, "plan_cancel")
    await edge.told(ANN, "This has run to its end already.")
    assert len(edge.desk.calls) == 2


async def test_a_plan_that_nobody_decided_on_in_time_is_asked_again_from_the_list(http: Edge) -> None:
    story = await begun(http, PLAN)
    http.travel(http.world.limits.plan + 1)
    await http.sweep()
    message = await listed(http, "/pending")
    assert buttons(message.blocks) == ["plan_again", "plan_cancel"]
    await http.ann.click(message, "plan_again")
    await http.settled()
    plan = (await story.task()).plan
    assert plan
    assert not plan.lapsed
    assert buttons(story.card("plan").blocks)[0] == "plan_approve"
    assert http.desk.calls == []


async def test_a_plan_that_was_decided_meanwhile_or_in_a_window_that_nobody_opened_is_not_approved(
    http: Edge,
) -> None:
    story = await begun(http, PLAN)
    await http.ann.click(await listed(http, "/pending"), "plan_decide")
    view = await window(http, "plan_approve")
    await story.click("plan", "plan_approve")
    before = list(http.desk.calls)
    assert (await http.send("interactive", http.ws.forge.submission(ANN, view))).ok
    assert http.desk.calls == before
    forged = http.ws.forge.view(callback_id="plan_approve", private_metadata=view.body["private_metadata"])
    answer = await http.send("interactive", http.ws.forge.submission(ANN, forged))
    assert "Please use the newest card" in str(answer.body)


async def test_app_home_is_renewed_after_a_plan_was_cancelled_and_a_question_answered_there(
    edge: Edge,
) -> None:
    question, plan = await begun(edge, assessment=UNCLEAR), await begun(edge, PLAN)
    home = await home_of(edge)
    assert buttons(home.blocks) == ["task_answer", "plan_cancel", "plan_decide", "plan_cancel"]
    cancels = [b for b in home.blocks if b["type"] == "actions"]
    await edge.ann.click("home", "plan_cancel", cancels[1]["block_id"])
    await edge.settled()
    assert await state_of(plan) is TaskState.CANCELLED
    await edge.ws.wait_for(lambda: "Plan: tidy up" not in said_in(edge.ann.home), AGES)
    assert [m.text for m in edge.ws.by_app(edge.ann.im)] == ["Cancelled. Nothing more of it runs."]
    await edge.ann.click("home", "task_answer")
    edge.planner.assessments.append(Assessment(60, 4))
    edge.planner.script.append(PLAN)
    answers = {block_of(WHERE): {GIVEN: "0"}, block_of(WHY): {GIVEN: "for the audit"}}
    assert "Thank you. I go on with that in its thread." in await submit(edge, "task_answer", **answers)
    assert await state_of(question) is TaskState.PLAN_REVIEW
    await edge.ws.wait_for(lambda: "Question: " not in said_in(edge.ann.home), AGES)


@pytest.mark.slow
async def test_a_paused_task_is_listed_and_stopped_from_the_list(http: Edge) -> None:
    story = await begun(http, PLAN)
    await story.click("plan", "plan_stepwise")
    await story.click("plan", "task_pause")
    (card,) = [m for m in http.ws.by_app(OPS, story.said.ts) if m.text.startswith("Prepared: Write a.md")]
    await http.ann.click(card, "confirm")
    await http.settled()
    message = await listed(http, "/pending")
    assert "Paused, as asked: tidy up" in said_in(message)
    assert links(message) == [await permalink(http, story.card("pause"))]
    await http.ann.click(message, "task_stop")
    await http.told(ANN, "Stopped. Nothing more of it runs.")
    assert await state_of(story) is TaskState.STOPPED_BY_USER


async def test_an_approver_decides_from_their_list_and_the_requester_cannot(edge: Edge) -> None:
    card = await edge.propose("poke", at="a.md")
    own = await listed(edge, "/pending")
    assert buttons(own.blocks) == ["cancel", "full"]
    assert "waits for <!subteam^S_OPS>" in said_in(own)
    message = await listed(edge, "/pending", user=BEN)
    assert buttons(message.blocks) == ["review", "more", "full"]
    with edge.nothing_ran():
        payload = edge.ws.forge.click(ANN, message, action_id="review", value=card.value)
        await edge.send("interactive", payload)
        assert "You asked for this" in said_in(await window(edge, "message"))
    await edge.ws.as_(BEN).click(message, "review")
    assert "Confirmed." in await submit(edge, "typed", BEN)
    assert len(edge.desk.calls) == 1
    assert "Nothing waits" in (await listed(edge, "/pending", user=BEN)).text


async def test_an_approver_rejects_with_a_reason_from_their_home(http: Edge) -> None:
    card = await http.propose("poke", at="a.md")
    await home_of(http, BEN)
    await http.ws.as_(BEN).click("home", "more")
    assert "Rejected. Nothing ran." in await submit(http, "reject", BEN, reason={"reason": "not today"})
    assert (await card.action()).state is State.REJECTED
    await http.ws.wait_for(lambda: "Nothing waits for a decision." in said_in(http.ws.as_(BEN).home), AGES)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("button", "told"),
    [
        ("review", "Only <@U_ANN> can confirm this."),
        ("cancel", "Only <@U_ANN>, who asked for this, or an admin can cancel it."),
        ("plan_decide", "Only <@U_ANN>, who asked for this, can approve it."),
        ("plan_cancel", "Only <@U_ANN>, who asked for this, or an admin can cancel it."),
    ],
)
async def test_a_button_of_somebody_elses_list_decides_nothing(http: Edge, button: str, told: str) -> None:
    action = await http.propose("write", path="c.md", content="hello")
    story = await begun(http, PLAN)
    before = (await action.action(), await story.task())
    message = await listed(http, "/pending")
    (value,) = [e["value"] for e in parts(message.blocks, "button") if e["action_id"] == button]
    with http.nothing_ran():
        payload = http.ws.forge.click(BEN, message, action_id=button, value=value)
        assert (await http.send("interactive", payload)).ok
    if button in ("review", "plan_decide"):
        assert told in said_in(await window(http, "message", BEN))
    else:
        await http.told(BEN, told)
    assert (await action.action(), await story.task()) == before


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("button", ["plan_approve", "plan_stepwise", "task_resume", "task_submit"])
async def test_a_yes_to_a_plan_or_a_pause_counts_in_no_list_of_ours_or_of_others(
    http: Edge, button: str
) -> None:
    story = await begun(http, PLAN)
    before = await story.task()
    assert before.plan
    value = f"{before.id}.{before.plan.version}.{before.plan.seal[:16]}"
    click = Click(TEAM, ANN, button, value, "trigger", in_private_list=True)
    reply = await TaskButtons(http.world).all()[button](click)
    assert "does not stand on a card of mine" in reply.text  # type: ignore[union-attr]
    assert await story.task() == before


async def test_two_calls_of_one_tool_look_different_and_each_button_is_its_own(edge: Edge) -> None:
    first = await edge.propose("write", path="drafts/q3.md", content="hello")
    second = await edge.propose("write", path="drafts/q4.md", content="hello")
    message = await listed(edge, "/pending")
    told = said_in(message)
    assert ("Write drafts/q3.md" in told, "Write drafts/q4.md" in told) == (True, True)
    row = [b for b in message.blocks or [] if b["type"] == "actions"][1]
    await edge.ann.click(message, "cancel", row["block_id"])
    await edge.settled()
    assert (await first.action()).state is State.PREPARED
    assert (await second.action()).state is State.CANCELLED


async def fourteen(edge: Edge) -> None:
    """What waits for Ben; none of Ann and Cleo could have more than ten."""
    for number in range(7):
        await edge.propose("poke", at=f"{number}.md")
        await edge.propose("poke", user="U_CLEO", at=f"{number + 7}.md")


def named(view: Any) -> list[str]:
    """What the entries of a list are about, in order."""
    return re.findall(r"\d+\.md", said_in(view))


ALL = [f"{number + more}.md" for number in range(7) for more in (0, 7)]


async def test_a_list_longer_than_a_message_counts_the_rest_and_shows_it_page_by_page(edge: Edge) -> None:
    await fourteen(edge)
    ben = edge.ws.as_(BEN)
    message = await listed(edge, "/pending", user=BEN)
    before = len(edge.ws.messages(OPS))
    assert "… and 2 more." in said_in(message)
    assert named(message) == ALL[:12]
    await ben.click(message, "pending_later")
    await edge.ws.wait_for(lambda: named(message) == ALL[12:], AGES)
    assert "more." not in said_in(message)
    assert message.text == "14 waiting"
    assert "pending_later" not in buttons(message.blocks)
    await ben.click(message, "more", choose=None)
    assert "Poke 6.md" in said_in(await window(edge, "reject", BEN))
    await ben.click(message, "pending_earlier")
    await edge.ws.wait_for(lambda: named(message) == ALL[:12], AGES)
    assert "pending_earlier" not in buttons(message.blocks)
    assert len(edge.ws.messages(OPS)) == before


@pytest.mark.slow
async def test_app_home_shows_the_rest_of_a_long_list_page_by_page(http: Edge) -> None:
    await fourteen(http)
    view = await home_of(http, BEN)
    ben = http.ws.as_(BEN)
    assert "… and 2 more." in said_in(view)
    assert named(view) == ALL[:12]
    await ben.click("home", "pending_later")
    await http.ws.wait_for(lambda: named(ben.home) == ALL[12:], AGES)
    await ben.click("home", "pending_earlier")
    await http.ws.wait_for(lambda: named(ben.home) == ALL[:12], AGES)


@pytest.mark.slow
async def test_a_page_that_is_no_more_is_the_last_one_and_a_forged_one_shows_nothing_of_others(
    http: Edge,
) -> None:
    await fourteen(http)
    message = await listed(http, "/pending", user=BEN)
    own = await http.propose("write", path="own.md", content="hello")

    async def turn(user: str, page: str, of: Message = message) -> None:
        payload = http.ws.forge.click(user, of, action_id="pending_later", value=page)
        assert (await http.send("interactive", payload)).ok

    await turn(BEN, "900")
    await http.ws.wait_for(lambda: named(message) == ALL[12:], AGES)
    await turn(BEN, "-1")
    await http.told(BEN, "This is no list of mine.")
    await turn(ANN, "1", own.message)  # which everybody sees
    await http.told(ANN, "This is no list of mine.")
    assert own.buttons == ["confirm", "edit", "cancel", "more"]
    await turn("U_GIL", "0", await listed(http, "/pending", user="U_GIL"))
    assert http.hints("U_GIL") == ["Nothing waits for a decision."]


async def test_a_page_is_not_sent_to_an_address_that_is_none_of_slacks_and_a_lost_one_is_told(
    http: Edge,
) -> None:
    await fourteen(http)
    message = await listed(http, "/pending", user=BEN)
    payload = http.ws.forge.click(BEN, message, action_id="pending_later", value="1")
    await http.send("interactive", {**payload, "response_url": "https://hooks.slack.com.example.org/x"})
    await http.told(BEN, "Please ask for the list again")
    assert named(message) == ALL[:12]
    http.ws.faults.on("response_url", BadGateway())
    await http.ws.as_(BEN).click(message, "pending_later")
    await http.ws.wait_for(lambda: len(http.hints(BEN)) == 3, AGES)
    assert named(message) == ALL[:12]


async def test_an_empty_list_and_an_empty_home_say_what_to_do_next(http: Edge) -> None:
    for view in (await listed(http, "/pending"), await home_of(http)):
        assert "Nothing waits for a decision." in said_in(view)
        assert "mention me in a channel with what you need" in said_in(view)


async def test_what_is_over_or_of_another_workspace_is_not_listed(http: Edge) -> None:
    story = await begun(http, PLAN)
    await story.click("plan", "plan_cancel")
    assert (await listed(http, "/pending")).text == "Nothing waits for a decision."
    assert await http.ledger.tasks_of(Session(TEAM, OPS, story.said.ts))
    assert await http.ledger.tasks_awaiting_answer("T9", ANN) == ()


async def test_who_asks_in_words_what_waits_is_told_what_waits_for_them(http: Edge) -> None:
    await http.propose("poke", at="a.md")
    story = await begun(http, ListPending(), Done(), assessment=Assessment(10, 1), text="show me what waits")
    told = [m.text for m in http.ws.messages(OPS) if m.thread_ts == story.said.ts and m.visible_to == ANN]
    assert told == ["1 waiting"]
