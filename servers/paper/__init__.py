"""Reading and making documents, for the process apart: nothing here knows of MCP, so it starts quickly."""
