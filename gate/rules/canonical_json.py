"""Argument bytes: parsed strictly, written one way, so that what was shown is what runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from gate.arguments.unicode_safety import quoted
from gate.rules.action import Json

MAX_BYTES = 64 * 1024
MAX_DEPTH = 32
MAX_INT = 2**63
# Characters of one name, and of the paths of all values together: whatever is shown of a value carries its whole path.
MAX_NAME, MAX_PATHS = 1_000, 512 * 1024
SURROGATE = re.compile("[\ud800-\udfff]")


class BadArguments(Exception):
    """Arguments that cannot be shown and run faithfully. Its text is a sentence for the person."""


def parse(text: str | bytes) -> dict[str, Json]:
    """JSON text to an argument object.

    Raises BadArguments for anything but one JSON object within the limits: no duplicate keys, NaN,
    infinities, lone surrogates, integers outside 64 bits; at most 64 KiB and 32 levels, and names whose paths are not
    too long together.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise BadArguments("The arguments are not valid UTF-8.") from None
    _refuse_size(len(text))
    _refuse_depth(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_refuse_duplicate_keys,
            parse_constant=_refuse_constant,
            parse_int=_int,
            parse_float=_float,
        )
    except json.JSONDecodeError as error:
        raise BadArguments(f"That is not valid JSON: {error.msg} at character {error.pos}.") from None
    return _checked(value)


def stored_args(data: str | bytes) -> dict[str, Json]:
    """The argument object of bytes that `canonical` made and the ledger kept. It is not held against the limits: those
    of the version that wrote it may have been wider."""
    found: dict[str, Json] = json.loads(data)
    return found


def canonical(args: Json) -> bytes:
    """The one spelling of an argument object: sorted keys, ASCII, no spaces.

    Not RFC 8785: that refuses integers above 2^53 and writes 1.0 as 1, which a tool may take for something else.
    Raises BadArguments, as `parse` does.
    """
    _checked(args)
    try:
        data = spelled(args)
    except (TypeError, ValueError):
        raise BadArguments("The arguments hold something that JSON cannot say.") from None
    _refuse_size(len(data))
    return data.encode("ascii")


def spelled(value: Json) -> str:
    """The one spelling of what `stored_args` gave. Raises TypeError or ValueError."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every leaf with its path: `to[0].name`. Empty objects and lists are leaves."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from leaves(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, value


def _checked(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise BadArguments('The arguments must be one JSON object, such as {"path": "notes.md"}.')
    _walk(value)
    return value


def _walk(root: Json) -> None:
    """Check every value. A stack of our own: hostile nesting must not reach Python's recursion limit."""
    stack: list[tuple[Json, int, int]] = [(root, 1, 0)]  # with its depth, and the length of its path
    paths = 0
    while stack:
        value, depth, path = stack.pop()
        if depth > MAX_DEPTH:
            raise BadArguments(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
        if isinstance(value, dict) and value:
            for name in value:
                _refuse_name(name)
            stack += [(item, depth + 1, path + len(name) + 1) for name, item in value.items()]
        elif isinstance(value, list) and value:
            inside = path + len(str(len(value))) + 2
            stack += [(item, depth + 1, inside) for item in value]
        else:
            paths += path
            if not isinstance(value, dict | list):
                _leaf(value)
    if paths > MAX_PATHS:
        raise BadArguments(
            f"The names that lead to the values in the arguments are {paths:,} characters long together; at most "
            f"{MAX_PATHS:,} can be shown."
        )


def _refuse_name(name: object) -> None:
    if not isinstance(name, str):
        raise BadArguments("Every name in the arguments must be text.")
    if len(name) > MAX_NAME:
        raise BadArguments(
            f"A name in the arguments is {len(name):,} characters long; at most {MAX_NAME:,} can be shown."
        )
    _leaf(name)


def _leaf(value: Json) -> None:
    if isinstance(value, str):
        if SURROGATE.search(value):
            raise BadArguments(
                "The arguments hold half of a character (a lone surrogate). Please retype the text."
            )
    elif isinstance(value, bool) or value is None:
        return
    elif isinstance(value, int):
        if not -MAX_INT <= value < MAX_INT:
            raise BadArguments("The arguments hold a whole number that does not fit 64 bits.")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise BadArguments("The arguments hold a number that is not finite.")
    else:
        raise BadArguments("The arguments hold something that JSON cannot say.")


def _refuse_size(length: int) -> None:
    if length > MAX_BYTES:
        raise BadArguments(
            f"The arguments are {length:,} characters long; at most {MAX_BYTES:,} can be shown whole."
        )


def _refuse_depth(text: str) -> None:
    """Brackets outside of strings, counted before the parser recurses into them."""
    depth, inside, escaped = 0, False, False
    for char in text:
        if inside:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                inside = False
        elif char == '"':
            inside = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise BadArguments(f"The arguments are nested more than {MAX_DEPTH} levels deep.")
        elif char in "]}":
            depth -= 1


def _refuse_duplicate_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        twin = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadArguments(f"The arguments name “{quoted(twin)}” twice.")
    return result


def _refuse_constant(name: str) -> Json:
    raise BadArguments(f"The arguments hold {name}, which is not a JSON number.")


def _int(digits: str) -> int:
    if len(digits) > 20:  # Python refuses to parse beyond 4,300 digits, with a traceback
        raise BadArguments("The arguments hold a whole number that does not fit 64 bits.")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise BadArguments("The arguments hold a number that is not finite.")
    return value
