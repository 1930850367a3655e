"""How many messages of ours remain in a thread, for each kind of story, and what its last one shows."""

from __future__ import annotations

from dataclasses import replace

from gate.rules.action import Session
from gate.rules.planner_port import Call, Clarify, Planned, Propose
from gate.rules.task import Assessment, Missing, Question, Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Read
from tests.handlers.slack_task import begun, proposes, write
from tests.slack_app import AGES, ANN, BEN, OPS, Card, Edge
from tests.views.samples import shown
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
    look = [Planned(Call("desk", "look", {"path": path})) for path in ("a.md", "b.md")]
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
    await edge.told(BEN, "Only <@U_ANN>")
    assert (await task_of(card)).state is TaskState.SATISFACTION
    await card.click("task_satisfied")
    assert (await task_of(card)).state is TaskState.DONE
    assert card.buttons == ["undo", "full"]
    assert "needs?" not in shown(card.message.blocks)
    assert len(messages(edge, card.said.ts)) == 1


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


async def test_two_changes_of_one_request_are_asked_about_together(edge: Edge) -> None:
    calls = tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md"))
    story = await begun(edge, Propose(calls), assessment=Assessment(10, 1))
    await edge.ann.click(messages(edge, story.said.ts)[0], "confirm_all")
    await edge.settled()
    assert "Does this meet your needs?" in story.text("satisfaction")
    assert len(messages(edge, story.said.ts)) == 2


async def test_what_cannot_be_looked_at_is_a_sentence_and_no_card(edge: Edge) -> None:
    recipe = edge.desk.specs_now["write"].recipe
    edge.desk.redefine("write", recipe=replace(recipe, capture={"before": Read("find", {})}))
    story = await begun(edge, WRITE, assessment=Assessment(10, 1), text="write a.md")
    (told,) = messages(edge, story.said.ts)
    assert told.text == "Not done: Write a.md"
    assert "The tool desk.find is not there." in shown(told.blocks)
    assert not [block for block in told.blocks or [] if block["type"] == "actions"]
    assert (await story.task()).state is TaskState.CANCELLED
    assert await edge.ledger.pending("T1") == ()


async def test_a_plan_step_by_step_is_two_messages_and_one_for_each_step(edge: Edge) -> None:
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
    texts = [message.text for message in messages(edge, story.said.ts)]
    assert texts[0].startswith("Finished, 3 of 3 steps done")
    assert texts[1:-1] == [f"Wrote {path}" for path in paths]  # each with its Undo
    assert texts[-1].endswith("Does this meet your needs?")


async def test_a_question_is_one_message_that_becomes_what_was_answered(edge: Edge) -> None:
    which = Clarify((Question("q", "Which file?", Missing.INPUTS),))
    story = await begun(edge, which, WRITE, assessment=Assessment(10, 1))
    (question,) = messages(edge, story.said.ts)
    await edge.ann.say(OPS, "a.md", story.said.ts)
    await edge.ws.wait_for(lambda: len(messages(edge, story.said.ts)) == 2, AGES)
    await edge.settled()
    assert question.text == "Questions: answered"
    assert "a.md" in shown(question.blocks)
