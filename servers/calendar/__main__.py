"""The calendar server on standard input and output: `python -m servers.calendar --folder DIR --timezone ZONE`."""

from servers.calendar import configured
from servers.command_line import serve

if __name__ == "__main__":
    serve(configured)
