"""What goes on by itself, through Slack as people see it: the summary with Hold, and “always” with its list."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.action import Session
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Propose
from gate.rules.task import PauseReason
from gate.rules.task_states import TaskState
from gate.rules.tool import Answer
from tests.handlers.slack_task import Story, begun, proposes, write
from tests.slack_app import ANN, BEN, OPS, TEAM, Card, Edge, said_in
from tests.views.samples import shown


async def summary(http: Edge) -> Story:
    """The first of two writes is done, cannot be read back, and is shown before the second begins."""
    http.patient = True
    http.desk.read_nothing_back()
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    assert http.desk.notes == {"a.md": "new"}
    return story


async def test_a_summary_is_held_and_let_go_on_by_its_requester(http: Edge) -> None:
    story = await summary(http)
    assert story.buttons("pause") == ["task_hold", "task_resume", "task_stop"]
    text = story.text("pause")
    assert "It goes on by itself about 10 seconds after this card appears" in text.replace("*", "")
    assert "Wrote a.md, but no step of this kind is known to have gone well before." in text
    assert "0.79" not in text
    assert story.card("plan").text.startswith("About to go on with step 2 of 2")

    await story.click("pause", "task_hold", BEN)
    await http.told(BEN, "Only <@U_ANN>")
    await story.click("pause", "task_hold")
    assert story.buttons("pause") == ["task_resume", "review_revise", "review_refuse", "task_stop"]
    await http.summaries_over()
    assert http.desk.notes == {"a.md": "new"}

    await story.click("pause", "task_resume")
    assert http.desk.notes == {"a.md": "new", "b.md": "new"}
    assert not story.has("pause")
    assert "0.79" not in story.text("plan")
    await story.click("plan", "plan_whole")
    assert "Confidence: 0.79 of 1" in said_in(await story.window("plan_whole"))


async def test_a_summary_that_nobody_holds_goes_on_and_says_so(http: Edge) -> None:
    story = await summary(http)
    await http.summaries_over()
    assert http.desk.notes == {"a.md": "new", "b.md": "new"}
    assert (await story.task()).state is TaskState.SATISFACTION
    assert not story.has("pause")
    assert "it went on by itself, as nobody held it" in story.text("plan")
    await story.click("plan", "plan_whole")
    assert "Confidence: 1.00 of 1" in said_in(await story.window("plan_whole"))


def pause_cards(edge: Edge) -> list[str]:
    """The key of each card about a pause that was posted, whatever became of it since."""
    posted = [str(call.sent.get("metadata", "")) for call in edge.ws.calls("chat.postMessage")]
    assert posted
    return [key for key in posted if ":pause:" in key]


async def test_steps_whose_targets_are_read_back_as_approved_post_no_card_about_a_pause(edge: Edge) -> None:
    edge.patient = True  # nobody ends a summary before its time
    story = await begun(edge, proposes(write("a.md"), write("b.md"), write("c.md")))
    await story.click("plan", "plan_approve")
    assert edge.desk.notes == {"a.md": "new", "b.md": "new", "c.md": "new"}
    task = await story.task()
    assert (task.state, task.pauses, pause_cards(edge)) == (TaskState.SATISFACTION, 0, [])


async def test_a_step_that_cannot_be_read_back_posts_a_card_about_a_pause(edge: Edge) -> None:
    await summary(edge)
    assert len(pause_cards(edge)) == 1


async def test_a_mode_said_in_the_thread_stands_on_the_card(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await http.ann.say(OPS, "mode manual", thread_ts=story.said.ts)
    await http.told(ANN, "is in mode `manual`")
    await http.settled()
    assert "waits for a person after each step" in story.text("plan")


async def window(card: Card) -> Any:
    """Choose *Always allow in this thread…*, and wait for its content."""
    assert (await card.more("grant")).ok
    return await card.modal(ANN, "grant")


def chosen(modal: Any, **picked: str) -> dict[str, dict[str, Any]]:
    """The options with these beginnings, by the names of their menus."""
    menus = {b["block_id"]: b["element"]["options"] for b in modal.blocks if b["type"] == "input"}
    return {
        name: {name: {"selected_option": next(o for o in menus[name] if o["text"]["text"].startswith(text))}}
        for name, text in picked.items()
    }


async def again(http: Edge, card: Card, path: str) -> list[str]:
    """The same kind of call asked for once more in the thread; the texts of what hangs there."""
    http.planner.script.append(Propose((Call("desk", "write", {"path": path, "content": "two"}),)))
    await http.ann.say(OPS, "<@UBOT> once more", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: any(path in m.text for m in http.ws.by_app(OPS, card.said.ts)))
    await http.settled()
    return [m.text for m in http.ws.by_app(OPS, card.said.ts)]


async def test_always_is_given_used_listed_and_taken_back(http: Edge) -> None:
    card = await http.propose("write", path="drafts/a.md", content="one")
    modal = await window(card)
    told = said_in(modal)
    for words in ("Write drafts/a.md", "without asking", "With path inside drafts/", "8 hours"):
        assert words in told, told
    assert http.desk.calls == []

    assert (await http.ann.submit(modal, chosen(modal, grant_which="With path inside", grant_hours="4"))).ok
    await http.settled()
    assert http.desk.notes == {"drafts/a.md": "one"}
    said = "In that thread, Write (desk) with path inside drafts/ runs for you without asking now."
    assert said in said_in(await card.modal(ANN, "message"))

    texts = await again(http, card, "drafts/b.md")
    assert "Wrote drafts/b.md" in texts
    assert http.desk.notes["drafts/b.md"] == "two"
    (done,) = [m for m in http.ws.by_app(OPS, card.said.ts) if m.text == "Wrote drafts/b.md"]
    assert "Nobody was asked: allowed in this thread by <@U_ANN>" in shown(done.blocks)
    assert "Prepared: Write c.md" in await again(http, card, "c.md")

    await http.ann.say(OPS, "<@UBOT> grants", thread_ts=card.said.ts)
    await http.told(ANN, "1 that run without asking")
    listed = next(m for m in http.ws.messages(OPS) if m.text == "1 that run without asking")
    assert "with path inside drafts/" in shown(listed.blocks)
    assert (await http.ann.click(listed, "revoke")).ok
    await http.told(ANN, "Taken back: Write (desk)")
    assert "Prepared: Write drafts/d.md" in await again(http, card, "drafts/d.md")
    assert await http.ledger.grants.grants(Session(TEAM, OPS, card.said.ts)) == ()


@pytest.mark.parametrize("words", ["make it three", "<@UBOT> no, make it three"])
async def test_a_change_that_is_asked_for_after_always_was_given_asks_again(http: Edge, words: str) -> None:
    card = await http.propose("write", path="drafts/a.md", content="one")
    modal = await window(card)
    await http.ann.submit(modal, chosen(modal, grant_which="With path inside", grant_hours="4"))
    await http.settled()
    assert "Wrote drafts/b.md" in await again(http, card, "drafts/b.md")
    http.planner.script.append(Propose((Call("desk", "write", {"path": "drafts/b.md", "content": "three"}),)))
    await http.ann.say(OPS, words, thread_ts=card.said.ts)
    await http.ws.wait_for(
        lambda: [m for m in http.ws.by_app(OPS, card.said.ts) if m.text == "Prepared: Write drafts/b.md"]
    )
    await http.settled()
    assert http.desk.notes["drafts/b.md"] == "two"


async def test_what_destroys_is_not_offered_and_nobody_else_gives_it(http: Edge) -> None:
    http.desk.notes["a.md"] = "old"
    card = await http.propose("shred", path="a.md")
    menu = next(e for e in card.elements if e["type"] == "overflow")
    assert [o["value"].split(":")[0] for o in menu["options"]] == ["reject", "full"]

    card = await http.propose("write", path="b.md", content="one")
    assert (await card.more("grant", BEN)).ok
    modal = await card.modal(BEN, "message")
    assert "Only <@U_ANN>" in said_in(modal)
    assert (await card.action()).state is State.PREPARED


async def test_a_failure_that_a_result_admits_is_told_once_at_the_pause(http: Edge) -> None:
    error = "Error: the disk is full"
    http.desk._change = lambda tool, given: Answer(error, {"result": error})  # type: ignore[method-assign]
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    assert (await story.task()).why is PauseReason.DOUBT
    assert story.text("pause").count("the disk is full") == 1
    assert "Its result says that it failed: “Error: the disk is full”" in story.text("pause")


async def test_what_a_result_says_besides_its_failure_stays_at_the_pause(http: Edge) -> None:
    error = "Error: the disk is full\nAt least 3 MB are needed."
    http.desk._change = lambda tool, given: Answer(error, {"result": error})  # type: ignore[method-assign]
    story = await begun(http, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    assert "At least 3 MB are needed." in story.text("pause")
