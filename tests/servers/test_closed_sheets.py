"""A rule about a sheet holds for every tool that gives or writes what is in it, also where none is named."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from openpyxl import Workbook

from gate.rules.action import CallClass, Verdict
from gate.rules.canonical_json import canonical
from gate.rules.policy import Rule
from servers.document import server
from tests.servers.files import Clock
from tests.servers.gate_around_server import Gate, gated
from tests.servers.test_closed_calendars import Asker

X, OPEN, ONE = "x.xlsx", "open.xlsx", "one.xlsx"
NAMED = {"required": ["sheet"], "properties": {"sheet": {"const": "SALARIES"}}}
RULES = (
    Rule("closed sheet", ("document.*",), deny=True, schema=NAMED),
    Rule("closed sheet", ("document.*",), deny=True, texts=("^salaries$",)),
    Rule(
        "closed sheet",
        ("*",),
        deny=True,
        schema={"required": ["sheet"], "properties": {"sheet": {"pattern": "^Sal"}}},
    ),
)
READING = Rule("closed sheet", ("document.read_spreadsheet",), deny=True, schema=NAMED)
COMPARED = {"first": OPEN, "second": ONE}
OTHERS = {
    "extract_text": {"path": X},
    "diff_documents": COMPARED,
    "preview_document": {"make": "convert_format", "call": {"source": X, "destination": "x.csv"}},
}


def book(*names: str) -> bytes:
    made, out = Workbook(), io.BytesIO()
    made.remove(made.active)
    for name in names:
        sheet = made.create_sheet(name)
        sheet.append(["who", "pay"])
        sheet.append(["Ann", "CANARY 300k" if name == "Salaries" else "open"])
    made.save(out)
    return out.getvalue()


@asynccontextmanager
async def sheets(folder: Path) -> AsyncIterator[Gate]:
    root = folder / "sample"
    root.mkdir()
    for name, data in (
        (X, book("Salaries", "Open")),
        ("last.xlsx", book("Open", "Salaries")),
        (ONE, book("Salaries")),
        (OPEN, book("Open", "More")),
        ("a.csv", b"who,pay\nAnn,open\n"),
    ):
        (root / name).write_bytes(data)
    async with gated(folder / "logs", "document", server([root], Clock())) as gate:
        yield gate


def under(gate: Gate) -> Iterator[Asker]:
    yield from (Asker(gate, (rule,)) for rule in RULES)


def is_closed(said: str) -> bool:
    return (said == "denied" or "closed sheet" in said) and "CANARY" not in said


async def test_a_closed_sheet_is_not_read_where_none_is_named_nor_in_other_letters(tmp_path: Path) -> None:
    async with sheets(tmp_path) as gate:
        for ask in (*under(gate), Asker(gate, (READING,))):
            for args in ({"path": X}, {"path": ONE}, {"path": X, "sheet": "Salaries"}):
                assert is_closed(await ask("read_spreadsheet", **args)), args
            for args in ({"path": X, "sheet": "Open"}, {"path": "last.xlsx"}, {"path": "a.csv"}):
                assert "'open'" in await ask("read_spreadsheet", **args), args
        assert "CANARY" in await Asker(gate)("read_spreadsheet", path=X)


async def test_no_text_comparison_or_preview_gives_a_closed_sheet(tmp_path: Path) -> None:
    async with sheets(tmp_path) as gate:
        for tool, args in OTHERS.items():
            for ask in (*under(gate), Asker(gate, (READING,))):
                assert is_closed(await ask(tool, **args)), tool
            assert "CANARY" in await Asker(gate)(tool, **args), tool
        for ask in under(gate):
            assert is_closed(await ask("extract_text", path="last.xlsx"))
            assert "'open'" in str(await ask("read_spreadsheet", path="last.xlsx"))
            assert "open" in await ask("extract_text", path=OPEN)


@pytest.mark.parametrize("spared", [{"const": "Open"}, {"enum": ["Open", "More"]}, {"pattern": "^Open$"}])
async def test_a_rule_that_spares_a_sheet_gives_it_and_no_other(
    tmp_path: Path, spared: dict[str, Any]
) -> None:
    others = {"required": ["sheet"], "properties": {"sheet": {"not": spared}}}
    async with sheets(tmp_path) as gate:
        ask = Asker(gate, (Rule("closed sheet", ("document.*",), deny=True, schema=others),))
        assert "'open'" in await ask("read_spreadsheet", path=X, sheet="Open")
        assert "'open'" in await ask("read_spreadsheet", path="last.xlsx")
        assert is_closed(await ask("read_spreadsheet", path=X))
        seen = await ask.look("convert_format", source="last.xlsx", destination="new.csv")
        assert seen.decision
        assert seen.decision.verdict is Verdict.CONFIRM


async def test_a_rule_that_says_nothing_of_sheets_closes_none(tmp_path: Path) -> None:
    folder = Rule("a folder", ("*",), deny=True, schema={"properties": {"path": {"pattern": "^hr/"}}})
    tables = Rule("tables", ("*",), deny=True, schema={"required": ["table"]})
    async with sheets(tmp_path) as gate:
        for rule in (folder, tables):
            assert "CANARY" in await Asker(gate, (rule,))("read_spreadsheet", path=X)
            assert "CANARY" in await Asker(gate, (rule,))("extract_text", path=X)


@pytest.mark.parametrize("to", [".csv", ".md", ".pdf", ".xlsx"])
async def test_no_conversion_writes_a_closed_sheet(tmp_path: Path, to: str) -> None:
    async with sheets(tmp_path) as gate:
        source = "last.xlsx" if to in (".md", ".pdf") else X
        for ask in under(gate):
            seen = await ask.look("convert_format", source=source, destination=f"new{to}")
            assert seen.decision
            assert seen.decision.verdict is Verdict.DENY
            assert "CANARY" not in str(seen.preview)
            seen = await ask.look("convert_format", source=OPEN, destination=f"new{to}")
            assert seen.preview.is_complete
            assert seen.decision is None or seen.decision.verdict is not Verdict.DENY
        seen = await Asker(gate, (READING,)).look("convert_format", source=source, destination=f"new{to}")
        assert "CANARY" not in str(seen.preview)


async def test_a_conversion_of_the_first_sheet_alone_is_held_against_that_one(tmp_path: Path) -> None:
    async with sheets(tmp_path) as gate:
        for ask in under(gate):
            seen = await ask.look("convert_format", source="last.xlsx", destination="new.csv")
            assert seen.preview.is_complete
            assert seen.decision
            assert seen.decision.verdict is Verdict.CONFIRM


async def test_a_sheet_that_somebody_has_confirmed_is_given_in_any_letters_of_the_rule(
    tmp_path: Path,
) -> None:
    asks = Rule("asks first", ("document.*",), at_least=CallClass.WRITE, schema=NAMED)
    async with sheets(tmp_path) as gate:
        ask = Asker(gate, (asks,))
        assert "CANARY" in await ask("read_spreadsheet", path=X, sheet="Salaries")
        assert "asks first" in await ask("read_spreadsheet", path=X)
        assert "asks first" in await ask("extract_text", path=X)


async def test_an_answer_too_long_to_name_its_sheets_is_not_given_under_a_rule_about_them(
    tmp_path: Path,
) -> None:
    made, out, letters = Workbook(), io.BytesIO(), Random(1)
    made.active.title = "Salaries"
    for _ in range(244):
        made.active.append(["CANARY " + "".join(letters.choices("abcdefgh", k=991))])
    made.save(out)
    async with sheets(tmp_path) as gate:
        (tmp_path / "sample" / "long.xlsx").write_bytes(out.getvalue())
        asked = {"first": "long.xlsx", "second": "a.csv"}
        answer = await gate.host.call("document", "diff_documents", canonical(asked), 30)
        assert answer.clipped
        assert answer.structured is None
        for ask in (*under(gate), Asker(gate, (READING,))):
            said = await ask("diff_documents", **asked)
            assert "CANARY" not in said
            assert "too long" in said
        elsewhere = Rule("elsewhere", ("data.*",), deny=True, schema=NAMED)
        assert "CANARY" in await Asker(gate, (elsewhere,))("diff_documents", **asked)


async def test_a_rule_about_a_path_and_a_sheet_holds_where_the_path_is_called_otherwise(
    tmp_path: Path,
) -> None:
    both = {"required": ["path", "sheet"], "properties": {"path": {"pattern": "^x"}, **NAMED["properties"]}}
    async with sheets(tmp_path) as gate:
        ask = Asker(gate, (Rule("both", ("*",), deny=True, schema=both),))
        for name, refused in ((X, True), (OPEN, False), (ONE, False)):
            seen = await ask.look("convert_format", source=name, destination="new.csv")
            assert ((seen.decision and seen.decision.verdict) is not Verdict.CONFIRM) == refused, name


PAIRS = [
    {"required": ["path", "sheet"], "properties": {"path": {"const": path}, "sheet": {"const": sheet}}}
    for path, sheet in ((X, "Salaries"), ("y.xlsx", "Bonus"))
]


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": PAIRS},
        {"$ref": "#/$defs/pay", "$defs": {"pay": PAIRS[0]}},
        {"if": {"properties": {"path": {"const": X}}}, "then": PAIRS[0], "else": False},
    ],
    ids=["oneOf", "reference", "if"],
)
async def test_a_rule_about_a_sheet_of_a_file_holds_however_its_schema_is_written(
    tmp_path: Path, schema: dict[str, Any]
) -> None:
    async with sheets(tmp_path) as gate:
        ask = Asker(gate, (Rule("closed sheet", ("document.*",), deny=True, schema=schema),))
        for tool, args in {**OTHERS, "diff_documents": {"first": OPEN, "second": X}}.items():
            assert is_closed(await ask(tool, **args)), tool
        assert "open" in await ask("diff_documents", first=OPEN, second="a.csv")


def about(path: str) -> Rule:
    schema = {"required": ["path"], "properties": {"path": {"const": path}}}
    return Rule("closed sheet", ("*",), deny=True, texts=("(?i)^salaries$",), schema=schema)


async def test_a_text_for_a_sheet_holds_beside_a_schema_for_the_file_whatever_it_is_called(
    tmp_path: Path,
) -> None:
    async with sheets(tmp_path) as gate:
        calls = {**OTHERS, "diff_documents": {"first": OPEN, "second": X}, "read_spreadsheet": {"path": X}}
        for tool, args in calls.items():
            assert is_closed(await Asker(gate, (about(X),))(tool, **args)), tool
            assert "CANARY" in await Asker(gate, (about("y.xlsx"),))(tool, **args), tool
        nested = {"required": ["source"], "properties": {"source": {"const": X}}}
        ask = Asker(gate, (replace(about(X), schema=nested),))
        assert is_closed(await ask("preview_document", **OTHERS["preview_document"]))


async def test_a_rule_that_somebody_has_confirmed_for_a_file_closes_no_sheet_of_it(tmp_path: Path) -> None:
    asks = replace(about(X), deny=False, at_least=CallClass.WRITE, texts=("xlsx",))
    async with sheets(tmp_path) as gate:
        assert "CANARY" in await Asker(gate, (asks,))("diff_documents", first=OPEN, second=X)


@pytest.mark.parametrize(
    "name", ["Salaries ", " Salaries", "Salaries\u00a0", "Sala\u200bries", "\uff33alaries"]
)
async def test_a_text_finds_a_sheet_with_signs_that_nobody_sees_also_where_it_is_written(
    tmp_path: Path, name: str
) -> None:
    async with sheets(tmp_path) as gate:
        (tmp_path / "sample" / "odd.xlsx").write_bytes(book(name))
        ask = Asker(gate, (Rule("closed", ("document.*",), deny=True, texts=("^Salaries$",)),))
        seen = await ask.look("convert_format", source="odd.xlsx", destination="new.csv")
        assert (seen.decision and seen.decision.verdict) is not Verdict.CONFIRM


async def test_no_letter_of_a_closed_sheet_is_told_where_it_cannot_be_set(tmp_path: Path) -> None:
    letters = "पगार"
    async with sheets(tmp_path) as gate:
        made = Workbook()
        made.create_sheet("Salaries").append([letters])
        made.save(tmp_path / "sample" / "letters.xlsx")
        call = {"source": "letters.xlsx", "destination": "letters.pdf"}
        said = await Asker(gate, RULES[:1])("preview_document", make="convert_format", call=call)
        assert "cannot be made" in said
        assert not set(letters).intersection(said)
