"""A tool's structured answer as people read it: things as a table, a text as a text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from gate.action import Json
from views.kit import clip, inline
from views.words import size

TEXTS = ("text", "content")
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*")
MOST_COLUMNS = 8
CELL = 60  # characters of a value
LABEL = re.compile(r"\w{1,32}", re.ASCII)


def readable(structured: Json) -> str | None:
    """The answer as text, or None where its own text says it best."""
    if not isinstance(structured, Mapping):
        return None
    lists = [value for value in structured.values() if _is_table(value)]
    if len(lists) == 1:
        return "\n".join([*_table(lists[0]), *_remarks(structured)])
    text = next((structured[key] for key in TEXTS if isinstance(structured.get(key), str)), None)
    if text is not None and not any(isinstance(v, list | Mapping) and v for v in structured.values()):
        return "\n".join([text, *_remarks(structured)]) if text else None
    return None


def brief(structured: Json) -> str | None:
    """The plain values of an answer, one to a line, for a card whose *Show everything* has the whole.

    None where the answer's own text says it best.
    """
    table = readable(structured)
    if table is not None or not isinstance(structured, Mapping):
        return table
    if structured.keys() == {"result"} and isinstance(structured["result"], str):
        return None  # how some servers wrap a plain text: the text itself stands beside it
    rows = {key: _cell(key, value) for key, value in structured.items() if _is_cell(value)}
    kept = {key: clip(value, CELL) for key, value in rows.items() if value and LABEL.fullmatch(key)}
    width = max(map(len, kept), default=0)
    return "\n".join(f"{key:<{width}}  {value}" for key, value in kept.items()) or None


def moment_in(text: str) -> str:
    """A timestamp down to the minute; other text as it is."""
    found = STAMP.fullmatch(text)
    return f"{found[1]} {found[2]}" if found else text


def _is_table(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, Mapping) and row for row in value)
        and all(_is_cell(cell) for row in value for cell in row.values())
        and len({key for row in value for key in row}) <= MOST_COLUMNS
    )


def _is_cell(value: Json) -> bool:
    return value is None or isinstance(value, str | int | float) or value in ([], {})


def _table(rows: Sequence[Mapping[str, Json]]) -> list[str]:
    """Aligned columns in the order of the rows' own keys; the first one is what the row is about."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [keys, *([_cell(key, row.get(key)) for key in keys] for row in rows)]
    used = [i for i in range(len(keys)) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(row[i]) for row in cells) for i in used}
    return ["  ".join(row[i].ljust(widths[i]) for i in used).rstrip() for row in cells]


def _cell(key: str, value: Json) -> str:
    if value is None or value in ([], {}):
        return ""
    if key == "size" and isinstance(value, int) and not isinstance(value, bool):
        return size(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return inline(moment_in(str(value)))


def _remarks(structured: Mapping[str, Json]) -> list[str]:
    """What the tool has to say besides: a note, and that there is more."""
    note = structured.get("note")
    more = ["(There is more than this.)"] if structured.get("truncated") is True else []
    return [*more, *([str(note)] if note and isinstance(note, str) else [])]
