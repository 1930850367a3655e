"""Searches tools by words: BM25 over their names, titles, first lines and parameters, without a model or network."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from gate.rules.tool import ToolSpec

K1, B = 1.2, 0.75  # the usual constants of BM25
NAME_WEIGHT = 3
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
ENDINGS = ("ing", "ies", "es", "ed", "s")
MIN_STEM = 3  # letters that have to be left of a word


def terms(text: str) -> list[str]:
    """The words of a text, in lower case and without common endings: `listOpenIssues` gives list, open, issu."""
    return [_stem(word.lower()) for word in WORD.findall(text)]


def _stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM:
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > MIN_STEM else word


def _document(spec: ToolSpec) -> list[str]:
    first = (spec.description.strip().splitlines() or [""])[0]
    parameters = " ".join(str(name) for name in spec.schema.get("properties", {}))
    name = terms(f"{spec.server} {spec.name}") * NAME_WEIGHT
    return [*name, *terms(f"{spec.title} {first} {parameters}")]


class ToolIndex:
    """Tools to search. Equal scores keep the order in which the tools were given."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        self._specs = tuple(specs)
        self._counts = [Counter(_document(spec)) for spec in specs]
        lengths = [sum(count.values()) for count in self._counts]
        self._lengths = lengths
        self._mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._document_count = Counter(term for count in self._counts for term in count)

    def find(self, query: str, limit: int = 5) -> tuple[ToolSpec, ...]:
        """The best matches, best first; only tools that share a word with the query."""
        query_terms = dict.fromkeys(terms(query))
        scored = [(self._score(place, query_terms), -place) for place in range(len(self._specs))]
        best = sorted((pair for pair in scored if pair[0] > 0), reverse=True)[:limit]
        return tuple(self._specs[-place] for _, place in best)

    def _score(self, place: int, query_terms: dict[str, None]) -> float:
        counts, length = self._counts[place], self._lengths[place]
        norm = K1 * (1 - B + B * length / self._mean)
        return sum(
            self._idf(term) * counts[term] * (K1 + 1) / (counts[term] + norm)
            for term in query_terms
            if term in counts
        )

    def _idf(self, term: str) -> float:
        containing = self._document_count[term]
        return math.log(1 + (len(self._specs) - containing + 0.5) / (containing + 0.5))
