"""A unified diff in bounded time: difflib's own takes minutes for some texts of a few thousand lines."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from typing import Any

from gate.rules.action import Json

PAIRS = 10_000  # pairs of lines up to which difflib compares each with each
# Of one gap between lines that both have, and of all gaps of two texts; to begin with one takes as long as some pairs
PAIRS_OF_A_GAP, PAIRS_OF_GAPS, COST_OF_A_GAP = 1_000, 20_000, 20
Lines = Sequence[str]
Block = tuple[int, int, int]  # where in the one, where in the other, how many lines
HEADER = re.compile(r"diff --(git|cc|combined) |(rename|copy) (from|to) ")
BEFORE_A_NAME = re.compile(r"^[abciow]/")
QUOTED_NAME = re.compile(r'(?<![^ ])"(?:[^"\\]|\\.)*"')
COMMIT = re.compile(r"commit [0-9a-f]{40,64}\n[A-Z][a-z]+\W")
OBJECT_ID = re.compile(r"[0-9a-fA-F]{40}([0-9a-fA-F]{24})?")
RANGE = re.compile(r"\.\.\.?")
# Of a file with several parents, as while a merge is under way, each has a range and a column of its own
HUNK = re.compile(r"(@@{1,40})((?: -[0-9]{1,9}(?:,[0-9]{1,9})?){1,40}) \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@")
RANGE_OF_A_PARENT = re.compile(r"-[0-9]+(?:,([0-9]+))?")
# What git itself writes outside of the hunks of a difference
OF_GIT = re.compile(
    r"diff --(git|cc|combined) |index |mode |((old|new|deleted file|new file) mode|(copy|rename) (from|to)|"
    r"(dis)?similarity index|---|\+\+\+|@@+|Binary files|\* Unmerged path|\\) |$"
)
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
ESCAPED = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
# Fields of an answer that name a file, and those beside them that hold what is in it
FILE_NAMES = ("filename", "previous_filename", "path")
FILE_TEXTS = ("patch", "diff_hunk", "text_matches", "content")
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def unified(before: str, after: str, path: str) -> str:
    """A unified diff with three lines of context, as `diff -u` prints it: a line ends at a newline and nowhere else."""
    old, new = _lines(before), _lines(after)
    names = (f"{path} (now)", f"{path} (after)")
    short = len(old) * len(new) <= PAIRS
    lines = unified_diff(old, new, *names) if short else _printed(old, new, *names)
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _lines(text: str) -> Lines:
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]


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
    found, i, j, left = list[Block](), 0, 0, PAIRS_OF_GAPS
    for a, b in [*_anchors(old, new), (len(old), len(new))]:
        if a < i or b < j:
            continue  # behind an earlier block already
        pairs = (a - i) * (b - j)
        if pairs:
            left -= pairs + COST_OF_A_GAP if pairs <= PAIRS_OF_A_GAP else 0
            each = pairs <= PAIRS_OF_A_GAP and left >= 0
            found += _between(old[i:a], new[j:b], (i, j)) if each else _edges(old[i:a], new[j:b], (i, j))
        size = 0
        while a + size < len(old) and b + size < len(new) and old[a + size] == new[b + size]:
            size += 1
        if size:
            found.append((a, b, size))
        i, j = a + size, b + size
    return _joined(found)


def _between(old: Lines, new: Lines, start: tuple[int, int]) -> Iterator[Block]:
    """Equal lines of a gap that begins at `start`."""
    blocks = SequenceMatcher(None, old, new).get_matching_blocks()
    yield from ((start[0] + one, start[1] + other, size) for one, other, size in blocks if size)


def _edges(old: Lines, new: Lines, start: tuple[int, int]) -> Iterator[Block]:
    """The same where the gap is large, or there are very many: only those at its edges."""
    (i, j), most = start, min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    rest = range(1, most - head + 1)
    tail = next((n - 1 for n in rest if old[-n] != new[-n]), len(rest))
    blocks = ((i, j, head), (i + len(old) - tail, j + len(new) - tail, tail))
    yield from (one for one in blocks if one[2])


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


def differing_files(diff: str) -> tuple[str, ...]:
    """The files that a difference of git is about, whose content may be in it, without what git writes before their
    names. Where a line can be read in several ways, what each of them names."""
    found: list[str] = []
    lines = COLOUR.sub("", diff).split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if header := HEADER.match(line):
            found += _in_header(line[header.end() :])
        elif line.startswith("--- ") and after.startswith("+++ "):
            found += (unquoted(line[4:]), unquoted(after[4:]))
    return tuple(dict.fromkeys(BEFORE_A_NAME.sub("", one) for one in found if one and one != "/dev/null"))


def shown_files(revision: str, text: str) -> tuple[str, ...]:
    """The files whose content is in what git shows of a revision. `HEAD:a.md` itself names the file; all else has to be
    a commit, which names its files. Raises ValueError where it is none: the id of a file, or a tag of one, does not say
    what its name is; and where a name in it has a line break."""
    is_commit = COMMIT.match(text) is not None
    if ":" not in revision and not is_commit:
        raise ValueError("it is no commit")
    if is_commit and _has_broken_name(text):
        raise ValueError("a name of a file has a line break")
    return differing_files(text)


def _has_broken_name(text: str) -> bool:
    """Whether a name in a header goes on in the next line: then the old name is not followed by the new one."""
    return any(
        line.startswith("--- ") and not after.startswith("+++ ") for line, after in _outside_of_hunks(text)
    )


def _outside_of_hunks(text: str) -> Iterator[tuple[str, str]]:
    """The lines that no hunk counts as its own, each with the line after it: what a hunk holds is no header."""
    lines, parents, left = text.split("\n"), list[int](), 0
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        columns = line[: len(parents)]
        if (left <= 0 and not any(one > 0 for one in parents)) or not columns or columns.strip(" +-\\"):
            parents, left = _ranges(line)
            yield line, after
        elif "\\" not in columns:
            kept = "-" if "-" in columns else " "  # by this column, a parent has the line
            parents = [
                one - (sign == kept) for one, sign in zip(parents, columns.ljust(len(parents)), strict=True)
            ]
            left -= kept == " "


def _ranges(line: str) -> tuple[list[int], int]:
    """How many lines a hunk with this header has of each parent, and in the end; none where it is no header."""
    hunk = HUNK.match(line)
    if hunk is None:
        return [], 0
    return [int(one or 1) for one in RANGE_OF_A_PARENT.findall(hunk[2])], int(hunk[3] or 1)


def patched_files(text: str) -> tuple[str, ...]:
    """The files of a difference that stands below a line of its server. Raises ValueError where a line is none that git
    writes: a program that the settings of git name for differences (`diff.external`), or a submodule, may name no file
    of what it shows."""
    plain = COLOUR.sub("", text).partition("\n")[2]
    if not all(OF_GIT.match(line) for line, _ in _outside_of_hunks(plain)):
        raise ValueError(
            "git has not written all of it itself (is `diff.external` set for the user of the server?)"
        )
    return differing_files(text)


def compared_files(target: str, text: str) -> tuple[str, ...]:
    """The files of a difference to what `target` names. Raises ValueError where git calls a file by an id, or as a side
    of the target is called: two files were compared then, and it does not say what their names are; and where not all
    of it is written by git."""
    found = patched_files(text)
    sides = {target, *RANGE.split(target)}
    if any(one in sides or OBJECT_ID.fullmatch(one) for one in found):
        raise ValueError("it names no file")
    return found


def excerpted_files(text: str) -> tuple[str, ...]:
    """The files that an answer of JSON names beside what is in them, such as the patches of a commit. An answer of
    another form names none. Raises ValueError where a name is missing: the JSON is cut off or broken, or a server was
    asked for the fields without it."""
    if not text.lstrip().startswith(("{", "[")):
        return ()
    try:
        left: list[Json] = [json.loads(text)]
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    found: list[str] = []
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += value.values()
            if any(value.get(name) for name in FILE_TEXTS):
                names = [one for name in FILE_NAMES if isinstance(one := value.get(name), str)]
                if not names:
                    raise ValueError("it has content without the name of its file")
                found += names
        elif isinstance(value, list):
            left += value
    return tuple(dict.fromkeys(found))


def _in_header(names: str) -> list[str]:
    """The two names of `a/x b/x`, of which each may be in quotes, or the one of a merge."""
    quoted = [unquoted(found[0]) for found in QUOTED_NAME.finditer(names)]
    plain = QUOTED_NAME.sub(" ", names).strip()
    halves = (plain[: len(plain) // 2].strip(), plain[len(plain) // 2 :].strip())
    same = BEFORE_A_NAME.sub("", halves[0]) == BEFORE_A_NAME.sub("", halves[1])
    return [*quoted, *(halves if same else (plain, *plain.split()))]


def unquoted(name: str) -> str:
    """A name without the quotation marks and escapes that git gives it."""
    name = name.rstrip("\t\r")
    if len(name) < 2 or not name.startswith('"') or not name.endswith('"'):
        return name
    plain = ESCAPED.sub(
        lambda found: (
            bytes([int(found[1], 8) & 255]) if len(found[1]) == 3 else ESCAPES.get(found[1], found[1])
        ),
        name[1:-1].encode("utf-8", "surrogatepass"),
    )
    return plain.decode("utf-8", "replace")
