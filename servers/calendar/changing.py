"""The tools that change something. Each has a way back, and refuses when what is there is not what was shown."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar import cut, drafts, events, moments
from servers.calendar.models import (
    Block,
    CalendarArg,
    Created,
    Deleted,
    EndArg,
    ExpectedArg,
    ExpectedMoment,
    IdArg,
    MinutesArg,
    NewEvent,
    PlaceArg,
    Repeat,
    StartArg,
    TextArg,
    TimesArg,
    TitleArg,
    UntilArg,
    ZoneArg,
)
from servers.calendar.reading import must_be_free
from servers.days import Days
from servers.filesystem import change, disk, trash
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots

BLOCK = "Time block"


def new_id() -> str:
    return secrets.token_hex(6)


@dataclass(frozen=True)
class Changing:
    """The changing tools over some folders. `ids` gives the id of a new event."""

    roots: Roots
    days: Days
    ids: Callable[[], str] = new_id

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
    ) -> Created:
        """Write an event into the calendar. Without an end it lasts an hour, or all day when start is a day alone."""
        asked = NewEvent(
            title=title, start=start, end=end, minutes=minutes, timezone=timezone, location=location,
            description=description, repeat=repeat, times=times, until=until, calendar=calendar,
        )  # fmt: skip
        return self._created(drafts.draft(asked, self.days, self.roots), expected_start, expected_end)

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
        must_be_free(draft, self.roots, self.days)
        return self._created(draft, expected_start, expected_end)

    def _created(self, draft: drafts.Draft, start: str | None, end: str | None) -> Created:
        for now, shown in ((draft.start, start), (draft.end, end)):
            if shown is not None and moments.said(now) != shown:
                raise ToolError(
                    f"The time has changed since it was shown: {shown} is now {moments.said(now)}. Ask again."
                )
        uid = self.ids()
        place = draft.folder.child(f"{draft.start:%Y-%m-%d}-{uid}.ics")
        found = change.create(place, draft.calendar(uid, self.days.now()).to_ical())
        return Created(
            event_id=uid,
            title=draft.title,
            start=moments.said(draft.start),
            end=moments.said(draft.end),
            file=place.said,
            sha256=found.sha256,
        )

    @spoken
    def delete_event(self, event_id: IdArg, expected_sha256: ExpectedArg = None) -> Deleted:
        """Delete an event, with all its repetitions. The file before it stays in the trash."""
        file, parts = events.find(self.roots, event_id)
        with_it = file.sha256 if expected_sha256 is None else expected_sha256
        rest, left = cut.without(file.data, event_id)
        at = self.days.now()
        if rest == file.data:
            raise ToolError(f"{file.place.said} cannot be taken apart. Delete {event_id} by hand.")
        if left:
            after, trash_id = change.replace(file.place, rest, with_it, at)
        else:
            manifest, _ = change.delete([file.place], {file.place.said: with_it}, at)
            after, trash_id = None, manifest.id
        return Deleted(
            event_id=event_id,
            title=events.text(parts[0], "SUMMARY") or events.UNTITLED,
            file=file.place.said,
            sha256=after.sha256 if after else disk.ABSENT,
            trash_id=trash_id,
            kept_until=at + trash.KEEP,
        )
