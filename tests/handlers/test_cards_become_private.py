"""An action that becomes private while its card stands in the thread goes on in its requester's direct messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from bot.cards import NOW_PRIVATE
from gate.actions import claim_click, edit
from gate.actions.button_press import Press
from gate.rules.action import Action, Ref
from gate.rules.action_states import State
from gate.rules.audit import Entry
from gate.rules.planner_port import Call, Propose
from gate.rules.policy import Rule
from gate.rules.ports import Posted
from gate.rules.tool import Answer
from tests import slack_app
from tests.handlers.test_batch_card import Several, several, write
from tests.handlers.test_story import opened
from tests.slack_app import ANN, BEN, OPS, TEAM, Edge, joined
from workspace.faults import Dropped, Fault, Refused, ServerError
from workspace.state import Message

PAY, TOLD = "hr/pay.csv", "Ben earns 98,000"
RULES = {
    "reads": Rule("salaries are private", ("desk.look",), texts=(r"^hr/",), private=True),
    "writes": Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True),
}
TO_PAY = {"path": PAY, "content": TOLD}


@pytest.fixture(params=RULES)
async def private(
    request: pytest.FixtureRequest,
    ready_url: str,
    redis_url: str,
    unhurried: None,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Edge]:
    """An edge where what is in `hr/` is private, by the rule on its reads or by the one on the call itself."""
    rules = (*slack_app.POLICY.rules, RULES[request.param])
    monkeypatch.setattr(slack_app, "POLICY", replace(slack_app.POLICY, rules=rules))
    async with joined("http", ready_url, redis_url) as running:
        running.desk.notes[PAY] = TOLD
        yield running


def sent(edge: Edge) -> str:
    """Everything that was ever sent to the channel, whatever became of it."""
    sent_there = [
        repr(entry.sent)
        for method in ("chat.postMessage", "chat.update", "chat.postEphemeral")
        for entry in edge.ws.calls(method)
        if entry.sent.get("channel") == OPS
    ]
    assert sent_there
    return "\n".join(sent_there)


def press_on(action: Action) -> Press:
    return Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, ANN)


async def edited(edge: Edge, action: Action, **args: Any) -> Action:
    """The action after its requester gave it other arguments, once it was looked at again."""
    said = await edit.submit(edge.world, press_on(action), {"content": "x", **args})
    assert isinstance(said, edit.PressResult)
    assert said.ok
    await edge.settled()
    found = await edge.ledger.action(action.id)
    assert found is not None
    return found


def direct(edge: Edge) -> Message:
    """The only message in Ann's direct messages."""
    (found,) = edge.ws.by_app(edge.ann.im)
    return found


def closed(message: Message) -> None:
    """It says that it went on elsewhere, and nothing else."""
    assert message.text == NOW_PRIVATE
    assert [block["type"] for block in message.blocks or []] == ["section"]


async def test_a_sentence_that_makes_it_private_closes_the_card_in_the_thread(private: Edge) -> None:
    card = await private.propose("write", path="a.md", content="hello")
    await private.ann.say(OPS, f"set path to {PAY}", thread_ts=card.said.ts)
    await private.ws.wait_for(lambda: private.ws.by_app(private.ann.im))
    await private.settled()
    assert (await card.action()).private
    closed(card.message)
    assert TOLD not in sent(private)
    await private.ann.click(direct(private), "confirm")
    await private.settled()
    assert private.desk.notes[PAY] == "hello"
    assert direct(private).text == f"Wrote {PAY}"
    closed(card.message)


async def test_what_is_typed_in_the_edit_window_never_comes_to_the_channel(private: Edge) -> None:
    card = await private.propose("write", path="a.md", content="?")
    modal = await opened(card, "edit")
    fields = {block["label"]["text"]: block for block in modal.blocks if block["type"] == "input"}
    given = {
        fields[name]["block_id"]: {fields[name]["element"]["action_id"]: value}
        for name, value in TO_PAY.items()
    }
    assert (await private.ann.submit(modal, given)).ok
    await private.settled()
    closed(card.message)
    assert TOLD not in sent(private)
    assert direct(private).text == f"Prepared: Write {PAY}"


@pytest.mark.slow
async def test_a_member_of_a_shared_card_goes_on_in_direct_messages(private: Edge) -> None:
    made: Several = await several(private, write("a.md"), write("b.md"))
    await edited(private, (await made.actions())[0], **TO_PAY)
    assert TOLD not in sent(private)
    assert "It is shown to whoever asked alone." in made.text
    assert made.messages == [made.card]
    assert [m for m in private.ws.by_app(OPS) if m.thread_ts != made.said.ts] == []
    await private.ann.click(direct(private), "confirm")
    await private.settled()
    assert private.desk.notes[PAY] == TOLD
    await made.press("confirm", 1)
    assert private.desk.notes["b.md"] == "hello"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("conversations.open", ServerError()),
        ("chat.update", ServerError()),
        ("chat.postMessage", ServerError()),
        ("chat.postMessage", Dropped(accepted=True)),
    ],
    ids=repr,
)
async def test_a_move_that_breaks_off_is_finished_and_posts_once(
    private: Edge, method: str, fault: Fault
) -> None:
    card = await private.propose("write", path="a.md", content="hello")
    private.ws.faults.on(method, fault)
    await edited(private, await card.action(), **TO_PAY)
    closed(card.message)
    assert direct(private).text == f"Prepared: Write {PAY}"
    assert TOLD not in sent(private)


async def test_a_message_that_cannot_be_closed_does_not_keep_the_card_from_its_person(private: Edge) -> None:
    card = await private.propose("write", path="a.md", content="hello")
    private.ws.faults.on("chat.update", Refused("message_not_found"))
    await edited(private, await card.action(), **TO_PAY)
    assert direct(private).text == f"Prepared: Write {PAY}"
    assert TOLD not in sent(private)


async def test_a_card_that_was_posted_unheard_is_closed_all_the_same(private: Edge) -> None:
    card = await private.propose("write", path="a.md", content="hello")
    await private.ledger.set_posted(card.id, Posted(OPS, "", (await card.action()).revision))
    await edited(private, await card.action(), **TO_PAY)
    closed(card.message)
    assert direct(private).text == f"Prepared: Write {PAY}"


async def test_a_press_on_the_card_as_it_stood_confirms_nothing(private: Edge) -> None:
    card = await private.propose("write", path="a.md", content="hello")
    press = private.ws.forge.click(ANN, card.message, action_id="confirm", value=card.value)
    await edited(private, await card.action(), **TO_PAY)
    with private.nothing_ran():
        await private.send("interactive", press)
    assert card.buttons == []


async def asked_in_private(edge: Edge) -> tuple[str, Action]:
    """A private call that Ann asked for in the channel: where that was said, and its action."""
    edge.planner.script.append(Propose((Call("desk", "write", {"path": PAY, "content": "x"}),)))
    said = await edge.ann.say(OPS, "<@UBOT> please")
    await edge.ws.wait_for(lambda: edge.ws.by_app(edge.ann.im))
    await edge.settled()
    (action,) = await edge.ledger.pending(TEAM)
    assert action.private
    return said.ts, action


async def record_read_by_ben(edge: Edge, thread: str) -> str:
    """What Ben reads once he asks for the record in the thread."""
    ben = edge.ws.as_(BEN)
    await ben.say(OPS, "<@UBOT> audit", thread)
    await edge.ws.wait_for(lambda: [one for one in ben.sees(OPS) if "of the record" in one.text])
    await edge.settled()
    return repr([(one.text, one.blocks) for one in ben.sees(OPS)])


async def test_the_record_in_a_thread_tells_nobody_why_a_private_call_was_rejected(private: Edge) -> None:
    thread, action = await asked_in_private(private)
    why = f"not so: {TOLD}"
    assert (await claim_click.reject(private.world, replace(press_on(action), reason=why))).ok
    await private.settled()
    assert why not in repr(await private.ledger.audit_tail(team=TEAM, limit=50))
    # As an earlier version has kept it
    async with private.ledger.begin() as tx:
        tx.audit(
            Entry(event="cancelled", session=action.session.key, actor=ANN, action=action.id, reason=why)
        )
    seen = await record_read_by_ben(private, thread)
    assert "rejected" in seen
    assert "cancelled" in seen
    assert "98,000" not in seen


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("how", ["changed", "failing"])
async def test_the_record_in_a_thread_tells_nobody_why_a_private_call_was_called_off(
    private: Edge, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    spec = private.desk.specs_now["write"]
    capture = {name: replace(read, absent="no such") for name, read in spec.recipe.capture.items()}
    private.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, capture=capture))
    thread, action = await asked_in_private(private)
    real = private.desk.call

    async def failing(server: str, tool: str, *more: Any) -> Answer:
        if tool == "look":
            return Answer(f"{PAY} has a broken line: {TOLD}", is_error=True)
        return await real(server, tool, *more)

    if how == "changed":
        private.desk.notes[PAY] = "Ben earns 99,000"
    else:
        monkeypatch.setattr(private.desk, "call", failing)
    await private.ann.click(direct(private), "confirm")
    await private.settled()
    found = await private.ledger.action(action.id)
    assert found is not None
    assert found.state is State.CANCELLED
    kept = [line.entry.reason for line in await private.ledger.audit_tail(team=TEAM, limit=50)]
    seen = await record_read_by_ben(private, thread)
    assert "called off" in seen.replace("_", " ")
    for told in (seen, repr(kept)):
        assert TOLD not in told
        assert "pay.csv" not in told
