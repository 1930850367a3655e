"""The calendar tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.calendar import drafts, events, times
from servers.calendar.events import (
    MOST_DAYS,
    Block,
    CalendarArg,
    Created,
    DayArg,
    Deleted,
    EndArg,
    Events,
    ExpectedArg,
    ExpectedMoment,
    Found,
    IdArg,
    MinutesArg,
    NewEvent,
    OneCalendarArg,
    PlaceArg,
    Plan,
    Problems,
    Repeat,
    Slots,
    StartArg,
    TextArg,
    TimesArg,
    TitleArg,
    UntilArg,
    ZoneArg,
)
from servers.days import Days
from servers.filesystem import answers, disk, file_ops, trash
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item
from servers.filesystem.paths import Place, Roots
from servers.filesystem.tools import FROM_TRASH
from servers.filesystem.trash import KEEP
from servers.folders import WAYS_BACK
from servers.tool_metadata import Card, bound, call, change, lying_inside, reading, unchanged

MOST_EVENTS, MOST_SLOTS = 500, 200
LOOKS = 3  # through all calendars for one block of time
DaysArg = Annotated[int, Field(ge=1, le=MOST_DAYS, description="How many days, the first one included.")]


def new_id() -> str:
    return secrets.token_hex(6)


@dataclass(frozen=True)
class Tools:
    """The tools over some folders. `ids` gives the id of a new event."""

    roots: Roots
    days: Days
    ids: Callable[[], str] = new_id

    @spoken
    def list_events(
        self,
        start: Annotated[DayArg, Field(description="The first day.")] = "today",
        days: DaysArg = 7,
        contains: Annotated[
            str, Field(max_length=200, description="Words in the title, the place or the description.")
        ] = "",
        calendar: OneCalendarArg = "",
    ) -> Events:
        """List what takes place on these days, in order of time. What repeats is listed each time."""
        problems, first = Problems(), self._day(start)
        last = first + timedelta(days=days)
        folders = events.calendars(self.roots, calendar)
        there = events.between(
            events.read_all(folders, problems),
            self.days.begins(first),
            self.days.begins(last),
            self.days.zone,
            problems,
        )
        fits = (each for each in there if _contains(each, contains))
        shown, more = answers.fitting((each.shown() for each in fits), MOST_EVENTS)
        note = problems.note or ("" if shown or more else "There are none.")
        return Events(events=shown, truncated=more, note=note, unread=problems.files)

    @spoken
    def find_free_slots(  # noqa: PLR0913 - one argument for each thing that can be asked for
        self,
        start: Annotated[DayArg, Field(description="The first day.")] = "today",
        days: DaysArg = 5,
        minutes: Annotated[int, Field(ge=1, le=1440, description="How long a slot must be.")] = 30,
        from_time: Annotated[str, Field(pattern=r"^\d{1,2}:\d\d$", description="When work begins.")] = "09:00",
        to_time: Annotated[str, Field(pattern=r"^\d{1,2}:\d\d$", description="When it ends.")] = "17:00",
        weekends: Annotated[bool, Field(description="Saturday and Sunday too.")] = False,
        calendar: OneCalendarArg = "",
    ) -> Slots:  # fmt: skip
        """Find free time within working hours, from now on. What is cancelled, declined or free takes no time."""
        problems, zone = Problems(), self.days.zone
        hours = _hours(from_time, to_time)
        open_ = events.windows(self._day(start), days, hours, weekends, zone)
        folders = events.calendars(self.roots, calendar)
        every = events.read_all(folders, problems) if open_ else []
        there = events.between(every, open_[0][0], open_[-1][1], zone, problems) if open_ else []
        spans = events.slots(open_, there, self.days.now(), minutes)
        shown, more = answers.fitting((events.shown(span, zone) for span in spans), MOST_SLOTS)
        last = datetime.fromisoformat(shown[-1].end) if more else None  # what comes later is not told of
        taken = (each for each in there if each.busy and (last is None or each.begins <= last))
        files, note = events.files_of(taken, problems), problems.note or ("" if shown else "There are none.")
        return Slots(slots=shown, truncated=more, note=note, files=files)

    @spoken
    def get_event(self, event_id: IdArg, calendar: OneCalendarArg = "") -> Found:
        """One event with everything about it, and the SHA-256 of its file."""
        event = events.find(events.calendars(self.roots, calendar), event_id, self.days.zone)
        found, file = event.main, event.main.file
        named = [event.shown, *(one.shown_at for one in event.dates)]
        return Found(
            event_id=event_id,
            what=event.shown,
            title=found.title,
            start=times.said(found.start),
            end=times.said(found.end),
            location=found.location,
            description=found.description,
            status=found.status,
            repeat=event.rule,
            file=file.place.said,
            sha256=file.sha256,
            others=event.others,
            items=[Item(name=f"{each}, in {file.place.said}", kind="event") for each in named],
            note=event.note,
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

    @spoken
    def create_event(  # noqa: PLR0913 - one argument for each field, so that a form asks for each
        self,
        title: TitleArg,
        start: StartArg,
        end: EndArg | None = None,
        minutes: MinutesArg | None = None,
        timezone: ZoneArg | None = None,
        location: PlaceArg | None = None,
        description: TextArg | None = None,
        repeat: Repeat | None = None,
        times: TimesArg | None = None,
        until: UntilArg | None = None,
        calendar: CalendarArg | None = None,
        expected_start: ExpectedMoment = None,
        expected_end: ExpectedMoment = None,
        expected_until: ExpectedMoment = None,
    ) -> Created:
        """Write an event into the calendar. Without an end it lasts an hour, or all day when start is a day alone."""
        asked = NewEvent(
            title=title, start=start, end=end, minutes=minutes, timezone=timezone, location=location,
            description=description, repeat=repeat, times=times, until=until, calendar=calendar,
        )  # fmt: skip
        draft = drafts.draft(asked, self.days, self.roots)
        must_be_shown(expected_until, drafts.last(draft))
        return self._created(draft, expected_start, expected_end)

    @spoken
    def create_time_block(  # noqa: PLR0913 - as above
        self,
        title: TitleArg,
        start: StartArg,
        end: EndArg | None = None,
        minutes: MinutesArg | None = None,
        timezone: ZoneArg | None = None,
        calendar: CalendarArg | None = None,
        expected_start: ExpectedMoment = None,
        expected_end: ExpectedMoment = None,
    ) -> Created:
        """Keep some free time for something. Refused when the time is not free."""
        block = Block(
            title=title, start=start, end=end, minutes=minutes, timezone=timezone, calendar=calendar
        )
        draft = drafts.draft(NewEvent(**block.model_dump()), self.days, self.roots, BLOCK)
        return self._created(draft, expected_start, expected_end, alone=True)

    def _created(
        self, draft: drafts.Draft, start: str | None, end: str | None, *, alone: bool = False
    ) -> Created:
        """Write it. `alone`: only into time that is free, which nobody else takes meanwhile."""
        must_be_shown(start, times.said(draft.start))
        must_be_shown(end, times.said(draft.end))
        uid = self.ids()
        place = draft.folder.child(f"{draft.start:%Y-%m-%d}-{uid}.ics")
        data = draft.written(uid, self.days.now())
        if alone:
            found = self._into_free_time(draft, place, data)
        else:
            with file_ops.alone(*self.roots.roots):
                found = file_ops.make(place, data)
        return Created(
            event_id=uid,
            title=draft.title,
            start=times.said(draft.start),
            end=times.said(draft.end),
            file=place.said,
            sha256=found.sha256,
        )

    def _into_free_time(self, draft: drafts.Draft, place: Place, data: bytes) -> disk.Found:
        """Make the file where that time is free. The calendars are looked through before others have to wait, and once
        more where they have been written to by then."""
        for _ in range(LOOKS):
            looked_at = must_be_free(draft, self.roots, self.days)
            with file_ops.alone(*self.roots.roots):
                if events.state(_every(self.roots, Problems())) == looked_at:
                    return file_ops.make(place, data)
        raise ToolError(
            "The calendars were written to each time that free time was looked for. Ask again in a minute."
        )

    @spoken
    def delete_event(self, event_id: IdArg, expected_sha256: ExpectedArg = None) -> Deleted:
        """Delete an event, with all its repetitions. The file before it stays in the trash."""
        found = events.find(events.calendars(self.roots), event_id, self.days.zone)
        file, rest = found.main.file, found.rest
        with_it, at = file.sha256, self.days.now()  # what is left was made of these bytes
        disk.must_be(file.place.said, with_it, expected_sha256)
        if rest == file.data:
            raise ToolError(f"{file.place.said} cannot be taken apart. Delete {event_id} by hand.")
        if found.others:
            after, kept = file_ops.replace(file.place, rest, with_it, at)
            sha256 = after.sha256
        else:
            kept, _ = file_ops.delete([file.place], {file.place.said: with_it}, at)
            sha256 = disk.ABSENT
        return Deleted(
            event_id=event_id,
            title=found.main.title,
            file=file.place.said,
            sha256=sha256,
            trash_id=kept.id,
            entry=kept.entry,
            kept_until=at + trash.KEEP,
        )


def _every(roots: Roots, problems: Problems) -> list[events.File]:
    return events.read_all(events.calendars(roots), problems)


def must_be_free(draft: drafts.Draft, roots: Roots, days: Days) -> str:
    """The state of the calendars in which that time is free. Raises ToolError when something else is at that time. It
    does not name that, as a rule may keep it from whoever asks: a list of the events does where it may."""
    if not isinstance(draft.start, datetime):
        raise ToolError("A block of time needs a time: write start like 2026-11-24 14:00.")
    every = _every(roots, problems := Problems())
    if drafts.clashing(draft, every, days.zone, problems):
        raise ToolError("That time is not free. Choose another, or list the events to see what is there.")
    return events.state(every)


def _hours(begin: str, end: str) -> tuple[time, time]:
    try:
        first, last = (time(int(text.split(":")[0]), int(text.split(":")[1])) for text in (begin, end))
    except ValueError:
        raise ToolError(f"{begin} or {end} is no time. Write them like 09:00 and 17:00.") from None
    if first >= last:
        raise ToolError(f"Work would end ({end}) before it begins ({begin}). Exchange the two.")
    return first, last


def _contains(each: events.Occurrence, words: str) -> bool:
    told = "\n".join([each.title, each.location, each.description])
    return words.casefold() in told.casefold()


BLOCK = "Time block"


# A deleted event comes back as the file it was, by the tools of the filesystem server.


def must_be_shown(shown: str | None, now: str) -> None:
    """Raises ToolError where a moment is another one now than it was when somebody was shown it."""
    if shown is not None and now != shown:
        raise ToolError(f"The time has changed since it was shown: {shown} is now {now}. Ask again.")


def _new(preview: dict[str, Any], *says: str, **more: str) -> dict[str, Any]:
    return {
        "targets": {
            "paths": ["calendar"],
            "reported": ["{capture.plan.folder}", "{capture.plan.folder}/new.ics"],
        },
        "noun": "{args.title}",
        "capture": {"plan": preview},
        "bind": bound(expected_start="start", expected_end="end", **more),
        "preview": {"kind": "text", "after": "{capture.plan.change}", "says": list(says)},
        "recoverable": "Nothing else is changed",
        "undo": [call("delete_event", event_id="{result.event_id}", expected_sha256="{result.sha256}")],
        "drift": _SAME_FILE,
    }


_TOLD_OF = {"found": ["files[]"], "listed": ["files[]"]}
_SAME_FILE = unchanged("get_metadata", path="{result.file}")

_CARDS: dict[str, Card] = {
    "list_events": reading(
        "List events",
        "List events from {args.start}",
        looks=["calendar"],
        found=["events[].file", "unread[]"],
        listed=["events[].file", "unread[]"],
    ),
    "find_free_slots": reading(
        "Find free time", "Find free time from {args.start}", looks=["calendar"], **_TOLD_OF
    ),
    "get_event": reading(
        "Event details",
        "Look at the event {args.event_id}",
        looks=["calendar"],
        found=["file"],
        listed=["file"],
    ),
    "preview_event": reading(
        "Preview a new event", "Look at the new event", looks=["event.calendar"], nested=["event"], **_TOLD_OF
    ),
    "preview_time_block": reading(
        "Preview a block of time",
        "Look at the block of time",
        looks=["block.calendar"],
        nested=["block"],
        **_TOLD_OF,
    ),
    "create_event": change(
        "Create event",
        "Create",
        "Create the event “{args.title}”, {capture.plan.when}",
        **_new(call("preview_event", event="{args}"), "location", "description", expected_until="until"),
    ),
    "create_time_block": change(
        "Block time",
        "Block",
        "Block time for “{args.title}”, {capture.plan.when}",
        risk="low",
        **_new(call("preview_time_block", block="{args}")),
    ),
    "delete_event": change(
        "Delete event",
        "Delete",
        "Delete the event {capture.target.what}",
        cls="destructive",
        risk="high",
        noun="{capture.target.title}",
        targets={"ids": ["event_id"], "reported": ["{capture.target.file}"]},
        capture={"target": call("get_event", event_id="{args.event_id}")},
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The file before stays in .countersign/trash",
        keeps_days=KEEP.days,
        undo=[call("restore_file", **FROM_TRASH, expected_sha256="{result.sha256}")],
        drift=_SAME_FILE,
    ),
    **WAYS_BACK,
}
CARDS = lying_inside(_CARDS, "calendar")
