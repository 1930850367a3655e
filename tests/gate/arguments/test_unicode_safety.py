"""Text that may not look like what it is is noticed; ordinary text in any script is not."""

import sys
import unicodedata
from collections import Counter

import pytest

from gate.arguments.unicode_safety import MOST_DIFFERENT, deceptive_positions, is_deceptive
from tests.cpu_time import cpu_seconds, seconds


@pytest.mark.parametrize(
    "text",
    [
        "notes.md",
        "Grüße aus Köln",
        "привет мир",
        "日本語のファイル",
        "a\tb\nc",
        "👍🏽 done",
        "👨‍👩‍👧",
        "❤️",
        "naïve café",
        "Ελλάδα",
    ],
)
def test_ordinary_text_is_not_strange(text):
    assert not is_deceptive(text)


@pytest.mark.parametrize(
    "text",
    [
        "a\u202eb",
        "a\u200bb",
        "x\U000e0041",
        "pаypal",
        "a\x00",
        "\x1b[31m",
        "\ufeff",
        "a\u2066b",
        "\u3164",
        "раssword",
    ],
)
def test_hidden_reordering_and_mixed_text_is_strange(text):
    assert is_deceptive(text)


def test_every_control_format_private_and_unassigned_character_is_strange():
    """Of those that stand for no character, one in a hundred: each is spelled out in tests/views/test_views_hostile.py."""
    assert plain(char for char in every("Cc", "Cf") if char not in "\n\t\r") == []
    assert plain(every("Co", "Cn", "Cs")[::100]) == []


def every(*wanted: str) -> list[str]:
    """Every code point of these general categories."""
    return [chr(n) for n in range(sys.maxunicode + 1) if unicodedata.category(chr(n)) in wanted]


def plain(chars, text="a{}b"):
    """Those of the characters that a click would confirm inside this text."""
    return [hex(ord(char)) for char in chars if not is_deceptive(text.format(char))]


def test_every_space_but_the_ordinary_one_is_strange():
    assert plain(char for char in every("Zs", "Zl", "Zp") if char != " ") == []


def test_every_default_ignorable_code_point_is_strange():
    ranges = (
        "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff ffa0 fff0-fff8 "
        "1bca0-1bca3 1d173-1d17a e0000-e0fff"
    )  # DerivedCoreProperties.txt, Unicode 15
    ends = [one.partition("-")[::2] for one in ranges.split()]
    ignorable = [chr(n) for low, high in ends for n in range(int(low, 16), int(high or low, 16) + 1)]
    assert len(ignorable) > 4_000
    assert plain(ignorable) == []
    assert plain(ignorable, "日{}本") == []


@pytest.mark.slow
def test_every_character_that_unicode_names_a_filler_or_a_blank_without_ink_is_strange():
    drawn = {"\u2422", "\U0001f1a5"}  # the blank symbol, and squared letters, have ink
    named = [
        chr(n)
        for n in range(sys.maxunicode + 1)
        if any(word in unicodedata.name(chr(n), "").split() for word in ("BLANK", "FILLER", "INVISIBLE"))
    ]
    assert {"\u2800", "\u3164", "\uffa0", "\u115f", "\U00016fe4"} <= set(named)
    assert plain(char for char in named if char not in drawn) == []


@pytest.mark.slow
def test_every_compatibility_form_of_a_separator_is_strange():
    forms = [
        chr(n)
        for n in range(128, sys.maxunicode + 1)
        if set(unicodedata.normalize("NFKC", chr(n))[:2]) & set("/\\.:@") and chr(n) != "…"
    ]
    assert {"\uff0f", "\u2024", "\uff20", "\uff1a", "\uff3c", "\u2025"} <= set(forms)
    cut = [c for c in forms if len(unicodedata.normalize("NFKC", c)) <= 2]
    assert plain(cut) == []


@pytest.mark.parametrize(
    "char", "\u2044\u2215\u29f8\u2571\u27cb\u2216\u29f5\u2236\ua789\u02d0\u0589\u0660\u06f0\u0701\u3033ノ丿"
)
def test_a_look_alike_of_a_separator_is_strange_between_ascii_letters(char):
    assert plain([char], "config{}prod.yaml") == []
    assert plain([char], "ann{}example.com") == []


def test_every_letter_whose_compatibility_form_is_ascii_is_strange_in_an_ascii_word():
    forms = [
        chr(n)
        for n in range(128, sys.maxunicode + 1)
        if unicodedata.category(chr(n)) in ("Lu", "Ll", "Nd")
        and (form := unicodedata.normalize("NFKC", chr(n))).isascii()
        and form.isalnum()
        and chr(n) != "\u2139"
    ]
    assert len(forms) > 800
    assert {"\ufb01", "\ufb04", "\u0133"} <= set(forms)
    assert plain(forms) == []


@pytest.mark.parametrize(
    "word", ["\ufb01le", "\u0261it", "de\u01c0ete", "\u1d04at", "c\u0251t", "\ua731h", "j\u1d0fin"]
)
def test_a_look_alike_of_an_ascii_letter_is_strange(word: str) -> None:
    assert is_deceptive(word)
    assert is_deceptive(f"{word} status")


@pytest.mark.parametrize(
    "word", ["straße", "naïve", "œuvre", "Ærø", "kapı", "Łódź", "ŋutí", "ɛnyɛ", "ʋu", "đak"]
)
def test_letters_of_usual_latin_alphabets_are_not_strange(word: str) -> None:
    assert not is_deceptive(word)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "script", ["CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET", "GEORGIAN", "OSAGE"]
)
def test_every_letter_of_another_alphabet_is_strange_in_a_latin_word(script):
    letters = [c for c in every("Lu", "Ll", "Lo") if unicodedata.name(c, "").startswith(f"{script} ")]
    assert letters
    assert plain(letters, "pay{}pal") == []


@pytest.mark.parametrize(
    "text",
    ["日本：東京", "宛先：Ann", "ノート", "日本語　テキスト", "１２３株式会社", "नमः", "שלום׃", "١٠٠ ريال", "m² and 1ª", "Wait… ok", "Tシャツ"],
)  # fmt: skip
def test_what_a_script_uses_among_its_own_letters_is_not_strange(text):
    assert not is_deceptive(text)


def test_text_of_more_different_characters_than_anybody_writes_is_strange():
    ideographs = [chr(n) for n in range(0x4E00, 0x9FA6) if chr(n) != "\u4e36" and chr(n) != "\u4e3f"]
    assert not is_deceptive("".join(ideographs[:MOST_DIFFERENT] * 3))
    assert is_deceptive("".join(ideographs[: MOST_DIFFERENT + 1]))


def test_no_text_of_many_different_characters_is_examined_slowly_again():
    ranges = (range(0x4E00, 0xA000), range(0xAC00, 0xD7A4), range(0x20000, 0x2A6E0))
    text = "".join(chr(n) for one in ranges for n in one)
    assert len(text) > 70_000
    assert seconds(lambda: list(deceptive_positions(text)), 3, 0.25) < 0.25
    assert seconds(lambda: is_deceptive(text), 3, 0.1) < 0.1


@pytest.mark.parametrize("part", ["\u200b", "a\u0430b\u200b", "payp\u0430l ", "\u4e00\u4e3f"])
def test_no_long_text_of_odd_characters_is_examined_one_by_one(part):
    calls = Counter()
    sys.setprofile(lambda frame, event, _: calls.update([frame.f_code.co_name] if event == "call" else []))
    try:
        found = list(deceptive_positions(part * 10_000))
    finally:
        sys.setprofile(None)
    del calls["deceptive_positions"]  # is gone on with after each that it finds
    assert calls.total() < 500
    assert len(found) == 10_000 * (part != "\u4e00\u4e3f") * (1 + ("b" in part))


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("\u3000\u3164\u3000", [1]),  # a letter by its category, without ink
        ("\u3000a\u3000", [0, 2]),
        ("\u4e00\u0627 \u4e00b \u0627b", [0, 1, 6]),
        ("\u0661\u0660 \u0660\u06270", []),
    ],
)
def test_what_is_ordinary_is_told_by_the_letters_beside_it(text, odd):
    assert list(deceptive_positions(text)) == odd


@pytest.mark.parametrize(
    "text",
    [
        "a\u2d7fb",  # a Tifinagh joiner
        ".\u2d7fenv",
        "\u2d7fpay",
        "pay\u05b0roll",
        "pay\u064broll",
        "x\u093cy",
        "a\u0e31b",
        "e\u0301\u0e34",
        "\u0430\u064b\u0441",
        "pay\u0483",  # named COMBINING CYRILLIC
        "pay\u2de0",
        "a\ua66fb",
        "\u03b1\u0483",
        "pay\U0001e000",  # of Glagolitic
        "\u0430\U0001e000",
        "a\ua8e0",  # of Devanagari
        "a\U00011366",  # of Grantha
        "a\u0342",  # of Greek
        "\u0430\u0363",  # of Latin
        "a\u3099",
        "hr\u0337pay",
        "a\u0338b",
        "hr \u0338pay",
        "\u0430\u0338",
        "a\u20e5",
        "a\u20e0",
        "\u00b5\u05bfb",
        "a)\u05c2b",
        "a" + "\u0301" * 5,
        "\u05d0" + "\u05b0" * 9,
    ],
)
def test_marks_of_another_script_and_many_on_one_letter_are_strange(text: str) -> None:
    assert is_deceptive(f"read {text} now")


@pytest.mark.parametrize(
    "text",
    [
        "Tiếng Việt, Nguyễn Huệ",
        "Yorùbá ẹ̀kọ́",
        "ἄνθρωπος, ᾧ",
        "йод и ёлка",
        "مُحَمَّدٌ رَسُولُ",
        "שָׁלוֹם עֲלֵיכֶם בְּרֵאשִׁית",
        "हिन्दी में लिखा है, क़लम",
        "สวัสดีครับ ที่นี่ก้ำ (ก่)",
        "မြွှေ့ မြန်မာ",
        "ខ្មែរ",
        "བོད་ཡིག",
        "தமிழ் API, മലയാളം v2",
        "ガギグ",
        "x̄ = 3, α̂",
        "a ≠ b, x ∉ M, p ≮ q, a ≢ b",
        "1\u20e3 first",
        "о҃ і҃ слово̀, боⷤ",
        "uͤber",
    ],
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_marks_on_letters_of_their_own_script_are_not_strange(text: str, form: str) -> None:
    assert not is_deceptive(unicodedata.normalize(form, text))  # type: ignore[arg-type]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("piece", ["a\u2d7f", "\u0301", "\u0915\u093f"])
def test_eight_times_the_marks_take_about_eight_times_the_time(piece: str) -> None:
    few, many = piece * 10_000, piece * 80_000
    assert cpu_seconds(lambda: is_deceptive(many)) < 24 * cpu_seconds(lambda: is_deceptive(few)) + 0.05


@pytest.mark.parametrize(
    "char", "\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212\ufe58\ufe63\uff0d\uff3f\u02d7"
)
def test_what_looks_like_a_hyphen_or_a_low_line_is_strange_in_a_name(char: str):
    texts = (
        "reports/q3{}summary.md",
        "q3{}summary.md",
        "Replace reports/q3{}summary.md",
        "ann{}b@example.com",
    )
    assert [plain([char], text) for text in (*texts, "q3{}summary", "{}rf/x")] == [[]] * 6


@pytest.mark.parametrize(
    "text",
    [
        "The years 2019–2021 were good.",
        "2019–2021",
        "Monday–Friday, from 9 to 5",
        "We came — and went.",
        "He said it—again.",
        "a well‑known e‑mail",
        "It was −5 degrees.",
        "日本－東京",
        "Henry Ⅳ was king. So was Henry Ⅴ",
        "第Ⅱ章",
    ],
)
def test_dashes_and_numerals_in_prose_are_not_strange(text: str):
    assert not is_deceptive(text)


def test_every_letter_number_that_looks_like_a_letter_is_strange_in_a_name():
    forms = [char for char in every("Nl") if unicodedata.normalize("NFKC", char).isascii()]
    assert len(forms) == 32
    assert [plain(forms, text) for text in ("su{}ary", "a/{}.md", "x{}", "{}x")] == [[]] * 4


@pytest.mark.parametrize("zero", "\u0e50\u0ed0\u0966\u1040\u0ce6\u0be6\u09e6\u07c0\u17e0\u0660\u06f0")
def test_digits_of_another_script_stand_in_no_word_or_number(zero: str) -> None:
    for text in (f"g{zero}{zero}gle.md", f"100{zero}", f"pay 5{zero} now", f"{zero}1"):
        assert is_deceptive(text), text


@pytest.mark.parametrize(
    "text",
    [
        "\u0e1b\u0e35 \u0e52\u0e55\u0e56\u0e59",
        "\u0633\u0627\u0644\u06f1\u06f4",
        "\u0915\u0915\u0967\u0968",
        "\uff11\u6708",
        "\u0e52\u0e55",
        "\u0661\u0662\u0663",
        "H\u2082O x\u00b2",
    ],
)
def test_digits_among_the_letters_of_their_script_are_ordinary(text: str) -> None:
    assert not is_deceptive(text)
