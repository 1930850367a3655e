"""An MCP server over folders: paths that cannot escape, changes that can be undone, deletes that go to a trash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mcp.server import MCPServer

from servers.command_line import Clock, utc_now
from servers.filesystem import tools, trash, watch
from servers.filesystem.paths import Roots
from servers.tool_metadata import mcp_server

__all__ = ["server"]
CARDS = {**tools.CARDS, **watch.CARDS}


def server(roots: Sequence[Path], clock: Clock = utc_now) -> MCPServer:
    """The server over these folders. `clock` gives aware times: it dates the trash, and purges it now and daily.

    Raises ValueError with a sentence when a folder is missing or two share a name.
    """
    house = Roots.at(roots)
    daily = trash.Daily(house, clock)
    daily.purge(clock())
    owners = (tools.Tools(house, daily.now, True), watch.Watches(house, daily.now))
    names = ", ".join(root.name for root in house.roots)
    about = (
        f"Files in these folders: {names}. Paths are relative to the first; with several folders, begin a path with "
        f"the folder's name. Deleted and replaced files stay {trash.KEEP.days} days in the trash."
    )
    return mcp_server("filesystem", "Files", about, CARDS, owners, house.places)
