"""What its message has no room for: a button under its beginning, and windows that hold all of it."""

from __future__ import annotations

import json

import pytest

from gate.rules.action import Session
from gate.rules.ports import Note
from tests.cpu_time import within
from tests.views.samples import opened, parts, sent, shown
from views import long_result, notices

SESSION = Session("T1", "C1", "1.1")


def note(text: str = "", **more: object) -> Note:
    body = {"name": "files.read", "summary": "Read long.txt", "arguments": {}, "text": text, **more}
    return Note("n" * 26, SESSION, "read", body)


def pressed(of: Note) -> list[str]:
    return [one["value"] for one in parts(sent(notices.message(of)).blocks, "button")]


def held(of: Note) -> str:
    """The text of all its windows."""
    views = [long_result.window(of, int(value.split(".")[1])) for value in pressed(of)]
    return "".join(shown(opened(view)["blocks"]) for view in views if view)


def test_what_fits_has_no_button() -> None:
    assert pressed(note("short")) == []
    assert pressed(note("{}", structured={"files": [{"path": "a"}, {"path": "b"}]})) == []


def test_one_window_shows_all_of_a_long_text_and_the_button_carries_an_id_and_a_number_alone() -> None:
    of = note("".join(f"line {n}\n" for n in range(9_000)))
    assert pressed(of) == [f"{'n' * 26}.1.0"]
    assert "Show all" in shown(sent(notices.message(of)).blocks)
    assert all(f"line {n}\n" in held(of) for n in (0, 4_000, 8_998))
    assert "longer than what I keep" not in held(of)


def test_rows_that_a_table_has_no_room_for_are_shown_there() -> None:
    of = note("{}", structured={"files": [{"path": f"f{n}", "size": n} for n in range(300)]})
    assert "f299" not in shown(sent(notices.message(of)).blocks)
    assert "f299" in held(of)
    many = note("{}", structured={"files": [{"path": f"f{n}", "size": n} for n in range(3_000)]})
    assert "f2999" in held(many)
    plain = notices.plainly(many)
    assert plain is not None
    assert parts(plain.blocks, "button")


@pytest.mark.parametrize("character", ["x", "\u00e4", "\U0001f600", "\u202e"])
def test_a_text_of_any_characters_is_spread_over_windows_that_slack_takes(character: str) -> None:
    of = note(character * 256 * 1024, clipped=True)
    with within(10):
        views = [long_result.window(of, int(value.split(".")[1])) for value in pressed(of)]
    assert 1 < len(views) <= long_result.MOST_PARTS
    for view in views:
        opened(view)
        assert len(json.dumps(view)) < 250_000
    rest = long_result.NOT_KEPT if character in "xä" else long_result.NO_MORE
    assert rest in shown(views[-1]["blocks"])
    assert long_result.NOT_KEPT not in shown(views[0]["blocks"])


def test_there_is_no_window_of_another_number() -> None:
    assert [long_result.window(note("x" * 9_000), number) for number in (0, 2, 999_999_999)] == [None] * 3
