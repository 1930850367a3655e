"""Searching an index, and answering out of it: with sentences that stand in the files, never with others."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Sequence

from servers.knowledge.chunks import sentences, stem, telling, words
from servers.knowledge.models import Hit

MOST_WORDS = 24
LONGEST_QUOTE = 600  # characters
EXCERPT = 400
_FOUND = """SELECT chunk.path, n, first, last, -bm25(word), snippet(word, 0, '', '', ' … ', 40), chunk.text
FROM word JOIN chunk ON chunk.id = word.rowid WHERE word MATCH ? ORDER BY bm25(word), chunk.path, n"""
Row = tuple[str, int, int, int, float, str, str]


def search(base: sqlite3.Connection, query: str, within: str, limit: int) -> list[tuple[Hit, str]]:
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
        if within and not row[0].startswith(f"{within}/"):
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


def quotes(base: sqlite3.Connection, question: str, within: str, most: int) -> list[tuple[Hit, str]]:
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


def related(base: sqlite3.Connection, path: str, n: int, limit: int) -> list[Hit] | None:
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
