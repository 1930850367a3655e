"""From people's words for a time to the time, and back."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError

from servers import command_line
from servers.date_limits import in_utc
from servers.days import Days

Moment = date | datetime  # a day alone: all day. A datetime is aware
TIME = re.compile(
    r"(?:(?P<day>.*?\S)(?:\s*,?\s+(?P<at>at\s+)?|T))??(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::\d\d)?)?"
    r"\s*(?P<half>am|pm)?\s*(?P<offset>Z|[+-]\d\d:\d\d)?",
    re.IGNORECASE | re.ASCII,
)
LONGEST = 200  # characters of what says when
WHEN = "Say when: 2026-11-24 14:00, tomorrow 9:30, or a day alone for all day."
DEFAULT_MINUTES = 60
SMALL_HOURS = range(1, 7)  # said alone, they are more often meant for the afternoon


def zone(name: str | None, usual: ZoneInfo) -> ZoneInfo:
    """The named time zone, or the usual one. Raises ToolError."""
    try:
        return command_line.zone(name) if name else usual
    except ValueError as error:
        raise ToolError(str(error)) from None


def moment(words: str, days: Days, within: ZoneInfo, on: date | None = None) -> Moment:
    """What the words mean. An hour alone is a time after “at”: friday at 10. `on`: the day of a time that is said
    alone. Raises ToolError."""
    said = words.strip()
    if len(said) > LONGEST:
        raise ToolError(WHEN)
    found = TIME.fullmatch(said)
    if not found or not (found["minute"] or found["half"] or found["at"]):
        day = days.day(said)
        if day is None:
            raise ToolError(WHEN)
        return day
    day = days.day(found["day"]) if found["day"] else on
    if day is None:
        raise ToolError(f"“{said}” names no day. Write it like 2026-11-24 14:00, or tomorrow 14:00.")
    return local(day, _time(found, said), within, found["offset"])


def _time(found: re.Match[str], said: str) -> time:
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), (found["half"] or "").lower()
    if half and not 1 <= hour <= 12:
        raise ToolError(f"“{said}” is no time I know. Write it like 14:00 or 2pm.")
    if not half and not found["minute"] and hour in SMALL_HOURS:
        raise ToolError(f"“{said}” is in the night or in the afternoon. Write {hour}am or {hour}pm.")
    hour = hour % 12 + (12 if half == "pm" else 0) if half else hour
    try:
        return time(hour, minute)
    except ValueError:
        raise ToolError(f"“{said}” is no time I know. Write it like 14:00 or 2pm.") from None


def local(day: date, at: time, within: ZoneInfo, offset: str | None = None) -> datetime:
    """That time on that day in the zone. Raises ToolError where the clocks skip it, or show it twice."""
    plain = datetime.combine(day, at)
    if offset:
        return plain.replace(tzinfo=_offset(offset)).astimezone(within)
    first, second = (plain.replace(tzinfo=within, fold=fold) for fold in (0, 1))
    if first.utcoffset() == second.utcoffset():
        return first
    said = f"{at:%H:%M} on {day} in {within.key}"
    if first.astimezone(UTC).astimezone(within).replace(tzinfo=None) != plain:
        raise ToolError(f"There is no {said}: the clocks skip it. Choose another time.")
    one, two = (moment.isoformat(timespec="minutes") for moment in (first, second))
    raise ToolError(f"{said} comes twice, because the clocks go back. Write {one} or {two}.")


def _offset(text: str) -> timezone:
    if text in "Zz":
        return UTC
    hours, minutes = text[1:].split(":")
    if int(hours) > 14 or int(minutes) > 59:
        raise ToolError(f"“{text}” is no offset from UTC. Write it like +01:00.")
    return timezone((-1 if text[0] == "-" else 1) * timedelta(hours=int(hours), minutes=int(minutes)))


def ending(start: Moment, words: str | None, minutes: int | None, days: Days, within: ZoneInfo) -> Moment:
    """When it ends; of an event that takes all day, the last day. Raises ToolError."""
    if words and minutes:
        raise ToolError("Give either an end or how many minutes, not both.")
    if not isinstance(start, datetime):
        if minutes:
            raise ToolError("An event that lasts minutes needs a time: write start like 2026-11-24 14:00.")
        end = moment(words, days, within, start) if words else start
        if isinstance(end, datetime):
            raise ToolError("It begins with a day alone, so it takes all day. Give start a time as well.")
    elif words:
        end = moment(words, days, within, start.astimezone(within).date())
        if not isinstance(end, datetime):
            raise ToolError("It begins at a time, so end needs one too: write end like 15:00.")
    else:  # in UTC, so that an hour is an hour on the days when clocks change
        end = (start.astimezone(UTC) + timedelta(minutes=minutes or DEFAULT_MINUTES)).astimezone(within)
    if before(end, start):
        raise ToolError(f"It would end ({said(end)}) before it begins ({said(start)}). Check the times.")
    return end


def before(end: Moment, start: Moment) -> bool:
    if isinstance(end, datetime) and isinstance(start, datetime):
        return end.astimezone(UTC) <= start.astimezone(UTC)
    return end < start


def instant(moment: Moment, within: ZoneInfo) -> datetime:
    """In UTC. A day alone begins at midnight, and a time without a zone is said in `within`."""
    if not isinstance(moment, datetime):
        return in_utc(datetime.combine(moment, time(), within))
    return in_utc(moment if moment.tzinfo else moment.replace(tzinfo=within))


def packed(moment: Moment) -> list[str]:
    """A day, or a moment in UTC with the name of its zone, for JSON."""
    if not isinstance(moment, datetime):
        return [moment.isoformat()]
    return [moment.astimezone(UTC).isoformat(), str(moment.tzinfo)]


def unpacked(told: list[str]) -> Moment:
    """The same moment again."""
    if len(told) == 1:
        return date.fromisoformat(told[0])
    return datetime.fromisoformat(told[0]).astimezone(ZoneInfo(told[1]))


def said(moment: Moment) -> str:
    """As answers have it: 2026-11-24T14:00:00+01:00, or the day alone."""
    return moment.isoformat()


def span(start: Moment, end: Moment) -> str:
    """`Tuesday 2026-11-24 14:00 to 15:00 (Europe/Berlin, UTC+01:00)`; for whole days from the first to the last."""
    if not isinstance(start, datetime) or not isinstance(end, datetime):
        return (
            f"{start:%A %Y-%m-%d}, all day" if start == end else f"{start:%A %Y-%m-%d} to {end:%A %Y-%m-%d}"
        )
    same = start.date() == end.date()
    until = f"{end:%H:%M}" if same else f"{end:%A %Y-%m-%d %H:%M}"
    if end.utcoffset() != start.utcoffset():
        until += f" (UTC{_plain(end)})"
    zone = "UTC" if str(start.tzinfo) == "UTC" else f"{start.tzinfo}, UTC{_plain(start)}"
    return f"{start:%A %Y-%m-%d %H:%M} to {until} ({zone})"


def _plain(moment: datetime) -> str:
    text = moment.isoformat()[-6:]
    return text if text[0] in "+-" else "+00:00"
