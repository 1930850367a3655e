"""Messages of servers that are too long: the memory that they take, and the error that the caller gets."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.message_size import MAX_CONTAINERS, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_VALUES, MessageSize
from tests.rooms import ROOT
from tools.mcp.limits import TOO_LONG
from tools.mcp.stdio import EDGE_BYTES, OversizedLine, lines


async def _call_in_process(tool: str, count: int) -> dict[str, str | float]:
    """How a call ended, and how many MiB it took, in a process of its own."""
    command = (sys.executable, "-m", "tests.tools.measured_host", tool, str(count))
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(child.communicate(), 120)
    outcome: dict[str, str | float] = json.loads(out)
    return outcome


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "count"), [("flood", 40_000_000), ("dense", 10_000_000)])
async def test_an_answer_of_40_megabytes_takes_little_memory_and_raises_one_error(
    tool: str, count: int
) -> None:
    outcome = await _call_in_process(tool, count)
    assert outcome["error"] == f"the answer of raw is too long to be read ({TOO_LONG})"
    assert float(outcome["mebibytes"]) < 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "count"), [("flood", MAX_MESSAGE_BYTES - 1000), ("dense", MAX_CONTAINERS - 10)]
)
async def test_the_largest_accepted_answer_takes_a_small_multiple_of_its_size(tool: str, count: int) -> None:
    outcome = await _call_in_process(tool, count)
    assert outcome["error"] == ""
    assert float(outcome["mebibytes"]) < 200


async def _chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@given(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b""))), st.integers(1, 50))
async def test_lines_are_independent_of_the_chunks_that_they_arrive_in(
    expected: list[bytes], size: int
) -> None:
    data = b"".join(line + b"\n" for line in expected)
    assert [line async for line in lines(_chunks(data, size), 30)] == expected


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
async def test_an_oversized_line_keeps_both_of_its_ends(size: int) -> None:
    data = b"a\n" + b"<" + b"x" * 5000 + b">\nb\n"
    first, long, last = [line async for line in lines(_chunks(data, size), 1000)]
    assert (first, last) == (b"a", b"b")
    assert isinstance(long, OversizedLine)
    assert long == b"<" + b"x" * (2 * EDGE_BYTES - 2) + b">"
    assert not isinstance(first, OversizedLine)


def measured(text: bytes, piece: int = 1_000_000) -> MessageSize:
    size = MessageSize()
    for start in range(0, len(text), piece):
        size.feed(text[start : start + piece])
    return size


def test_lists_objects_and_values_of_a_message_are_counted() -> None:
    size = measured(b'{"a": [[], {}], "b": 1}')
    assert (size.containers, size.values, size.depth) == (4, 4, 3)


TRICKY = st.text(alphabet='[]{},:"\\a\né', max_size=12)
VALUES = st.recursive(
    st.none() | st.integers(-3, 3) | TRICKY,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TRICKY, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.integers(1, 40))
async def test_quoted_text_does_not_count_wherever_a_message_is_cut(value: object, piece: int) -> None:
    def expected(one: object) -> tuple[int, int, int]:
        inner = list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else []
        below = [expected(each) for each in inner]
        marks = max(0, len(inner) - 1) + (len(inner) if isinstance(one, dict) else 0)
        return (
            isinstance(one, dict | list) + sum(containers for containers, _, _ in below),
            marks + sum(values for _, values, _ in below),
            isinstance(one, dict | list) + max((depth for _, _, depth in below), default=0),
        )

    size = measured(json.dumps(value, ensure_ascii=False).encode(), piece)
    assert (size.containers, size.values, size.depth) == expected(value)


@pytest.mark.parametrize(
    ("text", "too_large"),
    [
        (b"[" + b"1," * (MAX_VALUES - 10) + b"1]", False),
        (b"[" + b"1," * (MAX_VALUES + 10) + b"1]", True),
        (b"[" + b"[]," * (MAX_CONTAINERS + 10) + b"1]", True),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, False),
        (b"[" * 60_000 + b"[[" * MAX_DEPTH + b"]" * 60_000, True),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), True),
        (b'"' + b"[]{},:" * 600_000 + b'"', False),
        (b'"' + b"x" * (MAX_MESSAGE_BYTES + 1), True),
        (b'"' + b'\\"' * 2_000_000, False),  # takes linear time, although it never ends
    ],
    ids=[
        "most values",
        "more values",
        "more lists",
        "most levels",
        "many levels",
        "more levels",
        "quoted brackets",
        "bytes",
        "an unclosed string",
    ],
)
def test_a_message_is_too_large_by_what_it_holds(text: bytes, too_large: bool) -> None:
    assert measured(text, 65_536).too_large is too_large
