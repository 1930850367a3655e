"""The document server on standard input and output: `python -m servers.document --root DIR [--root DIR2]`."""

from servers.document import server
from servers.folders import alone

if __name__ == "__main__":
    alone("document", "An MCP server over PDF, Word, spreadsheet and text files.", server)
