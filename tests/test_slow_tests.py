"""What `--slow` leaves out of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests import conftest


def item(nodeid: str, *marks: pytest.MarkDecorator) -> Any:
    return SimpleNamespace(
        nodeid=nodeid, iter_markers=lambda name: [mark.mark for mark in marks if mark.name == name]
    )


def config(slow: str, out: list[Any]) -> Any:
    hook = SimpleNamespace(pytest_deselected=lambda items: out.extend(items))
    return SimpleNamespace(getoption=lambda name: slow, hook=hook)


@pytest.mark.parametrize(
    ("slow", "runs"),
    [
        ("with", ["quick", "slow", "few[a]", "few[b]", "few[c]"]),
        ("without", ["quick", "few[a]"]),
        ("only", ["slow", "few[b]", "few[c]"]),
    ],
)
def test_slow_tests_are_left_out_but_for_their_first_cases(slow: str, runs: list[str]) -> None:
    few = pytest.mark.slow(but=1)
    every = [item("quick"), item("slow", pytest.mark.slow), *(item(f"few[{case}]", few) for case in "abc")]
    chosen, out = list(every), list[Any]()
    conftest.pytest_collection_modifyitems(config(slow, out), chosen)
    assert [one.nodeid for one in chosen] == runs
    assert [one for one in every if one not in chosen] == out
