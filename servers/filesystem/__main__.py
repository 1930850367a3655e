"""The filesystem server on standard input and output: `python -m servers.filesystem --root DIR [--root DIR2]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem.app import server


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m servers.filesystem", description=__doc__)
    parser.add_argument(
        "--root", action="append", type=Path, required=True, metavar="DIR", help="an allowed folder"
    )
    try:
        app = server(parser.parse_args().root)
    except (ValueError, ToolError) as error:
        parser.error(str(error))
    app.run("stdio")


if __name__ == "__main__":
    main()
