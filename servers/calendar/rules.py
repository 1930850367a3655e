"""Rules of repetition: refused or bounded where they would keep a computer busy, and put in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from icalendar import Event as Component
from icalendar.prop import vRecur

TOO_OFTEN = {"SECONDLY", "MINUTELY", "HOURLY"}
LAST = date(2200, 1, 1)  # nothing is looked for behind it
EARLIEST = 1900
LONGEST_MONTH = dict(zip(range(1, 13), (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
WORDS: dict[str, dict[str, Any]] = {
    "daily": {"freq": "DAILY"},
    "weekdays": {"freq": "WEEKLY", "byday": ["MO", "TU", "WE", "TH", "FR"]},
    "weekly": {"freq": "WEEKLY"},
    "every 2 weeks": {"freq": "WEEKLY", "interval": 2},
    "monthly": {"freq": "MONTHLY"},
    "yearly": {"freq": "YEARLY"},
}


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


def rule(repeat: str, times: int | None, last: datetime | date | None) -> dict[str, Any]:
    """The rule for one of our words. `last`: an upper bound in the kind that the start has."""
    made = dict(WORDS[repeat])
    if times:
        made["count"] = times
    elif last:
        made["until"] = last
    return made


def written(rule: vRecur) -> str:
    """As iCalendar has it; the bound that we put there ourselves is left out."""
    mine = rule.get("UNTIL", [None])[0]
    shown = {
        key: value for key, value in rule.items() if not (key == "UNTIL" and mine and mine.year == LAST.year)
    }
    told: bytes = vRecur(shown).to_ical()  # type: ignore[no-untyped-call]
    return told.decode()
