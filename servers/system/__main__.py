"""The system server on standard input and output: `python -m servers.system --application NAME=PROGRAM`."""

from __future__ import annotations

import sys

from servers.command_line import serve
from servers.system import configured

if __name__ == "__main__":
    serve(configured, sys.argv[1:])
