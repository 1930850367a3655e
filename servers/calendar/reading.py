"""The tools that only read: events, free time, and what a change would do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.calendar import cut, drafts, events, free, moments, rules
from servers.calendar.files import Problems
from servers.calendar.models import (
    MOST_DAYS,
    Block,
    DayArg,
    Events,
    Found,
    IdArg,
    NewEvent,
    Plan,
    Slots,
)
from servers.days import Days
from servers.filesystem import room
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item
from servers.filesystem.roots import Roots

MOST_EVENTS, MOST_SLOTS = 500, 200
DaysArg = Annotated[int, Field(ge=1, le=MOST_DAYS, description="How many days, the first one included.")]


@dataclass(frozen=True)
class Reading:
    """The reading tools over some folders."""

    roots: Roots
    days: Days

    @spoken
    def list_events(
        self,
        start: Annotated[DayArg, Field(description="The first day.")] = "today",
        days: DaysArg = 7,
        contains: Annotated[
            str, Field(max_length=200, description="Words in the title, the place or the description.")
        ] = "",
    ) -> Events:
        """List what takes place on these days, in order of time. What repeats is listed each time."""
        problems, first = Problems(), self._day(start)
        last = first + timedelta(days=days)
        there = events.between(
            self.roots, self.days.begins(first), self.days.begins(last), self.days.zone, problems
        )
        fits = (each for each in there if _contains(each, contains))
        shown, more = room.fitting((each.shown() for each in fits), MOST_EVENTS)
        return Events(
            events=shown, truncated=more, note=problems.note or ("" if shown else "There are none.")
        )

    @spoken
    def find_free_slots(
        self,
        start: Annotated[DayArg, Field(description="The first day.")] = "today",
        days: DaysArg = 5,
        minutes: Annotated[int, Field(ge=1, le=1440, description="How long a slot must be.")] = 30,
        from_time: Annotated[str, Field(pattern=r"^\d{1,2}:\d\d$", description="When work begins.")] = "09:00",
        to_time: Annotated[str, Field(pattern=r"^\d{1,2}:\d\d$", description="When it ends.")] = "17:00",
        weekends: Annotated[bool, Field(description="Saturday and Sunday too.")] = False,
    ) -> Slots:  # fmt: skip
        """Find free time within working hours, from now on. Cancelled events and those marked free take no time."""
        problems, zone = Problems(), self.days.zone
        hours = _hours(from_time, to_time)
        open_ = free.windows(self._day(start), days, hours, weekends, zone)
        there = events.between(self.roots, open_[0][0], open_[-1][1], zone, problems) if open_ else []
        spans = free.slots(open_, there, self.days.now(), minutes)
        shown, more = room.fitting((free.shown(span, zone) for span in spans), MOST_SLOTS)
        return Slots(slots=shown, truncated=more, note=problems.note or ("" if shown else "There are none."))

    @spoken
    def get_event(self, event_id: IdArg) -> Found:
        """One event with everything about it, and the SHA-256 of its file."""
        file, parts = events.find(self.roots, event_id)
        main = next((part for part in parts if "RECURRENCE-ID" not in part), parts[0])
        found = events.occurrence(main, file, events.repeats(main), self.days.zone)
        rule = "; ".join(rules.written(rule) for rule in rules.of(main))
        what = f"{found.title}, {moments.span(found.start, found.end)}"
        shown = f"{what}, all repetitions" if found.repeats else what
        return Found(
            event_id=event_id,
            what=shown,
            title=found.title,
            start=moments.said(found.start),
            end=moments.said(found.end),
            location=events.text(main, "LOCATION"),
            description=events.text(main, "DESCRIPTION"),
            repeat=rule,
            file=file.place.said,
            sha256=file.sha256,
            others=cut.without(file.data, event_id)[1],
            items=[Item(name=f"{shown}, in {file.place.said}", kind="other")],
        )

    @spoken
    def preview_event(self, event: NewEvent) -> Plan:
        """What create_event would write, and what is at the same time."""
        return drafts.plan(drafts.draft(event, self.days, self.roots), self.roots, self.days)

    @spoken
    def preview_time_block(self, block: Block) -> Plan:
        """What create_time_block would write. Refused when the time is not free."""
        draft = drafts.draft(NewEvent(**block.model_dump()), self.days, self.roots)
        must_be_free(draft, self.roots, self.days)
        return drafts.plan(draft, self.roots, self.days)

    def _day(self, words: str) -> date:
        found = self.days.day(words)
        if found is None:
            raise ToolError("Name the first day, such as today or 2026-11-24.")
        return found


def must_be_free(draft: drafts.Draft, roots: Roots, days: Days) -> None:
    """Raises ToolError when something else is at that time."""
    if not isinstance(draft.start, datetime):
        raise ToolError("A block of time needs a time: write start like 2026-11-24 14:00.")
    taken = drafts.clashing(draft, roots, days.zone, Problems())
    if taken:
        raise ToolError(
            f"That time is not free: {'; '.join(taken[:3])}. Choose another; see find_free_slots."
        )


def _hours(begin: str, end: str) -> tuple[time, time]:
    try:
        first, last = (time(int(text.split(":")[0]), int(text.split(":")[1])) for text in (begin, end))
    except ValueError:
        raise ToolError(f"{begin} or {end} is no time. Write them like 09:00 and 17:00.") from None
    if first >= last:
        raise ToolError(f"Work would end ({end}) before it begins ({begin}). Exchange the two.")
    return first, last


def _contains(each: events.Occurrence, words: str) -> bool:
    told = (events.text(each.event, name) for name in ("SUMMARY", "LOCATION", "DESCRIPTION"))
    return words.casefold() in "\n".join(told).casefold()
