"""Calls of tasks: each in a confined process of its own, which is stopped at its limits."""

from __future__ import annotations

import atexit
import errno
import io
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from anyio import NoEventLoopError, from_thread
from mcp.server.mcpserver.exceptions import ToolError

from servers.sandbox.confinement import HOME, Rights
from servers.sandbox.fork_server import NO_FOLDER, NO_PROCESS
from servers.sandbox.protocol import (
    MOST_BODY,
    MOST_JSON,
    MOST_TEXT,
    body,
    exactly,
    head,
    head_size,
    packed,
    whole,
)
from servers.sandbox.task_queue import Turns

T = TypeVar("T")

AT_ONCE = 8  # children of one process: each may take the memory of its limits
PER_OWNER = 3  # of them for one person, over all servers
WAIT_SECONDS = 45.0  # at least, for a turn: more than an ordinary task of somebody else takes
START_SECONDS = 60.0  # to load the libraries and confine the child, before its own time begins
# Nothing else: it may hold secrets.
ENVIRONMENT = {"OMP_THREAD_LIMIT": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
TOO_MUCH = "is broken, or too much to open: it was stopped. Take a part of it, or another file."
NO_TIME = "was not read: there was no time left for it. Ask for less at once."
BUSY = "was not opened: too many files are being read just now. Try again in a minute."
NO_ROOM = "was not opened: the disk for temporary files is full. Make room there first."
MOST_SAID = 4_000  # characters of a sentence
MOST_SENTENCES = 1_000  # of one kind
_SAID = {"guessed", "problems", "partly", "unknown"}  # where tasks say sentences, or lists of them
_KEPT = 500  # characters of a sentence about one of many files
_LOOK = 0.2  # seconds between looks at whether the call was cancelled
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """What a task may use."""

    seconds: float = 30  # on the clock, and as many of processor time
    memory: int = 1 << 30  # bytes of address space
    output: int = 64 << 20  # bytes of its answer
    open_files: int = 64
    told: int = 256 << 10  # bytes of what it says besides, as JSON


LIMITS = Limits()
JSON_OUTPUT = (
    MOST_JSON + MOST_BODY
)  # of a task whose answer is parsed; more is for bytes that nobody looks into
TEXT_OUTPUT = 4 * MOST_TEXT + (1 << 20)  # of a task whose answer is decoded
_FOLLOWING = bytes(range(0x80, 0xC0))  # what in UTF-8 begins no character


@dataclass(frozen=True)
class Streamed:
    """Bytes of an open file, which go to a task piece by piece: they are not held here, neither while it waits for its
    turn nor while it runs."""

    file: int  # a descriptor, open until the call is over
    size: int
    start: int = 0

    def part(self, at: int, size: int) -> bytes:
        """Those from a place on, up to so many: fewer at the end, and where the file has become shorter."""
        return os.pread(self.file, max(0, min(size, self.size - at)), self.start + at)


Blob = bytes | Streamed
PIECE = 1 << 20  # bytes


def size_of(blob: Blob) -> int:
    return blob.size if isinstance(blob, Streamed) else len(blob)


def pieces(blob: Blob) -> Iterator[bytes]:
    """All bytes of a blob. Raises ValueError where the file has become shorter."""
    if isinstance(blob, bytes):
        yield blob
        return
    at = 0
    while at < blob.size:
        if not (piece := blob.part(at, PIECE)):
            raise ValueError("a file that was cut off")
        at += len(piece)
        yield piece


def filled(file: BinaryIO, data: Iterable[bytes]) -> Streamed:
    """A file of ours with these bytes behind what is in it: nobody else can change them."""
    start = file.tell()
    for piece in data:
        file.write(piece)
    file.flush()
    return Streamed(file.fileno(), file.tell() - start, start)


def written(file: BinaryIO) -> Streamed:
    """All that was written into a file of ours."""
    file.flush()
    return Streamed(file.fileno(), file.tell())


@dataclass(frozen=True)
class Job:
    """A task by its name, with all that it gets and may do.

    `formats.text` is the function under "text" in TASKS of servers.formats.tasks. It is called with the blobs in order
    and `args` as keywords, and gives a dict for JSON and bytes; it raises Refused with the end of a sentence.
    """

    task: str
    blobs: Sequence[Blob] = ()
    args: dict[str, Any] = field(default_factory=dict)
    files: Sequence[int] = ()  # open descriptors, which the task gets as `files`
    reads: Sequence[Path] = ()  # what it may open for reading besides code
    program: str = ""  # the path of the one program that it may start
    scratch: bool = False  # whether it gets a folder to write to; it is its working folder
    limits: Limits | None = None
    into: BinaryIO | None = None  # where the bytes of the answer are written to: then they are not held here


@dataclass(frozen=True)
class Result:
    """What a task gave; or `refused`, the end of a sentence about the file that says why it gave nothing."""

    told: dict[str, Any] = field(default_factory=dict)
    data: bytes = b""
    refused: str = ""
    stopped: bool = False  # at a limit, or it crashed; the task itself said nothing
    begun: bool = True  # whether the task was run at all, so that its file may be why
    seconds: float = 0.0  # that it took, without the wait for its turn
    tables: Any = ()  # whose rows may be why it refused, as the task says; whoever asked checks that


STOPPED = Result(refused=TOO_MUCH, stopped=True)
FULL = Result(refused=NO_ROOM, stopped=True, begun=False)
LATER = Result(refused=NO_TIME, stopped=True, begun=False)
CROWDED = Result(refused=BUSY, stopped=True, begun=False)
_NOT_BEGUN: dict[int | None, Result] = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.EAGAIN: CROWDED}
# What a fork server says that can begin no child
_MISSING = {NO_FOLDER: errno.ENOSPC, NO_PROCESS: errno.EAGAIN}


class Sandbox:
    """Tasks of one package, each in a confined process that a fork server starts. For use from several threads."""

    def __init__(self, package: str = "servers") -> None:
        self._package = package
        self._lock = threading.Lock()
        self._turns = Turns(AT_ONCE, AT_ONCE)
        self._owner: Callable[[], str] = str
        self._held = threading.local()  # its `turn`: whether the thread that asks has one
        self._server: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def tell_apart(self, owner: Callable[[], str]) -> None:
        """Let the people take turns for whom files are opened. `owner` is asked in the thread of each call."""
        self._turns, self._owner = Turns(AT_ONCE, PER_OWNER), owner

    def call(self, job: Job) -> Result:
        """Run a task, and wait for it in this thread. At a limit, and when the call is cancelled, it is killed."""
        limits = job.limits or LIMITS
        with self.turn(limits.seconds) as came:
            if not came:
                return CROWDED
            begun = time.monotonic()
            result = self._run(job, limits)
            return replace(result, seconds=time.monotonic() - begun)

    @contextmanager
    def turn(self, seconds: float = 0.0) -> Iterator[bool]:
        """Wait for a turn of the person for whom this thread works; whether it came. The calls of this thread inside
        wait for no other one. It is taken before a lock: else whoever wants that waits for all reads of this person."""
        if getattr(self._held, "turn", False):
            yield True
            return
        with self._turns.queued(self._owner()) as turn:
            with suppress(TimeoutError):
                _patiently(time.monotonic() + max(seconds, WAIT_SECONDS), partial(_wait, turn))
            self._held.turn = came = turn.is_set()
            try:
                yield came
            finally:
                self._held.turn = False

    def _run(self, job: Job, limits: Limits) -> Result:
        try:
            with self._child(job, limits) as channel:
                return _result(job, *_talk(channel, job, limits))
        except (OSError, EOFError, ValueError) as error:
            return _NOT_BEGUN.get(getattr(error, "errno", None), STOPPED)

    @contextmanager
    def _child(self, job: Job, limits: Limits) -> Iterator[socket.socket]:
        """A new child, as the socket to it. It is killed when the pipe closes, and so when this process dies."""
        ours, theirs = socket.socketpair()
        over, end = os.pipe()
        try:
            with theirs:
                self._order(packed(_order(job, limits)), [over, theirs.fileno(), *job.files])
            os.close(over)
            yield ours
        finally:
            ours.close()
            os.close(end)

    def _order(self, order: bytes, descriptors: Sequence[int]) -> None:
        with self._lock:
            for last in (False, True):
                try:
                    orders = self._started()
                    sent = socket.send_fds(orders, [order], descriptors)
                    orders.sendall(order[sent:])
                    return
                except OSError:
                    self._stop()  # it was killed from outside: start another one
                    if last:
                        raise

    def _started(self) -> socket.socket:
        if self._orders is None:
            ours, theirs = socket.socketpair()
            words = ["-m", "servers.sandbox.fork_server", str(theirs.fileno()), self._package]
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=HOME,
                    env=ENVIRONMENT,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for the bot, which ends it
                )
            self._orders = ours
        return self._orders

    def stop(self) -> None:
        """End the fork server and all children; their calls say that they were stopped. The next call starts anew."""
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._orders:
            self._orders.close()
        if self._server:
            with suppress(subprocess.TimeoutExpired):
                self._server.wait(10)
            self._server.kill()
            self._server.wait()
        self._orders = self._server = None


def _order(job: Job, limits: Limits) -> dict[str, Any]:
    rights = Rights(
        seconds=max(1, round(limits.seconds)),
        memory=limits.memory,
        open_files=limits.open_files,
        reads=tuple(map(str, job.reads)),
        program=job.program,
    )
    return {"task": job.task, "scratch": job.scratch, "rights": asdict(rights)}


def _talk(channel: socket.socket, job: Job, limits: Limits) -> tuple[bytes, bytes, int]:
    """Give the child its work and take its answer: the head as JSON, the bytes behind it unless they go into a file,
    and how many those are. Raises TimeoutError, EOFError, OSError where there is no child, or ValueError for too long
    an answer."""
    sign = _receive(channel, 1, time.monotonic() + START_SECONDS)
    if not sign:
        raise EOFError
    if sign in _MISSING:
        raise OSError(_MISSING[sign], "the call could not begin")
    end = time.monotonic() + limits.seconds
    sizes = list(map(size_of, job.blobs))
    for part in (packed({"args": job.args, "sizes": sizes}), *job.blobs):
        for piece in pieces(part):
            _send(channel, piece, end)
    size = head_size(exactly(lambda most: _receive(channel, most, end), 8))
    room = limits.output - 8 - size
    if room < 0 or size > limits.told:
        raise ValueError("too long an answer")
    text = exactly(lambda most: _receive(channel, most, end), size)
    data, taken = io.BytesIO(), 0  # what it has taken in, it gives without a copy
    while part := _receive(channel, 1 << 20, end):
        if (taken := taken + len(part)) > room:
            raise ValueError("too long an answer")
        (job.into or data).write(part)
    return text, data.getvalue(), taken


def _send(channel: socket.socket, data: bytes, end: float) -> None:
    rest = memoryview(data)

    def some(seconds: float) -> int:
        channel.settimeout(seconds)
        return channel.send(rest)

    while rest:
        rest = rest[_patiently(end, some) :]


def _receive(channel: socket.socket, size: int, end: float) -> bytes:
    def some(seconds: float) -> bytes:
        channel.settimeout(seconds)
        return channel.recv(size)

    return _patiently(end, some)


def _wait(turn: threading.Event, seconds: float) -> None:
    if not turn.wait(seconds):
        raise TimeoutError


def _patiently(end: float, attempt: Callable[[float], T]) -> T:
    """What the attempt gives, which gets a share of the time until `end` and raises TimeoutError when it is over.

    Raises TimeoutError at the end, and what says so when the call was cancelled that this thread works for.
    """
    while (left := end - time.monotonic()) > 0:
        with suppress(TimeoutError):
            return attempt(min(left, _LOOK))
        with suppress(NoEventLoopError):  # no thread of a call
            from_thread.check_cancelled()
    raise TimeoutError


def _result(job: Job, text: bytes, data: bytes, taken: int) -> Result:
    """The answer of a child, which may be anything. Raises ValueError, also where the child came to its end before that
    of its answer: what was taken so far may look whole."""
    answer = whole(head(text), text)
    told, refused = answer.get("told"), answer.get("refused")
    if isinstance(told, dict):
        if answer.get("size") != taken:
            raise ValueError("an answer that was cut off")
        return Result({name: _cut(value) if name in _SAID else value for name, value in told.items()}, data)
    if isinstance(refused, str):
        return Result(refused=refused[:MOST_SAID], tables=answer.get("tables") or ())
    _log.warning("%s failed in its sandbox: %r", job.task, str(answer.get("failed"))[:MOST_SAID])
    return STOPPED


def _cut(said: Any) -> str | list[str]:
    """A sentence of a task, or a list of them, each no longer than one may be. Raises ValueError for anything else."""
    if isinstance(said, list):
        return [_sentence(one) for one in said[:MOST_SENTENCES]]
    return _sentence(said)


def _sentence(said: Any) -> str:
    if not isinstance(said, str):
        raise ValueError("no sentence")
    return brief(said, MOST_SAID)


def brief(said: str, most: int = _KEPT) -> str:
    """A sentence, of so many characters at most."""
    return said if len(said) <= most else said[: most - 1] + "…"


SANDBOX = Sandbox()
atexit.register(SANDBOX.stop)


def run(
    task: str, what: str, blobs: Sequence[Blob] = (), limits: Limits | None = None, **args: Any
) -> tuple[dict[str, Any], bytes]:
    """What a task gives. `what` names the file. Raises ToolError with a sentence when it refuses or is stopped."""
    return answered(Job(task, blobs, args, limits=limits), what)


def answered(job: Job, what: str) -> tuple[dict[str, Any], bytes]:
    """The same for a job with more to it."""
    result = SANDBOX.call(job)
    if result.refused:
        raise ToolError(f"{what} {result.refused}")
    return result.told, result.data


def read(task: str, what: str, data: bytes, **args: Any) -> tuple[dict[str, Any], str]:
    """What a task says of a file, and its text. Raises ToolError as `run` does."""
    told, made = run(task, what, [data], Limits(output=TEXT_OUTPUT), **args)
    return told, decoded(made, what)


def decoded(data: bytes, what: str, most: int = MOST_TEXT) -> str:
    """The text that a task gave, of so many characters at most, which are counted before. Raises ToolError for anything
    else."""
    with unbroken(what):
        if len(data) > 4 * most or (len(data) > most and len(data.translate(None, _FOLLOWING)) > most):
            raise ValueError("too long a text")
        return data.decode()


def listed(data: bytes, what: str) -> list[Any]:
    """The list of objects that a task gave as JSON. Raises ToolError for anything else."""
    with unbroken(what):
        found = body(data)
        if not isinstance(found, list):
            raise ValueError("no list")
        return found


def count(found: Any, most: int) -> int:
    """A number that a task gave, from 0 to `most`. Raises ValueError for anything else."""
    if type(found) is not int or not 0 <= found <= most:
        raise ValueError("no such number")
    return found


@contextmanager
def unbroken(what: str) -> Iterator[None]:
    """Raises ToolError with a sentence where an answer is not what its task gives: a file may have taken it over."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError):  # what pydantic raises is a ValueError
        raise ToolError(f"{what} {TOO_MUCH}") from None


@dataclass(frozen=True)
class Protection:
    """What a confined process was refused. Limits on time, memory and output hold everywhere."""

    works: bool  # whether a task could be run at all
    writes: bool = False
    reads: bool = False
    network: bool = False
    programs: bool = False
    other_user: bool = False

    @property
    def complete(self) -> bool:
        return self.works and self.writes and self.reads and self.network and self.programs

    @property
    def sentence(self) -> str:
        if not self.works:
            return "no process can be confined on this host, so no file can be opened"
        if self.complete:
            return "in processes that can neither write, nor read other files, reach the network or start programs"
        tried = {
            "write to other folders": self.writes,
            "read other files": self.reads,
            "reach the network": self.network,
            "start programs": self.programs,
        }
        open_ways = ", ".join(what for what, refused in tried.items() if not refused)
        return f"in processes with limits on time and memory, but this host lets them {open_ways}"


def protection() -> Protection:
    """Try it in a process like those that open files."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        result = SANDBOX.call(Job("sandbox.probe", args={"folder": folder}, scratch=True))
    if result.stopped:
        return Protection(works=False)
    told = dict(result.told)
    user = told.pop("user", None)
    return Protection(works=True, other_user=user != os.getuid(), **{key: bool(told[key]) for key in told})
