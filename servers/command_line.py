"""What is written behind `python -m servers.NAME`: read the same way by a bot that runs the server itself."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn
from zoneinfo import ZoneInfo

from mcp.server import MCPServer

Clock = Callable[[], datetime]  # aware times


class Arguments(argparse.ArgumentParser):
    """A parser that raises ValueError with a sentence instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message[:1].upper()}{message[1:]}. Try: {self.format_usage().strip()}")


def serve(made: Callable[[Sequence[str | Path]], MCPServer]) -> None:
    """Serve what the words of the command line say, on standard input and output, until the client leaves.

    Bad arguments end with a sentence.
    """
    try:
        app = made(sys.argv[1:])
    except ValueError as error:
        raise SystemExit(str(error)) from error
    gc.freeze()
    gc.enable()  # see servers/__init__.py
    app.run("stdio")


def utc_now() -> datetime:
    return datetime.now(UTC)


def zone(name: str) -> ZoneInfo:
    """An IANA time zone. Raises ValueError with a sentence."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"There is no time zone “{name}”. Write one like Europe/Berlin, or UTC.") from None
