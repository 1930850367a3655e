"""Data quality: faults that were put into made-up tables, and what is named besides; records that are there twice."""

from __future__ import annotations

import csv
import io
import random
import tempfile
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import Row, heading, line
from benchmarks.tools.measuring import asking, share
from servers.data import server
from tests.servers.files import Ask
from tests.servers.test_data_notations import FAULTS, LEDGER

ROWS = 2_000
HEAD = ["order", "day", "customer", "mail", "quantity", "price", "sum"]
Cells = list[list[str]]
FIRST = "Ann Bob Cyd Dora Emil Fay Gus Hal Ivy Jon Kay Lou Max Nell Otto Pia".split()
LAST = "Lee Miller Orr Ray Stein Holm Adler Brandt Cordes Dorn Ebert Falk".split()


class Fault(NamedTuple):
    """A cell that was changed for the worse: its column, and its row from 1."""

    column: str
    row: int


async def run(_: object = None, quick: bool = False) -> None:
    print(heading("Data quality: faults found in tables, and cells named that are right"))
    with tempfile.TemporaryDirectory() as name:
        async with asking(server([Path(name)])) as ask:
            for row in await _ledger(ask, Path(name)):
                print(line(row))
            for seed in range(1 if quick else 5):
                for german in (False, True):
                    for row in await _orders(ask, Path(name), seed, german):
                        print(line(row))
            for row in await _twins(ask, Path(name)):
                print(line(row))


async def _ledger(ask: Ask, folder: Path) -> list[Row]:
    (folder / "ledger.csv").write_text(LEDGER, "utf-8")
    told = await ask("summarize_anomalies", path="ledger.csv")
    named = {(one["column"], one["kind"], row) for one in told["anomalies"] for row in one["rows"]}
    missed = [f"{column} {row}" for column, _, row in FAULTS - named]
    return [share("summarize_anomalies: ledger, faults", len(FAULTS & named), len(FAULTS), 95, missed),
            Row("summarize_anomalies: ledger, too much", len(named - FAULTS), "cells", goal=0)]  # fmt: skip


def orders(seed: int, german: bool) -> tuple[str, set[Fault]]:
    """A table of orders as a shop exports it, with faults of seven kinds at places that the seed says."""
    r = random.Random(seed)
    day = date(2026, 1, 2)
    rows: Cells = []
    for n in range(ROWS):
        count, cents = r.randint(1, 12), round(r.lognormvariate(7.5, 0.4))
        who = f"{r.choice(FIRST)} {r.choice(LAST)}"
        when = day + timedelta(days=n // 9)
        mail = f"{who.lower().replace(' ', '.')}@example.org"
        money = [_money(cents, german), _money(count * cents, german)]
        rows.append([f"A-{10_000 + n}", _day(when, german), who, mail, str(count), *money])
    faults = _spoiled(r, rows, german)
    out = io.StringIO()
    csv.writer(out, delimiter=";" if german else ",").writerows([HEAD, *rows])
    return out.getvalue(), faults


def _day(when: date, german: bool) -> str:
    return when.strftime("%d.%m.%Y" if german else "%Y-%m-%d")


def _money(cents: int, german: bool) -> str:
    text = f"{cents / 100:,.2f}"
    return text.translate(str.maketrans(",.", ".,")) if german else text.replace(",", "")


def _spoiled(r: random.Random, rows: Cells, german: bool) -> set[Fault]:
    at = iter(r.sample(range(ROWS), 14))
    faults = []

    def spoil(column: str, value: str) -> None:
        row = next(at)
        rows[row][HEAD.index(column)] = value
        faults.append(Fault(column, row + 1))

    for value in ("31.02.2026", "30.02.2026") if german else ("2026-02-31", "2026-13-04"):
        spoil("day", value)
    spoil("day", _day(date(2036, 5, 4), german))
    for _ in range(2):
        spoil("mail", "")
    for _ in range(2):
        spoil("sum", _money(r.randint(900_000, 2_000_000), german))
    for value in ("five", "4 pcs"):
        spoil("quantity", value)
    spoil("quantity", "4000")
    spoil("order", "A-10007")
    spoil("customer", "  Ann Lee")
    spoil("price", _money(1250, not german))
    spoil("price", "-12,00" if german else "-12.00")
    return set(faults)


async def _orders(ask: Ask, folder: Path, seed: int, german: bool) -> list[Row]:
    text, faults = orders(seed, german)
    (folder / "orders.csv").write_text(text, "utf-8")
    told = await ask("summarize_anomalies", path="orders.csv")
    named = {Fault(one["column"], row) for one in told["anomalies"] for row in one["rows"]}
    spoiled = {fault.row for fault in faults}
    missed = sorted(faults - named)
    # Another cell of a spoiled row may be named for it: a wrong price makes the sum look wrong. The twin of an id too.
    extra = sorted(fault for fault in named - faults if fault.row not in spoiled and fault != ("order", 8))
    how = f"orders {seed}, {'German' if german else 'English'}"
    shown = [f"{fault.column} row {fault.row}" for fault in (*missed, *extra)]
    besides = "; ".join(shown[len(missed) :][:3])
    return [
        share(f"summarize_anomalies: {how}", len(faults & named), len(faults), 95, shown[: len(missed)]),
        Row(f"… {how}: named besides", len(extra), "cells", ROWS * len(HEAD), note=besides),
    ]


async def _twins(ask: Ask, folder: Path) -> list[Row]:
    """Customers of whom some are there again: in capitals, with blanks, with one letter wrong."""
    r = random.Random(4)
    people = [f"{r.choice(FIRST)} {r.choice(LAST)} {n},{24_000 + n} Kiel,Road {n}" for n in range(1_000)]
    same = [one.upper() if n % 2 else one.replace(" ", "  ", 1) for n, one in enumerate(r.sample(people, 60))]
    typed = [_typo(r, one) for one in r.sample(people, 40)]
    lines = [*people, *same, *typed]
    (folder / "people.csv").write_text("name,town,street\n" + "\n".join(lines) + "\n", "utf-8")
    plain = await ask("deduplicate_records", path="people.csv")
    near = await ask("deduplicate_records", path="people.csv", alike=0.9)
    left, near_left = plain["unique"], near["unique"]
    return [
        share("deduplicate_records: the same", len(lines) - left, len(same), 95),
        share("deduplicate_records: with a wrong letter", left - near_left, len(typed), 95),
    ]


def _typo(r: random.Random, text: str) -> str:
    at = r.choice([n for n, sign in enumerate(text.partition(",")[0]) if sign.isalpha()])
    return f"{text[:at]}{r.choice('qxz')}{text[at + 1 :]}"
