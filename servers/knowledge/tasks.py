"""What the sandbox does with an index. It lies in a folder that others may write to, so it may be anybody's database.

Each task takes the bytes of the index, none where there is no index. Long answers are JSON, a line each.

"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from servers.filesystem import paths
from servers.knowledge.models import Hit
from servers.sandbox.protocol import Refused

SIZE = 1_200  # characters of a part, about
LONGEST_LINE = 4_000
_WORD = re.compile(r"\w+", re.UNICODE)
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[\w\"“‘(])|\n+")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s++(.*)")
_UNDERLINED = re.compile(r"(?m)^([^\W\d_][^\n]{0,99})\n(?:={3,}|-{3,})[ \t]*$")
_BEGINS = re.compile(r"\s*(?:[-*+•|>#]|\d{1,3}[.)]\s)|\w[\w ]{0,30}:\s")  # what is no rest of the line before
_END = re.compile(r"[.!?:;,]$")
# What ends with a full stop inside of a sentence.
_GOES_ON = re.compile(
    r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|Nr|Art|Abs|Str|ca|bzw|vgl|inkl|zzgl|max|min|approx|vs|e\.g|i\.e|cf|sog|Tel)|"
    r"(?:^|[\s(.])[A-Za-z]|^\d{1,3})\.$"
)
_DAY = re.compile(r"\b\d{1,2}\.$")
_MONTH = re.compile(r"[a-z]|(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")
LONGEST_HEADING = 80  # characters of a line of capitals
WRAPPED = 50  # characters: a shorter line ended where its writer wanted
_STOP = set(
    "a about an and any are as at be been but by can did do does for from had has have how i in into is it its many "
    "me much my of on or our please say says tell that the their them there they this to was we were what when where "
    "which who whom whose why will with would you your".split()
)


class Chunk(NamedTuple):
    """One part of a text, with the numbers of its first and last line."""

    first: int
    last: int
    text: str


def chunks(text: str) -> Iterator[Chunk]:
    """The parts of a text in order. Nothing but empty lines is left out."""
    lines: list[str] = []
    first, size = 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        for piece in _pieces(line):
            if lines and (
                size + len(piece) > SIZE
                or (size > SIZE / 2 and not piece.strip())
                or (size > SIZE / 4 and _HEADING.match(piece))
            ):
                yield from _chunk(first, lines, number - 1)
                lines, size = [], 0
            if not lines:
                first = number
            lines.append(piece)
            size += len(piece) + 1
    yield from _chunk(first, lines, first + len(lines) - 1)


def _pieces(line: str) -> list[str]:
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)] or [""]


def _chunk(first: int, lines: list[str], last: int) -> Iterator[Chunk]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Chunk(first, max(first, last), text)


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def telling(text: str) -> list[str]:
    """The words that say what a question is about, each once; all of them when there are no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _STOP] or found


class Section(NamedTuple):
    """What stands below one heading; the heading is "" where there is none."""

    heading: str
    sentences: list[str]


def sections(text: str) -> list[Section]:
    """A text by its headings: # in Markdown, a line over === or ---, a line of capitals. All are left out that say
    nothing but their heading."""
    found = [Section("", [])]
    for paragraph in _unwrapped(text):
        if heading := _heading(paragraph):
            found.append(Section(heading, []))
        else:
            found[-1].sentences.extend(sentences(paragraph))
    told = [one for one in found if one.sentences]
    return told or [Section("", [one.heading]) for one in found if one.heading]


def _heading(line: str) -> str:
    if match := _HEADING.fullmatch(line):
        return match[1].rstrip().rstrip("#").rstrip()
    return line if len(line) < LONGEST_HEADING and line.isupper() and not _END.search(line) else ""


def _unwrapped(text: str) -> Iterator[str]:
    """Lines, those put together that were one before somebody wrapped them at a width."""
    held: list[str] = []
    for line in _UNDERLINED.sub(r"# \1", text).splitlines():
        if held and not _goes_on(held[-1], line):
            yield " ".join(held)
            held = []
        held += [line.strip()] if line.strip() else []
    yield from [" ".join(held)] if held else []


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the rest of the one before it."""
    if not line.strip() or _HEADING.match(before) or _BEGINS.match(line) or _heading(before):
        return False
    room = len(before) >= WRAPPED or before.endswith(",")
    return room or (len(before) >= WRAPPED / 2 and line.lstrip()[0].islower())


def sentences(text: str) -> list[str]:
    """The sentences of a text, and the lines of what is none, such as a list."""
    found: list[str] = []
    for piece in filter(None, (piece.strip() for piece in _SENTENCE.split(text) if piece)):
        if found and (_GOES_ON.search(found[-1]) or (_DAY.search(found[-1]) and _MONTH.match(piece))):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found


def stem(word: str) -> str:
    """A word without its most common English endings: “ends”, “ended” and “ending” are one."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 4 else word


MOST_WORDS = 24
LONGEST_QUOTE = 600  # characters
EXCERPT = 400
_FOUND = """SELECT chunk.path, n, first, last, -bm25(word), snippet(word, 0, '', '', ' … ', 40), chunk.text
FROM word JOIN chunk ON chunk.id = word.rowid WHERE word MATCH ? ORDER BY bm25(word), chunk.path, n"""
Row = tuple[str, int, int, int, float, str, str]


_LICENCE_FILE = re.compile(r"(?i)(^|/)(licen[cs]es?|copying|notice|eula|unlicense)\b[^/]*$|\.licen[cs]e$")
_LICENCE_TEXT = re.compile(
    r"(?i)without warrant(y|ies) of any kind|permission is hereby granted|redistribution and use in source|"
    r"licensed under the (apache|gnu|mozilla)|gnu (lesser |affero )?general public license|all rights reserved\."
)
_ABOUT_LICENCES = {
    "licence",
    "license",
    "lizenz",
    "copyright",
    "warranty",
    "gpl",
    "mit",
    "apache",
    "redistribute",
}
UNASKED = 0.1  # what licence text counts for, where nobody asks about it
MOST_RANKED = 200  # parts that are put in order


def best_parts(base: sqlite3.Connection, query: str, within: str, limit: int) -> list[tuple[Hit, str]]:
    """Parts that hold all words of the query; where none does, parts that hold some. Best first, with their text.

    What only a licence says is found behind the parts that hold some of the words.
    """
    found = telling(query)[:MOST_WORDS]
    for joined in (" AND ", " OR "):
        rows = _rows(base, found, joined, within, limit)
        if any(_counts_for(hit.path, text, found) == 1 for hit, text in rows):
            return rows
    return rows


def _counts_for(path: str, text: str, terms: Sequence[str]) -> float:
    """1, or less for the text of a licence, which holds many words and says little about a folder's own matters."""
    asked = not _ABOUT_LICENCES.isdisjoint({*terms, *map(stem, terms)})
    is_licence = _LICENCE_FILE.search(path) or _LICENCE_TEXT.search(text)
    return UNASKED if is_licence and not asked else 1


def _rows(
    base: sqlite3.Connection, terms: Sequence[str], joined: str, within: str, limit: int
) -> list[tuple[Hit, str]]:
    if not terms:
        return []
    asked = joined.join('"' + term.replace('"', '""') + '"' for term in terms)
    taken: list[tuple[Hit, str]] = []
    for row in base.execute(_FOUND, [asked]):
        if paths.is_secret(row[0]) or (within and not row[0].startswith(f"{within}/")):
            continue
        taken.append((_hit(row, _counts_for(row[0], row[6], terms)), row[6]))
        if len(taken) == MOST_RANKED:
            break
    return sorted(taken, key=lambda one: -one[0].score)[:limit]


def _hit(row: Row, share: float) -> Hit:
    path, n, first, last, score, excerpt, _ = row
    return Hit(
        chunk=f"{path}#{n}",
        path=path,
        first_line=first,
        last_line=last,
        score=round(score * share, 8),
        excerpt=excerpt[:EXCERPT],
    )


class _Quote(NamedTuple):
    """Something that could be an answer, and how much of the question's weight it holds."""

    weight: float
    order: int  # the later, the less
    hit: Hit
    text: str


def best_quotes(base: sqlite3.Connection, question: str, within: str, most: int) -> list[tuple[Hit, str]]:
    """The sentences that say most about the question, each with the part it stands in; best first.

    A sentence counts the rarer of the question's words more, and half of what its heading holds; it must come to a
    third of all. Where the heading says more than any sentence below it, the whole section is given.
    """
    asked = telling(question)[:MOST_WORDS]
    rows = _rows(base, asked, " OR ", within, 30)
    weights = _weights({*map(stem, asked)}, [{stem(word) for word in words(text)} for _, text in rows])
    told = [
        one for hit, text in rows for one in _quotes(hit, text, weights, _counts_for(hit.path, text, asked))
    ]
    told = [one._replace(order=-n) for n, one in enumerate(told)]
    scored = sorted(told, key=lambda one: one[:2], reverse=True)
    least = max(sum(weights.values()) / 3, scored[0].weight / 2 if scored else 0)
    taken: dict[str, tuple[Hit, str]] = {}
    for weight, _, hit, text in scored:
        if weight >= least and weight > 0 and len(taken) < most:
            taken.setdefault(text.casefold(), (hit, text))
    return list(taken.values())


def _quotes(hit: Hit, text: str, weights: dict[str, float], share: float) -> Iterator[_Quote]:
    for heading, said in sections(text):
        above = _weight(heading, weights)
        own = [_weight(one, weights) for one in said]
        both = [_weight(f"{heading} {one}", weights) for one in said]
        if above > max(own):
            yield _Quote(above * share, 0, hit, _whole(said))
            continue
        for one, alone, together in zip(said, own, both, strict=True):
            yield _Quote((alone + (together - alone) / 2) * share, 0, hit, _whole([one]))


def _whole(said: Sequence[str]) -> str:
    """As many sentences as a quote holds; of one that is longer, its beginning."""
    text = said[0]
    if len(text) > LONGEST_QUOTE:
        return f"{text[:LONGEST_QUOTE].rpartition(' ')[0] or text[:LONGEST_QUOTE]} …"
    for one in said[1:]:
        if len(text) + len(one) >= LONGEST_QUOTE:
            break
        text = f"{text} {one}"
    return text


def _weights(terms: set[str], texts: list[set[str]]) -> dict[str, float]:
    return {
        term: math.log(1 + len(texts) / (1 + sum(term in text for text in texts))) + 0.5 for term in terms
    }


def _weight(sentence: str, weights: dict[str, float]) -> float:
    held = {stem(word) for word in words(sentence)}
    return sum(weight for term, weight in weights.items() if term in held)


def related_parts(base: sqlite3.Connection, path: str, n: int, limit: int) -> list[Hit] | None:
    """Parts that share the telling words of one part, best first. None when there is no such part."""
    row = base.execute("SELECT text FROM chunk WHERE path = ? AND n = ?", [path, n]).fetchone()
    if row is None:
        return None
    whole = base.execute("SELECT count(*) FROM chunk").fetchone()[0]
    kept = set(telling(row[0]))
    counts = Counter(word for word in words(row[0]) if word in kept)
    rare = sorted(counts, key=lambda term: (-counts[term] * math.log(1 + whole / _spread(base, term)), term))
    rows = _rows(base, rare[:12], " OR ", "", limit + 1)
    return [hit for hit, _ in rows if hit.chunk != f"{path}#{n}"][:limit]


def _spread(base: sqlite3.Connection, term: str) -> int:
    """In how many parts a word stands."""
    quoted = '"' + term.replace('"', '""') + '"'
    return int(base.execute("SELECT count(*) FROM word WHERE word MATCH ?", [quoted]).fetchone()[0]) or 1


Answer = tuple[dict[str, Any], bytes]
_SCHEMA = """
CREATE TABLE folder(path TEXT PRIMARY KEY, recursive INT NOT NULL) WITHOUT ROWID;
CREATE TABLE file(path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunk(id INTEGER PRIMARY KEY, path TEXT NOT NULL, n INT NOT NULL, first INT NOT NULL, last INT NOT NULL,
                   text TEXT NOT NULL, UNIQUE (path, n));
CREATE VIRTUAL TABLE word USING fts5(text, content='chunk', content_rowid='id', tokenize='porter unicode61');
CREATE TRIGGER chunk_in AFTER INSERT ON chunk BEGIN INSERT INTO word(rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER chunk_out AFTER DELETE ON chunk
    BEGIN INSERT INTO word(word, rowid, text) VALUES ('delete', old.id, old.text); END;
"""


@contextmanager
def _opened(data: bytes) -> Iterator[sqlite3.Connection]:
    """The index in memory, empty when there is none. Raises Refused when it is broken."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        try:
            base.execute("PRAGMA temp_store=MEMORY")
            if data:
                base.deserialize(data)
            else:
                base.executescript(_SCHEMA)
            yield base
        except (sqlite3.Error, ValueError) as error:  # ValueError: a value of another kind than ours
            raise Refused("cannot be read. Move it away, then index the folders anew.") from error


def search(data: bytes, *, query: str, within: str, limit: int) -> Answer:
    """The parts that fit best, and how many files are in the index."""
    with _opened(data) as base:
        hits = [hit.model_dump() for hit, _ in best_parts(base, query, within, limit)]
        return {"files": _count(base, "file"), "hits": hits}, b""


def quotes(data: bytes, *, question: str, within: str, limit: int) -> Answer:
    """Parts with the sentence that says most, and the SHA-256 that each file had."""
    with _opened(data) as base:
        known = dict(base.execute("SELECT path, sha256 FROM file"))
        found = [
            {"hit": hit.model_dump(), "quote": quote, "sha256": known.get(hit.path, "")}
            for hit, quote in best_quotes(base, question, within, limit)
        ]
        return {"files": _count(base, "file"), "found": found}, b""


def passages(data: bytes, *, question: str, within: str, limit: int) -> Answer:
    """Parts that hold some of the question's words, best first, with their text and the SHA-256 of their file."""
    with _opened(data) as base:
        known = dict(base.execute("SELECT path, sha256 FROM file"))
        rows = _rows(base, telling(question)[:MOST_WORDS], " OR ", within, limit)
        found = [
            {"hit": hit.model_dump(), "text": text, "sha256": known.get(hit.path, "")} for hit, text in rows
        ]
        return {"found": found}, b""


def related(data: bytes, *, path: str, number: int, limit: int) -> Answer:
    """Parts about the same as one part; None for “hits” where there is no such part."""
    with _opened(data) as base:
        found: list[Hit] | None = related_parts(base, path, number, limit)
        hits = None if found is None else [hit.model_dump() for hit in found]
        return {"files": _count(base, "file"), "hits": hits}, b""


def counts(data: bytes) -> Answer:
    """How many files and parts there are."""
    with _opened(data) as base:
        return {"files": _count(base, "file"), "chunks": _count(base, "chunk")}, b""


def _count(base: sqlite3.Connection, table: str) -> int:
    return int(base.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def known(data: bytes) -> Answer:
    """The folders with whether what is below them counts, and a line for each file with its SHA-256."""
    with _opened(data) as base:
        folders = base.execute("SELECT path, recursive FROM folder ORDER BY path").fetchall()
        files = base.execute("SELECT path, sha256 FROM file").fetchall()
    return {"folders": folders}, b"\n".join(json.dumps(row).encode() for row in files)


def changed(
    data: bytes, *files: bytes, folder: list[Any] | None, gone: Sequence[str], new: Sequence[Any]
) -> Answer:
    """The bytes of the index after a change. `files`: the text of each of `new`, which are path, SHA-256 and size."""
    written = 0
    with _opened(data) as base:
        base.execute("BEGIN")
        if folder:
            base.execute("REPLACE INTO folder VALUES (?, ?)", folder)
        for path in gone:
            base.execute("DELETE FROM chunk WHERE path = ?", [path])
            base.execute("DELETE FROM file WHERE path = ?", [path])
        for one, text in zip(new, files, strict=True):
            base.execute("INSERT INTO file VALUES (?, ?, ?)", one)
            parts = [[one[0], n, *chunk] for n, chunk in enumerate(chunks(text.decode()), 1)]
            base.executemany("INSERT INTO chunk(path, n, first, last, text) VALUES (?, ?, ?, ?, ?)", parts)
            written += len(parts)
        base.execute("COMMIT")
        return {"chunks": written}, base.serialize()


TASKS: dict[str, Callable[..., Answer]] = {
    "search": search,
    "quotes": quotes,
    "passages": passages,
    "related": related,
    "counts": counts,
    "known": known,
    "changed": changed,
}
