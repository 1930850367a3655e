"""A rule about an entity of server-memory holds for each result that has it, whatever words it was found by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.wiring import SystemClock
from gate.actions.gated_results import MadeCall, without_gated_files
from gate.actions.preview import policy_decision
from gate.arguments.declared_targets import Targets
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.asked_names import MOST_SOUGHT, not_asked_by_word
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy, Rule
from gate.rules.previews import way_back
from gate.rules.tool import Answer, ToolSpec, Trust
from tools.mcp.schema import problems
from tools.recipes.check import load_recorded_schemas
from tools.recipes.reader import load_recipes

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
FILE, KNOWN = load_recipes(FOLDER)["server-memory"], load_recorded_schemas(FOLDER)["server-memory"].schemas
SPECS = {
    name: ToolSpec(
        "memory",
        name,
        name,
        "",
        KNOWN[name].input_schema,
        "d",
        trust=Trust.REVIEWED,
        reviewed=True,
        recipe=FILE.recipe(name),
    )
    for name in FILE.tools
}
PAY = {"name": "Ann salary", "entityType": "money", "observations": ["98000 a year"]}
TEA = {"name": "Tea", "entityType": "drink", "observations": ["warm"]}
GRAPH = {"entities": [PAY, TEA], "relations": []}
ONLY_TEA = {"entities": [TEA], "relations": []}
KNOWS = {"from": "Tea", "to": "Ann salary", "relationType": "pays for"}
READS: tuple[tuple[str, dict[str, Json]], ...] = (
    ("read_graph", {}),
    ("search_nodes", {"query": ""}),
    ("search_nodes", {"query": "sala"}),
    ("open_nodes", {"names": ["Tea", "other"]}),
)


def text(*patterns: str, tools: tuple[str, ...] = ("memory.*",), **how: Any) -> Rule:
    return Rule("pay", tools, texts=patterns, **how or {"deny": True})


def of_names(name: str, wanted: Json, **how: Any) -> Rule:
    schema = {"required": [name], "properties": {name: wanted}}
    return Rule("pay", ("memory.*",), schema=schema, **how or {"deny": True})


async def told(rule: Rule, tool: str, args: dict[str, Json], result: Json, words: str = "all of it") -> str:
    """What whoever asks is told, once somebody has confirmed it where that is wanted."""
    tools = SimpleNamespace(specs=lambda: [*SPECS.values()], problems=problems)
    policy, turns = Policy("v", (*ALWAYS, rule)), JudgingTurns()
    world: Any = SimpleNamespace(tools=tools, policy=policy, clock=SystemClock(), judging=turns)
    decision = policy_decision(world, SPECS[tool], args, "C")
    if decision.verdict is Verdict.DENY:
        return "denied"
    confirmed = decision.verdict is not Verdict.RUN
    call = MadeCall(SPECS[tool], args, "C", is_confirmed=confirmed, is_private=decision.private)
    answer = Answer(words, structured=result, clipped=result is None)
    return (await without_gated_files(world, call, answer)).text


RULES = (
    text("(?i)salary"),
    text("salary"),
    text("^Ann salary$", tools=("memory.open_nodes",)),
    text("SALARY"),
    of_names("names", {"contains": {"const": "ann salary"}}),
    of_names("names", {"contains": {"pattern": "salary$"}}),
    of_names("entityNames", {"contains": {"pattern": "salary$"}}),
    of_names("observations", {"contains": {"properties": {"entityName": {"pattern": "^Ann"}}}}),
)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("tool", "args"), READS)
async def test_an_entity_that_a_rule_keeps_is_given_by_no_read(
    tool: str, args: dict[str, Json], rule: Rule
) -> None:
    assert "“pay”" in await told(rule, tool, args, GRAPH)
    assert "“pay”" in await told(rule, tool, args, {"entities": [TEA], "relations": [KNOWS]})
    assert await told(rule, tool, args, ONLY_TEA) == "all of it"


@pytest.mark.parametrize("pattern", ["98000", "^98000 A YEAR$", "money", "pays"])
async def test_a_text_that_stands_in_an_observation_or_a_type_keeps_the_entity(pattern: str) -> None:
    said = await told(text(pattern), "read_graph", {}, {**GRAPH, "relations": [KNOWS]})
    assert "“pay”" in said
    assert await told(text(pattern), "read_graph", {}, ONLY_TEA) == "all of it"


async def test_a_rule_that_spares_some_names_is_held_against_names_alone() -> None:
    spared = of_names("names", {"contains": {"not": {"pattern": "^Tea$"}}})
    assert await told(spared, "read_graph", {}, ONLY_TEA) == "all of it"
    assert "“pay”" in await told(spared, "read_graph", {}, GRAPH)


async def test_an_entity_that_somebody_has_confirmed_by_its_name_is_given_with_all_that_it_says() -> None:
    asks = text("(?i)salary|98000", at_least=CallClass.DESTRUCTIVE)
    named: dict[str, Json] = {"names": ["Ann salary"]}
    other = {**PAY, "name": "Bob salary"}
    alone = {"entities": [PAY], "relations": [KNOWS, {**KNOWS, "to": "Bob salary", "from": "Ann salary"}]}
    assert await told(asks, "open_nodes", named, alone) == "all of it"
    assert "“pay”" in await told(asks, "open_nodes", named, {**alone, "entities": [PAY, other]})
    assert "“pay”" in await told(asks, "search_nodes", {"query": "salary"}, GRAPH)


async def test_two_texts_of_a_rule_hold_together_in_one_entity_or_beside_the_call() -> None:
    both = text("(?i)salary", "98000")
    assert "“pay”" in await told(both, "read_graph", {}, GRAPH)
    apart = {"entities": [{**PAY, "observations": []}, {**TEA, "observations": ["98000"]}], "relations": []}
    assert await told(both, "read_graph", {}, apart) == "all of it"
    assert "“pay”" in await told(both, "search_nodes", {"query": "98000"}, apart)


async def test_a_result_too_long_for_its_entities_to_be_known_is_not_given_where_a_rule_may_keep_one() -> (
    None
):
    assert "nothing of it is given" in await told(text("salary"), "read_graph", {}, None)
    elsewhere = text("salary", tools=("other.*",))
    assert await told(elsewhere, "read_graph", {}, None) == "all of it"


async def test_a_private_rule_gives_an_entity_to_whoever_asks_for_it_alone() -> None:
    private = text("(?i)salary", private=True)
    assert await told(private, "open_nodes", {"names": ["Ann salary"]}, GRAPH) == "all of it"
    assert "“pay”" in await told(private, "read_graph", {}, GRAPH)


async def test_an_entity_without_a_name_is_kept_by_what_it_says_and_nothing_of_that_is_told() -> None:
    asks = text("98000", at_least=CallClass.DESTRUCTIVE)
    nameless = {"entities": [{**PAY, "name": ""}], "relations": []}
    for args in ({"query": "98000"}, {"query": ""}):
        said = await told(asks, "search_nodes", args, nameless)
        assert "“pay”" in said
        assert "98000" not in said


@pytest.mark.parametrize("rule", [text("salary"), text("Salary"), of_names("query", {"pattern": "salary"})])
async def test_a_rule_about_the_words_of_a_search_holds_in_any_letters(rule: Rule) -> None:
    for query in ("salary", "SALARY", "Ann Salary"):
        assert await told(rule, "search_nodes", {"query": query}, ONLY_TEA) == "denied"
    assert await told(rule, "search_nodes", {"query": "sugar"}, ONLY_TEA) == "all of it"


@pytest.mark.parametrize("second", ["", "Ben"])
def test_more_about_several_entities_has_no_undo_whatever_their_names(second: str) -> None:
    said: list[Json] = [{"entityName": "Ann", "contents": ["x"]}, {"entityName": second, "contents": ["y"]}]
    results: list[Json] = [{"entityName": "Ann", "addedObservations": ["x"]}]
    several = {"args": {"observations": said}, "capture": {}, "result": {"results": results}}
    assert way_back(SPECS["add_observations"], several) is None
    assert way_back(SPECS["add_observations"], {**several, "args": {"observations": said[:1]}}) is not None


def not_asked(names: Sequence[str], *asked: str) -> list[str]:
    """Which of the entities of these names arguments with these texts do not ask for."""
    result: Json = {
        "entities": [{"name": name, "entityType": "t", "observations": []} for name in names],
        "relations": [],
    }
    found = not_asked_by_word(SPECS["open_nodes"].recipe.targets or Targets(), result, {"names": [*asked]})
    return [name for name in found if name is not None]


def test_a_name_is_asked_for_as_a_text_or_as_a_word_of_one() -> None:
    names = ["Ann", "an", "Ann Lee", "b_c", "é", "(x)"]
    assert not_asked(names, "ANN", "c", "see É, or (x)y") == ["an", "ann lee", "b_c", "(x)"]
    assert not_asked(["a b"], "a", "b") == ["a b"]
    assert not_asked(["a"], "aa a") == []
    assert not_asked([""], "a") == [""]


def test_of_names_beyond_what_is_gone_over_only_those_that_stand_there_alone_are_asked_for() -> None:
    """Each was looked for in each text: 7.7 s of the loop for 1,400 names beside 8,000."""
    names = [f"n{number}" for number in range(300)]
    most = MOST_SOUGHT // 1_000_000
    assert not_asked(names, "w" * 999_000 + " ".join(["", *names])) == names[most - 1 :]
    assert not_asked(["a", "b"], "a" * 1_000_000, "b") == ["a"]
