"""The meeting server on standard input and output: `python -m servers.meeting --root DIR [--root DIR2]`."""

from servers.folders import alone
from servers.meeting import server

if __name__ == "__main__":
    alone("meeting", "An MCP server that makes minutes of a meeting.", server)
