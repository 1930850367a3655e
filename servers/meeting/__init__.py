"""An MCP server that makes minutes of a meeting out of its notes or transcript."""

from servers.meeting.app import server

__all__ = ["server"]
