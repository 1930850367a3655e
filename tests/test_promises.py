"""docs/promises.md is held to the tests, both ways: what it names is there, and what a test claims stands in it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "promises.md"
# How many promises each table has, numbered from 01. GATE begins with the 13 acceptance lines of the
# requirements `003`, in their order; REVIEW has the components of `004`.
COUNTS = {"ACT": 27, "TASK": 24, "VERB": 17, "GATE": 31, "REVIEW": 32, "API": 22}
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
MARK = re.compile(r"^\s*# promise: (.+)$")
OPEN = "*not yet*: "
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Place = tuple[str, str]  # path and name


@dataclass(frozen=True)
class Promise:
    """A line of the page. One that is kept has tests; one that is open says what is missing."""

    id: str
    text: str
    shown: str

    @property
    def tests(self) -> list[Place]:
        return [] if self.open else NAMED.findall(self.shown)

    @property
    def open(self) -> bool:
        return self.shown.startswith(OPEN) and len(self.shown) > len(OPEN)


def promises() -> list[Promise]:
    rows = [
        line.strip().strip("|").split("|") for line in PAGE.read_text("utf-8").splitlines() if "|" in line
    ]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert {len(row) for row in cells} == {4}, "a line of the table has four cells"
    return [Promise(*row[:3]) for row in cells if row[0] != "id" and set(row[0]) != {"-"}]


@cache
def functions_of(path: str) -> dict[str, int]:
    """The test functions of a file, by name, with the line that each begins in; none where there is no file."""
    file = ROOT / path
    tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
    found = [node for node in tree.body if isinstance(node, FUNCTIONS) and node.name.startswith("test_")]
    return {one.name: min([one.lineno, *(mark.lineno for mark in one.decorator_list)]) for one in found}


@cache
def marks() -> list[tuple[str, Place]]:
    """What tests claim, in comments above them: the id, and the test; with an empty name where none follows."""
    found = []
    for file in sorted((ROOT / "tests").rglob("*.py")):
        path, lines = file.relative_to(ROOT).as_posix(), file.read_text("utf-8").splitlines()
        claimed = {n: mark[1] for n, line in enumerate(lines, 1) if (mark := MARK.match(line))}
        names = {line: name for name, line in functions_of(path).items()} if claimed else {}
        found += [
            (one, (path, names.get(n + 1, ""))) for n, ids in claimed.items() for one in ids.split(", ")
        ]
    return found


def test_every_promise_has_its_line_and_its_own_id() -> None:
    expected = [f"{name}-{n:02d}" for name, count in COUNTS.items() for n in range(1, count + 1)]
    assert [one.id for one in promises()] == expected
    assert all(one.text for one in promises())


def test_every_promise_names_tests_or_says_what_is_missing() -> None:
    assert [one.id for one in promises() if not one.tests and not one.open] == []


def test_every_test_that_the_page_names_is_there() -> None:
    named = NAMED.findall(PAGE.read_text("utf-8"))  # also those that stand beside what is not yet there
    assert [test for test in named if test[1] not in functions_of(test[0])] == []


def test_every_kept_promise_is_marked_at_one_of_its_tests() -> None:
    marked = set(marks())
    assert [
        one.id for one in promises() if one.tests and not marked & {(one.id, test) for test in one.tests}
    ] == []


def test_every_mark_above_a_test_stands_on_the_page() -> None:
    known = {(one.id, test) for one in promises() for test in one.tests}
    assert [claim for claim in marks() if claim not in known] == []
    assert [claim for claim, times in Counter(marks()).items() if times > 1] == []
