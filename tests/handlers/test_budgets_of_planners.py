"""The rows of the message budget with both planners: a model that is asked over HTTP, and phrases over real servers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.demo_servers import demo_servers, sample_desk
from gate.rules.ports import Limits
from gate.rules.task import Assessment
from tests.handlers.test_message_budgets import messages, thinking
from tests.model_stub import calls, says
from tests.product import OPS, Product, running_product
from tests.slack_app import AGES, ANN, Edge
from tests.views.samples import buttons, shown
from workspace.mail_server import MailServer
from workspace.person import Person
from workspace.state import Message, View

SHRED = ("desk__shred", {"path": "a.md"})
PATHS = ("a.md", "b.md", "c.md")
BUNDLED = Path(__file__).parents[2] / "manifests" / "phrases.yaml"
SEVEN = """runbooks:
  - name: close-month
    title: Close the month
    description: Files the figures, and plans what is left to do.
    parameters: [{name: month, question: "Which month is closed?"}]
    steps:
      - say: "what is in reports"
      - call: filesystem.create_folder
        args: {path: "archive/{month}"}
      - say: "copy reports/q3-figures.csv to archive/{month}/figures.csv"
      - call: filesystem.write_file
        args: {path: "archive/{month}/note.md", content: "Closed."}
      - call: task.create_task
        args: {title: "Check the figures of {month}"}
      - call: task.create_task
        args: {title: "Send the figures of {month}", priority: high}
      - call: calendar.create_event
        args: {title: "Review of {month}", start: "tomorrow 9:00"}
    example: "run close-month for november"

"""


def asks_for_phrase(person: Person) -> View | None:
    """The window with the phrase, once it is more than a word that it is on its way."""
    form = person.modal
    return form if form is not None and "input" in str(form.body) else None


async def test_a_typed_change_of_a_model_is_one_message(edge: Edge) -> None:
    edge.desk.notes["a.md"] = "hello"
    async with thinking(edge, calls(SHRED), says("It is gone.")):
        said = await edge.ann.say(OPS, "<@UBOT> shred a.md")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        (card,) = messages(edge, said.ts)
        (action,) = await edge.ledger.pending("T1")
        await edge.ann.click(card, "review")
        form = await edge.ws.wait_for(lambda: asks_for_phrase(edge.ws.as_(ANN)), AGES)
        await edge.ann.submit(form, {"phrase": {"phrase": action.phrase}})
        await edge.ws.wait_for(lambda: not edge.desk.notes, AGES)
        await edge.settled()
    (card,) = messages(edge, said.ts)
    assert "It is gone." in shown(card.blocks)


@pytest.mark.slow
async def test_a_plan_of_a_model_step_by_step_leaves_two_messages(edge: Edge) -> None:
    steps = [
        {"tool": "desk__write", "title": f"Write {path}", "arguments": {"path": path, "content": "x"}}
        for path in PATHS
    ]
    edge.planner.assessments = [Assessment(60, 3)]
    async with thinking(edge, calls(("propose_plan", {"steps": steps})), says("Three notes, all alike.")):
        said = await edge.ann.say(OPS, "<@UBOT> make three notes")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        await edge.ann.click(messages(edge, said.ts)[0], "plan_stepwise")
        await edge.settled()
        for path in PATHS:
            (card,) = [m for m in messages(edge, said.ts) if m.text == f"Prepared: Write {path}"]
            await edge.ann.click(card, "confirm")
            await edge.settled()
            await edge.summaries_over()
            await edge.settled()
    assert edge.desk.notes == dict.fromkeys(PATHS, "x")
    _, last = messages(edge, said.ts)
    assert "Three notes, all alike." in shown(last.blocks)


async def test_a_question_of_a_model_becomes_what_was_answered(edge: Edge) -> None:
    which = {"questions": [{"question": "Which note?", "missing": "inputs"}]}
    edge.desk.notes["a.md"] = "alpha"
    answer = [calls(("desk__look", {"path": "a.md"})), says("It says alpha.")]
    async with thinking(edge, calls(("ask_requester", which)), *answer):
        said = await edge.ann.say(OPS, "<@UBOT> what is in the note?")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        (question,) = messages(edge, said.ts)
        await edge.ann.say(OPS, "a.md", said.ts)
        await edge.ws.wait_for(lambda: len(messages(edge, said.ts)) == 2, AGES)
        await edge.settled()
    assert question.text == "Questions: answered"
    assert "a.md" in shown(question.blocks)
    assert shown(messages(edge, said.ts)[1].blocks) == "It says alpha."


# Phrases


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    postbox = MailServer(tmp_path / "mails")
    servers = demo_servers(sample_desk(tmp_path / "desk", datetime.now(UTC)), await postbox.start())
    phrases = tmp_path / "phrases.yaml"
    phrases.write_text(BUNDLED.read_text("utf-8").replace("runbooks:\n", SEVEN, 1), "utf-8")
    limits = Limits(decision=AGES, proceed=0.5)
    try:
        async with running_product(
            tmp_path / "home", limits=limits, servers=servers, phrases=phrases
        ) as running:
            yield running
    finally:
        await postbox.stop()


def left(product: Product, ts: str) -> list[Message]:
    return [m for m in product.ws.by_app(OPS, ts) if m.visible_to is None]


def having(product: Product, ts: str, button: str, text: str = "") -> Callable[[], Message | None]:
    found = lambda m: button in buttons(m.blocks) and m.text.startswith(text)  # noqa: E731
    return lambda: next(filter(found, left(product, ts)), None)


async def said(product: Product, text: str) -> str:
    return (await product.ws.as_(ANN).say(OPS, f"<@UBOT> {text}")).ts


async def press(product: Product, ts: str, button: str, text: str = "") -> Any:
    message = await product.ws.wait_for(having(product, ts, button, text), 40)
    return await product.ws.as_(ANN).click(message, button)


async def over(product: Product, ts: str, *, count: int) -> list[str]:
    """The texts that remain once it is asked whether that was right."""

    def ended() -> bool:
        asks = any("needs?" in shown(m.blocks) for m in left(product, ts))
        return asks and len(left(product, ts)) == count

    await product.ws.wait_for(ended, 40)
    return [m.text for m in left(product, ts)]


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_stories_with_phrases_keep_to_the_budget(product: Product) -> None:
    ts = await said(product, "what is in reports")
    await product.ws.wait_for(lambda: len(left(product, ts)) == 1, 40)

    ts = await said(product, "copy README.md to reports")
    await press(product, ts, "confirm")
    assert (await over(product, ts, count=1))[0].startswith("Copied")

    ts = await said(product, "delete drafts/meeting-notes.md")
    await press(product, ts, "review")
    form = await product.ws.wait_for(lambda: asks_for_phrase(product.ws.as_(ANN)), 40)
    (phrase,) = [a.phrase for a in await product.parts.world.ledger.pending("T1")]
    await product.ws.as_(ANN).submit(form, {"phrase": {"phrase": phrase}})
    await over(product, ts, count=1)

    ts = await said(product, "write 'a' to s1.md then write 'b' to s2.md then write 'c' to s3.md")
    await press(product, ts, "plan_stepwise")
    for name in ("s1.md", "s2.md", "s3.md"):
        await press(product, ts, "confirm", f"Prepared: Write 1 B to {name}")
    await over(product, ts, count=2)

    ts = await said(product, "run archive-quarter")
    await product.ws.wait_for(lambda: left(product, ts), 40)
    (question,) = left(product, ts)
    await product.ws.as_(ANN).say(OPS, "q3", ts)
    await product.ws.wait_for(having(product, ts, "plan_approve"), 40)
    assert question.text == "Questions: answered"
    await press(product, ts, "plan_approve")
    texts = await over(product, ts, count=3)  # the question, the plan and the answer
    assert texts[0] == "Questions: answered"


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_a_runbook_of_seven_steps_over_three_servers_leaves_two_messages(product: Product) -> None:
    ts = await said(product, "run close-month for november")
    await press(product, ts, "plan_approve")
    for first_line in (
        "Copy reports/q3-figures.csv",
        "Write 7 B to archive",
    ):  # what is in a folder made before
        await press(product, ts, "confirm", f"Prepared: {first_line}")
    texts = await over(product, ts, count=2)  # the plan and the answer; four at most are allowed
    assert texts[0].startswith("Finished, 7 of 7 steps done")
    assert (product.files / "archive/november/figures.csv").exists()
