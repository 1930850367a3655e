"""The iCalendar files of the folders: found, read within limits, parsed; what cannot be read is named, not skipped."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from icalendar import Calendar
from icalendar import Event as Component
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar.rules import tamed
from servers.filesystem import disk, look
from servers.filesystem.roots import Place, Roots, opened, spot
from servers.filesystem.text import read_at

LARGEST = 4 << 20  # bytes of one file
MOST_BYTES = 64 << 20  # of all files together
MOST_FILES = 5000
ENDING = ".ics"


@dataclass(frozen=True)
class File:
    """One file, its bytes, and the calendars in it (nearly always one)."""

    place: Place
    data: bytes
    calendars: tuple[Calendar, ...]

    @property
    def sha256(self) -> str:
        return disk.sha256(self.data)


@dataclass
class Problems:
    """What could not be read. An answer that says nothing of it would look whole."""

    said: list[str] = field(default_factory=list)

    @property
    def note(self) -> str:
        if not self.said:
            return ""
        more = f" and {len(self.said) - 3} more" if len(self.said) > 3 else ""
        return f"Not everything could be read, so events may be missing: {'; '.join(self.said[:3])}{more}."


def read_all(roots: Roots, problems: Problems) -> Iterator[File]:
    """Every file that can be read; the others go to `problems`."""
    left = MOST_BYTES
    for number, place in enumerate(_places(roots, problems)):
        if number >= MOST_FILES or left < 0:
            problems.said.append(f"there are more files than are read ({number})")
            return
        try:
            file = read(place)
        except ToolError as error:
            problems.said.append(str(error).rstrip("."))
            continue
        left -= len(file.data)
        yield file


def _places(roots: Roots, problems: Problems) -> Iterator[Place]:
    budget = look.Budget()
    for root in roots.roots:
        home = roots.place(root, ())
        with opened(home) as folder:
            for here, info in look.visit(folder, "", budget, deep=True):
                if stat.S_ISREG(info.st_mode) and here.said.lower().endswith(ENDING):
                    yield roots.place(root, tuple(here.said.split("/")))
    if budget.spent:
        problems.said.append(budget.spent.rstrip("."))


def read(place: Place) -> File:
    """One file. Raises ToolError naming it and what is wrong with it."""
    with spot(place) as here, disk.reading(here) as file:
        data = read_at(file, 0, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{place.said} is larger than {LARGEST >> 20} MB.")
    try:
        return File(place, data, parsed(data))
    except Exception as error:  # a foreign parser over foreign bytes may raise anything
        reason = " ".join(str(error).split())[:100] or type(error).__name__
        raise ToolError(f"{place.said} is no calendar that can be read ({reason}).") from error


def entries(calendar: Calendar) -> list[Component]:
    """The events as they are written, each exception to a repetition apart."""
    return [event for event in calendar.walk("VEVENT") if isinstance(event, Component)]


@lru_cache(maxsize=512)
def parsed(data: bytes) -> tuple[Calendar, ...]:
    """The calendars in a file, with rules that could run for ever taken out of harm's way."""
    found = tuple(Calendar.from_ical(data, multiple=True))
    for calendar in found:
        if calendar.name != "VCALENDAR":
            raise ValueError(f"it holds a {calendar.name}, not a calendar")
        for event in entries(calendar):
            tamed(event)
    if not found:
        raise ValueError("it holds no calendar")
    return found
