"""A rule about an argument holds where a bundled tool takes that argument inside of an object, as previews do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from gate.rules.action import Decision, Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import ToolSpec, Trust
from tests.servers.all_servers import tools
from tools.mcp.catalogue import Catalogue
from tools.mcp.connection import Listing
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig

# The arguments of a PDF or Word file are those of the tool that `make` names.
WITHOUT_FIELDS = {"document.preview_document.call"}


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ToolSpec]:
    found: dict[str, ToolSpec] = {}
    for server, listed in asyncio.run(tools(tmp_path_factory.mktemp("bundled"))).items():
        config = ServerConfig(name=server, inproc="x", trust=Trust.BUNDLED)
        made = Catalogue.of(config, Listing(tuple(listed), {}), {}, {})
        assert not made.problems
        found |= {spec.full_name: spec for spec in made.specs.values()}
    return found


def objects(spec: ToolSpec) -> Iterator[tuple[str, list[str]]]:
    """The arguments that hold others, each with the names of those."""
    defined = spec.schema.get("$defs", {})
    for name, said in spec.schema["properties"].items():
        inner = defined[said["$ref"].rsplit("/", 1)[-1]] if "$ref" in said else said
        if inner.get("properties") or f"{spec.full_name}.{name}" in WITHOUT_FIELDS:
            yield name, list(inner.get("properties", {}))


def closed(spec: ToolSpec, args: Json, name: str, value: Json) -> Decision:
    """What becomes of a call where a rule refuses this value of an argument."""
    schema = {"required": [name], "properties": {name: {"const": value}}}
    rule = Rule("closed", (f"{spec.server}.*",), deny=True, schema=schema)
    return decide(Policy("v", (rule,)), spec, args, "C1", lambda schema, value: not problems(schema, value))


def test_every_argument_that_holds_others_is_declared(bundled: dict[str, ToolSpec]) -> None:
    found = {(spec.full_name, name) for spec in bundled.values() for name, _ in objects(spec)}
    assert len(found) >= 14
    undeclared = [
        (tool, name)
        for tool, name in found
        if (targets := bundled[tool].recipe.targets) is None or name not in targets.nested
    ]
    assert not undeclared


def test_a_rule_about_an_argument_sees_it_inside_of_another(bundled: dict[str, ToolSpec]) -> None:
    for spec in bundled.values():
        for holder, names in objects(spec):
            for name in names or ["path"]:
                args = {holder: {name: "closed.md"}}
                assert closed(spec, args, name, "closed.md").verdict is Verdict.DENY, (spec.full_name, name)
                assert closed(spec, args, name, "other.md").verdict is not Verdict.DENY


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("task.restore_task", {"task": {"id": 1, "title": "x"}}),
        ("task.preview_restore", {"task": {"id": 1, "title": "x"}}),
        ("task.preview_update", {"update": {"task_id": 1, "title": "x"}}),
    ],
)
def test_a_rule_about_a_task_sees_its_number_whatever_its_argument_is_called(
    bundled: dict[str, ToolSpec], tool: str, args: dict[str, Json]
) -> None:
    assert closed(bundled[tool], args, "task_id", 1).verdict is Verdict.DENY
    assert closed(bundled[tool], args, "task_id", 2).verdict is not Verdict.DENY


def test_what_stands_beside_an_object_is_held_against_rules_as_well(bundled: dict[str, ToolSpec]) -> None:
    """An argument of the same name inside of it would hide it."""
    spec = bundled["document.preview_document"]
    args: dict[str, Json] = {"make": "closed", "call": {"make": "other"}}
    assert closed(spec, args, "make", "closed").verdict is Verdict.DENY
    assert closed(spec, args, "make", "other").verdict is Verdict.DENY
