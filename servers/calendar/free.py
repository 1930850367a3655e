"""Free time: the hours of work of each day without what is busy, in real minutes also when clocks change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from servers.calendar import moments
from servers.calendar.events import Occurrence
from servers.calendar.models import Slot

Span = tuple[datetime, datetime]


def windows(first: date, days: int, hours: tuple[time, time], weekends: bool, zone: ZoneInfo) -> list[Span]:
    """The hours of work of each day, in UTC."""
    found = []
    for day in (first + timedelta(days=n) for n in range(days)):
        begin, end = (datetime.combine(day, at, zone).astimezone(UTC) for at in hours)
        if (weekends or day.weekday() < 5) and begin < end:
            found.append((begin, end))
    return found


def slots(open_: Sequence[Span], busy: Sequence[Occurrence], now: datetime, minutes: int) -> Iterator[Span]:
    """What is left of the windows, from now on, in pieces of at least so many minutes."""
    taken = sorted((each.begins, each.ends) for each in busy if each.busy)
    for begin, end in open_:
        at = max(begin, now)
        for from_, to in [*((f, t) for f, t in taken if f < end and t > begin), (end, end)]:
            if from_ - at >= timedelta(minutes=minutes):
                yield at, from_
            at = max(at, to)


def shown(span: Span, zone: ZoneInfo) -> Slot:
    begin, end = (moment.astimezone(zone) for moment in span)
    minutes = int((span[1] - span[0]).total_seconds() // 60)
    return Slot(start=moments.said(begin), end=moments.said(end), minutes=minutes)
