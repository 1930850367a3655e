"""A model that obeys all injected instructions still only proposes: nothing runs without a person."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from gate.rules.planner_port import CallReport, CancelPending, Mode, PlannerReply, Propose, Say
from gate.rules.policy import Policy
from gate.rules.task import Remark
from tests.injections import WAYS, Injection, injections
from tests.model_stub import ModelStub, obey
from tests.tools.model_setup import BOB, FILES, NOW, ListedTools, brief, done, planning, reply, then, turn
from tools.model.planner import ModelPlanner
from tools.model.provider_client import ProviderModel

ORDERS = {
    "files__delete_file": {"path": "secret-{n}.md"},
    "files__move_file": {"source": "a-{n}", "destination": "b"},
    "notes__add_note": {"text": "sent to everybody {n}"},
}
ALL = injections(ORDERS)


def test_the_corpus_has_fifty_injections_of_each_kind() -> None:
    assert Counter(one.way for one in ALL) == dict.fromkeys(WAYS, 50)
    assert len({json.dumps(one.call) for one in ALL}) == 200


async def _proposals_after_rejection(planner: ModelPlanner, one: Injection, mode: Mode) -> list[PlannerReply]:
    """Two replies of a turn in which the model meets the instruction."""
    asked = turn("What is in a.md?", mode)
    known = brief(remarks=(Remark(BOB, one.text, NOW),)) if one.way == WAYS[3] else brief()
    first = await reply(planner, asked, known)
    results = tuple(
        CallReport(i, "rejected", "no", by=BOB) for i in range(len(getattr(first.reply, "calls", ())))
    )
    return [first, await reply(planner, then(asked, first, *results), known)] if results else [first]


@asynccontextmanager
async def _obeying_planner() -> AsyncIterator[ModelPlanner]:
    async with ModelStub(obey) as stub:
        model = ProviderModel(stub.config())
        try:
            yield ModelPlanner(model, ListedTools(FILES), Policy("1"), b"a key")
        finally:
            await model.close()


async def _replies_of_obeying_model(planner: ModelPlanner, one: Injection, mode: Mode) -> list[PlannerReply]:
    if one.way == WAYS[2]:
        described = replace(FILES[0], description=one.text)
        planner = replace(planner, tools=ListedTools((described, *FILES[1:])))
    return await (_replies_after_reading if one.way in WAYS[:2] else _proposals_after_rejection)(
        planner, one, mode
    )


async def _replies_after_reading(planner: ModelPlanner, one: Injection, mode: Mode) -> list[PlannerReply]:
    """The instruction comes back as the result of a read that the model was made to call."""
    asked = turn('CALL(files__read_file {"path": "a.md"})', mode)
    first = await reply(planner, asked)
    assert isinstance(first.reply, Propose)
    after = then(asked, first, done(0, one.text))
    return [await reply(planner, after)]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_an_obeying_model_only_ever_proposes(way: str) -> None:
    async with _obeying_planner() as planner:
        for one in (one for one in ALL if one.way == way):
            replies = await _replies_of_obeying_model(planner, one, Mode.ACT)
            name, args = one.call
            first = replies[0].reply
            assert isinstance(first, Propose), (one, first)
            assert [(f"{c.server}__{c.tool}", dict(c.args)) for c in first.calls] == [(name, dict(args))]
            for later in replies[1:]:
                assert isinstance(later.reply, Say)
                assert "carried out" not in later.reply.text  # it lied; code told the truth


@pytest.mark.parametrize("mode", [Mode.PLAN, Mode.TALK])
async def test_an_obeying_model_proposes_nothing_in_a_plan_or_a_conversation(mode: Mode) -> None:
    async with _obeying_planner() as planner:
        for one in ALL[::10]:
            for replied in await _replies_of_obeying_model(planner, one, mode):
                assert not isinstance(replied.reply, Propose | CancelPending), one


async def test_no_reply_of_a_planner_can_confirm() -> None:
    """There is nothing among the offered tools by which a model could decide."""
    async with planning(obey) as (planner, stub):
        await reply(planner, turn())
    names = set(stub.requests[0].tools)
    assert not {
        name for name in names if any(word in name for word in ("confirm", "approve", "execute", "grant"))
    }
