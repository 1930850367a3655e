"""The knowledge server on standard input and output: `python -m servers.knowledge --root DIR [--root DIR2]`."""

from servers.folders import alone
from servers.knowledge import server

if __name__ == "__main__":
    alone("knowledge", "An MCP server that searches the text of files.", server)
