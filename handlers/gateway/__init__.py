"""The MCP gateway: tools offered to other MCP clients."""
