"""An MCP server over a list of tasks in one SQLite file: what is due, a briefing, changes that can be undone."""

from servers.task.app import configured, server

__all__ = ["configured", "server"]
