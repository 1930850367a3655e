"""Answers of tools as people read them."""

import pytest

from views.readable import brief, moment_in, readable

LISTING = {
    "path": "reports",
    "items": [
        {
            "name": "a.csv",
            "kind": "file",
            "size": 78,
            "modified": "2026-11-21T00:46:54.619591Z",
            "note": None,
        },
        {
            "name": "long-name.md",
            "kind": "file",
            "size": 1310,
            "modified": "2026-11-21T00:46:54Z",
            "note": None,
        },
    ],
    "truncated": False,
    "note": "",
}


def test_a_list_of_things_is_a_table():
    assert readable(LISTING) == (
        "name          kind  size    modified\n"
        "a.csv         file  78 B    2026-11-21 00:46\n"
        "long-name.md  file  1.3 KB  2026-11-21 00:46"
    )


def test_more_than_was_listed_is_said():
    told = readable({**LISTING, "truncated": True, "note": "Only the first 2."})
    assert told is not None
    assert told.endswith("(There is more than this.)\nOnly the first 2.")


def test_a_text_is_shown_as_it_is():
    assert readable({"path": "a.md", "text": "# Hello\n", "truncated": False}) == "# Hello\n"


@pytest.mark.parametrize(
    "structured",
    [
        None,
        [],
        "text",
        {},
        {"a": 1},
        {"items": []},
        {"a": [{"b": 1}], "c": [{"d": 2}]},
        {"items": [{"a": {"b": 1}}]},
    ],
)
def test_anything_else_is_left_to_the_tools_own_words(structured):
    assert readable(structured) is None


def test_a_forged_column_cannot_break_the_table():
    told = readable({"items": [{"name": "evil\nsize 0", "size": 1}]})
    assert told is not None
    assert told.count("\n") == 1


def test_times_are_shown_to_the_minute():
    assert moment_in("2026-11-21T00:46:54.619591Z") == "2026-11-21 00:46"
    assert moment_in("yesterday") == "yesterday"


def test_a_result_in_brief_is_its_plain_values():
    result = {
        "path": "archive/a.md",
        "sha256": "f" * 64,
        "size": 131,
        "replaced": False,
        "expected": {"a": "b"},
        "note": "",
    }
    assert (
        brief(result)
        == "path      archive/a.md\nsha256    " + "f" * 53 + "… (+11)\nsize      131 B\nreplaced  no"
    )


@pytest.mark.parametrize("structured", [None, "text", {}, {"nested": {"a": 1}}])
def test_without_plain_values_the_tools_own_words_stay(structured):
    assert brief(structured) is None


def test_a_text_in_the_wrapping_of_its_server_is_not_shown_twice_over():
    assert brief({"result": '{"key": "PROJ-456"}'}) is None
