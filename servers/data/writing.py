"""Changes of rows: tried on copies, written page by page, the rows before kept for the way back."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from servers.data import sources
from servers.data.models import Change
from servers.filesystem import disk, paths, trash
from servers.filesystem.answers import MOST_CHARACTERS
from servers.filesystem.paths import Place, Roots, Spot, private, spot
from servers.filesystem.text import read_at
from servers.sandbox.calling import count, unbroken
from servers.sandbox.protocol import body
from servers.sqlite.files import HEADER, LARGEST_CHANGED, MAGIC

_SECTOR = 512
EXCHANGED = "{said} was replaced by another file just now. Look at it again, then ask again."
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def page_size(data: bytes) -> int:
    size = int.from_bytes(data[16:18], "big")
    return 65536 if size == 1 else size


def put(here: Spot, file: int, before: bytes, after: bytes) -> None:
    """Make a database file that is `before` hold `after`. For who has excluded all others from it (see locks).

    Raises ToolError for what is no such pair, and OSError when the disk refuses; then the file is as it was.
    """
    size = page_size(before)
    if not after.startswith(HEADER) or page_size(after) != size or len(before) % size or len(after) % size:
        raise ToolError(f"{here.said} cannot be written: the change would break it. Change it by hand.")
    beside = Spot(here.folder, f"{here.name}-journal", here.said)
    mode = stat.S_IMODE(os.fstat(file).st_mode)  # whoever may write the database may take the change back
    _write_journal(beside, mode, before, [at for at in _differing(before, after, size) if at < len(before)])
    try:
        _write(file, after, _differing(before, after, size), size)
    except OSError:
        _write(file, before, _differing(after, before, size), size)
        _finish(beside)
        raise
    _finish(beside)


def _differing(old: bytes, new: bytes, size: int) -> Iterator[int]:
    """Where the pages begin that are not the same."""
    return (at for at in range(0, len(new), size) if old[at : at + size] != new[at : at + size])


def _write(file: int, data: bytes, starts: Iterator[int], size: int) -> None:
    for at in starts:
        part = memoryview(data)[at : at + size]
        while part:
            done = os.pwrite(file, part, at)
            part, at = part[done:], at + done
    os.ftruncate(file, len(data))
    os.fsync(file)


def _write_journal(beside: Spot, mode: int, before: bytes, starts: list[int]) -> None:
    """The pages as they are, safe on disk. An old journal that is there is a finished one: `query.finished` saw it."""
    disk.remove(beside)
    size, nonce = page_size(before), secrets.randbits(32)
    head = struct.pack(">8s5I", MAGIC, len(starts), nonce, len(before) // size, _SECTOR, size)
    file = os.open(beside.name, _NEW, 0o600, dir_fd=beside.folder)
    try:
        os.fchmod(file, mode)
        disk.write_all(file, head.ljust(_SECTOR, b"\0"))
        for at in starts:
            page = before[at : at + size]
            disk.write_all(file, struct.pack(">I", at // size + 1) + page + _checksum(nonce, page))
        os.fsync(file)
        os.fsync(beside.folder)
    except OSError:
        _finish(beside)
        raise
    finally:
        os.close(file)


def _checksum(nonce: int, page: bytes) -> bytes:
    total = nonce + sum(page[len(page) - 200 : 0 : -200])
    return (total & 0xFFFFFFFF).to_bytes(4, "big")


def _finish(beside: Spot) -> None:
    """Without its journal the change is made."""
    disk.remove(beside)
    os.fsync(beside.folder)


_FOLDER = "data"
_ID = re.compile(r"^[0-9]{8}T[0-9]{6}-[0-9a-f]{16}$")
_LARGEST = 64 << 20
_ROWS = b'", "rows": '  # no path holds that as JSON
_LONGEST_HEAD = 1 << 16  # bytes


def keep(place: Place, rows: bytes, at: datetime) -> str:
    """Write down what the rows were and are (`rows`, JSON), safe on disk. Returns the id of the record."""
    name = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    data = json.dumps({"path": place.inner}).encode().removesuffix(b'"}') + _ROWS + rows + b"}"
    with private(place.root, _FOLDER) as folder:
        trash.remove_old(place.root, at, _FOLDER)
        trash.must_have_room(folder, len(data), _FOLDER)
        with disk.staging(Spot(folder, name, name), 0o600) as file:
            disk.write_all(file, data)
        os.fsync(folder)
    return name


def load(roots: Roots, record: str, expected: str | None = None) -> tuple[Place, bytes]:
    """The database of a record and its rows, as JSON. `expected`: fingerprint of both; None: any. Raises ToolError when
    there is none of that id, or another one."""
    place, rows = _load(roots, record)
    trash.must_be_kept(trash.fingerprint(place.said, [rows]), expected)
    return place, rows


def _load(roots: Roots, record: str) -> tuple[Place, bytes]:
    for root in roots.roots if _ID.match(record) else ():
        with suppress(ToolError), private(root, _FOLDER, make=False) as folder:
            head, _, rows = disk.record(Spot(folder, record, record), _LARGEST).partition(_ROWS)
            return roots.place(root, paths.split(_path(head))), rows.removesuffix(b"}")
    raise ToolError("There is no record of that id; perhaps its 30 days are over. Change the rows by hand.")


def _path(head: bytes) -> str:
    """The path that a record begins with. Raises ToolError for what is none of ours."""
    try:
        return str(json.loads(head[:_LONGEST_HEAD] + b'"}')["path"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ToolError("This is no record of changed rows. Change them by hand.") from None


WAIT = 5.0  # seconds for another program to end its change
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Written(NamedTuple):
    """What a change did."""

    record: str
    counts: dict[str, int]  # rows added, changed and removed
    state: str  # digest of these rows after the change
    kept: str  # fingerprint of the record


def preview(place: Place, changes: Sequence[Change]) -> dict[str, Any]:
    """What changing the rows would do: the fields of RowsPlan. The file is only read."""
    with sources.reading(place) as file:
        told = sources.asked(file, place.said, "preview", _json(changes), most=MOST_CHARACTERS)
    return _plan(place.said, told)


def preview_back(roots: Roots, record: str) -> tuple[Place, dict[str, Any]]:
    """The same for putting the rows of a record back, with its database."""
    place, kept = load(roots, record)
    with sources.reading(place) as file:
        told = sources.asked(file, place.said, "preview_back", kept, most=MOST_CHARACTERS)
    return place, {**_plan(place.said, told), "kept": trash.fingerprint(place.said, [kept])}


def _plan(said: str, answer: tuple[dict[str, Any], bytes]) -> dict[str, Any]:
    with unbroken(said):
        return dict(body(answer[1]))


def write(place: Place, changes: Sequence[Change], expected: str | None, at: datetime) -> Written:
    """Carry the changes out. `expected`: digest of the rows as they were shown. Raises ToolError."""
    return _made(place, at, "write", _json(changes), expected)


def restore(
    roots: Roots, record: tuple[str, str | None], expected: str | None, at: datetime
) -> tuple[Place, Written]:
    """Put the rows of a record back, by its id and its fingerprint (None: any). `expected`: digest of the rows now;
    None: as the change left them."""
    place, kept = load(roots, *record)
    return place, _made(place, at, "restore", kept, expected)


def _json(changes: Sequence[Change]) -> bytes:
    return json.dumps([change.model_dump() for change in changes]).encode()


def _made(place: Place, at: datetime, task: str, given: bytes, expected: str | None) -> Written:
    with spot(place) as here, _alone(here) as (file, reader):
        before = _bytes(reader)
        told, data = sources.asked(reader, place.said, task, given, expected=expected)
        with unbroken(place.said):
            end = count(told["record"], len(data))
        kept, after = data[:end], data[end:]
        if not sum(told["counts"].values()):
            raise ToolError("Nothing was changed: the rows have these values already.")
        sources.exclude(file, place.said, WAIT)
        sources.finished(here)
        if _bytes(reader) != before:
            raise ToolError(f"{place.said} is being written by another program. Try again in a minute.")
        record = keep(place, kept, at)
        put(here, file, before, after)
        return Written(record, told["counts"], told["state"], trash.fingerprint(place.said, [kept]))


@contextmanager
def _alone(here: Spot) -> Iterator[tuple[int, int]]:
    """A database that nobody else changes meanwhile, as a descriptor to write with and one to read with."""
    with disk.reading(here) as reader:
        info = os.fstat(reader)
        if info.st_size <= LARGEST_CHANGED:  # a larger one is refused by whoever works the change out
            disk.sole(here.said, disk.measure(reader, here.said))
        file = _to_write(here)
        try:
            now = os.fstat(file)
            if not stat.S_ISREG(now.st_mode) or (now.st_dev, now.st_ino) != (info.st_dev, info.st_ino):
                raise ToolError(EXCHANGED.format(said=here.said))
            sources.hold(here, file, WAIT)
            sources.reserve(file, here.said, WAIT)
            yield file, reader
        finally:
            os.close(file)


def _to_write(here: Spot) -> int:
    """A descriptor to write with. Raises ToolError."""
    try:
        return os.open(here.name, _WRITE, dir_fd=here.folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOENT):  # a link stands there now, or nothing
            raise ToolError(EXCHANGED.format(said=here.said)) from None
        why = (error.strerror or str(error)).lower()
        raise ToolError(f"{here.said} cannot be written to ({why}). Nothing was changed.") from None


def _bytes(file: int) -> bytes:
    return read_at(file, 0, LARGEST_CHANGED + 1)


def standing(roots: Roots, record: str) -> tuple[Place, str, bool]:
    """The database of a record, the digest of its rows now, and whether they are as the change left them."""
    place, kept = load(roots, record)
    with sources.reading(place) as file:
        told, _ = sources.asked(file, place.said, "standing", kept)
    return place, told["state"], told["as_left"]
