"""An MCP server that knows what is in files: an index of their text, searched and asked, with sources."""

from servers.knowledge.app import server

__all__ = ["server"]
