"""No arguments of earlier calls hold the event loop up while a model is told of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from gate.rules.action import Json
from gate.rules.planner_port import MAX_TOLD, Call, CallReport, Exchange, Propose, Turn
from gate.rules.policy import Policy
from gate.rules.task import Usage
from tests.cpu_time import seconds
from tests.tools.model_setup import ANN, FILES, NOW, SESSION, ListedTools, brief, reply, turn
from tools.model.model_port import AssistantMessage, Memo, Request, Response, Round, ToolCall, dump_memo
from tools.model.planner import ModelPlanner
from tools.model.told_arguments import CUT, LEFT_OUT, beginning

LIMIT = 0.3  # seconds, as in tests/test_hostile_sizes.py
MOVE: dict[str, Json] = {"source": "a", "destination": "b"}
LONG: dict[str, Callable[[int], dict[str, Json]]] = {
    "numbers by name": lambda n: {f"k{n}.{number}": number for number in range(4_000)},
    "zeros": lambda n: {"d": [0] * 21_000, "n": n},
    "fractions": lambda n: {"d": [number / 7 + n for number in range(3_000)]},
    "a text": lambda n: {"text": f"ü{n}" * 12_000},
    "empty things": lambda n: {"d": [{}] * 16_000, "n": n},
    "a few hundred characters": lambda n: {"text": f"{n:03}" * 130},
    "a few thousand characters": lambda n: {"text": [n] * 1_500},
}


@dataclass
class Answers:
    """Implements the port Model: says the same each time, and keeps what it was asked."""

    asked: list[Request] = field(default_factory=list)

    async def ask(self, request: Request) -> Response:
        self.asked.append(request)
        return Response(AssistantMessage("fine"), Usage())

    @property
    def told(self) -> str:
        """All that it was told in its last request."""
        return "\n\n".join(map(str, self.asked[-1].messages))


def earlier(number: int, calls: list[tuple[dict[str, Json], CallReport]]) -> Turn:
    """A turn of the thread in which the model made these calls."""
    made = tuple(Call("files", "move_file", args) for args, _ in calls)
    tool_calls = tuple(ToolCall("files__move_file", json.dumps(args)) for args, _ in calls)
    memo = dump_memo(Memo((Round(AssistantMessage("", tool_calls), (None,) * len(calls)),)))
    reports = tuple(replace(report, call=place) for place, (_, report) in enumerate(calls))
    asked = Turn(f"t{number}", SESSION, ANN, f"do {number}", NOW, task=f"k{number}")
    return replace(asked, exchanges=(Exchange(Propose(made), reports, memo),))


def edited(args: dict[str, Json], text: str = "") -> CallReport:
    return CallReport(0, "succeeded" if text else "cancelled", text, args=args, by=ANN, edited_by=ANN)


def planner_with(model: Answers) -> ModelPlanner:
    return ModelPlanner(model, ListedTools(FILES), Policy("1"), b"a key")


@pytest.mark.parametrize("text", ["", "done"])
@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_the_arguments_of_earlier_calls_are_written_out_no_further_than_they_are_told(
    make: Callable[[int], dict[str, Json]], text: str
) -> None:
    """They were written out whole for each request, four times: 3 s for calls that were edited to 64 KB."""
    thread = tuple(
        earlier(number, [(make(k), edited(make(k), text)) for k in range(number * 10, number * 10 + 10)])
        for number in range(30)
    )
    run = lambda: asyncio.run(reply(planner_with(Answers()), turn("so?"), brief("so?", earlier=thread)))  # noqa: E731
    assert seconds(run, 3, LIMIT) < LIMIT


async def test_long_arguments_of_the_last_calls_are_told_to_where_they_are_cut() -> None:
    long, model = LONG["zeros"](0), Answers()
    thread = tuple(earlier(number, [(MOVE, edited({**long, "n": number}))]) for number in range(60))
    await reply(planner_with(model), turn("so?"), brief("so?", earlier=thread))
    note = CUT.format(count=MAX_TOLD)
    assert beginning(long, MAX_TOLD)[: MAX_TOLD - len(note)] + note in model.told.replace("\\n", "\n")
    assert model.told.count("do ") == 60  # what people wrote stays
    assert model.told.count("Edited by") == 60
    assert model.told.index("left out to save room") < model.told.index("cut here")
    assert LEFT_OUT in model.told


async def test_short_arguments_are_told_however_many_there_are() -> None:
    model = Answers()
    thread = tuple(
        earlier(n, [(MOVE, edited({"source": f"from {n}.{k}", "destination": "b" * 300})) for k in range(10)])
        for n in range(30)
    )
    await reply(planner_with(model), turn("so?"), brief("so?", earlier=thread))
    assert all(f"from {n}.{k}" in model.told for n in range(1, 30) for k in range(10))
