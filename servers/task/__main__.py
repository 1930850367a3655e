"""The task server on standard input and output: `python -m servers.task --file tasks.sqlite`."""

from servers.command_line import serve
from servers.task import configured

if __name__ == "__main__":
    serve(configured)
