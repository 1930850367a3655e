"""A rule sees the files of each of several folders by the names that they have in their own folder, too."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from gate.rules.action import CallClass, Verdict
from gate.rules.policy import Rule
from servers.calendar import server as calendar
from servers.command_line import zone
from tests.servers.all_servers import OVER_FILES
from tests.servers.gate_around_server import SATURDAY, Gate, gated
from tests.servers.test_closed_calendars import DAY, Asker, event
from tests.servers.test_closed_folders import arguments, readers

HOMES = [("main",), ("main", "other"), ("other", "main")]  # `main` is alone, the first, or the second
PAY = "hr/pay.md"
CANARY = "canary 300k\n"
SAID: Mapping[str, Mapping[str, Any]] = {
    "const": {"const": PAY},
    "pattern": {"pattern": "^hr/"},
    "enum": {"enum": ["x", PAY]},
    "text": {},
}


def on_path(said: str, **more: Any) -> Rule:
    """A rule on what lies in hr/, as it is named from its own folder."""
    if said == "text":
        return Rule("hr is closed", ("*",), texts=("^hr/",), **(more or {"deny": True}))
    return on("path", SAID[said], **more)


def on(argument: str, said: Mapping[str, Any], **more: Any) -> Rule:
    schema = {"required": [argument], "properties": {argument: said}}
    return Rule("hr is closed", ("*",), schema=schema, **(more or {"deny": True}))


def folders(at: Path, homes: tuple[str, ...]) -> list[Path]:
    made = [at / name for name in homes]
    for one in made:
        one.mkdir(exist_ok=True)
        (one / "notes.md").write_text("nothing\n")
    (at / "main" / "hr").mkdir()
    (at / "main" / PAY).write_text(CANARY)
    return made


def below(homes: tuple[str, ...], name: str) -> str:
    """How the server calls a file of `main`."""
    return name if len(homes) == 1 else f"main/{name}"


@asynccontextmanager
async def serving(
    at: Path, homes: tuple[str, ...], name: str = "filesystem", more: Callable[[Path], None] | None = None
) -> AsyncIterator[Gate]:
    roots = folders(at, homes)
    if more:
        more(at / "main")
    async with gated(at, name, OVER_FILES[name](roots)) as gate:
        yield gate


async def may(ask: Asker, tool: str, /, **args: Any) -> bool:
    """Whether a change can be confirmed: it is not denied, and neither is the look at what it would change."""
    seen = await ask.look(tool, **args)
    return seen.decision is not None and seen.decision.verdict is not Verdict.DENY


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("homes", HOMES)
async def test_no_read_gives_a_file_that_a_rule_closes_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, homes) as gate:
        ask = Asker(gate, (on_path(said),))
        for path in (below(homes, PAY), str(tmp_path / "main" / PAY), f"./{below(homes, PAY)}"):
            assert await ask("read_file", path=path) == "denied"
        found = await ask("search_files", path=below(homes, "."), pattern="*", contains="canary")
        assert "hr is closed" in found
        assert "300k" not in found
        assert "nothing" in await ask("read_file", path=below(homes, "notes.md"))


@pytest.mark.parametrize("said", ["pattern", "text"])
@pytest.mark.parametrize("homes", HOMES)
async def test_no_list_names_what_a_rule_closes_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, homes) as gate:
        ask = Asker(gate, (on_path(said),))
        listed = await ask("list_dir", path=below(homes, "."), recursive=True)
        assert PAY not in listed
        assert "notes.md" in await ask("list_dir", path=below(homes, "."))


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("homes", HOMES)
async def test_no_change_passes_a_file_that_a_rule_closes_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, homes) as gate:
        ask, pay = Asker(gate, (on_path(said),)), below(homes, PAY)
        changes: Mapping[str, Mapping[str, Any]] = {
            "write_file": {"path": pay, "content": "x"},
            "delete_file": {"path": [pay]},
            "move_file": {"source": below(homes, "hr"), "destination": below(homes, "old")},
            "copy_file": {"source": pay, "destination": below(homes, "b.md")},
        }
        for tool, args in changes.items():
            assert not await may(ask, tool, **args), tool
            assert await may(Asker(gate), tool, **args), tool
        notes = below(homes, "notes.md")
        assert await may(ask, "write_file", path=notes, content="x")


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("homes", HOMES)
async def test_a_closed_file_is_not_restored_from_the_trash_of_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with serving(tmp_path, homes) as gate:
        trash_id = (await gate("delete_file", path=[below(homes, PAY)]))["trash_id"]
        ask = Asker(gate, (on_path(said),))
        assert not await may(ask, "restore_file", trash_id=trash_id)
        assert await may(Asker(gate), "restore_file", trash_id=trash_id)


OF_TRASH: Mapping[str, Mapping[str, Any]] = {
    "list_trash": {},
    "preview_restore": {"trash_id": True},
    "preview_purge": {"trash_id": True},
}


@pytest.mark.parametrize("homes", HOMES)
@pytest.mark.parametrize("absolute", [True, False])
@pytest.mark.parametrize("tool", OF_TRASH)
async def test_no_look_at_the_trash_names_what_a_rule_closes(
    tool: str, absolute: bool, homes: tuple[str, ...], tmp_path: Path
) -> None:
    async with serving(tmp_path, homes) as gate:
        trash_id = (await gate("delete_file", path=[below(homes, PAY)]))["trash_id"]
        args = {name: given and trash_id for name, given in OF_TRASH[tool].items()}
        start = f"{tmp_path}/main/" if absolute else ""
        closed = on("path", {"pattern": f"^{start}hr/"})
        assert PAY in await Asker(gate)(tool, **args)
        assert PAY not in await Asker(gate, (closed,))(tool, **args)


def with_sheet(folder: Path) -> None:
    made, out = Workbook(), io.BytesIO()
    made.active.title = "Pay"
    made.active.append(["Ann", "canary"])
    made.save(out)
    (folder / "hr" / "x.xlsx").write_bytes(out.getvalue())


def with_table(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "hr" / "x.sqlite")) as base:
        base.executescript("CREATE TABLE pay(who); INSERT INTO pay VALUES ('canary');")


@pytest.mark.parametrize("homes", HOMES)
@pytest.mark.parametrize(
    ("name", "argument", "file", "tool"),
    [
        ("document", "sheet", "hr/x.xlsx", "read_spreadsheet"),
        ("document", "sheet", "hr/x.xlsx", "extract_text"),
        ("data", "table", "hr/x.sqlite", "query_sqlite"),
    ],
)
async def test_a_rule_on_a_sheet_or_table_of_a_file_holds_in_one_of_several_folders(
    name: str, argument: str, file: str, tool: str, homes: tuple[str, ...], tmp_path: Path
) -> None:
    schema = {
        "required": ["path", argument],
        "properties": {"path": {"pattern": "^hr/"}, argument: {"pattern": "^(?i:pay)$"}},
    }
    more = with_sheet if name == "document" else with_table
    async with serving(tmp_path, homes, name, more) as gate:
        args: dict[str, Any] = {"path": below(homes, file)}
        args |= {"sql": "SELECT * FROM pay"} if tool == "query_sqlite" else {}
        assert "canary" in await Asker(gate)(tool, **args)
        ask = Asker(gate, (Rule("hr is closed", ("*",), deny=True, schema=schema),))
        assert "canary" not in await ask(tool, **args)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("homes", HOMES)
@pytest.mark.parametrize("name", sorted(OVER_FILES))
async def test_no_tool_that_is_asked_for_a_folder_tells_what_a_rule_closes_below_it(
    name: str, homes: tuple[str, ...], tmp_path: Path
) -> None:
    async with serving(tmp_path, homes, name) as gate:
        if name == "knowledge":
            await gate("index_folder", path=below(homes, "."), recursive=True)
        for spec in readers(gate):
            if (args := arguments(spec, below(homes, "."))) is not None:
                said = await Asker(gate, (on_path("text"),))(spec.name, **args)
                assert "300k" not in said, spec.full_name
                assert PAY not in said, spec.full_name


@asynccontextmanager
async def planning(at: Path, homes: tuple[str, ...]) -> AsyncIterator[Gate]:
    """Calendars, of which `main` has those of the board and of the team, and an event of its own."""
    roots = [at / name for name in homes]
    for root in roots:
        root.mkdir()
    for name, (title, hour) in {
        "board/e1": ("CFO interview CANARY", "24T10"),
        "team/e2": ("Lunch", "24T12"),
        "e3": ("Dentist", "24T15"),
    }.items():
        (at / "main" / f"{name}.ics").parent.mkdir(exist_ok=True)
        (at / "main" / f"{name}.ics").write_text(event(title, hour))
    async with gated(at / "logs", "calendar", calendar(roots, zone("UTC"), lambda: SATURDAY)) as gate:
        yield gate


CALENDARS: Mapping[str, Rule] = {
    "const": on("calendar", {"const": "board"}),
    "other letters": on("calendar", {"const": "Board"}),
    "pattern": on("calendar", {"pattern": "^board$"}),
    "text": Rule("hr is closed", ("*",), deny=True, texts=("^board(/|$)",)),
    "path": on("path", {"pattern": "^board/"}),
}


@pytest.mark.parametrize("said", CALENDARS)
@pytest.mark.parametrize("homes", HOMES)
async def test_no_read_tells_of_a_calendar_that_a_rule_names_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with planning(tmp_path, homes) as gate:
        ask, board = Asker(gate, (CALENDARS[said],)), below(homes, "board")
        for tool, args in {"list_events": DAY, "get_event": {"event_id": "cfo@example.com"}}.items():
            assert "CANARY" in await Asker(gate)(tool, **args)
            told = await ask(tool, **args)
            assert "CANARY" not in told, tool
            assert "hr is closed" in told, tool
        assert "CANARY" not in await ask("list_events", **DAY, calendar=board)
        assert "Lunch" in await ask("list_events", **DAY, calendar=below(homes, "team"))


@pytest.mark.parametrize("said", CALENDARS)
@pytest.mark.parametrize("homes", HOMES)
async def test_no_change_passes_a_calendar_that_a_rule_names_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    async with planning(tmp_path, homes) as gate:
        ask = Asker(gate, (CALENDARS[said],))
        assert not await may(ask, "delete_event", event_id="cfo@example.com")
        assert await may(ask, "delete_event", event_id="lunch@example.com")


@pytest.mark.parametrize("said", [name for name in CALENDARS if name not in ("path", "other letters")])
@pytest.mark.parametrize("homes", HOMES)
async def test_no_event_is_made_in_a_calendar_that_a_rule_names_in_one_of_several_folders(
    homes: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    new = {"title": "Tea", "start": "2026-11-25 10:30"}
    async with planning(tmp_path, homes) as gate:
        ask = Asker(gate, (CALENDARS[said],))
        assert not await may(ask, "create_event", **new, calendar=below(homes, "board"))
        assert await may(ask, "create_event", **new, calendar=below(homes, "team"))


@pytest.mark.parametrize("homes", HOMES)
async def test_the_events_of_a_folder_itself_are_those_of_the_calendar_with_a_dot(
    homes: tuple[str, ...], tmp_path: Path
) -> None:
    async with planning(tmp_path, homes) as gate:
        ask = Asker(gate, (on("calendar", {"const": "."}),))
        assert "Dentist" not in await ask("get_event", event_id="dentist@example.com")
        assert not await may(ask, "delete_event", event_id="dentist@example.com")
        assert await may(ask, "delete_event", event_id="lunch@example.com")


async def test_a_yes_for_a_calendar_of_one_folder_is_none_for_one_of_that_name_in_another(
    tmp_path: Path,
) -> None:
    asks = on("calendar", {"const": "board"}, at_least=CallClass.WRITE)
    new = {"title": "Tea", "start": "2026-11-24 10:30"}
    async with planning(tmp_path, ("main", "other")) as gate:
        (tmp_path / "other" / "board").mkdir()
        other, own = [
            await Asker(gate, (asks,))("preview_event", event={**new, "calendar": f"{home}/board"})
            for home in ("other", "main")
        ]
    assert "hr is closed" in other
    assert "CANARY" not in other
    assert "hr is closed" not in own


@pytest.mark.parametrize("said", ["(^|/)main/team(/|$)", r"^(/.{1,200}/)?main/team/"])
async def test_a_rule_that_spares_what_it_names_with_its_folder_spares_that_still(
    said: str, tmp_path: Path
) -> None:
    spared = on("path", {"not": {"pattern": said}})
    async with serving(tmp_path, ("main", "other")) as gate:
        (tmp_path / "main" / "team").mkdir()
        (tmp_path / "main" / "team" / "a.md").write_text("open\n")
        ask = Asker(gate, (spared,))
        assert "open" in await ask("read_file", path="main/team/a.md")
        assert await ask("read_file", path=f"main/{PAY}") == "denied"
        assert await ask("read_file", path=PAY) == "denied"
        assert await ask("read_file", path="other/team/a.md") == "denied"


@pytest.mark.parametrize("homes", HOMES)
async def test_a_rule_about_two_files_and_a_sheet_holds_for_reads_in_one_of_several_folders(
    homes: tuple[str, ...], tmp_path: Path
) -> None:
    """One path is seen without its folder beside the other one with it, and beside the sheet of the result."""
    other = below(homes, "notes.md") if len(homes) == 1 else "other/notes.md"
    said = {"first": {"pattern": "^hr/"}, "second": {"const": other}, "sheet": {"const": "Pay"}}
    schema = {"required": [*said], "properties": said}
    async with serving(tmp_path, homes, "document", with_sheet) as gate:
        args = {"first": below(homes, "hr/x.xlsx"), "second": other}
        assert "canary" in await Asker(gate)("diff_documents", **args)
        ask = Asker(gate, (Rule("hr is closed", ("*",), deny=True, schema=schema),))
        assert "canary" not in await ask("diff_documents", **args)


@pytest.mark.parametrize(
    "said", [{"type": "string", "pattern": "^hr/"}, {"type": "array", "contains": {"pattern": "^hr/"}}]
)
@pytest.mark.parametrize("homes", HOMES)
async def test_what_a_read_tells_is_kept_whether_it_was_asked_by_a_text_or_a_list(
    homes: tuple[str, ...], said: Mapping[str, Any], tmp_path: Path
) -> None:
    properties = {"paths": said, "whole_folders": {"const": True}}
    rule = Rule(
        "hr is closed", ("*",), deny=True, schema={"required": [*properties], "properties": properties}
    )
    async with serving(tmp_path, homes) as gate:
        for paths in (
            below(homes, "hr"),
            [below(homes, "hr")],
            [below(homes, "notes.md"), below(homes, "hr")],
        ):
            args = {"paths": paths, "whole_folders": True, "to_delete": True}
            assert "pay.md" in await Asker(gate)("describe_paths", **args)
            assert "pay.md" not in await Asker(gate, (rule,))("describe_paths", **args)
