"""What the sandbox does with calendars: each task takes the bytes of files, and gives facts and bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import recurring_ical_events
from icalendar import Calendar
from icalendar import Event as Component
from icalendar.parser import Contentline, Contentlines
from icalendar.prop import vRecur

from servers.calendar import times
from servers.calendar.times import Moment
from servers.sandbox.protocol import Refused, in_turn, share


def without(data: bytes, calendars: Sequence[Calendar], uid: str) -> tuple[bytes, int]:
    """The bytes without the events of this UID, and how many other entries (events, to-dos, anything) are left.

    The bytes come back as they were where the parser, which read `calendars` in them, would find another entry changed:
    where a line ends is a matter of opinion.
    """
    kept = (block for block, entry in _blocks(data) if entry != "VEVENT" or _uid(block) != uid)
    rest, others = b"".join(kept), _others(calendars, uid)
    left = sum(entry.name != "VTIMEZONE" for entry in others)
    return (rest if _hold(rest, others) else data), left


PARTS = {"VALARM", "PARTICIPANT", "VLOCATION", "VRESOURCE"}


def _holds_more(event: Component) -> bool:
    """Whether there is something in an event that is no part of it, such as another event."""
    return any(part is not event and part.name not in PARTS for part in event.walk())


def _others(calendars: Sequence[Calendar], uid: str) -> list[Any]:
    found: Iterator[Any] = (entry for calendar in calendars for entry in calendar.subcomponents)
    return [entry for entry in found if entry.name != "VEVENT" or text(entry, "UID") != uid]


def _hold(data: bytes, wanted: Sequence[Any]) -> bool:
    """Whether the entries in a file are these."""
    try:
        held = [entry.to_ical() for calendar in parsed(data) for entry in calendar.subcomponents]
        return held == [entry.to_ical() for entry in wanted]
    except Exception:  # a foreign parser over foreign values may raise anything
        return False


LINE = re.compile(rb"[^\n]*\n|[^\n]+")  # a carriage return alone ends none, as the parser has it


def _blocks(data: bytes) -> Iterator[tuple[bytes, str]]:
    """The file in pieces: each entry of a calendar whole, with its kind; what is around them line by line."""
    inside: list[bytes] = []
    kind, depth = "", 0
    for line in LINE.findall(data):
        word = (
            line.rstrip().upper()
        )  # with the blank at its beginning, which says that it goes on with the line before
        begins = word.removeprefix(b"BEGIN:").decode("ascii", "replace") if word.startswith(b"BEGIN:") else ""
        if not depth and (not begins or begins == "VCALENDAR"):
            yield line, ""
            continue
        kind = kind or begins
        depth += bool(begins) - word.startswith(b"END:")
        inside.append(line)
        if not depth:
            yield b"".join(inside), kind
            inside, kind = [], ""
    yield b"".join(inside), kind


def _uid(block: bytes) -> str:
    """The UID of an entry, not of an alarm in it."""
    unfolded = block.replace(b"\r\n ", b"").replace(b"\n ", b"").replace(b"\r\n\t", b"").replace(b"\n\t", b"")
    depth = 0
    for line in unfolded.split(b"\n"):
        word = line.rstrip().upper()
        depth += word.startswith(b"BEGIN:") - word.startswith(b"END:")
        if depth == 1 and word.startswith((b"UID:", b"UID;")):
            written = Contentline(line.rstrip(b"\r").decode("utf-8", "replace"))  # type: ignore[no-untyped-call]
            return str(written.parts()[2])
    return ""


TOO_OFTEN = {"SECONDLY", "MINUTELY", "HOURLY"}
LAST = date(2200, 1, 1)  # nothing is looked for behind it
EARLIEST = 1900
LONGEST_MONTH = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))


def of(event: Component) -> Iterator[vRecur]:
    """The rules of an event; some programs write several."""
    found = event.get("RRULE", [])
    yield from found if isinstance(found, list) else [found]


def tamed(event: Component) -> None:
    """Bound the rules of a parsed event. Raises ValueError for one that is not followed at all."""
    start = event.start
    if start.year < EARLIEST:
        raise ValueError(f"an event begins before {EARLIEST}")
    if type(event.end) is type(start) and event.end < start:
        raise ValueError("an event ends before it begins")
    for rule in of(event):
        if str(rule.get("FREQ", [""])[0]).upper() in TOO_OFTEN:
            raise ValueError("an event repeats more often than daily")
        if any(int(step) < 1 for step in rule.get("INTERVAL", [])) or _never(rule):
            raise ValueError("an event has a rule that comes to nothing")
        if "COUNT" not in rule and _end(rule) > LAST:
            rule["UNTIL"] = [_as(start, LAST)]


def _end(rule: vRecur) -> date:
    until = rule.get("UNTIL", [])
    found = until[0] if until else date.max
    return found.date() if isinstance(found, datetime) else found


def _as(start: date, day: date) -> date:
    """The day as a value of the same kind as `start`, as iCalendar wants it."""
    if not isinstance(start, datetime):
        return day
    return datetime(day.year, day.month, day.day, tzinfo=UTC if start.tzinfo else None)


def _never(rule: vRecur) -> bool:
    """Whether a rule names only days that no year has, such as 30 February."""
    months, monthdays = rule.get("BYMONTH", []), rule.get("BYMONTHDAY", [])
    if not months or not monthdays:
        return False
    return all(abs(int(day)) > LONGEST_MONTH.get(int(month), 31) for month in months for day in monthdays)


def written_rule(rule: vRecur) -> str:
    """As iCalendar has it; the bound that we put there ourselves is left out."""
    mine = rule.get("UNTIL", [None])[0]
    shown = {
        key: value for key, value in rule.items() if not (key == "UNTIL" and mine and mine.year == LAST.year)
    }
    told: bytes = vRecur(shown).to_ical()  # type: ignore[no-untyped-call]
    return told.decode()


PRODUCT = "-//Countersign//Calendar//EN"
_MARK = re.compile("(?:BEGIN|END)[:;]", re.IGNORECASE)
ZONE_YEARS = 20  # of changes of the clock that a file tells


def parsed(data: bytes) -> tuple[Calendar, ...]:
    """The calendars in a file, with rules that could run for ever taken out of harm's way. Raises anything."""
    found = tuple(Calendar.from_ical(data, multiple=True))
    for calendar in found:
        if calendar.name != "VCALENDAR":
            raise ValueError(f"it holds a {calendar.name}, not a calendar")
        for event in entries(calendar):
            tamed(event)
    if not found:
        raise ValueError("it holds no calendar")
    _must_be_whole(data)
    return found


def _must_be_whole(data: bytes) -> None:
    """Raise ValueError where an entry is not closed by its own name: the parser leaves it out without a word."""
    open_: list[str] = []
    lines: list[Contentline] = Contentlines.from_ical(data)  # type: ignore[no-untyped-call]
    for line in lines:
        if not _MARK.match(line):
            continue
        mark, _, name = line.parts()
        if mark.upper() == "BEGIN":
            open_.append(name.strip().upper())
        elif not open_ or open_.pop() != name.strip().upper():
            raise ValueError(f"END:{name} has no beginning")
    if open_:
        raise ValueError(f"it is cut off: there is no END:{open_[0]}")


def entries(calendar: Calendar) -> list[Component]:
    """The events as they are written, each exception to a repetition on its own."""
    return [event for event in calendar.walk("VEVENT") if isinstance(event, Component)]


def text(event: Component, name: str) -> str:
    value = event.get(name, "")
    return str(value[0] if isinstance(value, list) else value)


def within(calendar: Calendar, begin: datetime, end: datetime, zone: ZoneInfo) -> Iterator[dict[str, Any]]:
    """The occurrences in one calendar, as facts."""
    repeating = {text(event, "UID") for event in entries(calendar) if repeats(event)}
    status = Status.of(calendar)
    for event in recurring_ical_events.of(calendar).between(begin.astimezone(zone), end.astimezone(zone)):
        yield occurrence(event, text(event, "UID") in repeating, zone, status)


def repeats(event: Component) -> bool:
    return "RRULE" in event or "RDATE" in event


@dataclass(frozen=True)
class Status:
    """What a calendar says of whether its events take place, and who keeps it."""

    cancelled: bool  # all of them are
    owner: str  # the address of whoever keeps it; "" where that is not plain

    @classmethod
    def of(cls, calendar: Calendar) -> Status:
        """It is kept by its only attendee, unless somebody else invites to all of it, who may keep it as well."""
        asked = [event for event in entries(calendar) if "ATTENDEE" in event]
        everybody = {address for event in asked for address in _addresses(event, "ATTENDEE")}
        owner = everybody.pop() if len(everybody) == 1 else ""
        others = {address for event in asked for address in _addresses(event, "ORGANIZER")} - {owner}
        return cls(str(calendar.get("METHOD", "")).upper() == "CANCEL", "" if len(others) == 1 else owner)

    def __call__(self, event: Component) -> str:
        """“cancelled” or “declined”; "" for an event that takes place."""
        if self.cancelled or text(event, "STATUS").upper() == "CANCELLED":
            return "cancelled"
        answer = str(_addresses(event, "ATTENDEE").get(self.owner, "")).upper()
        return "declined" if answer == "DECLINED" else ""


def _addresses(event: Component, name: str) -> dict[str, str]:
    """Who is named there, each with what they answered."""
    found = event.get(name, [])
    each = found if isinstance(found, list) else [found]
    return {str(one).strip().casefold(): getattr(one, "params", {}).get("PARTSTAT", "") for one in each}


def occurrence(event: Component, repeating: bool, zone: ZoneInfo, status: Status) -> dict[str, Any]:
    start, stop = event.start, event.end
    begins, ends = times.instant(start, zone), times.instant(stop, zone)
    all_day = not isinstance(start, datetime)
    last = max(start, _day(stop) - timedelta(days=1)) if all_day else start
    said = status(event)
    return {
        "title": text(event, "SUMMARY"),
        "location": text(event, "LOCATION"),
        "description": text(event, "DESCRIPTION"),
        "event_id": text(event, "UID"),
        "repeats": repeating,
        "status": said,
        "free": bool(said) or text(event, "TRANSP").upper() == "TRANSPARENT",
        "days": [start.isoformat(), last.isoformat()] if all_day else [],
        "begins": begins.isoformat(),
        "ends": max(begins, ends).isoformat(),
    }


def _day(moment: Moment) -> date:
    return moment.date() if isinstance(moment, datetime) else moment


MOST_DATES = 50  # of one event that are shown


def main(parts: list[Component], zone: ZoneInfo, status: Status) -> dict[str, Any]:
    """An event, given with its exceptions, as facts; `rule` says how it repeats, `dates` are those of its exceptions
    that it does not tell of: all but those of a series that have its title."""
    first = next((part for part in parts if "RECURRENCE-ID" not in part), parts[0])
    rule = "; ".join(written_rule(rule) for rule in of(first))
    told = occurrence(first, repeats(first), zone, status)
    each = (occurrence(part, False, zone, status) for part in parts if part is not first)
    dates = [
        {**one, "description": "", "location": ""}
        for one in each
        if not told["repeats"] or one["title"] != told["title"]
    ]
    if len(dates) > MOST_DATES:
        raise Refused(
            f"has more than {MOST_DATES} dates of its own, too many to be shown. Change it in a calendar program."
        )
    return {**told, "rule": rule, "dates": dates}


def _calendar(new: dict[str, Any], uid: str, stamp: datetime) -> Calendar:
    """The calendar that the file of a new event will hold. `new`: as `drafts.Draft.told` gives it."""
    start, end = (times.unpacked(new[name]) for name in ("start", "end"))
    event = Component.new(
        uid=uid,
        stamp=stamp,
        start=_written(start),
        end=_written(end if isinstance(end, datetime) else end + timedelta(days=1)),
        summary=new["title"],
        location=new["location"] or None,
        description=new["description"] or None,
        categories=[new["category"]] if new["category"] else (),
    )
    rule = dict(new["rule"])
    if until := rule.get("until"):
        rule["until"] = datetime.fromisoformat(until) if "T" in until else date.fromisoformat(until)
    if rule:
        event.add("rrule", rule)
    calendar = Calendar()
    calendar.add("prodid", PRODUCT)
    calendar.add("version", "2.0")
    calendar.add_component(event)
    first, last = (date(start.year + years, 1, 1) for years in (-1, ZONE_YEARS))
    calendar.add_missing_timezones(first_date=first, last_date=last)
    return calendar


def _written(moment: Moment) -> Moment:
    """The second of two equal times can only be written in UTC (RFC 5545, 3.3.5)."""
    return moment.astimezone(UTC) if isinstance(moment, datetime) and moment.fold else moment


MOST_NAMED, LONGEST_ID = 3, 100  # ids that a note names, and characters of one
ALONE = 12.0  # seconds of processor time for a file
MOST_TOLD = 0.9  # of what an answer may hold: the rest is for problems
TOO_LONG = "has more in it than can be gone through: ask for fewer days"
Result = tuple[dict[str, Any], bytes]
Shares = tuple[float, float]


def between(
    *files: bytes, names: Sequence[str], begin: str, end: str, zone: str, beside: Shares = (ALONE, ALONE)
) -> Result:
    """What takes place in a span, each with the number of its file; and what cannot be understood, in words. `beside`:
    seconds of processor time for one of several files, and on the clock after which no other one is begun."""
    first, last = datetime.fromisoformat(begin), datetime.fromisoformat(end)

    def tell(calendars: Sequence[Calendar]) -> tuple[list[dict[str, Any]], list[str]]:
        each = [one for calendar in calendars for one in within(calendar, first, last, ZoneInfo(zone))]
        return each, [*filter(None, map(_doubled, calendars)), *_unknown(calendars, each, zone)]

    told, problems, progress = _of_each(files, names, tell, beside)
    problems += [f"{names[number]} has {why}" for number, (_, said) in told for why in said]
    found = [{**one, "file": number} for number, (each, _) in told for one in each]
    some, unsaid = _first(sorted(found, key=lambda one: one["begins"]), names)
    return {"found": some, "problems": [*unsaid, *problems], **progress}, b""


T = TypeVar("T")


def _of_each(
    files: Sequence[bytes], names: Sequence[str], tell: Callable[[Sequence[Calendar]], T], beside: Shares
) -> tuple[list[tuple[int, T]], list[str], dict[str, Any]]:
    """What is told of the calendars in each file, by its number; what cannot be understood, in words; and how far this
    came (see servers.sandbox.portions): of several, one that takes long is put off."""
    problems: list[str] = []

    def told(number: int, data: bytes) -> tuple[T, ...]:
        why = "is no calendar that can be read"
        try:
            calendars = parsed(data)
            why = "has an event that makes no sense"
            return (tell(calendars),)
        except Exception as error:  # a foreign parser over foreign values may raise anything
            problems.append(f"{names[number]} {why} ({_reason(error)})")
            return ()

    seconds, together = beside
    each = in_turn(files, told, seconds if files[1:] else ALONE, together)
    late = [number for number, one in enumerate(each) if one is None]
    if not files[1:]:
        problems += [f"{names[number]} {TOO_LONG}" for number in late]
        late = []
    found = [(number, value) for number, one in enumerate(each) for value in one or ()]
    return found, problems, {"through": len(each), "late": late}


def _first(found: Sequence[dict[str, Any]], names: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    """As many of the first occurrences as an answer holds; and what is to be said of the others."""
    told: list[dict[str, Any]] = []
    large: dict[str, None] = {}
    room = MOST_TOLD
    for number, one in enumerate(found):
        takes = share(one)
        if takes > MOST_TOLD:
            large[f"{names[one['file']]} has an event with too long a text to be told"] = None
            continue
        if takes > room:
            since = one["begins"][: len("2026-11-24")]
            why = f"{len(found) - number:,} of {len(found):,} entries are left out, from {since} on: ask for fewer days"
            return told, [why, *large]
        room -= takes
        told.append(one)
    return told, [*large]


def _doubled(calendar: Calendar) -> str:
    """What is to be said of events that no other one of the same id lets be seen; "" where there are none."""
    counts = Counter((text(event, "UID"), text(event, "RECURRENCE-ID")) for event in entries(calendar))
    twice = [uid for (uid, at), count in counts.items() if count > 1 and uid]
    if not twice:
        return ""
    named = ", ".join(uid[:LONGEST_ID] for uid in twice[:MOST_NAMED]) + (", …" if twice[MOST_NAMED:] else "")
    return f"several events with one id ({named}), of which only one is told"


def _unknown(calendars: Sequence[Calendar], told: Sequence[dict[str, Any]], zone: str) -> list[str]:
    """What is to be said of events among those that are told whose times are in a zone that nobody knows."""
    uids = {one["event_id"] for one in told}
    events = [event for one in calendars for event in entries(one) if text(event, "UID") in uids]
    found = dict.fromkeys(name for event in events for name in _nowhere(event))
    if not found:
        return []
    named = ", ".join(name[:LONGEST_ID] for name in islice(found, MOST_NAMED)) + (
        ", …" if len(found) > MOST_NAMED else ""
    )
    return [f"times in a zone that is not known ({named}), which are read as {zone} and may be wrong"]


def _nowhere(event: Component) -> Iterator[str]:
    """The zones that the times of an event name and nobody knows: the parser leaves them out."""
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID"):
        value = event.get(name)
        at, zone = getattr(value, "dt", None), getattr(value, "params", {}).get("TZID")
        if zone and isinstance(at, datetime) and at.tzinfo is None:
            yield str(zone)


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:100] or type(error).__name__


def holding(*files: bytes, names: Sequence[str], event_id: str, beside: Shares = (ALONE, ALONE)) -> Result:
    """The numbers of the files that hold an event."""

    def holds(calendars: Sequence[Calendar]) -> bool:
        return any(text(event, "UID") == event_id for one in calendars for event in entries(one))

    told, problems, progress = _of_each(files, names, holds, beside)
    return {"found": [number for number, yes in told if yes], "problems": problems, **progress}, b""


def event(data: bytes, event_id: str, zone: str) -> Result:
    """An event; how many other entries its file has; and that file without it."""
    try:
        calendars = parsed(data)
        held = [one for one in calendars if any(text(each, "UID") == event_id for each in entries(one))]
        parts = [each for one in held for each in entries(one) if text(each, "UID") == event_id]
        told = main(parts, ZoneInfo(zone), Status.of(held[0]))
        several = len({text(part, "RECURRENCE-ID") for part in parts}) < len(parts)
        more = any(map(_holds_more, parts))
    except Refused:
        raise
    except Exception as error:  # as above
        raise Refused(f"makes no sense ({type(error).__name__}).") from error
    if several:
        raise Refused("is several times in its file. Mend that in a calendar program.")
    if more:
        raise Refused("has other entries within it, which would go with it. Mend that in a calendar program.")
    rest, left = without(data, calendars, event_id)
    unknown = "; ".join(_unknown(calendars, [told], zone))
    return {"event": told, "others": left, "unknown": unknown}, rest


def spans(new: dict[str, Any], zone: str, most: int) -> Result:
    """The first times that a new event would take place, in UTC."""
    here = ZoneInfo(zone)
    calendar = _calendar(new, "draft", datetime(2000, 1, 1, tzinfo=UTC))
    since = times.instant(times.unpacked(new["start"]), here).astimezone(here)
    found = islice(recurring_ical_events.of(calendar).after(since), most)
    told = [[times.instant(moment, here).isoformat() for moment in (each.start, each.end)] for each in found]
    return {"spans": told}, b""


def written(new: dict[str, Any], uid: str, stamp: str) -> Result:
    """The file of a new event."""
    return {}, _calendar(new, uid, datetime.fromisoformat(stamp)).to_ical()


TASKS = {one.__name__: one for one in (between, holding, event, spans, written)}
