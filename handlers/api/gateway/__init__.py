"""The MCP gateway: the tools of all servers, for any MCP client, through the one gate."""
