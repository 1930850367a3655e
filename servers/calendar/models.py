"""What the tools take and answer. Times are local to the zone of the event or of the server, with their offset."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from servers.filesystem.models import Item, Sha256, Strict

LONGEST_TITLE, LONGEST_PLACE, LONGEST_TEXT = 200, 300, 8000
MOST_TIMES, MOST_MINUTES, MOST_DAYS = 1000, 60 * 24 * 14, 366

Repeat = Literal["daily", "weekdays", "weekly", "every 2 weeks", "monthly", "yearly"]
IdArg = Annotated[str, Field(min_length=1, max_length=400, description="The event_id, from list_events.")]
TitleArg = Annotated[str, Field(max_length=LONGEST_TITLE, description="What it is, in one line.")]
StartArg = Annotated[
    str,
    Field(
        max_length=60,
        description="When it begins: 2026-11-24 14:00, tomorrow 9:30, friday 2pm, 2026-11-24T14:00+01:00. "
        "A day alone: all day.",
    ),
]
EndArg = Annotated[
    str,
    Field(max_length=60, description="When it ends: a time on that day, or as start. All day: the last day."),
]
MinutesArg = Annotated[int, Field(ge=1, le=MOST_MINUTES, description="How long, instead of end.")]
ZoneArg = Annotated[
    str,
    Field(max_length=60, description="The time zone it is said in, like Europe/Berlin. Empty: the server's."),
]
PlaceArg = Annotated[str, Field(max_length=LONGEST_PLACE, description="Where it is.")]
TextArg = Annotated[str, Field(max_length=LONGEST_TEXT, description="Anything else worth knowing.")]
TimesArg = Annotated[int, Field(ge=2, le=MOST_TIMES, description="How often in all, when it repeats.")]
UntilArg = Annotated[str, Field(max_length=40, description="The last day it may repeat on.")]
CalendarArg = Annotated[str, Field(max_length=200, description="The folder it goes to. Empty: the first.")]
DayArg = Annotated[str, Field(max_length=40, description="A day: 2026-11-24, today, tomorrow, friday.")]
ExpectedMoment = Annotated[
    str | None, Field(description="The moment that was shown. Refused when the words now mean another one.")
]
ExpectedArg = Annotated[
    Sha256 | None, Field(description="SHA-256 the event's file must have now. Empty: anything.")
]


class Block(Strict):
    """The arguments of create_time_block."""

    title: TitleArg
    start: StartArg
    end: EndArg | None = None
    minutes: MinutesArg | None = None
    timezone: ZoneArg | None = None
    calendar: CalendarArg | None = None


class NewEvent(Block):
    """The arguments of create_event."""

    location: PlaceArg | None = None
    description: TextArg | None = None
    repeat: Repeat | None = None
    times: TimesArg | None = None
    until: UntilArg | None = None


class Event(BaseModel):
    """One event, or one occurrence of an event that repeats."""

    title: str
    start: str = Field(description="with offset; a day alone when it takes all day")
    end: str = Field(description="with offset; the last day when it takes all day")
    location: str
    repeats: bool
    busy: bool
    event_id: str
    file: str


class Events(BaseModel):
    events: list[Event]
    truncated: bool
    note: str = Field(description="which files could not be read, and why")


class Slot(BaseModel):
    start: str
    end: str
    minutes: int


class Slots(BaseModel):
    slots: list[Slot]
    truncated: bool
    note: str = ""


class Found(BaseModel):
    """One event with everything about it, and its file as it is now."""

    event_id: str
    what: str = Field(description="like “Team lunch, Tuesday 2026-11-24 12:00 to 13:00 (Europe/Berlin)”")
    title: str
    start: str
    end: str
    location: str
    description: str
    repeat: str = Field(description="the rule as iCalendar writes it; empty when it does not repeat")
    file: str
    sha256: Sha256 = Field(description="of the whole file")
    others: int = Field(description="how many other events the file holds")
    items: list[Item]


class Plan(BaseModel):
    """What would be written to the calendar."""

    what: str
    change: str = Field(description="the lines of the new event, and what is at the same time")
    start: str
    end: str
    folder: str


class Created(BaseModel):
    event_id: str
    title: str
    start: str
    end: str
    file: str
    sha256: str = Field(description="of its file")


class Deleted(BaseModel):
    event_id: str
    title: str
    file: str
    sha256: Sha256 = Field(description="of what is there now; “absent” when the event was alone in its file")
    trash_id: str = Field(description="where the file before is kept, for restore_file")
    kept_until: datetime
