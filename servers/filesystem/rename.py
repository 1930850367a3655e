"""The two renames that lose nothing: onto a free name only, and the exchange of two names."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import sys
from collections.abc import Callable
from functools import cache

from servers.filesystem.roots import Spot

# Symbol, flag for "fail if it exists", flag for "exchange". Python's os has neither.
_SYMBOLS = {"linux": ("renameat2", 1, 2), "darwin": ("renameatx_np", 4, 2)}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def put(source: Spot, target: Spot) -> None:
    """Rename onto a name that must be free, in one step. Raises FileExistsError when it is taken."""
    try:
        _flagged(source, target, exchange=False)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        os.link(
            source.name,
            target.name,
            src_dir_fd=source.folder,
            dst_dir_fd=target.folder,
            follow_symlinks=False,
        )
        os.unlink(source.name, dir_fd=source.folder)


def swap(mine: Spot, theirs: Spot) -> None:
    """Exchange two existing names in one step: at no moment is either of them missing.

    Where the file system cannot exchange, `theirs` is missing for a moment, but no byte is ever overwritten.
    """
    try:
        _flagged(mine, theirs, exchange=True)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        _swap_in_steps(mine, theirs)


def _swap_in_steps(mine: Spot, theirs: Spot) -> None:
    out = Spot(mine.folder, f"out-{secrets.token_hex(8)}", theirs.said)
    os.rename(theirs.name, out.name, src_dir_fd=theirs.folder, dst_dir_fd=out.folder)
    try:
        put(mine, theirs)
    except OSError:
        put(out, theirs)
        raise
    put(out, mine)


def _flagged(source: Spot, target: Spot, exchange: bool) -> None:
    call, alone, both = _native()
    result = call(
        source.folder,
        os.fsencode(source.name),
        target.folder,
        os.fsencode(target.name),
        both if exchange else alone,
    )
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@cache
def _native() -> tuple[Callable[[int, bytes, int, bytes, int], int], int, int]:
    symbol, alone, both = _SYMBOLS.get(sys.platform, ("", 0, 0))
    call = getattr(ctypes.CDLL(None, use_errno=True), symbol, None) if symbol else None
    if call is None:
        return _absent, 0, 0
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return call, alone, both


def _absent(*_: object) -> int:
    ctypes.set_errno(errno.ENOSYS)
    return -1
