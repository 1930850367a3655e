"""Events and their occurrences within a span of time, whatever zone they are written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar
from icalendar import Event as Component
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar import models, moments
from servers.calendar.files import File, Problems, entries, read_all
from servers.calendar.moments import Moment
from servers.filesystem.roots import Roots

UNTITLED = "(no title)"


@dataclass(frozen=True)
class Occurrence:
    """One time that an event takes place."""

    event: Component
    file: File
    repeats: bool
    start: Moment
    end: Moment  # of an event that takes all day, its last day
    begins: datetime  # UTC
    ends: datetime  # UTC

    @property
    def title(self) -> str:
        return text(self.event, "SUMMARY") or UNTITLED

    @property
    def busy(self) -> bool:
        """Whether the time is taken by it."""
        free = text(self.event, "TRANSP").upper() == "TRANSPARENT"
        return not free and text(self.event, "STATUS").upper() != "CANCELLED" and self.ends > self.begins

    def shown(self) -> models.Event:
        return models.Event(
            title=self.title,
            start=moments.said(self.start),
            end=moments.said(self.end),
            location=text(self.event, "LOCATION"),
            repeats=self.repeats,
            busy=self.busy,
            event_id=text(self.event, "UID"),
            file=self.file.place.said,
        )


def text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return str(value[0] if isinstance(value, list) else value)


def between(
    roots: Roots, begin: datetime, end: datetime, zone: ZoneInfo, problems: Problems
) -> list[Occurrence]:
    """What takes place in a span, in order of time. Files that cannot be understood go to `problems`."""
    found = []
    for file in read_all(roots, problems):
        try:
            found += [
                each for calendar in file.calendars for each in within(calendar, file, begin, end, zone)
            ]
        except Exception as error:  # a foreign parser over foreign values may raise anything
            reason = " ".join(str(error).split())[:100] or type(error).__name__
            problems.said.append(f"{file.place.said} has an event that makes no sense ({reason})")
    return sorted(found, key=lambda each: (each.begins, each.ends, each.title, each.file.place.said))


def within(
    calendar: Calendar, file: File, begin: datetime, end: datetime, zone: ZoneInfo
) -> Iterator[Occurrence]:
    """The occurrences in one calendar."""
    repeating = {text(event, "UID") for event in entries(calendar) if repeats(event)}
    for event in recurring_ical_events.of(calendar).between(begin.astimezone(zone), end.astimezone(zone)):
        yield occurrence(event, file, text(event, "UID") in repeating, zone)


def repeats(event: Component) -> bool:
    return "RRULE" in event or "RDATE" in event


def occurrence(event: Component, file: File, repeating: bool, zone: ZoneInfo) -> Occurrence:
    start, stop = event.start, event.end
    begins, ends = moments.instant(start, zone), moments.instant(stop, zone)
    if isinstance(start, datetime):
        start, stop = begins.astimezone(zone), ends.astimezone(zone)
    else:
        stop = max(start, _day(stop) - timedelta(days=1))
    return Occurrence(event, file, repeating, start, stop, begins, max(begins, ends))


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


def find(roots: Roots, event_id: str) -> tuple[File, list[Component]]:
    """The file that holds an event, and the event with its exceptions. Raises ToolError unless there is exactly one."""
    problems = Problems()
    holding = []
    for file in read_all(roots, problems):
        parts = [e for c in file.calendars for e in entries(c) if text(e, "UID") == event_id]
        holding += [(file, parts)] if parts else []
    if not holding:
        raise ToolError(
            f"There is no event {event_id}. Look at the ids with list_events. {problems.note}".rstrip()
        )
    if len(holding) > 1:
        names = ", ".join(file.place.said for file, _ in holding[:3])
        raise ToolError(
            f"The event {event_id} is in several files: {names}. Take it out of all but one by hand."
        )
    return holding[0]


def clashes(found: list[Occurrence], begins: datetime, ends: datetime) -> Iterator[Occurrence]:
    """What takes time between the two."""
    return (each for each in found if each.busy and each.begins < ends and begins < each.ends)
