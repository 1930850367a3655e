"""Values to text and back, JSON by their type hints: what was stored is what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gate.rules.action import Json
from gate.rules.steps import HIDDEN, PRIVATE, Privacy
from gate.rules.task import Step, clipped

Convert = Callable[[Any], Any]
PLAIN = (Any, str, int, float, bool, NoneType)
ARGS, PROPOSED = (
    '"args":',
    '"proposed":',
)  # before the arguments of a proposal, now and before they were edited


# What neither a column nor Redis can hold: NUL and lone surrogates. Written as ESC and four digits.
UNSTORABLE = re.compile("[\x00\x1b\ud800-\udfff]")
ESCAPED = re.compile("\x1b(0000|001b|d[89a-f][0-9a-f]{2})")
STORED = {code: f"\x1b{code:04x}" for code in (0x00, 0x1B, *range(0xD800, 0xE000))}
RESTORED = {stored[1:]: chr(code) for code, stored in STORED.items()}


def storable(text: str) -> str:
    """Any text as text that every store takes; the same text unless it is strange."""
    return text.translate(STORED) if UNSTORABLE.search(text) else text


def restored(text: str) -> str:
    """The text that `storable` was given."""
    if "\x1b" not in text:
        return text
    parts = ESCAPED.split(text)  # and not a function for each: that takes three times as long
    parts[1::2] = map(RESTORED.__getitem__, parts[1::2])
    return "".join(parts)


def dumps(hint: Any, value: Any) -> str:
    """`value`, which must be of the type `hint`, as JSON."""
    return storable(json.dumps(_codec(hint)[0](value), separators=(",", ":"), ensure_ascii=False))


def loads(hint: Any, text: str) -> Any:
    """The value of type `hint` that `dumps` wrote. Fields added since then get their defaults."""
    return _codec(hint)[1](json.loads(restored(text)))


def quoted(text: str) -> str:
    """A text as it stands in what `dumps` wrote."""
    return dumps(str, text)


def args_in(proposal: str) -> tuple[str, str]:
    """The arguments in the text of a proposal, and those of before it was edited; to decode all of it takes long where
    its preview is. In quoted text a quotation mark stands behind a backslash, so a field's name is found nowhere else
    but in what was captured, between the two."""
    read = json.JSONDecoder(strict=False).raw_decode
    args, _ = read(proposal, proposal.index(ARGS) + len(ARGS))
    at = proposal.rfind(PROPOSED)
    proposed = read(proposal, at + len(PROPOSED))[0] if at > 0 else ""
    return bytes(args, "latin-1").decode(), proposed


def _step(data: dict[str, Json]) -> dict[str, Json]:
    """A step as it was written before a field told whether it is private, or as version 1 wrote it."""
    if "privacy" not in data:
        hidden = HIDDEN in (data.get("preview") or {}).get("notes", ()) or data.get("text") == PRIVATE
        data = data | {"privacy": Privacy.PRIVATE if hidden else Privacy.PUBLIC}
    return _reviewed_step(data) if "shown" in data else data


def _reviewed_step(data: dict[str, Json]) -> dict[str, Json]:
    """A step of version 1, which kept what a reviewer made of its result beside the true one."""
    by = data["rejected_by"] or data["revised_by"] or data["passed"]
    edited = data["revised"] is not None
    look = {"pause": data["shown"], "seconds": data["held_for"], "by": by, "edited": edited}
    result = {"result": data["revised"], "text": clipped(json.dumps(data["revised"], ensure_ascii=False))}
    return data | {"look": look if data["shown"] or by else None} | (result if edited else {})


# Parts whose fields stand beside the other fields, as they did before they were parts.
SPREAD: Mapping[type, frozenset[str]] = {Step: frozenset({"call", "preflight", "run", "output"})}
EARLIER: Mapping[type, Convert] = {Step: _step}  # what makes stored fields of before into those of today


@cache
def _codec(hint: Any) -> tuple[Convert, Convert]:
    """How to write a value of this type as JSON, and how to read it."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return _same, _same
    if hint is datetime:
        return _moment, datetime.fromisoformat
    if hint is bytes:
        return partial(bytes.decode, encoding="latin-1"), partial(str.encode, encoding="latin-1")
    if origin in (Union, UnionType):
        return _optional(inner) if NoneType in inner else _tagged(inner)
    if origin in (tuple, frozenset):
        return _many(origin, inner[0])
    if origin is Mapping:
        return _mapping(inner[1])
    if issubclass(hint, Enum):
        return _value, hint
    if is_dataclass(hint):
        return _dataclass(hint)
    raise TypeError(f"there is no way to store {hint}")


def _same(value: Json) -> Json:
    return value


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).isoformat()


def _value(value: Enum) -> Json:
    return value.value


def _optional(inner: tuple[Any, ...]) -> tuple[Convert, Convert]:
    (hint,) = (one for one in inner if one is not NoneType)
    write, read = _codec(hint)
    return (lambda v: None if v is None else write(v)), (lambda d: None if d is None else read(d))


def _tagged(inner: tuple[Any, ...]) -> tuple[Convert, Convert]:
    """One of several dataclasses, told apart by name: {"Say": {"text": "…"}}."""
    kinds = {kind.__name__: _codec(kind) for kind in inner}

    def write(value: Any) -> Json:
        name = type(value).__name__
        return {name: kinds[name][0](value)}

    def read(data: Any) -> Any:
        ((name, body),) = data.items()
        return kinds[name][1](body)

    return write, read


def _many(kind: type, hint: Any) -> tuple[Convert, Convert]:
    write, read = _codec(hint)
    order: Convert = sorted if kind is frozenset else _same
    return (lambda values: [write(v) for v in order(values)]), (lambda data: kind(map(read, data)))


def _mapping(hint: Any) -> tuple[Convert, Convert]:
    write, read = _codec(hint)
    return (
        (lambda value: {key: write(item) for key, item in value.items()}),
        (lambda data: {key: read(item) for key, item in data.items()}),
    )


def _dataclass(kind: Any) -> tuple[Convert, Convert]:
    hints = get_type_hints(kind)
    parts = {field.name: _codec(hints[field.name]) for field in fields(kind)}

    earlier, spread = EARLIER.get(kind, _same), SPREAD.get(kind, frozenset())

    def write(value: Any) -> Json:
        written = {name: part[0](getattr(value, name)) for name, part in parts.items()}
        inner = [written.pop(name) for name in spread]
        return written | {name: one for part in inner for name, one in part.items()}

    def read(data: Any) -> Any:
        found = earlier(data)
        found = found | dict.fromkeys(spread, found) if spread else found
        return kind(**{name: part[1](found[name]) for name, part in parts.items() if name in found})

    return write, read
