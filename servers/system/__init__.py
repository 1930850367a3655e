"""An MCP server over the host that it runs on: what it is, what runs, its screen, and the applications it may open."""

from servers.system.app import configured, server

__all__ = ["configured", "server"]
