"""What stands over a column says what it holds: in CSV of any length, in documents, and in books of several sheets."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from docx import Document
from openpyxl import Workbook

from servers.detection.credentials import credentials
from servers.detection.hits import hits
from servers.detection.personal import personal
from servers.security import server
from tests.servers.gate_around_server import gated

PEOPLE = [["Name", "Geburtsdatum"], ["Eva Groß", "03.04.1985"], ["Max Klein", "01.02.1990"]]
ACCESS = [["System", "User", "Password"], ["ERP", "eva", "Kv7#mmQp2x"], ["CRM", "max", "tR4!wwLz9a"]]


def word(rows: list[list[str]]) -> bytes:
    document = Document()
    document.add_heading("Employees", 1)
    document.add_paragraph("As of today, all of them:")
    table = document.add_table(len(rows), len(rows[0]))
    for n, row in enumerate(rows):
        for m, text in enumerate(row):
            table.cell(n, m).text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def excel(rows: list[list[str]]) -> bytes:
    book = Workbook()
    assert book.active
    book.active.append(["About this book"])
    sheet = book.create_sheet("Data")
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def text(rows: list[list[str]]) -> bytes:
    return "".join(";".join(row) + "\r\n" for row in rows).encode("cp1252")


def markdown(rows: list[list[str]]) -> bytes:
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    return f"# Staff\n\n{lines[0]}|{'---|' * len(rows[0])}\n{''.join(lines[1:])}".encode()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("name", "made"), [("a.docx", word), ("a.xlsx", excel), ("a.csv", text), ("a.md", markdown)]
)
async def test_what_the_head_of_a_column_names_is_found_in_its_rows(
    tmp_path: Path, name: str, made: type[bytes]
) -> None:
    (tmp_path / "files").mkdir()
    async with gated(tmp_path / "logs", "security", server([tmp_path / "files"])) as gate:
        (tmp_path / "files" / name).write_bytes(made(PEOPLE))
        assert (await gate("scan_for_pii", path=name))["kinds"] == {"date of birth": 2}
        (tmp_path / "files" / name).write_bytes(made(ACCESS))
        assert (await gate("scan_for_secrets", path=name))["kinds"] == {"password": 2}


@pytest.mark.slow
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_long_table_is_known_by_its_head_to_its_end(end: str) -> None:
    rows = [f"Kunde Müller {n},1985-04-{n % 28 + 1:02},Kv7#mQp{n:05}x" for n in range(9_000)]
    table = end.join(["name,birth date,password", *rows])
    assert len(table) > 300_000
    assert len([*hits(table, personal)]) == 9_000
    found = [*hits(table, credentials)]
    assert len(found) == 9_000
    assert all(table[one.start : one.end] in rows[n] for n, one in enumerate(found))


@pytest.mark.slow
def test_days_of_other_columns_and_of_texts_behind_a_table_are_none_of_birth() -> None:
    rows = "".join(f"Kunde {n};1985-04-01;2026-11-{n % 28 + 1:02}\n" for n in range(6_000))
    told = f"name;birth date;last order\n{rows}\nMeeting; on 2026-11-20; in Bonn; and on 2026-11-21\n"
    assert len([*hits(told, personal)]) == 6_000


@pytest.mark.parametrize(
    "table",
    [
        "setting,type,password\nhost,string,optional\nport,int,required\n",
        "user;password\nann;••••••\nbob;(siehe KeePass)\ncyd;Changeme\n",
        "model,tokens,token\ngpt,1200,1300\n",
        "user,password changed\nann,2026-11-20\n",
    ],
)
def test_a_table_that_only_speaks_of_passwords_holds_none(table: str) -> None:
    assert [*hits(table, credentials)] == []
