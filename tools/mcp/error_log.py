"""What a server writes to its standard error: in two files of bounded size, and read at a bounded rate."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOG_BYTES = 1_000_000  # of each of the two files; one read from the pipe may come on top
PER_BYTE = 1 / 8_000_000  # seconds for ParseThrottle: 4 MB at once, then 0.8 MB a second
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ErrorLog:
    """The file at `path`, and the one before it, which ends in `.1`."""

    path: Path
    limit: int = LOG_BYTES

    def write(self, data: bytes) -> None:
        """Append, and begin anew after `limit` bytes. A disk that refuses costs these bytes; the server goes on."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.path, "ab", opener=_for_owner) as file:
                file.write(data)
                full = file.tell() >= self.limit
            if full:
                os.replace(self.path, self.path.with_suffix(".log.1"))
        except OSError as error:
            with suppress(OSError):
                self.path.unlink()  # a part of a full disk may be ours
            log.warning("what an MCP server wrote to its standard error could not be kept: %s", error)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
