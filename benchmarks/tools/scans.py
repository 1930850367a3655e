"""Scans for personal data and for secrets: recall and precision on labelled texts, from seeds that no test uses."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.measure import heading, line
from benchmarks.tools.measuring import share, too_much
from servers.detection.credentials import credentials
from servers.detection.hits import Hit, hits
from servers.detection.personal import personal
from tests.servers import credential_texts, people

SEEDS = (101, 102, 103)


async def run(_: object = None, quick: bool = False) -> None:
    print(heading("Scans: recall, and what is taken for something and is none"))
    for seed in SEEDS[:1] if quick else SEEDS:
        _personal(seed)
        _secrets(seed)


def _personal(seed: int) -> None:
    wanted = found = wrong = told = 0
    missed: list[str] = []
    for one in people.corpus(seed, 10):
        spans, seen = _spans(one), list(hits(one.text, personal))
        lost = [one.text[a:b] for a, b in spans if not any(hit.start < b and a < hit.end for hit in seen)]
        missed += lost
        wanted, found, told = wanted + len(spans), found + len(spans) - len(lost), told + len(seen)
        wrong += sum(not any(hit.start < b and a < hit.end for a, b in spans) for hit in seen)
    print(line(share(f"scan_for_pii: recall, seed {seed}", found, wanted, 95, missed)))
    print(line(share(f"scan_for_pii: precision, seed {seed}", told - wrong, told, 95)))


def _spans(one: people.Labelled) -> list[tuple[int, int]]:
    at, spans = 0, []
    for value in one.values:
        at = one.text.index(value, at) + len(value)
        spans.append((at - len(value), at))
    return spans


def _secrets(seed: int) -> None:
    texts = credential_texts.corpus(seed)
    secret, harmless = [one for one in texts if one.secret], [one for one in texts if not one.secret]
    missed = [one.name for one in secret if not _holds(one, list(hits(one.text, credentials)))]
    wrong = [one.text[:60] for one in harmless if any(True for _ in hits(one.text, credentials))]
    print(
        line(
            share(
                f"scan_for_secrets: recall, seed {seed}", len(secret) - len(missed), len(secret), 90, missed
            )
        )
    )
    print(
        line(too_much(f"scan_for_secrets: false positives, seed {seed}", len(wrong), len(harmless), 3, wrong))
    )


def _holds(one: credential_texts.Labelled, seen: Sequence[Hit]) -> bool:
    start = one.text.index(one.secret)
    return any(hit.start < start + len(one.secret) and start < hit.end for hit in seen)
