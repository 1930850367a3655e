"""Rules with a schema are held against what reads report and find, under the names of the arguments for paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gate.arguments.declared_targets import Root, Targets
from gate.arguments.named_paths import names_of_others, names_of_paths, told_apart
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.approvers import Approvers
from gate.rules.gated_files import Gated, Readers, gated_files
from gate.rules.policy import Policy, Rule, decide
from gate.rules.result_targets import MOST_FILES
from gate.rules.tool import Recipe, ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems

LIMIT = 0.3  # seconds of processor time, as in tests/test_hostile_sizes.py


def of(name: str, pattern: str) -> dict[str, Json]:
    return {"required": [name], "properties": {name: {"pattern": pattern}}}


HR = {"anyOf": [of(name, "^hr/") for name in ("path", "source", "destination")]}
BEN = Rule("personnel files", ("files.*",), schema=HR, approvers=Approvers(frozenset({"U_BEN"})))


def spec(name: str, targets: Targets, cls: CallClass = CallClass.WRITE, **properties: Json) -> ToolSpec:
    recipe = Recipe(cls=cls, targets=targets)
    schema = {"type": "object", "properties": properties}
    return ToolSpec("files", name, name, "", schema, "d", trust=Trust.BUNDLED, recipe=recipe)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def asks_ben(targets: Targets, args: Json, *told: str, rule: Rule = BEN, **properties: Json) -> bool:
    """Whether a change with these targets, of which reads have told this, takes Ben's yes."""
    tool = spec(
        "change", replace(targets, reported=("{capture.plan.touched}",), resolved_to=told), **properties
    )
    return bool(decide(Policy("p", (rule,)), tool, args, "C", matches).approvers.named)


TRANSFER = Targets(paths=("source", "destination"))


@pytest.mark.parametrize(
    "told",
    [
        "hr/pay.txt",
        "hr//pay.txt",
        "./hr/pay.txt",
        "%68r/pay.txt",
        "a/../hr/pay.txt",
        "\\hr\\pay.txt",
        "/hr/pay.txt",
    ],
)
def test_a_schema_is_held_against_each_form_of_what_a_read_reports(told: str) -> None:
    args: Json = {"source": "old", "destination": "new"}
    assert asks_ben(TRANSFER, args, "notes/a.md", told)
    assert not asks_ben(TRANSFER, args, "notes/a.md", "hrs/b.md")


def test_the_other_arguments_stay_as_they_are_beside_a_reported_path() -> None:
    """A rule about what leaves a folder: one name is held against each path, the other one is as it was asked for."""
    outside = {"not": of("destination", "^hr/")}
    leaves = replace(BEN, schema={"allOf": [of("source", "^hr/"), outside]})
    assert asks_ben(TRANSFER, {"source": "link", "destination": "new"}, "hr/pay.txt", rule=leaves)
    assert not asks_ben(TRANSFER, {"source": "link", "destination": "hr/new"}, "hr/pay.txt", rule=leaves)


def test_a_schema_that_wants_two_names_is_held_against_a_path_under_both() -> None:
    both = replace(BEN, schema={"allOf": [of("source", "^hr/"), of("destination", "^hr/")]})
    assert asks_ben(TRANSFER, {"source": "link", "destination": "other"}, "hr/a", rule=both)


@pytest.mark.parametrize(
    ("name", "schema", "properties"),
    [
        ("call.path", {"properties": {"call": of("path", "^hr/")}, "required": ["call"]}, {}),
        (
            "files[].path",
            {"required": ["files"], "properties": {"files": {"contains": of("path", "^hr/")}}},
            {},
        ),
        (
            "sources",
            {
                "required": ["sources"],
                "properties": {"sources": {"type": "array", "contains": {"pattern": "^hr/"}}},
            },
            {"sources": {"type": "array", "items": {"type": "string"}}},
        ),
    ],
)
@pytest.mark.parametrize("given", [False, True], ids=["left out", "given"])
def test_a_reported_path_stands_where_the_argument_has_it(
    name: str, schema: dict[str, Json], properties: dict[str, Json], given: bool
) -> None:
    usual: dict[str, Json] = {
        "call.path": {"call": {"path": "a", "make": "pdf"}},
        "files[].path": {"files": [{"path": "a"}, {"path": "b"}]},
        "sources": {"sources": ["a", "b"]},
    }
    args = usual[name] if given else {}
    rule = replace(BEN, schema=schema)
    assert asks_ben(Targets(paths=(name,)), args, "hr/a", rule=rule, **properties)
    assert not asks_ben(Targets(paths=(name,)), args, "notes/a", rule=rule, **properties)


def test_a_tool_that_takes_no_path_is_given_those_of_its_servers_other_tools() -> None:
    others = [
        spec("move", TRANSFER),
        spec("merge", Targets(paths=("sources",)), sources={"type": "array"}),
        replace(spec("look", Targets(looks=("place",))), server="other"),
    ]
    names = names_of_others(others[0], others)
    assert names == ("source", "destination", "sources[]")
    restoring = Targets(ids=("trash_id",), elsewhere=names)
    assert asks_ben(restoring, {"trash_id": "1"}, "hr/pay.txt")
    assert not asks_ben(restoring, {"trash_id": "1"}, "notes/pay.txt")
    assert not asks_ben(Targets(paths=("path",), elsewhere=names), {"path": "a"}, "hr", rule=BEN)


def test_a_reported_address_is_held_against_a_schema_of_addresses() -> None:
    rule = replace(BEN, schema=of("to", "@evil[.]com$"))
    targets = Targets(addresses=("to",), ids=("draft_id",))
    assert names_of_paths(spec("send", targets)) == ("to",)
    assert asks_ben(targets, {"draft_id": "1"}, "Mallory <m@EVIL.com>", rule=rule)
    assert not asks_ben(targets, {"draft_id": "1"}, "m@ok.com", rule=rule)


@pytest.mark.parametrize(
    "rule",
    [
        replace(BEN, approvers=None, deny=True),
        replace(BEN, approvers=None, at_least=CallClass.DESTRUCTIVE),
        replace(BEN, approvers=None, always=True, at_least=CallClass.DESTRUCTIVE),
        replace(BEN, approvers=None, channels=("C_OTHER",)),
        replace(BEN, approvers=None, private=True),
    ],
    ids=["deny", "at_least", "always_gate", "channels", "private"],
)
def test_whatever_a_rule_with_a_schema_says_is_said_of_what_reads_report(rule: Rule) -> None:
    targets = replace(TRANSFER, reported=("{capture.plan.touched}",), resolved_to=("hr/pay.txt",))
    args: Json = {"source": "old", "destination": "new"}
    found = decide(Policy("p", (rule,)), spec("move", targets), args, "C", matches)
    usual = decide(Policy("p"), spec("move", targets), args, "C", matches)
    assert usual.verdict is Verdict.CONFIRM
    assert found != usual


def test_a_served_folder_is_part_of_what_a_read_reports() -> None:
    rule = replace(BEN, schema=of("path", "^/srv/hr/"))
    targets = Targets(ids=("trash_id",), elsewhere=("path",), roots=(Root("hr", ("/srv/hr",)),))
    assert asks_ben(targets, {"trash_id": "1"}, "pay.txt", rule=rule)


def test_a_schema_that_spares_an_absolute_path_is_held_against_the_path_as_it_is() -> None:
    rule = replace(
        BEN, schema={"required": ["path"], "properties": {"path": {"not": {"pattern": "^/srv/x/"}}}}
    )
    assert not asks_ben(Targets(paths=("path",)), {"path": "/srv/x/a"}, "/srv/x/a", rule=rule)
    assert asks_ben(Targets(paths=("path",)), {"path": "/srv/x/a"}, "/srv/y/a", rule=rule)


SCHEMAS: Sequence[Json] = (
    HR,
    of("path", "x$"),
    {"properties": {"path": {"enum": ["a", "hr/x"]}}},
    {"properties": {"path": {"const": "hr/x"}}},
    {"properties": {"path": {"minLength": 4, "maxLength": 5}}},
    {"properties": {"path": {"not": {"anyOf": [{"pattern": "^hr"}, {"maxLength": 1}]}}}},
    {"if": of("path", "^hr"), "then": of("path", "x$"), "else": {"properties": {"path": {"minLength": 5}}}},
    {"$ref": "#/$defs/p", "$defs": {"p": of("path", "r/")}},
)
TEXTS = ("a", "b", "hr", "hr/x", "hr/y", "x", "hr/xx", "abcd", "abcdef", "abcdefx", "")


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_says_the_same_of_every_text_of_a_kind(schema: Any) -> None:
    for text in TEXTS:
        (first, *_) = [one for one in TEXTS if told_apart(schema, (), [one, text]) == [one]]
        assert matches(schema, {"path": first}) == matches(schema, {"path": text})
    assert len(told_apart(schema, (), TEXTS)) < len(TEXTS)


SEVERAL = (Root("notes", ("/srv/notes",)), Root("old", ("/srv/old",)))


@pytest.mark.parametrize("roots", [(Root("files", ("/srv/files",)),), SEVERAL])
def test_a_folder_of_thousands_of_files_is_held_against_schemas_in_time(roots: tuple[Root, ...]) -> None:
    rules = tuple(
        replace(BEN, name=str(number), schema=of("path", f"^hr{number}/.{{0,9}}x")) for number in range(5)
    )
    told = tuple(f"notes/2026/a folder/file {number}.md" for number in range(2_000))
    tool = spec("move", replace(TRANSFER, roots=roots, reported=("{capture.x}",), resolved_to=told))
    policy, args = Policy("p", rules), {"source": "notes", "destination": "old"}
    assert decide(policy, tool, args, "C", matches).verdict is Verdict.CONFIRM
    assert seconds(lambda: decide(policy, tool, args, "C", matches), 3, LIMIT) < LIMIT


def gated(policy: Policy, readers: Sequence[ToolSpec], paths: Sequence[str]) -> list[Gated]:
    return [one for one in gated_files(policy, Readers(readers, {}), paths, "C", matches) if one]


def test_a_result_about_thousands_of_files_is_held_against_schemas_in_time() -> None:
    """With one schema and ten tools it took 4.5 s."""
    rule = replace(BEN, approvers=None, deny=True)
    readers = [spec(f"read{number}", Targets(paths=("path",)), CallClass.READ) for number in range(10)]
    paths = [f"notes/file {number}.md" for number in range(MOST_FILES)]
    run = lambda: gated(Policy("p", (rule,)), readers, paths)  # noqa: E731
    assert run() == []
    assert seconds(run, 3, LIMIT) < LIMIT
    assert gated(Policy("p", (rule,)), readers, [*paths[1:], "hr/a"]) == [("hr/a", rule)]


@pytest.mark.parametrize("name", ["call.path", "files[].path", "sources"])
def test_a_found_file_is_asked_for_where_a_reader_takes_its_path(name: str) -> None:
    schema = {
        "call.path": {"required": ["call"], "properties": {"call": of("path", "^hr/")}},
        "files[].path": {"required": ["files"], "properties": {"files": {"contains": of("path", "^hr/")}}},
        "sources": {"required": ["sources"], "properties": {"sources": {"contains": {"pattern": "^hr/"}}}},
    }[name]
    schema = {
        **schema,
        "properties": {
            key: {"type": ["array", "object"], **value} for key, value in schema["properties"].items()
        },
    }
    reader = spec("read", Targets(paths=(name,)), CallClass.READ, sources={"type": "array"})
    policy = Policy("p", (replace(BEN, approvers=None, schema=schema, deny=True),))
    assert gated(policy, [reader], ["hr/a"])
    assert not gated(policy, [reader], ["notes/a"])


@pytest.mark.parametrize("how", [{"texts": ("^hr/",), "schema": None}, {}], ids=["text", "schema"])
def test_a_rule_about_a_tool_that_takes_no_path_is_about_what_that_tool_finds(how: dict[str, Any]) -> None:
    finder = spec("look", Targets(ids=("record",), found=("path",)), CallClass.READ)
    rule = replace(BEN, tools=("files.look",), approvers=None, private=True, **how)
    assert gated(Policy("p", (rule,)), [finder], ["hr/a"])
    assert not gated(Policy("p", (rule,)), [finder], ["notes/a"])


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        (of("path", "^hr/"), True),
        (of("path", "^notes/hr/"), True),
        (of("path", "^old/hr/"), False),
        ({"properties": {"path": {"not": {"pattern": "(^|/)notes/hr/"}}}}, False),
        ({"properties": {"path": {"not": {"pattern": r"^(\/srv\/)?notes\/hr\/"}}}}, False),
        ({"properties": {"path": {"not": {"const": "old/hr/a.md"}}}}, True),
        ({"allOf": [of("path", "^hr/"), {"properties": {"path": {"not": {"pattern": "^hr/new/"}}}}]}, True),
        (
            {"allOf": [of("path", "^hr/"), {"properties": {"path": {"not": {"pattern": "^notes/hr/new/"}}}}]},
            False,
        ),
    ],
)
def test_a_path_in_one_of_several_folders_is_seen_with_its_name_and_without(
    schema: Json, asked: bool
) -> None:
    rule, targets = replace(BEN, schema=schema), Targets(paths=("path",), roots=SEVERAL)
    assert asks_ben(targets, {"path": "notes/hr/a.md"}, rule=rule) is asked


def test_where_one_folder_is_served_no_path_loses_a_name() -> None:
    targets = Targets(paths=("path",), roots=SEVERAL[:1])
    assert not asks_ben(targets, {"path": "notes/hr/a.md"})
    assert not asks_ben(targets, {}, "notes/hr/a.md")
