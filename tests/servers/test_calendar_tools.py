"""The calendar server: what it says of itself, what it lists, free time, time zones, and what it refuses."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from icalendar import Calendar
from mcp import Client, StdioServerParameters

from gate.actions.preview import policy_decision
from gate.rules.action import Verdict
from gate.rules.policy import Policy, Rule
from servers.calendar import configured, server
from servers.command_line import zone
from tests.servers.files import Ask, Clock
from tests.servers.gate_around_server import Gate, check_cards, gated
from tests.servers.test_task_tools import Now

BERLIN = "Europe/Berlin"
READS = "list_events find_free_slots get_event preview_event preview_time_block get_metadata describe_paths preview_restore"
CLASSES = {
    **dict.fromkeys(READS.split(), "read"),
    "create_event": "write",
    "create_time_block": "write",
    "restore_file": "write",
    "delete_event": "destructive",
    "delete_file": "destructive",
}
LUNCH = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Somebody//Else//EN
X-WR-CALNAME:Team
BEGIN:VEVENT
UID:lunch@example.com
DTSTAMP:20260101T000000Z
SUMMARY:Team lunch
LOCATION:Canteen
DTSTART;TZID=Europe/Berlin:20261124T120000
DTEND;TZID=Europe/Berlin:20261124T130000
RRULE:FREQ=WEEKLY
EXDATE;TZID=Europe/Berlin:20261201T120000
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT10M
DESCRIPTION:Soon
UID:standup@example.com
END:VALARM
END:VEVENT
BEGIN:VEVENT
UID:lunch@example.com
RECURRENCE-ID;TZID=Europe/Berlin:20261208T120000
DTSTAMP:20260101T000000Z
SUMMARY:Team lunch\\, late
DTSTART;TZID=Europe/Berlin:20261208T133000
DTEND;TZID=Europe/Berlin:20261208T143000
END:VEVENT
BEGIN:VEVENT
UID:standup@example.com
DTSTAMP:20260101T000000Z
SUMMARY:Standup
DTSTART:20261124T083000Z
DURATION:PT15M
END:VEVENT
BEGIN:VEVENT
UID:holiday@example.com
DTSTAMP:20260101T000000Z
SUMMARY:Fair
DTSTART;VALUE=DATE:20261125
DTEND;VALUE=DATE:20261127
TRANSP:TRANSPARENT
END:VEVENT
END:VCALENDAR
"""


def event(*lines: str, uid: str = "x@example.com") -> str:
    inside = "\r\n".join([f"UID:{uid}", "DTSTAMP:20260101T000000Z", "SUMMARY:X", *lines])
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\n{inside}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"


def sample(folder: Path) -> Path:
    root = folder / "calendar"
    root.mkdir(exist_ok=True)
    (root / "team.ics").write_text(LUNCH)
    return root


@asynccontextmanager
async def calendar(
    root: Path, clock: Clock | None = None, timezone: str = BERLIN, beside: Sequence[Path] = ()
) -> AsyncIterator[Gate]:
    number = iter(range(1, 100))
    app = server([root, *beside], zone(timezone), clock or Now(), lambda: f"new{next(number)}")
    async with gated(root.parent / "logs", "calendar", app) as gate:
        yield gate


def told(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(event["title"], event["start"], event["end"]) for event in answer["events"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Any) -> None:
    async with Client(server([sample(tmp_path)]), mode=mode) as client:
        check_cards((await client.list_tools()).tools, CLASSES)


@pytest.mark.slow
async def test_events_are_listed_each_time_that_they_take_place(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        listed = await gate("list_events", start="2026-11-23", days=30)
        assert told(listed) == [
            ("Standup", "2026-11-24T09:30:00+01:00", "2026-11-24T09:45:00+01:00"),
            ("Team lunch", "2026-11-24T12:00:00+01:00", "2026-11-24T13:00:00+01:00"),
            ("Fair", "2026-11-25", "2026-11-26"),
            ("Team lunch, late", "2026-12-08T13:30:00+01:00", "2026-12-08T14:30:00+01:00"),
            ("Team lunch", "2026-12-15T12:00:00+01:00", "2026-12-15T13:00:00+01:00"),
            ("Team lunch", "2026-12-22T12:00:00+01:00", "2026-12-22T13:00:00+01:00"),
        ]
        assert [event["busy"] for event in listed["events"]] == [True, True, False, True, True, True]
        assert listed["events"][1]["repeats"] is True
        assert listed["events"][1]["file"] == "team.ics"
        assert listed["note"] == ""
        assert (
            len((await gate("list_events", start="2026-11-23", days=30, contains="CANTEEN"))["events"]) == 3
        )
        assert (await gate("list_events", start="2026-11-21", days=1))["note"] == "There are none."


async def test_a_meeting_that_repeats_keeps_its_hour_when_clocks_change(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "team.ics").write_text(
        event("DTSTART;TZID=Europe/Berlin:20261023T090000", "DURATION:PT1H", "RRULE:FREQ=DAILY")
    )
    async with calendar(root, timezone="America/New_York") as gate:
        listed = told(await gate("list_events", start="2026-10-24", days=9))
    assert [start for _, start, _ in listed] == [
        "2026-10-24T03:00:00-04:00",
        "2026-10-25T04:00:00-04:00",  # Berlin goes back a week before New York
        *(f"2026-10-{day}T04:00:00-04:00" for day in range(26, 32)),
        "2026-11-01T03:00:00-05:00",
    ]


STARTS = {
    "2026-11-24 14:00": "2026-11-24T14:00:00+01:00",
    "2026-11-24T14:00": "2026-11-24T14:00:00+01:00",
    "2026-11-24 14:00:00": "2026-11-24T14:00:00+01:00",
    "tomorrow at 9:30": "2026-11-22T09:30:00+01:00",
    "friday 2pm": "2026-11-27T14:00:00+01:00",
    "next friday, 12 am": "2026-11-27T00:00:00+01:00",
    "friday at 10": "2026-11-27T10:00:00+01:00",
    "next monday": "2026-11-23",
    "on friday 14:30": "2026-11-27T14:30:00+01:00",
    "Fri, 9:15": "2026-11-27T09:15:00+01:00",
    "next mon at 0": "2026-11-23T00:00:00+01:00",
    "tomorrow at 10": "2026-11-22T10:00:00+01:00",
    "tue at 3 pm": "2026-11-24T15:00:00+01:00",
    "2026-11-24 at 9": "2026-11-24T09:00:00+01:00",
    "in 2 days 12:15 PM": "2026-11-23T12:15:00+01:00",
    "2026-11-24T14:00Z": "2026-11-24T15:00:00+01:00",
    "2026-11-24 23:30-05:00": "2026-11-25T05:30:00+01:00",
    "2026-10-25 02:30+02:00": "2026-10-25T02:30:00+02:00",
    "2026-10-25 02:30+01:00": "2026-10-25T02:30:00+01:00",
    "2026-12-24": "2026-12-24",
}


@pytest.mark.slow
async def test_a_start_can_be_said_in_words(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        for start, written in STARTS.items():
            made = await gate("create_event", title="X", start=start)
            assert made["start"] == written
            found = await gate("get_event", event_id=made["event_id"])
            assert (found["start"], found["end"]) == (made["start"], made["end"])


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"start": "14:00"}, "names no day"),
    ({"start": "soon"}, "no day I know"),
    ({"start": ""}, "Say when"),
    ({"start": "2026-11-24 25:00"}, "no time I know"),
    ({"start": "friday at 25"}, "no time I know"),
    ({"start": "friday at 3"}, "Write 3am or 3pm"),
    ({"start": "friday 10"}, "no day I know"),
    ({"start": "2026-11-24 13pm"}, "no time I know"),
    ({"start": "2026-11-24 14:00+99:00"}, "no offset"),
    ({"start": "2026-03-29 02:30"}, "the clocks skip it"),
    ({"start": "2026-10-25 02:30"}, "comes twice"),
    ({"start": "2026-11-24 14:00", "end": "13:00"}, "before it begins"),
    ({"start": "2026-11-24 14:00", "end": "2026-11-25"}, "end needs one too"),
    ({"start": "2026-11-24", "end": "15:00"}, "takes all day"),
    ({"start": "2026-11-24", "minutes": 5}, "needs a time"),
    ({"start": "2026-11-24 14:00", "end": "15:00", "minutes": 5}, "not both"),
    ({"start": "2026-11-24 14:00", "timezone": "Mars/Olympus"}, "no time zone"),
    ({"start": "2026-11-24 14:00", "timezone": "../../etc/passwd"}, "no time zone"),
    ({"start": "2026-11-24 14:00", "times": 3}, "Say how it repeats"),
    ({"start": "2026-11-24 14:00", "repeat": "daily", "times": 3, "until": "friday"}, "not both"),
    ({"start": "2026-11-24 14:00", "repeat": "daily", "until": "2026-11-20"}, "before it begins"),
    ({"start": "saturday 10:00", "repeat": "weekdays"}, "begins on a Saturday"),
    ({"start": "2026-10-25 02:30+01:00", "repeat": "daily"}, "cannot repeat"),
    ({"start": "2026-11-24 14:00", "title": " "}, "title is empty"),
    ({"start": "2026-11-24 14:00", "title": "a\r\nATTENDEE:mailto:x@y"}, "line break"),
    ({"start": "2026-11-24 14:00", "location": "a\nb"}, "line break"),
    ({"start": "2026-11-24 14:00", "description": "a\0b"}, "not text"),
    ({"start": "2026-11-24 14:00", "calendar": "../other"}, "“..”"),
    ({"start": "2026-11-24 14:00", "calendar": "work"}, "does not exist"),
]


async def test_what_cannot_be_an_event_is_refused_with_a_sentence(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with calendar(root) as gate:
        for args, said in REFUSED:
            assert said in await gate.refused("create_event", **({"title": "X"} | args))
            assert said in await gate.blind("create_event", **({"title": "X"} | args))
    assert [path.name for path in root.glob("*.ics")] == ["team.ics"]


async def test_a_new_event_is_shown_as_it_will_be(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        done = await gate.do(
            "create_event", title="Review", start="2026-11-24 06:00", minutes=90, timezone="America/New_York",
            location="Room 2", description="Bring\nnumbers", repeat="weekly", times=3,
        )  # fmt: skip
        assert done.preview.summary == (
            "Create the event “Review”, Tuesday 2026-11-24 06:00 to 07:30 (America/New_York, UTC-05:00)"
        )
        assert done.preview.diff.splitlines() == [
            "  here: Tuesday 2026-11-24 12:00 (Europe/Berlin)",
            "+ repeats: weekly, 3 times",
            "+ location: Room 2",
            "+ description: Bring",
            "+ description: numbers",
            "! at the same time: Team lunch, Tuesday 2026-11-24 12:00 to 13:00 (Europe/Berlin, UTC+01:00)",
        ]
        assert done.preview.undo == "yes"
        listed = await gate("list_events", start="2026-11-24", days=60, contains="review")
        assert [start for _, start, _ in told(listed)] == [
            "2026-11-24T12:00:00+01:00", "2026-12-01T12:00:00+01:00", "2026-12-08T12:00:00+01:00",
        ]  # fmt: skip
        written = Calendar.from_ical((tmp_path / "calendar" / done.result["file"]).read_bytes())
        assert [part.name for part in written.subcomponents] == ["VTIMEZONE", "VEVENT"]
        assert written.errors == []


async def test_an_event_over_the_change_of_clocks_lasts_as_long_as_was_said(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        made = await gate("create_event", title="Night", start="2026-10-25 01:30", minutes=120)
        assert (made["start"], made["end"]) == ("2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+01:00")
        found = await gate("get_event", event_id=made["event_id"])
        assert found["end"] == "2026-10-25T02:30:00+01:00"


async def test_free_time_is_what_events_leave(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        found = await gate("find_free_slots", start="2026-11-24", days=2, minutes=45)
        assert [(slot["start"][:16], slot["end"][11:16], slot["minutes"]) for slot in found["slots"]] == [
            ("2026-11-24T09:45", "12:00", 135),
            ("2026-11-24T13:00", "17:00", 240),
            ("2026-11-25T09:00", "17:00", 480),  # the fair is marked free
        ]
        saturday = await gate("find_free_slots", days=1)
        assert saturday == {"slots": [], "truncated": False, "note": "There are none.", "files": []}
        assert found["files"] == ["team.ics"]
        today = await gate("find_free_slots", days=1, weekends=True)
        assert [slot["start"] for slot in today["slots"]] == ["2026-11-21T10:30:00+01:00"]  # from now on
        spring = await gate(
            "find_free_slots", start="2027-03-28", days=1, weekends=True, from_time="01:00", to_time="04:00"
        )
        assert [slot["minutes"] for slot in spring["slots"]] == [120]  # one of the three hours is skipped
        assert "Exchange the two" in await gate.refused("find_free_slots", from_time="17:00", to_time="9:00")
        assert "is no time" in await gate.refused("find_free_slots", from_time="25:00")


@pytest.mark.slow
async def test_time_that_is_not_free_is_not_blocked(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        taken = {"title": "Focus", "start": "2026-11-24 12:30", "end": "15:00"}
        assert "not free" in await gate.refused("create_time_block", **taken)
        assert "not free" in await gate.blind("create_time_block", **taken)
        assert "lunch" not in await gate.refused("preview_time_block", block=taken)
        free = {"title": "Focus", "start": "2026-11-24 13:00", "end": "15:00"}
        seen = await gate.look("create_time_block", **free)
        await gate("create_event", title="Quick", start="2026-11-24 14:00")
        assert "not free" in await gate.refused("create_time_block", **seen.args)
        assert "needs a time" in await gate.refused("create_time_block", title="x", start="2026-11-30")


@pytest.mark.slow
async def test_of_several_servers_that_block_the_same_time_one_gets_it(tmp_path: Path) -> None:
    root = sample(tmp_path)
    apps = [server([root], clock=Now(), ids=iter([f"new{number}"]).__next__) for number in range(6)]
    block = {"title": "Focus", "start": "2026-11-30 14:00"}
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(Client(app)) for app in apps]
        answers = await asyncio.gather(*(one.call_tool("create_time_block", block) for one in clients))
    assert [answer.is_error for answer in answers].count(False) == 1
    assert len(list(root.glob("2026-11-30-*.ics"))) == 1


async def test_an_event_goes_to_the_folder_that_is_named(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "work").mkdir()
    async with calendar(root) as gate:
        made = await gate("create_event", title="X", start="2026-11-24", end="2026-11-26", calendar="work")
        assert made["file"] == "work/2026-11-24-new1.ics"
        [listed] = (await gate("list_events", start="2026-11-26", days=1, contains="x"))["events"][-1:]
        assert (listed["start"], listed["end"], listed["file"]) == ("2026-11-24", "2026-11-26", made["file"])


@pytest.mark.parametrize("said", ["board", "./board", "board/", "x/../board", "board//.", "BOARD\u200b"])
@pytest.mark.parametrize("tool", ["create_event", "create_time_block"])
async def test_a_rule_about_a_calendar_holds_for_every_way_to_write_its_folder(
    tmp_path: Path, tool: str, said: str
) -> None:
    root = sample(tmp_path)
    (root / "board").mkdir()
    async with calendar(root) as gate:
        gate.world.policy = Policy(
            "test", (Rule("no", ("calendar.*",), deny=True, texts=(r"(?i)^board(/|$)",)),)
        )
        seen = await gate.look(tool, title="X", start="2026-11-30 14:00", calendar=said)
        decision = policy_decision(gate.world, gate.spec(tool), seen.args, "C", seen.capture)
    assert decision.verdict is Verdict.DENY


@pytest.mark.slow
async def test_a_rule_about_a_calendar_holds_for_an_event_in_it_that_is_deleted(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "board").mkdir()
    (root / "board" / "x.ics").write_text(event("DTSTART:20261124T120000Z"))
    async with calendar(root) as gate:
        gate.world.policy = Policy("test", (Rule("no", ("calendar.*",), deny=True, texts=("^board/",)),))
        seen = await gate.look("delete_event", event_id="x@example.com")
        decision = policy_decision(gate.world, gate.spec("delete_event"), seen.args, "C", seen.capture)
    assert decision.verdict is Verdict.DENY


async def test_a_time_that_moved_since_it_was_shown_is_not_written(tmp_path: Path) -> None:
    clock, root = Now(), sample(tmp_path)
    async with calendar(root, clock) as gate:
        seen = await gate.look("create_event", title="x", start="tomorrow 9:00")
        clock.move(days=1)
        assert "has changed since" in await gate.refused("create_event", **seen.args)
        often = {"start": "2026-12-01 9:00", "repeat": "daily", "until": "in 30 days"}
        seen = await gate.look("create_event", title="x", **often)
        clock.move(days=1)
        assert "has changed since" in await gate.refused("create_event", **seen.args)
    assert len(list(root.glob("*.ics"))) == 1


BROKEN = {
    "empty": "",
    "text": "hello",
    "half": LUNCH[:300],
    "other": "BEGIN:VCARD\nVERSION:3.0\nEND:VCARD\n",
    "binary": "\0\1\2\x7f" * 100,
    "no-start": event("SUMMARY:Y"),
    "bad-date": event("DTSTART:20261332T990000"),
    "backwards": event("DTSTART:20261124T120000Z", "DTEND:20261123T120000Z"),
    "no-zone": event("DTSTART;TZID=Nowhere/Land:20261124T120000", "RRULE:FREQ=DAILY;UNTIL=x"),
    "seconds": event("DTSTART:19700101T000000Z", "RRULE:FREQ=SECONDLY"),
    "hours": event("DTSTART:19700101T000000Z", "RRULE:FREQ=HOURLY"),
    "stands-still": event("DTSTART:19700101T000000Z", "RRULE:FREQ=DAILY;INTERVAL=0"),
    "never": event("DTSTART:19700101T000000Z", "RRULE:FREQ=DAILY;COUNT=3;BYMONTH=2;BYMONTHDAY=30"),
    "rome": event("DTSTART:00010101T000000Z", "RRULE:FREQ=DAILY"),
    "deep": "BEGIN:VCALENDAR\n" * 20000,
}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.timeout(20)
async def test_a_file_that_makes_no_sense_is_named_and_hides_nothing_else(tmp_path: Path, name: str) -> None:
    root = sample(tmp_path)
    (root / f"{name}.ics").write_text(BROKEN[name])
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-24", days=1)
        assert {event["title"] for event in listed["events"]} >= {"Standup", "Team lunch"}
        assert f"{name}.ics" in listed["note"]
        assert f"{name}.ics" in (await gate("find_free_slots", start="2026-11-24", days=1))["note"]
        seen = await gate.look("create_event", title="x", start="2026-11-24 12:00")
        assert f"{name}.ics" in seen.preview.diff


@pytest.mark.slow
async def test_a_time_in_a_zone_that_nobody_knows_is_said_to_be_a_guess(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "far.ics").write_text(event("DTSTART;TZID=Mars/Base:20261126T150000"))
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-26", days=1)
        free = await gate("find_free_slots", start="2026-11-26", days=1)
        other = await gate("list_events", start="2026-11-27", days=1)
        one = await gate("get_event", event_id="x@example.com")
    assert [each["start"] for each in listed["events"] if each["file"] == "far.ics"] == [
        "2026-11-26T15:00:00+01:00"
    ]
    why = "far.ics has times in a zone that is not known (Mars/Base), which are read as Europe/Berlin and may be wrong"
    assert why in listed["note"]
    assert why in free["note"]
    assert "not known" not in other["note"]
    assert why in str(one)


async def test_links_and_large_files_are_not_read(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (tmp_path / "outside.ics").write_text(event("DTSTART:20261124T120000Z"))
    (root / "link.ics").symlink_to(tmp_path / "outside.ics")
    (root / "large.ics").write_bytes(LUNCH.encode() + b"\n" * (5 << 20))
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-24", days=1)
    assert [event["title"] for event in listed["events"]] == ["Standup", "Team lunch"]
    assert "large.ics is larger than 4 MB" in listed["note"]


async def test_an_unknown_or_doubled_event_is_not_deleted(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with calendar(root) as gate:
        assert "There is no event nope" in await gate.refused("delete_event", event_id="nope")
        (root / "copy.ics").write_text(LUNCH)
        assert "is in 2 files" in await gate.refused("delete_event", event_id="lunch@example.com")
        assert "is in 2 files" in await gate.blind("delete_event", event_id="lunch@example.com")
        (root / "old").mkdir()
        (root / "copy.ics").rename(root / "old" / "copy.ics")
        found = await gate("get_event", event_id="lunch@example.com", calendar="old")
        assert found["file"] == "old/copy.ics"


def test_a_folder_that_cannot_be_used_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    for words in (
        [],
        ["--folder", str(tmp_path / "no")],
        ["--folder", str(tmp_path), "--timezone", "Nowhere"],
    ):
        with pytest.raises(ValueError, match=r"\.$|Try"):
            configured(words)


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    root = sample(tmp_path)
    words = ["-m", "servers.calendar", "--folder", str(root), "--timezone", BERLIN]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        ask = Ask(client)
        made = await ask("create_event", title="X", start="2026-11-24 14:00")
        assert made["start"] == "2026-11-24T14:00:00+01:00"
        assert len((await ask("list_events", start="2026-11-24", days=1))["events"]) == 3
    assert len(list(root.glob("*.ics"))) == 2
