"""From what was asked for to a new event: its iCalendar bytes, and the lines that a card shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError

from servers import lines
from servers.calendar import events, times
from servers.calendar.events import File, NewEvent, Occurrence, Plan, Problems
from servers.calendar.times import Moment
from servers.days import Days
from servers.filesystem.paths import Place, Roots, opened
from servers.sandbox.calling import run

LOOKED_AT = 10  # occurrences that are held against what is there already
BREAKS = re.compile("\r\n|[\r\x85\u2028\u2029]")  # what some reader of the file takes to be the end of a line
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

WORDS: dict[str, dict[str, Any]] = {
    "daily": {"freq": "DAILY"},
    "weekdays": {"freq": "WEEKLY", "byday": ["MO", "TU", "WE", "TH", "FR"]},
    "weekly": {"freq": "WEEKLY"},
    "every 2 weeks": {"freq": "WEEKLY", "interval": 2},
    "monthly": {"freq": "MONTHLY"},
    "yearly": {"freq": "YEARLY"},
}


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
        return f"{self.title}, {times.span(self.start, self.end)}"

    def told(self) -> dict[str, Any]:
        """For the sandbox, as JSON."""
        until = self.rule.get("until")
        return {
            "title": self.title,
            "start": times.packed(self.start),
            "end": times.packed(self.end),
            "location": self.location,
            "description": self.description,
            "category": self.category,
            "rule": {**self.rule, **({"until": until.isoformat()} if until else {})},
        }

    def written(self, uid: str, stamp: datetime) -> bytes:
        """The file that will hold it."""
        return run("calendar.written", self.title, new=self.told(), uid=uid, stamp=stamp.isoformat())[1]

    def occurrences(self, zone: ZoneInfo) -> list[tuple[datetime, datetime]]:
        """The first few times that it takes place, in UTC."""
        told, _ = run("calendar.spans", self.title, new=self.told(), zone=zone.key, most=LOOKED_AT)
        return [
            (datetime.fromisoformat(begins), datetime.fromisoformat(ends)) for begins, ends in told["spans"]
        ]


def draft(asked: NewEvent, days: Days, roots: Roots, category: str = "") -> Draft:
    """Raises ToolError with what to mend."""
    zone = times.zone(asked.timezone, days.zone)
    start = times.moment(asked.start, days, zone)
    end = times.ending(start, asked.end, asked.minutes, days, zone)
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
        return _made(asked.repeat, asked.times, None)
    if until < (start.date() if isinstance(start, datetime) else start):
        raise ToolError(f"It would end repeating ({until}) before it begins. Check the days.")
    last = datetime.combine(until, time(23, 59, 59), zone).astimezone(UTC)
    return _made(asked.repeat, None, last if isinstance(start, datetime) else until)


def _made(repeat: str, times: int | None, last: Moment | None) -> dict[str, Any]:
    """The rule for one of our words. `last`: an upper bound in the kind that the start has."""
    made = dict(WORDS[repeat])
    if times:
        made["count"] = times
    elif last:
        made["until"] = last
    return made


def _folder(roots: Roots, path: str) -> Place:
    place = roots.find(path)
    with opened(place):
        return place


def _untitled() -> str:
    raise ToolError("The title is empty. Say in one line what it is.")


def _line(value: str, name: str) -> str:
    if lines.UNWRITABLE.search(value.strip()):
        raise ToolError(f"The {name} has a line break or another character that is not text. Write one line.")
    return value.strip()


def _text(value: str) -> str:
    if UNWRITABLE.search(value):
        raise ToolError("The description has characters that are not text. Leave them out.")
    return BREAKS.sub("\n", value)


def plan(draft: Draft, roots: Roots, days: Days) -> Plan:
    """A new event as the gate shows it. It names no time of now: it must be the same when looked at again."""
    problems = Problems()
    every = events.read_all(events.calendars(roots), problems)
    named = clashing(draft, every, days.zone, problems)
    told = [f"! at the same time: {each.title}, {times.span(each.start, each.end)}" for each in named]
    told += [f"! {problems.note}"] if problems.note else []
    return Plan(
        what=draft.what,
        when=times.span(draft.start, draft.end),
        change="\n".join([*_lines(draft, days.zone), *map(lines.one_line, told)]),
        start=times.said(draft.start),
        end=times.said(draft.end),
        until=last(draft),
        folder=draft.folder.said,
        files=events.files_of(named, problems),
    )


def last(draft: Draft) -> str:
    """The last moment that an event repeats up to, as answers have it; "" for none."""
    until = draft.rule.get("until")
    return times.said(until) if until else ""


def _lines(draft: Draft, zone: ZoneInfo) -> Iterator[str]:
    start = draft.start
    if isinstance(start, datetime) and start.utcoffset() != start.astimezone(zone).utcoffset():
        yield f"  here: {start.astimezone(zone):%A %Y-%m-%d %H:%M} ({zone.key})"
    if draft.rule:
        yield f"+ repeats: {draft.repeat}{_bound(draft, zone)}"
    if draft.location:
        yield f"+ location: {draft.location}"
    yield from (f"+ description: {line}" for line in draft.description.splitlines())
    if draft.folder.said != ".":
        yield f"+ in the folder {draft.folder.said}"


def _bound(draft: Draft, zone: ZoneInfo) -> str:
    if "count" in draft.rule:
        return f", {draft.rule['count']} times"
    until = draft.rule.get("until")
    if until is None:
        return ", without end"
    return f", until {until.astimezone(zone).date() if isinstance(until, datetime) else until}"


def clashing(draft: Draft, every: Sequence[File], zone: ZoneInfo, problems: Problems) -> list[Occurrence]:
    """Up to ten things that take time when the event would, of the first few times that it takes place."""
    spans = draft.occurrences(zone)
    if not spans:
        return []
    there = events.between(every, spans[0][0], max(end for _, end in spans), zone, problems)
    found = [clash for span in spans for clash in events.clashes(there, *span)]
    return found[:LOOKED_AT]
