"""The security server on standard input and output: `python -m servers.security --root DIR [--root DIR2]`."""

import sys

from servers.folders import alone
from servers.security import server

if __name__ == "__main__":
    alone("security", "An MCP server that looks after files.", server, sys.argv[1:])
