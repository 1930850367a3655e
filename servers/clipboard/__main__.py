"""The clipboard server on standard input and output: `python -m servers.clipboard --folder DIR`."""

from __future__ import annotations

import sys

from servers.clipboard import configured
from servers.command_line import serve

if __name__ == "__main__":
    serve(configured, sys.argv[1:])
