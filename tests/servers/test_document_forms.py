"""Word files and pages: numbers above the line, choices of old forms, rows that begin later, words struck out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.formats import html
from servers.formats.blocks import to_plain
from tests.servers.test_document_reading import documents
from tests.servers.test_document_word import cell, contract, p, r

ABOVE = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
STRUCK = "<w:rPr><w:strike/></w:rPr>"


def field(inside: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{inside}</w:ffData></w:fldChar></w:r>'


def entries(chosen: str) -> str:
    listed = "".join(f'<w:listEntry w:val="{name}"/>' for name in ("Austria", "Germany"))
    return field(f"<w:ddList>{chosen}{listed}</w:ddList>")


async def read(tmp_path: Path, *body: str) -> str:
    async with documents(tmp_path, a_docx=contract(*body)) as ask:
        text: str = (await ask("extract_text", path="a.docx"))["text"]
    return text


async def test_a_power_is_no_other_number(tmp_path: Path) -> None:
    text = await read(
        tmp_path, p(r("10"), r("6", ABOVE), r(" EUR, 5 m"), r("2", ABOVE), r(", the 1"), r("st", ABOVE))
    )
    assert "10⁶ EUR, 5 m², the 1st" in text
    assert to_plain(html.read("<p>10<sup>-3</sup> and H<sub>2</sub>O, 1<sup>st</sup></p>")) == (
        "10⁻³ and H2O, 1st\n"
    )


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("inside", "shown"),
    [
        (entries('<w:result w:val="1"/>'), "Germany"),
        (entries(""), "Austria"),
        (entries('<w:default w:val="1"/>'), "Germany"),
        (entries('<w:result w:val="7"/>'), ""),
        (field("<w:checkBox><w:checked/></w:checkBox>"), "☒"),
        (field('<w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox>'), "☐"),
        (field("<w:checkBox/>"), "☐"),
    ],
)
async def test_what_is_chosen_in_an_old_form_is_read(tmp_path: Path, inside: str, shown: str) -> None:
    assert f"Law of: {shown}" in await read(tmp_path, p(r("Law of: "), inside))


async def test_a_row_that_begins_later_keeps_its_columns(tmp_path: Path) -> None:
    first = f"<w:tr>{cell(r('a'))}{cell(r('b'))}{cell(r('c'))}</w:tr>"
    later = f"<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>{cell(r('B'))}{cell(r('C'))}</w:tr>"
    assert "a\tb\tc\n\tB\tC\n" in await read(tmp_path, p(r("x")), f"<w:tbl>{first}{later}</w:tbl>")


@pytest.mark.slow
async def test_words_that_somebody_struck_out_do_not_count_as_the_others(tmp_path: Path) -> None:
    before, after = (
        contract(p(r("Rent is 900 EUR."))),
        contract(p(r("Rent is "), r("900", STRUCK), r(" EUR."))),
    )
    async with documents(tmp_path, a_docx=before, b_docx=after) as ask:
        assert "Rent is ~~900~~ EUR." in (await ask("extract_text", path="b.docx"))["text"]
        differs = await ask("diff_documents", first="a.docx", second="b.docx")
        assert not differs["same_text"]
