"""The three flows of a task by mouse, with a model over HTTP for a planner: what people say reaches it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import expect

from gate.rules.ports import Limits
from gate.sentences.past_tense import past
from tests.browser.browser_pages import OpenWindow, Window
from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage
from tests.model_stub import Answer, Heard, ModelStub, assesses, calls, fails, says
from tests.product import Product, running_product
from workspace.faults import Slow

pytestmark = pytest.mark.browser

SUMMARY, FIGURES = "reports/q3-summary.md", "reports/q3-figures.csv"
ANN = "U_ANN"
Tool = tuple[str, Mapping[str, Any]]


@dataclass
class Script:
    """What the model answers next: written down before the person does what makes the bot ask it."""

    left: list[Answer] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)

    def next(self, *answers: Answer) -> None:
        assert self.left == []
        self.left += answers

    def __call__(self, heard: Heard) -> Answer:
        if self.left:
            return self.left.pop(0)
        self.surprises.append(heard.text)
        return fails(400, "nothing is written for this")


@dataclass(frozen=True)
class ProductWithModel:
    """The product, the model that it asks, and that model's script."""

    product: Product
    stub: ModelStub
    script: Script

    @property
    def last(self) -> Heard:
        """What the model was asked last."""
        return self.stub.requests[-1]


@on_one_loop
async def running(tmp_path: Path) -> AsyncIterator[ProductWithModel]:
    script = Script()
    async with ModelStub(script, assessment=None) as stub:
        async with running_product(tmp_path, limits=Limits(proceed=0.5), model=stub.config()) as product:
            yield ProductWithModel(product, stub, script)
    assert (script.left, script.surprises) == ([], [])


@on_one_loop
async def open_window(running: ProductWithModel, open_page: OpenPage) -> OpenWindow:
    async def open_as(user: str) -> Window:
        return Window(await open_page(f"{running.product.ws.url}/?as={user}"))

    return open_as


def read(path: str) -> Tool:
    return "filesystem__read_file", {"path": path}


def write(path: str, content: str) -> Tool:
    return "filesystem__write_file", {"path": path, "content": content}


def copy(source: str) -> Tool:
    return "filesystem__copy_file", {"source": source, "destination": "archive"}


def plan(*steps: Tool, ask_first: bool = False) -> Answer:
    listed: list[dict[str, Any]] = [
        {"tool": tool, "title": " ".join(map(str, args.values())), "arguments": dict(args)}
        for tool, args in steps
    ]
    if ask_first:
        listed[0]["ask_here"] = True
    return calls(("propose_plan", {"steps": listed}))


def unclear(question: str, assumption: str = "") -> Answer:
    asked = {
        "question": question,
        "missing": "outputs",
        **({"assumption": assumption} if assumption else {}),
    }
    return assesses(60, 4, clear=False, questions=[asked])


async def sent(ann: Window, label: str, text: str) -> None:
    """Fill the one field of the open window that is called so, and submit."""
    await ann.modal.get_by_label(label).first.fill(text)
    await ann.submit()
    await expect(ann.modal).to_have_count(0)


async def confirmed(ann: Window, what: str) -> None:
    """Wait for the card of a change, and confirm it."""
    await ann.is_asked(what)
    await ann.press("confirm")
    await ann.sees(past(what))


@pytest.mark.slow
async def test_a_complex_task_is_clarified_planned_changed_planned_anew_and_run_with_checkpoints_and_another_one_cancelled(
    running: ProductWithModel, open_window: OpenWindow
) -> None:
    ann, before = await open_window(ANN), running.product.names()
    running.script.next(unclear("Where should they go?"))
    await ann.ask("[complex] keep the Q3 reports safe")
    await ann.sees("Before I start")
    running.script.next(assesses(60, 4), plan(copy(SUMMARY), copy(FIGURES), copy("drafts/q3-draft.md")))
    await ann.thread.get_by_label("Where should they go?").fill("into the archive")
    await ann.press("task_submit")
    await ann.sees("3 steps", "asks you on its own card")
    assert "into the archive" in running.last.text
    await expect(ann.button("plan_approve")).to_have_count(0)

    await ann.press("plan_modify")
    await sent(ann, "Instruction for this step", "leave its date as it is")
    await ann.sees("A newer plan took the place of this one")
    running.script.next(plan(copy(SUMMARY), copy(FIGURES)))
    await ann.press("plan_replan")
    await sent(ann, "What should the new plan do differently?", "the draft is no report")
    await ann.sees("Planned again: the draft is no report", "2 steps")
    assert "the draft is no report" in running.last.text
    assert "leave its date as it is" in running.last.text
    assert running.product.names() == before

    await ann.press("plan_stepwise")
    await confirmed(ann, f"Copy {SUMMARY}")
    await ann.sees("Step 1 is done")
    assert running.product.text("archive/q3-figures.csv") is None
    await ann.press("task_resume")
    await confirmed(ann, f"Copy {FIGURES}")
    running.script.next(says("Both reports are in the archive, too."))
    await ann.press("task_resume")
    await ann.sees("2 of 2 steps done", "Both reports are in the archive, too.", "Does this meet your needs?")
    assert running.product.names() - before == {"archive/q3-summary.md", "archive/q3-figures.csv"}
    await _skipped_and_cancelled(running, ann)


async def _skipped_and_cancelled(running: ProductWithModel, ann: Window) -> None:
    before = running.product.names()
    running.script.next(unclear("Where should it go?", "the folder archive"))
    await ann.ask("[complex] keep the meeting's notes safe, too")
    await ann.sees("Without an answer I assume: the folder archive")
    running.script.next(assesses(60, 4), plan(copy("drafts/meeting-notes.md")))
    await ann.press("task_assume")
    await ann.sees("Assumed:", "1 step")
    assert "Assumed, because nobody answered" in running.last.text
    assert "the folder archive" in running.last.text
    await ann.press("plan_cancel")
    await ann.sees("Cancelled")
    await expect(ann.button("plan_stepwise")).to_have_count(0)
    assert running.product.names() == before


@pytest.mark.slow
async def test_a_change_is_changed_with_what_was_said_before_and_started_over_without(
    running: ProductWithModel, open_window: OpenWindow
) -> None:
    ann = await open_window(ANN)
    good, july = write("q3.md", "It was a good quarter."), write("july.md", "July was the cheapest month.")
    running.script.next(assesses(), calls(read(SUMMARY)), calls(good), says("I wrote q3.md."))
    await ann.ask("write down how Q3 went")
    await ann.press("confirm")
    await ann.sees("I wrote q3.md.", "Does this meet your needs?")

    running.script.next(calls(read(FIGURES)), calls(july), says("I wrote july.md."))
    await ann.thread.get_by_role("button", name="Needs changes…").last.click()
    await sent(ann, "What should be different?", "which month was the cheapest?")
    await ann.press("confirm")
    await ann.sees("I wrote july.md.")
    for known in ("which month was the cheapest?", "Revenue grew by 12 percent", "July,41200"):
        assert known in running.last.text
    await expect(ann.button("task_start_over")).to_be_visible()

    again = write("q3.md", "Revenue grew.")
    running.script.next(assesses(), calls(read(SUMMARY)), calls(again), says("Revenue grew, it says now."))
    await ann.press("task_start_over")
    await ann.press("confirm")
    await ann.sees("Revenue grew, it says now.")
    assert "write down how Q3 went" in running.last.text
    assert "Revenue grew by 12 percent" in running.last.text  # it read that again
    assert not any(old in running.last.text for old in ("cheapest", "July,", "I wrote"))
    await ann.thread.get_by_role("button", name="Yes, done").last.click()
    await expect(ann.button("task_satisfied")).to_have_count(0)
    assert running.product.text("q3.md") == "Revenue grew."


@pytest.mark.slow
async def test_a_talk_becomes_requirements_and_a_plan_that_pauses_and_takes_in_what_is_said(
    running: ProductWithModel, open_window: OpenWindow
) -> None:
    ann, script = await open_window(ANN), running.script
    script.next(assesses(50, 4), says("Which method do you prefer?"))
    await ann.ask("[conversational] Help me design a new authentication system")
    await ann.sees("Which method do you prefer?")
    for said, answer in TALK:
        script.next(says(answer))
        await ann.reply(said)
        await ann.sees(answer)
    await expect(ann.button("task_confirm")).to_have_count(0)

    script.next(calls(("implement", {"requirements": REQUIREMENTS})))
    await ann.reply("yes, implement it")
    await ann.sees(*REQUIREMENTS, "I ask because you wrote “implement it”.")
    assert all(said in running.last.text for said, _ in TALK)
    script.next(plan(write("drafts/auth.md", "OAuth"), write("drafts/tokens.md", "JWT"), ask_first=True))
    await ann.press("task_confirm")
    await ann.sees("2 steps")
    assert all(one in running.last.text for one in REQUIREMENTS)
    await ann.press("plan_approve")

    await ann.is_asked("Write 5 B to drafts/auth.md")
    await ann.press("task_pause")
    await ann.sees("Paused, as asked", "Step 1 still waits for a decision on its card.")
    await ann.press("confirm")
    await ann.sees("Paused before step 2.")  # and the card of the step is gone
    script.next(plan(write("drafts/tokens.md", "JWT, 15 minutes")))
    await ann.thread.get_by_label("What should I know before it goes on?").last.fill("they live 15 minutes")
    await ann.press("task_resume")
    await ann.is_asked("Write 15 B to drafts/tokens.md")  # nobody has approved what it is now
    assert "they live 15 minutes" in running.last.text
    assert running.product.text("drafts/tokens.md") is None

    await ann.reply("describe the logout in a third file")
    await ann.sees("Got it. It applies after the current step.")
    await ann.reply("@Countersign status")
    await ann.is_told("tokens in")
    script.next(plan(write("drafts/logout.md", "Bye")))
    await ann.press("confirm")
    await ann.sees("is your yes to step 3")  # all that was approved is done, so this is a new plan
    assert "describe the logout in a third file" in running.last.text
    assert running.product.text("drafts/logout.md") is None
    script.next(says("The design is in three notes."))
    await ann.press("plan_approve")
    await ann.sees("3 of 3 steps done", "The design is in three notes.", "Does this meet your needs?")
    assert running.product.text("drafts/tokens.md") == "JWT, 15 minutes"


TALK = (
    ("OAuth with Google and GitHub", "Good choice. Where do sessions live?"),
    ("JWT tokens", "Here is what I understand: OAuth, then JWT."),
    ("how would you build it?", "I would write two notes first."),
)
REQUIREMENTS = ["People log in with Google and GitHub by OAuth.", "Sessions are JWT tokens."]


@pytest.mark.slow
async def test_a_model_hears_what_people_make_of_its_calls_together_by_a_no_and_by_an_edit(
    running: ProductWithModel, open_window: OpenWindow
) -> None:
    ann = await open_window(ANN)
    running.script.next(assesses(), calls(copy(SUMMARY), copy(FIGURES)), says("Both are in the archive now."))
    await ann.ask("copy both reports to the archive")
    await ann.sees("2 changes prepared", "yes to all 2")
    assert running.product.text("archive/q3-summary.md") is None
    await ann.press("confirm_all")
    await ann.sees("2 changes done", "Both are in the archive now.")
    assert running.product.text("archive/q3-figures.csv") == running.product.text(FIGURES)
    assert [told[:17] for told in running.last.results] == ["status: succeeded"] * 2
    await _rejected(running, ann)
    await _edited(running, ann)


@pytest.mark.slow
async def test_a_long_answer_in_direct_messages_grows_and_survives_a_reload(
    running: ProductWithModel, open_page: OpenPage
) -> None:
    ws = running.product.ws
    page = await open_page(f"{ws.url}/?as={ANN}#{ws.as_(ANN).im}")
    ann, told = Window(page), [f"Point {n}. " + "It is a long story. " * 10 for n in range(4)]
    ws.faults.on("chat.appendStream", Slow(2.0))
    running.script.next(assesses(), says("\n\n".join(told)))
    await ann.write("how was the third quarter?")
    await ann.open("how was the third quarter?")
    await expect(ann.thread.get_by_test_id("streaming")).to_be_visible()
    await page.reload()
    await ann.sees("Point 0.", "Point 3.")
    await expect(ann.thread.get_by_test_id("streaming")).to_have_count(0)
    await page.reload()
    await ann.sees(*(one.strip() for one in told))
    assert [entry.name for entry in ws.log if entry.name in ("chat.postMessage", "chat.update")] == []


async def _rejected(running: ProductWithModel, ann: Window) -> None:
    """A no with its reason, which ends it, whatever the model says."""
    again = calls(write("notes.md", "hello"))
    running.script.next(assesses(), again, again, says("Done, I have written it."))
    await ann.ask("write hello to notes.md")
    await ann.is_asked("Write 5 B to notes.md")
    asked = len(running.stub.requests)
    await ann.press("more")
    await ann.page.get_by_role("menuitem", name="Reject with a reason…").click()
    await sent(ann, "Why not?", "we have enough notes")
    await ann.sees("Rejected by @Ann", "This is what happened:", "we have enough notes")
    assert "we have enough notes" in running.last.text
    assert len(running.stub.requests) - asked == 2
    await expect(ann.thread).not_to_contain_text("Done, I have written it.")
    assert running.product.text("notes.md") is None


async def _edited(running: ProductWithModel, ann: Window) -> None:
    running.script.next(assesses(), calls(write("notes.md", "hello")), says("The note is there."))
    await ann.ask("write hello to notes.md, please")
    await ann.is_asked("Write 5 B to notes.md")
    await ann.press("edit")
    await sent(ann, "content", "hello, world")
    await ann.sees("Edited by @Ann")
    await confirmed(ann, "Write 12 B to notes.md")
    await ann.sees("The note is there.")
    (told,) = running.last.results
    assert f"Edited by <@{ANN}>" in told
    assert "hello, world" in told
    assert running.product.text("notes.md") == "hello, world"
