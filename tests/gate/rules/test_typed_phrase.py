"""The typed phrase: made from the stored action, exact, and different for every version."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules.typed_phrase import phrase_for, phrase_matches

RECEIPT = "0123456789abcdef" * 4
RIGHT = phrase_for(RECEIPT, "Delete", "q3-draft.md", 1)


def action(phrase=RIGHT):
    return SimpleNamespace(phrase=phrase)


def test_it_names_the_verb_the_thing_and_a_code():
    verb, noun, code = RIGHT.split(" ")
    assert (verb, noun, len(code)) == ("delete", "q3-draft.md", 4)
    assert phrase_for(RECEIPT, "Delete", "x", 3).startswith("delete 3 ")


@given(st.text("0123456789abcdef", min_size=64, max_size=64))
def test_it_follows_the_receipt_and_is_plain_ascii(receipt):
    made = phrase_for(receipt, "Delete", "a.md", 1)
    assert made.isascii()
    assert made == phrase_for(receipt, "Delete", "a.md", 1)


def test_another_version_has_another_code():
    assert phrase_for("f" * 64, "Delete", "q3-draft.md", 1) != RIGHT


@pytest.mark.parametrize("noun", ["entwürfe", "a\u202eb", "x" * 60, "", "new\nline"])
def test_a_name_that_cannot_be_typed_plainly_is_left_out(noun):
    assert phrase_for(RECEIPT, "Delete", noun, 1).split(" ")[0] == "delete"
    assert len(phrase_for(RECEIPT, "Delete", noun, 1).split(" ")) == 2


@pytest.mark.parametrize("typed", [RIGHT, f" {RIGHT} ", f"{RIGHT}\n", f"\t{RIGHT}"])
def test_the_exact_phrase_passes_with_ascii_space_around(typed):
    assert phrase_matches(action(), typed)


FULL_WIDTH = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in RIGHT)
WRONG = {
    "upper case": RIGHT.upper(),
    "lower case": RIGHT.lower(),
    "full width": FULL_WIDTH,
    "zero width": RIGHT[:3] + "\u200b" + RIGHT[3:],
    "no-break space": RIGHT.replace(" ", "\u00a0"),
    "no-break space around": f"\u00a0{RIGHT}",
    "cyrillic": RIGHT.replace("e", "е", 1),
    "no-break hyphen": RIGHT.replace("-", "\u2011"),
    "tag character": RIGHT + "\U000e0041",
    "two spaces": RIGHT.replace(" ", "  "),
    "nothing": "",
    "ten kilobytes": RIGHT * 500,
    "the other version's": phrase_for("f" * 64, "Delete", "q3-draft.md", 1),
}


@pytest.mark.parametrize("typed", WRONG.values(), ids=WRONG)
def test_look_alikes_do_not_pass(typed):
    assert not phrase_matches(action(), typed)


def test_an_action_without_a_phrase_accepts_none():
    assert not phrase_matches(action(""), "")
