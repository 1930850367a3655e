"""What the process keeps of the memory that it has used once."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h; see mallopt(3)
LARGE_BYTES = 256 * 1024


def return_large_blocks() -> None:
    """Have large blocks given back to the system when they are freed. glibc by itself keeps them for the next one once
    it has seen some, with small ones between them: a crowd of bodies left holes of 400 MB. Does nothing elsewhere."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
