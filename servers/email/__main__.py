"""The mail server on standard input and output: `python -m servers.email --maildir DIR --from ADDRESS`."""

from servers.command_line import serve
from servers.email import configured

if __name__ == "__main__":
    serve(configured)
