"""An MCP server that makes minutes of a meeting out of its notes or transcript."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.folders import House, assembled
from servers.meeting.tools import CARDS, Tools

__all__ = ["server"]


ABOUT = (
    "Minutes out of the notes or the transcript of a meeting: who was there, what was decided, who does what by when. "
    "Only what is said in so many words is taken, each with the line that it stands on."
)


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates what is kept for the way back.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = House.at(roots, clock)
    return assembled("meeting", "Meetings", ABOUT, house, CARDS, Tools(house.roots, house.clock))
