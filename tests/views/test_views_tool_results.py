"""Answers of tools as people read them."""

import pytest

from views import payload_check
from views.block_kit import Message
from views.tool_results import in_table, in_words, moment_in, news, outlined, readable, table

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


def test_an_outline_is_every_plain_value_and_no_digest():
    result = {
        "path": "archive/a.md",
        "sha256": "f" * 64,
        "size": 131,
        "replaced": False,
        "expected": {"a": {"b": 1}},
        "people": ["Ann", "Ben"],
        "rows": [{"n": 1, "more": {"m": 3}}, {"n": 2}],
        "note": "",
    }
    assert in_words(result, "").split("\n") == [
        "path           archive/a.md",
        "size           131 B",
        "replaced       no",
        "expected.a.b   1",
        "people         Ann",
        "people         Ben",
        "rows 1.n       1",
        "rows 1.more.m  3",
        "rows 2.n       2",
    ]


def test_columns_and_rows_of_values_are_a_table():
    answer = {
        "path": "b.sqlite",
        "columns": ["payee", "sum"],
        "rows": [["Luna", 42.5], ["Mar", 120]],
        "count": 2,
    }
    found = table(answer)
    assert found is not None
    assert (found.head, found.rows) == (["payee", "sum"], [["Luna", "42.5"], ["Mar", "120"]])


@pytest.mark.parametrize("rows", [[["a"]], [["a", 1, 2]], "a", [["a", ["b"]]], []])
def test_rows_that_do_not_fit_their_columns_are_no_table(rows):
    assert table({"columns": ["x", "y"], "rows": rows}) is None


def test_columns_of_one_name_are_no_table():
    assert table({"columns": ["x", "x"], "rows": [["a", "b"]]}) is None


def test_the_remark_of_an_outline_is_whole():
    note = "Nothing is in the index yet. Index a folder first, with the sentence that help shows for it."
    assert in_words({"question": "rent", "found": False, "note": note, "truncated": False}, "") == (
        f"question  rent\nfound     no\n{note}"
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"files": [{"name": "a.md", "size": 12}]}',
        '  [{"name": "a.md"}]',
        '{"a": {"b": [1, 2]}}',
        '["x", "y"]',
    ],
)
def test_an_answer_in_json_is_never_shown_as_json(text):
    for structured in (None, {"result": text}):
        told = in_words(structured, text)
        assert told
        assert not set('{}[]"') & set(told)


@pytest.mark.parametrize("text", ["", "done", "{not json}", "[draft] see below", "{}"])
def test_what_is_no_json_is_left_as_it_is(text):
    assert in_words(None, text) == text


def test_a_tools_own_summary_stands_first():
    assert in_words({"summary": "2 files.", "items": [{"name": "a"}]}, "").split("\n") == [
        "2 files.",
        "name",
        "a",
    ]


def test_news_is_what_is_more_than_done():
    known = "Move a.md to archive/a.md"
    assert news("Moved a.md to archive/a.md.", known + " Moved") == ""
    assert news("path  archive/a.md\nreplaced  no", known) == ""
    assert news("ok", known) == ""
    assert news("path  archive/a.md\nwords  12", known) == "words  12"
    assert (
        news("Error: no room left, nothing was written", known) == "Error: no room left, nothing was written"
    )
    assert news("Not moved", known + " Moved") == "Not moved"


def test_a_text_in_the_wrapping_of_its_server_is_not_shown_twice_over():
    assert in_words({"result": "It is raining."}, "It is raining.") == "It is raining."


def test_a_long_answer_is_not_looked_through_line_by_line():
    """The soak found 0.13 s of the event loop in an answer of 256 KB that had 60,000 lines."""
    told = "\n".join(["done"] * 60_000)
    assert news(told, "moved a.md") == told
    assert news("done\n7 lines left out", "moved a.md") == "7 lines left out"


def test_values_that_are_not_shown_are_counted_alone():
    told = outlined({"rows": [[number] for number in range(1_000)]}).splitlines()
    assert len(told) == 61
    assert told[-1] == "… 940 more values"


@pytest.mark.parametrize("empty", [None, "", []])
def test_things_without_any_value_are_still_rows(empty):
    answer = {"rows": [{"total": empty}]}
    found = table(answer)
    assert found is not None
    assert (found.head, found.rows) == (["total"], [[""]])
    assert payload_check.message(Message("x", in_table(found))) == ()
    assert readable(answer) == "total\n"
