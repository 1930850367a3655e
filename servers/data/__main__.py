"""The data server on standard input and output: `python -m servers.data --root DIR [--root DIR2]`."""

from servers.data import server
from servers.folders import alone

if __name__ == "__main__":
    alone("data", "An MCP server over SQLite databases and CSV files.", server)
