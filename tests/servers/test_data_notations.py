"""Tables as offices keep them: German numbers and days, titles above the names, sums below, ids that are there twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servers.data import values
from servers.data.values import number
from tests.servers.figures import told
from tests.servers.test_data_tables import data, found

# As a German accounting program writes it: titles, an empty line, names, rows, a sum.
LEDGER = """Rechnungsausgang der Muster GmbH, Werk 2;;;;;;
Stand:;31.01.2026;;;;;

Rechnungsnr;Datum;Kunde;Netto;USt;Brutto;Netto
R-1001;03.01.2026;Adler KG;12.500,00;2.375,00;14.875,00;a
R-1002;05.01.2026;Brandt, Söhne;890,50;169,20;1.059,70;b
R-1003;31.02.2026;Cordes;1.250;237,50;1.487,50;c
R-1004;08.01.2026;Dorn AG;4.000,00;760,00;4.670,00;d
R-1002;09.01.2026;Ebert;99,90;18,98;118,88;e
R-1006;12.01.2026;Falk;310.75;59,04;369,79;f
Summe;;;19.051,15;3.619,72;22.581,87;
"""
FAULTS = {
    ("Datum", "date", 3),
    ("Rechnungsnr", "id", 2),
    ("Rechnungsnr", "id", 5),
    ("Netto", "notation", 6),
    ("Brutto", "total", 4),
    ("Brutto", "total", 7),
}


def whys(answer: dict[str, Any], column: str, kind: str) -> str:
    return " ".join(
        one["why"] for one in answer["anomalies"] if (one["column"], one["kind"]) == (column, kind)
    )


async def test_a_german_ledger_is_read_and_each_fault_in_it_is_named(tmp_path: Path) -> None:
    async with data(tmp_path, ledger_csv=LEDGER) as ask:
        odd = await ask("summarize_anomalies", path="ledger.csv")
    assert odd["columns"] == ["Rechnungsnr", "Datum", "Kunde", "Netto", "USt", "Brutto", "Netto (2)"]
    assert odd["records"] == 7
    named = {(one["column"], one["kind"], row) for one in odd["anomalies"] for row in one["rows"]}
    # The id that is there twice is one fault, in two rows.
    assert (
        f"{len(FAULTS & named) - 1} of {len(FAULTS) - 1} faults found, {len(named - FAULTS)} too much"
        == told("data.summarize_anomalies")
    )
    assert "In nearly all rows this is “Netto” + “USt”. Here that would be row 4 4,760" in whys(
        odd, "Brutto", "total"
    )
    assert "The rows above add up to 22,580.87; this says 22,581.87." in whys(odd, "Brutto", "total")
    assert odd["assumed"] == [
        "2 lines are above the column names left out: Rechnungsausgang der Muster GmbH, Werk 2; Stand: 31.01.2026.",
        "Columns of the same name are told apart: “Netto (2)” (column 7).",
        "“Netto” has decimal commas: “12.500,00” is read as 12500.",
        "“USt” has decimal commas: “2.375,00” is read as 2375.",
        "“Brutto” has decimal commas: “14.875,00” is read as 14875.",
        "Taken as totals, and left out of the rest: row 7.",
    ]


@pytest.mark.parametrize(
    ("last", "wrong"),
    [
        ("Total,60", []),
        ("Total,61", [4]),
        ("grand total:,20", []),
        ("Totals,", []),
        ("Total Energies,61", []),
    ],
)
async def test_a_total_is_held_against_the_rows_above_it(tmp_path: Path, last: str, wrong: list[int]) -> None:
    async with data(tmp_path, t_csv=f"shop,sales\nnorth,10\nsouth,20\nwest,30\n{last}\n") as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert found(odd, "sales", "total") == wrong


async def test_a_total_may_be_of_the_rows_since_the_one_before(tmp_path: Path) -> None:
    text = "item,cost\na,1.10\nb,2.20\nSubtotal,3.30\nc,4\nd,5\nSubtotal,9.5\nTotal,12.30\n"
    async with data(tmp_path, t_csv=text) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert found(odd, "cost", "total") == [6]
    assert "The rows above add up to 9; this says 9.5." in whys(odd, "cost", "total")


async def test_products_and_sums_across_a_row_are_worked_out_again(tmp_path: Path) -> None:
    goods = [{"qty": n, "price": round(1.35 * n + 2, 2), "cost": 0.0} for n in range(2, 12)]
    for one in goods:
        one["cost"] = round(one["qty"] * one["price"], 2)
    goods[6]["cost"] += 10
    months = ["name,Jan,Feb,Mar,Total", "ann,1,2,3,6", "bob,4,5,6,15", "cyd,7,8,9,42", "dee,2,2,3,7"]
    async with data(tmp_path, g_json=json.dumps(goods), m_csv="\n".join(months)) as ask:
        by_price = await ask("summarize_anomalies", path="g.json")
        by_month = await ask("summarize_anomalies", path="m.csv")
    assert found(by_price, "cost", "total") == [7]
    assert "“qty” × “price”" in whys(by_price, "cost", "total")
    assert found(by_month, "Total", "total") == [3]
    assert "row 3 24" in whys(by_month, "Total", "total")


async def test_columns_that_do_not_add_up_anywhere_are_no_fault(tmp_path: Path) -> None:
    rows = "\n".join(f"{n},{n * 7 % 11},{n * 5 % 13},{n * 3 % 17}" for n in range(40))
    async with data(tmp_path, t_csv=f"n,a,b,amount\n{rows}\n") as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert [one for one in odd["anomalies"] if one["kind"] == "total"] == []


@pytest.mark.parametrize(
    ("cells", "outlier", "assumed"),
    [
        (["1.250", "980", "1.100"], [], "“sum”: “1.250” is read as 1.25, nothing in the file tells."),
        (["1.250", "1.100,50", "1.300"], [], "“sum” has decimal commas: “1.100,50” is read as 1100.5."),
        (["1,250", "1,100.50", "1,300"], [], ""),
        (
            ["€ 1.250,00", "1.100,50 EUR", "1.300,00 €"],
            [],
            "“sum” has decimal commas: “€ 1.250,00” is read as 1250.",
        ),
    ],
)
async def test_how_numbers_are_written_is_told_by_their_column(
    tmp_path: Path, cells: list[str], outlier: list[int], assumed: str
) -> None:
    rows = "\n".join(f"x\t{cell}" for cell in cells)
    async with data(tmp_path, t_tsv=f"who\tsum\n{rows}\n") as ask:
        odd = await ask("summarize_anomalies", path="t.tsv")
    assert odd["assumed"] == list(filter(None, [assumed]))
    assert found(odd, "sum", "type") == outlier


@pytest.mark.parametrize(
    ("days", "wrong", "assumed"),
    [
        (["2024-02-30", "2024-03-01", "2024-03-02"], [1], ""),
        (["30.02.2024", "1.3.2024", "02.03.24"], [1], ""),
        (
            ["02/30/2024", "03/25/2024", "12/31/2023"],
            [1],
            "“day” gives the month before the day, as in 02/30/2024.",
        ),
        (["25/03/2024", "31/04/2024", "05/06/2024"], [2], ""),
        (["03/04/2024", "05/06/2024", "07/08/2024"], [], "“day”: 03/04/2024 is read with the day first."),
        (["open", "2024-02-30", "later", "unknown"], [2], ""),
        (["v1.0.12", "10.0.12", "3.44.99", "1.2.3"], [], ""),
    ],
)
async def test_days_that_no_calendar_has_are_named(
    tmp_path: Path, days: list[str], wrong: list[int], assumed: str
) -> None:
    async with data(tmp_path, t_csv="\n".join(["day;n", *(f"{day};1" for day in days)])) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert found(odd, "day", "date") == wrong
    assert odd["assumed"] == list(filter(None, [assumed]))


async def test_an_id_that_repeats_by_its_nature_is_no_fault(tmp_path: Path) -> None:
    orders = "\n".join(f"{n},{n % 4},{'x' if n != 9 else 'y'}" for n in [*range(12), 11])
    async with data(tmp_path, t_csv=f"ID,customer_id,paid\n{orders}\n") as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert found(odd, "ID", "id") == [12, 13]
    assert found(odd, "customer_id", "id") == []


async def test_a_column_of_numbers_of_orders_is_known_by_what_stands_in_it(tmp_path: Path) -> None:
    orders = [f"A-{1000 + n},room {n % 7},B{n % 40:02}" for n in range(60)]
    orders[40] = "A-1003,room 2,B01"
    async with data(tmp_path, orders_csv="order,room,shelf\n" + "\n".join(orders)) as ask:
        odd = await ask("summarize_anomalies", path="orders.csv")
    assert [(one["column"], one["rows"]) for one in odd["anomalies"] if one["kind"] == "id"] == [
        ("order", [4, 41])
    ]


async def test_columns_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    text = "when,amount,amount,amount (2)\nmon,1,2,3\ntue,1,2,3\n"
    async with data(tmp_path, t_csv=text) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
        twins = await ask("deduplicate_records", path="t.csv", columns=["amount", "amount (3)", "amount (2)"])
    assert odd["columns"] == ["when", "amount", "amount (3)", "amount (2)"]
    assert (
        odd["assumed"]
        == ["Columns of the same name are told apart: “amount (3)” (column 3)."]
        == twins["assumed"]
    )
    assert [group["rows"] for group in twins["groups"]] == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Sales\n\n\nname,n\nann,1\nbob,2\n", ["name", "n"]),
        ("Sales of 2025,,\n,,\nname,n,m\nann,1,2\nbob,2,2\n", ["name", "n", "m"]),
        ("name,n,note\nann,1,\nbob,2,\n", ["name", "n", "note"]),
        ("name;price\nann, bob;1,50\ncyd, dee;2,25\n", ["name", "price"]),
        (",q1,q2\nann,1,2\nbob,2,3\n", ["column 1", "q1", "q2"]),
    ],
)
async def test_the_line_of_names_is_found_below_titles(tmp_path: Path, text: str, columns: list[str]) -> None:
    async with data(tmp_path, t_csv=text) as ask:
        odd = await ask("summarize_anomalies", path="t.csv")
    assert odd["columns"] == columns


def test_a_text_that_is_longer_than_any_number_is_none():
    assert values.number("1" * 60, comma=False) == float("1" * 60)
    assert values.number("1" * 61, comma=False) is None
    assert values.number("1" * 60 + " and more", comma=False) is None


@pytest.mark.parametrize(
    ("text", "comma", "is_read_as"),
    [
        ("1 234,50", True, 1234.5),
        ("12 345 678.5", False, 12345678.5),
        ("5,00-", True, -5.0),
        ("(7.25)", False, -7.25),
        ("(1.234,00 €)", True, -1234.0),
        ("€ (12)", False, -12.0),
        ("(-7)", False, None),
        ("-5-", False, None),
        ("12 34", False, None),
        ("0171 1234567", False, None),
        ("089 123 456", False, None),
        ("-", False, None),
        ("(", False, None),
    ],
)
def test_numbers_of_books_are_read(text: str, comma: bool, is_read_as: float | None) -> None:
    assert number(text, comma) == is_read_as


@pytest.mark.parametrize(
    ("text", "comma", "is_read_as"),
    [
        ("-$30", False, -30.0),
        ("-£1,200.00", False, -1200.0),
        ("-€30", True, -30.0),
        ("-EUR 1.200,50", True, -1200.5),
        ("− € 7", False, -7.0),
        ("$ -30", False, -30.0),
        ("− 50", False, -50.0),
        ("- 20", False, -20.0),
        ("-30 €", False, -30.0),
        ("-$-30", False, None),
        ("--30", False, None),
        ("- 30-", False, None),
        ("-$(30)", False, None),
        ("- $", False, None),
        ("- 0171 123456", False, None),
    ],
)
def test_a_minus_may_stand_before_a_currency_sign_or_a_blank(
    text: str, comma: bool, is_read_as: float | None
) -> None:
    assert number(text, comma) == is_read_as


@pytest.mark.parametrize(
    ("cells", "units"),
    [
        (["€100", "$100", "¥1000"], "€, $ and ¥"),
        (["100 EUR", "-£7", "EUR 5", "3 €"], "€ and £"),
        (["12%", "€5", "7"], "% and €"),
        (["€100", "100 EUR", "100"], ""),
        (["$1", "none of these: £, %", "$2"], ""),
        (["12%", "13%", "0.5"], ""),
    ],
)
async def test_a_column_of_several_currencies_is_said_to_be_compared_as_one_unit(
    tmp_path: Path, cells: list[str], units: str
) -> None:
    rows = "\n".join(f"x\t{cell}" for cell in cells)
    async with data(tmp_path, t_tsv=f"who\tsum\n{rows}\n") as ask:
        odd = await ask("summarize_anomalies", path="t.tsv")
    said = f"“sum” has amounts in {units}, which are compared as if they were in one unit."
    assert odd["assumed"] == ([said] if units else [])
