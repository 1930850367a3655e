"""Differences between texts, and texts that are made to be slow to compare."""

from __future__ import annotations

import tracemalloc

import pytest

from servers import differences
from servers.differences import ALL_LINES, change, of_file, unified

NAMES = ("a (now)", "a (after)")


def lines(text: str) -> bytes:
    return "".join(f"{line}\n" for line in text.split()).encode()


def test_a_difference_is_what_diff_prints() -> None:
    found = unified(lines("one two three"), lines("one three four"), NAMES, 3, 1_000)
    assert found == "--- a (now)\n+++ a (after)\n@@ -1,3 +1,3 @@\n one\n-two\n three\n+four\n"
    assert unified(lines("one two"), lines("one two"), NAMES, 3, 1_000) == ""


def test_all_lines_are_shown_where_that_is_asked_for() -> None:
    many = " ".join(map(str, range(100)))
    found = of_file("a", lines(many), lines(f"{many} x"), 1_000, ALL_LINES)
    assert found is not None
    assert found.splitlines()[3:] == [*(f" {n}" for n in range(100)), "+x"]


@pytest.mark.parametrize("odd", ["\x00\n", "“ü”\n", "\u2028", "\r\n"])
def test_any_text_can_be_compared(odd: str) -> None:
    assert f"-{odd}" in (unified(odd.encode(), b"other\n", NAMES, 3, 1_000) or "")


def test_what_is_no_text_can_be_compared() -> None:
    assert unified(b"\xff\n", b"other\n", NAMES, 3, 1_000) is not None


@pytest.mark.slow
def test_texts_that_are_slow_to_compare_are_shown_as_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every second line stands often, but too seldom for difflib to pass over; none has an equal neighbour.
    monkeypatch.setattr(differences, "SECONDS", 1)
    old, new = ([f"{n % 100}\n" if n % 2 else f"{side}{n}\n" for n in range(14_000)] for side in "xy")
    texts = ["".join(side).encode() for side in (old, new)]
    found = (unified(*texts, NAMES, 3, 1_000_000) or "").splitlines(keepends=True)
    assert found[2] == "@@ -1,14000 +1,14000 @@\n"
    assert found[3:14_003] == [f"-{line}" for line in old]
    assert found[14_003:] == [f"+{line}" for line in new]
    assert unified(*texts, NAMES, 3, 1_000) is None


@pytest.mark.slow
def test_a_long_text_is_not_divided_into_lines_beside_other_work() -> None:
    """20 MB of short lines took 1.1 GB of the bot and held up its other threads, for a difference nobody was shown."""
    long = b"ab\n" * (7 << 20)
    tracemalloc.start()
    try:
        assert of_file("a", long, b"x\n", 100_000) is None
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_of_a_change_of_a_long_text_what_comes_is_shown_whole() -> None:
    long = "a line\n" * 100_000
    assert change(long, "x\n" * 3) == "@@ -1 +1,3 @@\n-(700,000 characters)\n+x\n+x\n+x"
    assert change(long, f"{long}end\n") == "@@ -99999,2 +99999,3 @@\n a line\n a line\n+end".replace(
        "@@ -99999,2 +99999,3 @@\n a line\n", "@@ -100000 +100000,2 @@\n"
    )
    assert change("\n" * 50_000, "x\n").count("\n-") == 50_000
