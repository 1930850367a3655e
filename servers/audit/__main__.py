"""The audit server on standard input and output: `python -m servers.audit --database URL --root DIR`."""

from servers.audit import configured
from servers.command_line import serve

if __name__ == "__main__":
    serve(configured)
