"""Minutes of meetings as programs and people write them down, held against what a reader would note."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice, product
from pathlib import Path
from string import ascii_lowercase

import pytest

from servers.formats import captions
from servers.meeting.minutes import Minutes, lines, minutes
from servers.sandbox.protocol import Refused
from tests.cpu_time import cpu_seconds
from tests.patterns import TIMES
from tests.servers.figures import told
from tests.servers.test_meeting_tools import gate_over

TEAMS = """WEBVTT

NOTE duration: 00:03:10

STYLE
::cue { color: white }

f0a1/12-0
00:00:01.000 --> 00:00:04.500
<v Ann Lee>Good morning everybody. Let us</v>

f0a1/12-1
00:00:04.500 --> 00:00:07.000
<v Ann Lee>begin with the budget for ads.</v>

f0a1/15-0
00:00:08.000 --> 00:00:12.000
<v Bob Builder>The agency wants 20k. I think we should
wait until we have seen the numbers.</v>

f0a1/19-0
00:00:13.000 --> 00:00:16.000
<v Ann Lee>Fine. So we agreed to cut the budget for ads</v>

f0a1/19-1
00:00:16.000 --> 00:00:19.000
<v Ann Lee>to 12k. Bob, can you tell the agency by Friday?</v>

f0a1/22-0
00:00:20.000 --> 00:00:22.000
<v Bob Builder>Sure, I'll call them tomorrow.</v>

f0a1/25-0
00:00:23.000 --> 00:00:29.000
<v Cyd Møller>And the office? Have we decided anything?</v>

f0a1/28-0
00:00:30.000 --> 00:00:36.000
<v Ann Lee>It was decided that we stay in Kiel. Okay, I will write to the landlord by 2026-12-01.</v>
"""
ZOOM = """10:00:02 Ann Lee: Welcome. Budget for ads: 20k, as last year.
10:00:31 Bob Builder: Do we keep the printer?
10:00:40 Ann Lee: Let's keep it for another year. Mr. Smith agrees.
10:01:02 Cyd: Then I'll order 2.5 kg of paper by Dec 3.
10:01:20 Bob Builder: I could also ask around. Whether we move is open.
10:01:44 Ann Lee: Decision: no new hires before May.
10:02:10 Ann Lee: Cyd, please send the minutes to everyone.
"""
GERMAN = """# Teamrunde

Datum: Montag, 23.11.2026
Teilnehmer: Anna Groß, Bernd von Stein, Çelik
Entschuldigt: Dora
Protokoll: Bernd

## Besprochen
Budget für Anzeigen: 20.000 Euro, wie im Vorjahr.
Wir haben beschlossen, das Büro bis Mai zu behalten.
Ob wir einen neuen Drucker kaufen, ist noch offen.
Bernd klärt mit dem Vermieter die Heizung bis Freitag.
Es wurde vereinbart, dass montags niemand reist.

## Beschlüsse
- Das Reisebudget steigt auf 900 Euro
- Neue Website ab 1. März

## Aufgaben
- [ ] Zahlen an den Vorstand schicken (verantwortlich: Anna Groß), fällig am 01.12.2026
- Çelik: Angebote einholen bis 3. Dezember
- Laufwerk aufräumen
"""
ENGLISH = """Minutes of 23 November 2026

Present: Ann, Bob, Cyd Møller
Apologies: Dora

1. Budget
The board approved the budget last week.
Travel: 900 EUR. Ads: 20k.
We have agreed to meet on Mondays.
If we agreed to more, the money would not do.

2. Office
Bob will call the landlord by 27 November.
Cyd must renew the lease before December 15.
Ann wondered whether we decided too early.

Next steps:
- Ann to collect quotes by next week
- Check the alarm (Bob)
"""
# For each text: what a reader notes as attendees, decisions, and actions with their owners.
NOTED: dict[str, tuple[str, list[str], list[str], list[tuple[str, str]]]] = {
    "Teams captions": (
        TEAMS, ["Ann Lee", "Bob Builder", "Cyd Møller"], ["budget for ads to 12k", "stay in Kiel"],
        [("tell the agency", "Bob"), ("call them", "Bob Builder"), ("write to the landlord", "Ann Lee")],
    ),
    "Zoom transcript": (
        ZOOM, ["Ann Lee", "Bob Builder", "Cyd"], ["keep it for another year", "no new hires"],
        [("order 2.5 kg of paper", "Cyd"), ("send the minutes", "Cyd")],
    ),
    "German notes": (
        GERMAN, ["Anna Groß", "Bernd von Stein", "Çelik"],
        ["Büro bis Mai", "montags niemand reist", "Reisebudget steigt", "Neue Website ab 1. März"],
        [("mit dem Vermieter die Heizung", "Bernd"), ("Zahlen an den Vorstand", "Anna Groß"), ("Angebote einholen", "Çelik"), ("Laufwerk aufräumen", "")],
    ),
    "English notes": (
        ENGLISH, ["Ann", "Bob", "Cyd Møller"], ["approved the budget", "meet on Mondays"],
        [("call the landlord", "Bob"), ("renew the lease", "Cyd"), ("collect quotes", "Ann"), ("Check the alarm", "Bob")],
    ),
}  # fmt: skip


def of_text(text: str) -> Minutes:
    return minutes(lines(text), "")


def of(name: str) -> Minutes:
    text = NOTED[name][0]
    if text.startswith("WEBVTT"):
        return minutes(lines(captions.read(text, ".vtt")[0], spoken=True), "")
    return of_text(text)


@pytest.mark.parametrize("name", NOTED)
def test_who_was_there_is_told(name: str) -> None:
    assert of(name).attendees == NOTED[name][1]


def test_decisions_and_actions_are_those_that_a_reader_notes() -> None:
    right, wanted, told_too_much = 0, 0, 0
    for name, (_, _, decisions, actions) in NOTED.items():
        found = of(name)
        kept = [one for one in decisions if any(one.lower() in each.what.lower() for each in found.decisions)]
        done = [(what, owner) for what, owner in actions if any(what.lower() in each.what.lower() and each.owner == owner for each in found.actions)]  # fmt: skip
        right += len(kept) + len(done)
        wanted += len(decisions) + len(actions)
        told_too_much += len(found.decisions) + len(found.actions) - len(kept) - len(done)
    assert told("meeting.generate_minutes") == f"{right} of {wanted} found, {told_too_much} too much"
    assert right / wanted >= 0.8


def test_a_sentence_over_several_captions_is_told_with_its_first() -> None:
    found = of("Teams captions")
    assert (found.decisions[0].what, found.decisions[0].line) == ("Cut the budget for ads to 12k", 4)


def test_a_label_with_a_value_is_nobody_who_speaks() -> None:
    assert [line.text for line in lines("Budget for ads: 20k\nOrt: Kiel\n")] == [
        "Budget for ads: 20k",
        "Ort: Kiel",
    ]


@pytest.mark.parametrize("text", ["", "no captions", "WEBVTT\n\n00:00:05.000 --> oops\nHello"])
def test_captions_that_are_none_say_nothing_or_why(text: str) -> None:
    said = ""
    with suppress(Refused):
        said = captions.read(text, ".vtt")[0]
    assert "Hello" not in said


@pytest.mark.slow
async def test_minutes_of_captions_are_made_by_the_tool(tmp_path: Path) -> None:
    async with gate_over(tmp_path, a_vtt=TEAMS.encode()) as gate:
        done = await gate.do("generate_minutes", source="a.vtt", destination="minutes.md")
    assert (done.result["attendees"], done.result["decisions"], done.result["actions"]) == (3, 2, 3)


def names(count: int) -> list[str]:
    """So many names of four letters, each another one."""
    return ["".join(letters).capitalize() for letters in islice(product(ascii_lowercase, repeat=4), count)]


def abbreviations(size: int) -> str:
    return "Ann: Hello there.\nAnn: " + "1. " * size


def people_listed_and_others_who_speak(size: int) -> str:
    some = names(2 * size)
    return "\n".join(["Attendees: " + ", ".join(some[size:]), *(f"{name}: x" for name in some[:size])])


def strangers_asked_before_many_people(size: int) -> str:
    return "".join(f"{name}: x\n{name}: y\n" for name in names(size)) + "Zzzz, please do it\n" * size


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "notes", [abbreviations, people_listed_and_others_who_speak, strangers_asked_before_many_people]
)
def test_notes_of_four_times_the_length_take_about_four_times_the_work(notes: Callable[[int], str]) -> None:
    short, long = notes(1_000), notes(4_000)

    def times_more() -> float:
        quick = cpu_seconds(lambda: minutes(lines(short), ""), tries=3)
        return cpu_seconds(lambda: minutes(lines(long), ""), tries=2) / quick

    assert any(times_more() <= TIMES for _ in range(3))


@pytest.mark.parametrize("called", ["Ann", "Lee", "Chris", "Mr. Smith", "Luc"])
def test_somebody_of_the_meeting_is_asked_by_a_part_of_the_name(called: str) -> None:
    found = of_text(
        f"Attendees: Ann Lee, Christopher Berg, Mr. Smith, Jean-Luc\n\n{called}, please call them."
    )
    assert [one.owner for one in found.actions] == [called]


def test_nobody_is_asked_who_is_not_at_the_meeting() -> None:
    assert not of_text("Attendees: Ann Lee, Bob\n\nZoe, please call them.").actions
