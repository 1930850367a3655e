"""What a server asks in the middle of a call: shown in the thread, answered by the right person, once."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gate.actions import server_questions
from gate.actions.button_press import Press
from gate.rules.action import Ref
from gate.rules.always_gated import ALWAYS
from gate.rules.ports import Limits, Unavailable
from gate.rules.previews import measured
from gate.rules.reviews import Phase, Review
from gate.rules.server_questions import ASK_PERSON, FormReply, FormRequest, QuestionState
from gate.rules.tool import Answer
from storage.server_questions import LIFE
from tests.handlers.test_lists import listed
from tests.handlers.test_pending_lists import home_of
from tests.slack_app import AGES, ANN, BEN, CLEO, OPS, Card, Edge, said_in
from tests.tools.mcp_hosts import hosting
from tests.views.samples import buttons
from tests.warm import warm
from tools.mcp.server_config import ServerConfig
from workspace.state import Message

SERVER = Path(__file__).parents[1] / "tools" / "asking_server.py"

NAME = {"type": "string", "title": "Name", "minLength": 2}
FLAT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": NAME,
        "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        "sure": {"type": "boolean", "title": "Are you sure?"},
    },
    "required": ["name", "size"],
}
SHORT: dict[str, Any] = {"type": "object", "properties": {"name": NAME}, "required": ["name"]}


@pytest.fixture(autouse=True)
def _soon_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that fails is not held up by its question."""
    monkeypatch.setattr("tests.slack_app.Limits", partial(Limits, server_question=20))


def typed(**given: Any) -> dict[str, Any]:
    """The inputs of the form by the names of its fields; `{"option": …}` is a choice, a list several."""
    inputs: dict[str, Any] = {}
    for name, value in given.items():
        chosen: Any = value
        if isinstance(value, list):
            chosen = {"selected_options": [{"value": one} for one in value]}
        elif isinstance(value, dict):
            chosen = {"selected_option": {"value": value["option"]}}
        inputs[f"server_question.{name}"] = {"value": chosen}
    return inputs


def option(place: int) -> dict[str, str]:
    """The option that stands there in its menu."""
    return {"option": str(place)}


class Asking:
    """Makes the tools of an edge ask in the middle of each call, and keeps what they were told."""

    def __init__(self, edge: Edge, *requests: FormRequest) -> None:
        self.edge, self.requests = edge, requests
        self.replies: list[FormReply] = []
        self._call = edge.desk.call
        edge.desk.call = self.call  # type: ignore[method-assign]

    async def call(self, server: str, tool: str, args: bytes, *more: Any) -> Answer:
        ask = ASK_PERSON.get()
        if ask is not None:
            for request in self.requests:
                self.replies.append(await ask(request))
        return await self._call(server, tool, args, *more)


def request(schema: Mapping[str, Any] = FLAT, message: str = "Which one?", url: str = "") -> FormRequest:
    return FormRequest("desk", message, schema, url)


def questions(edge: Edge, channel: str = OPS) -> list[Message]:
    """The messages of questions in this channel."""
    return [m for m in edge.ws.messages(channel) if " asks: " in m.text]


async def asked(edge: Edge, channel: str = OPS) -> Message:
    """The newest question, once it can be answered."""

    def find() -> Message | None:
        return next((m for m in questions(edge, channel) if "question_answer" in json.dumps(m.blocks)), None)

    return await edge.ws.wait_for(find, AGES)


async def confirmed(edge: Edge, tool: str = "write", **args: str) -> Card:
    """A confirmed write whose call asks."""
    card = await edge.propose(tool, **(args or {"path": "a.md", "content": "hello"}))
    user = BEN if tool == "poke" else ANN
    assert (await edge.ws.as_(user).click(card.message, "confirm")).ok
    return card


async def form(edge: Edge, message: Message, user: str = ANN) -> Any:
    """The open form."""
    assert (await edge.ws.as_(user).click(message, "question_answer")).ok

    def find() -> Any:
        top = edge.ws.as_(user).modal
        return top if top and top.body["callback_id"] == "server_question" else None

    return await edge.ws.wait_for(find, AGES)


async def audited(edge: Edge) -> list[tuple[str, str, str]]:
    """The entries about questions, oldest first: event, actor and arguments."""
    lines = await edge.ledger.audit_tail(team="T1", limit=100)
    found = [line.entry for line in reversed(lines) if line.entry.event.startswith("question_")]
    return [(one.event, one.actor, one.arguments) for one in found]


async def test_an_answer_goes_to_the_server_as_it_was_typed(edge: Edge) -> None:
    asking = Asking(edge, request())
    card = await confirmed(edge)
    message = await asked(edge)
    shown = json.dumps(message.blocks)
    assert "desk" in shown
    assert "Which one?" in shown
    view = await form(edge, message)
    assert "Do not type passwords" in said_in(view)
    given = typed(name=" Ann ", size=option(1), tags=["1", "0"], sure=option(0))
    assert (await edge.ann.submit(view, given)).ok
    await edge.settled()
    content = {"name": " Ann ", "count": 3, "size": "l", "tags": ["x", "y"], "sure": True}
    assert asking.replies == [FormReply("accept", content)]
    assert (await card.action()).state == "succeeded"
    (after,) = questions(edge)
    assert "question_answer" not in json.dumps(after.blocks)
    assert "Answered by <@U_ANN>." in said_in(after)
    assert [(event, actor) for event, actor, _ in await audited(edge)] == [
        ("question_asked", "system"),
        ("question_answered", ANN),
    ]
    assert "Ann" not in (await audited(edge))[1][2], "what was typed is not on the record"


async def test_a_wrong_value_is_told_at_its_field_and_nothing_is_sent(http: Edge) -> None:
    asking = Asking(http, request())
    await confirmed(http)
    view = await form(http, await asked(http))
    await http.ann.submit(view, typed(name="A", count="12", size=option(0)))
    assert http.ann.modal is not None
    assert http.ann.modal.errors == {
        "server_question.name": "This must have at least 2 characters, not 1.",
        "server_question.count": "This must be at most 9, not 12.",
    }
    assert asking.replies == []
    assert (await http.ann.submit(view, typed(name="Ann", count="9", size=option(0)))).ok
    await http.settled()
    (reply,) = asking.replies
    assert reply.content == {"name": "Ann", "count": 9, "size": "s"}, "what was left open is left out"


async def test_a_question_can_be_declined(http: Edge) -> None:
    asking = Asking(http, request())
    card = await confirmed(http)
    await http.ann.click(await asked(http), "question_decline")
    await http.settled()
    assert [reply.action for reply in asking.replies] == ["decline"]
    assert "Declined by <@U_ANN>." in said_in(questions(http)[0])
    assert (await card.action()).state == "succeeded"
    assert [event for event, _, _ in await audited(http)] == ["question_asked", "question_declined"]


async def test_only_who_may_confirm_the_action_answers(edge: Edge) -> None:
    asking = Asking(edge, request(SHORT))
    await confirmed(edge, "poke", at="a.md")
    message = await asked(edge)
    for button in ("question_answer", "question_decline"):
        assert (await edge.ann.click(message, button)).ok
        assert await edge.told(ANN, "must confirm it")
    assert edge.ann.modal is None
    assert asking.replies == []
    view = await form(edge, message, BEN)
    assert (await edge.ws.as_(BEN).submit(view, typed(name="Ben"))).ok
    await edge.settled()
    assert [reply.content for reply in asking.replies] == [{"name": "Ben"}]


async def test_what_is_asked_in_a_call_of_several_people_is_declined_in_words(edge: Edge) -> None:
    """One of them, or somebody else who may vote, would say alone what the call does."""
    asking = Asking(edge, request(SHORT))
    card = await edge.propose("put_back", path="a.md", content="hello")
    for user in (BEN, CLEO):
        assert (await edge.ws.as_(user).click(card.message, "confirm")).ok
    await edge.settled()
    assert (await card.action()).state == "succeeded"
    assert [(reply.action, reply.content) for reply in asking.replies] == [("decline", None)]
    assert questions(edge) == []
    (told,) = [m.text for m in edge.ws.messages(OPS) if "I declined" in m.text]
    assert "several people decide" in told
    assert await audited(edge) == [("question_declined", "policy", "")]


async def test_somebody_else_is_told_who_may_and_sees_no_form(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    await confirmed(http)
    message = await asked(http)
    for user in (BEN, CLEO):
        await http.ws.as_(user).click(message, "question_answer")
        assert await http.told(user, "Only <@U_ANN>")
        assert http.ws.as_(user).modal is None
    assert asking.replies == []
    await http.ann.click(message, "question_decline")


async def test_two_answers_at_once_count_once(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    await confirmed(http)
    view = await form(http, await asked(http))
    forged, other = http.ws.forge.submission(ANN, view), http.ws.forge.submission(ANN, view)
    for payload, name in ((forged, "One"), (other, "Two")):
        given = {"server_question.name": {"value": {"type": "plain_text_input", "value": name}}}
        payload["view"] = {**payload["view"], "state": {"values": given}}
    await asyncio.gather(http.ws.forge.send("interactive", forged), http.ws.forge.send("interactive", other))
    await http.settled()
    assert len(asking.replies) == 1
    assert [event for event, _, _ in await audited(http)] == ["question_asked", "question_answered"]


async def test_a_question_that_nobody_answers_expires(http: Edge) -> None:
    asking = Asking(http, request())
    await confirmed(http)
    await asked(http)
    http.travel(301)
    await http.settled()
    assert [reply.action for reply in asking.replies] == ["cancel"]
    (after,) = questions(http)
    assert "Nobody answered in time." in said_in(after)
    assert "question_answer" not in json.dumps(after.blocks)
    assert (await audited(http))[-1][0] == "question_expired"


async def test_a_question_ends_with_its_time_also_while_the_ledger_is_away() -> None:
    looks = 0

    async def look(_: object) -> None:
        nonlocal looks
        looks += 1
        assert looks < 1_000, "it is still looked for"
        raise Unavailable("the ledger is away")

    async def sleep(_: float) -> None:
        pass

    clock = SimpleNamespace(sleep=sleep)
    ledger = SimpleNamespace(questions=SimpleNamespace(question=look))
    world: Any = SimpleNamespace(clock=clock, ledger=ledger, limits=Limits(server_question=300))
    asked: Any = SimpleNamespace(id="q")
    assert await server_questions._wait(world, asked) == FormReply("cancel", reason=server_questions.TOO_LATE)


async def test_after_a_crash_the_sweep_closes_the_question(http: Edge) -> None:
    """The call is gone with its process: nothing waits for the answer and nothing closes the question there."""
    Asking(http, request())
    hanging = asyncio.Event()

    async def forever(world: Any, question: Any) -> FormReply:
        await hanging.wait()
        return FormReply("cancel")

    kept = server_questions._wait
    server_questions._wait = forever
    try:
        await confirmed(http)
        message = await asked(http)
        http.ledger.offset += LIFE
        await http.ann.click(message, "question_decline")
        assert await http.told(ANN, "Nobody waits for the answer")
        await server_questions.close_overdue(http.world)
        await http.ws.wait_for(lambda: "question_answer" not in json.dumps(questions(http)[0].blocks), AGES)
        hanging.set()
        await http.settled()
    finally:
        server_questions._wait = kept


async def test_a_cancelled_call_closes_its_question(http: Edge) -> None:
    subject = server_questions.QuestionSubject(
        (await http.propose("write", path="a.md", content="x")).session, ANN, "desk", "look", "r1", "Look"
    )
    with server_questions.answered_in_thread(http.world, replace(subject, is_read=True)):
        ask = ASK_PERSON.get()
        assert ask is not None
        call = asyncio.ensure_future(ask(request()))
    await asked(http)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await http.settled()
    assert "The call ended before anybody answered." in said_in(questions(http)[0])


async def test_the_requester_of_a_private_read_is_asked_in_direct_messages(http: Edge) -> None:
    card = await http.propose("write", path="a.md", content="x")
    subject = server_questions.QuestionSubject(
        card.session, ANN, "desk", "look", "r1", "Look", is_read=True, private=True
    )
    with server_questions.answered_in_thread(http.world, subject):
        ask = ASK_PERSON.get()
        assert ask is not None
        call = asyncio.ensure_future(ask(request(SHORT)))
    found = await http.ws.wait_for(lambda: _direct(http), AGES)
    assert questions(http) == []
    view = await form(http, found)
    assert (await http.ann.submit(view, typed(name="Ann"))).ok
    assert await call == FormReply("accept", {"name": "Ann"})
    await http.settled()


async def test_the_log_does_not_name_the_fields_of_an_answer_for_a_secret_file(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    policy = replace(http.world.policy, rules=(*http.world.policy.rules, *ALWAYS))
    object.__setattr__(http.world, "policy", policy)
    card = await http.propose("write", path=".env", content="x")
    await card.click("review")
    modal = await card.modal(ANN, "typed")
    await http.ann.submit(modal, {"phrase": {"phrase": (await card.action()).phrase}})
    view = await form(http, await asked(http))
    assert (await http.ann.submit(view, typed(name="Ann"))).ok
    await http.settled()
    assert asking.replies == [FormReply("accept", {"name": "Ann"})]
    arguments = next(args for event, _, args in await audited(http) if event == "question_answered")
    assert arguments == measured(json.dumps({"name": "(typed)"}))


async def test_the_log_does_not_name_the_fields_of_an_answer_where_the_result_is_reviewed(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    policy = replace(http.world.policy, reviews=(Review("look", Phase.AFTER),))
    object.__setattr__(http.world, "policy", policy)
    await confirmed(http)
    view = await form(http, await asked(http))
    assert (await http.ann.submit(view, typed(name="Ann"))).ok
    await http.settled()
    assert asking.replies == [FormReply("accept", {"name": "Ann"})]
    arguments = next(args for event, _, args in await audited(http) if event == "question_answered")
    assert arguments == measured(json.dumps({"name": "(typed)"}))


def _direct(edge: Edge) -> Message | None:
    """A question in some channel that is not the one of the thread."""
    every = [
        m for channel in list(edge.ws.state.channels) if channel != OPS for m in edge.ws.messages(channel)
    ]
    return next((m for m in every if " asks: " in m.text), None)


async def test_a_call_may_ask_so_many_questions_and_no_more(http: Edge) -> None:
    asking = Asking(http, *[request(SHORT) for _ in range(8)])
    await confirmed(http)
    for count in range(5):
        await http.ann.click(await asked(http), "question_decline")
        await http.ws.wait_for(partial(closed, http, count + 1), AGES)
    await http.settled()
    assert len(asking.replies) == 8
    assert [reply.reason for reply in asking.replies[5:]] == ["5 questions are all that one call may ask"] * 3
    assert len(questions(http)) == 5


def closed(edge: Edge, count: int) -> bool:
    """Whether so many questions are closed."""
    return sum("question_answer" not in json.dumps(m.blocks) for m in questions(edge)) >= count


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "hostile",
    [
        request({"type": "object", "properties": {f"f{i}": {"type": "string"} for i in range(5000)}}),
        request({"type": "object", "properties": {"x": {"type": "object"}}}),
        request(url="https://example.com/login"),
        request({"type": "object", "properties": {"x": {"type": "string", "minLength": "two"}}}),
    ],
    ids=["thousands of fields", "nested", "by URL", "a limit in words"],
)
async def test_what_cannot_be_shown_is_declined_in_words(http: Edge, hostile: FormRequest) -> None:
    asking = Asking(http, hostile)
    await confirmed(http)
    await http.settled()
    assert [reply.action for reply in asking.replies] == ["decline"]
    assert asking.replies[0].reason
    assert questions(http) == []
    told = [m.text for m in http.ws.messages(OPS) if "I declined" in m.text]
    assert len(told) == 1


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "words",
    ["<!channel> <@U_BEN> <https://evil.example|here> *bold* `code`", "A\u202eB\u200b", "x" * 100_000],
)
async def test_the_words_of_a_server_are_quoted_and_never_parsed(http: Edge, words: str) -> None:
    asking = Asking(http, request(SHORT, words))
    await confirmed(http)
    message = await asked(http)
    blocks = message.blocks or []
    own = [b["text"]["text"] for b in blocks if b["type"] == "section"]
    assert not any("channel" in text or "evil" in text for text in own)
    assert "<!channel>" not in message.text
    assert "\u202e" not in json.dumps(blocks, ensure_ascii=False)
    assert len(json.dumps(blocks)) < 6_000
    await http.ann.click(message, "question_decline")
    await http.settled()
    assert len(asking.replies) == 1


async def test_a_form_that_was_not_opened_for_this_person_sends_nothing(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    await confirmed(http)
    message = await asked(http)
    view = await form(http, message)
    found = await http.ledger.questions.question(view.body["private_metadata"].split(":")[1].split(".")[0])
    assert found is not None
    assert found.state is QuestionState.WAITING
    press = Press(Ref(found.id, found.version, "0"), "T1", ANN, view="V_OTHER")
    said = await server_questions.answer(http.world, press, {"name": "Ann"})
    assert getattr(said, "code", "") == "not_ours"
    await http.ann.click(message, "question_decline")
    await http.settled()
    assert [reply.action for reply in asking.replies] == ["decline"]


# promise: GATE-30
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_real_server_over_stdio_is_answered_in_slack_in_both_eras(
    http: Edge, tmp_path: Path, mode: str
) -> None:
    config = ServerConfig(name="asking", command=sys.executable, args=warm(SERVER), mode=mode)
    async with hosting(tmp_path, config) as host:
        looked = http.desk.call

        async def call(server: str, tool: str, args: bytes, *more: Any) -> Answer:
            if tool != "write":
                return await looked(server, tool, args, *more)
            return await host.call("asking", "choose", b'{"path": "a.md"}')

        http.desk.call = call  # type: ignore[method-assign]
        card = await confirmed(http)
        view = await form(http, await asked(http), ANN)
        assert (await http.ann.submit(view, typed(name="Ann", size=option(1)))).ok
        await http.settled()
    outcome = (await card.action()).outcome
    assert outcome is not None
    assert json.loads(outcome.text) == {"path": "a.md", "name": "Ann", "size": "l"}


async def test_stopping_the_task_closes_the_question(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    card = await confirmed(http)
    message = await asked(http)
    await http.ann.say(OPS, "stop", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: bool(asking.replies), AGES)
    await http.settled()
    assert [reply.action for reply in asking.replies] == ["cancel"]
    assert "question_answer" not in json.dumps(questions(http)[0].blocks)
    assert message.ts == questions(http)[0].ts


async def test_the_requester_of_a_read_that_runs_at_once_is_asked_in_the_thread(http: Edge) -> None:
    asking = Asking(http, request(SHORT))
    proposing = asyncio.create_task(http.propose("look", path="a.md"))
    message = await asked(http)
    await http.ws.as_(CLEO).click(message, "question_decline")
    assert await http.told(CLEO, "Only <@U_ANN>, who asked for this, can answer it.")
    view = await form(http, message)
    assert (await http.ann.submit(view, typed(name="Ann"))).ok
    await proposing
    assert asking.replies == [FormReply("accept", {"name": "Ann"})]
    assert http.desk.reads == 1


async def test_a_question_is_listed_where_its_requester_sees_what_waits_and_answered_from_there(
    edge: Edge,
) -> None:
    asking = Asking(edge, request())
    await confirmed(edge)
    await asked(edge)
    message = await listed(edge, "/pending")
    assert "desk asks: Which one?" in said_in(message)
    assert "For: Write a.md" in said_in(message)
    assert buttons(message.blocks) == ["question_answer", "question_decline"]
    assert "desk asks: Which one?" in said_in(await home_of(edge))
    assert (await listed(edge, "/pending", user=BEN)).text == "Nothing waits for a decision."
    view = await form(edge, message)
    assert (await edge.ann.submit(view, typed(name="Ann", size=option(1), tags=["0"], sure=option(0)))).ok
    await edge.settled()
    assert [one.action for one in asking.replies] == ["accept"]
    assert (await listed(edge, "/pending")).text == "Nothing waits for a decision."
