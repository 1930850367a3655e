"""An MCP server over folders: paths that cannot escape, changes that can be undone, deletes that go to a trash."""

from servers.filesystem.app import server

__all__ = ["server"]
