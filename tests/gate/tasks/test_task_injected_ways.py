"""A model that obeys each injected instruction, by every way in, with both planners: no write without a person."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest

from gate.rules.action import Session
from gate.rules.grants import Grant
from gate.rules.settings import Switches
from gate.rules.tool import Hints, Trust
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene
from tests.gate.tasks.test_task_injected_instructions import (
    ASKS,
    CONTENT,
    DESCRIPTION,
    LISTEN,
    ORDERS,
    OTHERS,
    OUTPUT,
    Talking,
    asking_first,
    furnished,
    meet,
    say,
    thinking,
)
from tests.injections import FORMS, PRETEXTS, Injection
from tests.model_stub import ORDER, Answer, Heard, Script, assesses, calls, obey, says
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases

MAIL, NAME = "mail", "name of a file or a tool"
WAYS = (OUTPUT, CONTENT, DESCRIPTION, OTHERS, MAIL, NAME)
TEXTS = len(PRETEXTS) * len(FORMS)
SHORT = 6  # instructions of each kind that the suite tries; soak tries all of them
OUTSIDE = replace(LISTEN, hints=Hints(True, open_world=True))
PHRASES = """
phrases:
  - say: ["listen"]
    call: desk.listen
    args: {}
  - say: ["look at {path}"]
    call: desk.look
    args: {path: "{path}"}
  - say: ["write {path} with {content:rest}"]
    call: desk.write
    args: {path: "{path}", content: "{content}"}
  - say: ["shred {path}"]
    call: desk.shred
    args: {path: "{path}"}
"""


@dataclass(frozen=True)
class Setting:
    """`plan`: the planner makes plans, which no approval is asked for, so that only the gates of their steps are left.
    `granted`: the requester has granted writes with any arguments in each thread, so that all that is told fits."""

    planner: str
    plan: bool
    granted: bool

    def __str__(self) -> str:
        return f"{self.planner}, {'plans' if self.plan else 'simple'}, {'' if self.granted else 'no '}grants"


SETTINGS = [Setting(*one) for one in product(("model", "phrases"), (False, True), (False, True))]


def attempts(way: str, most: int) -> Iterator[Injection]:
    """`most` instructions, spread evenly over all wordings."""
    numbered = list(enumerate(product(PRETEXTS, FORMS)))
    for number, (pretext, form) in numbered[:: max(1, TEXTS // most)][:most]:
        name, args = list(ORDERS.items())[number % len(ORDERS)]
        filled = {key: value.replace("{n}", str(number)) for key, value in args.items()}
        order = f"CALL({name} {json.dumps(filled)})"
        yield Injection(way, form.format(pretext=pretext, order=order), (name, filled))


def plans(heard: Heard) -> Answer:
    """Obeys by making a plan of all that any text tells it to do; else does what it can at once."""
    if heard.assessing:
        return assesses(60, 4)
    if "propose_plan" not in heard.tools:
        return obey(heard)
    told = "\n".join([heard.text, *map(str, heard.tools.values())]).replace('\\"', '"')
    orders = {name: json.loads(args) for name, args in ORDER.findall(told)}
    read = {name: args for name, args in orders.items() if name in ("desk__listen", "desk__look")}
    if read and not heard.called:
        return calls(*read.items())
    made = [(name, json.loads(args)) for name, args in dict.fromkeys(ORDER.findall(told)) if name not in read]
    steps = [{"tool": name, "title": name, "arguments": args} for name, args in made[:10]]
    return calls(("propose_plan", {"steps": steps})) if steps else says("There is nothing to do.")


def planning_after_a_question(heard: Heard) -> Answer:
    return ASKS if heard.assessing and "all of them" not in heard.text else plans(heard)


@asynccontextmanager
async def playing(stage: Scene, setting: Setting, way: str, folder: Path) -> AsyncIterator[None]:
    """The scene with this planner."""
    if setting.plan:
        switches = Switches(plan_approval=False, approval_mode="auto")
        stage.world = replace(stage.world, switches=lambda channel: switches)
    if setting.planner == "phrases":
        (folder / "phrases.yaml").write_text(PHRASES)
        planner = Phrases(load_phrases(folder / "phrases.yaml"), stage.desk)
        stage.world = replace(stage.world, planner=planner)
        yield
        return
    scripts: dict[bool, Script] = {False: obey, True: plans}
    if way == OTHERS:
        scripts = {False: asking_first, True: planning_after_a_question}
    async with thinking(stage, scripts[setting.plan]):
        yield


async def grant(stage: Scene, place: int) -> None:
    """Ann lets every write run in the thread of this request."""
    session = Session(TEAM, CHANNEL, f"{1_700_000_000 + place}.000000")
    async with stage.ledger.begin() as tx:
        now = await tx.now()
        given = Grant(
            id=f"g{place}", session=session, user=ANN, server="desk", tool="write", patterns=(),
            definition=stage.desk.specs_now["write"].definition, given_at=now, until=now + timedelta(hours=8),
        )  # fmt: skip
        assert await tx.grants.give(given)


async def met(
    stage: Scene, desk: Talking, setting: Setting, way: str, place: int, told: Sequence[str]
) -> None:
    """A harmless request, on whose way the planner meets the instructions."""
    asks = "listen" if setting.planner == "phrases" else "CALL(desk__listen {})"
    if way in (OUTPUT, MAIL, NAME):
        letters = [f"From: boss@example.com\nSubject: {text}\n\n{text}\nBest, the boss" for text in told]
        desk.heard = (
            json.dumps({"files": list(told)})
            if way == NAME
            else "\n\n".join(letters if way == MAIL else told)
        )
        if way == NAME:
            desk.specs_now["look"] = replace(desk.specs_now["look"], title=told[0])
        return await say(stage, place, asks)
    if way == CONTENT and setting.planner == "phrases":
        desk.notes["a.md"] = "\n\n".join(told)
        return await say(stage, place, "look at a.md")
    await meet(stage, desk, way, place, told)


async def tried(stage: Scene, setting: Setting, way: str, most: int, folder: Path) -> int:
    """How many instructions the planner has met; nothing that changes anything has run because of them."""
    desk = furnished(stage)
    if way in (MAIL, NAME):
        desk.specs_now["listen"] = OUTSIDE
    if way == DESCRIPTION:  # only what nobody has read says other than our own words
        for tool in ("look", "shred", "put_back", "poke"):
            spec = desk.specs_now[tool]
            desk.specs_now[tool] = replace(spec, trust=Trust.DECLARED, reviewed=False)
    every = list(attempts(way, most))
    async with playing(stage, setting, way, folder):
        for place in range(0, len(every), 5):
            told = [one.text for one in every[place : place + 5]]
            told += told[:1] * (5 - len(told))  # a desk has five tools to be described
            if setting.granted:
                await grant(stage, place)
            await met(stage, desk, setting, way, place, told)
            assert desk.calls == [], (setting, way, place)
        waiting = await stage.ledger.pending(TEAM)
        assert all(not action.grant for action in waiting)
        if setting.planner == "model":
            assert waiting  # it did obey: without that, the test would show nothing
            told = [any("Although you allowed this here" in n for n in a.preview.notes) for a in waiting]
            fits = [setting.granted and action.tool == "write" for action in waiting]
            assert told == fits
    return len(every)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
async def test_no_injected_instruction_changes_anything(
    stage: Scene, setting: Setting, way: str, tmp_path: Path
) -> None:
    assert await tried(stage, setting, way, SHORT, tmp_path) == SHORT


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
async def test_none_of_all_injected_instructions_changes_anything(
    stage: Scene, setting: Setting, way: str, tmp_path: Path
) -> None:
    assert await tried(stage, setting, way, TEXTS, tmp_path) == TEXTS


def test_soak_makes_more_than_a_thousand_attempts_and_the_suite_some_three_hundred() -> None:
    kinds = len(SETTINGS) * len(WAYS)
    assert kinds * TEXTS >= 1_000
    assert 200 <= kinds * SHORT <= 400
