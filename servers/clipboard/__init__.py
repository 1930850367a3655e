"""An MCP server over the clipboard of this host: read, set with a way back, and a history of its own."""

from servers.clipboard.app import configured, server

__all__ = ["configured", "server"]
