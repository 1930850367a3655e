"""Argument bytes: hostile JSON is refused with a sentence, the rest round-trips exactly."""

import json
from unittest.mock import patch

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gate.rules import canonical_json
from gate.rules.canonical_json import MAX_BYTES, MAX_NAME, BadArguments, canonical, leaves, parse

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    LEAF | TEXT, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXT, v, max_size=4), max_leaves=12
)
ARGS = st.dictionaries(TEXT, VALUES, max_size=4)

REFUSED = {
    "a duplicate key": '{"a": 1, "a": 2}',
    "a duplicate key inside": '{"a": {"b": 1, "b": 2}}',
    "NaN": '{"a": NaN}',
    "infinity": '{"a": Infinity}',
    "a float beyond range": '{"a": 1e400}',
    "2^63": '{"a": 9223372036854775808}',
    "five thousand digits": '{"a": ' + "9" * 5000 + "}",
    "a lone surrogate": '{"a": "\\ud800"}',
    "a lone surrogate as key": '{"\\udfff": 1}',
    "ten thousand levels": "[" * 10_000 + "]" * 10_000,
    "33 levels": '{"a":' * 33 + "1" + "}" * 33,
    "a list": "[1]",
    "text": '"a"',
    "nothing": "",
    "half an object": '{"a": ',
    "a megabyte": '{"a": "' + "x" * 1_000_000 + '"}',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_hostile_json_is_refused_with_a_sentence(text):
    with pytest.raises(BadArguments, match=r"\.$"):
        parse(text)


def test_bytes_that_are_no_utf8_are_refused():
    with pytest.raises(BadArguments, match="UTF-8"):
        parse(b'{"a": "\xff"}')


@pytest.mark.parametrize(
    "args", [{"a": float("nan")}, {"a": {1: 2}}, {"a": object()}, {"a": b"x"}, {"a": "\udc00"}]
)
def test_python_values_that_json_cannot_say_are_refused(args):
    with pytest.raises(BadArguments):
        canonical(args)


def test_nesting_built_in_memory_is_refused_without_recursing():
    deep = {"a": 1}
    for _ in range(10_000):
        deep = {"a": deep}
    with pytest.raises(BadArguments, match="32"):
        canonical(deep)


def test_exactly_64_kib_fits_and_a_byte_more_does_not():
    room = MAX_BYTES - len('{"a":""}')
    assert len(canonical({"a": "x" * room})) == MAX_BYTES
    with pytest.raises(BadArguments):
        canonical({"a": "x" * (room + 1)})


LONG_PATHS = {
    "one long name over many values": {"data": {"k" * 22_000: [1] * 14_000}},
    "a name over many values": {"data": {"k" * MAX_NAME: [1] * 14_000}},
    "names within each other": {"a": {"k" * 900: {"l" * 900: {"m" * 900: [0] * 1_000}}}},
    "lists within each other": {"a": [[[[[[[[[[[[[[[[[[[[[1] * 30_000]]]]]]]]]]]]]]]]]]]]},
}


@pytest.mark.parametrize("args", LONG_PATHS.values(), ids=LONG_PATHS)
def test_paths_that_would_fill_the_memory_are_refused_with_a_sentence(args):
    text = json.dumps(args, separators=(",", ":"))
    assert len(text) <= MAX_BYTES
    for refused, given_args in ((canonical, args), (parse, text)):
        with pytest.raises(BadArguments, match=r"^[^k]* at most [\d,]+ can be shown\.$"):
            refused(given_args)


def test_ordinary_names_and_long_lists_are_not_too_long():
    name = "k" * MAX_NAME
    assert parse(canonical({name: 1})) == {name: 1}
    for args in ({"values": [1] * 30_000}, {"rows": [["ab", 12]] * 5_000}):
        assert parse(canonical(args)) == args


@pytest.mark.slow
@given(ARGS)
def test_no_arguments_have_longer_paths_than_was_counted(args):
    """What is counted is at least what stands before the values."""
    counted = sum(len(path) for path, _ in leaves(args))
    assume(counted)
    with patch.object(canonical_json, "MAX_PATHS", counted - 1):
        with pytest.raises(BadArguments, match="long together"):
            canonical(args)


def test_a_name_that_is_given_twice_is_quoted_in_part():
    with pytest.raises(BadArguments) as raised:
        parse(f'{{"{"a" * 900}": 1, "{"a" * 900}": 2}}')
    assert len(str(raised.value)) < 300


@given(ARGS)
def test_what_was_written_reads_back_the_same(args):
    again = parse(canonical(args))
    assert again == args
    assert canonical(again) == canonical(args)


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0, False), ("1", 1), (None, ""), (0.0, -0.0), ([], {})]
)
def test_values_that_look_alike_have_different_bytes(one, other):
    assert canonical({"a": one}) != canonical({"a": other})


def test_whole_numbers_beyond_2_to_53_are_kept():
    assert parse(canonical({"a": 2**53 + 1})) == {"a": 2**53 + 1}


@pytest.mark.slow
@given(ARGS)
def test_every_leaf_has_a_path_of_its_own(args):
    paths = [path for path, _ in leaves(args)]
    keys_are_plain = all("." not in k and "[" not in k for k in str(list(args)))
    assert not keys_are_plain or len(paths) == len(set(paths))


def test_leaves_are_named_as_people_read_them():
    args = {"to": [{"name": "a"}, {"name": "b"}], "n": 1, "empty": {}, "none": []}
    assert dict(leaves(args)) == {"to[0].name": "a", "to[1].name": "b", "n": 1, "empty": {}, "none": []}
