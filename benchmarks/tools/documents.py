"""Documents: what a Word file with changes holds in each view, and which words changed between two texts."""

from __future__ import annotations

import random

from benchmarks.measure import heading, line
from benchmarks.tools.measuring import share, too_much
from servers.formats import tasks
from tests.servers.test_document_word import ALWAYS, VIEWS, contract

WORDS = "the lease of this flat ends in May when both sides have agreed on a new rent for the next two years".split()
PARAGRAPHS, CHANGED = 200, 20


async def run(_: object = None, quick: bool = False) -> None:
    print(heading("Documents: pieces of a Word file with changes, words that changed"))
    missed = [piece for view, own in VIEWS.items() for piece in _missing(view, (*ALWAYS, *own))]
    wanted = sum(len(ALWAYS) + len(own) for own in VIEWS.values())
    print(line(share("extract_text: pieces, in three views", wanted - len(missed), wanted, 100, missed)))
    for seed in range(1 if quick else 3):
        _compared(seed)


def _missing(view: str, pieces: tuple[str, ...]) -> list[str]:
    text = tasks.text(contract(), ".docx", view)[1].decode()
    return [piece for piece in pieces if piece.strip("\n") not in text]


def _compared(seed: int) -> None:
    """A contract of made-up paragraphs, in some of which one word was put in the place of another."""
    r = random.Random(seed)
    old = [" ".join(r.choice(WORDS) for _ in range(25)) + f" number {n}." for n in range(PARAGRAPHS)]
    new, swapped = list(old), r.sample(range(PARAGRAPHS), CHANGED)
    for at in swapped:
        words = new[at].split()
        words[r.randrange(20)] = "OTHERWISE"
        new[at] = " ".join(words)
    counts, shown = tasks.compared("\n\n".join(old), "\n\n".join(new))
    found = shown.count("{+OTHERWISE+}")
    print(line(share(f"diff_documents: changed words, text {seed}", found, CHANGED, 100)))
    others = counts["added"] + counts["removed"] + abs(counts["changed"] - CHANGED)
    print(line(too_much(f"diff_documents: lines too much, text {seed}", others, PARAGRAPHS, 0)))
