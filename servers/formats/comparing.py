"""What differs between two texts: lines, and within a line that was changed, words. Runs in the sandbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

AROUND = 2  # lines shown before and after what differs
ALIKE = 0.6  # from here on one line is taken for the other, changed
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+|\s+|[^\w\s]")
Span = tuple[str, int, int, int, int]


def compared(old: str, new: str) -> tuple[dict[str, int], str]:
    """How many lines were added, removed and changed, and what differs, as people read it.

    A line begins with a blank when it is in both, with `-` or `+` when it is in one, and with `~` when it was changed:
    [-these words-] went then, and {+these+} came.
    """
    before, after = old.splitlines(), new.splitlines()
    told: list[str] = []
    for spans in SequenceMatcher(None, before, after).get_grouped_opcodes(AROUND):
        told.append(f"@@ from line {spans[0][1] + 1} and {spans[0][3] + 1} on @@")
        told += [line for span in spans for line in _lines(span, before, after)]
    signs = {"added": "+", "removed": "-", "changed": "~"}
    counts = {name: sum(line[0] == sign for line in told) for name, sign in signs.items()}
    return counts, "\n".join(told)


def _lines(span: Span, before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    kind, a, b, c, d = span
    if kind == "equal":
        yield from (f" {line}" for line in before[a:b])
        return
    gone, come = list(before[a:b]), list(after[c:d])
    while gone and come and (line := _same_or_changed(gone[0], come[0])):
        yield line
        gone, come = gone[1:], come[1:]
    ends = []
    while gone and come and (line := _same_or_changed(gone[-1], come[-1])):
        ends.append(line)
        gone, come = gone[:-1], come[:-1]
    yield from (f"-{line}" for line in gone)
    yield from (f"+{line}" for line in come)
    yield from reversed(ends)


def _same_or_changed(old: str, new: str) -> str:
    """The line with its sign; "" for two that have little in common. Between changed paragraphs stand empty lines."""
    if old == new:
        return f" {old}"
    changed = _changed(old, new)
    return f"~{changed}" if changed else ""


def _changed(old: str, new: str) -> str:
    """One line with the words that went and came; "" for two lines that have little in common."""
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after)
    if matcher.quick_ratio() < ALIKE or matcher.ratio() < ALIKE:
        return ""
    parts = []
    for kind, a, b, c, d in matcher.get_opcodes():
        gone, come = "".join(before[a:b]), "".join(after[c:d])
        if kind == "equal":
            parts.append(gone)
        else:
            parts.append((f"[-{gone}-]" if gone else "") + (f"{{+{come}+}}" if come else ""))
    return "".join(parts)
