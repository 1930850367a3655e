"""One file at one spot: look at it, hash it, hold it against what was shown, stage new bytes."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from servers import date_limits
from servers.filesystem import rights
from servers.filesystem.given_up import unless_given_up
from servers.filesystem.paths import PRIVATE, Spot
from servers.sandbox import protocol

try:
    import fcntl
except ImportError as error:  # the whole server rests on dir_fd and O_NOFOLLOW
    raise ImportError("servers.filesystem needs Linux or macOS") from error

ABSENT = "absent"
LARGEST = 1 << 30  # bytes: what is hashed, copied, moved or deleted in one call
CHUNK = 1 << 20
MOST_PARTS, MOST_VALUES = 25_000, 150_000  # of a record in JSON, as servers/sandbox/protocol.py counts them
LOCK_SECONDS = 10.0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_BROKEN = {
    errno.EIO,
    errno.ESTALE,
    errno.EBADMSG,
    errno.ENOTCONN,
}  # what a disk says that cannot give the bytes
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Found(NamedTuple):
    """A regular file as it was when all its bytes were read."""

    sha256: str
    size: int
    mode: int
    modified: datetime
    links: int


def status(spot: Spot) -> os.stat_result | None:
    """What stands at a spot, never what a link there points to. None: nothing."""
    try:
        return os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def kind(mode: int) -> str:
    for test, word in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link")):
        if test(mode):
            return word
    return "other"


def modified(info: os.stat_result) -> datetime:
    """When it was changed; a file may say any time, also one that has no date."""
    seconds = info.st_mtime_ns // 1000 / 1_000_000
    try:
        return date_limits.in_utc(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return date_limits.nearest(seconds)


@contextmanager
def reading(spot: Spot) -> Iterator[int]:
    """A descriptor of the regular file at a spot. Raises ToolError for anything else, without waiting on it."""
    try:
        info = status(spot)
        if info is None:
            raise ToolError(f"{spot.said} does not exist. Look at what is in its folder first.")
        _regular(info, spot.said)  # before opening: opening a device may already act on it
        file = os.open(spot.name, _READ, dir_fd=spot.folder)
    except OSError as error:
        raise ToolError(f"{spot.said} cannot be opened: {error.strerror}.") from None
    try:
        _regular(os.fstat(file), spot.said)
        yield file
    except OSError as error:
        if error.errno in _BROKEN:
            raise ToolError(f"{spot.said} cannot be read to its end: {error.strerror}.") from error
        raise
    finally:
        os.close(file)


def _regular(info: os.stat_result, said: str) -> None:
    what = kind(info.st_mode)
    if what == "folder":
        raise ToolError(f"{said} is a folder. This works on single files: name the files in it.")
    if what != "file":
        raise ToolError(f"{said} is a link or a device, not a plain file. This server leaves those alone.")


def examine(spot: Spot) -> Found:
    """The file at a spot, hashed. Raises ToolError when it is no regular file, or larger than LARGEST."""
    with reading(spot) as file:
        return measure(file, spot.said)


def record(spot: Spot, most: int) -> bytes:
    """All bytes of a file that we wrote for ourselves, where nobody else did. Raises ToolError for a larger one."""
    with reading(spot) as file, open(file, "rb", closefd=False) as whole:
        data = whole.read(most + 1)
    if len(data) > most:
        raise ToolError(f"{spot.said} is larger than {most >> 20} MB, so it is none of ours.")
    return data


def json_record(spot: Spot, most: int, parts: int = MOST_PARTS, values: int = MOST_VALUES) -> bytes:
    """As record, of JSON that holds no more than ours does: to parse it is one step, in which no other thread runs.
    Raises ToolError."""
    data = record(spot, most)
    if protocol.has_more(data, parts, values):
        raise ToolError(f"{spot.said} holds more than such a file of ours.")
    return data


def find(spot: Spot) -> Found | None:
    """As examine, but None when nothing is there."""
    return examine(spot) if status(spot) else None


def measure(file: int, said: str, copy_to: int | None = None) -> Found:
    """Hash an open file, copying its bytes to another descriptor when one is given."""
    info, digest, size = os.fstat(file), hashlib.sha256(), 0
    unless_given_up()
    while chunk := os.pread(file, CHUNK, size):
        size += len(chunk)
        if max(size, info.st_size) > LARGEST:
            raise ToolError(f"{said} is larger than 1 GB, the most this server handles. Do this one by hand.")
        digest.update(chunk)
        unless_given_up()
        if copy_to is not None:
            write_all(copy_to, chunk)
    return Found(digest.hexdigest(), size, info.st_mode, modified(info), info.st_nlink)


def agree(said: str, found: Found | None, expected: str | None) -> None:
    """Raise ToolError when what is there is not what the caller saw. `expected` None: anything will do."""
    must_be(said, found.sha256 if found else ABSENT, expected)


def must_be(said: str, have: str, expected: str | None) -> None:
    """As agree, for what is known by its SHA-256, or “absent”."""
    if expected is not None and have != expected:
        now = "is gone" if have == ABSENT else "exists now" if expected == ABSENT else "has other content"
        raise ToolError(f"{said} has changed since it was shown: it {now}. Look at it again, then ask again.")


def sole(said: str, found: Found) -> Found:
    """Raise ToolError for a file with a second name: changing it here would change it elsewhere too."""
    if found.links > 1:
        raise ToolError(
            f"{said} has other names elsewhere (a hard link), so it is not changed. Replace it by a copy."
        )
    if found.links < 1:  # another file took its name while this one was read
        raise ToolError(
            f"{said} has changed since it was shown: it is being written. Look again, then ask again."
        )
    return found


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


@contextmanager
def staging(spot: Spot, mode: int | None = None, like: int | None = None) -> Iterator[int]:
    """A new file at a spot of ours, safe on disk when the block ends, gone when the block fails. `like`: an open file
    whose owner and rights it has."""
    file = os.open(spot.name, _NEW, 0o666, dir_fd=spot.folder)
    try:
        if mode is not None:
            os.fchmod(file, stat.S_IMODE(mode) & 0o777)
        if like is not None:
            rights.keep(file, like)
        yield file
        os.fsync(file)
    except BaseException:
        remove(spot)
        raise
    finally:
        os.close(file)


TEMPORARY = re.compile(r"[0-9a-f]{32}")


def temporary(folder: int, said: str) -> Spot:
    return Spot(folder, secrets.token_hex(16), said)


def remove(spot: Spot) -> None:
    with suppress(FileNotFoundError):
        os.unlink(spot.name, dir_fd=spot.folder)


def settle(*spots: Spot) -> None:
    """Make the renames in these folders last through a power cut."""
    for folder in {spot.folder for spot in spots}:
        os.fsync(folder)


@contextmanager
def lock(folder: int) -> Iterator[None]:
    """Alone among all servers, threads and processes, that change the root this folder of ours belongs to."""
    try:
        file = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    except OSError as error:
        raise ToolError(f"{PRIVATE}/lock cannot be opened: {error.strerror}. Move it away first.") from None
    try:
        _wait_for(file)
        yield
    finally:
        os.close(file)


def _wait_for(file: int) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ToolError(
                    "Another change in this folder is still going on. Try again in a minute."
                ) from None
            time.sleep(0.005)


# Symbol, flag for "fail if it exists", flag for "exchange". Python's os has neither.
_SYMBOLS = {"linux": ("renameat2", 1, 2), "darwin": ("renameatx_np", 4, 2)}
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


def rename_to_free_name(source: Spot, target: Spot) -> None:
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
        rename_to_free_name(mine, theirs)
    except OSError:
        rename_to_free_name(out, theirs)
        raise
    rename_to_free_name(out, mine)


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
