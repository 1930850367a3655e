"""Diffs of previews: what they say is exact, and a hostile text takes no longer than another."""

from __future__ import annotations

import random
import re
import time

from hypothesis import given
from hypothesis import strategies as st

from gate.rules import diffs

WORDS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "e\n", "f"]), max_size=60)


def applied(diff: str, before: list[str]) -> list[str]:
    """What a text becomes by a unified diff, hunk by hunk; what it takes away must be there."""
    made, at = list[str](), 0
    lines = diff.replace("\n\\ No newline at end of file\n", "§").splitlines(keepends=True)
    lines = [part for line in lines for part in re.split(r"(?<=§)", line) if part]
    for line in lines[2:]:
        text = line[1:].removesuffix("§") if line.endswith("§") else line[1:]
        if line.startswith("@@"):
            found = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
            assert found
            start = int(found[1]) - (found[2] != "0")
            made, at = made + before[at:start], start
            continue
        if line[0] in " -":
            assert before[at] == text
            at += 1
        if line[0] in " +":
            made.append(text)
    return made + before[at:]


@given(WORDS, WORDS)
def test_the_quick_diff_of_two_texts_is_right(one: list[str], other: list[str]) -> None:
    before, after = "".join(one).splitlines(keepends=True), "".join(other).splitlines(keepends=True)
    told = "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in diffs._printed(before, after, "x", "y")
    )
    assert applied(told, before) == after


def test_two_changes_far_apart_in_a_long_text_are_shown_alone() -> None:
    lines = [f"line {n}\n" for n in range(5000)]
    changed = ["first\n", *lines[1:-1], "last\n"]
    told = diffs.unified("".join(lines), "".join(changed), "notes.md")
    assert told.count("\n") < 25
    assert applied(told, lines) == changed


def test_a_hostile_pair_of_texts_takes_no_more_time_than_their_length() -> None:
    rng = random.Random(7)
    common = [f"{n}\n" for n in range(100)]
    before, after = ("".join(rng.choice(common) for _ in range(20_000)) for _ in range(2))
    began = time.thread_time()
    assert diffs.unified(before, after, "x")
    assert time.thread_time() - began < 1  # difflib's own: minutes
