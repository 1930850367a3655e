"""An MCP server over a Maildir: search, threads, drafts, and sending what was shown to whom it was shown."""

from servers.email.app import configured, server

__all__ = ["configured", "server"]
