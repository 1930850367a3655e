"""MCP servers: connections, listings, calls and schemas."""
