"""Forms in PDF files: what is filled is what was asked for, and the card shows all of it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from servers.document import server
from tests.servers.gate_around_server import Gate, gated

PARTS = (
    b"<</Type/Catalog/Pages 2 0 R/AcroForm<</DA(/Helv 9 Tf)/Fields[%s]>>>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Annots[4 0 R 6 0 R 7 0 R]>>",
)
WIDGET = b"/Subtype/Widget/Type/Annot/Rect[0 0 50 9]/DA(/Helv 9 Tf)"
LIMIT = b"<</T(limit)/Kids[6 0 R 7 0 R]>>"
AMOUNT = b"<</FT/Tx/T(amount)/V(100)/Parent 5 0 R%s>>" % WIDGET
OTHER = b"<</FT/Tx/T(other)/V(100)/Parent 5 0 R%s>>" % WIDGET
LISTED = b"4 0 R 5 0 R"


def drawn(*objects: bytes) -> bytes:
    out = b"%PDF-1.7\n"
    starts = []
    for number, inside in enumerate(objects, 1):
        starts.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, inside)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    size = len(objects) + 1
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (size, table, size, len(out))
    )


def form(*fields: bytes, listed: bytes = LISTED, first: bytes = b"(amount)/V(1)") -> bytes:
    amount = b"<</FT/Tx/T%s%s>>" % (first, WIDGET)
    return drawn(PARTS[0] % listed, *PARTS[1:], amount, *(fields or (LIMIT, AMOUNT, OTHER)))


def shown(data: bytes) -> list[tuple[str, str]]:
    """The value of each widget, and the text that its look draws, where it has one."""
    return [
        (str(one.get("/V", "")), drawing(one)) for one in PdfReader(io.BytesIO(data)).pages[0].annotations
    ]


def drawing(annotation: Any) -> str:
    look = annotation.get_object().get("/AP")
    return look["/N"].get_data().decode("latin-1") if look else ""


async def filled(
    gate: Gate, root: Path, data: bytes, **values: str
) -> tuple[str | None, list[tuple[str, str]]]:
    (root / "a.pdf").write_bytes(data)
    (root / "b.pdf").unlink(missing_ok=True)
    done = await gate.do("fill_pdf_form", path="a.pdf", values=values, destination="b.pdf")
    return done.preview.diff, shown((root / "b.pdf").read_bytes())


@pytest.mark.parametrize("listed", [LISTED, b"4 0 R"], ids=["listed", "outside the form"])
async def test_a_field_whose_last_name_is_the_same_stays(tmp_path: Path, listed: bytes) -> None:
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        card, widgets = await filled(gate, tmp_path / "files", form(listed=listed), amount="5")
    assert card == "-amount: 1\n+amount: 5\n"
    assert [value for value, _ in widgets] == ["5", "100", "100"]
    assert "5" in widgets[0][1]
    assert not widgets[1][1]


async def test_a_part_of_a_field_is_filled_by_its_whole_name(tmp_path: Path) -> None:
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        both = {"limit.amount": "7", "amount": "5"}
        card, widgets = await filled(gate, tmp_path / "files", form(), **both)
    assert card == "-amount: 1\n+amount: 5\n-limit.amount: 100\n+limit.amount: 7\n"
    assert [value for value, _ in widgets] == ["5", "7", "100"]


async def test_a_look_that_two_fields_share_is_changed_for_the_one_asked_for(tmp_path: Path) -> None:
    look = b"<</Length 14/Subtype/Form/BBox[0 0 50 9]>>stream\n(100) Tj %%%%%\nendstream"
    with_look = [part[:-2] + b"/AP<</N 8 0 R>>>>" for part in (AMOUNT, OTHER)]
    data = form(LIMIT, *with_look, look)
    async with gated(tmp_path / "logs", "document", server([folder(tmp_path)])) as gate:
        _, widgets = await filled(gate, tmp_path / "files", data, **{"limit.amount": "7"})
    assert "(100)" not in widgets[1][1]
    assert widgets[2] == ("100", "(100) Tj %%%%%")


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (
            form(LIMIT, b"<</FT/Tx/T(amount)/V(100)%s>>" % WIDGET, OTHER, listed=b"4 0 R 6 0 R"),
            "amount",
            "several fields that are called “amount”",
        ),
        (
            form(first=b"(limit.amount)/V(1)"),
            "limit.amount",
            "several fields that are called “limit.amount”",
        ),
        (
            form(LIMIT, AMOUNT, OTHER[:-2] + b"/TM(x)>>", first=b"(a)/TM(x)/V(1)"),
            "x",
            "several fields that are called “x”",
        ),
        (
            form(
                b"<</FT/Tx/T(limit)/V(100)/Kids[6 0 R 7 0 R]>>",
                b"<</Parent 5 0 R%s>>" % WIDGET,
                b"<</T(other)/Parent 5 0 R%s>>" % WIDGET,
            ),
            "limit",
            "other fields that take the value of “limit”",
        ),
    ],
    ids=["one name", "a dot in a name", "one name for exports", "a value from above"],
)
async def test_a_form_where_more_would_change_than_is_named_is_not_filled(
    tmp_path: Path, data: bytes, name: str, why: str
) -> None:
    root = folder(tmp_path)
    (root / "a.pdf").write_bytes(data)
    async with gated(tmp_path / "logs", "document", server([root])) as gate:
        call = {"path": "a.pdf", "values": {name: "5"}, "destination": "b.pdf"}
        assert why in await gate.refused("fill_pdf_form", **call)
    assert not (root / "b.pdf").exists()


def folder(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    root.mkdir()
    return root
