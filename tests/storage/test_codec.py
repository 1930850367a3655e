"""What is stored comes back as it was, whatever it is."""

from __future__ import annotations

import asyncio
import itertools
import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.rules.action import Action, CallClass, Claim, Inverse, Outcome, Person, Preview, Verdict, Vote
from gate.rules.approvers import Approvers
from gate.rules.audit import Entry
from gate.rules.jobs import Run
from gate.rules.planner_port import CallReport, Incoming, Reply, Turn
from gate.rules.ports import Lease, Note, OpenedModal, Posted
from gate.rules.steps import HIDDEN, PRIVATE
from gate.rules.task import Step, StepReview, StepState
from storage.audit_log import verify
from storage.codec import dumps, loads, restored, storable
from storage.database import open_engine
from storage.ledger import SqlLedger
from storage.migrate import migrate
from tests.cpu_time import seconds
from tests.storage.samples import any_of, texts
from tests.tasks import step_of

KEY = b"a key"
PACKED = [
    Approvers,
    Preview,
    Claim | None,
    Outcome | None,
    Inverse | None,
    Reply,
    tuple[CallReport, ...],
    Person,
    Lease,
]
ON_A_DATABASE = settings(max_examples=15, suppress_health_check=list(HealthCheck))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("hint", PACKED, ids=str)
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_every_packed_value_comes_back(hint: Any, data: st.DataObject) -> None:
    value = data.draw(any_of(hint))
    assert loads(hint, dumps(hint, value)) == value


@given(texts)
def test_every_text_becomes_one_that_a_store_takes(text: str) -> None:
    kept = storable(text)
    assert "\x00" not in kept
    assert kept.encode().decode() == kept
    assert restored(kept) == text


def test_text_of_signs_that_no_store_takes_is_stored_and_restored_in_time() -> None:
    """Read on the loop: a million took 0.33 s with a function called for each."""
    strange = "\x1b" * 500_000 + "\ud800" * 500_000
    assert seconds(lambda: restored(storable(strange)), 3, 0.25) < 0.25


def test_plain_text_is_stored_as_it_is() -> None:
    assert storable("Ünïcode “quotes” 🙂\n\t") == "Ünïcode “quotes” 🙂\n\t"


def test_a_field_added_later_reads_as_its_default() -> None:
    assert loads(Preview, '{"summary":"s","verb":"v","facts":[]}') == Preview("s", "v", ())


STEP = (
    '{"id":"s1","title":"Write","server":"fs","tool":"write","args":{"n":1},"refs":{"to":"{steps.s0.to}"},"ask":true,'
    '"note":"slowly","after":["s0"],"cls":"write","verdict":"typed","preview":null,"problem":"p","rules":"r",'
    '"seal":"s","consent":"c","state":"done","action":"a1","undo":"a2","attempt":2,"text":"done","result":{"n":1},'
    '"confidence":null,"look":{"pause":1,"seconds":0.0,"by":"U1","edited":false},"origin":null}'
)  # as it was written while a step had no parts


def test_a_step_is_stored_with_the_fields_of_its_parts_beside_its_own() -> None:
    step = loads(Step, STEP)
    assert step == step_of(
        "s1", "Write", "fs", "write", {"n": 1}, refs={"to": "{steps.s0.to}"}, ask=True, note="slowly", after=("s0",),
        cls=CallClass.WRITE, verdict=Verdict.TYPED, problem="p", rules="r", seal="s", consent="c", state=StepState.DONE,
        action="a1", undo="a2", attempt=2, text="done", result={"n": 1}, look=StepReview(1, by="U1"),
    )  # fmt: skip
    added = {
        "closing": "",
        "privacy": "public",
        "touches": [],
        "rests_on": [],
        "tries": [],
        "heard": None,
    }  # since then
    assert json.loads(dumps(Step, step)) == json.loads(STEP) | added


def test_a_step_that_was_hidden_before_a_field_said_so_reads_as_private() -> None:
    preview = {"summary": "Write", "verb": "write", "facts": [], "notes": [HIDDEN]}
    for hidden in ({"preview": preview}, {"text": PRIVATE}):
        assert loads(Step, json.dumps(json.loads(STEP) | hidden)).is_private


def test_a_type_that_cannot_be_stored_is_named() -> None:
    @dataclass
    class Odd:
        kind: type

    with pytest.raises(TypeError, match="no way to store"):
        dumps(Odd, Odd(int))


def nothing(connection: object, run: Run) -> None:
    """No engine."""


@pytest.fixture
def home(database_url: str) -> Any:
    """A loop with a ledger in it, for tests of which hypothesis makes many; and names not used before."""
    with asyncio.Runner() as loop:
        loop.run(migrate(database_url))
        engine = open_engine(database_url)
        yield loop, SqlLedger(engine, nothing, KEY), engine, map("name{}".format, itertools.count())
        loop.run(engine.dispose())


@given(data=st.data())
@ON_A_DATABASE
def test_actions_and_votes_come_back(home: Any, data: st.DataObject) -> None:
    loop, ledger, _, names = home
    name = next(names)
    action, other = [replace(data.draw(any_of(Action)), id=name, flaw="") for _ in range(2)]
    vote = replace(data.draw(any_of(Vote)), action=name)

    async def story() -> None:
        async with ledger.begin() as tx:
            assert await tx.insert(action) == action
            assert await tx.insert(other) == action
            assert await tx.action(name) == action
            assert (await tx.action(name)).flaw == ""
            assert await tx.vote(vote)
            assert await tx.votes(name, vote.version) == (vote,)
        assert await ledger.action(name) == action
        assert await ledger.votes(name, vote.version) == (vote,)

    loop.run(story())


@given(data=st.data())
@ON_A_DATABASE
def test_talk_and_cards_come_back(home: Any, data: st.DataObject) -> None:
    loop, ledger, _, names = home
    name = next(names)
    turn, note = [replace(data.draw(any_of(kind)), id=name) for kind in (Turn, Note)]
    sheet, posted = replace(data.draw(any_of(OpenedModal)), view_id=name), data.draw(any_of(Posted))
    incoming = replace(data.draw(any_of(Incoming)), key=name)

    async def story() -> None:
        async with ledger.begin() as tx:
            assert await tx.open_turn(turn) == turn
            assert await tx.open_turn(replace(turn, text="another")) == turn
            assert [await tx.note(note), await tx.note(note)] == [True, False]
            await tx.save_modal(sheet)
            assert [await tx.receive(incoming), await tx.receive(incoming)] == [True, False]
            assert await tx.reserve_message(incoming.session, "reader", 1) == incoming
            await tx.finish_message(name)
        assert await ledger.turn(name) == turn
        assert await ledger.note(name) == note
        assert await ledger.opened_modal(name) == sheet
        await ledger.set_posted(name, posted)
        assert await ledger.posted(name) == posted

    loop.run(story())


@given(entries=st.lists(any_of(Entry), min_size=1, max_size=5))
@ON_A_DATABASE
def test_audit_entries_come_back_and_verify(home: Any, entries: list[Entry]) -> None:
    loop, ledger, engine, names = home
    team = next(names)
    entries = [replace(entry, session=f"{team}:C:1") for entry in entries]

    async def story() -> None:
        async with ledger.begin() as tx:
            for entry in entries:
                tx.audit(entry)
        found = await ledger.audit_tail(team=team)
        assert [line.entry for line in reversed(found)] == entries
        assert (await verify(engine, KEY)).broken_at is None

    loop.run(story())


@pytest.mark.parametrize(
    ("before", "look", "result"),
    [
        ({"shown": 0}, None, {"n": 1}),
        ({"shown": 2, "held_for": 10.0}, StepReview(2, 10.0), {"n": 1}),
        ({"shown": 2, "passed": "U1"}, StepReview(2, by="U1"), {"n": 1}),
        (
            {"shown": 2, "passed": "U1", "revised": {"n": 2}, "revised_by": "U1"},
            StepReview(2, 0.0, "U1", True),
            {"n": 2},
        ),
        ({"shown": 2, "rejected_by": "U2", "state": "failed", "result": None}, StepReview(2, by="U2"), None),
    ],
)
def test_a_step_that_version_1_stored_keeps_the_look_at_its_result(
    before: dict[str, Any], look: StepReview | None, result: Any
) -> None:
    fields = {"held_for": 0.0, "passed": "", "revised": None, "revised_by": "", "rejected_by": ""}
    stored = {
        "id": "s1",
        "title": "",
        "server": "desk",
        "tool": "look",
        "args": {},
        "state": "done",
        "result": {"n": 1},
    }
    step = loads(Step, json.dumps(stored | fields | before))
    assert (step.look, step.result, step.origin, step.after) == (look, result, None, None)
    assert loads(Step, dumps(Step, step)) == step
