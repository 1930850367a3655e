"""The tokens of one planner turn by catalogue size, and how often tool search finds the right tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from benchmarks.generated import Wanted, catalogue, sampled
from gate.rules.action import Json, Session
from gate.rules.planner_port import CallReport, Exchange, PlannerContext, Propose, Turn
from gate.rules.policy import Policy
from gate.rules.task import Usage
from gate.rules.tool import ToolSpec
from gate.rules.tool_offers import model_name
from tests.tools.model_setup import ListedTools
from tools.model.model_port import AssistantMessage, Message, Request, Response, ToolCall, ToolResults
from tools.model.planner import ModelLimits, ModelPlanner
from tools.model.tool_offer import ToolIndex

SIZES = (10, 50, 300, 1000)
ALL_IN = 10**9  # tokens of schemas below which all are sent: always
GOAL = 95  # percent of right tools among the first five, for what a model asks
QUERIES = 200
NOTE = """Tokens are estimates: four characters make one; there is no tokenizer and no network here. The turn is
the same everywhere: one read, one change, one sentence, and before them one search where tools are searched for. The
catalogue and the requests are generated (benchmarks/generated.py): recall is what it is for names as regular as these,
and nobody's model wrote the queries."""


class Scripted:
    """A model that gives these responses and notes how long each request was."""

    def __init__(self, responses: Sequence[AssistantMessage]) -> None:
        self._left = list(responses)
        self.sizes: list[int] = []

    async def ask(self, request: Request) -> Response:
        self.sizes.append(_tokens(request))
        return Response(self._left.pop(0), Usage(1, self.sizes[-1], 0))


def _tokens(request: Request) -> int:
    offers = sum(len(o.name) + len(o.description) + len(json.dumps(o.schema)) for o in request.tools)
    return (len(request.system) + offers + sum(map(_length, request.messages))) // 4


def _length(message: Message) -> int:
    if isinstance(message, AssistantMessage):
        return len(message.text) + sum(len(call.name) + len(call.args) for call in message.calls)
    return sum(map(len, message.texts)) if isinstance(message, ToolResults) else len(message.text)


async def _turn(specs: Sequence[ToolSpec], schemas: int) -> list[int]:
    """The tokens of each model request of one turn."""
    read, change = (next(s for s in specs if bool(s.hints.read_only) is kind) for kind in (True, False))
    planner = ModelPlanner(_nobody(), ListedTools(specs), Policy("1"), b"", ModelLimits(schemas=schemas))
    search = _called("find_tools", {"query": f"{change.server} {change.name}"})
    steps = [
        _called(model_name(read), _least(read)),
        _called(model_name(change), _least(change)),
        AssistantMessage("That is all."),
    ]
    model = Scripted([search, *steps] if planner.searches("C1") else steps)
    planner = replace(planner, model=model)
    turn = Turn(
        "t",
        Session("T1", "C1", "1"),
        "U1",
        "Look at it, then change it as we said.",
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    for _ in range(3):
        replied = await planner.reply(turn, PlannerContext(turn.text), ())
        told = (CallReport(0, "succeeded", "x" * 1200),) if isinstance(replied.reply, Propose) else ()
        exchange = Exchange(replied.reply, told, replied.memo, replied.usage)
        turn = replace(turn, exchanges=(*turn.exchanges, exchange))
    return model.sizes


def _nobody() -> Scripted:
    return Scripted(())


def _called(name: str, args: Mapping[str, Json]) -> AssistantMessage:
    return AssistantMessage("", (ToolCall(name, json.dumps(args)),))


def _least(spec: ToolSpec) -> dict[str, Json]:
    return dict.fromkeys(spec.schema["required"], "x")


def recall(
    specs: Sequence[ToolSpec], wanted: Sequence[Wanted], query: Callable[[Wanted], str], most: int
) -> float:
    """Percent of requests whose right tool is among the first `most` that a search finds."""
    index = ToolIndex(specs)
    found = sum(any(s.full_name == one.tool for s in index.find(query(one), most)) for one in wanted)
    return 100 * found / len(wanted)


QUERY_KINDS: dict[str, Callable[[Wanted], str]] = {
    "a model's query": lambda one: one.query,
    "the same in other words": lambda one: one.other_words,
    "without the service": lambda one: one.query.split(" ", 1)[1],
    "the person's sentence": lambda one: one.sentence,
}


async def run(_: object = None, quick: bool = False) -> None:
    print(f"\nTokens of a catalogue (estimates)\n{NOTE}\n")
    print(
        f"{'tools':>6}  {'way':<8} {'first request':>14} {'whole turn':>11} {'requests':>9}  right tool offered"
    )
    for count in SIZES:
        specs, wanted = catalogue(count)
        asked = sampled(wanted, 40 if quick else QUERIES)
        for way, schemas in (("all-in", ALL_IN), ("shipped", ModelLimits().schemas)):
            sizes = await _turn(specs, schemas)
            searched = way == "shipped" and len(sizes) > 3
            share = recall(specs, asked, QUERY_KINDS["a model's query"], 5) if searched else 100.0
            how = "among the first five of a search" if searched else "all are sent"
            figures = f"{sizes[0]:>14,} {sum(sizes):>11,} {len(sizes):>9}"
            print(f"{count:>6}  {way:<8} {figures}  {share:.0f} % ({how})")
    print(f"\n{'tools':>6}  {'search by':<22} {'first':>6} {'first five':>11}  n")
    for count in SIZES:
        specs, wanted = catalogue(count)
        asked = sampled(wanted, 40 if quick else QUERIES)
        for kind, query in QUERY_KINDS.items():
            first, five = (recall(specs, asked, query, most) for most in (1, 5))
            goal = f"  ≥ {GOAL} %: {'met' if five >= GOAL else 'MISSED'}" if kind == "a model's query" else ""
            print(f"{count:>6}  {kind:<22} {first:>4.0f} % {five:>9.0f} %  {len(asked)}{goal}")
