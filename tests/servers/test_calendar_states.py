"""Events that do not take place, or that whoever keeps the calendar does not go to: what is said, and what is free."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.servers.test_calendar_tools import calendar, event

HOUR = ("DTSTART:20261127T100000Z", "DTEND:20261127T110000Z")
ME, BOB = "ATTENDEE;PARTSTAT=DECLINED:mailto:me@x.example", "ATTENDEE;PARTSTAT=ACCEPTED:mailto:bob@x.example"
BOSS, CHAIR = "ORGANIZER:mailto:boss@x.example", "ORGANIZER:mailto:chair@x.example"
LATER = ("DTSTART:20261129T100000Z", "DTEND:20261129T110000Z")


def inside(text: str) -> str:
    """The event in a file, for another file."""
    return text[text.index("BEGIN:VEVENT") : text.index("END:VCALENDAR")]


def with_more(first: str, second: str) -> str:
    return first.replace("END:VCALENDAR", inside(second) + "END:VCALENDAR")


def called_off(text: str) -> str:
    return text.replace("VERSION:2.0", "VERSION:2.0\r\nMETHOD:CANCEL")


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (event(*HOUR), ""),
        (event(*HOUR, "STATUS:CANCELLED"), "cancelled"),
        (called_off(event(*HOUR)), "cancelled"),
        (event(*HOUR, ME), "declined"),
        (event(*HOUR, ME, "ORGANIZER:MAILTO:me@X.example"), "declined"),
        (event(*HOUR, ME, BOB), ""),
        (event(*HOUR, BOB), ""),
        # Whoever organizes an event may keep the calendar, and the one who declined not.
        (event(*HOUR, ME, BOSS), ""),
        (with_more(event(*HOUR, ME, BOSS), event(*LATER, ME, CHAIR, uid="y")), "declined"),
        (with_more(event(*HOUR, ME), event(*LATER, BOB, uid="y")), ""),
    ],
)
async def test_an_event_that_is_cancelled_or_declined_says_so_and_takes_no_time(
    tmp_path: Path, text: str, status: str
) -> None:
    (tmp_path / "calendar").mkdir()
    (tmp_path / "calendar" / "one.ics").write_bytes(text.encode())
    async with calendar(tmp_path / "calendar") as gate:
        [listed] = (await gate("list_events", start="2026-11-27", days=1))["events"]
        free = (await gate("find_free_slots", start="2026-11-27", days=1))["slots"]
        one = await gate("get_event", event_id="x@example.com")
    assert (listed["status"], listed["busy"]) == (status, not status)
    assert [slot["minutes"] for slot in free] == ([480] if status else [120, 300])
    assert one["status"] == status
    assert one["what"].endswith(f" ({status})" if status else "UTC+01:00)")


async def test_one_cancelled_time_of_an_event_that_repeats_is_free(tmp_path: Path) -> None:
    weekly = event(*HOUR, "RRULE:FREQ=DAILY;COUNT=3")
    without = event("RECURRENCE-ID:20261128T100000Z", "DTSTART:20261128T100000Z", "STATUS:CANCELLED")
    (tmp_path / "calendar").mkdir()
    (tmp_path / "calendar" / "one.ics").write_bytes(with_more(weekly, without).encode())
    async with calendar(tmp_path / "calendar") as gate:
        listed = (await gate("list_events", start="2026-11-27", days=5))["events"]
    assert [each["status"] for each in listed] == ["", "cancelled", ""]
