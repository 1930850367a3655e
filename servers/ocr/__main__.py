"""The OCR server on standard input and output: `python -m servers.ocr --root DIR [--root DIR2]`."""

import sys

from servers.folders import alone
from servers.ocr import server

if __name__ == "__main__":
    alone("ocr", "An MCP server that reads text off pictures.", server, sys.argv[1:])
