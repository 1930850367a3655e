"""Records out of files: CSV and JSON, and SQLite databases locked here and opened in the sandbox."""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from tempfile import TemporaryFile
from typing import Any, BinaryIO, ParamSpec, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, TextContent
from pydantic import TypeAdapter

from servers.data.models import Cell, Table, TablesRead
from servers.filesystem import disk, path_arguments
from servers.filesystem.answers import MOST_CHARACTERS
from servers.filesystem.disk import Found
from servers.filesystem.paths import Place, Roots, Spot, spot
from servers.sandbox.calling import (
    BUSY,
    JSON_OUTPUT,
    SANDBOX,
    Blob,
    Job,
    Limits,
    Streamed,
    count,
    listed,
    run,
    unbroken,
)
from servers.sandbox.protocol import MOST_JSON, body
from servers.sqlite.files import HEADER, too_long

PENDING, RESERVED, SHARED, SHARED_SIZE = 0x40000000, 0x40000001, 0x40000002, 510
_AGAIN = 0.01  # seconds between two tries
_OPEN_FILE = getattr(fcntl, "F_OFD_SETLK", None)


_NAMES = TypeAdapter(TablesRead)


def share(file: int, said: str, seconds: float) -> None:
    """Hold off whoever would write into the file, until the descriptor is closed. Raises ToolError at the end."""
    end = time.monotonic() + seconds
    _wait(file, fcntl.LOCK_SH, (PENDING, 1), said, end)
    try:
        _wait(file, fcntl.LOCK_SH, (SHARED, SHARED_SIZE), said, end)
    finally:
        _lock(file, fcntl.LOCK_UN, PENDING, 1)


def reserve(file: int, said: str, seconds: float) -> None:
    """Be the only one that prepares a change. For a descriptor that is shared and open for writing."""
    _wait(file, fcntl.LOCK_EX, (RESERVED, 1), said, time.monotonic() + seconds)


def exclude(file: int, said: str, seconds: float) -> None:
    """Be the only one that reads or writes. For a descriptor that is reserved."""
    end = time.monotonic() + seconds
    for span in ((PENDING, 1), (SHARED, SHARED_SIZE)):
        _wait(file, fcntl.LOCK_EX, span, said, end)


def _wait(file: int, kind: int, span: tuple[int, int], said: str, end: float) -> None:
    while True:
        try:
            return _lock(file, kind, *span)
        except BlockingIOError:
            if time.monotonic() > end:
                raise ToolError(
                    f"{said} is in use just now, here or by another program. Try again in a minute, or close it in "
                    "that program."
                ) from None
            time.sleep(_AGAIN)


def _lock(file: int, kind: int, start: int, length: int) -> None:
    if _OPEN_FILE is None:
        fcntl.lockf(file, kind | fcntl.LOCK_NB, length, start)
        return
    kinds = {fcntl.LOCK_SH: fcntl.F_RDLCK, fcntl.LOCK_EX: fcntl.F_WRLCK, fcntl.LOCK_UN: fcntl.F_UNLCK}
    fcntl.fcntl(file, _OPEN_FILE, struct.pack("@hhqqi", kinds[kind], os.SEEK_SET, start, length, 0))


SECONDS = 5.0
GRACE = 2.0  # seconds until a process is killed that has not stopped its statement by itself
WAIT = 2.0  # seconds for another program to end its change
MOST_ROWS = 1_000
_MEMORY = 1 << 30
_OUTPUT = 256 << 20  # of what is not parsed here, and not held
_UNPARSED = ("table", "write", "restore")


@contextmanager
def in_turn(said: str) -> Iterator[None]:
    """A turn in the sandbox, before the lock: nobody waits for one who has that. Raises ToolError where none comes."""
    with SANDBOX.turn() as came:
        if not came:
            raise ToolError(f"{said} {BUSY}")
        yield


@contextmanager
def reading(place: Place) -> Iterator[int]:
    """A descriptor of the database at `place`, locked as SQLite locks what it reads. Raises ToolError.

    A change that is not finished is not taken back here, nor one that stands in a log taken in: that would be to run
    what a stranger wrote into a file beside the database. Such a database is refused.
    """
    with in_turn(place.said), spot(place) as here, disk.reading(here) as file:
        hold(here, file, WAIT)
        before = _version(file)
        yield file
        finished(here)
        if _version(file) != before:  # one with a log is written without regard to that lock
            raise ToolError(f"{place.said} was written while it was read. Ask again in a minute.")


def hold(here: Spot, file: int, wait: float) -> None:
    """Keep others from writing into a database. Raises ToolError when it is none, or is not finished."""
    if not os.pread(file, len(HEADER), 0).startswith(HEADER):
        raise ToolError(f"{here.said} is not a SQLite database. Name one, or use a .csv file.")
    share(file, here.said, wait)
    finished(here)
    _whole(here, file)


def _whole(here: Spot, file: int) -> None:
    """Raise ToolError for a database whose end is missing: SQLite may read NULL for its rows without a word."""
    head, size = os.pread(file, 100, 0), os.fstat(file).st_size
    page = int.from_bytes(head[16:18], "big")
    told = int.from_bytes(head[28:32], "big") * (65_536 if page == 1 else page)
    if head[24:28] == head[92:96] and size < told:  # else an old program wrote it, that tells no size
        raise ToolError(
            f"{here.said} is cut off: {size:,} of {told:,} bytes are there. Copy it again from where it comes from."
        )


def finished(here: Spot) -> None:
    """Raise ToolError when a change of the database is not finished: another file beside it says so."""
    if _holds(Spot(here.folder, f"{here.name}-journal", here.said), zeros_are_nothing=True):
        raise ToolError(
            f"{here.said} has an unfinished change ({here.name}-journal): a program is writing it, or was stopped "
            "while it did. Open it once with that program, or with sqlite3 when you trust where it comes from: that "
            "takes the half change back. Or put a good copy in its place. Then ask again."
        )
    if _holds(Spot(here.folder, f"{here.name}-wal", here.said)):
        raise ToolError(
            f"{here.said} has changes that are not in the file yet ({here.name}-wal): a program has it open, or was "
            "stopped. Close the database in that program, then ask again."
        )


def _holds(beside: Spot, zeros_are_nothing: bool = False) -> bool:
    """Whether a file beside a database has to be read with it. A journal that begins with a zero is a finished one."""
    info = disk.status(beside)
    if info is None or not stat.S_ISREG(info.st_mode):
        return info is not None
    if not (info.st_size and zeros_are_nothing):
        return info.st_size > 0
    with disk.reading(beside) as file:
        return os.pread(file, 1, 0) not in (b"", b"\0")


def _version(file: int) -> tuple[int, int, int]:
    info = os.fstat(file)
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def asked(
    file: int,
    said: str,
    task: str,
    *blobs: Blob,
    seconds: float | None = None,
    into: BinaryIO | None = None,
    **args: Any,
) -> tuple[dict[str, Any], bytes]:
    """What a task of the confined process gives about the database behind a descriptor. Raises ToolError."""
    seconds = seconds or SECONDS
    output = _OUTPUT if task in _UNPARSED else JSON_OUTPUT
    limits = Limits(seconds=seconds + GRACE, memory=_MEMORY, output=output, told=MOST_JSON)
    given = {"said": said, "seconds": seconds, **args}
    result = SANDBOX.call(Job(f"sqlite.{task}", blobs, given, files=[file], limits=limits, into=into))
    if result.stopped:
        late = result.seconds > seconds
        raise ToolError(too_long(seconds) if late else f"{said} {result.refused}")
    if result.refused:
        with unbroken(said):
            tables = _NAMES.validate_python(result.tables)
        raise FailedReading(result.refused, said, tables)
    return result.told, result.data


def _read(place: Place, task: str, **args: Any) -> tuple[dict[str, Any], bytes]:
    with reading(place) as file:
        return asked(file, place.said, task, **args)


class FailedReading(ToolError):
    """Why what reads the database at `path` gives nothing. `tables`: those that it reads. Rules are held against both,
    where a call does not say them."""

    def __init__(self, said: str, path: str, tables: Sequence[str]) -> None:
        super().__init__(said)
        self.facts = {"path": path, "tables": [*tables]}


@contextmanager
def telling(place: Place, **asked_for: str | None) -> Iterator[None]:
    """A failure inside, as FailedReading: it may depend on a value. The tables are asked for apart, as a process that
    was stopped tells none; what that fails by depends on no value, and is raised in its place."""
    try:
        yield
    except ToolError as error:
        _, told = _read(place, "reads", **asked_for)
        with unbroken(place.said):
            tables = _NAMES.validate_python(body(told)["tables"])
        raise FailedReading(str(error), place.said, tables) from None


P = ParamSpec("P")
R = TypeVar("R")


def failing(tool: Callable[P, R]) -> Callable[P, R]:
    """A tool whose failures say which database it reads, and which tables, where they are known."""

    @wraps(tool)
    def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except FailedReading as error:
            said = CallToolResult(
                content=[TextContent(type="text", text=str(error))],
                structured_content=error.facts,
                is_error=True,
            )
            return cast(R, said)

    return told


def select(
    place: Place, sql: str, parameters: Sequence[Cell] | Mapping[str, Cell], limit: int
) -> dict[str, Any]:
    """Columns, rows up to a number and as fit into an answer, whether there are more (`more`), and the tables that were
    read. Raises ToolError."""
    with telling(place, sql=sql):
        _, told = _read(place, "select", sql=sql, parameters=parameters, most=(limit, MOST_CHARACTERS))
        with unbroken(place.said):
            return dict(body(told))


def tables(place: Place) -> tuple[Iterator[Table], int, Found]:
    """The tables and views that people made, the first of them by name; how many there are; and the file, hashed."""
    with reading(place) as file:
        facts, told = asked(file, place.said, "tables")
        found = map(Table.model_validate, listed(told, place.said))
        with unbroken(place.said):
            return found, count(facts["count"], LARGEST), disk.measure(file, place.said)


LARGEST = 128 << 20  # bytes of a file
LARGEST_JSON = 32 << 20  # bytes of a .json file: its list has to be read as a whole
MOST_RECORDS = 2_000_000  # rows of a table in a database
TABLE_SECONDS = 20.0  # to read all of it
HEAD = 64 << 10  # bytes of a file that tell what parts its values
_TABLE = Limits(seconds=120, memory=3 << 30, output=JSON_OUTPUT, told=MOST_JSON)
_MADE = replace(_TABLE, output=LARGEST + (8 << 20))  # a file, which is not looked into here
_KINDS = (".tsv", ".json", ".jsonl", ".ndjson")
_DATABASES = (".sqlite", ".sqlite3", ".db", ".db3")


@dataclass(frozen=True)
class Told:
    """What a task said of a table, and the SHA-256 of the bytes that it looked at. `tables`: what was read of a
    database."""

    said: str
    source: str
    about: dict[str, Any]
    data: bytes
    tables: Sequence[str] = ()


def looked(
    roots: Roots, path: str, table: str | None, task: str, into: BinaryIO | None = None, **args: Any
) -> Told:
    """What a task of servers.data.tasks says of the records of a file, its bytes `into` another. Raises ToolError.

    The file is read by that task alone: its rows would take a bot more memory than all the rest of it.
    """
    place = path_arguments.file(roots, path)
    name = place.parts[-1].lower()
    if table is not None or name.endswith(_DATABASES):
        # Other calls wait for their turns between the two: these hold no rows.
        with telling(place, table=table), TemporaryFile() as rows:
            told, sha256 = _of_table(place, table, rows)
            blob = Streamed(rows.fileno(), rows.tell())
            read = {"ending": "", "named": told["columns"], "unlike": told["unlike"]}
            job = _job(task, {**args, **read}, [blob])
            with unbroken(place.said):
                tables = _NAMES.validate_python(told["tables"])
            return Told(place.said, sha256, *_answered(replace(job, into=into), place.said), tables)
    ending = next((one for one in _KINDS if name.endswith(one)), ".csv")
    with spot(place) as here, disk.reading(here) as file:
        before = _version(file)
        _small(place.said, before[0], ending)
        source = disk.measure(file, place.said).sha256
        job = _job(task, {**args, "ending": ending})
        answer = _answered(replace(job, files=[file], into=into), place.said)
        if _version(file) != before:
            raise ToolError(f"{place.said} was written while it was read. Ask again in a minute.")
    return Told(place.said, source, *answer)


def _job(task: str, args: dict[str, Any], blobs: Sequence[Blob] = ()) -> Job:
    return Job(f"data.{task}", blobs, args, limits=_MADE if task == "without" else _TABLE)


def _small(said: str, size: int, ending: str) -> None:
    if ending == ".json" and size > LARGEST_JSON:
        raise ToolError(
            f"{said} is larger than {LARGEST_JSON >> 20} MB, the most of a .json file. Save it as .jsonl or .csv, of "
            f"which this tool reads {LARGEST >> 20} MB, or take a part of it."
        )
    if size > LARGEST:
        raise ToolError(
            f"{said} is larger than {LARGEST >> 20} MB, the most this tool reads. Take a part of it."
        )


def _answered(job: Job, said: str) -> tuple[dict[str, Any], bytes]:
    result = SANDBOX.call(job)
    if result.stopped and result.seconds > _TABLE.seconds:
        without = ", without “alike”" if job.args.get("alike") else ""
        raise ToolError(
            f"{said} took longer than {_TABLE.seconds:.0f} seconds, and was not looked through to its end. Name fewer "
            f"columns{without}, or take a part of it."
        )
    if result.refused:
        raise ToolError(f"{said} {result.refused}")
    return result.told, result.data


def _of_table(place: Place, table: str | None, rows: BinaryIO) -> tuple[dict[str, Any], str]:
    """The columns of a table and what is read otherwise in it, and the SHA-256 of its rows, which are written down as
    JSON, a list of some a line."""
    most = (MOST_RECORDS, LARGEST)
    with reading(place) as file:
        told, _ = asked(file, place.said, "table", seconds=TABLE_SECONDS, into=rows, name=table, most=most)
    rows.flush()
    return told, disk.measure(rows.fileno(), place.said).sha256


def sign_for(place: Place, source: str = "") -> str:
    """What parts the values of a file that is written: a tab in a .tsv file, else what does so in the present file.

    `source`: a path; "" is given for what is made of it, unless it is a .tsv file, as the source tells the sign.
    """
    if place.parts[-1].lower().endswith(".tsv"):
        return "\t"
    if source and not source.lower().endswith(".tsv"):
        return ""
    with spot(place) as here:
        if disk.find(here) is None:
            return ","
        with disk.reading(here) as file:
            head = os.pread(file, HEAD, 0)
    told: str = run("data.sign", place.said, [head])[0]["sign"]
    return told
