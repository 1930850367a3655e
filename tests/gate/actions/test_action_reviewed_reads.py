"""What a review wants looked at is told by no preview, whose reads nobody has looked at."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import resolve_unknown, result_review, undo
from gate.actions.prepare import CallRequest, prepare
from gate.actions.preview import NOT_QUOTED
from gate.rules.access import Token, TokenKind
from gate.rules.action import Action, Verdict
from gate.rules.action_states import State
from gate.rules.ids import derive_id
from gate.rules.planner_port import Call
from gate.rules.previews import COVERED_BY_REVIEW, NOTIFIES_UNSEEN, TOUCHED_UNSEEN
from gate.rules.reviews import Phase
from gate.rules.tool import Answer, Each, Read, ServerUnavailable, Show, Summary, Undo
from gate.rules.undo_privacy import HELD as UNDO_HELD
from gate.rules.undo_privacy import NOT_SEEN
from gate.rules.unreleased_results import redacted_undo
from gate.tasks import plan as flow
from handlers.api import action_responses, task_responses
from tests.gate.gate_setup import ANN, TEAM, Scene
from tests.gate.plan_setup import on_plan, only, planned, pressed, write, wrote
from tests.gate.tasks.test_task_step_review import reviewing
from views.card import card

HELD = "canary-7f3k"
PHASES = [Phase.BEFORE, Phase.AFTER]
FOUND = {
    "before": Read("look", {"path": "{args.path}"}),
    "found": Read("look", {"path": "{each}"}, each=Each("{capture.before.content}", r"\S+", "{read.sha}")),
}
NAMED = {
    "before": Read("look", {"path": "{args.path}"}),
    "named": Read("look", {"path": "{each}"}, each=Each("{args.path}", r"\S+", "a.md")),
}


@pytest.fixture(params=PHASES)
def desk(stage: Scene, request: pytest.FixtureRequest) -> Scene:
    reviewing(stage, request.param, "desk.look")
    stage.desk.notes["a.md"] = f"{HELD}\n"
    return stage


def recipe(stage: Scene, tool: str, **changes: Any) -> None:
    spec = stage.desk.specs_now[tool]
    stage.desk.specs_now[tool] = replace(spec, recipe=replace(spec.recipe, **changes))


def agent(action: Action) -> Token:
    return Token("1", TokenKind.AGENT, "t", "T1", ANN, ("C_OPS",), action.created_at, action.created_at)


def told(action: Action) -> str:
    """All that an agent and the thread are told of it."""
    shown = [card(action).blocks, action_responses.action(agent(action), action)]
    return str([*shown, action_responses.as_text(action)])


async def test_a_card_says_that_it_does_not_show_what_a_review_holds(desk: Scene):
    action = await desk.prepare(path="a.md", content="new")
    assert (action.verdict, action.preview.problem) == (Verdict.CONFIRM, "")
    assert HELD not in told(action)
    assert COVERED_BY_REVIEW in told(action)
    assert "new" in told(action)
    assert (await desk.confirm(action)).ok
    await desk.play()
    assert desk.desk.notes["a.md"] == "new"


async def test_without_a_review_of_that_read_the_card_shows_it(stage: Scene):
    reviewing(stage, Phase.AFTER, "desk.write")
    stage.desk.notes["a.md"] = HELD
    action = await stage.prepare(path="a.md", content="new")
    assert HELD in told(action)
    assert COVERED_BY_REVIEW not in told(action)


async def test_what_went_wrong_in_a_read_that_a_review_holds_is_not_quoted(desk: Scene):
    async def call(*_: object) -> Answer:
        raise ServerUnavailable(f"line 3: {HELD}")

    desk.desk.call = call  # type: ignore[method-assign,assignment]
    asked = CallRequest("w", desk.session, ANN, Call("desk", "write", {"path": "a.md", "content": "x"}))
    found = await prepare(desk.world, asked)
    assert NOT_QUOTED[1:] in str(found)
    assert HELD not in str(found)


async def test_no_words_of_a_recipe_quote_what_a_review_holds(desk: Scene):
    recipe(
        desk, "write",
        summary="Write over {capture.before.content}",
        summaries=[Summary("Replace {args.path}, which is {capture.before.content}", "{capture.before.exists}")],
        show=Show("text", after="Now: {capture.before.content}"),
        notifies="{capture.before.content}",
        recoverable="from {capture.before.content}",
        noun="{capture.before.content}",
    )  # fmt: skip
    action = await desk.prepare(path="a.md", content="new")
    assert HELD not in told(action) + action.phrase
    assert action.preview.notifies == NOTIFIES_UNSEEN


async def test_a_phrase_does_not_quote_what_a_review_holds(desk: Scene):
    desk.desk.notes["a.md"] = HELD
    recipe(desk, "shred", noun="{capture.before.content}")
    action = await desk.prepare("shred", path="a.md")
    assert action.phrase
    assert HELD not in action.phrase + told(action)


async def test_what_touches_unseen_things_is_not_confirmed(desk: Scene):
    recipe(desk, "write", show=Show("affected", items="{capture.found.items}"), capture=FOUND)
    action = await desk.prepare(path="a.md", content=f"see @{HELD}")
    assert action.preview.problem == TOUCHED_UNSEEN
    assert not (await desk.confirm(action)).ok
    assert action.preview.affected == ()


async def test_what_the_arguments_name_is_still_listed(desk: Scene):
    recipe(desk, "write", show=Show("affected", items="{capture.named.items}"), capture=NAMED)
    action = await desk.prepare(path="a.md", content="new")
    assert [one.name for one in action.preview.affected] == ["a.md"]
    assert action.preview.is_complete


async def test_a_plan_does_not_show_an_agent_what_a_review_holds(desk: Scene):
    task = await planned(desk, write("a.md"), write("b.md"))
    token = Token("1", TokenKind.AGENT, "t", "T1", ANN, ("C_OPS",), task.created_at, task.created_at)
    shown = str([task_responses.task(token, task, (), None), task.plan])
    assert HELD not in shown
    assert COVERED_BY_REVIEW in shown
    await pressed(desk, flow.approve_all, on_plan(await only(desk)))
    assert wrote(desk) == ["a.md", "b.md"]


async def test_an_undo_works_and_tells_an_agent_nothing_of_it(desk: Scene):
    action = await desk.prepare(path="a.md", content="new")
    assert (await desk.confirm(action)).ok
    await desk.play()
    action = await desk.now(action.id)
    assert (await undo.request_undo(desk.world, desk.press(action))).code == "undoing"
    await desk.play()
    assert desk.desk.notes["a.md"] == f"{HELD}\n"
    back = await desk.ledger.action(derive_id("undo", action.id, 0))
    assert back is not None
    assert HELD in str(back.args)
    assert HELD not in str(action_responses.action(agent(back), redacted_undo(action, back)))


async def test_the_card_of_an_undo_and_the_log_tell_nothing_of_it(desk: Scene):
    action = await desk.prepare(path="a.md", content="new")
    assert (await desk.confirm(action)).ok
    await desk.play()
    desk.desk.notes["a.md"] = "changed since"  # so that the undo asks on a card of its own
    assert (await undo.request_undo(desk.world, desk.press(await desk.now(action.id)))).ok
    await desk.play()
    (asked,) = await desk.ledger.pending(TEAM, user=ANN)
    assert {UNDO_HELD, "Changed since: sha."} < set(asked.preview.notes)
    assert HELD not in told(asked)
    assert (await desk.confirm(asked)).ok
    await desk.play()
    assert desk.desk.notes["a.md"] == f"{HELD}\n"
    back = await desk.now(asked.id)
    assert back.state is State.SUCCEEDED
    assert HELD not in told(back) + str(await desk.ledger.audit_tail(team=TEAM, limit=100))


async def test_the_card_of_an_undo_tells_nothing_of_a_result_that_was_rejected(stage: Scene):
    asked, sha = await undo_of_rejected(stage)
    assert sha in str(asked.args)
    assert sha[:12] not in told(asked)
    assert asked.preview.notes[0] == "Changed since: sha."


def each_of(text: str, take: str) -> dict[str, Read]:
    """A look at each name that stands in this text."""
    return {**NAMED, "all": Read("look", {"path": "{each}"}, each=Each(text, r"\S+", take))}


async def undo_of_rejected(stage: Scene, tool: str = "put_back") -> tuple[Action, str]:
    """The undo, on its card, of a call whose result was rejected, and what of that it takes."""
    reviewing(stage, Phase.AFTER, "desk.write")
    given = {"content": "{result.sha}"} if tool == "put_back" else {}
    path = "{args.path}" if tool == "put_back" else "{result.sha}"
    recipe(stage, "write", undo=[Undo(tool, {"path": path, **given})])
    stage.desk.notes["a.md"] = "old"
    action = await stage.prepare(path="a.md", content="new")
    assert (await stage.confirm(action)).ok
    await stage.play()
    assert (await result_review.reject(stage.world, stage.press(await stage.now(action.id)))).ok
    stage.desk.notes["a.md"] = "changed since"
    now = await stage.now(action.id)
    assert (await undo.request_undo(stage.world, stage.press(now))).ok
    await stage.play()
    (asked,) = await stage.ledger.pending(TEAM, user=ANN)
    assert now.outcome
    assert isinstance(now.outcome.structured, dict)
    return asked, str(now.outcome.structured["sha"])


async def test_the_card_of_an_undo_does_not_quote_a_rejected_result_in_why_it_cannot_be_looked_at(
    stage: Scene,
):
    recipe(stage, "put_back", capture=each_of("{args.content}", "{read.nothing}"))
    asked, sha = await undo_of_rejected(stage)
    assert asked.preview.problem == NOT_SEEN
    assert sha in str(asked.args)
    assert sha[:8] not in told(asked)


async def test_the_card_of_an_undo_lists_nothing_that_a_rejected_result_names(stage: Scene):
    recipe(
        stage,
        "put_back",
        capture=each_of("{args.content}", "{read.content}"),
        show=Show("affected", items="{capture.all.items}"),
        notifies="{args.content}",
        recoverable="as {args.content}",
    )
    sha = hashlib.sha256(b"new").hexdigest()
    stage.desk.notes[sha] = sha
    asked, _ = await undo_of_rejected(stage)
    assert (asked.preview.affected, asked.preview.problem) == ((), "")
    assert sha in str(asked.args)
    assert sha[:8] not in told(asked)


async def test_the_card_of_an_undo_lists_what_its_original_named(stage: Scene):
    recipe(stage, "put_back", capture=NAMED, show=Show("affected", items="{capture.named.items}"))
    asked, _ = await undo_of_rejected(stage)
    assert [one.name for one in asked.preview.affected] == ["a.md"]


async def test_the_phrase_of_an_undo_does_not_quote_what_was_found_by_a_rejected_result(stage: Scene):
    stage.desk.notes[hashlib.sha256(b"new").hexdigest()] = HELD
    recipe(stage, "shred", noun="{capture.before.content}")
    asked, _ = await undo_of_rejected(stage, "shred")
    assert asked.phrase
    assert HELD in str(asked.capture)
    assert HELD not in asked.phrase + told(asked)


async def test_a_look_at_an_action_of_unknown_outcome_measures_what_a_review_holds(desk: Scene):
    action = await desk.prepare(path="a.md", content="new")
    desk.desk.behave = "breaks the line"
    await desk.confirm(action)
    await desk.play()
    assert (await desk.now(action.id)).state is State.UNKNOWN
    await resolve_unknown.check_by_press(desk.world, desk.press(await desk.now(action.id)))
    await desk.play()
    assert "How it stands now" in str(desk.wall.notes)
    assert HELD not in str(desk.wall.notes)
