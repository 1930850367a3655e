"""What is worked out of the words of a page grows with their number alone, and outside of the bot."""

from __future__ import annotations

import io
import time
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from servers.formats.page_words import LONGEST, Line, Word, fields, given, mentions, rows
from servers.sandbox.protocol import MOST_LISTED
from tests.cpu_time import cpu_seconds, within
from tests.servers.test_ocr_tools import pictures, tesseract  # noqa: F401 - the second is a fixture

PIXEL = 72 / 200


def all_of(found: Iterable[object]) -> None:
    deque(found, maxlen=0)


def apart(texts: Iterable[str], top: int = 0, left: int = 0) -> list[Word]:
    """Words of one row, each a cell of its own."""
    return [Word(text, left + 30 * n, top, 5, 10, 1.0, (1, 1, top)) for n, text in enumerate(texts)]


def stairs(n: int) -> list[Word]:
    """A page with as many rows as columns."""
    words = (apart("ab", 20 * row, 60 * row) for row in range(n))
    return [word for row in words for word in row]


PAGES: dict[str, Callable[[int], list[Word]]] = {
    "two rows beside each other": lambda n: [*apart("a" * n), *apart("b" * n, 20)],
    "labels over names": lambda n: [*apart(["From:"] * n), *apart(["Bob Fox"] * n, 20)],
    "one row of one cell": lambda n: [Word("a", 6 * x, 0, 5, 10, 1.0, (1, 1, 1)) for x in range(n)],
    "rows of one word": lambda n: [Word("a", 0, 20 * y, 5, 10, 1.0, (1, 1, y)) for y in range(n)],
    "stairs": stairs,
}
STEPS: dict[str, Callable[[list[Word]], object]] = {
    "fields": lambda words: all_of(fields(words)),
    "the first row": lambda words: next(rows(words), None),
    "values as they are given": lambda words: told(words, "values"),
    "a table as it is given": lambda words: told(words, "table"),
}


def told(words: list[Word], what: str) -> tuple[dict[str, Any], bytes]:
    page = {"page": 1, "turned": 0, "skew": 0.0, "differing": 0}
    return given([page | {"words": [[*word[:6], [*word.line]] for word in words]}], what)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("page", PAGES)
def test_four_times_as_many_words_are_about_four_times_as_much_work(page: str, step: str) -> None:
    few, many = PAGES[page](1_500), PAGES[page](6_000)
    run = STEPS[step]
    assert cpu_seconds(lambda: run(many), 2) < 9 * max(cpu_seconds(lambda: run(few), 3), 0.002)


@pytest.mark.parametrize("step", STEPS)
def test_no_pairs_and_no_cells_of_all_rows_are_held_at_once(step: str) -> None:
    """Two rows of 4,000 words each took 1.1 GB."""
    page = [*PAGES["two rows beside each other"](4_000), *stairs(500)]
    tracemalloc.start()
    try:
        STEPS[step](page)
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("what", ["texts", "values", "table"])
def test_what_is_given_of_a_page_is_no_longer_than_an_answer_needs(what: str) -> None:
    page = [
        *apart([f"x@{n}.example.com" for n in range(60_000)]),
        *apart(["Total:", "x" * 1_000] * 2_000, 20),
    ]
    assert len(told(page, what)[1]) <= 2 * MOST_LISTED


def test_a_label_is_held_against_what_stands_below_it_alone() -> None:
    page = [*apart(["Seller", "a", "Customer"]), *apart(["Fox Ltd", "b", "Owl GmbH"], 20)]
    assert [(one.label, one.value) for one in fields(page)] == [
        ("Seller", "Fox Ltd"),
        ("Customer", "Owl GmbH"),
    ]


def test_a_cell_is_in_the_column_that_it_overlaps_most_or_that_is_nearest() -> None:
    def word(text: str, left: int, width: int, top: int) -> Word:
        return Word(text, left, top, width, 10, 1.0, (1, 1, top))

    head = [word("a", 0, 40, 0), word("b", 60, 40, 0), word("c", 120, 40, 0)]
    crossing = [word("more of b", 85, 30, 20)]  # 15 pixels of it: only rows of one cell can cross a gap
    assert list(rows([*head, *crossing])) == [["a", "b", "c"], ["", "more of b", ""]]
    alone = [word("far left", -90, 5, 40), word("nearer to b", 105, 5, 60), word("far right", 900, 5, 80)]
    assert list(rows([*head, *alone]))[1:] == [
        ["far left", "", ""],
        ["", "nearer to b", ""],
        ["", "", "far right"],
    ]


TOKENS = [
    "-+" + "1" * 28 + "a",
    "111 ",
    "1.",
    "-1" * 14 + "a",
    "a@a.",
    "www.a-",
    "A" * 2 + "00" + "A0A0" * 7 + "-",
    "+1 1",
    "€1'",
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("between", ["", " "])
def test_no_line_of_tokens_is_long_searched(token: str, between: str) -> None:
    """62,000 characters took 2.6 s, in one step that nothing else ran beside."""
    line = Line((token + between) * (62_000 // len(token + between)), 1.0)
    with within(0.3):
        all_of(mentions([line]))


def test_what_stands_in_a_long_line_is_found_in_whole_words() -> None:
    line = " ".join(
        ["word"] * 399 + ["ann@example.com"] + ["word"] * 600 + ["x" * 3 * LONGEST, "+49 30 123456"]
    )
    found = [(one.kind, one.text, len(one.line) <= LONGEST) for one in mentions([Line(line, 1.0)])]
    assert found == [("email", "ann@example.com", True), ("phone number", "+49 30 123456", True)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("call +1 (555) 010-9999 now", "+1 (555) 010-9999"),
        ("+49 89/12 34 56", "+49 89/12 34 56"),
        ("+41 44 668 18 00", "+41 44 668 18 00"),
        ("+12", None),
        ("+4930123456a", None),
        ("1+493012345", None),
    ],
)
def test_phone_numbers_are_found_as_people_write_them(text: str, found: str | None) -> None:
    assert [one.text for one in mentions([Line(text, 1.0)])] == ([found] if found else [])


def small(rows: int, many: int, text: str, wide: int) -> bytes:
    """A PDF of rows of words in letters of a pixel, beside two lines that are read well."""
    out = io.BytesIO()
    canvas = Canvas(out, (4400, 150), invariant=1)
    canvas.setFont("Helvetica", 18)
    canvas.drawString(40, 110, "Invoice number 4711 from Example Company for services in November")
    canvas.drawString(40, 80, "Please transfer the amount within fourteen days to our account")
    canvas.rect(10, 30 + 1.6 * PIXEL, wide * many * PIXEL + 5, PIXEL, stroke=0, fill=1)
    for row in range(rows):
        words = canvas.beginText()
        words.setFont("Helvetica", 0.5 if wide > 2 else 0.02)
        for n in range(many):
            words.setTextOrigin(12 + wide * n * PIXEL, 30 + (3 * PIXEL if row == 0 else 0))
            words.textOut(f"{text} ")
        canvas.drawText(words)
    canvas.save()
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
@pytest.mark.parametrize("tool", ["extract_structured_data", "extract_table"])
async def test_the_words_of_a_page_cost_the_bot_next_to_nothing(tmp_path: Path, tool: str) -> None:
    """Those of 11 KB and 7 KB held its event loop for a second or more."""
    pages = {"a_pdf": small(2, 1_500, "a", 3), "b_pdf": small(1, 800, TOKENS[0], 2)}
    async with pictures(tmp_path, **pages) as ask:
        with within(0.5, time.process_time):
            for name in ("a.pdf", "b.pdf"):
                await ask(tool, path=name)
