"""One process at a time: a lock on a file that the system frees when its last holder ends."""

from __future__ import annotations

import fcntl
import time
from pathlib import Path
from typing import IO

from storage import file_modes


def hold(path: Path, wait: float = 0.0) -> IO[bytes] | None:
    """The open file that holds the lock on `path`, or None when another holds it for `wait` seconds more.

    Closing the file frees the lock, unless a child process has inherited it. Missing directories are made.
    """
    file, deadline = file_modes.file(path).open("ab"), time.monotonic() + wait
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() >= deadline:
                file.close()
                return None
            time.sleep(0.02)
