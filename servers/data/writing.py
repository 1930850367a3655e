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
from datetime import UTC, datetime
from itertools import chain
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple

from mcp.server.mcpserver.exceptions import ToolError

from servers.data import sources
from servers.data.models import Change
from servers.filesystem import disk, paths, rights, trash
from servers.filesystem.answers import MOST_CHARACTERS
from servers.filesystem.paths import Place, Roots, Spot, private, spot
from servers.sandbox.calling import PIECE, Blob, Streamed, count, filled, pieces, unbroken, written
from servers.sandbox.protocol import body
from servers.sqlite.files import HEADER, LARGEST_CHANGED, LARGEST_RECORD, MAGIC

_SECTOR = 512
EXCHANGED = "{said} was replaced by another file just now. Look at it again, then ask again."
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def page_size(data: bytes) -> int:
    size = int.from_bytes(data[16:18], "big")
    return 65536 if size == 1 else size


def put(here: Spot, file: int, before: Streamed, after: Streamed) -> None:
    """Make a database file that is `before` hold `after`. For who has excluded all others from it (see locks).

    Raises ToolError for what is no such pair, and OSError when the disk refuses; then the file is as it was.
    """
    size, first = page_size(before.part(0, 100)), after.part(0, 100)
    if not first.startswith(HEADER) or page_size(first) != size or before.size % size or after.size % size:
        raise ToolError(f"{here.said} cannot be written: the change would break it. Change it by hand.")
    beside = Spot(here.folder, f"{here.name}-journal", here.said)
    changed = [at for at in _differing(before, after, size) if at < before.size]
    _write_journal(beside, file, before, [*changed, *range(after.size, before.size, size)])
    try:
        _write(file, after, _differing(before, after, size), size)
    except OSError:
        _write(file, before, _differing(after, before, size), size)
        _finish(beside)
        raise
    _finish(beside)


def _differing(old: Streamed, new: Streamed, size: int) -> Iterator[int]:
    """Where the pages begin that are not the same."""
    for at in range(0, new.size, PIECE):
        was, now = old.part(at, PIECE), new.part(at, PIECE)
        if was != now:
            yield from (at + n for n in range(0, len(now), size) if was[n : n + size] != now[n : n + size])


def _write(file: int, data: Streamed, starts: Iterator[int], size: int) -> None:
    for at in starts:
        part = memoryview(data.part(at, size))
        while part:
            done = os.pwrite(file, part, at)
            part, at = part[done:], at + done
    os.ftruncate(file, data.size)
    os.fsync(file)


def _write_journal(beside: Spot, base: int, before: Streamed, starts: list[int]) -> None:
    """The pages as they are, safe on disk. An old journal that is there is a finished one: `query.finished` saw it."""
    disk.remove(beside)
    size, nonce = page_size(before.part(0, 100)), secrets.randbits(32)
    head = struct.pack(">8s5I", MAGIC, len(starts), nonce, before.size // size, _SECTOR, size)
    file = os.open(beside.name, _NEW, 0o600, dir_fd=beside.folder)
    try:
        rights.keep(file, base)  # whoever may write the database may take the change back
        disk.write_all(file, head.ljust(_SECTOR, b"\0"))
        for at in starts:
            page = before.part(at, size)
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
_ROWS = b'", "rows": '  # no path holds that as JSON
_LONGEST_HEAD = 1 << 16  # bytes


def keep(place: Place, rows: Streamed, at: datetime) -> str:
    """Write down what the rows were and are (`rows`, JSON), safe on disk. Returns the id of the record."""
    name = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    head = json.dumps({"path": place.inner}).encode().removesuffix(b'"}') + _ROWS
    with private(place.root, _FOLDER) as folder:
        trash.remove_old(place.root, at, _FOLDER)
        trash.must_have_room(folder, len(head) + rows.size + 1, _FOLDER)
        with disk.staging(Spot(folder, name, name), 0o600) as file:
            for piece in chain([head], pieces(rows), [b"}"]):
                disk.write_all(file, piece)
        os.fsync(folder)
    return name


@contextmanager
def load(roots: Roots, record: str, expected: str | None = None) -> Iterator[tuple[Place, Streamed, str]]:
    """The database of a record, its rows, as JSON, and the fingerprint of both. `expected`: what that must be; None:
    anything. Raises ToolError when there is none of that id, or another one."""
    with TemporaryFile() as copy:
        place, rows = _load(roots, record, copy)
        fingerprint = trash.fingerprint(place.said, pieces(rows))
        trash.must_be_kept(fingerprint, expected)
        yield place, rows, fingerprint


def _load(roots: Roots, record: str, copy: BinaryIO) -> tuple[Place, Streamed]:
    for root in roots.roots if _ID.match(record) else ():
        with (
            suppress(ToolError),
            private(root, _FOLDER, make=False) as folder,
            disk.reading(Spot(folder, record, record)) as file,
        ):
            head, sign, _ = os.pread(file, _LONGEST_HEAD, 0).partition(_ROWS)
            # The last byte ends what the head began.
            start, end = len(head + sign), os.fstat(file).st_size - 1
            if end - start > LARGEST_RECORD:
                continue
            with unbroken(record):
                rows = filled(copy, pieces(Streamed(file, max(0, end - start), start)))
            return roots.place(root, paths.split(_path(head))), rows
    raise ToolError("There is no record of that id; perhaps its 30 days are over. Change the rows by hand.")


def _path(head: bytes) -> str:
    """The path that a record begins with. Raises ToolError for what is none of ours."""
    try:
        return str(json.loads(head + b'"}')["path"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ToolError("This is no record of changed rows. Change them by hand.") from None


BACK_SECONDS = 20.0  # more than the change had, as it has the record to read besides
WAIT = 5.0  # seconds for another program to end its change
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class Written(NamedTuple):
    """What a change did."""

    record: str
    counts: dict[str, int]  # rows added, changed and removed
    state: str  # digest of these rows after the change
    kept: str  # fingerprint of the record


def preview(place: Place, changes: Sequence[Change], at: datetime) -> dict[str, Any]:
    """What changing the rows would do: the fields of RowsPlan. The file is only read."""
    with sources.reading(place) as file:
        told = sources.asked(
            file, place.said, "preview", _json(changes), at=_moment(at), most=MOST_CHARACTERS
        )
    return _plan(place.said, told)


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")


def preview_back(roots: Roots, record: str, at: datetime) -> tuple[Place, dict[str, Any]]:
    """The same for putting the rows of a record back, with its database."""
    with load(roots, record) as (place, kept, fingerprint), sources.reading(place) as file:
        told = sources.asked(file, place.said, "preview_back", kept, at=_moment(at), most=MOST_CHARACTERS)
    return place, {**_plan(place.said, told), "kept": fingerprint}


def _plan(said: str, answer: tuple[dict[str, Any], bytes]) -> dict[str, Any]:
    with unbroken(said):
        return dict(body(answer[1]))


def write(place: Place, changes: Sequence[Change], expected: str | None, at: datetime) -> Written:
    """Carry the changes out. `expected`: digest of the rows before and after, as they were shown. Raises ToolError."""
    return _made(place, at, "write", _json(changes), expected)


def restore(
    roots: Roots, record: tuple[str, str | None], expected: str | None, at: datetime
) -> tuple[Place, Written]:
    """Put the rows of a record back, by its id and its fingerprint (None: any). `expected`: digest of the rows now;
    None: as the change left them."""
    with load(roots, *record) as (place, kept, _):
        return place, _made(place, at, "restore", kept, expected)


def _json(changes: Sequence[Change]) -> bytes:
    return json.dumps([change.model_dump() for change in changes]).encode()


def _made(place: Place, at: datetime, task: str, given: Blob, expected: str | None) -> Written:
    """No file here is held in memory: neither the database before and after, nor the record."""
    with (
        sources.in_turn(place.said),
        spot(place) as here,
        _alone(here) as (file, reader),
        TemporaryFile() as copy,
        TemporaryFile() as made,
    ):
        before = _copied(reader, place.said, copy)
        seconds = BACK_SECONDS if task == "restore" else None
        told, _ = sources.asked(
            reader, place.said, task, given, seconds=seconds, into=made, at=_moment(at), expected=expected
        )
        kept, after = _parted(made, told, place.said)
        if not sum(told["counts"].values()):
            raise ToolError("Nothing was changed: the rows have these values already.")
        sources.exclude(file, place.said, WAIT)
        sources.finished(here)
        now = _database(reader)
        if now.size != before.size or any(True for _ in _differing(before, now, PIECE)):
            raise ToolError(f"{place.said} is being written by another program. Try again in a minute.")
        record = keep(place, kept, at)
        put(here, file, before, after)
        return Written(record, told["counts"], told["state"], trash.fingerprint(place.said, pieces(kept)))


def _database(file: int) -> Streamed:
    """All of a database that can be changed; of a larger one, which is refused, more than that."""
    return Streamed(file, min(os.fstat(file).st_size, LARGEST_CHANGED + 1))


def _copied(reader: int, said: str, copy: BinaryIO) -> Streamed:
    with unbroken(said):
        return filled(copy, pieces(_database(reader)))


def _parted(made: BinaryIO, told: dict[str, Any], said: str) -> tuple[Streamed, Streamed]:
    """What a task gave: the record, and the bytes of the database. Raises ToolError."""
    whole = written(made)
    with unbroken(said):
        end = count(told["record"], min(whole.size, LARGEST_RECORD))
    return Streamed(whole.file, end), Streamed(whole.file, whole.size - end, end)


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


def standing(roots: Roots, record: str) -> tuple[Place, dict[str, Any]]:
    """The database of a record, the digest of its rows now, and whether they are as the change left them."""
    with load(roots, record) as (place, kept, _), sources.reading(place) as file:
        told, _ = sources.asked(file, place.said, "standing", kept)
    return place, told
