"""Calendars in which more takes place than one answer holds."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from servers.calendar import events, tasks
from servers.calendar.events import Occurrence, Problems, Span
from servers.filesystem import answers
from servers.filesystem.paths import Roots
from servers.sandbox import calling
from servers.sandbox.calling import Job, Result, Sandbox
from tests.servers.test_calendar_tools import calendar, event

NOW = datetime(2026, 11, 1, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def daily(many: int, *lines: str) -> str:
    """A calendar with so many events, each on every day."""
    each = event("DTSTART:20261101T080000Z", "DURATION:PT1M", "RRULE:FREQ=DAILY", *lines, uid="UID-NUMBER")
    head, one = each[: each.index("BEGIN:VEVENT")], each[each.index("BEGIN:VEVENT") :]
    one = one.removesuffix("END:VCALENDAR\r\n")
    return head + "".join(one.replace("UID-NUMBER", str(n)) for n in range(many)) + "END:VCALENDAR\r\n"


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stopped because the machine is busy."""
    monkeypatch.setattr(events, "LIMITS", replace(events.LIMITS, seconds=110))
    monkeypatch.setattr(events, "BESIDE", (tasks.ALONE, 110.0))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each call of the sandbox is given."""
    made: list[int] = []
    call = Sandbox.call

    def counted(self: Sandbox, job: Job) -> Result:
        made.append(len(job.blobs))
        return call(self, job)

    monkeypatch.setattr(Sandbox, "call", counted)
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("many", "days", "more"),
    [
        (50, 365, ()),
        (40, 300, ("DESCRIPTION:" + "Bring,: your “own” plates. " * 40,)),  # the bytes are too many
        (40, 300, ("DESCRIPTION:" + "[{" * 40,)),
    ],
)
def test_of_more_than_an_answer_holds_the_first_are_told_and_the_rest_is_counted(
    tmp_path: Path, calls: list[int], many: int, days: int, more: tuple[str, ...]
) -> None:
    (tmp_path / "many.ics").write_text(daily(many, *more))
    (tmp_path / "one.ics").write_text(event("DTSTART:20261102T120000Z", "DURATION:PT1H", "SUMMARY:Y"))
    problems = Problems()
    found = events.between(
        events.read_all(events.calendars(Roots.at([tmp_path])), problems),
        NOW,
        NOW + timedelta(days=days),
        BERLIN,
        problems,
    )
    assert calls == [2]
    assert len(found) > 2000
    assert "one.ics" in {each.file.place.said for each in found}
    all_of_them = many * days + 1
    left_out = f"{all_of_them - len(found):,} of {all_of_them:,} entries are left out"
    assert problems.said[0].startswith(left_out)
    last = max(each.begins for each in found).date()
    assert any(f"from {day} on" in problems.said[0] for day in (last, last + timedelta(days=1)))
    assert problems.said[0].endswith("ask for fewer days")


@pytest.mark.slow
async def test_free_time_says_what_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "calendar").mkdir()
    (tmp_path / "calendar" / "many.ics").write_text(daily(50))
    async with calendar(tmp_path / "calendar") as gate:
        free = await gate("find_free_slots", start="2026-12-01", days=365)
        listed = await gate("list_events", start="2026-12-01", days=30)
    assert "ask for fewer days" in free["note"]
    assert listed["note"] == ""


def takes(begins: datetime, minutes: int, *, busy: bool = True) -> Occurrence:
    ends = begins + timedelta(minutes=minutes)
    file = cast("events.File", None)
    return Occurrence("", "", "", "", file, False, "", busy, begins, ends, begins, ends)


def by_every_event(open_: list[Span], busy: list[Occurrence], now: datetime, minutes: int) -> Iterator[Span]:
    """The same, in the slowest way."""
    for begin, end in open_:
        minute, since = max(begin, now), None
        while minute <= end:
            free = minute < end and not any(one.busy and one.begins <= minute < one.ends for one in busy)
            if free:
                since = since or minute
            elif since:
                if minute - since >= timedelta(minutes=minutes):
                    yield since, minute
                since = None
            minute += timedelta(minutes=1)


@pytest.mark.parametrize("seed", range(8))
def test_free_time_is_the_same_as_by_going_through_all_events_for_each_day(seed: int) -> None:
    chance = Random(seed)
    open_ = events.windows(NOW.date(), 6, (time(9), time(11)), True, BERLIN)
    busy = [
        takes(
            NOW + timedelta(minutes=chance.randrange(6 * 1440)),
            chance.choice([1, 20, 60, 3000 if seed % 2 else 90]),
            busy=chance.random() < 0.8,
        )
        for _ in range(60)
    ]
    now = NOW + timedelta(hours=9, minutes=30)
    assert [*events.slots(open_, busy, now, 15)] == [*by_every_event(open_, busy, now, 15)]


def test_free_time_of_a_year_takes_time_in_line_with_the_events() -> None:
    open_ = events.windows(NOW.date(), 365, (time(9), time(17)), True, BERLIN)
    few, many = (
        [takes(NOW + timedelta(days=n % 365, seconds=n), 1) for n in range(count)] for count in (3000, 30000)
    )

    def steps(busy: list[Occurrence]) -> int:
        """How many lines of the function are run."""
        seen = 0

        def count(frame: FrameType, what: str, _: object) -> Any:
            nonlocal seen
            seen += what == "line"
            return count if frame.f_code.co_filename == events.__file__ else None

        before = sys.gettrace()
        sys.settrace(count)
        try:
            assert len([*events.slots(open_, busy, NOW, 30)]) >= 365
        finally:
            sys.settrace(before)
        return seen

    assert steps(few) < 20 * (len(few) + len(open_))
    assert steps(many) < 20 * (len(many) + len(open_))


def test_an_event_that_no_answer_holds_does_not_hide_the_others() -> None:
    large = event("DTSTART:20261102T080000Z", "DURATION:PT1H", "DESCRIPTION:" + "," * 600_000)
    small = event("DTSTART:20261102T120000Z", "DURATION:PT1H", uid="small")
    span = {"begin": NOW.isoformat(), "end": (NOW + timedelta(days=3)).isoformat(), "zone": "Europe/Berlin"}
    told, _ = tasks.between(large.encode(), small.encode(), names=["large.ics", "small.ics"], **span)
    assert [one["event_id"] for one in told["found"]] == ["small"]
    assert told["problems"] == ["large.ics has an event with too long a text to be told"]


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage is collected meanwhile: a limit of time that ends a callback of the collector's is not heard of."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_a_file_that_takes_too_long_for_so_many_days_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "ALONE", 0.3)
    span = {"begin": NOW.isoformat(), "end": "2150-01-01T00:00:00+00:00", "zone": "Europe/Berlin"}
    told, _ = tasks.between(daily(5).encode(), names=["many.ics"], **span)
    assert told["found"] == []
    assert told["problems"] == ["many.ics has more in it than can be gone through: ask for fewer days"]
    assert (told["through"], told["late"]) == (1, [])


@pytest.mark.usefixtures("uncollected")
def test_a_file_that_takes_long_is_put_off_until_the_others_are_read() -> None:
    small = event("DTSTART:20261102T120000Z", "DURATION:PT1H", uid="small")
    span = {"begin": NOW.isoformat(), "end": "2150-01-01T00:00:00+00:00", "zone": "Europe/Berlin"}
    told, _ = tasks.between(
        daily(5).encode(), small.encode(), names=["many.ics", "small.ics"], **span, beside=(0.3, 60.0)
    )
    assert [one["event_id"] for one in told["found"]] == ["small"]
    assert told["problems"] == []
    assert (told["through"], told["late"]) == (2, [0])


EMPTY = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"


class SlowlyRead:
    """A sandbox in this process, which puts off what holds the word slow, and is stopped where that comes alone."""

    def call(self, job: Job) -> Result:
        slow = [number for number, data in enumerate(job.blobs) if b"slow" in cast("bytes", data)]
        if slow and len(job.blobs) == 1:
            return calling.STOPPED
        quick = [EMPTY if number in slow else cast("bytes", data) for number, data in enumerate(job.blobs)]
        told, _ = tasks.between(*quick, **job.args)
        return Result({**told, "late": slow})


def test_slow_files_hide_no_event_of_the_files_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four files of a stranger that took 6 s each had all others of their portion stopped and called broken."""
    for number in range(4):
        (tmp_path / f"a{number}.ics").write_text(event("DTSTART:20261102T080000Z", uid="slow"), newline="")
    (tmp_path / "small.ics").write_text(event("DTSTART:20261102T120000Z", uid="small"), newline="")
    monkeypatch.setattr(calling, "SANDBOX", SlowlyRead())
    problems = Problems()
    every = events.read_all(events.calendars(Roots.at([tmp_path])), problems)
    found = events.between(every, NOW, NOW + timedelta(days=3), BERLIN, problems)
    assert [each.event_id for each in found] == ["small"]
    assert sorted(problems.said) == [f"a{n}.ics {calling.TOO_MUCH}".rstrip(".") for n in range(4)]


async def test_an_event_with_a_long_title_is_listed_with_its_beginning_and_hides_no_other(
    tmp_path: Path,
) -> None:
    root = tmp_path / "calendar"
    root.mkdir()
    for name in ("SUMMARY", "LOCATION", "UID"):
        plain = event("DTSTART:20261102T080000Z", "DURATION:PT1H", "LOCATION:Hall", uid=f"of {name}")
        line = next(line for line in plain.splitlines() if line.startswith(name))
        (root / f"{name}.ics").write_text(plain.replace(line, line + "é" * 100_000), newline="")
    (root / "small.ics").write_text(
        event("DTSTART:20261102T120000Z", "DURATION:PT1H", uid="small"), newline=""
    )
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-02", days=1)
    assert (len(listed["events"]), listed["truncated"], listed["note"]) == (4, False, "")
    assert listed["events"][-1]["event_id"] == "small"
    longest = {
        name: max((one[name] for one in listed["events"]), key=len)
        for name in ("title", "location", "event_id")
    }
    assert {name: (len(text), text[-2:]) for name, text in longest.items()} == {
        "title": (1000, "é…"),
        "location": (1000, "é…"),
        "event_id": (401, "é…"),
    }


async def test_a_list_from_which_all_is_left_out_does_not_say_that_there_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "calendar"
    root.mkdir()
    (root / "small.ics").write_text(event("DTSTART:20261102T120000Z"), newline="")
    monkeypatch.setattr(answers, "MOST_CHARACTERS", 10)
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-02", days=1)
    assert (listed["events"], listed["truncated"], listed["note"]) == ([], True, "")


async def test_repetitions_of_a_long_text_are_held_up_to_a_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 MB of calendars took 435 MB of the bot for each read."""
    monkeypatch.setattr(events, "MOST_HELD", 40_000)
    root = tmp_path / "calendar"
    root.mkdir()
    for number in range(3):
        (root / f"{number}.ics").write_text(
            daily(1, "DESCRIPTION:" + "x" * 1_000).replace("UID:0", f"UID:{number}")
        )
    async with calendar(root) as gate:
        few, many = [await gate("list_events", start="2026-11-01", days=days) for days in (5, 300)]
    assert (len(few["events"]), few["note"]) == (15, "")
    assert 20 < len(many["events"]) < 40
    assert "more takes place than can be looked at: ask for fewer days, or for one calendar" in many["note"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
async def test_an_event_that_ends_with_all_years_is_told_and_hides_no_other(
    tmp_path: Path, zone: str
) -> None:
    """It ends when the years do: further east there is no such day any more."""
    root = tmp_path / "calendar"
    root.mkdir()
    far = ("DTEND:99991231T235959Z", "DTEND;TZID=America/New_York:99991231T235959")
    for number, end in enumerate(far):
        one = event("DTSTART:20260101T000000Z", end, uid=f"far {number}")
        (root / f"far {number}.ics").write_text(one, newline="")
    days = event("DTSTART;VALUE=DATE:20260101", "DTEND;VALUE=DATE:99991231", uid="days")
    (root / "days.ics").write_text(days, newline="")
    (root / "near.ics").write_text(event("DTSTART:20261102T120000Z", "DURATION:PT1H", uid="near"), newline="")
    async with calendar(root, timezone=zone) as gate:
        listed = await gate("list_events", start="2026-11-02", days=2)
        assert (await gate("find_free_slots", start="2026-11-26", days=1))["slots"]
        found = [await gate("get_event", event_id=one) for one in ("far 0", "far 1", "days", "near")]
    assert [one["event_id"] for one in listed["events"]] == ["near"]
    assert listed["unread"] == ["days.ics", "far 0.ics", "far 1.ics"]
    assert [one["end"][:8] for one in found[:3]] == ["9999-12-"] * 3
