"""Errors of a model and limits of a turn: a sentence for the requester, or a retry later."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace

import pytest

from gate.rules.planner_port import CallReport, Exchange, PlannerReply, Say
from gate.rules.ports import PlannerUnavailable, Unavailable
from gate.rules.task import Usage
from tests.model_stub import Answer, Script, calls, fails, nonsense, says
from tests.tools.model_setup import TEXT, WRITE, brief, done, planning, proposed, reply, then, tool, turn
from tools.model.model_port import ModelRefused, Request, ToolDefinition, UserMessage
from tools.model.planner import ModelLimits, ModelPlanner
from tools.model.provider_client import ProviderModel

READ = ("files__read_file", {"path": "a.md"})


@pytest.mark.parametrize("answer", [fails(429), fails(500), fails(502), fails(503), fails(529)])
async def test_a_temporary_error_is_retried_later(answer: Answer) -> None:
    async with planning([answer], assessment=answer) as (planner, stub):
        with pytest.raises(Unavailable):
            await reply(planner, turn())
        with pytest.raises(Unavailable):
            await planner.assess(turn(), brief())
    assert len(stub.requests) == 2  # whoever asked the planner tries again, not the library


@pytest.mark.parametrize("answer", [nonsense(), nonsense("{}"), nonsense('{"choices": []}'), nonsense("")])
async def test_an_invalid_response_is_retried_later(answer: Answer) -> None:
    async with planning([answer]) as (planner, _):
        with pytest.raises(Unavailable):
            await reply(planner, turn())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (fails(401), "does not accept our key"),
        (fails(403), "does not accept our key"),
        (fails(404), "no model of that name"),
        (fails(402), "no credit left"),
        (fails(400), "does not take our request"),
        (fails(400, "This model's maximum context length is 8192 tokens"), "more than it can read at once"),
    ],
)
async def test_a_permanent_error_is_a_sentence(answer: Answer, expected: str) -> None:
    async with planning([answer], assessment=answer) as (planner, _):
        replied = await reply(planner, turn())
        found = (await planner.assess(turn(), brief())).assessment
    assert isinstance(replied.reply, Say)
    assert expected in replied.reply.text
    assert (found.complexity, found.questions) == (0, ())  # goes on to the reply, which says it
    assert expected in found.reason


async def test_exhausted_credit_is_a_permanent_error() -> None:
    raw = json.dumps({"error": {"message": "out", "type": "x", "code": "insufficient_quota"}})
    async with planning([Answer(status=429, raw=raw)]) as (planner, _):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Say)
    assert "no credit left" in replied.reply.text


async def test_an_unreachable_model_is_retried_later() -> None:
    async with planning([], config={"base_url": "http://127.0.0.1:9/v1"}) as (planner, _):
        with pytest.raises(Unavailable):
            await reply(planner, turn())


async def test_a_slow_request_times_out_and_is_retried_later() -> None:
    async with planning([says("late").after(5)], config={"seconds": 0.2}) as (planner, _):
        async with asyncio.timeout(4):
            with pytest.raises(Unavailable):
                await reply(planner, turn())


async def test_a_slow_turn_times_out_and_is_retried_later() -> None:
    limits = ModelLimits(seconds=0.2)
    slow = says("late").after(5)
    async with planning([slow, slow], assessment=slow, limits=limits) as (planner, _):
        async with asyncio.timeout(4):
            with pytest.raises(Unavailable):
                await reply(planner, turn())
            with pytest.raises(Unavailable):
                await planner.assess(turn(), brief())


async def test_seconds_of_thinking_add_up_over_a_turn() -> None:
    limits = ModelLimits(seconds=1.0)
    async with planning([calls(READ).after(0.6), calls(READ)], limits=limits) as (planner, _):
        asked = turn()
        first = await reply(planner, asked)
        spent = json.loads(first.memo)
        assert spent["seconds"] >= 0.6
        long = PlannerReply(first.reply, json.dumps({**spent, "seconds": 1.5}), first.usage)
        last = await reply(planner, then(asked, long, done()))
    assert isinstance(last.reply, Say)
    assert "more time than I may take" in last.reply.text


@pytest.mark.parametrize(
    ("limits", "word"), [(ModelLimits(requests=2), "requests"), (ModelLimits(tokens=240), "tokens")]
)
async def test_requests_and_tokens_are_counted_over_a_turn(limits: ModelLimits, word: str) -> None:
    async with planning([calls(READ), calls(READ), calls(READ)], limits=limits) as (planner, stub):
        asked = turn()
        for _ in range(2):
            replied = await reply(planner, asked)
            proposed(replied)
            asked = then(asked, replied, done())
        last = await reply(planner, asked)
    assert isinstance(last.reply, Say)
    assert word in last.reply.text
    assert len(stub.requests) == 2


async def test_usage_is_the_sum_over_all_requests_of_a_reply() -> None:
    bad = calls(("files__read_file", {})).costing(1000, 30)
    async with planning([bad, says("I see.").costing(2000, 5)]) as (planner, _):
        replied = await reply(planner, turn())
    assert replied.usage == Usage(2, 3000, 35)


async def test_a_very_long_answer_is_cut() -> None:
    async with planning([says("word " * 10_000)]) as (planner, _):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Say)
    assert len(replied.reply.text) <= 8000


async def test_provider_specific_content_is_stored_and_sent_back() -> None:
    raw = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "reasoning_content": "let me think about it",
                    "tool_calls": [
                        {
                            "id": "call_9",
                            "type": "function",
                            "function": {"name": "files__read_file", "arguments": '{"path": "a.md"}'},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    async with planning([nonsense(json.dumps(raw)), says("I see.")]) as (planner, stub):
        asked = turn()
        first = await reply(planner, asked)
        await reply(planner, then(asked, first, done(0, "found")))
    assert "let me think about it" in json.loads(first.memo)["rounds"][0]["extra"]
    assert "found" in stub.requests[1].results[0]
    assert [name for name, _ in stub.requests[1].called] == ["files__read_file"]


async def test_a_memo_of_another_library_version_is_read_without_its_provider_content() -> None:
    async with planning([calls(READ), says("I see.")]) as (planner, stub):
        asked = turn()
        first = await reply(planner, asked)
        kept = json.loads(first.memo)
        kept["rounds"][0]["extra"] = '[{"of": "another version"}]'
        after = then(asked, replace(first, memo=json.dumps(kept)), done())
        assert (await reply(planner, after)).reply == Say("I see.")
    assert len(stub.requests[1].results) == 1


async def test_the_client_tells_permanent_from_temporary_errors() -> None:
    async with planning([fails(401), fails(503), says("ok")]) as (planner, stub):
        model = ProviderModel(stub.config())
        request = Request(
            "Be brief.", (UserMessage("Say ok."),), (ToolDefinition("x", "x", {"type": "object"}),)
        )
        with pytest.raises(ModelRefused):
            await model.ask(request)
        with pytest.raises(Unavailable):
            await model.ask(request)
        assert (await model.ask(request)).message.text == "ok"
        await model.close()
        assert planner.follows
    assert stub.requests[0].system == "Be brief."


async def test_an_exchange_without_a_memo_counts_no_usage() -> None:
    async with planning([says("I see.")], limits=ModelLimits(requests=1)) as (planner, _):
        asked = turn("x")
        silent = replace(asked, exchanges=(Exchange(Say("hello")),))
        assert (await reply(planner, silent)).reply == Say("I see.")


async def test_a_temporary_error_is_retried_before_anybody_is_told() -> None:
    async with planning([fails(503), says("here I am")], config={"retry_seconds": 5.0}) as (planner, stub):
        replied = await reply(planner, turn())
    assert replied.reply == Say("here I am")
    assert len(stub.requests) == 2


async def test_retry_after_is_kept() -> None:
    answers = [fails(429, **{"Retry-After": "1"}), says("here I am")]
    async with planning(answers, config={"retry_seconds": 5.0}) as (planner, _):
        begun = time.monotonic()
        await reply(planner, turn())
    assert time.monotonic() - begun >= 1.0


async def test_a_long_retry_after_sends_nothing_meanwhile() -> None:
    async with planning([fails(429, **{"Retry-After": "30"}), says("too early")]) as (planner, stub):
        for _ in range(3):
            with pytest.raises(PlannerUnavailable):
                await reply(planner, turn())
    assert len(stub.requests) == 1


LONG_FILE = ("notes__add_note", '{"text": "a very long fi')


async def test_calls_that_were_cut_off_are_asked_for_once_more_and_shorter() -> None:
    cut = calls(LONG_FILE).cut_off()
    async with planning([cut, calls(("notes__add_note", {"text": "short"}))]) as (planner, stub):
        replied = await reply(planner, turn())
    assert proposed(replied) == [("notes.add_note", {"text": "short"})]
    assert "cut off at the limit of its length" in stub.requests[-1].text


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("answer", [calls(LONG_FILE).cut_off(), says("").cut_off(), says("")])
async def test_two_unusable_responses_in_a_row_end_the_turn_with_a_sentence(answer: Answer) -> None:
    async with planning([answer, answer, says("not asked for")]) as (planner, stub):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Say)
    assert "could not make a usable proposal" in replied.reply.text
    assert len(stub.requests) == 2


async def test_text_that_was_cut_off_says_so() -> None:
    async with planning([says("It began in spring and").cut_off()]) as (planner, _):
        replied = await reply(planner, turn())
    assert isinstance(replied.reply, Say)
    assert replied.reply.text.startswith("It began in spring and")
    assert "cut off" in replied.reply.text


async def test_the_configured_output_limit_is_sent() -> None:
    async with planning([says("ok")], config={"output_tokens": 9_000}) as (planner, stub):
        await reply(planner, turn())
    body = stub.requests[0].body
    assert 9_000 in (body.get("max_tokens"), body.get("max_completion_tokens"))


WRITTEN = tool(
    "files", "write_file", WRITE, "Write a text into a file.", path=TEXT, content={"type": "string"}
)
ONE_WRITE: Script = [
    calls(("files__write_file", {"path": "notes.md", "content": "Call the printer."})),
    says("The note is in notes.md."),
]
SUCCEEDED = CallReport(0, "succeeded", json.dumps({"path": "notes.md", "sha256": "ab" * 32, "bytes": 17}))


async def after_one_write(planner: ModelPlanner, report: CallReport = SUCCEEDED) -> PlannerReply:
    """The reply to the result of a change that a turn began with at once."""
    asked = turn('write "Call the printer." to notes.md')
    begun = (await planner.assess(asked, brief(asked.text))).reply
    assert begun is not None
    return await reply(planner, then(asked, begun, report))


async def test_a_change_that_is_made_at_once_takes_two_requests_of_6_kilobytes_together() -> None:
    """Half of it is the rules, which are in both."""
    async with planning(ONE_WRITE, WRITTEN, assessment=None) as (planner, stub):
        assert (await after_one_write(planner)).reply == Say("The note is in notes.md.")
    sizes = [
        len(json.dumps(one.body, ensure_ascii=False, separators=(",", ":")).encode()) for one in stub.requests
    ]
    assert len(sizes) == 2
    assert sum(sizes) <= 6_000, sizes


async def test_what_can_be_asked_or_planned_is_offered_again_where_what_it_began_with_failed() -> None:
    controls = {"ask_requester", "propose_plan", "list_pending", "cancel_pending"}
    for report, offered in ((SUCCEEDED, set()), (CallReport(0, "failed", "no room"), controls)):
        async with planning(ONE_WRITE, WRITTEN, assessment=None) as (planner, stub):
            await after_one_write(planner, report)
        assert set(stub.requests[1].tools) == {"files__write_file"} | offered
        assert ("propose_plan" in stub.requests[1].system) == bool(offered)
