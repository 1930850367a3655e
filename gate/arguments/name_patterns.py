"""Patterns of names (`*`, `?`, `[a-z]`, `[!a-z]`) as fnmatch reads them, in linear time, without a regular expression.

`re` takes milliseconds to compile a class such as `[a-\\uffff]`, and patterns come from strangers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

Range = tuple[int, int]  # of code points, with the last
LAST = 0x10FFFF
ANY: tuple[Range, ...] = ((0, LAST),)


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern of `length` characters, with a bit for each: `stars` are those before which any others may stand,
    `fitting` those that a character fits, for each range of code points from one of `begins` to the next."""

    length: int
    stars: int
    begins: tuple[int, ...]
    fitting: tuple[int, ...]

    def matches(self, name: str) -> bool:
        """Whether it means the whole name. Goes over the name once, with all places that it may be at."""
        at, stars, begins, fitting = 1, self.stars, self.begins, self.fitting
        for char in name:
            at = (at & fitting[bisect_right(begins, ord(char)) - 1]) << 1 | (at & stars)
            if not at:
                return False
        return bool(at >> self.length)


class KnownNames:
    """Names that a pattern is held against all at once. They stand one behind the other, with a place behind each. The
    pattern is gone over once, with a bit for each place that what was gone over may end before."""

    def __init__(self, names: Sequence[str]) -> None:
        starts = list(accumulate((len(name) + 1 for name in names), initial=0))
        self._begins = sum(1 << at for at in starts[:-1])
        self._ends = {1 << at - 1: name for at, name in zip(starts[1:], names, strict=True)}
        self._before: dict[str, int] = {}  # the places before each character
        for at, char in enumerate("\0".join(names)):
            self._before[char] = self._before.get(char, 0) | 1 << at
        self._before.pop("\0", None)
        self._order = sorted(map(ord, self._before))
        self._up_to = [0, *accumulate(self._before[chr(code)] for code in self._order)]
        self._steps = tuple(_steps((1 << starts[-1]) - 1 ^ self._begins))

    def meant(self, pattern: str) -> tuple[str, ...]:
        """Those that it means, in their order, as `name_matches` says of each."""
        at, before, others = self._begins, self._before, self._up_to[-1]
        for part in _parts(pattern) if "[" in pattern else pattern:
            if part is None or part == "*":
                for step, inside in self._steps:
                    at |= at << step & inside
            elif isinstance(part, str):
                at = (at & (others if part == "?" else before.get(part, 0))) << 1
            else:
                at = (at & sum(map(self._before_one_of, part))) << 1
            if not at:
                return ()
        return tuple(name for end, name in self._ends.items() if at & end)

    def _before_one_of(self, chars: Range) -> int:
        """The places before a character of this range. No place is before two, so what is up to it is taken away."""
        first, last = chars
        return self._up_to[bisect_right(self._order, last)] - self._up_to[bisect_left(self._order, first)]


def _steps(inside: int) -> Iterator[tuple[int, int]]:
    """How far what a star stands for goes on, each time twice as far, and the places that are then in the same name.
    `inside`: the places where no name begins."""
    step = 1
    while inside:
        yield step, inside
        inside &= inside << step
        step *= 2


def name_matches(name: str, pattern: str) -> bool:
    """What fnmatchcase says."""
    return name_pattern(pattern).matches(name)


@lru_cache(maxsize=256)  # one is held against several names in a row
def name_pattern(pattern: str) -> NamePattern:
    """The pattern, read once."""
    length, stars, changes = 0, 0, {0: 0}
    for part in _parts(pattern):
        if part is None:
            stars |= 1 << length
            continue
        for first, last in part:
            for place in (first, last + 1):
                changes[place] = changes.get(place, 0) ^ 1 << length
        length += 1
    begins, fitting = sorted(changes), list[int]()
    for place in begins:
        fitting.append((fitting[-1] if fitting else 0) ^ changes[place])
    return NamePattern(length, stars, tuple(begins), tuple(fitting))


def _parts(pattern: str) -> Iterator[tuple[Range, ...] | None]:
    """The characters that fit at each place, in ranges that do not overlap; None for a star."""
    at, last_end = 0, pattern.rfind("]")
    while at < len(pattern):
        char, at = pattern[at], at + 1
        is_class = char == "[" and at < last_end
        end = pattern.find("]", at + (2 if pattern.startswith("!", at) else 1)) if is_class else -1
        if char == "*":
            yield None
        elif char == "?":
            yield ANY
        elif end > 0:
            yield _class(pattern[at:end])
            at = end + 1
        else:
            yield ((ord(char), ord(char)),)


@lru_cache(maxsize=1_024)
def _class(said: str) -> tuple[Range, ...]:
    """The characters of a class. Empty ranges at its beginning are nothing, as for fnmatch: `[b-a!x]` is `[!x]`."""
    at = 0
    while not said.startswith("!") and said[at + 1 : at + 2] == "-" and said[at] > said[at + 2 : at + 3] > "":
        at += 3
    negated = said.startswith("!", at)
    found = _merged(sorted(_members(said, at + negated)))
    return _others(found) if negated else found


def _members(said: str, at: int) -> Iterator[Range]:
    while at < len(said):
        is_range = said[at + 1 : at + 2] == "-" and at + 2 < len(said)
        yield ord(said[at]), ord(said[at + 2 if is_range else at])
        at += 3 if is_range else 1


def _merged(ranges: list[Range]) -> tuple[Range, ...]:
    found: list[Range] = []
    for first, last in ranges:
        if found and first <= found[-1][1] + 1 and first <= last:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        elif first <= last:
            found.append((first, last))
    return tuple(found)


def _others(ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    begins = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), LAST]
    return tuple((first, last) for first, last in zip(begins, ends, strict=True) if first <= last)
