"""The security server on standard input and output: `python -m servers.security --root DIR [--root DIR2]`."""

from servers.command_line import serve
from servers.security import configured

if __name__ == "__main__":
    serve(configured)
