"""From a person's word for a day to the day: 2026-11-24, today, tomorrow, friday, next fri, in 3 days, end of month.

A weekday, whole or in three letters, is the next such day after today: on a Friday, “friday” is in seven days. With
“next” it is the one of the coming week, which begins on Monday: on a Monday, “friday” is in four days and “next friday”
in eleven; on a Sunday, both are the same day.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError

from servers.command_line import Clock

NONE = {"", "none", "never"}
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
WEEKDAY = re.compile(rf"(?:on )?(next )?({'|'.join(f'{day[:3]}(?:{day[3:]})?' for day in WEEKDAYS)})")
MONTH_END = re.compile(r"(?:the )?end of (?:the |this )?month")
AHEAD = re.compile(r"in (\d{1,4}) (day|week)s?")
YEARS = range(1970, 2200)


@dataclass(frozen=True)
class Days:
    """What the time is, and in which zone a day begins."""

    clock: Clock
    zone: ZoneInfo

    def now(self) -> datetime:
        """In UTC."""
        return self.clock().astimezone(ZoneInfo("UTC"))

    def today(self) -> date:
        return self.clock().astimezone(self.zone).date()

    def begins(self, day: date) -> datetime:
        return datetime.combine(day, time(), self.zone)

    def day(self, words: str) -> date | None:
        """The day that is meant; None for none. Raises ToolError when the words mean no day."""
        said = " ".join(words.lower().split())
        if said in NONE:
            return None
        found = _relative(said, self.today()) or _written(said)
        if found is None or found.year not in YEARS:
            raise ToolError(
                f"“{words}” is no day I know. Write 2026-11-24, today, tomorrow, friday, in 3 days, "
                "end of month, or none."
            )
        return found


def _relative(said: str, today: date) -> date | None:
    if said in ("today", "tomorrow"):
        return today + timedelta(days=["today", "tomorrow"].index(said))
    if MONTH_END.fullmatch(said):
        return today.replace(day=monthrange(today.year, today.month)[1])
    named = WEEKDAY.fullmatch(said)
    if named:
        return _weekday(named[2], today, coming_week=bool(named[1]))
    ahead = AHEAD.fullmatch(said)
    return today + timedelta(days=int(ahead[1]) * (7 if ahead[2] == "week" else 1)) if ahead else None


def _weekday(name: str, today: date, *, coming_week: bool) -> date:
    """As it stands at the top of this file."""
    place = next(place for place, day in enumerate(WEEKDAYS) if day.startswith(name))
    if coming_week:
        return today + timedelta(days=7 - today.weekday() + place)
    return today + timedelta(days=(place - today.weekday() - 1) % 7 + 1)


def _written(said: str) -> date | None:
    try:
        return date.fromisoformat(said) if re.fullmatch(r"\d{4}-\d\d-\d\d", said, re.ASCII) else None
    except ValueError:
        return None
