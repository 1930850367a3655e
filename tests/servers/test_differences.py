"""Differences between texts, and texts that are made to be slow to compare."""

from __future__ import annotations

import pytest

from servers import differences
from servers.differences import unified

NAMES = ("a (now)", "a (after)")


def lines(text: str) -> list[str]:
    return [f"{line}\n" for line in text.split()]


def test_a_difference_is_what_diff_prints() -> None:
    found = unified(lines("one two three"), lines("one three four"), NAMES)
    assert found == "--- a (now)\n+++ a (after)\n@@ -1,3 +1,3 @@\n one\n-two\n three\n+four\n"
    assert unified(lines("one two"), lines("one two"), NAMES) == ""


@pytest.mark.parametrize("odd", ["\ud800\n", "\x00\n", "“ü”\n", ""])
def test_any_text_can_be_compared(odd: str) -> None:
    assert f"-{odd}" in unified([odd], ["other\n"], NAMES)


def test_texts_that_are_slow_to_compare_are_shown_as_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every second line stands often, but too seldom for difflib to pass over; none has an equal neighbour.
    monkeypatch.setattr(differences, "SECONDS", 1)
    old, new = ([f"{n % 100}\n" if n % 2 else f"{side}{n}\n" for n in range(14_000)] for side in "xy")
    found = unified(old, new, NAMES).splitlines(keepends=True)
    assert found[2] == "@@ -1,14000 +1,14000 @@\n"
    assert found[3:14_003] == [f"-{line}" for line in old]
    assert found[14_003:] == [f"+{line}" for line in new]
