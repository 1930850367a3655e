"""Patterns of names mean what fnmatch says, and no pattern takes long."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gate.arguments.name_patterns import KnownNames, name_matches, name_pattern
from tests.cpu_time import seconds

SIGNS = "ab[]!-*?^.\\cé"


@given(pattern=st.text(SIGNS, max_size=14), name=st.text(SIGNS, max_size=8))
@example(pattern="[b-a!x]", name="c")
@example(pattern="[!b-a]", name="c")
@example(pattern="[]-b]", name="a")
@example(pattern="[!]a]*", name="]")
@example(pattern="[a-", name="[a-")
@example(pattern="[--a]", name=".")
@example(pattern="[c-b-a]", name="-")
@example(pattern="*a*b*", name="xaxb")
def test_a_pattern_means_what_fnmatch_says(pattern: str, name: str) -> None:
    assert name_matches(name, pattern) is fnmatchcase(name, pattern)


@given(inner=st.text("ab-!^c\\", max_size=9), name=st.text("ab-!^c\\d\n", min_size=1, max_size=1))
def test_a_class_means_what_fnmatch_says(inner: str, name: str) -> None:
    assert name_matches(name, f"[{inner}]") is fnmatchcase(name, f"[{inner}]")


@given(pattern=st.text(SIGNS, max_size=10), names=st.lists(st.text(SIGNS, max_size=6), max_size=5))
@example(pattern="*a*", names=["b", "ab", "", "ba", "ab"])
@example(pattern="?*", names=["", "a", "", "bb"])
@example(pattern="[!a]", names=["a", "b", "\\"])
@example(pattern="*", names=[])
def test_a_pattern_means_of_several_known_names_each_that_it_means_by_itself(
    pattern: str, names: list[str]
) -> None:
    assert KnownNames(names).meant(pattern) == tuple(name for name in names if name_matches(name, pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-\uffff]" * 800,
        "[" * 4_096,
        "*a" * 2_048,
        "[!b-\U0010ffff]*" * 500,
        "?" * 4_096,
        "[ab]" * 1_000 + "*",
    ],
    ids=["wide classes", "open classes", "stars", "negated", "any", "small classes"],
)
def test_no_pattern_of_names_takes_long_to_be_read_or_matched(pattern: str) -> None:
    assert seconds(lambda: name_pattern.__wrapped__(pattern).matches("a" * 4_000 + "!"), 3, 0.05) < 0.05


def test_an_open_class_is_looked_for_once() -> None:
    assert seconds(lambda: name_pattern.__wrapped__("*/" + "[" * 64_000), 2, 0.3) < 0.3
