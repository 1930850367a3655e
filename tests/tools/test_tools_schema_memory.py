"""What is remembered of the schemas of servers takes little memory, whatever they hold."""

from __future__ import annotations

import gc
import json
import tracemalloc
from collections.abc import Callable

import pytest

from tools.mcp.limits import ListingSize
from tools.mcp.schema import judged
from tools.mcp.schema_fast_path import always_checkable, compile_steps, matches

MEGABYTE = 1 << 20


def kept(run: Callable[[], object]) -> int:
    """The bytes that are still taken when it is done."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_verdict_on_a_schema_is_kept_without_its_text() -> None:
    texts = (json.dumps({"description": f"{n}" + "😀" * 24_000}) for n in range(40))
    assert kept(lambda: [judged(text) for text in texts]) < MEGABYTE


def test_a_schema_is_judged_once() -> None:
    text = json.dumps({"required": [f"{n}" for n in range(900)], "$comment": "judged once"})
    assert judged(text) is judged(text)


@pytest.mark.slow
def test_the_trees_of_patterns_are_not_kept() -> None:
    def read() -> None:
        for n in range(30):
            assert always_checkable(f"({n})" + "b?" * 980, 100) is False
            compile_steps(f"({n})" + "b?" * 980)

    assert kept(read) < 6 * MEGABYTE


@pytest.mark.slow
def test_patterns_that_are_too_long_are_not_kept() -> None:
    def read() -> None:
        for n in range(120):
            pattern = f"{n}" + "😀" * 24_000
            assert matches(pattern, "a") is None
            assert not always_checkable(pattern, 100)
            compile_steps(pattern)

    assert kept(read) < MEGABYTE


def test_a_definition_is_measured_in_bytes() -> None:
    assert not ListingSize().too_large_with({"description": "a" * 99_000})
    assert not ListingSize().too_large_with({"description": "😀" * 24_000})
    assert "bytes" in ListingSize().too_large_with({"description": "😀" * 26_000})
    assert "bytes" in ListingSize().too_large_with({"é" * 51_000: "a"})


@pytest.mark.parametrize("groups", [0, 1, 20, 90])
def test_no_repeated_group_takes_much_memory_for_one_text(groups: int) -> None:
    """`re` keeps a state for each round, with the marks of all groups: 5.7 GB for 90 groups and 4 MB of text."""
    body = "(" * groups + "a" + ")" * groups if groups else r"(?:a\B)"
    pattern = f"^{body}*\\Z"
    assert matches(pattern, "a" * 4_000_000) is None
    assert matches(pattern, "a" * 1_000) is (groups > 0)
