"""The iCalendar files of the folders, read in the sandbox, the events in them, and the free time between.

What the tools take and answer is here, too: times are local to the zone of the event or of the server.
"""

from __future__ import annotations

import hashlib
import stat
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from servers.calendar import times
from servers.calendar.times import Moment
from servers.date_limits import in_utc
from servers.filesystem import disk, listing
from servers.filesystem.models import Entry, Item, Sha256, Strict
from servers.filesystem.paths import Place, Roots, opened, spot
from servers.filesystem.text import read_at
from servers.lines import one_line
from servers.sandbox.calling import Job, Limits, brief, run
from servers.sandbox.portions import Portions
from servers.sandbox.protocol import MOST_JSON

LONGEST_TITLE, LONGEST_PLACE, LONGEST_TEXT, LONGEST_ID = 200, 300, 8000, 400
LONGEST_LISTED = 1000  # characters of the title or the place of an event in a list
MOST_TIMES, MOST_MINUTES, MOST_DAYS = 1000, 60 * 24 * 14, 366

Repeat = Literal["daily", "weekdays", "weekly", "every 2 weeks", "monthly", "yearly"]
IdArg = Annotated[
    str,
    Field(
        min_length=1, max_length=LONGEST_ID, description="The id of the event, as the list of events has it."
    ),
]
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
OneCalendarArg = Annotated[
    str, Field(max_length=200, description="Only what is in this folder. Empty: everything.")
]
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
    status: str = Field(description="cancelled or declined, which take no time; else empty")
    event_id: str
    file: str


class Events(BaseModel):
    events: list[Event]
    truncated: bool
    note: str = Field(description="which files could not be read, and why")
    unread: list[str] = Field(description="the files that the note names")


class Slot(BaseModel):
    start: str
    end: str
    minutes: int


class Slots(BaseModel):
    slots: list[Slot]
    truncated: bool
    note: str = ""
    files: list[str] = Field(description="of what takes the other time, and those that the note names")


class Found(BaseModel):
    """One event with everything about it, and its file as it is now."""

    event_id: str
    what: str = Field(description="like “Team lunch, Tuesday 2026-11-24 12:00 to 13:00 (Europe/Berlin)”")
    title: str
    start: str
    end: str
    location: str
    description: str
    status: str = Field(description="cancelled or declined; else empty")
    repeat: str = Field(description="the rule as iCalendar writes it; empty when it does not repeat")
    file: str
    sha256: Sha256 = Field(description="of the whole file")
    others: int = Field(description="how many other events the file holds")
    items: list[Item]
    note: str = ""


class Plan(BaseModel):
    """What would be written to the calendar."""

    what: str
    when: str
    change: str = Field(description="what else the new event has, in lines, and what is at the same time")
    start: str
    end: str
    until: str = Field(description="the last moment that it repeats up to; “” for none")
    folder: str
    files: list[str] = Field(description="of what is at the same time, and those that could not be read")


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
    trash_id: str = Field(description="where the file before is kept, to restore it")
    entry: Entry
    kept_until: datetime


LARGEST = 4 << 20  # bytes of one file
MOST_BYTES = 64 << 20  # of all files together
MOST_FILES = 5000
MOST_HELD = 64 << 20  # bytes of what takes place, about: a text of a file comes with each of its repetitions
LONGEST_FILES = 1 << 20  # characters of their names in one answer
ENDING = ".ics"
LIMITS = Limits(seconds=20, told=MOST_JSON)  # for one portion of them
BESIDE = (1.0, 5.0)  # for each of several, as tasks.between has it: a longer one comes alone, last


@dataclass(frozen=True)
class File:
    """One file and its bytes."""

    place: Place
    data: bytes

    @property
    def sha256(self) -> str:
        return disk.sha256(self.data)


NAMED = 3  # problems that a note names
SEE_WHY = "Not everything could be read, so it may be there all the same: list the events to see why."


@dataclass
class Problems:
    """What could not be read. An answer that says nothing of it would look whole."""

    said: list[str] = field(default_factory=list)
    about: list[list[str]] = field(default_factory=list)  # the files that each may be about

    def add(self, why: str, files: Iterable[File | Place] = ()) -> None:
        """One problem, which begins with the name of one of these files or of none."""
        names = [(one.place if isinstance(one, File) else one).said for one in files]
        self.said.append(brief(why))
        self.about.append([name for name in names if why.startswith(name)])

    @property
    def note(self) -> str:
        if not self.said:
            return ""
        more = f" and {len(self.said) - NAMED} more" if len(self.said) > NAMED else ""
        named = "; ".join(self.said[:NAMED])
        return f"Not everything could be read, so events may be missing: {named}{more}."

    @property
    def files(self) -> list[str]:
        """Those that the note tells of."""
        return list(dict.fromkeys(name for names in self.about[:NAMED] for name in names))


def calendars(roots: Roots, name: str = "") -> list[Place]:
    """The folder of this name, or all of them. Raises ToolError."""
    return [roots.find(name)] if name else [roots.place(root, ()) for root in roots.roots]


def asked(
    task: str, every: Sequence[File], problems: Problems, **args: Any
) -> Iterator[tuple[list[File], dict[str, Any]]]:
    """What a task finds in all these files, in portions: the facts of one number its files from 0 on."""

    def job(files: list[File]) -> Job:
        given = {**args, "names": [file.place.said for file in files], "beside": BESIDE}
        return Job(task, [file.data for file in files], given, limits=LIMITS)

    for files, result in Portions(job, at_once=100).results(list(every)):
        if result.refused:
            for file in files:
                problems.add(f"{file.place.said} {result.refused}".rstrip("."), [file])
        else:
            for why in result.told["problems"]:
                problems.add(why, files)
            yield files, result.told


def read_all(folders: Sequence[Place], problems: Problems) -> list[File]:
    """Every file below these that can be read; the others go to `problems`."""
    return list(_read_all(folders, problems))


def state(files: Sequence[File]) -> str:
    """SHA-256 over these files, by which they are known to be the same ones still."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.place.said}\n{file.sha256}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _read_all(folders: Sequence[Place], problems: Problems) -> Iterator[File]:
    left = MOST_BYTES
    for number, place in enumerate(_places(folders, problems)):
        if number >= MOST_FILES or left < 0:
            problems.add(f"there are more files than are read ({number})")
            return
        try:
            file = read(place)
            left -= len(file.data)
            yield file
        except ToolError as error:
            problems.add(str(error).rstrip("."), [place])


def _places(folders: Sequence[Place], problems: Problems) -> Iterator[Place]:
    budget = listing.Budget()
    for home in folders:
        inner: dict[str, tuple[str, ...]] = {
            "": ()
        }  # folders by what they are called: names as the disk has them
        with opened(home) as folder:
            for here, info in listing.visit(folder, "", budget, deep=True):
                parts = (*inner[here.said.rpartition("/")[0]], here.name)
                if stat.S_ISDIR(info.st_mode):
                    inner[here.said] = parts
                elif stat.S_ISREG(info.st_mode) and here.said.lower().endswith(ENDING):
                    yield replace(home, parts=(*home.parts, *parts), folder=False)
    if budget.unseen:
        problems.add(budget.unseen.rstrip("."))


def read(place: Place) -> File:
    """One file. Raises ToolError naming it and what is wrong with it."""
    with spot(place) as here, disk.reading(here) as file:
        data = read_at(file, 0, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{place.said} is larger than {LARGEST >> 20} MB.")
    return File(place, data)


UNTITLED = "(no title)"


@dataclass(frozen=True)
class Occurrence:
    """One time that an event takes place."""

    title: str
    location: str
    description: str
    event_id: str
    file: File
    repeats: bool
    status: str  # “cancelled” or “declined”; else empty
    busy: bool  # whether the time is taken by it
    start: Moment
    end: Moment  # of an event that takes all day, its last day
    begins: datetime  # UTC
    ends: datetime  # UTC

    @classmethod
    def told(cls, facts: dict[str, Any], file: File, zone: ZoneInfo) -> Occurrence:
        """From what the sandbox says of it."""
        begins, ends = (in_utc(datetime.fromisoformat(facts[name])) for name in ("begins", "ends"))
        days = [date.fromisoformat(day) for day in facts["days"]]
        start, end = days or (begins.astimezone(zone), ends.astimezone(zone))
        return cls(
            title=facts["title"] or UNTITLED,
            location=facts["location"],
            description=facts["description"],
            event_id=facts["event_id"],
            file=file,
            repeats=facts["repeats"],
            status=facts["status"],
            busy=not facts["free"] and ends > begins,
            start=start,
            end=end,
            begins=begins,
            ends=ends,
        )

    @property
    def size(self) -> int:
        """About how many bytes it is in memory, where its texts are plain."""
        return 300 + len(self.title) + len(self.location) + len(self.description) + len(self.event_id)

    @property
    def shown_at(self) -> str:
        return f"{one_line(self.title)}, {times.span(self.start, self.end)}"

    def shown(self) -> Event:
        """As a list has it. An id that is cut is still too long to be asked for, so it is nobody else's."""
        return Event(
            title=brief(self.title, LONGEST_LISTED),
            start=times.said(self.start),
            end=times.said(self.end),
            location=brief(self.location, LONGEST_LISTED),
            repeats=self.repeats,
            busy=self.busy,
            status=self.status,
            event_id=brief(self.event_id, LONGEST_ID + 1),
            file=self.file.place.said,
        )


@dataclass(frozen=True)
class Series:
    """An event with all its repetitions."""

    main: Occurrence  # the first
    rule: str  # how it repeats, as iCalendar has it
    others: int  # entries of its file that are not about it
    rest: bytes  # of its file without it
    note: str = ""  # what is to be said of its times
    dates: tuple[Occurrence, ...] = ()  # of its own, which the first does not tell of

    @property
    def shown(self) -> str:
        """What it is, and when, in words."""
        one, more = self.main, len(self.dates)
        dates = f", {more} other date{'s' * (more > 1)}"
        all_ = ", all repetitions" if one.repeats else dates if more else ""
        return one.shown_at + all_ + (f" ({one.status})" if one.status else "")


def between(
    every: Sequence[File], begin: datetime, end: datetime, zone: ZoneInfo, problems: Problems
) -> list[Occurrence]:
    """What takes place in a span, in order of time. Files that cannot be understood go to `problems`."""
    span = {"begin": begin.isoformat(), "end": end.isoformat(), "zone": zone.key}
    times_of_all = (
        Occurrence.told(one, files[one["file"]], zone)
        for files, told in asked("calendar.between", every, problems, **span)
        for one in told["found"]
    )
    found, left = list[Occurrence](), MOST_HELD
    for each in times_of_all:
        left -= each.size
        if left < 0:
            problems.add("more takes place than can be looked at: ask for fewer days, or for one calendar")
            break
        found.append(each)
    return sorted(found, key=lambda each: (each.begins, each.ends, each.title, each.file.place.said))


def files_of(named: Iterable[Occurrence], problems: Problems) -> list[str]:
    """The files that an answer tells of which names these and what could not be read. Raises ToolError for more than
    the gate holds its rules against at once."""
    found = list(dict.fromkeys([*(each.file.place.said for each in named), *problems.files]))
    if sum(map(len, found)) > LONGEST_FILES:
        raise ToolError(
            "That is about too many files to name them all. Ask for fewer days, or for one calendar."
        )
    return found


def find(folders: Sequence[Place], event_id: str, zone: ZoneInfo) -> Series:
    """An event. Raises ToolError unless there is exactly one; it names no file, as nobody has asked for one."""
    problems = Problems()
    holding = [
        files[number]
        for files, told in asked("calendar.holding", read_all(folders, problems), problems, event_id=event_id)
        for number in told["found"]
    ]
    if not holding:
        why = f" {SEE_WHY}" * bool(problems.said)
        raise ToolError(f"There is no event {event_id}. Look what is on the calendar first.{why}")
    if len(holding) > 1:
        raise ToolError(
            f"The event {event_id} is in {len(holding)} files. List the events to see which, and name a calendar, or "
            "take it out of all but one by hand."
        )
    [file] = holding
    given = {"event_id": event_id, "zone": zone.key}
    told, rest = run("calendar.event", f"The event {event_id}", [file.data], LIMITS, **given)
    note = f"{file.place.said} has {told['unknown']}." if told["unknown"] else ""
    main, *dates = (Occurrence.told(one, file, zone) for one in (told["event"], *told["event"]["dates"]))
    return Series(main, told["event"]["rule"], told["others"], rest, note, tuple(dates))


def clashes(found: list[Occurrence], begins: datetime, ends: datetime) -> Iterator[Occurrence]:
    """What takes time between the two."""
    return (each for each in found if each.busy and each.begins < ends and begins < each.ends)


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
    taken = _joined((each.begins, each.ends) for each in busy if each.busy)
    begins, ends = [begin for begin, _ in taken], [end for _, end in taken]
    for begin, end in open_:
        at = max(begin, now)
        inside = taken[bisect_right(ends, begin) : bisect_left(begins, end)]
        for from_, to in [*inside, (end, end)]:
            if from_ - at >= timedelta(minutes=minutes):
                yield at, from_
            at = max(at, to)


def _joined(taken: Iterable[Span]) -> list[Span]:
    """The same times, in order, none of which overlaps another."""
    found: list[Span] = []
    for begin, end in sorted(taken):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def shown(span: Span, zone: ZoneInfo) -> Slot:
    begin, end = (moment.astimezone(zone) for moment in span)
    minutes = int((span[1] - span[0]).total_seconds() // 60)
    return Slot(start=times.said(begin), end=times.said(end), minutes=minutes)
