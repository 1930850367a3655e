"""The process that forks a confined child for each call. It has loaded the libraries, and reads no file itself.

Run as `python -m servers.sandbox.fork_server DESCRIPTOR PACKAGE`, with a socket to the bot. An order on it is a head
in JSON with these descriptors: a pipe that says by its end that the call is over, the socket for the task and its
answer, and those that the task gets. When the socket ends, it ends as well and takes all children along.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from servers.sandbox import confinement, kernel
from servers.sandbox.confinement import NOBODY, Rights, confine
from servers.sandbox.protocol import Refused, exactly, head, head_size, packed

MOST_DESCRIPTORS = 16
MOST_SCRATCH = 256 << 20  # bytes in a scratch folder; a file counts as its blocks, one at least
MOST_FILES = 1_000  # in it: a page of a document is a file or two
_BLOCK = 4096
_LOOK = 0.1  # seconds between two looks at the scratch folders
_REMOVED = 200  # files of ended tasks that are removed before others are looked after again
_MOST_LEFT = 16  # folders of ended tasks: more are not put off, or tasks would fill the disk after their end
READY = b"R"  # said once the child is confined: its time runs from here
# Said in its place: there is no scratch folder, or no process, for a child now
NO_FOLDER, NO_PROCESS = b"F", b"P"
_AREA = re.compile(r"[a-z][a-z_]*")


@dataclass
class Child:
    """One call that is under way."""

    process: int
    over: int  # a pipe whose other end is held by the call
    scratch: str

    def end(self) -> None:
        """Kill all that the call started. What it wrote is cleared away later."""
        for kill in (os.killpg, os.kill):  # it may not have become a group of its own yet
            with suppress(ProcessLookupError):
                kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.over)

    @property
    def fills_the_disk(self) -> bool:
        return bool(self.scratch) and used(self.scratch) > MOST_SCRATCH


def used(folder: str) -> int:
    """The bytes of the files in a folder, as far as is needed to see that they are too many: more files than there may
    be count as more bytes than there may be."""
    total = 0
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            with suppress(FileNotFoundError):
                info = entry.stat(follow_symlinks=False)
                total += max(info.st_size, info.st_blocks * 512, _BLOCK)
            if total > MOST_SCRATCH or count >= MOST_FILES:
                return MOST_SCRATCH + 1
    return total


def cleared(folder: str) -> bool:
    """Remove some of what is in a folder, and the folder when nothing is left. Whether it is done with: also where
    nothing can be removed."""
    gone = 0
    with suppress(OSError), _opened(folder) as here:
        with os.scandir(here) as entries:
            for count, entry in enumerate(entries, 1):
                gone += _removed(here, entry)
                if count == _REMOVED:
                    return not gone
        os.rmdir(folder)
    return True


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield here
    finally:
        os.close(here)


def _removed(here: int, entry: os.DirEntry[str]) -> bool:
    """Whether it could be removed."""
    with suppress(OSError, RecursionError):
        if entry.is_dir(follow_symlinks=False):  # folders in folders, where the kernel does not refuse them
            shutil.rmtree(entry.name, dir_fd=here)
        else:
            os.unlink(entry.name, dir_fd=here)
        return True
    return False


@dataclass
class ForkServer:
    """The children of one bot, by the pipe that ends them."""

    orders: socket.socket
    package: str
    children: dict[int, Child] = field(default_factory=dict)
    left: deque[str] = field(default_factory=deque)  # folders of ended tasks, which hold something yet
    ended: set[int] = field(default_factory=set)  # groups of ended calls that may have a process left
    looked: float = 0.0  # when it last looked at the scratch folders

    def serve(self) -> None:
        """Until the bot is gone."""
        try:
            while self._step():
                pass
        finally:
            for over in [*self.children]:
                self._end(over)
            while self.left:
                self._clear()

    def _step(self) -> bool:
        """Whether the bot is still there. No step is long, whatever tasks write: they all wait for it."""
        poll = select.poll()
        poll.register(self.orders, select.POLLIN)
        for over in self.children:
            poll.register(over, 0)  # that its other end closed is told without being asked for
        told = poll.poll(self._patience())
        self.ended = {group for group in self.ended if not _gone(group)}
        for ready, _ in told:
            if ready in self.children:
                self._end(ready)
            else:
                try:
                    self._order()
                except (EOFError, ConnectionError):
                    return False
        if self._patience() == 0:
            self._look()
        return True

    def _patience(self) -> float | None:
        """For how many milliseconds there is nothing to do but to wait. None: until somebody says something."""
        if self.left:
            return 0
        if any(child.scratch for child in self.children.values()):
            return max(0.0, self.looked + _LOOK - time.monotonic()) * 1_000
        return _LOOK * 1_000 if self.ended else None  # what was killed may take a while to end

    def _look(self) -> None:
        """End the tasks that fill the disk, and clear some of what others left."""
        if time.monotonic() >= self.looked + _LOOK:
            for over in [over for over, child in self.children.items() if child.fills_the_disk]:
                self._end(over)
            self.looked = time.monotonic()
        if self.left:
            self._clear()

    def _end(self, over: int) -> None:
        child = self.children.pop(over)
        child.end()
        if not _gone(child.process):
            self.ended.add(child.process)
        if child.scratch:
            self.left.append(child.scratch)
        while len(self.left) > _MOST_LEFT:
            self._clear()

    def _clear(self) -> None:
        if not cleared(folder := self.left.popleft()):
            self.left.appendleft(folder)

    def _order(self) -> None:
        first, descriptors, _, _ = socket.recv_fds(self.orders, 8, MOST_DESCRIPTORS)
        first += exactly(self.orders.recv, 8 - len(first))
        order = head(exactly(self.orders.recv, head_size(first)))
        over, channel, *files = descriptors
        with suppress(Exception):  # a module that cannot be loaded fails in the child, where it is told
            importlib.import_module(module(self.package, order["task"]))
        scratch, missing = "", NO_FOLDER
        try:
            scratch = _scratch() if order.pop("scratch") else ""
            missing = NO_PROCESS
            self.children[over] = self._fork(order, over, (channel, files), scratch)
        except OSError:  # it ends this call alone: others are under way
            with suppress(OSError):
                os.write(channel, missing)
            self.left += [scratch] if scratch else []
            os.close(over)
        for one in (channel, *files):
            os.close(one)

    def _fork(self, order: dict[str, Any], over: int, held: tuple[int, list[int]], scratch: str) -> Child:
        me = os.getpid()
        if process := os.fork():
            return Child(process, over, scratch)
        work(self.package, order, (me, *held), scratch)


def _gone(group: int) -> bool:
    """Whether all that a killed call had started has ended. It takes in what came of each: those that nobody takes in
    count as processes of their user, who has a limit. Where it has adopted none there is nothing to wait for."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
        return False
    return True


def _scratch() -> str:
    folder = tempfile.mkdtemp(prefix="countersign-")
    if confinement.drops_user():
        os.chown(folder, NOBODY, NOBODY)
    return folder


def module(package: str, task: str) -> str:
    """The module of a task: `formats.text` is the function `text` in the TASKS of `servers.formats.tasks`."""
    area = task.partition(".")[0]
    if not _AREA.fullmatch(area):
        raise ValueError(f"no task: {task}")
    return f"{package}.{area}.tasks"


def work(package: str, order: dict[str, Any], held: tuple[int, int, list[int]], scratch: str) -> NoReturn:
    """All that a child does. `held`: the fork server's process, the socket of the call, the files of the task."""
    parent, channel, files = held
    try:
        os.setsid()
        _close_others({channel, *files})
        # Some libraries open by name only, and a descriptor has one. The rule is about the file, not about the name.
        reads = [*order["rights"]["reads"], *map(confinement.name_of, files)]
        confine(Rights(**{**order["rights"], "scratch": scratch, "reads": tuple(reads)}), parent)
        if scratch:
            os.chdir(scratch)
        os.write(channel, READY)
        answer = _answer(package, order["task"], channel, files)
        while answer:
            answer = answer[os.write(channel, answer) :]
    finally:
        os._exit(0)


def _close_others(kept: set[int]) -> None:
    start = 3  # the standard ones lead to /dev/null
    for one in sorted(kept):
        os.closerange(start, one)
        start = one + 1
    os.closerange(start, 1 << 16)


def _answer(package: str, task: str, channel: int, files: list[int]) -> bytes:
    """What the task gives, as bytes: `refused` for a sentence, `failed` for anything else that it raised."""

    def read(size: int) -> bytes:
        return os.read(channel, size)

    try:
        given = head(exactly(read, head_size(exactly(read, 8))))
        blobs = [exactly(read, size) for size in given["sizes"]]
        more = {"files": files} if files else {}
        do = importlib.import_module(module(package, task)).TASKS[task.partition(".")[2]]
        told, data = do(*blobs, **given["args"], **more)
        return packed({"told": told, "size": len(data)}, data)
    except Refused as refused:
        return packed({"refused": str(refused), "tables": [*refused.tables]})
    except BaseException as error:  # it goes to a log, and the file counts as one that cannot be opened
        return packed({"failed": f"{type(error).__name__}: {error}"[:500]})


def main() -> None:
    descriptor, package = sys.argv[1:]
    if sys.platform.startswith("linux"):
        kernel.adopt_orphans()
    gc.disable()  # so that children share what is loaded; each turns it on for itself
    ForkServer(socket.socket(fileno=int(descriptor)), package).serve()


if __name__ == "__main__":
    main()
