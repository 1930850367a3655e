"""Hebrew, Arabic and Persian in PDFs: letters joined, lines in the order in which they are seen, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from bidi import get_display
from bidi.mirror import MIRRORED
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader

from servers.formats import markdown, pdf
from servers.formats.blocks import Run, plain, unstyled
from servers.formats.right_to_left import begins_right, joined, seen
from servers.sandbox.protocol import Refused
from tests.servers.test_document_reading import documents

HEBREW = (
    'הישיבה נפתחה בשעה 9:30 במשרד Acme Ltd. בתל אביב, והשתתפו בה 12 עובדים. ההכנסות עלו ב-15% לעומת הרבעון הקודם והגיעו ל-1,250,000 ש"ח '
    "(כולל מס); ראו את **הטבלה המצורפת** בעמוד 3 ואת [האתר](https://example.com/a) של החברה."
)
ARABIC = (
    "انعقد الاجتماع في الساعة 9:30 في مكتب شركة Acme Ltd. في القاهرة، وحضره 12 موظفاً. ارتفعت الإيرادات بنسبة 15% مقارنة بالربع السابق وبلغت "
    "1,250,000 جنيه (شاملة الضريبة)؛ انظر **الجدول المرفق** في الصفحة ٣ والموقع [هنا](https://example.com/a) لمزيد من التفاصيل، شكرًا جزيلًا."
)
PERSIAN = (
    "گزارش فصل اول: من می\u200cخواهم کتاب\u200cهای پژوهشی را ببینم؛ قیمت ۱۲۵۰ تومان (با مالیات) است و «گزارش» در صفحه ۳ آمده است، همراه با "
    "نسخه 2.5 از Python برای 40 کاربر."
)
ENGLISH = (
    "The Hebrew word שלום (עולם) means peace, and **سلام** the same, 25 times; then English goes on until the line ends, and with שלום עולם 123 "
    "it is over."
)


@pytest.mark.parametrize(
    ("line", "to_left", "shown"),
    [
        ("שלום 123 abc", True, "abc 123 םולש"),
        ("abc שלום 123", False, "abc 123 םולש"),
        ("מחיר: 1,250.50 (כולל)", True, "(ללוכ) 1,250.50 :ריחמ"),
        ("see שלום (עולם) there", False, "see (םלוע) םולש there"),
        ("Acme Ltd. בתל אביב.", True, ".ביבא לתב .Acme Ltd"),
        ("abc", False, "abc"),
        ("1.", True, ".1"),
        ("", True, ""),
    ],
)
def test_a_line_is_shown_in_the_order_of_its_letters(line: str, to_left: bool, shown: str) -> None:
    assert "".join(c for _, c in seen(line, to_left)) == shown


SIGNS = "abC אבג ابت ﻻﺪ 123 ١٢ ۱۲ ()[]<>.,:;+-/%$€«»'\"’_#\u200c"


@given(st.text(SIGNS, max_size=200).map(str.strip), st.booleans())
def test_the_order_is_that_of_the_algorithm_and_no_sign_is_lost(line: str, to_left: bool) -> None:
    found = seen(line, to_left)
    assert sorted(place for place, _ in found) == [*range(len(line))]
    assert "".join(line[place] for place, _ in found).replace("\u200c", "") == get_display(
        line, base_dir="R" if to_left else "L"
    ).replace("\u200c", "")
    assert all(c in (line[place], MIRRORED.get(line[place])) for place, c in found)


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("سلام", "ﺳﻼﻡ"),
        ("كتاب", "ﻛﺘﺎﺏ"),
        ("لا إله", "ﻻ ﺇﻟﻪ"),
        ("الأول", "ﺍﻷﻭﻝ"),
        ("می\u200cخواهم", "ﻣﯽ\u200cﺧﻮﺍﻫﻢ"),
        ("پژوهش گرچه", "ﭘﮋﻭﻫﺶ ﮔﺮﭼﻪ"),
        ("جدًا", "ﺟﺪًﺍ"),
        ("בית", "בית"),
    ],
)
def test_arabic_letters_take_the_forms_of_their_places(text: str, forms: str) -> None:
    assert plain(joined(unstyled(text))) == forms


def test_letters_join_where_the_style_changes() -> None:
    runs = (Run("كت", frozenset({"bold"})), Run("اب"))
    assert joined(runs) == (Run("ﻛﺘ", frozenset({"bold"})), Run("ﺎﺏ"))


def drawn(markdown_text: str) -> list[str]:
    """The lines of the page as they are seen, from left to right."""
    page = PdfReader(io.BytesIO(pdf.write(markdown.read(markdown_text), ""))).pages[0]
    return [line for line in page.extract_text(extraction_mode="layout").split("\n") if line.strip()]


def bare(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("text", [HEBREW, ARABIC, PERSIAN, ENGLISH])
def test_a_paragraph_that_wraps_is_drawn_as_it_is_read(text: str) -> None:
    logical = plain(joined(markdown.read(text)[0].text), links=False)
    places = [place for place, c in enumerate(logical) if not c.isspace()]
    lines = drawn(text)
    assert len(lines) > 1
    for line in lines:
        here, places = places[: len(bare(line))], places[len(bare(line)) :]
        read = logical[here[0] : here[-1] + 1]
        assert bare(line) == bare("".join(c for _, c in seen(read, begins_right(logical))))
    assert not places


def test_a_paragraph_stands_at_the_side_where_it_begins_and_so_do_items_and_columns() -> None:
    right, left = drawn("שלום abc\n\nabc שלום")
    assert right.startswith(" " * 60)
    assert (right.strip(), left) == ("abc םולש", "abc םולש")
    assert [line.split() for line in drawn("- אחת\n- שתיים\n\n1. ab\n\n<!-- -->\n\n2. ג")] == [
        ["תחא", "•"], ["םייתש", "•"], ["1.", "ab"], ["<!--", "-->"], ["ג", ".2"],
    ]  # fmt: skip
    table = "| שם | סכום |\n|---|---|\n| רונן (a) | 12 |"
    assert [line.split() for line in drawn(table)] == [["םוכס", "םש"], ["12", "(a)", "ןנור"]]
    assert [line.split() for line in drawn("| a | שם |\n|---|---|\n| 1 | 2 |")] == [["a", "םש"], ["1", "2"]]


def test_a_long_text_goes_on_on_the_next_page() -> None:
    made = PdfReader(io.BytesIO(pdf.write(markdown.read(HEBREW * 60), "")))
    shown = [page.extract_text(extraction_mode="layout") for page in made.pages]
    assert len(shown) > 1
    assert sum(page.count("1,250,000") for page in shown) == 60
    assert sum(page.count(".הרבחה לש") + page.count("הרבחה לש.") for page in shown) >= 50


def test_a_mark_on_a_tall_letter_is_raised_and_one_on_a_low_letter_is_not() -> None:
    assert joined(unstyled("شكراً ب")) == (
        Run("ﺷﻜﺮﺍ"), Run("\u064b", frozenset({"raised"})), Run(" ﺏ"),
    )  # fmt: skip
    assert joined(unstyled("كتابًا")) == (Run("ﻛﺘﺎﺑًﺎ"),)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("שָׁלוֹם", "\u05b8"),
        ("مُحَمَّد", "\u064e"),
        ("یہ ہے", "ہ"),
        ("ܫܠܡܐ", "ܐ"),
        ("ߒߞߏ", "ߏ"),
        ("    x = שלום", "ש"),
    ],
)
def test_what_is_not_shown_rightly_is_refused(text: str, named: str) -> None:
    with pytest.raises(Refused, match=f"these letters cannot be set here: .*{named}.*Make a .docx file"):
        pdf.write(markdown.read(text), "")


def test_a_line_of_thousands_of_signs_without_a_width_is_refused() -> None:
    with pytest.raises(Refused, match="a line of more than 4,096 signs"):
        pdf.write(markdown.read("שלום " + "\u200c" * 5_000 + "ב"), "")


def test_code_and_bold_words_whose_font_lacks_a_letter_are_set_in_that_for_texts() -> None:
    for text in ("`שלום`", "**𝖠**", "# 𝖠𝖡", "    ⡿ = 1"):
        page = PdfReader(io.BytesIO(pdf.write(markdown.read(text), ""))).pages[0]
        fonts = {
            font.get_object()["/BaseFont"].partition("+")[2] for font in page["/Resources"]["/Font"].values()
        }
        assert "DejaVuSans" in fonts


@pytest.mark.slow
async def test_a_pdf_made_here_is_read_and_the_order_is_said_to_be_uncertain(tmp_path: Path) -> None:
    async with documents(tmp_path) as ask:
        await ask("create_pdf", path="a.pdf", content=f"{HEBREW}\n\n{ARABIC}\n\n{PERSIAN}")
        read = await ask("extract_text", path="a.pdf")
    for words in (
        "הישיבה נפתחה בשעה 9:30",
        "1,250,000",
        "الاجتماع في الساعة",
        "۱۲۵۰ تومان (با مالیات)",
        "کتاب",
    ):
        assert words in read["text"]
    assert "a.pdf has text that runs from right to left: the order of words" in read["note"]
