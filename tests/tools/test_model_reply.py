"""The replies of the model planner: proposals, questions, plans and texts, each validated before it is used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.rules.action import CallClass
from gate.rules.planner_port import (
    CancelPending,
    Clarify,
    Done,
    Implement,
    ListPending,
    Mode,
    PlannerInterrupted,
    ProposePlan,
    Say,
)
from gate.rules.policy import Policy, Rule
from gate.rules.settings import Switches
from gate.rules.task import Missing, StepState, Usage
from gate.rules.tool import Recipe
from tests.model_stub import both, calls, says
from tests.tasks import step_of
from tests.tools.model_setup import (
    ANN,
    FILES,
    READ,
    WRITE,
    brief,
    done,
    planning,
    proposed,
    reply,
    then,
    tool,
    turn,
)
from tests.views.samples import action
from tools.model import outcomes
from tools.model.planner import ModelLimits
from tools.model.responses import MAX_PROSE, MAX_SAY

DELETE = ("files__delete_file", {"path": "a.md"})
MOVE = ("files__move_file", {"source": "a.md", "destination": "b.md"})


async def test_a_call_becomes_a_proposal() -> None:
    async with planning([calls(DELETE)]) as (planner, stub):
        replied = await reply(planner, turn("delete a.md"))
    assert proposed(replied) == [("files.delete_file", {"path": "a.md"})]
    assert replied.usage == Usage(1, 100, 20)
    assert "files__delete_file" in stub.requests[0].tools
    assert stub.requests[0].headers["Authorization"] == "Bearer sk-stub"


async def test_calls_of_one_response_are_one_proposal_with_the_words_beside_it() -> None:
    async with planning([both("First the move.", MOVE, DELETE)]) as (planner, _):
        replied = await reply(planner, turn())
    assert [name for name, _ in proposed(replied)] == ["files.move_file", "files.delete_file"]
    assert [call.prose for call in replied.reply.calls] == ["First the move.", ""]  # type: ignore[union-attr]


async def test_text_that_claims_an_outcome_is_dropped_from_a_proposal() -> None:
    async with planning([both("Done, I have deleted it.", DELETE)]) as (planner, _):
        replied = await reply(planner, turn())
    assert replied.reply.calls[0].prose == ""  # type: ignore[union-attr]


async def test_of_very_long_words_beside_a_proposal_no_more_is_searched_than_may_be_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To search 320 KiB of them, as long as an answer may be, took 0.9 s of the event loop."""
    searched: list[int] = []
    monkeypatch.setattr(outcomes, "claims_outcome", lambda text, **_: searched.append(len(text)))
    async with planning([both("a;" * 150_000, DELETE)]) as (planner, _):
        replied = await reply(planner, turn())
    assert replied.reply.calls[0].prose == ("a;" * 150_000)[:MAX_PROSE]  # type: ignore[union-attr]
    assert searched == [MAX_SAY]


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("files__delete_file", '{"path": ', "not valid JSON"),
        ("files__delete_file", "[1]", "one JSON object"),
        ("files__delete_file", "", "`path` is missing"),
        ("files__delete_file", '{"path": 5}', "`path` must be text, not a whole number"),
        ("files__delete_file", '{"path": "a", "force": true}', "`force` is not known here"),
        ("files__delete_file", '{"path": "a", "path": "b"}', "twice"),
        (
            "files__delet_file",
            '{"path": "a"}',
            "There is no tool files__delet_file. Did you mean files__delete_file",
        ),
        ("rm", "{}", "There is no tool rm."),
    ],
)
async def test_an_invalid_call_is_sent_back_and_can_be_corrected(name: str, args: str, told: str) -> None:
    async with planning([calls((name, args)), calls(DELETE)]) as (planner, stub):
        replied = await reply(planner, turn())
    assert proposed(replied) == [("files.delete_file", {"path": "a.md"})]
    assert told in stub.requests[1].results[0]
    assert replied.usage.requests == 2


async def test_one_invalid_call_rejects_all_calls_of_its_response() -> None:
    async with planning([calls(MOVE, ("files__delete_file", {})), calls(MOVE, DELETE)]) as (planner, stub):
        replied = await reply(planner, turn())
    assert len(proposed(replied)) == 2
    assert "Not done: another call" in stub.requests[1].results[0]
    assert "`path` is missing" in stub.requests[1].results[1]


async def test_repairs_are_counted_over_the_turn_up_to_the_limit() -> None:
    bad = calls(("files__delete_file", {}))
    async with planning([bad, calls(MOVE), bad, bad, bad], limits=ModelLimits(repairs=2)) as (planner, stub):
        asked = turn()
        first = await reply(planner, asked)
        last = await reply(planner, then(asked, first, done()))
    assert isinstance(last.reply, Say)
    assert last.reply.text.startswith("I could not make a usable proposal of this.")
    assert "`path` is missing" in last.reply.text
    assert len(stub.requests) == 4


async def test_no_further_request_goes_out_once_the_task_was_stopped() -> None:
    async def stopped() -> bool:
        return True

    bad = calls(("files__delete_file", {}))
    async with planning([bad, calls(MOVE)]) as (planner, stub):
        with pytest.raises(PlannerInterrupted):
            await planner.reply(turn(), replace(brief(), interrupted=stopped), ())
    assert len(stub.requests) == 1


async def test_an_empty_response_is_sent_back() -> None:
    async with planning([says(""), says("There are two files.")]) as (planner, stub):
        replied = await reply(planner, turn())
    assert replied.reply == Say("There are two files.")
    assert "neither text nor a call" in stub.requests[1].text


async def test_an_empty_response_after_results_ends_the_turn() -> None:
    async with planning([calls(MOVE), says("")]) as (planner, _):
        asked = turn()
        first = await reply(planner, asked)
        assert (await reply(planner, then(asked, first, done(by=ANN)))).reply == Done()


async def test_a_question_is_asked_with_its_options_and_assumption() -> None:
    question = {"question": "Which  folder?", "missing": "inputs", "options": ["a", "b"], "assumption": "a"}
    async with planning([calls(("ask_requester", {"questions": [question]}))]) as (planner, _):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Clarify)
    (one,) = replied.reply.questions
    assert (one.text, one.missing, one.options, one.assumption) == (
        "Which folder?",
        Missing.INPUTS,
        ("a", "b"),
        "a",
    )


async def test_a_question_that_claims_an_outcome_is_sent_back() -> None:
    lie = {"question": "I have deleted a.md. Which one is next?", "missing": "inputs"}
    good = {"question": "Which one?", "missing": "inputs"}
    script = [calls(("ask_requester", {"questions": [q]})) for q in (lie, good)]
    async with planning(script) as (planner, _):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Clarify)
    assert replied.reply.questions[0].text == "Which one?"


async def test_a_control_tool_is_called_alone() -> None:
    ask = ("ask_requester", {"questions": [{"question": "Which?", "missing": "inputs"}]})
    async with planning([calls(ask, DELETE), calls(DELETE)]) as (planner, stub):
        assert proposed(await reply(planner, turn()))
    assert stub.requests[1].results == ["Not done: ask_requester has to be called alone."] * 2


async def test_pending_actions_are_listed_and_withdrawn_by_id() -> None:
    waits = action(id="act-7")
    script = [calls(("list_pending", {})), calls(("cancel_pending", {"action": "x"}))]
    script.append(calls(("cancel_pending", {"action": "act-7"})))
    async with planning(script) as (planner, stub):
        asked = turn("what waits?")
        first = await reply(planner, asked, pending=(waits,))
        assert first.reply == ListPending()
        second = await reply(planner, then(asked, first, done()), pending=(waits,))
    assert second.reply == CancelPending("act-7")
    assert "act-7" in stub.requests[0].text
    assert "no action of that id waits" in stub.requests[2].results[-1]


STEPS = {
    "steps": [
        {"tool": "files__delete_file", "title": "Delete it", "arguments": {"path": "a.md"}, "ask_here": True},
        {"tool": "notes__add_note", "title": "Note it", "from_results": {"text": "{steps.1.trash_id}"}},
    ],
    "note": "Two steps.",
}


async def test_a_plan_has_steps_whose_arguments_may_come_from_results() -> None:
    async with planning([calls(("propose_plan", STEPS))]) as (planner, stub):
        replied = await reply(planner, turn(mode=Mode.PLAN))
    assert isinstance(replied.reply, ProposePlan)
    first, second = replied.reply.steps
    assert (first.call.server, first.call.tool, first.call.args) == ("files", "delete_file", {"path": "a.md"})
    assert (second.call.args, second.refs) == ({}, {"text": "{steps.1.trash_id}"})
    assert (first.ask, second.ask) == (True, False)
    assert (first.title, replied.reply.note) == ("Delete it", "Two steps.")
    assert "files__read_file" in stub.requests[0].tools


async def test_a_step_with_a_blank_title_is_called_as_its_tool() -> None:
    steps = [{"tool": "files__delete_file", "title": " ", "arguments": {"path": "a.md"}}]
    async with planning([calls(("propose_plan", {"steps": steps}))]) as (planner, _):
        replied = await reply(planner, turn(mode=Mode.PLAN))
    assert isinstance(replied.reply, ProposePlan)
    assert [step.title for step in replied.reply.steps] == ["files__delete_file"]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("step", "told"),
    [
        ({"tool": "files__delete_file", "title": "x"}, "Step 1: `files__delete_file`: `path` is missing."),
        ({"tool": "files__wipe", "title": "x"}, "Step 1: There is no tool files__wipe."),
        (
            {"tool": "files__delete_file", "title": "x", "from_results": {"path": "{steps.1.path}"}},
            "must name a field of an earlier step's result",
        ),
        (
            {"tool": "files__delete_file", "title": "x", "from_results": {"path": "a.md"}},
            "must name a field of an earlier step's result",
        ),
        (
            {"tool": "files__delete_file", "title": "x", "arguments": {"path": "{steps.1.path}"}},
            "give `path` in from_results",
        ),
        (
            {"tool": "files__delete_file", "title": "x", "from_results": {"who": "{steps.old.id}"}},
            "none of the arguments",
        ),
        (
            {"tool": "files__delete_file", "title": "x", "from_results": {"path": "{steps.old.id}" * 51}},
            "at most 50 fields of results",
        ),
        (
            {"tool": "files__delete_file", "title": "x", "from_results": {"path": "{steps.old.id|lines}"}},
            "takes results as they are",
        ),
        ({"tool": "files__delete_file"}, "`steps[0].title` is missing"),
    ],
)
async def test_an_invalid_plan_is_sent_back(step: dict[str, object], told: str) -> None:
    known = brief(done=(step_of("old", "Read", "files", "read_file", {}, state=StepState.DONE),))
    script = [calls(("propose_plan", {"steps": [step]})), says("I cannot.")]
    async with planning(script) as (planner, stub):
        await reply(planner, turn(mode=Mode.PLAN), known)
    assert told in stub.requests[1].results[0]


async def test_a_new_plan_may_keep_steps_and_use_what_is_done() -> None:
    known = brief(
        done=(
            step_of("s1", "Read", "files", "read_file", {"path": "a"}, state=StepState.DONE, text="found 3"),
        ),
        left=(step_of("s2", "Delete", "files", "delete_file", {"path": "a.md"}),),
    )
    steps = [
        {"tool": "files__delete_file", "title": "x", "arguments": {"path": "a.md"}, "keep": "s2"},
        {"tool": "notes__add_note", "title": "y", "from_results": {"text": "{steps.s1.count}"}, "keep": "s9"},
    ]
    async with planning([calls(("propose_plan", {"steps": steps}))]) as (planner, stub):
        replied = await reply(planner, turn(mode=Mode.PLAN), known)
    assert isinstance(replied.reply, ProposePlan)
    assert [step.step for step in replied.reply.steps] == ["s2", ""]
    assert "found 3" in stub.requests[0].text


LISTING = {
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Item"}}, "note": {"type": "string"}},
    "$defs": {"Item": {"properties": {"path": {}, "size": {}}}},
}


async def test_who_plans_is_told_which_fields_a_later_step_can_take() -> None:
    read = replace(tool("files", "list_folder", READ, path={"type": "string"}), output_schema=LISTING)
    make = replace(tool("files", "make", WRITE), output_schema={"properties": {"id": {}, "x" * 500: {}}})
    odd = replace(tool("files", "odd", READ), output_schema={"properties": ["id"], "$defs": 5})
    for mode, told in ((Mode.PLAN, True), (Mode.TALK, False)):
        async with planning([says("Hm.")], read, make, odd) as (planner, stub):
            await reply(planner, turn(mode=mode))
        assert ("list_folder gives: items, items[].path, items[].size, note" in stub.requests[0].text) is told
        assert ("\ngives: id\n" in stub.requests[0].text) is told


@pytest.mark.parametrize(
    ("mode", "told"), [(Mode.PLAN, "put it into the plan"), (Mode.TALK, "this is a conversation")]
)
async def test_changes_are_not_offered_while_planning_or_talking(mode: Mode, told: str) -> None:
    async with planning([calls(DELETE), says("I see.")]) as (planner, stub):
        replied = await reply(planner, turn(mode=mode))
    assert replied.reply == Say("I see.")
    assert told in stub.requests[1].results[0]
    assert "files__delete_file" not in stub.requests[0].tools
    assert "files__delete_file" in stub.requests[0].text  # known, so that it can be planned and talked about


async def test_reads_may_be_called_while_planning() -> None:
    async with planning([calls(("files__read_file", {"path": "a.md"}))]) as (planner, _):
        assert proposed(await reply(planner, turn(mode=Mode.PLAN))) == [("files.read_file", {"path": "a.md"})]


async def test_a_conversation_ends_in_requirements() -> None:
    script = [calls(("implement", {"requirements": ["Move the reports", "Keep the drafts"]}))]
    async with planning(script) as (planner, stub):
        replied = await reply(planner, turn("yes, implement it", Mode.TALK))
    assert replied.reply == Implement(("Move the reports", "Keep the drafts"))
    assert "propose_plan" not in stub.requests[0].tools


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("mode", "switches", "name"),
    [
        (Mode.TALK, Switches(allow_execution_transition=False), "implement"),
        (Mode.ACT, Switches(enable_planning=False), "propose_plan"),
        (Mode.ACT, Switches(), "implement"),
        (Mode.PLAN, Switches(), "implement"),
    ],
)
async def test_control_tools_of_another_mode_are_refused(mode: Mode, switches: Switches, name: str) -> None:
    script = [calls((name, {"requirements": ["x"]})), says("I see.")]
    async with planning(script) as (planner, stub):
        await reply(planner, turn(mode=mode), brief(switches=switches))
    assert name not in stub.requests[0].tools
    assert stub.requests[1].results


async def test_a_tool_that_the_policy_denies_is_not_offered() -> None:
    policy = Policy("1", rules=(Rule("no deleting", ("files.delete_*",), deny=True),))
    async with planning([calls(DELETE), says("I see.")], policy=policy) as (planner, stub):
        await reply(planner, turn())
    assert "files__delete_file" not in stub.requests[0].tools
    assert "There is no tool files__delete_file" in stub.requests[1].results[0]


async def test_a_tool_that_is_denied_for_some_arguments_is_offered() -> None:
    rule = Rule("not this one", ("files.delete_*",), schema={"required": ["path"]}, deny=True)
    async with planning([says("hm")], policy=Policy("1", rules=(rule,))) as (planner, stub):
        await reply(planner, turn())
    assert "files__delete_file" in stub.requests[0].tools


async def test_the_policy_decides_which_tools_only_read() -> None:
    policy = Policy("1", rules=(Rule("secret", ("files.read_file",), at_least=CallClass.WRITE),))
    async with planning([says("hm")], policy=policy) as (planner, stub):
        await reply(planner, turn(mode=Mode.PLAN))
    assert "files__read_file" not in stub.requests[0].tools


async def test_an_argument_that_a_recipe_binds_is_not_offered() -> None:
    spec = tool("files", "edit_file", FILES[3].hints, path={"type": "string"}, expected={"type": "string"})
    bound = replace(spec, recipe=Recipe(bind={"expected": "{capture.hash}"}))
    async with planning([calls(("files__edit_file", {"path": "a"}))], bound) as (planner, stub):
        assert proposed(await reply(planner, turn())) == [("files.edit_file", {"path": "a"})]
    assert list(stub.requests[0].tools["files__edit_file"]["parameters"]["properties"]) == ["path"]
