"""What the sandbox does with an index. It lies in a folder that others may write to, so it may be anybody's database.

Each task takes the bytes of the index, none where there is no index. An index has the tables that are made here, as
they are made here, and nothing else: a view in place of one gives rows without end.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from servers.filesystem import paths
from servers.knowledge import embeddings
from servers.knowledge.models import Hit
from servers.knowledge.text_parts import chunks, is_made_of, root, sections, stem, telling, words
from servers.sandbox.protocol import Refused

MOST_WORDS = 24
LONGEST_QUOTE = 600  # characters
EXCERPT = 400
_VECTORS = f"""SELECT path, n, first, last, text, value FROM vector JOIN chunk USING (id)
WHERE typeof(value) = 'blob' AND length(value) = {embeddings.SIZE} ORDER BY path, n"""
_FOUND = """SELECT chunk.path, n, first, last, -bm25(word), snippet(word, 0, '', '', ' … ', 40), chunk.text
FROM word JOIN chunk ON chunk.id = word.rowid WHERE word MATCH ? ORDER BY bm25(word), chunk.path, n"""
Row = tuple[str, int, int, int, float, str, str]
Forms = Mapping[
    str, Sequence[str]
]  # of each word that is asked for, the words of the index that count for it


_LICENCE_FILE = re.compile(r"(?i)(^|/)(licen[cs]es?|copying|notice|eula|unlicense)\b[^/]*$|\.licen[cs]e$")
_LICENCE_TEXT = re.compile(
    r"(?i)without warrant(y|ies) of any kind|permission is hereby granted|redistribution and use in source|"
    r"licensed under the (apache|gnu|mozilla)|gnu (lesser |affero )?general public license|all rights reserved\."
)
_ABOUT_LICENCES = set("licence license lizenz copyright warranty gpl mit apache redistribute".split())
MOST_FORMS = 20  # of one term: forms and compounds that are looked for
COMPOUND = 0.8  # what a form or a compound counts for, against the word itself
LEAST_NEAR = 0.15  # cosine: what is less near to a question than that is not about it
LEAST_TOLD = 0.28  # the same for a sentence that is told as the answer
MOST_NEAR = 10  # parts that are near
# Ranks are put together as by Cormack, Clarke and Büttcher, “Reciprocal Rank Fusion” (SIGIR 2009).
RANKED = 60
MOST_EMBEDDED = 20_000  # parts that get a vector in one change: about 12 s
UNASKED = 0.1  # what licence text counts for, where nobody asks about it
MOST_RANKED = 200  # parts that are put in order
MOST_FILES = 50_000  # of an index: their paths and SHA-256 have to fit into one answer
MOST_PATHS = 6 << 20  # bytes of that answer
_AT_ONCE = 500  # files that are parsed in one step
MOST_FOLDERS = 1_000


def best_parts(base: sqlite3.Connection, query: str, within: str, limit: int) -> list[tuple[Hit, str]]:
    """Parts that hold all words of the query, if need be in other forms or in compounds; where none does, parts that
    hold some or are near to what it means. Best first, with their text.

    What only a licence says is found behind the parts that hold some of the words.
    """
    asked = telling(query)[:MOST_WORDS]
    rows = _rows(base, _expression(asked, {}, " AND "), asked, within, limit)
    if _are_own_matters(rows, asked):
        return rows
    forms = _other_forms(base, asked)
    rows = _rows(base, _expression(asked, forms, " AND "), asked, within, limit)
    return rows if _are_own_matters(rows, asked) else parts_about(base, query, within, limit, forms)


def _are_own_matters(rows: Sequence[tuple[Hit, str]], asked: Sequence[str]) -> bool:
    """Whether some of these parts are no licence that nobody asked for."""
    return any(_counts_for(hit.path, text, asked) == 1 for hit, text in rows)


def _other_forms(base: sqlite3.Connection, terms: Sequence[str]) -> Forms:
    """For each term words of the index that are other forms of it, or compounds with it; those in most parts first."""
    base.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, word, row)")
    rows = base.execute("SELECT term FROM vocabulary ORDER BY doc DESC, term").fetchall()
    known = [(word, root(word)) for (word,) in rows]
    asked = {term: root(term) for term in terms}
    return {
        term: [word for word, whole in known if part in whole and is_made_of(whole, part)][:MOST_FORMS]
        for term, part in asked.items()
    }


def _expression(terms: Sequence[str], forms: Forms, joined: str) -> str:
    """What FTS5 is asked: the terms, each in one of its forms."""
    quoted = [['"' + one.replace('"', '""') + '"' for one in (term, *forms.get(term, ()))] for term in terms]
    return joined.join(f"({' OR '.join(group)})" for group in quoted)


def parts_about(
    base: sqlite3.Connection, question: str, within: str, limit: int, forms: Forms | None = None
) -> list[tuple[Hit, str]]:
    """Parts that hold some of the words, and parts that are near to what the question means. Best first, with text.
    `forms`: those of its words, where they are known."""
    asked = telling(question)[:MOST_WORDS]
    by_words = _rows_with_some(base, asked, within, limit, forms)
    near = near_parts(base, question, within)
    return _fused(by_words, near)[:limit] if embeddings.installed() else by_words


def _fused(*lists: list[tuple[Hit, str]]) -> list[tuple[Hit, str]]:
    """Several lists as one: first what is high up in one of them, or in both."""
    scores, found = dict[str, float](), dict[str, tuple[Hit, str]]()
    for rows in lists:
        for rank, (hit, text) in enumerate(rows, 1):
            scores[hit.chunk] = scores.get(hit.chunk, 0) + 1 / (RANKED + rank)
            found.setdefault(hit.chunk, (hit, text))
    return [
        (found[chunk][0].model_copy(update={"score": round(scores[chunk], 8)}), found[chunk][1])
        for chunk in sorted(scores, key=lambda one: -scores[one])
    ]


def near_parts(base: sqlite3.Connection, question: str, within: str) -> list[tuple[Hit, str]]:
    """The parts nearest to what the question means, with their text; none where there are no vectors."""
    rows = base.execute(_VECTORS).fetchall() if embeddings.installed() and _has_vectors(base) else []
    rows = [
        row for row in rows if not paths.is_secret(row[0]) and (not within or row[0].startswith(f"{within}/"))
    ]
    asked = telling(question)[:MOST_WORDS]
    nearness = embeddings.similarities(" ".join(asked), [row[5] for row in rows]) if rows else []
    ranked = sorted(
        ((near * _counts_for(row[0], row[4], asked), row) for near, row in zip(nearness, rows, strict=True)),
        key=lambda one: -one[0],
    )
    return [
        (_hit((*row[:4], near, row[4][:EXCERPT], ""), 1), row[4])
        for near, row in ranked[:MOST_NEAR]
        if near >= LEAST_NEAR
    ]


def _has_vectors(base: sqlite3.Connection) -> bool:
    return bool(base.execute("SELECT 1 FROM sqlite_schema WHERE name = 'vector'").fetchone())


def near_quotes(base: sqlite3.Connection, question: str, within: str, most: int) -> list[tuple[Hit, str]]:
    """The sentences nearest to what the question means, each with the part it stands in; best first."""
    said = [
        (hit, heading, one)
        for hit, text in near_parts(base, question, within)
        for heading, sentences in sections(text)
        for one in sentences
    ]
    asked = " ".join(telling(question)[:MOST_WORDS])
    stored = embeddings.vectors([" ".join(telling(f"{heading} {one}")) for _, heading, one in said])
    nearness = embeddings.similarities(asked, stored) if said else []
    ranked = sorted(zip(nearness, said, strict=True), key=lambda one: -one[0])
    return [(hit, _whole([one])) for near, (hit, _, one) in ranked[:most] if near >= LEAST_TOLD]


def _counts_for(path: str, text: str, terms: Sequence[str]) -> float:
    """1, or less for the text of a licence, which holds many words and says little about a folder's own matters."""
    asked = not _ABOUT_LICENCES.isdisjoint({*terms, *map(stem, terms)})
    is_licence = _LICENCE_FILE.search(path) or _LICENCE_TEXT.search(text)
    return UNASKED if is_licence and not asked else 1


def _rows_with_some(
    base: sqlite3.Connection, terms: Sequence[str], within: str, limit: int, forms: Forms | None = None
) -> list[tuple[Hit, str]]:
    """Parts that hold some of the terms, in any form."""
    known = _other_forms(base, terms) if forms is None else forms
    return _rows(base, _expression(terms, known, " OR "), terms, within, limit)


def _rows(
    base: sqlite3.Connection, expression: str, terms: Sequence[str], within: str, limit: int
) -> list[tuple[Hit, str]]:
    if not terms:
        return []
    taken: list[tuple[Hit, str]] = []
    for row in base.execute(_FOUND, [expression]):
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
    rows = _rows_with_some(base, asked, within, 30)
    weights = _weights({*map(stem, asked)}, [set(words(text)) for _, text in rows])
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
    held = [_held(text, terms) for text in texts]
    return {term: math.log(1 + len(texts) / (1 + sum(term in one for one in held))) + 0.5 for term in terms}


def _weight(sentence: str, weights: dict[str, float]) -> float:
    return sum(weights[term] * share for term, share in _held(words(sentence), weights).items())


def _held(said: Iterable[str], terms: Iterable[str]) -> dict[str, float]:
    """Which of the terms these words are, or are made of, each with what it counts for."""
    stems, roots = {stem(word) for word in said}, {root(word) for word in said}
    held = {term: 1.0 for term in terms if term in stems}
    for term in terms:
        if term not in held and any(is_made_of(word, root(term)) for word in roots):
            held[term] = COMPOUND
    return held


def related_parts(base: sqlite3.Connection, path: str, n: int, limit: int) -> list[Hit] | None:
    """Parts that share the telling words of one part, best first. None when there is no such part."""
    row = base.execute("SELECT text FROM chunk WHERE path = ? AND n = ?", [path, n]).fetchone()
    if row is None:
        return None
    whole = base.execute("SELECT count(*) FROM chunk").fetchone()[0]
    kept = set(telling(row[0]))
    counts = Counter(word for word in words(row[0]) if word in kept)
    rare = sorted(counts, key=lambda term: (-counts[term] * math.log(1 + whole / _spread(base, term)), term))
    rows = _rows(base, _expression(rare[:12], {}, " OR "), rare[:12], "", limit + 1)
    return [hit for hit, _ in rows if hit.chunk != f"{path}#{n}"][:limit]


def _spread(base: sqlite3.Connection, term: str) -> int:
    """In how many parts a word stands."""
    quoted = '"' + term.replace('"', '""') + '"'
    return int(base.execute("SELECT count(*) FROM word WHERE word MATCH ?", [quoted]).fetchone()[0]) or 1


Answer = tuple[dict[str, Any], bytes]
SCHEMA = """
CREATE TABLE folder(path TEXT PRIMARY KEY, recursive INT NOT NULL) WITHOUT ROWID;
CREATE TABLE file(path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunk(id INTEGER PRIMARY KEY, path TEXT NOT NULL, n INT NOT NULL, first INT NOT NULL, last INT NOT NULL,
                   text TEXT NOT NULL, UNIQUE (path, n));
CREATE VIRTUAL TABLE word USING fts5(text, content='chunk', content_rowid='id', tokenize='porter unicode61');
CREATE TRIGGER chunk_in AFTER INSERT ON chunk BEGIN INSERT INTO word(rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER chunk_out AFTER DELETE ON chunk
    BEGIN INSERT INTO word(word, rowid, text) VALUES ('delete', old.id, old.text); END;
"""
_LONGEST_SCHEMA = 1 << 16  # characters
_WITH_VECTORS = """
CREATE TABLE IF NOT EXISTS vector(id INTEGER PRIMARY KEY, value BLOB NOT NULL);
CREATE TRIGGER IF NOT EXISTS vector_out AFTER DELETE ON chunk BEGIN DELETE FROM vector WHERE id = old.id; END;
"""


@contextmanager
def _opened(data: bytes) -> Iterator[sqlite3.Connection]:
    """The index in memory, empty when there is none. Raises Refused when it is broken."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        try:
            base.execute("PRAGMA temp_store=MEMORY")
            base.execute("PRAGMA cell_size_check=ON")
            if data:
                base.execute("PRAGMA trusted_schema=OFF")
                base.deserialize(data)
                _must_be_ours(base)
                # Its triggers are ours, and write to the table of words.
                base.execute("PRAGMA trusted_schema=ON")
            else:
                base.executescript(SCHEMA)
            yield base
        except (sqlite3.Error, ValueError) as error:  # ValueError: a value of another kind than ours
            raise Refused("cannot be read. Move it away, then index the folders anew.") from error


def _must_be_ours(base: sqlite3.Connection) -> None:
    """Raise Refused where a table is missing, or something is there that is not made here, or is made otherwise."""
    count, size = base.execute("SELECT count(*), sum(length(sql)) FROM sqlite_schema").fetchone()
    with closing(sqlite3.connect(":memory:")) as ours:
        ours.executescript(SCHEMA)
        least = _schema(ours)
        ours.executescript(_WITH_VECTORS)
        most = _schema(ours)
    if count > len(most) or (size or 0) > _LONGEST_SCHEMA or not least <= _schema(base) <= most:
        raise Refused("is none that this server has made. Move it away, then index the folders anew.")


def _schema(base: sqlite3.Connection) -> set[tuple[str, str, str, str]]:
    """All that a database has, as it was made; however its lines were broken."""
    rows = base.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
    return {(kind, name, of, " ".join(sql.split())) for kind, name, of, sql in rows}


def search(data: bytes, *, query: str, within: str, limit: int) -> Answer:
    """The parts that fit best, and how many files are in the index. `near`: some hold none of the words."""
    asked = [stem(word) for word in telling(query)]
    with _opened(data) as base:
        found = best_parts(base, query, within, limit)
        near = any(not _held(words(text), asked) for _, text in found)
        hits = [hit.model_dump() for hit, _ in found]
        return {"files": _count(base, "file"), "hits": hits, "near": near}, b""


def quotes(data: bytes, *, question: str, within: str, limit: int) -> Answer:
    """Parts with the sentence that says most, and the SHA-256 that each file had. `near`: found by what it means."""
    with _opened(data) as base:
        known = dict(base.execute("SELECT path, sha256 FROM file"))
        by_words = best_quotes(base, question, within, limit)
        found = [
            {"hit": hit.model_dump(), "quote": quote, "sha256": known.get(hit.path, "")}
            for hit, quote in by_words or near_quotes(base, question, within, limit)
        ]
        return {"files": _count(base, "file"), "found": found, "near": bool(found) and not by_words}, b""


def passages(data: bytes, *, question: str, within: str, limit: int) -> Answer:
    """Parts about the question, best first, with their text and the SHA-256 of their file."""
    with _opened(data) as base:
        known = dict(base.execute("SELECT path, sha256 FROM file"))
        rows = parts_about(base, question, within, limit)
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
    """How many files and parts there are, and of how many parts the vector is known."""
    with _opened(data) as base:
        near = _count(base, "vector") if _has_vectors(base) else 0
        return {"files": _count(base, "file"), "chunks": _count(base, "chunk"), "vectors": near}, b""


def _count(base: sqlite3.Connection, table: str) -> int:
    return int(base.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def folders(data: bytes) -> Answer:
    """The folders, each with whether what is below it counts."""
    with _opened(data) as base:
        if _count(base, "folder") > MOST_FOLDERS:
            raise Refused(
                f"has more than {MOST_FOLDERS:,} folders. Move it away, then index fewer folders anew."
            )
        rows = base.execute("SELECT path, recursive FROM folder ORDER BY path")
        return {"folders": [[str(path), bool(recursive)] for path, recursive in rows]}, b""


def known(data: bytes) -> Answer:
    """The SHA-256 of each file as JSON, some hundreds a line, and how many parts lack a vector."""
    with _opened(data) as base:
        if _count(base, "file") > MOST_FILES:
            raise Refused(_TOO_MANY)
        rows = base.execute("SELECT path, sha256 FROM file")
        portions = iter(lambda: rows.fetchmany(_AT_ONCE), [])
        files = [{str(path): str(sha256) for path, sha256 in some} for some in portions]
        without = _missing(base)
    told = "\n".join(json.dumps(some, ensure_ascii=False) for some in files).encode("utf-8", "replace")
    if len(told) > MOST_PATHS:
        raise Refused(_TOO_MANY)
    return {"missing": without}, told


_TOO_MANY = (
    f"has more than {MOST_FILES:,} files, or very long paths. Move it away, then index smaller folders anew."
)


def _lacks_vector(base: sqlite3.Connection) -> str:
    """The condition of parts that have no vector."""
    return "id NOT IN (SELECT id FROM vector)" if _has_vectors(base) else "1"


def _missing(base: sqlite3.Connection) -> int:
    """How many parts could have a vector and have none."""
    if not embeddings.installed():
        return 0
    return int(base.execute(f"SELECT count(*) FROM chunk WHERE {_lacks_vector(base)}").fetchone()[0])


def _add_vectors(base: sqlite3.Connection) -> None:
    for statement in _WITH_VECTORS.strip().splitlines():
        base.execute(statement)
    lacking = f"SELECT id, text FROM chunk WHERE {_lacks_vector(base)} ORDER BY id LIMIT ?"
    left = base.execute(lacking, [MOST_EMBEDDED]).fetchall()
    values = embeddings.vectors([" ".join(telling(text)) for _, text in left])
    rows = [(id_, value) for (id_, _), value in zip(left, values, strict=True)]
    base.executemany("INSERT INTO vector VALUES (?, ?)", rows)


def _must_have_room(base: sqlite3.Connection) -> None:
    """Raise Refused when there is more than the next change can compare."""
    paths = base.execute("SELECT sum(length(CAST(path AS BLOB)) + 80) FROM file").fetchone()[0] or 0
    if _count(base, "file") > MOST_FILES or paths > MOST_PATHS or _count(base, "folder") > MOST_FOLDERS:
        raise Refused(
            f"would have more than {MOST_FILES:,} files or {MOST_FOLDERS:,} folders. Index fewer or smaller folders."
        )


def changed(
    data: bytes, *files: bytes, folder: list[Any] | None, gone: Sequence[str], new: Sequence[Any]
) -> Answer:
    """The bytes of the index after a change. `files`: the text of each of `new`, which are path, SHA-256 and size.
    `missing`: parts that could have a vector and are left for the next change."""
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
        _must_have_room(base)
        if embeddings.installed():
            _add_vectors(base)
        base.execute("COMMIT")
        return {"chunks": written, "missing": _missing(base)}, base.serialize()


TASKS: dict[str, Callable[..., Answer]] = {
    "search": search,
    "quotes": quotes,
    "passages": passages,
    "related": related,
    "counts": counts,
    "folders": folders,
    "known": known,
    "changed": changed,
}
