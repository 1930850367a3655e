"""Several calls of one reply in Slack: one message, a decision for each, one press for all, whatever Slack does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from bot.cards import Cards
from gate.actions import batch, claim_click
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action import Action, Session
from gate.rules.ids import derive_id
from gate.rules.jobs import Run
from gate.rules.messages import CardKey, CardKind
from gate.rules.planner_port import Call, Mode, Propose
from gate.rules.ports import Posted
from tests.slack_app import AGES, ANN, BEN, OPS, TEAM, Edge, noted, said_in
from workspace.faults import BadGateway, Dropped, Fault, ServerError
from workspace.state import Message

NAMES = ("a.md", "b.md", "c.md")


@dataclass
class Several:
    """The card of the calls that the planner proposed to what Ann said."""

    edge: Edge
    said: Message
    turn: str

    @property
    def group(self) -> str:
        return derive_id("group", self.turn, 0)

    @property
    def messages(self) -> list[Message]:
        """The cards in the thread; what the task says after its end is none."""
        keys = {self.group, *(self.id(place) for place in range(12))}
        return [m for m in self.edge.ws.by_app(OPS, self.said.ts) if self._key(m) in keys]

    @property
    def card(self) -> Message:
        (found,) = [m for m in self.messages if self._key(m) == self.group]
        return found

    @property
    def text(self) -> str:
        return said_in(self.card).replace(": \n", ": ")

    def own(self, place: int) -> Message:
        """The card that this action has by itself."""
        (found,) = [m for m in self.messages if self._key(m) == self.id(place)]
        return found

    def id(self, place: int) -> str:
        return derive_id("action", self.turn, 0, place)

    async def actions(self) -> tuple[Action, ...]:
        return await self.edge.ledger.actions_of_group(self.group)

    async def press(self, button: str, place: int | None = None, user: str = ANN) -> None:
        """The button of the action at this place, or that of all of them; then wait for what follows."""
        block = None if place is None else await self._row(button, place)
        await self.edge.ws.as_(user).click(self.card, button, block)
        await self.edge.settled()

    async def _row(self, button: str, place: int) -> str:
        value = (await self.actions())[place].button
        rows = [block for block in self.card.blocks or [] if block["type"] == "actions"]
        wanted = {"action_id": button, "value": value}
        return next(r["block_id"] for r in rows if any(wanted.items() <= e.items() for e in r["elements"]))

    @staticmethod
    def _key(message: Message) -> str:
        return str((message.metadata or {}).get("event_payload", {}).get("key", ""))


async def several(edge: Edge, *calls: Call) -> Several:
    edge.planner.script.append(Propose(calls or tuple(write(name) for name in NAMES)))
    said = await edge.ann.say(OPS, "<@UBOT> please do it")
    turn = derive_id("turn", derive_id("task", f"{TEAM}:{OPS}:{said.ts}"), 1, Mode.ACT)
    made = Several(edge, said, turn)
    await edge.ws.wait_for(lambda: made.messages, AGES)
    await edge.settled()
    return made


def write(path: str, content: str = "hello") -> Call:
    return Call("desk", "write", {"path": path, "content": content})


async def test_all_of_them_stand_on_one_card_and_one_press_confirms_each(edge: Edge) -> None:
    made = await several(edge)
    assert len(made.messages) == 1
    assert made.card.text == "3 changes prepared: Write a.md; Write b.md; Write c.md"
    await made.press("confirm_all")
    assert made.card.text.startswith("3 changes done")
    assert sorted(edge.desk.notes) == list(NAMES)
    assert len(made.messages) == 1
    assert edge.ws.state.statuses[(OPS, made.said.ts)] == "active"
    lines = await edge.ledger.audit_tail(team=TEAM, limit=100)
    for event in ("shown", "confirmed"):
        assert sorted(line.entry.action for line in lines if line.entry.event == event) == sorted(
            made.id(place) for place in range(3)
        )


async def test_each_of_them_is_decided_by_its_own_button(http: Edge) -> None:
    made = await several(http)
    await made.press("confirm", 1)
    assert http.desk.notes == {"b.md": "hello"}
    assert "3 changes: 2 prepared, 1 done" in made.text
    assert http.ws.state.statuses[(OPS, made.said.ts)] == "suspended"
    await made.press("cancel", 0)
    assert "3 changes: 1 prepared, 1 done, 1 cancelled" in made.text
    await made.press("undo", 1)
    assert http.desk.notes == {}
    assert "2. Undone: Write b.md" in made.text
    await http.ann.say(OPS, "yes", thread_ts=made.said.ts)
    await http.ws.wait_for(lambda: "3. Wrote c.md" in made.text)
    await http.settled()
    assert http.desk.notes == {"c.md": "hello"}
    assert len(made.messages) == 1


async def test_nobody_else_confirms_any_of_them(http: Edge) -> None:
    made = await several(http)
    with http.nothing_ran():
        await made.press("confirm_all", user=BEN)
        await http.told(BEN, "can confirm this.")
        await made.press("confirm", 0, user=BEN)
    assert made.card.text.startswith("3 changes prepared")


@pytest.mark.slow
async def test_a_press_on_what_has_changed_since_confirms_nothing(http: Edge) -> None:
    made = await several(http)
    rows = [b for b in made.card.blocks or [] if b["type"] == "actions"]
    value = next(e["value"] for row in rows for e in row["elements"] if e["action_id"] == "confirm_all")
    await made.press("cancel", 1)
    with http.nothing_ran():
        for where in (made.card, http.ws.forge.message(OPS, http.ws.state.next_ts(), thread_ts=made.said.ts)):
            click = http.ws.forge.click(ANN, where, action_id="confirm_all", value=value)
            await http.send("interactive", click)
        await http.told(ANN, batch.CARD_CHANGED)
    await made.press("confirm_all")
    assert sorted(http.desk.notes) == ["a.md", "c.md"]


@pytest.mark.parametrize("value", ["", "x", "a.1.b", "nobody.3.0123456789abcdef", "\0.1.\0"])
@pytest.mark.parametrize("button", ["confirm_all", "show_apart"])
async def test_a_value_that_is_not_ours_is_told_so(http: Edge, button: str, value: str) -> None:
    said = await http.ann.say(OPS, "hello there")
    await http.send("interactive", http.ws.forge.click(ANN, said, action_id=button, value=value))
    await http.told(ANN, "I do not know this action (any more).")


async def test_an_edit_shows_the_new_version_on_the_same_card(http: Edge) -> None:
    made = await several(http, write("a.md", "could you come"), write("b.md"))
    words = "change 'could you come' to 'please come'"
    await made.press("cancel", 1)
    await http.ann.say(OPS, words, thread_ts=made.said.ts)
    await http.ws.wait_for(lambda: "Edited by" in made.text)
    await http.settled()
    assert "please come" in made.text
    await made.press("confirm", 0)
    assert http.desk.notes == {"a.md": "please come"}
    assert len(made.messages) == 1


@pytest.mark.slow
async def test_what_has_no_room_gets_a_card_of_its_own(http: Edge) -> None:
    made = await several(http, write("a.md", "a" * 7000), write("b.md", "b" * 7000), write("c.md"))
    assert "Number 2 is not part of it." in made.text
    second = (await made.actions())[1]

    def forged() -> dict[str, Any]:
        """A click on the shared card; each a new one, for the same one twice is dropped at the door."""
        return http.ws.forge.click(ANN, made.card, action_id="confirm", value=second.button)

    with http.nothing_ran():
        await http.send("interactive", forged())
        await http.told(ANN, claim_click.SHORTENED_CARD)
    await made.press("show_apart", 1)
    assert "It stands on a card of its own in this thread." in made.text
    assert made.own(1).text == "Prepared: Write b.md"
    assert len(made.messages) == 2
    with http.nothing_ran():
        await http.send("interactive", forged())
        await http.told(ANN, claim_click.NOT_OUR_CARD)
    await http.ann.click(made.own(1), "confirm")
    await http.settled()
    assert made.own(1).text == "Wrote b.md"
    await made.press("confirm_all")
    assert sorted(http.desk.notes) == list(NAMES)


FAULTS: dict[str, Fault] = {
    "500": ServerError(),
    "502": BadGateway(),
    "dropped": Dropped(),
    "dropped after": Dropped(accepted=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_batch_card_is_posted_once_and_updated_despite_errors(hasty_http: Edge, fault: str) -> None:
    hasty_http.ws.faults.on("chat.postMessage", FAULTS[fault])
    made = await several(hasty_http)
    hasty_http.ws.faults.on("chat.update", FAULTS[fault], times=2)
    await made.press("confirm_all")
    assert made.card.text.startswith("3 changes done")
    assert len(made.messages) == 1
    assert len(hasty_http.desk.calls) == 3


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "dropped after"])
async def test_an_action_that_leaves_the_batch_card_is_posted_once(hasty_http: Edge, fault: str) -> None:
    made = await several(hasty_http, write("a.md", "a" * 7000), write("b.md", "b" * 7000))
    hasty_http.ws.faults.on("chat.postMessage", FAULTS[fault])
    await made.press("show_apart", 1)
    assert made.own(1).text == "Prepared: Write b.md"
    await hasty_http.ann.click(made.own(1), "confirm")
    await hasty_http.settled()
    assert hasty_http.desk.notes == {"b.md": "b" * 7000}


async def test_two_draws_at_once_post_it_once(http: Edge) -> None:
    said = await http.ann.say(OPS, "hello there")
    session = Session(TEAM, OPS, said.ts)
    for place, name in enumerate(NAMES):
        await prepare(
            http.world, CallRequest(f"twice{place}", session, ANN, write(name), index=place, group="together")
        )
    for key in ("once", "again", "and again"):
        for place in range(3):
            http.pump.start(Run("card", f"{key} {place}", ("group", "together", "0")))
    await http.settled()
    (card,) = http.ws.by_app(OPS, said.ts)
    assert card.text.startswith("3 changes prepared: Write a.md")


class Behind:
    """The ledger as a slow replica saw it, before another one drew a newer state."""

    def __init__(self, ledger: Any, members: tuple[Action, ...]) -> None:
        self._ledger, self._members = ledger, [members]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def actions_of_group(self, group: str) -> tuple[Action, ...]:
        return self._members.pop() if self._members else await self._ledger.actions_of_group(group)

    async def begin_drawing(self, key: str) -> Posted | None:
        found = await self._ledger.posted(key)
        return Posted(found.channel, found.ts, 0)


async def test_an_older_state_that_comes_to_slack_last_does_not_stay(http: Edge) -> None:
    made = await several(http)
    older = await made.actions()
    await made.press("confirm_all")
    assert made.card.text.startswith("3 changes done")
    slow = Cards(http.cards._client, Behind(http.world.ledger, older))
    drawn: list[Any] = []
    await slow.draw(CardKey(CardKind.GROUP, made.group), 0.0, noted(drawn))
    assert [action.state for action in drawn] == ["prepared"] * 3 + ["succeeded"] * 3
    assert made.card.text.startswith("3 changes done")
    assert len(http.desk.calls) == 3
