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
_STOP = set(
    "a about an and any are as at be been but by can did do does for from had has have how i in into is it its me my "
    "of on or our please say says tell that the their them there they this to was we were what when where which who "
    "whom whose why will with would you your".split()
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
            if lines and (size + len(piece) > SIZE or (not piece.strip() and size > SIZE / 2)):
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


def sentences(text: str) -> list[str]:
    """The sentences of a text, and the lines of what is none, such as a list."""
    return [piece.strip() for piece in _SENTENCE.split(text) if piece and piece.strip()]


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


def best_parts(base: sqlite3.Connection, query: str, within: str, limit: int) -> list[tuple[Hit, str]]:
    """Parts that hold all words of the query; where none does, parts that hold some. Best first, with their text."""
    found = telling(query)[:MOST_WORDS]
    for joined in (" AND ", " OR "):
        if rows := _rows(base, found, joined, within, limit):
            return rows
    return []


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
        taken.append((_hit(row), row[6]))
        if len(taken) == limit:
            break
    return taken


def _hit(row: Row) -> Hit:
    path, n, first, last, score, excerpt, _ = row
    return Hit(
        chunk=f"{path}#{n}",
        path=path,
        first_line=first,
        last_line=last,
        score=round(score, 8),
        excerpt=excerpt[:EXCERPT],
    )


def best_quotes(base: sqlite3.Connection, question: str, within: str, most: int) -> list[tuple[Hit, str]]:
    """The sentences that say most about the question, each with the part it stands in; best first.

    A sentence counts the rarer of the question's words more; it must hold at least a third of their weight.
    """
    terms = {stem(word) for word in telling(question)[:MOST_WORDS]}
    rows = _rows(base, telling(question)[:MOST_WORDS], " OR ", within, 30)
    told = [(hit, sentence) for hit, text in rows for sentence in sentences(text)]
    weights = _weights(terms, [{stem(word) for word in words(text)} for _, text in rows])
    scored = sorted(
        ((_weight(sentence, weights), -n, hit, sentence) for n, (hit, sentence) in enumerate(told)),
        key=lambda one: one[:2],
        reverse=True,
    )
    least = max(sum(weights.values()) / 3, scored[0][0] / 2 if scored else 0)
    taken: dict[str, tuple[Hit, str]] = {}
    for score, _, hit, sentence in scored:
        if score >= least and score > 0 and len(taken) < most:
            taken.setdefault(sentence.casefold(), (hit, sentence[:LONGEST_QUOTE]))
    return list(taken.values())


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
    "related": related,
    "counts": counts,
    "known": known,
    "changed": changed,
}
