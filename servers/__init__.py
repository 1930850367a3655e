"""The MCP servers that come with Countersign. They import none of its rooms."""
