"""Formulas in Word files and pages: a half is 1/2 there, not 12."""

from __future__ import annotations

import pytest

from servers.formats import html, word
from servers.formats.blocks import to_plain
from tests.servers.test_document_word import contract, p, r

MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def m(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def fraction(above: str, below: str, more: str = "") -> str:
    return f"<m:f>{more}<m:num>{above}</m:num><m:den>{below}</m:den></m:f>"


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (fraction(m("1"), m("2")), "Pay 1/2"),
        (m("1") + fraction(m("1"), m("2")), "Pay 1 1/2"),
        (fraction(m("a+b"), m("2,5")), "Pay (a+b)/2,5"),
        (fraction(fraction(m("1"), m("2")), m("c")), "Pay (1/2)/c"),
        (fraction(m("n"), m("k"), '<m:fPr><m:type m:val="noBar"/></m:fPr>'), "Pay n over k"),
        (f"<m:sSup><m:e>{m('10')}</m:e><m:sup>{m('6')}</m:sup></m:sSup>", "Pay 10⁶"),
        (f"<m:sSup><m:e>{m('1+p')}</m:e><m:sup>{m('n')}</m:sup></m:sSup>", "Pay (1+p)^n"),
        (f"<m:rad><m:radPr/><m:deg>{m('3')}</m:deg><m:e>{m('2x+1')}</m:e></m:rad>", "Pay ³√(2x+1)"),
    ],
)
def test_a_formula_of_a_word_file_is_read_as_a_line(formula: str, said: str) -> None:
    data = contract(p(r("Pay "), f"<m:oMath {MATH}>{formula}</m:oMath>"))
    assert to_plain(word.read(data)[0]).replace("[c1]", "").splitlines()[2] == said


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "Pay 1/2 now"),
        ("<mn>1</mn><mfrac>\n<mn>1</mn>\n<mn>2</mn>\n</mfrac>", "Pay 1 1/2 now"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2.5</mn></mfrac>", "Pay (a+b)/2.5 now"),
        ("<mfrac><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>c</mi></mfrac>", "Pay (1/2)/c now"),
        ('<mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac>', "Pay n over k now"),
        ("<msup><mn>10</mn><mn>6</mn></msup>", "Pay 10⁶ now"),
        ("<msqrt><mn>2</mn><mi>x</mi></msqrt>", "Pay √(2x) now"),
        ("<mroot><mn>8</mn><mn>3</mn></mroot>", "Pay ³√8 now"),
        ("<mfrac><mn>1</mn>", "Pay 1 now"),
        ("<mfrac><mn>1<mn>2</mfrac>", "Pay 12 now"),
    ],
)
def test_a_formula_of_a_page_is_read_as_a_line(formula: str, said: str) -> None:
    assert to_plain(html.read(f"<p>Pay <math>{formula}</math> now</p><p>and</p>")) == f"{said}\n\nand\n"
