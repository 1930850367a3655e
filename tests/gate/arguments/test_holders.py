"""The names of what a file lies in, by which an argument selects it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from gate.arguments.declared_targets import Root, Targets
from gate.arguments.forms_apart import MOST_TOGETHER
from gate.arguments.holders import holders, in_any_letters, lie_in_too_much
from gate.rules.action import Json
from gate.rules.always_gated import ALWAYS
from gate.rules.gated_files import Readers, TooManyFiles, gated_holders, gated_named_holders
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems

LOOKS = Recipe(summary="Look", targets=Targets(looks=("path",), inside=("calendar",)))
READ = ToolSpec("calendar", "get_metadata", "Look", "", {}, "d", Hints(True), Trust.BUNDLED, recipe=LOOKS)
DEEP = "a/" * 32_000 + "a"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("cur/7.host:2,S", "INBOX"),
        ("new/7.host", "INBOX"),
        (".HR/cur/7.host:2,S", "HR"),
        (".HR.Pay/new/7.host", "HR.Pay"),
        ("..HR/cur/", "HR"),
        (".new/cur/7.host", "new"),
        ("HR/cur/7.host", "HR"),
        ("mail/.HR/cur/7.host", "HR"),
    ],
)
def test_a_mail_lies_in_its_mailbox(path: str, name: str) -> None:
    assert name in holders([path], ["mailbox"])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("team/lunch.ics", {"team"}),
        ("team/2026/lunch.ics", {"team", "team/2026"}),
        ("new/e1.ics", {"new"}),
        ("hr/board/new/e1.ics", {"hr", "hr/board", "hr/board/new"}),
        ("hr/.a/new/e1.ics", {"hr", "hr/.a", "hr/.a/new"}),
        (".hr/cur/e1.ics", {".hr", ".hr/cur"}),
        ("HR", set[str]()),
        ("", set[str]()),
    ],
)
@pytest.mark.parametrize("inside", ["calendar", "mailbox"])
def test_a_file_lies_in_each_of_its_folders(path: str, names: set[str], inside: str) -> None:
    found = holders([path], [inside])
    assert names <= set(found) or (inside, path) == ("mailbox", ".hr/cur/e1.ics")
    assert bool(found) is bool(names)


def test_a_calendar_without_a_folder_lies_in_the_served_one() -> None:
    assert set(holders(["lunch.ics", "Tea.ICS"], ["calendar"])) == {"."}
    assert holders(["lunch.ics"], ["mailbox"]) == holders(["team", "team.md"], ["calendar"]) == ()


def test_the_folder_of_a_mailbox_is_no_holder_beside_it() -> None:
    assert set(holders([".HR/cur/7.host"], ["mailbox"])) == {"HR", "hr"}


def test_a_holder_has_each_of_its_names_in_either_case() -> None:
    assert holders(["Team/lunch.ics", "Team/tea.ics"], ["calendar"]) == ("Team", "team", "TEAM")


def test_a_schema_holds_for_a_holder_in_any_letters_and_for_nothing_else() -> None:
    schema = {"properties": {"mailbox": {"pattern": "^HR$"}, "text": {"pattern": "^HR$"}}}
    folded = {"properties": {"mailbox": {"pattern": "(?i:^HR$)"}, "text": {"pattern": "^HR$"}}}
    assert in_any_letters(schema, ["mailbox"]) == folded
    assert in_any_letters(None, ["mailbox"]) is None


def test_a_path_of_very_many_folders_is_not_held_against_rules() -> None:
    """It held the loop up for 44 s, and took 2 GB."""
    policy = Policy("p", rules=ALWAYS)
    found = []
    run = lambda: found.append(decide(policy, READ, {"path": DEEP}, "C1", lambda *_: False))  # noqa: E731
    assert seconds(run, 3, 0.1) < 0.1
    assert found[0].rule == "too many names"
    assert decide(policy, READ, {"path": "a/" * 50 + "a"}, "C1", lambda *_: False).rule != "too many names"


def test_an_answer_with_a_path_of_very_many_folders_is_not_held_against_rules() -> None:
    with pytest.raises(TooManyFiles):
        next(gated_holders(Policy("p", rules=ALWAYS), Readers([READ], {}), [DEEP], "C1", lambda *_: False))


def test_files_lie_in_too_much_by_the_names_of_their_folders_together() -> None:
    assert lie_in_too_much(["/".join(["a" * 100] * 50)], ["calendar"])
    assert lie_in_too_much([f"{'b' * 90}/{'c' * 90}{number}/d" for number in range(300)], ["calendar"])
    assert lie_in_too_much([f"{number}/c" for number in range(401)], ["calendar"])
    assert not lie_in_too_much([f"team/{number}.ics" for number in range(3_000)], ["calendar"])


def test_the_names_in_a_result_are_held_against_a_rule_once_for_each_kind_that_it_tells_apart() -> None:
    """Each table of a result was held against each rule anew, which took 33 s of the loop for 960 tables."""
    targets = Targets(paths=("path",), inside=("table",), found_in=("tables[]",))
    ask = replace(READ, recipe=Recipe(summary="Ask", targets=targets))
    closed = {"required": ["table"], "properties": {"table": {"enum": ["pay"]}}}
    policy = Policy("p", rules=(Rule("closed", ("calendar.*",), deny=True, schema=closed),))
    checks: list[Json] = []

    def matches(schema: Mapping[str, Json], value: Json) -> bool:
        checks.append(value)
        return not problems(schema, value)

    def found(*names: str) -> list[tuple[str, str]]:
        gated = gated_named_holders(policy, Readers([ask], {"path": "b"}), names, "C1", matches)
        return [(one[0], one[1].name) for one in gated if one]

    assert found("a") == []
    few = len(checks)
    assert found(*(f"t{number}" for number in range(960))) == []
    assert len(checks) == 2 * few
    assert set(found("a", "PAY", "b")) == {("PAY", "closed")}


def test_a_result_of_more_files_than_are_held_beside_a_table_is_not_told() -> None:
    targets = Targets(paths=("path",), inside=("table",), found=("files[]",), found_in=("tables[]",))
    ask = replace(READ, recipe=Recipe(summary="Ask", targets=targets))
    paths = [f"{number}.sqlite" for number in range(MOST_TOGETHER + 1)]

    def gated(found: Sequence[str], wanted: dict[str, Json]) -> bool:
        closed = {"required": ["path"], "properties": {"path": wanted}}
        rule = Rule("closed", ("*",), deny=True, texts=("^pay$",), schema=closed)
        readers = Readers([ask], {}, found)
        return any(gated_named_holders(Policy("p", (rule,)), readers, ["PAY"], "C1", matches))

    def matches(schema: Mapping[str, Json], value: Json) -> bool:
        return not problems(schema, value)

    assert gated(paths, {"const": "7.sqlite"})
    assert not gated(paths, {"const": "x.sqlite"})
    with pytest.raises(TooManyFiles):
        gated(paths, {"enum": [*paths]})


def test_very_many_names_in_a_result_take_no_work_for_rules_about_other_tools() -> None:
    """Each form of each name was folded for each rule: 3.5 s of ten rules about another server."""
    schema = {"required": ["calendar"], "properties": {"calendar": {"const": "HR"}}}
    others = Policy("p", tuple(Rule(f"r{n}", ("jira.*",), deny=True, schema=schema) for n in range(30)))
    own = Policy("p", (*others.rules, Rule("hr", ("calendar.*",), deny=True, schema=schema)))
    names, readers = [f"Team {number}" for number in range(14_000)], Readers([READ], {"path": "b"})

    def found(policy: Policy) -> list[object]:
        return list(gated_named_holders(policy, readers, names, "C1", lambda *_: False))

    assert seconds(lambda: found(others), 3, 0.01) < 0.01
    with pytest.raises(TooManyFiles):
        found(own)


@pytest.mark.parametrize(("count", "names"), [(1, 399), (2, 199)])
def test_names_with_and_without_their_folder_are_counted_together(count: int, names: int) -> None:
    """As many of them as one call may have are held against rules, and of more nothing is told."""
    roots = tuple(Root(name, (f"/srv/{name}",)) for name in ("a", "b")[:count])
    reader = replace(READ, recipe=replace(LOOKS, targets=replace(LOOKS.targets or Targets(), roots=roots)))
    rule = Rule("closed", ("*",), deny=True, schema={"properties": {"calendar": {"const": "x"}}})

    def told(of: int) -> list[object]:
        paths = [f"a/{number}/e.ics" for number in range(of)]
        found = gated_holders(Policy("p", (rule,)), Readers([reader], {}), paths, "C", lambda *_: False)
        return [one for one in found if one]

    assert told(names) == []
    with pytest.raises(TooManyFiles):
        told(names + 2)
