"""OCR: cells of tables on scans and in PDF files, and what receipts say, held against what was drawn."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, heading, line
from benchmarks.tools.measuring import asking, share
from benchmarks.tools.scanned import Receipt, Scan, invoices, receipts, scans
from servers.ocr import server
from tests.servers.files import Ask

ROUNDS, QUICK = 6, 1
CELLS, FIELDS = 95.0, 90.0  # percent to reach
SURE = 0.9  # confidence that a reader relies on


async def run(_: object = None, quick: bool = False) -> None:
    print(heading("OCR: cells of tables, fields of receipts (read right, of those drawn)"))
    if not shutil.which("tesseract"):
        print("There is no Tesseract here, so nothing is measured: apt-get install tesseract-ocr")
        return
    rounds = QUICK if quick else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        async with asking(server([Path(folder)])) as ask:
            for row in [
                *await _tables(ask, Path(folder), rounds),
                *await _receipts(ask, Path(folder), rounds),
            ]:
                print(line(row))


async def _tables(ask: Ask, folder: Path, rounds: int) -> list[Row]:
    right: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    missed: dict[str, list[str]] = defaultdict(list)
    sure_and_wrong = read = 0
    for scan in scans(11, rounds):
        (folder / scan.name).write_bytes(scan.data)
        told = await ask("extract_table", path=scan.name)
        good, wrong = cells(scan, told["rows"])
        right[scan.kind][0] += good
        right[scan.kind][1] += good + len(wrong)
        missed[scan.kind] += wrong
        read += 1
        sure_and_wrong += told["confidence"] >= SURE and good < CELLS / 100 * (good + len(wrong))
    rows = [
        share(f"extract_table, {kind}", good, all_, CELLS, missed[kind])
        for kind, (good, all_) in right.items()
    ]
    return [*rows, Row("extract_table, sure of ≥ 0.9 and under 95 %", sure_and_wrong, "pages", read, goal=0)]


def cells(scan: Scan, found: Sequence[Sequence[str]]) -> tuple[int, list[str]]:
    """How many cells stand in a row of the answer at their own place among columns, and those that do not."""
    good, wrong = 0, []
    for row in scan.rows:
        best = max(found, key=lambda one: _same(row, one), default=[])
        for n, cell in enumerate(row):
            if n < len(best) and _plain(best[n]) == _plain(cell):
                good += 1
            else:
                wrong.append(f"“{cell}” read as “{best[n] if n < len(best) else ''}”")
    return good, wrong


def _same(row: Sequence[str], other: Sequence[str]) -> int:
    return sum(bool(a) and _plain(a) == _plain(b) for a, b in zip(row, other, strict=False))


def _plain(text: str) -> str:
    return "".join(text.split()).lower()


async def _receipts(ask: Ask, folder: Path, rounds: int) -> list[Row]:
    made = {
        "receipts": receipts(12, 5 * rounds),
        "receipts, turned by 90°": receipts(12, 2 * rounds, 90),
        "invoices": invoices(3, 3 * rounds),
    }
    return [row for kind, papers in made.items() for row in await _papers(ask, folder, kind, papers)]


async def _papers(ask: Ask, folder: Path, kind: str, papers: Sequence[Receipt]) -> list[Row]:
    right: dict[str, int] = defaultdict(int)
    missed: dict[str, list[str]] = defaultdict(list)
    for n, paper in enumerate(papers):
        name = f"{kind.replace(' ', '-')}-{n}.png"
        (folder / name).write_bytes(paper.data)
        told = await ask("extract_structured_data", path=name)
        for field in paper.fields:
            if _told(field, paper, told):
                right[field] += 1
            else:
                missed[field].append(paper.fields[field])
    return [
        share(f"{kind}: {field}", right[field], len(papers), FIELDS, missed[field])
        for field in papers[0].fields
    ]


def _told(field: str, receipt: Receipt, told: Mapping[str, Any]) -> bool:
    """Whether the answer holds the value, in a field or a mention. A total counts only under a label that says so."""
    value = _plain(receipt.fields[field])
    if field == "total":
        values = [
            one["value"] for one in told["fields"] if _plain(one["label"])[:3] in ("tot", "amo", "sum", "ges")
        ]
    else:
        values = [*(one["value"] for one in told["fields"]), *(one["text"] for one in told["mentions"])]
    return any(value in _plain(one) for one in values)
