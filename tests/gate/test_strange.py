"""Text that may not look like what it is is noticed; ordinary text in any script is not."""

import sys
import unicodedata

import pytest

from gate.strange import strange


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
    assert not strange(text)


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
    assert strange(text)


def test_every_control_format_private_and_unassigned_character_is_strange():
    bad = {"Cc", "Cf", "Co", "Cn", "Cs"}
    missed = [
        hex(point)
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) in bad
        and chr(point) not in "\n\t\r"
        and not strange(f"a{chr(point)}b")
    ]
    assert missed == []
