"""An MCP server over the log of the bot: what was called, who confirmed it, reports of it as text and as PDF."""

from servers.audit.app import configured, server

__all__ = ["configured", "server"]
