"""From what was asked for to a new event: its iCalendar bytes, and the lines that a card shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar
from icalendar import Event as Component
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar import events, moments, rules
from servers.calendar.files import Problems
from servers.calendar.models import NewEvent, Plan
from servers.calendar.moments import Moment
from servers.days import Days
from servers.filesystem.roots import Place, Roots, opened

PRODUCT = "-//Countersign//Calendar//EN"
LOOKED_AT = 10  # occurrences that are held against what is there already
ZONE_YEARS = 20  # of changes of the clock that a file tells
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Draft:
    """An event that is not written yet."""

    title: str
    start: Moment
    end: Moment  # all day: the last day
    location: str
    description: str
    repeat: str
    rule: dict[str, Any]
    category: str
    folder: Place

    @property
    def what(self) -> str:
        return f"{self.title}, {moments.span(self.start, self.end)}"

    def calendar(self, uid: str, stamp: datetime) -> Calendar:
        """The calendar that its file will hold."""
        calendar = Calendar()
        calendar.add("prodid", PRODUCT)
        calendar.add("version", "2.0")
        last = self.end if isinstance(self.end, datetime) else self.end + timedelta(days=1)
        event = Component.new(
            uid=uid,
            stamp=stamp,
            start=_written(self.start),
            end=_written(last),
            summary=self.title,
            location=self.location or None,
            description=self.description or None,
            categories=[self.category] if self.category else (),
        )
        if self.rule:
            event.add("rrule", self.rule)
        calendar.add_component(event)
        year = self.start.year
        calendar.add_missing_timezones(
            first_date=date(year - 1, 1, 1), last_date=date(year + ZONE_YEARS, 1, 1)
        )
        return calendar

    def occurrences(self, zone: ZoneInfo) -> list[tuple[datetime, datetime]]:
        """The first few times that it takes place, in UTC."""
        calendar = self.calendar("draft", datetime(2000, 1, 1, tzinfo=UTC))
        since = moments.instant(self.start, zone).astimezone(zone)
        found = recurring_ical_events.of(calendar).after(since)
        return [
            (moments.instant(each.start, zone), moments.instant(each.end, zone))
            for each in islice(found, LOOKED_AT)
        ]


def _written(moment: Moment) -> Moment:
    """The second of two equal times can only be written in UTC (RFC 5545, 3.3.5)."""
    return moment.astimezone(UTC) if isinstance(moment, datetime) and moment.fold else moment


def draft(asked: NewEvent, days: Days, roots: Roots, category: str = "") -> Draft:
    """Raises ToolError with what to mend."""
    zone = moments.zone(asked.timezone, days.zone)
    start = moments.moment(asked.start, days, zone)
    end = moments.ending(start, asked.end, asked.minutes, days, zone)
    made = Draft(
        title=_line(asked.title, "title") or _untitled(),
        start=start,
        end=end,
        location=_line(asked.location or "", "location"),
        description=_text(asked.description or ""),
        repeat=asked.repeat or "",
        rule=_rule(asked, start, days, zone),
        category=category,
        folder=_folder(roots, asked.calendar or "."),
    )
    if made.rule and any(isinstance(moment, datetime) and moment.fold for moment in (start, end)):
        raise ToolError("An event at an hour that comes twice cannot repeat. Choose another time.")
    return made


def _rule(asked: NewEvent, start: Moment, days: Days, zone: ZoneInfo) -> dict[str, Any]:
    if asked.repeat is None:
        if asked.times or asked.until:
            raise ToolError("Say how it repeats: daily, weekdays, weekly, every 2 weeks, monthly or yearly.")
        return {}
    if asked.times and asked.until:
        raise ToolError("Give either how often or until when it repeats, not both.")
    if asked.repeat == "weekdays" and start.weekday() > 4:
        raise ToolError(f"It repeats on weekdays, but begins on a {start:%A}. Choose a weekday.")
    until = days.day(asked.until) if asked.until else None
    if until is None:
        return rules.rule(asked.repeat, asked.times, None)
    if until < (start.date() if isinstance(start, datetime) else start):
        raise ToolError(f"It would end repeating ({until}) before it begins. Check the days.")
    last = datetime.combine(until, time(23, 59, 59), zone).astimezone(UTC)
    return rules.rule(asked.repeat, None, last if isinstance(start, datetime) else until)


def _folder(roots: Roots, path: str) -> Place:
    place = roots.find(path)
    with opened(place):
        return place


def _untitled() -> str:
    raise ToolError("The title is empty. Say in one line what it is.")


def _line(value: str, name: str) -> str:
    if CONTROL.search(value.strip()):
        raise ToolError(f"The {name} has a line break or another character that is not text. Write one line.")
    return value.strip()


def _text(value: str) -> str:
    if UNWRITABLE.search(value):
        raise ToolError("The description has characters that are not text. Leave them out.")
    return value.replace("\r\n", "\n").replace("\r", "\n")


def plan(draft: Draft, roots: Roots, days: Days) -> Plan:
    """A new event as the gate shows it. It names no time of now: it must be the same when looked at again."""
    return Plan(
        what=draft.what,
        change="\n".join([*_lines(draft, days.zone), *_clashes(draft, roots, days.zone)]),
        start=moments.said(draft.start),
        end=moments.said(draft.end),
        folder=draft.folder.said,
    )


def _lines(draft: Draft, zone: ZoneInfo) -> Iterator[str]:
    yield f"+ {draft.title}"
    yield f"+ {moments.span(draft.start, draft.end)}"
    start = draft.start
    if isinstance(start, datetime) and start.utcoffset() != start.astimezone(zone).utcoffset():
        yield f"  here: {start.astimezone(zone):%A %Y-%m-%d %H:%M} ({zone.key})"
    if draft.rule:
        yield f"+ repeats: {draft.repeat}{_bound(draft, zone)}"
    if draft.location:
        yield f"+ location: {draft.location}"
    yield from (f"+ description: {line}" for line in draft.description.splitlines())
    yield f"+ in the folder {draft.folder.said}"


def _bound(draft: Draft, zone: ZoneInfo) -> str:
    if "count" in draft.rule:
        return f", {draft.rule['count']} times"
    until = draft.rule.get("until")
    if until is None:
        return ", without end"
    return f", until {until.astimezone(zone).date() if isinstance(until, datetime) else until}"


def _clashes(draft: Draft, roots: Roots, zone: ZoneInfo) -> list[str]:
    """What is at the same time, of the first few times that it takes place; and what could not be read."""
    problems = Problems()
    named = [f"! at the same time: {clash}" for clash in clashing(draft, roots, zone, problems)]
    return [*named, *([f"! {problems.note}"] if problems.note else [])]


def clashing(draft: Draft, roots: Roots, zone: ZoneInfo, problems: Problems) -> list[str]:
    """Up to ten things that take time when the event would."""
    spans = draft.occurrences(zone)
    if not spans:
        return []
    there = events.between(roots, spans[0][0], max(end for _, end in spans), zone, problems)
    found = [clash for span in spans for clash in events.clashes(there, *span)]
    return [f"{each.title}, {moments.span(each.start, each.end)}" for each in found[:LOOKED_AT]]
