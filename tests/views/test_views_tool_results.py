"""Answers of tools as people read them."""

import json
from unittest.mock import patch

import pytest

from gate.rules.action import Json
from tests.cpu_time import seconds
from views import payload_check
from views.block_kit import SAID, Message, inline
from views.tool_results import DEEPEST, gave, in_table, in_words, moment_in, news, outlined, readable, table

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


def test_a_short_list_stands_in_one_cell_and_a_digest_in_none():
    twins = {"paths": ["a.pdf", "b.pdf"], "size": 1457, "sha256": "f" * 64}
    told = readable({"groups": [twins], "extra": ["b.pdf"], "summary": "1 file is there twice."})
    assert told is not None
    assert [line.split() for line in told.split("\n")[1:]] == [
        ["paths", "size"],
        ["a.pdf,", "b.pdf", "1.5", "KB"],
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


@pytest.mark.parametrize("rows", [[["a"]], [["a", 1, 2]], "a", [["a", [["b"]]]], []])
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


def nested(value: Json, depth: int, name: str = "a") -> Json:
    for _ in range(depth):
        value = {name: value}
    return value


def test_values_that_are_nested_too_deep_are_counted_in_words():
    told = outlined({"deep": nested([1, [2]], DEEPEST + 5), "high": 5}).splitlines()
    assert told[0].split(maxsplit=1) == ["deep" + ".a" * (DEEPEST - 1), "2 values, nested too deep to show"]
    assert told[1].split() == ["high", "5"]
    assert outlined(nested(1, DEEPEST)).startswith("a.a.")


def test_values_nested_too_deep_behind_the_last_row_are_counted_with_the_others():
    value = {"deep": nested([1, 2, 3], 50), "rows": [1] * 70, "more": nested([1, 2], 50)}
    assert outlined(value).splitlines()[-1] == "… 13 more values"


@pytest.mark.parametrize("value", [nested([1] * 60_000, 800), nested([""] * 60_000, 800)])
def test_no_nested_answer_takes_long_to_outline(value: Json):
    assert seconds(lambda: outlined(value), 2, 0.25) < 0.25


def test_a_long_name_of_a_value_is_clipped():
    assert outlined({"k" * 5_000: 1}) == f"{'k' * 90}… (+4,910)  1"


def test_a_long_value_does_not_widen_every_row_of_its_column():
    told = readable({"rows": [{"a": "x" * 200_000, "b": 1}, *[{"a": "y", "b": 2}] * 5]})
    assert told is not None
    assert len(told) < 10_000
    assert "… (+196,0" in told


def test_no_value_of_odd_characters_takes_long_to_outline():
    assert seconds(lambda: outlined({f"{n}": "\u202e" * 64_000 for n in range(8)}), 2, 0.1) < 0.1


def test_a_clipped_value_tells_how_many_characters_are_left_out():
    assert outlined({"a": "x" * 10_000}) == f"a  {'x' * 49}… (+9,951)"


@pytest.mark.parametrize("empty", [None, "", []])
def test_things_without_any_value_are_still_rows(empty):
    answer = {"rows": [{"total": empty}]}
    found = table(answer)
    assert found is not None
    assert (found.head, found.rows) == (["total"], [[""]])
    assert payload_check.message(Message("x", in_table(found))) == ()
    assert readable(answer) == "total\n"


MANY = {"rows": [{"name": f"n{i}", "of": None, "late": "x" if i == 19_999 else None} for i in range(20_000)]}


def test_of_a_long_table_only_the_rows_that_can_be_shown_are_made_and_the_others_are_counted():
    """Eight answers of a plan took 0.6 s, and each of them shows 1,500 characters."""
    with patch("views.tool_results.inline", wraps=inline) as spelled:
        found = table(MANY)
        lines = in_words(MANY, "").splitlines()
    assert spelled.call_count < 10_000
    assert found is not None
    assert (found.head, len(found.rows), found.more) == (["name", "late"], 99, 19_901)
    assert "19,901 more rows" in str(in_table(found))
    assert lines[0] == "name   late"
    assert lines[-1] == f"… {20_000 - (len(lines) - 2):,} more rows"
    assert 1_500 > len(lines) > 500
    assert len("\n".join(lines)) <= SAID


def test_of_a_table_of_tiny_rows_no_more_are_told_than_a_window_needs():
    """29,126 rows of one digit have room in 300,000 characters, and took 0.14 s to be set in columns."""
    tiny: Json = {"rows": [{f"k{number % 8}": 1} for number in range(29_126)]}
    with patch("views.tool_results.inline", wraps=inline) as spelled:
        lines = in_words(tiny, "", 300_000).splitlines()
    assert spelled.call_count == 5_000 * 8
    assert len(lines) == 1 + 5_000 + 1
    assert lines[-1] == "… 24,126 more rows"


def test_a_table_of_few_long_rows_keeps_what_the_tool_says_of_it_below():
    told = in_words({"rows": [{"a": "x" * 900}] * 10, "summary": "Ten.", "note": "Look."}, "", 2_000)
    assert [one[:12] for one in told.splitlines()] == [
        "Ten.",
        "a",
        "x" * 12,
        "x" * 12,
        "… 8 more row",
        "Look.",
    ]


def test_a_size_that_no_unit_holds_is_told_as_a_number():
    assert in_words({"files": [{"name": "a", "size": 10**400}]}, "").endswith("0" * 400)


@pytest.mark.parametrize("value", [{"r": [{"a": "x" * 4_000, "b": 1}] + [{"a": "y", "b": 1}] * 20_000}, MANY])
def test_no_table_takes_long_to_be_told(value: Json):
    assert seconds(lambda: (in_words(value, ""), table(value)), 2, 0.15) < 0.15


def test_a_list_is_a_table_where_some_of_its_many_columns_say_nothing() -> None:
    row = {**{f"c{n}": n for n in range(10)}, "status": "", "note": None}
    assert table({"events": [row, row]})
    assert table({"events": [{**row, "status": "cancelled"}]}) is None


def test_what_a_change_gave_is_told_in_words_and_without_what_programs_use():
    result: Json = {
        "trash_id": "20261126T173757-750a8d744a9ac957",
        "paths": ["archive/a.md"],
        "count": 1,
        "kept_in": ".countersign/trash/20261126T173757-750a8d744a9ac957",
        "kept_until": "2026-12-26T17:37:57Z",
        "after": {"archive/a.md": "absent"},
        "file": "2026-11-27-014d6f025d0e.ics",
        "created_at": "2026-11-26T17:37:57Z",
        "file_name": "report.pdf",
        "html_url": "https://example.com/1",
    }
    told = "kept until  26 December 2026\nfile name   report.pdf\nhtml url    https://example.com/1"
    known = "Delete archive/a.md"
    assert gave(result, "", known) == told
    assert gave(None, json.dumps(result), known) == told
    assert gave({"result": json.dumps(result)}, json.dumps(result), known) == told


@pytest.mark.parametrize("text", ["The printer_room  is locked.", "Sent, but Bob is away until Monday."])
def test_the_own_words_of_a_tool_stay_as_they_are(text):
    assert gave(None, text, "Send it") == text
    assert gave({"result": text}, text, "Send it") == text
    assert gave({"summary": text, "id": 1}, "", "Send it") == text
