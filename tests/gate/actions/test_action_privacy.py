"""What is private to whoever asked stays so where the gate itself reads: previews, undos, plans, errors and the log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from pypdf import PdfReader

from gate.actions import edit, reissue, resolve_unknown, undo
from gate.actions.button_press import PressResult
from gate.actions.prepare import Answered, CallRequest, Prepared, Refused, prepare
from gate.arguments.declared_targets import Targets
from gate.rules.action import Action, CallClass
from gate.rules.action_states import State
from gate.rules.always_gated import ALWAYS
from gate.rules.approvers import Approvers
from gate.rules.audit import READ_ALONE, Entry
from gate.rules.planner_port import Call, Propose
from gate.rules.policy import Rule
from gate.rules.previews import measured
from gate.rules.reviews import Phase, Review
from gate.rules.sampling import RECORD, Sampled
from gate.rules.task import PauseReason, Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Answer, Show
from gate.tasks import review_queue
from servers.audit import server
from tests.gate.gate_setup import ANN, BEN, Scene
from tests.gate.plan_setup import (
    approved,
    confirmed,
    entries,
    look,
    only,
    planned,
    steps,
    waiting,
    write,
    wrote,
)
from views import rendering, task_pause
from views.card import card

PAY = "hr/pay.csv"
TOLD = "Ben earns 98,000"
PRIVATE_READS = Rule("salaries are private", ("desk.look",), texts=(r"^hr/",), private=True)
FROM_PAY = {"content": "{steps.s1.content}"}


@pytest.fixture
def desk(stage: Scene) -> Scene:
    """A desk with a file whose reads are private."""
    for tool in ("write", "look"):
        recipe = stage.desk.specs_now[tool].recipe
        declared = replace(recipe, targets=Targets(paths=("path",)))
        stage.desk.specs_now[tool] = replace(stage.desk.specs_now[tool], recipe=declared)
    stage.rule(PRIVATE_READS)
    stage.desk.notes[PAY] = TOLD
    return stage


def fail_reads(stage: Scene, *, that: Callable[[str], bool] = lambda path: path.startswith("hr/")) -> None:
    """From now on these reads fail, and say a part of what is there."""
    real: Callable[..., Awaitable[Answer]] = stage.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        if tool == "look" and that(json.loads(args)["path"]):
            return Answer(f"line 3: “{TOLD}” is no number", is_error=True)
        return await real(server, tool, args, seconds, definition)

    stage.desk.call = call  # type: ignore[method-assign]


async def told(stage: Scene, *, to_ann: bool = False) -> str:
    """All that others than Ann have been shown, as text; or what she has been."""
    cards = [card(one).blocks for one in stage.wall.cards.values() if one.private == to_ann]
    notes = [note.body for note in stage.wall.notes if (note.to == ANN) == to_ann]
    tasks = [] if to_ann else list(stage.wall.tasks.values())
    pauses = [task_pause.pause(one).blocks for one in tasks if one.state is TaskState.PAUSED]
    return json.dumps([cards, notes, pauses], ensure_ascii=False) + repr(tasks and [t.reason for t in tasks])


async def logged(stage: Scene) -> str:
    return repr([line.entry for line in await stage.ledger.audit_tail(team="T1", limit=1000)])


async def ask(stage: Scene, tool: str = "look", **args: str) -> Any:
    asked = CallRequest(stage.world.ids.new(), stage.session, ANN, Call("desk", tool, args))
    made = await prepare(stage.world, asked)
    await stage.play()
    return made


async def test_the_log_does_not_name_the_rule_that_a_private_read_runs_by(desk: Scene) -> None:
    named = "the dismissal of Bob"
    desk.rule(Rule(named, ("desk.look",), texts=(r"^hr/",), cls=CallClass.READ, private=True))
    assert isinstance(await ask(desk, path=PAY), Answered)
    (entry,) = await entries(desk, "read")
    assert entry.reason == measured(f"the operator's policy says so (“{named}”)")


# Previews


async def test_a_change_whose_preview_reads_something_private_is_private(desk: Scene) -> None:
    action = await desk.prepare(path=PAY, content="x")
    assert action.private
    assert TOLD in json.dumps(card(action).blocks)
    assert TOLD not in await told(desk)
    assert not (await desk.prepare(path="drafts/a.md", content="x")).private


async def test_a_private_change_stays_private_when_it_is_edited(desk: Scene) -> None:
    action = await desk.prepare(path=PAY, content="x")
    said = await edit.submit(desk.world, desk.press(action), {"path": "a.md", "content": "x"})
    assert isinstance(said, PressResult)
    assert said.ok
    assert (await desk.now(action.id)).private
    await desk.play()
    now = await desk.now(action.id)
    assert (now.version, now.private) == (3, True)


async def test_a_preview_that_reads_something_private_hides_no_card_from_approvers(desk: Scene) -> None:
    desk.rule(Rule("four eyes", ("desk.write",), approvers=Approvers(users=frozenset({BEN}))))
    made = await ask(desk, "write", path=PAY, content="x")
    assert isinstance(made, Refused)
    assert "hides the card from the approvers" in made.reasons[0]


async def test_a_private_read_that_fails_tells_nobody_what_it_said(desk: Scene) -> None:
    look_first = desk.desk.specs_now["write"].recipe.capture["before"]
    recipe = replace(
        desk.desk.specs_now["write"].recipe, capture={"before": replace(look_first, absent="not there")}
    )
    desk.desk.specs_now["write"] = replace(desk.desk.specs_now["write"], recipe=recipe)
    fail_reads(desk)
    made = await ask(desk, "write", path=PAY, content="x")
    assert isinstance(made, Refused)
    assert "A read failed" in made.reasons[0]
    assert TOLD not in repr(made) + await told(desk) + await logged(desk)


async def test_a_template_that_meets_a_private_error_does_not_quote_it(desk: Scene) -> None:
    fail_reads(desk)
    made = await ask(desk, "write", path=PAY, content="x")
    assert isinstance(made, Refused)
    assert TOLD not in repr(made) + await told(desk) + await logged(desk)


async def test_what_a_server_asks_a_model_in_a_private_read_is_not_kept(desk: Scene) -> None:
    real = desk.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        found = RECORD.get()
        assert found
        await found.write(Sampled(server, tool, f"Sum up: {json.loads(args)['path']}, {TOLD}", "ab", TOLD))
        return await real(server, tool, args, seconds, definition)

    desk.desk.call = call  # type: ignore[method-assign]
    await desk.prepare(path=PAY, content="x")
    await desk.prepare(path="a.md", content="x")
    private, public = await entries(desk, "sampled")
    assert TOLD not in repr(private)
    assert TOLD in repr(public)


async def test_a_check_of_a_private_target_tells_only_its_requester_what_is_there(desk: Scene) -> None:
    action = await desk.prepare(path=PAY, content="x")
    desk.desk.behave = "breaks the line"
    assert (await desk.confirm(action)).ok
    await desk.play()
    for user, seen in ((ANN, True), (BEN, False)):
        await resolve_unknown.check_target(desk.world, action.id, user)
        await desk.play()
        assert (TOLD in repr([note.body for note in desk.wall.notes if note.to == user])) is seen


# Undo


async def test_an_undo_whose_preview_reads_something_private_is_private(stage: Scene) -> None:
    back = stage.desk.specs_now["put_back"]
    shows = Show("diff", "{capture.before.content}", "{args.content}", "{args.path}")
    stage.desk.specs_now["put_back"] = replace(back, recipe=replace(back.recipe, show=shows))
    stage.desk.notes[PAY] = "old"
    action = await stage.prepare(path=PAY, content="x")
    await confirmed_alone(stage, action)
    stage.rule(PRIVATE_READS)
    stage.desk.notes[PAY] = TOLD
    assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
    await stage.play()
    (asked,) = [one for one in stage.wall.cards.values() if one.undoes]
    assert (asked.private, asked.version) == (True, 2)
    assert TOLD not in await told(stage)


async def confirmed_alone(stage: Scene, action: Action) -> None:
    assert (await stage.confirm(action)).ok
    await stage.play()


async def test_a_private_change_is_asked_again_and_undone_in_private(desk: Scene) -> None:
    action = await desk.prepare(path=PAY, content="x")
    await confirmed_alone(desk, action)
    desk.desk.notes[PAY] = TOLD
    assert (await undo.request_undo(desk.world, desk.press(await desk.now(action.id)))).ok
    await desk.play()
    assert all(one.private for one in desk.wall.cards.values())
    assert TOLD not in await told(desk)


# Plans


async def test_a_step_that_takes_a_private_result_is_private(desk: Scene) -> None:
    plan = await planned(desk, look(PAY), write("a.md", refs=FROM_PAY), write("b.md"))
    await approved(desk, plan)
    action = await waiting(desk)
    assert action.private
    assert TOLD in json.dumps(card(action).blocks)
    assert TOLD not in await told(desk)
    task = await confirmed(desk, action)
    assert wrote(desk) == ["a.md", "b.md"]
    assert TOLD not in await told(desk) + repr([step.text for step in steps(task)])


async def test_a_step_that_takes_a_private_result_is_private_when_it_is_asked_again(desk: Scene) -> None:
    await approved(desk, await planned(desk, look(PAY), write("a.md", refs=FROM_PAY)))
    action = await waiting(desk)
    desk.travel(100_000)
    await desk.play(timers=True)
    await reissue.reissue(desk.world, action.id, ANN, "1")
    await desk.play()
    again = await waiting(desk)
    assert (again.id != action.id, again.private) == (True, True)
    assert TOLD not in await told(desk)


async def test_arguments_from_a_private_result_that_do_not_fit_are_not_quoted(desk: Scene) -> None:
    desk.desk.notes[PAY] = json.dumps({"who": TOLD})
    spec = desk.desk.specs_now["write"]
    narrow = {**spec.schema, "properties": {**spec.schema["properties"], "path": {"enum": ["a.md"]}}}
    desk.desk.specs_now["write"] = replace(spec, schema=narrow)
    plan = await planned(desk, look(PAY), write("a.md", refs={"path": "{steps.s1.content}"}))
    task = await approved(desk, plan)
    assert task.state is TaskState.PAUSED
    assert TOLD not in task.reason + await told(desk)
    refusals = await entries(desk, "refused")
    assert TOLD not in repr(refusals)


async def test_a_read_that_takes_a_private_result_is_private(desk: Scene) -> None:
    desk.desk.notes[PAY] = "b.md"
    desk.desk.notes["b.md"] = TOLD
    plan = await planned(desk, look(PAY), look("b.md", refs={"path": "{steps.s1.content}"}), write("c.md"))
    await approved(desk, plan)
    assert TOLD not in await told(desk) + await logged(desk)
    assert TOLD in await told(desk, to_ann=True)


async def test_a_private_read_without_a_title_is_called_as_its_tool_is(desk: Scene, tmp_path: Path) -> None:
    name_reads(desk)
    desk.desk.notes[PAY] = "ben-is-fired.md"
    desk.desk.notes["ben-is-fired.md"] = "x"
    fired = look("b.md", title=" \n", refs={"path": "{steps.s1.content}"})
    task = await approved(desk, await planned(desk, look(PAY), fired, write("c.md")))
    assert task.plan is not None
    assert [step.title for step in steps(task)][1] == "Look"
    assert "fired" not in await shown_to_everybody(desk, task) + await read_by_anybody(tmp_path)


@pytest.mark.parametrize("follows", [False, True])
async def test_a_simple_request_does_not_say_what_it_read_in_private(
    desk: Scene, tmp_path: Path, follows: bool
) -> None:
    name_reads(desk)
    desk.planner.follows = follows
    calls = (
        Call("desk", "look", {"path": "hr/ben-is-fired.csv"}),
        Call("desk", "write", {"path": "a.md", "content": "x"}),
    )
    desk.planner.script.append(Propose(calls))
    await desk.say("look and write")
    task = await confirmed(desk)
    assert task.result.startswith("2 done: Looked; ")
    assert "fired" not in await shown_to_everybody(desk, task) + await read_by_anybody(tmp_path)


def name_reads(stage: Scene) -> None:
    """Reads are called by what they read."""
    spec = stage.desk.specs_now["look"]
    recipe = replace(spec.recipe, summary="Read {args.path}")
    stage.desk.specs_now["look"] = replace(spec, recipe=recipe)


async def shown_to_everybody(stage: Scene, task: Task) -> str:
    """All that others than Ann have been shown of a task, and what the log says of it beside its reads."""
    cards = [repr(one.message) for one in rendering.of_task(task)]
    lines = await stage.ledger.audit_tail(team="T1", limit=1000)
    logged = repr([line.entry for line in lines if line.entry.outcome != READ_ALONE])
    return task.result + await told(stage) + "".join(cards) + logged


async def test_a_private_read_that_fails_in_a_plan_tells_its_error_to_its_requester_alone(
    desk: Scene,
) -> None:
    fail_reads(desk)
    task = await approved(desk, await planned(desk, look(PAY), write("a.md")))
    assert task.state is TaskState.PAUSED
    assert task.reason == "Step 1 failed: Its result was shown to whoever asked alone."
    assert TOLD not in await told(desk) + await logged(desk)
    assert TOLD in await told(desk, to_ann=True)


async def test_why_the_result_of_a_private_step_is_not_trusted_does_not_quote_it(desk: Scene) -> None:
    await approved(desk, await planned(desk, write(PAY), write("a.md")))
    real = desk.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        answer = await real(server, tool, args, seconds, definition)
        return Answer(f"Error: {TOLD}", {"error": TOLD}) if tool == "write" else answer

    desk.desk.call = call  # type: ignore[method-assign]
    task = await confirmed(desk)
    assert (task.state, task.why) == (TaskState.PAUSED, PauseReason.DOUBT)
    assert TOLD not in task.reason + await told(desk) + await logged(desk)


async def test_a_failed_look_at_what_a_private_result_names_is_not_quoted(desk: Scene) -> None:
    desk.desk.notes[PAY] = "b.md"
    fail_reads(desk, that=lambda path: path == "b.md")
    task = await approved(
        desk, await planned(desk, look(PAY), write("b.md", refs={"path": "{steps.s1.content}"}))
    )
    assert task.state is TaskState.PAUSED
    assert TOLD not in task.reason + await told(desk) + await logged(desk)


async def test_a_plan_shows_nothing_of_a_change_whose_preview_is_private(desk: Scene) -> None:
    task = await planned(desk, write(PAY), write("b.md"))
    assert TOLD not in repr(steps(task)) + await told(desk)
    await approved(desk, task)
    assert (await waiting(desk)).private


async def test_calls_of_one_reply_whose_previews_are_private_have_cards_of_their_own(desk: Scene) -> None:
    calls = [Call("desk", "write", {"path": path, "content": "x"}) for path in (PAY, "a.md", "b.md")]
    desk.planner.script.append(Propose(tuple(calls)))
    await desk.say("write them")
    private = [one for one in await desk.ledger.pending("T1") if one.private]
    assert [json.loads(one.args)["path"] for one in private] == [PAY]
    assert private[0].id in desk.wall.cards
    assert TOLD not in await told(desk)


async def test_a_private_step_of_a_reply_is_called_by_no_name_that_programs_use(desk: Scene) -> None:
    desk.planner.script.append(Propose((Call("desk", "write", {"path": PAY, "content": "x"}),)))
    await desk.say("write it")
    (step,) = steps(await only(desk))
    assert step.title == "Write"


async def test_a_review_of_a_private_step_is_listed_for_its_requester_alone(desk: Scene) -> None:
    look_at = Review("looked at", Phase.AFTER, tools=("desk.look",))
    desk.world = replace(desk.world, policy=replace(desk.world.policy, reviews=(look_at,)))
    desk.desk.notes[PAY] = "b.md"
    desk.desk.notes["b.md"] = TOLD
    plan = await planned(desk, look(PAY), look("b.md", refs={"path": "{steps.s1.content}"}))
    task = await approved(desk, plan)
    assert task.state is TaskState.PAUSED
    assert await review_queue.pending_reviews(desk.world, "T1", BEN) == ()
    assert await review_queue.detail(desk.world, "T1", BEN, task.id) is None
    assert await review_queue.detail(desk.world, "T1", ANN, task.id) is not None


# The log


async def test_the_log_keeps_of_a_private_read_only_length_and_hash(desk: Scene) -> None:
    made = await ask(desk, path=PAY)
    assert isinstance(made, Answered)
    (entry,) = await entries(desk, "read")
    assert entry.result == measured(made.answer.text)
    assert TOLD not in await logged(desk)


async def test_the_log_keeps_of_a_private_change_only_length_and_hash(desk: Scene) -> None:
    action = await desk.prepare(path=PAY, content="x")
    desk.desk.behave, desk.desk.refusal = "says no", f"“{TOLD}” stands there"
    await confirmed_alone(desk, action)
    (entry,) = await entries(desk, "failed")
    assert entry.result == measured(desk.desk.refusal)
    assert TOLD not in await logged(desk)


async def test_the_log_keeps_of_a_secret_file_that_was_typed_for_only_length_and_hash(stage: Scene) -> None:
    for rule in ALWAYS:
        stage.rule(rule)
    recipe = replace(stage.desk.specs_now["look"].recipe, targets=Targets(paths=("path",)))
    stage.desk.specs_now["look"] = replace(stage.desk.specs_now["look"], recipe=recipe)
    stage.desk.notes[".env"] = "PIN=482913"
    action = await stage.prepare("look", path=".env")
    assert (await stage.confirm(action, typed=action.phrase)).ok
    await stage.play()
    now = await stage.now(action.id)
    assert now.outcome
    assert "482913" in now.outcome.text
    (entry,) = await entries(stage, "succeeded")
    assert entry.result == measured(now.outcome.text)
    assert "482913" not in await logged(stage)


async def test_the_log_keeps_of_a_private_result_that_was_released_only_length_and_hash(desk: Scene) -> None:
    look_at = Review("looked at", Phase.AFTER, tools=("desk.look",))
    desk.world = replace(desk.world, policy=replace(desk.world.policy, reviews=(look_at,)))
    made = await ask(desk, path=PAY)
    assert isinstance(made, Prepared)
    assert made.action.state is State.SUCCEEDED
    await desk.play()
    assert TOLD not in await told(desk) + await logged(desk)


@asynccontextmanager
async def audit_server(folder: Path) -> AsyncIterator[Client]:
    """The bundled server over the scene's log, which is in this folder, too."""
    async with Client(server(str(folder / "countersign.db"), [folder])) as client:
        yield client


async def read_by_anybody(folder: Path) -> str:
    """All that the tools of the audit server tell of the log, which anybody may read."""
    async with audit_server(folder) as client:
        calls = [("get_tool_log", {"every_event": True}), ("generate_audit_report", {})]
        found = [await client.call_tool(tool, args) for tool, args in calls]
        made = {"path": "a.pdf", "up_to": 1000}
        await client.call_tool("export_audit_pdf", made)
    text = "".join(page.extract_text() for page in PdfReader(folder / "a.pdf").pages)
    return repr([one.structured_content for one in found]) + text


async def kept_by_an_earlier_version(stage: Scene, event: str, action: str) -> None:
    """An entry with a whole result, as they once were."""
    async with stage.ledger.begin() as tx:
        tx.audit(
            Entry(
                event=event,
                session=stage.session.key,
                actor=ANN,
                action=action,
                tool="desk.look",
                result=f"{TOLD} 482913",
                status="success",
                outcome="read",
            )
        )


async def test_the_audit_server_tells_nobody_what_was_private(desk: Scene, tmp_path: Path) -> None:
    action = await desk.prepare(path=PAY, content="her new salary")
    await confirmed_alone(desk, action)
    await ask(desk, path=PAY)
    await ask(desk, path="drafts/a.md")
    told_of = await read_by_anybody(tmp_path)
    assert "her new salary" not in told_of
    assert PAY not in told_of
    assert "drafts/a.md" in told_of


async def test_the_audit_server_tells_no_result_that_an_earlier_version_kept(
    desk: Scene, tmp_path: Path
) -> None:
    for rule in ALWAYS:
        desk.rule(rule)
    private = await desk.prepare(path=PAY, content="x")
    secret = await desk.prepare("look", path=".env")
    for event, action in (("succeeded", private.id), ("succeeded", secret.id), ("read", "gone")):
        await kept_by_an_earlier_version(desk, event, action)
    assert TOLD in await logged(desk)
    told_of = await read_by_anybody(tmp_path)
    assert TOLD not in told_of
    assert "482913" not in told_of


async def test_the_audit_server_tells_the_result_of_what_everybody_saw(desk: Scene, tmp_path: Path) -> None:
    await confirmed_alone(desk, await desk.prepare(path="drafts/a.md", content="for all"))
    async with audit_server(tmp_path) as client:
        found = (await client.call_tool("get_tool_log", {})).structured_content
    assert found
    assert "for all" in found["entries"][0]["result"]
