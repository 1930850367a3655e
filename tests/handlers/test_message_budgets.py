"""How many messages of ours remain in a thread, for each kind of story, and what its last one shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from gate.rules.action import Session
from gate.rules.planner_port import Call, Clarify, Propose, ProposedStep, Say
from gate.rules.task import Assessment, Missing, Question, Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Read
from tests.handlers.slack_task import begun, proposes, write
from tests.model_stub import Answer, ModelStub, calls, says
from tests.slack_app import AGES, ANN, BEN, OPS, Card, Edge
from tests.views.samples import parts, shown
from tools.model.planner import ModelPlanner
from tools.model.provider_client import ProviderModel
from workspace.faults import Refused
from workspace.state import Message

WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))


def messages(edge: Edge, ts: str) -> list[Message]:
    return [message for message in edge.ws.by_app(OPS, ts) if message.visible_to is None]


async def test_the_steps_that_the_approval_of_a_plan_covers_have_no_card(edge: Edge) -> None:
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    texts = [message.text for message in messages(edge, story.said.ts)]
    assert not [text for text in texts if text.startswith(("Wrote", "Working: Write"))]


async def test_a_plan_that_reads_is_two_messages_and_the_last_shows_what_it_read(edge: Edge) -> None:
    edge.desk.notes.update({"a.md": "alpha says hello", "b.md": "beta says\nbye"})
    look = [ProposedStep(Call("desk", "look", {"path": path})) for path in ("a.md", "b.md")]
    story = await begun(edge, proposes(*look, write("c.md")))
    await story.click("plan", "plan_approve")
    assert len(messages(edge, story.said.ts)) == 2
    last = story.text("satisfaction")
    assert "alpha says hello" in last
    assert "beta says\nbye" in last
    assert "{" not in last


async def test_a_read_is_one_message(edge: Edge) -> None:
    edge.desk.notes["a.md"] = "alpha says hello"
    look = Propose((Call("desk", "look", {"path": "a.md"}),))
    story = await begun(edge, look, assessment=Assessment(10, 1), text="read a.md")
    (answer,) = messages(edge, story.said.ts)
    assert "alpha says hello" in shown(answer.blocks)


async def written(edge: Edge) -> Card:
    card = await edge.propose("write", path="a.md", content="hello")
    await card.click("confirm")
    return card


async def task_of(card: Card) -> Task:
    (task,) = await card.edge.ledger.tasks_of(Session("T1", OPS, card.said.ts))
    return task


async def test_a_write_is_one_message_that_asks_whether_it_was_right(edge: Edge) -> None:
    card = await written(edge)
    assert len(messages(edge, card.said.ts)) == 1
    assert "Does this meet your needs?" in shown(card.message.blocks)
    await card.click("task_satisfied", BEN)
    await edge.told(BEN, "Whether it is done is for <@U_ANN> to say")
    assert (await task_of(card)).state is TaskState.SATISFACTION
    noted = (await edge.ledger.audit_tail(team="T1", limit=1))[0].entry
    assert (noted.event, noted.actor, noted.outcome) == ("feedback", BEN, "positive")
    await card.click("task_satisfied")
    assert (await task_of(card)).state is TaskState.DONE
    assert card.buttons == ["undo", "full"]
    assert "needs?" not in shown(card.message.blocks)
    assert len(messages(edge, card.said.ts)) == 1


# promise: TASK-22
async def test_feedback_that_it_is_not_right_yet_opens_the_form_for_changes(edge: Edge) -> None:
    card = await written(edge)
    (block,) = [one for one in card.message.blocks or [] if one["type"] == "context_actions"]
    poor = block["elements"][0]["negative_button"]["value"]
    await card.click("task_satisfied", BEN, choose=poor)
    assert (await card.modal(BEN, "message")).body["blocks"]
    await card.click("task_satisfied", choose=poor)
    assert await card.modal(ANN, "task_changes")
    assert (await task_of(card)).state is TaskState.SATISFACTION


async def test_a_typed_write_is_one_message(edge: Edge) -> None:
    edge.desk.notes["a.md"] = "hello"
    card = await edge.propose("shred", path="a.md")
    await card.click("review")
    form = await card.modal(ANN, "typed")
    await edge.ann.submit(form, {"phrase": {"phrase": (await card.action()).phrase}})
    await edge.settled()
    assert edge.desk.notes == {}
    assert len(messages(edge, card.said.ts)) == 1


async def test_thanks_in_the_thread_take_the_question_off_the_card(edge: Edge) -> None:
    card = await written(edge)
    await edge.ann.say(OPS, "ok, thanks", card.said.ts)
    await edge.ws.wait_for(lambda: "task_satisfied" not in card.buttons, AGES)
    assert (await task_of(card)).state is TaskState.DONE
    assert card.buttons == ["undo", "full"]
    assert len(messages(edge, card.said.ts)) == 1


@pytest.mark.slow
async def test_what_was_taken_back_is_not_asked_about_and_its_card_says_so(edge: Edge) -> None:
    card = await written(edge)
    await card.click("undo")
    assert card.text == "Undone: Write a.md"
    assert "Undone by <@U_ANN>." in shown(card.message.blocks)
    assert card.buttons == ["full"]
    assert len(messages(edge, card.said.ts)) == 1


async def test_changes_are_asked_for_on_the_card_and_the_next_change_has_the_question(edge: Edge) -> None:
    card = await written(edge)
    edge.planner.script.append(Propose((Call("desk", "write", {"path": "b.md", "content": "x"}),)))
    await edge.ann.say(OPS, "write b.md as well", card.said.ts)
    await edge.ws.wait_for(lambda: len(messages(edge, card.said.ts)) == 2, AGES)
    await edge.settled()
    assert card.buttons == ["undo", "full"]
    newest = messages(edge, card.said.ts)[-1]
    await edge.ann.click(newest, "confirm")
    await edge.settled()
    assert edge.desk.notes == {"a.md": "hello", "b.md": "x"}
    assert "needs?" in shown(newest.blocks)
    assert "needs?" not in shown(card.message.blocks)
    await edge.ann.click(newest, "task_satisfied")
    await edge.settled()
    assert (await task_of(card)).state is TaskState.DONE


async def test_what_was_assumed_for_a_simple_request_stands_on_its_card(edge: Edge) -> None:
    where = Question(
        "where", "Where do documents go?", Missing.INPUTS, assumption="documents go to documents/"
    )
    simple = Assessment(10, 1, questions=(where,))
    story = await begun(edge, WRITE, assessment=simple)
    (card,) = messages(edge, story.said.ts)
    told = "Assumed: documents go to documents/ (Where do documents go?)"
    assert shown(card.blocks).split("\n")[:2] == ["Write a.md", told]
    await edge.ann.click(card, "confirm")
    await edge.settled()
    (card,) = messages(edge, story.said.ts)
    assert shown(card.blocks).count(told) == 1


async def test_what_was_assumed_for_several_changes_stands_once_on_their_card(edge: Edge) -> None:
    where = Question(
        "where", "Where do documents go?", Missing.INPUTS, assumption="documents go to documents/"
    )
    both = Propose(tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md")))
    story = await begun(edge, both, assessment=Assessment(10, 2, questions=(where,)))
    (card,) = messages(edge, story.said.ts)
    assert shown(card.blocks).count("Assumed: documents go to documents/") == 1


@asynccontextmanager
async def thinking(edge: Edge, *answers: Answer) -> AsyncIterator[ModelStub]:
    """The edge with a model for its planner, which gives these answers one after the other."""
    async with ModelStub(answers) as stub:
        model = ProviderModel(stub.config())
        try:
            edge.planner.thinks = ModelPlanner(model, edge.desk, edge.world.policy, b"a key")
            yield stub
        finally:
            edge.planner.thinks = None
            await model.close()


async def written_by_model(edge: Edge, closing: str) -> tuple[list[Message], Task]:
    """The messages that remain once what a model asked for was confirmed and it has said this, and the task."""
    async with thinking(edge, calls(("desk__write", {"path": "a.md", "content": "hello"})), says(closing)):
        said = await edge.ann.say(OPS, "<@UBOT> please write a.md")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        await edge.ann.click(messages(edge, said.ts)[0], "confirm")
        await edge.settled()
    (task,) = await edge.ledger.tasks_of(Session("T1", OPS, said.ts))
    return messages(edge, said.ts), task


async def test_the_last_words_of_a_model_about_its_one_change_stand_on_the_card(edge: Edge) -> None:
    words = "I wrote *hello* into `a.md` for <@U_BEN>: <https://example.org|see>."
    (card,), task = await written_by_model(edge, words)
    (quote,) = parts(card.blocks, "rich_text_quote")
    assert "".join(one["text"] for one in quote["elements"]) == words.replace("`", "")
    assert {one["type"] for one in quote["elements"]} == {"text"}
    assert "Does this meet your needs?" in shown(card.blocks)
    assert task.state is TaskState.SATISFACTION
    await edge.ann.click(card, "task_satisfied")
    await edge.settled()
    assert "for <@U_BEN>" in shown(card.blocks)
    await edge.ann.click(card, "undo")
    await edge.settled()
    assert card.text == "Undone: Write a.md"
    assert parts(card.blocks, "rich_text_quote") == []


async def test_what_a_model_reads_is_one_message_with_its_answer(edge: Edge) -> None:
    edge.desk.notes |= {"a.md": "alpha says hello", "b.md": "beta says nothing"}
    looks = [calls(("desk__look", {"path": path})) for path in ("a.md", "b.md")]
    async with thinking(edge, *looks, says("Both are greetings, in a way.")):
        said = await edge.ann.say(OPS, "<@UBOT> what is in a.md and b.md?")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
    (answer,) = messages(edge, said.ts)
    assert shown(answer.blocks) == "Both are greetings, in a way."


async def test_a_plan_of_a_model_is_two_messages_and_the_last_has_its_answer(edge: Edge) -> None:
    edge.desk.notes |= {"a.md": "the rent is 900", "b.md": "the rent is 950"}
    looks = [
        {"tool": "desk__look", "title": f"Read {path}", "arguments": {"path": path}}
        for path in ("a.md", "b.md")
    ]
    note = {"tool": "desk__write", "title": "Note it", "arguments": {"path": "c.md", "content": "950"}}
    words = "b.md asks for more: *950* after 900, see <https://example.org|there> or ask <@U_BEN>."
    edge.planner.assessments = [Assessment(60, 3)]
    async with thinking(edge, calls(("propose_plan", {"steps": [*looks, note]})), says(words)):
        said = await edge.ann.say(OPS, "<@UBOT> compare the rents of a and b, and note the larger one")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        await edge.ann.click(messages(edge, said.ts)[0], "plan_approve")
        await edge.settled()
    plan, last = messages(edge, said.ts)
    assert "3 of 3 steps done" in shown(last.blocks)
    assert words in shown(last.blocks)
    assert "the rent is 900" not in shown(last.blocks)  # its answer stands there instead
    assert "Does this meet your needs?" in shown(last.blocks)
    await edge.ann.click(plan, "task_undo_all")
    await edge.settled()
    assert words not in shown(last.blocks)  # what it says was taken back


async def test_a_model_that_ends_without_a_word_leaves_what_it_read(http: Edge) -> None:
    http.desk.notes["a.md"] = "alpha says hello"
    async with thinking(http, calls(("desk__look", {"path": "a.md"})), says("")):
        said = await http.ann.say(OPS, "<@UBOT> what is in a.md?")
        await http.ws.wait_for(lambda: messages(http, said.ts), AGES)
        await http.settled()
    (answer,) = messages(http, said.ts)
    assert "alpha says hello" in shown(answer.blocks)


async def test_last_words_that_a_card_has_no_room_for_are_a_message_of_their_own(http: Edge) -> None:
    words = "I wrote it. " + "It has a long story. " * 40
    (card, last), _ = await written_by_model(http, words.strip())
    assert parts(card.blocks, "rich_text_quote") == []
    assert words.strip() in shown(last.blocks)


async def test_what_a_model_says_about_what_was_not_done_is_a_message_of_its_own(http: Edge) -> None:
    async with thinking(http, calls(("desk__write", {"path": "a.md", "content": "x"})), says("All right.")):
        said = await http.ann.say(OPS, "<@UBOT> please write a.md")
        await http.ws.wait_for(lambda: messages(http, said.ts), AGES)
        await http.settled()
        await http.ann.click(messages(http, said.ts)[0], "cancel")
        await http.settled()
    card, last = messages(http, said.ts)
    assert card.text.startswith("Cancelled")
    assert "All right." in shown(last.blocks)


async def test_two_changes_of_one_request_are_asked_about_together(edge: Edge) -> None:
    calls = tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md"))
    story = await begun(edge, Propose(calls), assessment=Assessment(10, 1))
    await edge.ann.click(messages(edge, story.said.ts)[0], "confirm_all")
    await edge.settled()
    assert "Does this meet your needs?" in story.text("satisfaction")
    assert len(messages(edge, story.said.ts)) == 2


async def test_nobody_is_asked_whether_it_was_right_once_all_of_it_was_taken_back(edge: Edge) -> None:
    calls = tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md"))
    story = await begun(edge, Propose(calls), assessment=Assessment(10, 1))
    card = messages(edge, story.said.ts)[0]
    await edge.ann.click(card, "confirm_all")
    await edge.settled()
    for left in (1, 0):
        await edge.ann.click(card, "undo")  # the first that is left
        await edge.settled()
        asks = [m for m in messages(edge, story.said.ts) if "Does this meet your needs?" in shown(m.blocks)]
        assert len(asks) == left
    assert edge.desk.notes == {}
    assert messages(edge, story.said.ts) == [card]
    assert card.text.startswith("2 changes undone")


async def test_what_cannot_be_looked_at_is_a_sentence_and_no_card(edge: Edge) -> None:
    recipe = edge.desk.specs_now["write"].recipe
    edge.desk.redefine("write", recipe=replace(recipe, capture={"before": Read("find", {})}))
    story = await begun(edge, WRITE, assessment=Assessment(10, 1), text="write a.md")
    (told,) = messages(edge, story.said.ts)
    assert told.text == "Not done: Write a.md"
    assert "desk.find" not in shown(told.blocks)
    assert "cannot show what is there now. Try again in a moment, or ask your administrator." in shown(
        told.blocks
    )
    assert not [block for block in told.blocks or [] if block["type"] == "actions"]
    assert (await story.task()).state is TaskState.CANCELLED
    assert await edge.ledger.pending("T1") == ()


@pytest.mark.slow
async def test_a_plan_step_by_step_leaves_two_messages(edge: Edge) -> None:
    paths = ("a.md", "b.md", "c.md")
    story = await begun(edge, proposes(*map(write, paths)))
    await story.click("plan", "plan_stepwise")
    for path in paths:
        waiting = next(m for m in messages(edge, story.said.ts) if m.text == f"Prepared: Write {path}")
        await edge.ann.click(waiting, "confirm")
        await edge.settled()
        await edge.summaries_over()
        await edge.settled()
    assert edge.desk.notes == dict.fromkeys(paths, "new")
    plan, last = messages(edge, story.said.ts)
    assert plan.text.startswith("Finished, 3 of 3 steps done")
    assert "task_undo_all" in story.buttons("plan")
    assert last.text.endswith("Does this meet your needs?")
    assert len(await edge.ledger.undoable("T1", limit=10, user=ANN)) == 3  # of one step: /undo


async def test_the_card_of_a_step_that_cannot_be_deleted_becomes_one_line(edge: Edge) -> None:
    edge.ws.faults.on("chat.delete", Refused("cant_delete_message"), times=9)
    story = await begun(edge, proposes(write("a.md")))
    await story.click("plan", "plan_stepwise")
    (card,) = [m for m in messages(edge, story.said.ts) if m.text == "Prepared: Write a.md"]
    await edge.ann.click(card, "confirm")
    await edge.settled()
    await edge.summaries_over()
    await edge.settled()
    assert (card.text, shown(card.blocks)) == ("Wrote a.md", "Wrote a.md")


async def test_a_step_that_fails_keeps_its_card(edge: Edge) -> None:
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_stepwise")
    (card,) = [m for m in messages(edge, story.said.ts) if m.text == "Prepared: Write a.md"]
    edge.desk.behave = "says no"
    await edge.ann.click(card, "confirm")
    await edge.settled()
    assert card in messages(edge, story.said.ts)
    assert card.text == "Failed: Write a.md"


async def test_a_question_is_one_message_that_becomes_what_was_answered(edge: Edge) -> None:
    which = Clarify((Question("q", "Which file?", Missing.INPUTS),))
    story = await begun(edge, which, WRITE, assessment=Assessment(10, 1))
    (question,) = messages(edge, story.said.ts)
    await edge.ann.say(OPS, "a.md", story.said.ts)
    await edge.ws.wait_for(lambda: len(messages(edge, story.said.ts)) == 2, AGES)
    await edge.settled()
    assert question.text == "Questions: answered"
    assert "a.md" in shown(question.blocks)


async def test_the_notification_of_an_answer_of_several_lines_reads_as_one_line(edge: Edge) -> None:
    edge.planner.script.append(Say("Two files:\n\n- a.md\n- b.md"))
    said = await edge.ann.say(OPS, "<@UBOT> what is there?")
    await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
    assert messages(edge, said.ts)[0].text == "Two files: / - a.md / - b.md"


async def test_an_earlier_change_is_named_as_on_its_card_beside_what_a_model_says_of_it(edge: Edge) -> None:
    answers = (
        calls(("desk__write", {"path": "a.md", "content": "hello"})),
        says("Done."),
        says("Yes, I added it."),
    )
    async with thinking(edge, *answers):
        said = await edge.ann.say(OPS, "<@UBOT> please write a.md")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        await edge.ann.click(messages(edge, said.ts)[0], "confirm")
        await edge.settled()
        await edge.ann.say(OPS, "<@UBOT> did you add it?", said.ts)
        await edge.ws.wait_for(lambda: len(messages(edge, said.ts)) == 2, AGES)
        await edge.settled()
    told = shown(messages(edge, said.ts)[1].blocks)
    assert "Yes, I added it." in told
    assert "Earlier in this thread:" in told
    assert "Wrote a.md." in told
    assert "was done" not in told
