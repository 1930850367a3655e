"""Minutes give what was said to who said it: several voices, names above what is said, tables of who does what."""

from __future__ import annotations

from datetime import date

import pytest

from servers.formats import captions
from servers.meeting.minutes import Minutes, lines, minutes

CUE = "00:00:0{}.000 --> 00:00:0{}.500\n{}\n\n"


def captioned(*cues: str) -> Minutes:
    text = "WEBVTT\n\n" + "".join(CUE.format(n, n, cue) for n, cue in enumerate(cues, 1))
    return minutes(lines(captions.read(text, ".vtt")[0], spoken=True), "")


def noted(text: str) -> Minutes:
    return minutes(lines(text), "")


def actions(found: Minutes) -> list[tuple[str, str, str, int]]:
    return [(one.owner, one.what, one.due, one.line) for one in found.actions]


REPORT = ("Bob Roe", "Send the report", "Friday", 2)


@pytest.mark.parametrize(
    "cues",
    [
        (
            "<v Ann Lee>Hello.",
            "<v Ann Lee>Who sends it?</v> <v.loud Bob Roe>I'll send the report by Friday.</v>",
        ),
        ("Ann Lee: So, as I said", "Bob Roe: I'll send the report by Friday."),
        ("Ann Lee: So, as I said", "Bob Roe: I'll send\nthe report by Friday."),
        ("Ann Lee: Hello.", "- Ann Lee: Who sends it?\n- Bob Roe: I'll send the report by Friday."),
        ("Ann Lee: Hello.", "Bob Roe: I'll send the report", "Bob Roe: by Friday."),
        ("Ann Lee: Hello.", "Bob Roe: I'll send the report", "by Friday."),
    ],
)
def test_what_somebody_promises_in_captions_is_theirs(cues: tuple[str, ...]) -> None:
    found = captioned(*cues, "Ann Lee: Fine.")
    assert actions(found) == [REPORT]
    assert found.attendees == ["Ann Lee", "Bob Roe"]


def test_signs_in_captions_are_read_as_they_are_shown() -> None:
    found = captioned("<v Ann>We decided to buy from Miller &amp; Sons, <i>not</i> from Smith.</v>")
    assert found.decisions == []  # “not”: only what is said for sure is a decision
    found = captioned("<v Ann>We decided to buy from Miller &amp; <b>Sons</b>.</v>")
    assert [one.what for one in found.decisions] == ["Buy from Miller & Sons"]


@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_names_that_stand_above_what_is_said_are_those_of_the_speakers(gap: str) -> None:
    found = noted(
        f"Weekly sync\nNovember 23, 2026, 9:00AM\n\nLee, Ann   0:03{gap}Hi all. We decided to move in May.\n\n"
        f"Bob Roe   0:41{gap}Fine.\nI'll tell the customers by 2026-12-01.\n"
    )
    assert found.attendees == ["Lee, Ann", "Bob Roe"]
    assert [one.what for one in found.decisions] == ["Move in May"]
    assert [(one.owner, one.what, one.due_date) for one in found.actions] == [
        ("Bob Roe", "Tell the customers", date(2026, 12, 1))
    ]


def test_the_times_of_an_agenda_make_no_speakers() -> None:
    assert (
        noted("Agenda\nWelcome 9:00\nAnn says hello.\nBudget 9:30\nI'll show figures by Friday.\n").actions
        == []
    )


@pytest.mark.parametrize(
    "table",
    [
        "| Who | What | When |\n|-----|:----:|------|\n| Ann | Order laptops | 2026-12-01 |\n| – | Clean up | |\n",
        "Owner\tAction item\tDue date\nAnn\tOrder laptops\t2026-12-01\n\tClean up\t\n",
        "| **Aufgabe** | **Wer** | **Bis** |\n|---|---|---|\n| Order laptops | Ann | 2026-12-01 |\n| Clean up | | |\n",
    ],
)
@pytest.mark.parametrize(
    "part", ["## Decisions\n- Buy three\n\n", "Decisions:\n- Buy three\n\nAction items\n"]
)
def test_a_table_of_who_does_what_by_when_gives_its_rows(table: str, part: str) -> None:
    found = noted(f"{part}{table}\nBob will call the bank by Friday.\n")
    assert [one.what for one in found.decisions] == ["Buy three"]
    told = [(one.owner, one.what, one.due_date) for one in found.actions]
    assert told[:2] == [("Ann", "Order laptops", date(2026, 12, 1)), ("", "Clean up", None)]
