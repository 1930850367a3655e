"""What the calendar in a mail invites to, as lines that people read. Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from email.message import EmailMessage
from itertools import islice
from typing import Any, cast

from icalendar import Calendar

from servers.email import messages

LONGEST = 100_000  # characters of a calendar: one takes a good part of the time that a message has
MOST = 20  # events of one mail
KINDS = {"CANCEL": "Cancelled", "REPLY": "Answer to an invitation", "COUNTER": "Another time is proposed"}
LONGEST_LINE = 2_000


def invitations(mail: EmailMessage) -> list[str]:
    """A line for each event in the calendars of a mail, but for those of mails inside of it; a calendar that cannot be
    read is said to be."""
    return list(dict.fromkeys(line for part in _calendars(mail) for line in _lines(part)))


def is_calendar(part: EmailMessage) -> bool:
    kind, name = part.get_content_type(), messages.name_of(part).lower()
    return kind in ("text/calendar", "application/ics") or name.endswith(".ics")


def _calendars(part: EmailMessage) -> Iterator[EmailMessage]:
    if part.is_multipart():
        for each in part.iter_parts() if not messages.inside(part) else ():
            yield from _calendars(cast(EmailMessage, each))
    elif is_calendar(part):
        yield part


def _lines(part: EmailMessage) -> Iterator[str]:
    content = messages.content(part)
    if len(content) > LONGEST:
        yield "[A calendar in this mail is too long to be read.]"
        return
    try:
        found = [*Calendar.from_ical(content, multiple=True)]
        events = [
            (text(calendar, "METHOD"), event) for calendar in found for event in calendar.walk("VEVENT")
        ]
        yield from (_line(method, event) for method, event in islice(events, MOST))
        if len(events) > MOST:
            yield f"[{len(events) - MOST:,} more events are in it.]"
        if not events:
            yield f"[A calendar in this mail {'has no events' if found else 'cannot be read'}.]"
    except Exception:  # a foreign parser over foreign values may raise anything
        yield "[A calendar in this mail cannot be read.]"


def _line(method: str, event: Any) -> str:
    when = _moment(event, "DTSTART") or "without a time"
    until = _moment(event, "DTEND") or (f"for {event['DURATION'].dt}" if "DURATION" in event else "")
    parts = [
        f"{text(event, 'SUMMARY') or '(no title)'}, {when}",
        f"until {until}" if _moment(event, "DTEND") else until,
        f"repeats: {event['RRULE'].to_ical().decode()}" if "RRULE" in event else "",
        f"at {text(event, 'LOCATION')}" if text(event, "LOCATION") else "",
        text(event, "DESCRIPTION"),
    ]
    said = f"{KINDS.get(method.upper(), 'Invitation')}: {', '.join(filter(None, parts))}"
    return f"[{said[:LONGEST_LINE]}{' …' if said[LONGEST_LINE:] else ''}]"


def text(event: Any, name: str) -> str:
    value = event.get(name, "")
    return " ".join(str(value[0] if isinstance(value, list) else value).split())


def _moment(event: Any, name: str) -> str:
    """The moment as it is written, with the zone that it names."""
    if name not in event:
        return ""
    at: date = event[name].dt
    if not isinstance(at, datetime):
        return f"{at:%Y-%m-%d}"
    zone = event[name].params.get("TZID") or ("UTC" if at.tzinfo else "no zone is named")
    return f"{at:%Y-%m-%d %H:%M} ({zone})"
