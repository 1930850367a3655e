"""The tool that only reads: the preview of minutes, and what was found in the notes."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import room
from servers.filesystem.answers import spoken
from servers.filesystem.roots import Roots
from servers.meeting.made import built
from servers.meeting.models import Call, Plan


@dataclass(frozen=True)
class Reading:
    """The reading tool over some roots."""

    roots: Roots

    @spoken
    def preview_minutes(self, call: Call) -> Plan:
        """Make the minutes that generate_minutes would write, in memory, and show them. Changes nothing."""
        made = built(self.roots, call)
        difference = made.difference
        if not room.fits(2 * difference):
            raise ToolError("These minutes are too long to be shown whole. Take a part of the notes.")
        return Plan(
            path=made.target.place.said,
            items=made.items,
            difference=difference,
            expected_target=made.target.sha256,
            expected_made=made.sha256,
            minutes=made.minutes,
        )
