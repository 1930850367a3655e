"""An MCP server over folders of iCalendar files: events, free time, time zones, changes that can be undone."""

from servers.calendar.app import configured, server

__all__ = ["configured", "server"]
