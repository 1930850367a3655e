"""The one tool that writes: minutes, exactly those that the preview showed, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.arguments import Clock
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots
from servers.making import put
from servers.meeting.made import built
from servers.meeting.models import Call, ExpectedMade, ExpectedTarget, Made, NewArg, SourceArg, TitleArg


@dataclass(frozen=True)
class Changing:
    """The writing tool over some roots, with the clock that dates what gives way."""

    roots: Roots
    clock: Clock

    @spoken
    def generate_minutes(
        self,
        source: SourceArg,
        destination: NewArg,
        title: TitleArg = "",
        expected_target: ExpectedTarget = None,
        expected_made: ExpectedMade = None,
    ) -> Made:
        """Write minutes out of notes or a transcript: attendees, decisions, action items with owner and day.

        It takes what is said in so many words: lists under such headings, “Decision: …”, “we agreed to …”, “Action: Ann
        will … by Friday”, check boxes, “I will …” of somebody who speaks. It does not guess.
        """
        made = built(self.roots, Call(source=source, destination=destination, title=title))
        if expected_made is not None and made.sha256 != expected_made:
            raise ToolError(
                f"What {made.target.place.said} is made of has changed since it was shown. Ask again."
            )
        found = made.minutes
        counts = {name: len(getattr(found, name)) for name in ("attendees", "decisions", "actions")}
        return put(made.target.place, made.data, expected_target, self.clock(), Made, **counts)
