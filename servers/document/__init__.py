"""An MCP server over documents: PDF, Word, spreadsheets and text are read, compared, converted and made."""

from servers.document.app import server

__all__ = ["server"]
