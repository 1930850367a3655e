"""SQLite databases that others wrote: what runs in a confined process of its own. It imports nothing of MCP."""
