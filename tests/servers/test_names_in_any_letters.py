"""A rule on what files lie in, as a calendar or a table, holds for it in whatever letters a call names it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.arguments.canonical_paths import with_canonical_paths
from gate.arguments.named_paths import with_path
from gate.arguments.target_texts import steps_to
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import ToolSpec
from tests.servers.test_calendar_tools import calendar
from tests.servers.test_closed_calendars import DAY, Asker, calendars, hidden
from tests.servers.test_closed_holders import about, verdict
from tests.servers.test_nested_arguments import bundled, objects
from tools.mcp.schema import problems

__all__ = ["bundled"]
NEW = {"title": "Focus", "start": "2026-11-25 10:30"}
MADE = {"create_event": NEW, "create_time_block": NEW}
SAID: list[dict[str, Json]] = [
    {"const": "wOrk"},
    {"const": "work"},
    {"enum": ["other", "wOrk"]},
    {"enum": ["other", "work"]},
    {"pattern": "^wOrk$"},
]


def places(spec: ToolSpec) -> Iterator[tuple[str, str]]:
    """Where a tool takes the name of what files lie in, and where rules see that."""
    inside = spec.recipe.targets.inside if spec.recipe.targets else ()
    nested = [(f"{holder}.{name}", name) for holder, names in objects(spec) for name in names]
    own = [(way, way) for way in inside if steps_to(way)[0] in spec.schema["properties"]]
    yield from dict.fromkeys([*own, *((way, name) for way, name in nested if name in inside)])


def schema_of(steps: tuple[str, ...], said: Json) -> dict[str, Json]:
    """A schema that says this of what stands at the end of these steps."""
    if not steps:
        return said
    inner = schema_of(steps[1:], said)
    if steps[0] == "[]":
        return {"contains": inner}
    return {"required": [steps[0]], "properties": {steps[0]: inner}}


def becomes(spec: ToolSpec, way: str, given: str, **rule: Any) -> Verdict:
    """What becomes of a call with this name there, under a rule that denies."""
    args = with_path({}, steps_to(way), given)
    assert isinstance(args, dict)
    args = with_canonical_paths(spec.recipe.targets, args)
    policy = Policy("v", (Rule("closed", ("*",), deny=True, **rule),))
    return decide(policy, spec, args, "C1", lambda schema, value: not problems(schema, value)).verdict


def every_place(bundled: dict[str, ToolSpec], but: tuple[str, ...] = ()) -> list[tuple[ToolSpec, str, str]]:
    found = [(spec, *each) for spec in bundled.values() for each in places(spec)]
    assert len(found) >= 17
    return [(spec, way, seen) for spec, way, seen in found if seen not in but]


@pytest.mark.parametrize("said", SAID, ids=str)
def test_a_schema_sees_what_files_lie_in_in_whatever_letters(
    bundled: dict[str, ToolSpec], said: dict[str, Json]
) -> None:
    for spec, way, seen in every_place(bundled):
        schema = schema_of(steps_to(seen), said)
        for given in ("Work", "work", "WORK"):
            assert becomes(spec, way, given, schema=schema) is Verdict.DENY, (spec.full_name, way, given)
        assert becomes(spec, way, "private", schema=schema) is not Verdict.DENY, (spec.full_name, way)


@pytest.mark.parametrize("said", SAID, ids=str)
def test_a_schema_sees_a_folder_in_other_letters_in_each_of_its_forms(
    bundled: dict[str, ToolSpec], said: dict[str, Json]
) -> None:
    for spec, way, seen in every_place(bundled):
        if seen in ("calendar", "mailbox"):
            schema = schema_of(steps_to(seen), said)
            for given in ("./Work/", "Work ", "WORK/2026"):
                assert becomes(spec, way, given, schema=schema) is Verdict.DENY, (spec.full_name, way, given)


def test_a_text_sees_what_files_lie_in_in_whatever_letters(bundled: dict[str, ToolSpec]) -> None:
    for spec, way, _ in every_place(bundled):
        for given in ("Work", "work", "WORK"):
            assert becomes(spec, way, given, texts=("^wOrk$",)) is Verdict.DENY, (spec.full_name, way, given)
        assert becomes(spec, way, "private", texts=("^wOrk$",)) is not Verdict.DENY


def test_a_text_sees_the_title_of_an_event_in_its_own_letters_alone(bundled: dict[str, ToolSpec]) -> None:
    create = bundled["calendar.create_event"]
    assert becomes(create, "title", "three", texts=("HR",)) is not Verdict.DENY
    assert becomes(create, "title", "the HR", texts=("HR",)) is Verdict.DENY


def test_a_rule_spares_what_files_lie_in_only_as_it_writes_it(bundled: dict[str, ToolSpec]) -> None:
    """A file system that tells letters apart has another folder by the other name."""
    for spec, way, seen in every_place(bundled):
        schema = schema_of(steps_to(seen), {"not": {"pattern": "(^|/)work$"}})
        assert becomes(spec, way, "work", schema=schema) is not Verdict.DENY, (spec.full_name, way)
        for given in ("Work", "WORK"):
            assert becomes(spec, way, given, schema=schema) is Verdict.DENY, (spec.full_name, way)


async def test_nothing_is_made_in_a_calendar_that_a_rule_names_in_other_letters(tmp_path: Path) -> None:
    home = calendars(tmp_path)
    (home / "Work" / "2026").mkdir(parents=True)
    async with calendar(home, timezone="UTC") as gate:
        for tool, args in MADE.items():
            ask = Asker(gate, (about("calendar", {"pattern": "^work$"}, f"calendar.{tool}"),))
            for name in ("Work", "Work/", "./Work", "Work/2026"):
                assert await verdict(ask, tool, **args, calendar=name) is Verdict.DENY, (tool, name)
            for name in ("team", "."):
                assert await verdict(ask, tool, **args, calendar=name) is Verdict.CONFIRM, (tool, name)
            assert await verdict(ask, tool, **args) is Verdict.CONFIRM


async def test_nothing_is_made_in_the_first_calendar_where_a_rule_names_it_in_other_letters(
    tmp_path: Path,
) -> None:
    for name in ("Team", "Home"):
        (tmp_path / name).mkdir()
    async with calendar(tmp_path / "Team", timezone="UTC", beside=[tmp_path / "Home"]) as gate:
        for tool, args in MADE.items():
            for said in ("team", "TEAM", "Team"):
                ask = Asker(gate, (about("calendar", {"const": said}, f"calendar.{tool}"),))
                assert await verdict(ask, tool, **args) is Verdict.DENY, (tool, said)
                assert await verdict(ask, tool, **args, calendar="Home") is Verdict.CONFIRM, (tool, said)


@pytest.mark.parametrize("changes", [{"private": True}, {"at_least": CallClass.DESTRUCTIVE}], ids=str)
async def test_a_calendar_that_a_milder_rule_names_is_given_to_whoever_asks_for_it_in_its_own_letters(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        ask = Asker(gate, (about("calendar", {"const": "Board"}, **changes),))
        assert "CANARY" in await ask("list_events", **DAY, calendar="board")
        assert "CANARY" in await ask("get_event", event_id="cfo@example.com", calendar="board")
        assert hidden(await ask("list_events", **DAY)) == []
        assert hidden(await ask("get_event", event_id="cfo@example.com")) == []


@pytest.mark.parametrize("text", ["^Board$", "^bOARD$", "(?s)^Boar", "Board"])
async def test_a_text_sees_the_calendar_of_what_a_read_finds_in_whatever_letters(
    text: str, tmp_path: Path
) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        ask = Asker(gate, (Rule("closed", ("calendar.*",), deny=True, texts=(text,)),))
        assert hidden(await ask("list_events", **DAY)) == []
        assert hidden(await ask("get_event", event_id="cfo@example.com")) == []
        other = Asker(gate, (Rule("closed", ("calendar.*",), deny=True, texts=("^Bord$",)),))
        assert hidden(await other("list_events", **DAY))
        together = Asker(gate, (Rule("closed", ("calendar.*",), deny=True, texts=(text, "cfo@")),))
        assert hidden(await together("get_event", event_id="cfo@example.com")) == []
        assert hidden(await together("list_events", **DAY))


@pytest.mark.parametrize("said", ["^work/", r"^work/.*\.ics$"])
async def test_nothing_is_made_in_a_folder_that_a_rule_closes_by_its_path(said: str, tmp_path: Path) -> None:
    home = calendars(tmp_path)
    (home / "work").mkdir()
    async with calendar(home, timezone="UTC") as gate:
        for tool, args in MADE.items():
            for rule in (about("path", {"pattern": said}), Rule("closed", ("*",), deny=True, texts=(said,))):
                ask = Asker(gate, (rule,))
                assert await verdict(ask, tool, **args, calendar="work") is Verdict.DENY, tool
                assert await verdict(ask, tool, **args, calendar="team") is Verdict.CONFIRM, tool
            spared = about("calendar", {"not": {"pattern": "(^|/)work$"}})
            assert await verdict(Asker(gate, (spared,)), tool, **args, calendar="work") is Verdict.CONFIRM, (
                tool
            )
