"""Functions of texts keep what they gave, bounded by the characters of the texts."""

from __future__ import annotations

from gate.arguments.text_cache import COST_OF_A_TEXT, KEPT, Remembered


def test_the_texts_of_a_call_are_worked_out_once_however_it_cuts_them() -> None:
    for size in (1, 300, 3_000, 60_000):
        length = Remembered(len)
        texts = [f"{number:0{size}}" for number in range(64 * 1024 // (size + COST_OF_A_TEXT))]
        for _ in range(3):
            assert [length(text) for text in texts] == [len(text) for text in texts]
        assert length.made == len(texts)


def test_what_was_asked_for_long_ago_is_let_go() -> None:
    length = Remembered(len)
    size = KEPT // 10 - COST_OF_A_TEXT
    texts = [f"{number:0{size}}" for number in range(50)]
    for text in texts:
        length(text)
    assert len(length._new) + len(length._old) <= 20
    assert length("x" * (2 * KEPT)) == 2 * KEPT


def test_what_is_asked_for_from_time_to_time_is_kept() -> None:
    length = Remembered(len)
    size = KEPT // 10 - COST_OF_A_TEXT
    for number in range(50):
        length(f"{number:0{size}}")
        length("kept")
    assert length.made == 51
