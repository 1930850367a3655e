"""“It only reads: do not ask again”: who may say it of a tool whose server alone says so, and what follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.actions import edit, read_only_claim
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import CallClass, Ref, Session
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.planner_port import Call, Propose
from gate.rules.policy import Rule, is_only_claimed
from gate.rules.tool import Hints, Pin, ToolSpec
from storage.tool_pins import PinStore
from tests.gate.fake_tools import TEXT, schema
from tests.slack_app import ANN, BEN, CLEO, OPS, TEAM, Card, Edge, said_in
from views.modals import SURE

READS = Hints(read_only=True)
KIND = "only_reads"
YES = {SURE: {SURE: {"selected_option": {"text": {"type": "plain_text", "text": "x"}, "value": "yes"}}}}


def claiming(edge: Edge, name: str = "gauge", **more: Any) -> ToolSpec:
    """A tool of a server that nobody has reviewed, which says of it that it only reads."""
    given = {"description": "Tells the pressure in a pipe.", "hints": READS, **more}
    at = {**TEXT, "description": "Which pipe"}
    spec = ToolSpec("desk", name, "Pressure gauge", schema=schema([], at=at), definition=f"d-{name}", **given)
    edge.desk.specs_now[name] = spec
    return spec


def ruled(edge: Edge, **changes: Any) -> None:
    """The operator changes the policy of the running bot."""
    object.__setattr__(edge.world, "policy", replace(edge.world.policy, **changes))


def choices(card: Card) -> list[str]:
    """What the overflow menu of a card offers."""
    menus = [e for e in card.elements if e["type"] == "overflow"]
    return [o["value"].split(":")[0] for menu in menus for o in menu["options"]]


async def pins(edge: Edge) -> tuple[Pin, ...]:
    return await PinStore(edge.ledger._engine, edge.ledger.seals).of("desk", edge.desk.specs_now)


async def listed_anew(edge: Edge, name: str = "gauge") -> None:
    """What the host makes of a tool at its next listing."""
    pinned = {pin.tool: pin for pin in await pins(edge)}
    spec = edge.desk.specs_now[name]
    same = name in pinned and pinned[name].definition == spec.definition
    read = same and pinned[name].reviewed_by is not None
    edge.desk.specs_now[name] = replace(spec, reviewed=read, changed=name in pinned and not same)


async def entries(edge: Edge) -> list[tuple[str, str, str]]:
    lines = await edge.ledger.audit_tail(team=TEAM, limit=100)
    found = [line.entry for line in lines if line.entry.event == "tool_reviewed"]
    return [(one.actor, one.tool, one.outcome) for one in found]


async def asked_by(edge: Edge, user: str, at: str = "main") -> Card:
    return await edge.propose("gauge", user, at=at)


async def said_by(card: Card, user: str) -> None:
    """This person says it in the window."""
    assert (await card.more(KIND, user)).ok
    await card.modal(user, KIND)
    assert (await card.edge.ws.as_(user).submit(None, YES)).ok
    await card.edge.settled()


async def test_an_admin_is_asked_once_of_a_tool_and_the_next_call_runs(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, CLEO)
    assert KIND in choices(card)
    assert (await card.more(KIND, CLEO)).ok
    told = said_in(await card.modal(CLEO, KIND))
    for words in ("Pressure gauge", "Tells the pressure in a pipe.", "Which pipe", "everybody's"):
        assert words in told, told
    assert (http.desk.calls, await pins(http)) == ([], ())

    assert (await http.ws.as_(CLEO).submit(None, YES)).ok
    await http.settled()
    assert "“Pressure gauge” only reads" in said_in(await card.modal(CLEO, "message"))
    assert http.desk.calls == [("gauge", {"at": "main"})]  # it was a yes to the call, too
    assert http.desk.relisted == ["desk"]
    assert [(p.tool, p.definition, p.reviewed_by) for p in await pins(http)] == [("gauge", "d-gauge", CLEO)]
    assert await entries(http) == [(CLEO, "desk.gauge", "d-gauge")]

    await listed_anew(http)
    http.planner.script.append(Propose((Call("desk", "gauge", {"at": "side"}),)))
    said = await http.ann.say(OPS, "<@UBOT> and at the side?")
    await http.ws.wait_for(lambda: len(http.desk.calls) == 2)
    await http.settled()
    assert http.desk.calls[1] == ("gauge", {"at": "side"})
    assert not any("confirm" in str(m.blocks) for m in http.ws.by_app(OPS, said.ts))


async def test_an_admin_may_say_it_on_the_card_of_somebody_else_who_still_confirms(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, ANN)
    await said_by(card, CLEO)
    assert "<@U_ANN> can still confirm it" in said_in(await card.modal(CLEO, "message"))
    assert (await card.action()).state is State.PREPARED
    await listed_anew(http)
    await card.click("confirm")
    assert (await card.action()).state is State.SUCCEEDED
    assert len(await entries(http)) == 1


async def test_a_changed_definition_asks_again(http: Edge) -> None:
    claiming(http)
    await said_by(await asked_by(http, CLEO), CLEO)
    http.desk.redefine("gauge", description="Tells the pressure, and sets it.")
    await listed_anew(http)
    card = await asked_by(http, CLEO, "side")
    assert (await card.action()).state is State.PREPARED
    assert KIND not in choices(card)


@pytest.mark.parametrize("who", [ANN, BEN])
async def test_nobody_but_an_admin_says_it(http: Edge, who: str) -> None:
    claiming(http)
    card = await asked_by(http, ANN)
    assert (await card.more(KIND, who)).ok
    assert "Only an admin" in said_in(await card.modal(who, "message"))
    assert (await pins(http), await entries(http)) == ((), [])


async def test_who_is_no_admin_any_more_when_they_press_says_nothing(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, CLEO)
    assert (await card.more(KIND, CLEO)).ok
    await card.modal(CLEO, KIND)
    ruled(http, admins=frozenset({BEN}))
    assert (await http.ws.as_(CLEO).submit(None, YES)).ok
    await http.settled()
    assert "Only an admin" in said_in(await card.modal(CLEO, "message"))
    assert (await pins(http), http.desk.calls) == ((), [])


async def test_a_definition_that_changed_before_the_press_is_not_noted(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, CLEO)
    assert (await card.more(KIND, CLEO)).ok
    await card.modal(CLEO, KIND)
    http.desk.redefine("gauge", description="Tells the pressure in a pipe, mostly.")
    assert (await http.ws.as_(CLEO).submit(None, YES)).ok
    await http.settled()
    assert "has changed" in said_in(await card.modal(CLEO, "message"))
    assert (await pins(http), await entries(http), http.desk.calls) == ((), [], [])


async def test_what_is_pinned_to_another_definition_is_not_noted(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, CLEO)
    store = PinStore(http.ledger._engine, http.ledger.seals)
    await store.first_seen("desk", {"gauge": "d-other"}, await http.ledger.now())
    await said_by(card, CLEO)
    assert "has changed" in said_in(await card.modal(CLEO, "message"))
    assert [pin.reviewed_by for pin in await pins(http)] == [None]
    assert (await entries(http), http.desk.calls) == ([], [])


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("pay_invoice", {}),
        ("clear_database", {}),
        ("grant_admin", {}),
        ("gauge", {"description": "Deletes the pipe."}),
        ("gauge", {"hints": Hints(read_only=True, open_world=True)}),
        ("gauge", {"hints": Hints()}),
        ("gauge", {"changed": True}),
    ],
)
async def test_it_is_not_offered_of_what_shows_a_sign_of_more(
    http: Edge, name: str, more: dict[str, Any]
) -> None:
    claiming(http, name, **more)
    card = await http.propose(name, CLEO, at="main")
    assert (await card.action()).state is State.PREPARED
    assert KIND not in choices(card)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "rule",
    [
        Rule("gauges", ("desk.gauge",), always=True),
        Rule("gauges", ("desk.gauge",), approvers=Approvers(users=frozenset({CLEO}))),
        Rule("gauges", ("desk.gauge",), at_least=CallClass.DESTRUCTIVE),
        Rule("gauges", ("desk.gauge",), cls=CallClass.UNKNOWN),
    ],
)
async def test_it_is_not_offered_of_what_the_policy_gates_and_a_forged_choice_is_refused(
    http: Edge, rule: Rule
) -> None:
    claiming(http)
    ruled(http, rules=(rule,))
    card = await asked_by(http, ANN)
    assert KIND not in choices(card)
    value = f"{KIND}:{(await card.action()).button}"
    option = {"selected_option": {"value": value}, "type": "overflow"}
    await http.send("interactive", http.ws.forge.click(CLEO, card.message, action_id="more", **option))
    assert "This cannot be said here" in said_in(await card.modal(CLEO, "message"))
    assert (await pins(http), http.desk.calls) == ((), [])


async def test_a_window_that_was_never_opened_notes_nothing(http: Edge) -> None:
    claiming(http)
    card = await asked_by(http, CLEO)
    metadata = f"{KIND}:{(await card.action()).button}"
    forged = http.ws.forge.view(values=YES, callback_id=KIND, private_metadata=metadata)
    await http.send("interactive", http.ws.forge.submission(CLEO, forged))
    assert (await pins(http), await entries(http), http.desk.calls) == ((), [], [])


async def test_it_is_not_offered_of_what_an_agent_asks_with_its_token(http: Edge) -> None:
    claiming(http)
    session = Session(TEAM, OPS, "1700000000.000100")
    asked = CallRequest("a1", session, CLEO, Call("desk", "gauge", {"at": "main"}))
    made = await prepare(http.world.for_token("agent"), asked)
    assert isinstance(made, Prepared)
    action = made.action
    assert action.cls is CallClass.UNKNOWN
    assert not is_only_claimed(action.proposal.decision)
    press = Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, CLEO)
    said = await read_only_claim.read_only_offer(http.world, press)
    assert isinstance(said, PressResult)
    assert said.code == "floor"
    changed = await edit.submit(http.world, press, {"at": "side"})
    assert isinstance(changed, PressResult)
    assert changed.action is not None
    await http.settled()
    edited = await http.ledger.action(action.id)
    assert edited is not None
    assert not is_only_claimed(edited.proposal.decision)


async def test_without_an_admin_in_the_policy_it_is_not_offered(http: Edge) -> None:
    claiming(http)
    ruled(http, admins=frozenset())
    assert KIND not in choices(await asked_by(http, ANN))
