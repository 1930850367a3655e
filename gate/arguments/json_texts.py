"""JSON inside of texts: what a text says that is JSON, several values of it, or a string that holds JSON again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gate.arguments.secret_files import SECRET_NAMES
from gate.arguments.text_cache import Remembered
from gate.rules.action import Json

# Characters of a text that is looked through as JSON; JSON in JSON in JSON
LONGEST_JSON, DEEPEST_JSON = 1 << 20, 3
# JSON lines, records of RFC 7464, byte order marks, statements, and values that name nothing
BETWEEN = re.compile(r"(?:[\s\0\x1e\ufeff,;]|(?:null|true|false|-?\d[\d.eE+-]{0,30}+)(?=[\s,;{\[\"]))*+")
BEGINS = ("{", "[", '"')


def whole_number(digits: str) -> Json:
    """What others read: Python reads no number of thousands of digits, which would hide all that stands beside it."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


# Every pair is kept: a tool may take the first of two that have the same name.
DECODER = json.JSONDecoder(
    object_pairs_hook=lambda pairs: [[*pair] for pair in pairs], parse_int=whole_number, strict=False
)


def parsed(value: Json, depth: int = DEEPEST_JSON) -> Json:
    """The value with every text in it that is JSON, or begins with it, in the form of what it says."""
    if isinstance(value, Mapping):
        return {key: parsed(item, depth) for key, item in value.items()}
    if isinstance(value, list):
        return [parsed(item, depth) for item in value]
    if not isinstance(value, str) or not depth or len(value) > LONGEST_JSON:
        return value
    if "{" not in value and "[" not in value and '"' not in value:  # so nothing in it begins as JSON does
        return value
    return _whole(value) if depth == DEEPEST_JSON else _read(value, depth)


@Remembered  # the arguments of a call are asked about several times, and many of their texts may be the same
def _whole(text: str) -> Json:
    return _read(text, DEEPEST_JSON)


def _read(text: str, depth: int) -> Json:
    try:
        found = _values(text)
        return text if found is None else parsed(found, depth - 1)
    except RecursionError:  # deeper than can be gone through, so it may name anything
        return [text, *SECRET_NAMES[:1]]


def is_too_deep(value: Json) -> bool:
    """Whether a text in it is JSON with more levels, or in more layers of texts, than `parsed` goes through: some
    servers go through all of them, and what stands there is not known."""
    if isinstance(value, Mapping):
        return any(map(is_too_deep, value.values()))
    if isinstance(value, list):
        return any(map(is_too_deep, value))
    return isinstance(value, str) and len(value) <= LONGEST_JSON and _goes_deeper(value)


@Remembered
def _goes_deeper(text: str) -> bool:
    try:
        return _has_more_layers(text, DEEPEST_JSON)
    except RecursionError:
        return True


def _has_more_layers(value: Json, depth: int) -> bool:
    """`depth`: of how many layers of texts is known what they say."""
    if isinstance(value, list):
        return any(_has_more_layers(item, depth) for item in value)
    if not isinstance(value, str) or not ("{" in value or "[" in value or ('"' in value and "\\" in value)):
        return False
    found, rest = _first_values(value)
    found += [one for line in rest.splitlines() for one in _first_values(line)[0]]
    inside = [one for one in found if not isinstance(one, str) or one.lstrip().startswith(BEGINS)]
    return bool(inside) and (not depth or _has_more_layers(inside, depth - 1))


def pairs_of(value: Json) -> list[tuple[str, Json]] | None:
    """The fields of an object; one in a text has come as a list of them."""
    if isinstance(value, Mapping):
        return list(value.items())
    if not isinstance(value, list) or not value:
        return None
    pairs = [(one[0], one[1]) for one in value if isinstance(one, list) and len(one) == 2]
    names = [(name, item) for name, item in pairs if isinstance(name, str)]
    return names if len(names) == len(value) else None


def is_json(text: str, too_deep: bool = False) -> bool:
    """Whether a text is JSON as a whole, one value or several. `too_deep`: what is said where nobody can know that."""
    if not text.startswith(BEGINS, _end_of_gap(text, 0)) or len(text) > LONGEST_JSON:
        return False
    try:
        found, rest = _first_values(text)
    except RecursionError:
        return too_deep
    return bool(found) and not rest


def _values(text: str) -> Json:
    """The value that a text is, or those of several that hold more than words, with what is no JSON behind them; None
    where there is none. A line that is no JSON does not hide the lines behind it."""
    found, rest = _first_values(text)
    if len(found) == 1 and not rest:
        return found[0]
    lines = rest.splitlines() if "\n" in rest or "\r" in rest else []
    found += [one for line in lines for one in _first_values(line)[0]]
    # Words in quotes stand in sentences and tables, too.
    kept = [one for one in found if not isinstance(one, str) or one.lstrip().startswith(BEGINS)]
    return [*kept, rest] if kept and rest else kept or None


def _first_values(text: str) -> tuple[list[Json], str]:
    """The values that a text begins with, and the rest."""
    found: list[Json] = []
    at = _end_of_gap(text, 0)
    while text.startswith(BEGINS, at):
        try:
            one, at = DECODER.raw_decode(text, at)
        except ValueError:
            break
        found.append(one)
        at = _end_of_gap(text, at)
    return found, text[at:]


def _end_of_gap(text: str, at: int) -> int:
    gap = BETWEEN.match(text, at)
    return gap.end() if gap else at
