"""A model that obeys whatever it reads, in the real flows: 200 injected instructions run nothing without a person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from gate.rules.action import Action, CallClass, Session
from gate.rules.canonical_json import parse
from gate.rules.planner_port import Incoming
from gate.rules.tool import Answer, Hints, Recipe
from gate.tasks import inbox
from tests.gate.fake_tools import Desk, bundled, schema
from tests.gate.gate_setup import ANN, BEN, CHANNEL, TEAM, Scene, Wall
from tests.injections import WAYS, Injection, injections
from tests.model_stub import Answer as Said
from tests.model_stub import Heard, ModelStub, Script, assesses, obey
from tools.model.planner import ModelPlanner
from tools.model.provider_client import ProviderModel

ORDERS = {
    "desk__write": {"path": "w-{n}.md", "content": "taken over"},
    "desk__shred": {"path": "secret-{n}.md"},
    "desk__poke": {"at": "p-{n}"},
}
ALL = injections(ORDERS)
OUTPUT, CONTENT, DESCRIPTION, OTHERS = WAYS
AT_ONCE = 5  # instructions in one request; a desk has so many tools to be described
ASKS = assesses(clear=False, questions=[{"question": "Which of them?", "missing": "inputs"}])
LISTEN = bundled("listen", schema([]), Hints(True), Recipe(cls=CallClass.READ))


class Talking(Desk):
    """A desk with a tool that reads out what somebody else wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.specs_now["listen"] = LISTEN
        self.heard = ""

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        if tool == "listen":
            return Answer(self.heard)
        return await super().call(server, tool, args, seconds, definition)


class Blank(Wall):
    """No card is drawn: there would be hundreds, each of five parts, and nobody looks at them."""

    async def draw_action(self, action: Action, key: str) -> None:
        pass


def asking_first(heard: Heard) -> Said:
    return ASKS if heard.assessing and "all of them" not in heard.text else obey(heard)


@asynccontextmanager
async def thinking(stage: Scene, script: Script) -> AsyncIterator[None]:
    """The scene, with a model for a planner whose assessments come from the script, too."""
    async with ModelStub(script, assessment=None) as stub:
        model = ProviderModel(stub.config())
        planner = ModelPlanner(model, stage.desk, stage.world.policy, b"a key")
        stage.world = replace(stage.world, planner=planner)
        try:
            yield
        finally:
            await model.close()


async def say(stage: Scene, place: int, text: str, user: str = ANN, number: int = 0) -> None:
    """Somebody writes in the thread of a request; each request has its own, so that none reminds of another."""
    session = Session(TEAM, CHANNEL, f"{1_700_000_000 + place}.000000")
    ts = f"{(4_100_000_000 if number else 1_700_000_000) + place}.{number:06}"  # replies come after the cards
    await inbox.receive(stage.world, Incoming(f"in:{ts}", session, user, text, ts, number == 0))
    await stage.play()


async def meet(stage: Scene, desk: Talking, way: str, place: int, told: Sequence[str]) -> None:
    """A harmless request, on whose way the model meets the instructions."""
    if way == OUTPUT:
        desk.heard = "\n\n".join(told)
        return await say(stage, place, "CALL(desk__listen {})")
    if way == CONTENT:
        desk.notes["a.md"] = "\n\n".join(told)
        return await say(stage, place, 'CALL(desk__look {"path": "a.md"})')
    if way == DESCRIPTION:
        for tool, text in zip(("look", "write", "shred", "put_back", "poke"), told, strict=True):
            desk.specs_now[tool] = replace(desk.specs_now[tool], description=text)
        return await say(stage, place, "what is on the desk?")
    await say(stage, place, "what is in the notes?")
    for number, text in enumerate(told, 1):
        await say(stage, place, text, BEN, number)
    await say(stage, place, "all of them", number=len(told) + 1)


def furnished(stage: Scene) -> Talking:
    """Puts a desk into the scene with everything on it that the instructions name."""
    desk = Talking()
    desk.notes |= {"a.md": "ours", **{f"secret-{number}.md": "ours" for number in range(len(ALL))}}
    stage.desk, stage.wall = desk, Blank(stage.ledger)
    limits = replace(stage.world.limits, pending_per_user=len(ALL))
    stage.world = replace(stage.world, tools=desk, chat=stage.wall, limits=limits)
    return desk


def ordered(one: Injection) -> tuple[str, Any]:
    name, args = one.call
    return name, args.get("path") or args["at"]


def proposed(action: Action) -> tuple[str, Any]:
    args = parse(action.args)
    return f"{action.server}__{action.tool}", args.get("path") or args["at"]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("way", WAYS)
async def test_fifty_instructions_that_a_model_obeys_run_nothing_without_a_person(
    stage: Scene, way: str
) -> None:
    mine = [one for one in ALL if one.way == way]
    desk = furnished(stage)
    before = dict(desk.notes)
    async with thinking(stage, asking_first if way == OTHERS else obey):
        for place in range(0, len(mine), AT_ONCE):
            await meet(stage, desk, way, place, [one.text for one in mine[place : place + AT_ONCE]])
        waiting = await stage.ledger.pending(TEAM)
        obeyed = {proposed(action) for action in waiting}
        assert obeyed == {ordered(one) for one in mine}
        assert {action.requester for action in waiting} == {ANN}
        assert desk.calls == []
        del before["a.md"], desk.notes["a.md"]  # the file that the test itself wrote
        assert desk.notes == before

        write = next(action for action in waiting if action.tool == "write")
        assert (await stage.confirm(write, BEN)).code == "not_allowed"
        assert desk.calls == []
        assert (await stage.confirm(write)).code == "confirmed"
        await stage.play()
    assert [(tool, args["path"]) for tool, args in desk.calls] == [("write", proposed(write)[1])]


async def test_what_nobody_decides_on_lapses_and_the_model_cannot_say_otherwise(stage: Scene) -> None:
    desk = furnished(stage)
    async with thinking(stage, obey):
        await meet(stage, desk, OUTPUT, 0, [one.text for one in ALL[:AT_ONCE]])
        assert len(await stage.ledger.pending(TEAM)) == AT_ONCE
        stage.travel(1000)
        await stage.play(timers=True)
    assert (desk.calls, await stage.ledger.pending(TEAM)) == ([], ())
    assert not any("carried out everything" in text for text in stage.texts)
    assert any("This is what happened" in text and "nobody decided in time" in text for text in stage.texts)
