"""The filesystem server on standard input and output: `python -m servers.filesystem --root DIR [--root DIR2]`."""

from servers.filesystem import server
from servers.folders import alone

if __name__ == "__main__":
    alone("filesystem", "An MCP server over folders.", server)
