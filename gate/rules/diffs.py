"""A unified diff in bounded time: difflib's own takes minutes for some texts of a few thousand lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

PAIRS = 10_000  # pairs of lines up to which difflib compares each with each
Lines = Sequence[str]
Block = tuple[int, int, int]  # where in the one, where in the other, how many lines


def unified(before: str, after: str, path: str) -> str:
    """A unified diff with three lines of context, as `diff -u` prints it."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    names = (f"{path} (now)", f"{path} (after)")
    short = len(old) * len(new) <= PAIRS
    lines = unified_diff(old, new, *names) if short else _printed(old, new, *names)
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _printed(old: Lines, new: Lines, one: str, other: str) -> Iterator[str]:
    matcher: Any = SequenceMatcher(None, "", "")  # what it has found already it does not look for
    matcher.a, matcher.b, matcher.opcodes = old, new, None
    matcher.matching_blocks = [*_blocks(old, new), (len(old), len(new), 0)]
    told = False
    for group in matcher.get_grouped_opcodes(3):
        if not told:
            yield from (f"--- {one}\n", f"+++ {other}\n")
            told = True
        (_, a, _, b, _), (_, _, a2, _, b2) = group[0], group[-1]
        yield f"@@ -{_range(a, a2)} +{_range(b, b2)} @@\n"
        for tag, i, i2, j, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i:i2])
                continue
            yield from (f"-{line}" for line in old[i:i2])
            yield from (f"+{line}" for line in new[j:j2])


def _range(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + 1}" if length == 1 else f"{start + bool(length)},{length}"


def _blocks(old: Lines, new: Lines) -> list[Block]:
    """Lines that both have, in their order: those that are there once in each, and what is equal around them."""
    found, i, j = list[Block](), 0, 0
    for a, b in [*_anchors(old, new), (len(old), len(new))]:
        if a < i or b < j:
            continue  # behind an earlier block already
        found += _between(old, new, (i, a), (j, b))
        size = 0
        while a + size < len(old) and b + size < len(new) and old[a + size] == new[b + size]:
            size += 1
        if size:
            found.append((a, b, size))
        i, j = a + size, b + size
    return _joined(found)


def _between(old: Lines, new: Lines, a: tuple[int, int], b: tuple[int, int]) -> Iterator[Block]:
    """Equal lines of a gap; only those at its edges where it is large."""
    (i, i2), (j, j2) = a, b
    if (i2 - i) * (j2 - j) <= PAIRS // 10:
        blocks = SequenceMatcher(None, old[i:i2], new[j:j2]).get_matching_blocks()
        yield from ((i + one, j + other, size) for one, other, size in blocks if size)
        return
    head = tail = 0
    while head < min(i2 - i, j2 - j) and old[i + head] == new[j + head]:
        head += 1
    while tail < min(i2 - i, j2 - j) - head and old[i2 - 1 - tail] == new[j2 - 1 - tail]:
        tail += 1
    yield from (one for one in ((i, j, head), (i2 - tail, j2 - tail, tail)) if one[2])


def _anchors(old: Lines, new: Lines) -> list[tuple[int, int]]:
    """The longest run of lines that are there once in each text, and in the same order."""
    ones, others = Counter(old), Counter(new)
    at = {line: place for place, line in enumerate(new) if others[line] == 1}
    pairs = [(i, at[line]) for i, line in enumerate(old) if ones[line] == 1 and line in at]
    ends, tops, before = list[int](), list[int](), list[int]()
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(tops[length - 1] if length else -1)
        ends[length : length + 1], tops[length : length + 1] = [place], [number]
    found, number = list[tuple[int, int]](), tops[-1] if tops else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _joined(blocks: list[Block]) -> list[Block]:
    """Blocks without a gap between them as one, which is what difflib expects."""
    found = list[Block]()
    for i, j, size in blocks:
        if found and (found[-1][0] + found[-1][2], found[-1][1] + found[-1][2]) == (i, j):
            i, j, size = found[-1][0], found[-1][1], found[-1][2] + size
            found.pop()
        found.append((i, j, size))
    return found
