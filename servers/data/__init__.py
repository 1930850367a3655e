"""An MCP server over records: SQLite read without a doubt, tables looked through, rows and CSV files written."""

from servers.data.app import server

__all__ = ["server"]
