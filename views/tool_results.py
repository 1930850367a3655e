"""A tool's structured answer as people read it: things as a table, a text as a text.

Slack's table block: https://docs.slack.dev/reference/block-kit/blocks/table-block
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice

from gate.rules.action import Json
from views.block_kit import Block, clip, inline, line, rich, words
from views.block_kit import table as block_table
from views.wording import size

TEXTS = ("text", "content")
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*")
MOST_COLUMNS = 8
CELL = 60  # characters of a value
MOST_ROWS = 60
LONG = 5_000  # characters of an answer that is not looked through for what is new
MOST_JSON = 200_000  # characters of a text that is looked into
DIGEST = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)  # which says nothing to people
TOKEN = re.compile(r"[^\s,;:()“”\"'`]+")
FILLERS = frozenset(
    "a been created deleted done file from has have in into is it moved of ok success successful successfully the to "
    "true false yes no updated was were written wrote".split()
)
SUMMARY = 300
SLACK_ROWS = 99  # beside the head; Slack takes 100
SLACK_NAME, SLACK_CELL = 100, 1_000  # characters of the name of a column, and of a cell
SLACK_CELLS = 9_000  # of all cells; Slack takes 10,000
LABEL = re.compile(r"\w{1,32}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Table:
    """An answer that is a list of things: the names of the columns, a row for each thing, and what stands beside."""

    head: list[str]
    rows: list[list[str]]
    summary: str = ""
    remarks: tuple[str, ...] = ()


def in_words(structured: Json, text: str) -> str:
    """An answer for people: a summary, a table, a text or its plain values, and never JSON. "" where it is empty."""
    told = readable(structured)
    if told is not None:
        return told
    if isinstance(structured, Mapping) and structured and not _is_wrapped(structured):
        return _remarked(structured)
    within = _parsed(text)
    if within is None:
        return text
    return readable(within) or _remarked(within)


def readable(structured: Json) -> str | None:
    """The answer as text, or None where its own text says it best."""
    if not isinstance(structured, Mapping):
        return None
    found = table(structured)
    if found is not None:
        return "\n".join([*filter(None, [found.summary]), *_aligned(found), *found.remarks])
    own = structured.get("summary")
    summary = [own] if isinstance(own, str) and own else []
    text = next((structured[key] for key in TEXTS if isinstance(structured.get(key), str)), None)
    if text is not None and not any(isinstance(v, list | Mapping) and v for v in structured.values()):
        return "\n".join([text, *_remarks(structured)]) if text else None
    return "\n".join([*summary, *_remarks(structured)]) if summary else None


def table(structured: Json, text: str = "") -> Table | None:
    """The one list of things in an answer, or in the JSON that its text spells; None where it has none, or several."""
    told = structured if isinstance(structured, Mapping) and not _is_wrapped(structured) else _parsed(text)
    if not isinstance(told, Mapping):
        return None
    lists = [value for value in (*told.values(), _grid(told)) if _is_table(value)]
    if len(lists) != 1:
        return None
    own = told.get("summary")
    summary = own if isinstance(own, str) else ""
    keys = list(dict.fromkeys(key for row in lists[0] for key in row))
    cells = [[_cell(key, row.get(key)) for key in keys] for row in lists[0]]
    every = range(len(keys))
    used = [place for place in every if any(row[place] for row in cells)] or every
    head, *rows = ([row[place] for place in used] for row in [keys, *cells])
    return Table(head, rows, summary, tuple(_remarks(told)))


def _grid(told: Mapping[str, Json]) -> list[Json]:
    """`columns` and `rows` of values beside each other, as databases answer, as a list of things."""
    columns, rows = told.get("columns"), told.get("rows")
    if not isinstance(columns, list) or not isinstance(rows, list):
        return []
    names = [str(name) for name in columns]
    fits = all(isinstance(row, list) and len(row) == len(names) for row in rows)
    return (
        [dict(zip(names, row, strict=True)) for row in rows] if fits and len({*names}) == len(names) else []
    )


def outlined(value: Json) -> str:
    """The plain values, each on a line of its own under its path, without what only programs read. What comes after
    MOST_ROWS of them is counted alone."""
    leaves = _leaves(value)
    rows = ((path, _cell(path.rsplit(".", 1)[-1], leaf)) for path, leaf in leaves)
    kept = ((path, clip(cell, CELL)) for path, cell in rows if cell and not DIGEST.search(cell))
    shown = list(islice(kept, MOST_ROWS))
    width = max((len(path) for path, _ in shown), default=0)
    lines = [f"{inline(path):<{width}}  {cell}".strip() for path, cell in shown]
    left = sum(1 for _ in leaves)
    return "\n".join([*lines, *([f"… {left:,} more values"] if left else [])])


def _remarked(value: Json) -> str:
    """The plain values of an answer, and its remarks whole."""
    if not isinstance(value, Mapping):
        return outlined(value)
    remarks = _remarks(value)
    rest = {key: inner for key, inner in value.items() if inner not in remarks and key != "truncated"}
    return "\n".join([*filter(None, [outlined(rest)]), *remarks])


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value, 1):
            yield from _leaves(inner, f"{path} {place}" if isinstance(inner, list | Mapping) else path)
    else:
        yield path, value


def news(told: str, known: str) -> str:
    """The lines of an answer that say more than that what is `known` was done. A long answer says more."""
    if len(told) > LONG:
        return told
    words = {*_tokens(known), *FILLERS}
    return "\n".join(line for line in told.splitlines() if set(_tokens(_value(line))) - words).strip("\n")


def _value(line: str) -> str:
    """What a line says, without its label where it is a row."""
    label, _, value = line.partition("  ")
    return value if LABEL.fullmatch(label) and value.strip() else line


def _tokens(text: str) -> list[str]:
    return [found.rstrip(".") for found in TOKEN.findall(text.lower())]


def _is_wrapped(structured: Mapping[str, Json]) -> bool:
    """How some servers wrap a plain text: the text itself stands beside it."""
    return structured.keys() == {"result"} and isinstance(structured["result"], str)


def _parsed(text: str) -> Json:
    """The object or list that a text spells, or None."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > MOST_JSON:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping | list) and found else None


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


def _aligned(found: Table) -> list[str]:
    """Aligned columns; the first one is what a row is about."""
    rows = [found.head, *found.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


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


def in_table(found: Table) -> list[Block]:
    """The list as Slack's table block, with what the tool says of it above and below.

    How many rows there was no room for is said.
    """
    head = [inline(clip(name.replace("_", " "), SLACK_NAME)).capitalize() for name in found.head]
    rows = [[clip(cell, SLACK_CELL) for cell in row] for row in found.rows[:SLACK_ROWS]]
    weights = accumulate(
        (sum(max(len(cell), 1) for cell in row) for row in rows), initial=sum(map(len, head))
    )
    shown = [row for row, weight in zip(rows, list(weights)[1:], strict=True) if weight <= SLACK_CELLS]
    left = len(found.rows) - len(shown)
    notes = [*([f"… {left:,} more rows"] if left else []), *found.remarks]
    return [
        *([rich(line(words(found.summary, most=SUMMARY)))] if found.summary else []),
        block_table([head, *shown]),
        *([rich(line(words("\n".join(notes), "italic")))] if notes else []),
    ]
