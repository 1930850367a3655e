"""A tool's structured answer as people read it: things as a table, a text as a text.

Slack's table block: https://docs.slack.dev/reference/block-kit/blocks/table-block
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from gate.rules.action import Json
from gate.rules.canonical_json import MAX_INT
from views.block_kit import SAID, Block, clip, inline, line, rich, words
from views.block_kit import table as block_table
from views.wording import size

TEXTS = ("text", "content")
STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*")
READ = 2  # the most that a cell is worth
MOST_COLUMNS = 10  # that say something in any row
MOST_LISTED = 50  # values in one cell
CELL = 60  # characters of a value
LONGEST_CELL = 4_000  # characters of one that are looked at, also in a table
WIDEST = 200  # characters that a column is aligned to
MOST_ROWS = 60  # of an outline
MOST_LOOKED = 2_000  # values of a result that are looked at for its rows
DEEPEST = 20  # levels of an outline
KEY = 100  # characters of the name of a value in it
LONG = 5_000  # characters of an answer that is not looked through for what is new
MOST_JSON = 200_000  # characters of a text that is looked into
DIGEST = re.compile(r"[0-9a-f]{32}", re.IGNORECASE)  # which says nothing to people
TOKEN = re.compile(r"[^\s,;:()“”\"'`]+")
FILLERS = frozenset(
    "a been created deleted done file from has have in into is it moved of ok success successful successfully the to "
    "true false yes no updated was were written wrote".split()
)
SUMMARY = 300
IN_WORDS = 5_000  # rows of a table that is told in words: tiny ones take long to set in columns
SLACK_ROWS = 99  # beside the head; Slack takes 100
SLACK_NAME, SLACK_CELL = 100, 1_000  # characters of the name of a column, and of a cell
SLACK_CELLS = 9_000  # of all cells; Slack takes 10,000
MORE_ROWS = re.compile(r"^… [\d,]{1,20} more rows?$", re.MULTILINE)  # how it is said that rows are left out
LABEL = re.compile(r"\w{1,32}", re.ASCII)
NAME = re.compile(r"^\w{1,32}(?=  )", re.ASCII | re.MULTILINE)  # of a value, before it
# What of a result says nothing to people: how programs name things, and when it was written down.
FOR_PROGRAMS = re.compile(
    r"(?:\w{0,40}_)?(?:ids?|guid|uid|uuid|etag|hash|digest|sha1|sha256)|(?:created|updated|completed|modified)_at"
)
HIDDEN_PATH = re.compile(r"(?:^|/)\.[^./]")
MADE_UP_NAME = re.compile(r"[\d-]{0,11}[0-9a-f]{10,40}\.\w{1,5}")  # of a file that is called after an id
MONTHS = "January February March April May June July August September October November December".split()
Say = Callable[[str, Json], str]


@dataclass(frozen=True, slots=True)
class Table:
    """An answer that is a list of things: the names of the columns, a row for each of the first things, how many more
    there are, and what stands beside."""

    head: list[str]
    rows: list[list[str]]
    more: int = 0
    summary: str = ""
    remarks: tuple[str, ...] = ()


def in_words(structured: Json, text: str, most: int = SAID) -> str:
    """An answer for people: a summary, a table, a text or its plain values, and never JSON. "" where it is empty. Of a
    table the rows that fit into `most` characters, and how many more there are: few of 20,000 are ever shown."""
    told = readable(structured, most)
    if told is not None:
        return told
    if isinstance(structured, Mapping) and structured and not _is_wrapped(structured):
        return _remarked(structured)
    within = _parsed(text)
    if within is None:
        return text
    return readable(within, most) or _remarked(within)


def readable(structured: Json, most: int = SAID) -> str | None:
    """The answer as text, or None where its own text says it best."""
    if not isinstance(structured, Mapping):
        return None
    found = table(structured, rows=min(most, IN_WORDS), room=most)
    if found is not None:
        beside = [*filter(None, [found.summary]), *found.remarks]
        lines, left = _aligned(found, most - sum(len(one) + 1 for one in beside))
        more = [_more_rows(left)] if left else []
        return "\n".join([*filter(None, [found.summary]), *lines, *more, *found.remarks])
    own = structured.get("summary")
    summary = [own] if isinstance(own, str) and own else []
    text = next((structured[key] for key in TEXTS if isinstance(structured.get(key), str)), None)
    if text is not None and not any(isinstance(v, list | Mapping) and v for v in structured.values()):
        return "\n".join([text, *_remarks(structured)]) if text else None
    return "\n".join([*summary, *_remarks(structured)]) if summary else None


def table(structured: Json, text: str = "", rows: int = SLACK_ROWS, room: int = SLACK_CELLS) -> Table | None:
    """The one list of things in an answer, or in the JSON that its text spells; None where it has none, or several.

    At most `rows` of them become rows, until their cells have `room` characters, and the others are counted."""
    told = structured if isinstance(structured, Mapping) and not _is_wrapped(structured) else _parsed(text)
    if not isinstance(told, Mapping):
        return None
    lists = [value for value in (*told.values(), _grid(told)) if _is_table(value)]
    if len(lists) != 1:
        return None
    own = told.get("summary")
    summary = own if isinstance(own, str) else ""
    (things,) = lists
    used = _columns(things)
    shown = _first_rows(things, used, rows, room)
    return Table(used, shown, len(things) - len(shown), summary, tuple(_remarks(told)))


def _columns(things: Sequence[Mapping[str, Json]]) -> list[str]:
    """The keys, as they first come, with a value that people read in any of the things; where there are none, those
    that say something, and else the first."""
    worth = dict[str, int]()
    for thing in things:
        for key, cell in thing.items():
            if (known := worth.get(key, 0)) < READ:
                worth[key] = max(known, _worth(cell))
    best = max(worth.values(), default=0)
    return [key for key in worth if worth[key] == best][: None if best else MOST_COLUMNS]


def _worth(cell: Json) -> int:
    """How much a cell is worth to people: nothing, that it says something (a digest), or READ."""
    return 0 if not _is_said(cell) else 1 if isinstance(cell, str) and DIGEST.match(cell) else READ


def _first_rows(
    things: Sequence[Mapping[str, Json]], keys: Sequence[str], most: int, room: int
) -> list[list[str]]:
    shown = list[list[str]]()
    for thing in things[:most]:
        shown.append([_cell(key, thing.get(key)) for key in keys])
        room -= sum(max(len(cell), 1) for cell in shown[-1])
        if room < 0:
            break
    return shown


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


def gave(structured: Json, text: str, known: str, most: int = SAID) -> str:
    """What a change gave, for its card: what says more than that what is `known` was done, with the names of values in
    words, and without those that only programs use. *Show everything* has all of it."""
    within = structured if isinstance(structured, Mapping) and not _is_wrapped(structured) else _parsed(text)
    if not isinstance(within, Mapping) or not within or readable(within, most) is not None:
        return news(in_words(structured, text, most), known)
    return NAME.sub(lambda found: found[0].replace("_", " "), news(_remarked(within, _for_people), known))


def _for_people(key: str, value: Json) -> str:
    """A value in everyday words; "" for one that only programs use, such as an id and a path in a hidden folder."""
    if FOR_PROGRAMS.fullmatch(key) or (key == "count" and value == 1) or value == "absent":
        return ""
    if isinstance(value, str) and (HIDDEN_PATH.search(value) or MADE_UP_NAME.fullmatch(value)):
        return ""
    until = STAMP.fullmatch(value) if isinstance(value, str) and key.endswith("until") else None
    return (
        f"{int(until[1][8:])} {MONTHS[int(until[1][5:7]) - 1]} {until[1][:4]}" if until else _said(key, value)
    )


def outlined(value: Json, say: Say | None = None) -> str:
    """The plain values, each on a line of its own under its path, without what only programs read. What comes after
    MOST_ROWS of them, or after MOST_LOOKED with those that are empty, is counted alone. `say`: how a value is told by
    its name; "" where it is not."""
    say = say or _said
    shown, passed = list[tuple[str, str]](), 0
    if isinstance(value, Mapping):
        value = dict(value)  # as all within it are, which are quicker to tell apart
    for path, leaf, count in islice(_leaves(value), MOST_LOOKED):
        said = say(path.rsplit(".", 1)[-1], leaf)
        passed += count
        if said and not DIGEST.search(said[:LONGEST_CELL]):
            shown.append((path, inline(clip(said, CELL))))
        if len(shown) == MOST_ROWS:
            break
    width = min(max((len(path) for path, _ in shown), default=0), WIDEST)
    lines = [f"{inline(path):<{width}}  {cell}".strip() for path, cell in shown]
    left = _count(value) - passed
    return "\n".join([*lines, *([f"… {left:,} more values"] if left else [])])


def _remarked(value: Json, say: Say | None = None) -> str:
    """The plain values of an answer, and its remarks whole."""
    if not isinstance(value, Mapping):
        return outlined(value, say)
    remarks = _remarks(value)
    rest = {key: inner for key, inner in value.items() if inner not in remarks and key != "truncated"}
    return "\n".join([*filter(None, [outlined(rest, say)]), *remarks])


def _leaves(value: Json) -> Iterator[tuple[str, Json, int]]:
    """The path of each plain value, the value, and 1; of what is nested too deep the number of its values, also in
    words."""
    levels = [iter([("", value)])]
    while levels:
        path, inner = next(levels[-1], (None, None))
        if path is None:
            levels.pop()
        elif not _has_members(inner):
            yield path, inner, 1
        elif len(levels) <= DEEPEST:
            levels.append(_members(path, inner))
        else:
            count = _count(inner)
            yield path, f"{count:,} value{'s' * (count > 1)}, nested too deep to show", count


def _members(path: str, value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            name = clip(str(key), KEY)
            yield f"{path}.{name}" if path else name, inner
    elif isinstance(value, list):
        for place, inner in enumerate(value, 1):
            yield f"{path} {place}" if isinstance(inner, (list, dict)) else path, inner


def _count(value: Json) -> int:
    """How many plain values there are at any depth."""
    left: list[list[Json] | dict[str, Json]] = [[value]]
    count = 0
    while left:
        one = left.pop()
        members = one.values() if isinstance(one, dict) else one
        nested = [inner for inner in members if isinstance(inner, (list, dict)) and inner]
        count += len(members) - len(nested)
        left += nested
    return count


def _has_members(value: Json) -> bool:
    return isinstance(value, (list, dict)) and bool(value)


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
        and all(isinstance(row, dict) and row for row in value)
        and all(_is_cell(cell) for row in value for cell in row.values())
        and len({key for row in value for key, cell in row.items() if _is_said(cell)}) <= MOST_COLUMNS
    )


def _is_cell(value: Json) -> bool:
    return value == {} or _is_plain(value) or (isinstance(value, list) and _is_short(value))


def _is_plain(value: Json) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _is_short(values: Sequence[Json]) -> bool:
    """Whether a list can stand in one cell."""
    return len(values) <= MOST_LISTED and all(map(_is_plain, values))


def _aligned(found: Table, most: int) -> tuple[list[str], int]:
    """Aligned columns within `most` characters, and how many rows are left out; the first column is what a row is
    about."""
    rows = [found.head, *found.rows]
    widths = [min(max(map(len, column)), WIDEST) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    lengths = list(accumulate(len(one) + 1 for one in lines))
    if not found.more and lengths[-1] <= most:
        return lines, 0
    fitting = max(2, bisect_right(lengths, most - len(_more_rows(found.more + len(rows)))))
    return lines[:fitting], found.more + len(lines[fitting:])


def _more_rows(count: int) -> str:
    return f"… {count:,} more row{'s' * (count > 1)}"


def _is_said(value: Json) -> bool:
    """Whether `_said` has words for it."""
    return value is not None and value not in ("", [], {})


def _cell(key: str, value: Json) -> str:
    return inline(clip(_said(key, value), LONGEST_CELL))


def _said(key: str, value: Json) -> str:
    """A plain value in words, as long as it is."""
    if value is None or value in ([], {}) or (value == "absent" and key.endswith("sha256")):
        return ""
    if key == "size" and isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_INT:
        return size(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_said(key, one) for one in value)
    return moment_in(str(value))


def _remarks(structured: Mapping[str, Json]) -> list[str]:
    """What the tool has to say besides: a note, and that there is more."""
    note = structured.get("note")
    more = ["(There is more than this.)"] if structured.get("truncated") is True else []
    return [*more, *([clip(note, SAID)] if note and isinstance(note, str) else [])]


def _for_slack(found: Table) -> tuple[list[str], list[list[str]]]:
    head = [inline(clip(name.replace("_", " "), SLACK_NAME)).capitalize() for name in found.head]
    return head, [[clip(cell, SLACK_CELL) for cell in row] for row in found.rows[:SLACK_ROWS]]


def _fitting(head: list[str], rows: list[list[str]]) -> list[list[str]]:
    """As many of the rows as Slack takes."""
    weights = accumulate(
        (sum(max(len(cell), 1) for cell in row) for row in rows), initial=sum(map(len, head))
    )
    return [row for row, weight in zip(rows, list(weights)[1:], strict=True) if weight <= SLACK_CELLS]


def table_holds(found: Table) -> bool:
    """Whether Slack's table block has room for all rows."""
    return not found.more and len(_fitting(*_for_slack(found))) == len(found.rows)


def in_table(found: Table) -> list[Block]:
    """The list as Slack's table block, with what the tool says of it above and below.

    How many rows there was no room for is said.
    """
    head, rows = _for_slack(found)
    shown = _fitting(head, rows)
    left = found.more + len(found.rows) - len(shown)
    notes = [*([_more_rows(left)] if left else []), *found.remarks]
    return [
        *([rich(line(words(found.summary, most=SUMMARY)))] if found.summary else []),
        block_table([head, *shown]),
        *([rich(line(words("\n".join(notes), "italic")))] if notes else []),
    ]
