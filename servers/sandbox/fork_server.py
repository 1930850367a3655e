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
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NoReturn

from servers.sandbox import confinement
from servers.sandbox.confinement import NOBODY, Rights, confine
from servers.sandbox.protocol import Refused, exactly, head, head_size, packed

MOST_DESCRIPTORS = 16
MOST_SCRATCH = 256 << 20  # bytes in a scratch folder; a file counts as its blocks, one at least
_BLOCK = 4096
_LOOK = 100  # milliseconds between two looks at the scratch folders
READY = b"R"  # said once the child is confined: its time runs from here
_AREA = re.compile(r"[a-z][a-z_]*")


@dataclass
class Child:
    """One call that is under way."""

    process: int
    over: int  # a pipe whose other end is held by the call
    scratch: str

    def end(self) -> None:
        """Kill all that the call started, and clear away what it wrote."""
        for kill in (os.killpg, os.kill):  # it may not have become a group of its own yet
            with suppress(ProcessLookupError):
                kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.over)
        if self.scratch:
            with suppress(RecursionError):  # folders in folders, where the kernel does not refuse them
                shutil.rmtree(self.scratch, ignore_errors=True)

    @property
    def fills_the_disk(self) -> bool:
        return bool(self.scratch) and used(self.scratch) > MOST_SCRATCH


def used(folder: str) -> int:
    """The bytes of the files in a folder, as far as is needed to see that they are too many."""
    total = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                info = entry.stat(follow_symlinks=False)
                total += max(info.st_size, info.st_blocks * 512, _BLOCK)
            if total > MOST_SCRATCH:
                break
    return total


@dataclass
class ForkServer:
    """The children of one bot, by the pipe that ends them."""

    orders: socket.socket
    package: str
    children: dict[int, Child] = field(default_factory=dict)

    def serve(self) -> None:
        """Until the bot is gone."""
        try:
            while self._step():
                pass
        finally:
            for child in self.children.values():
                child.end()

    def _step(self) -> bool:
        poll = select.poll()
        poll.register(self.orders, select.POLLIN)
        for over in self.children:
            poll.register(over, 0)  # that its other end closed is told without being asked for
        writes = any(child.scratch for child in self.children.values())
        for ready, _ in poll.poll(_LOOK if writes else None):
            if ready in self.children:
                self.children.pop(ready).end()
            else:
                try:
                    self._order()
                except (EOFError, ConnectionError):
                    return False
        for over in [over for over, child in self.children.items() if child.fills_the_disk]:
            self.children.pop(over).end()
        return True

    def _order(self) -> None:
        first, descriptors, _, _ = socket.recv_fds(self.orders, 8, MOST_DESCRIPTORS)
        first += exactly(self.orders.recv, 8 - len(first))
        order = head(exactly(self.orders.recv, head_size(first)))
        over, channel, *files = descriptors
        with suppress(Exception):  # a module that cannot be loaded fails in the child, where it is told
            importlib.import_module(module(self.package, order["task"]))
        child = self._fork(order, over, channel, files)
        for one in (channel, *files):
            os.close(one)
        self.children[over] = child

    def _fork(self, order: dict[str, Any], over: int, channel: int, files: list[int]) -> Child:
        scratch = _scratch() if order.pop("scratch") else ""
        me = os.getpid()
        if process := os.fork():
            return Child(process, over, scratch)
        work(self.package, order, (me, channel, files), scratch)


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
        return packed({"told": told}, data)
    except Refused as refused:
        return packed({"refused": str(refused)})
    except BaseException as error:  # it goes to a log, and the file counts as one that cannot be opened
        return packed({"failed": f"{type(error).__name__}: {error}"[:500]})


def main() -> None:
    descriptor, package = sys.argv[1:]
    gc.disable()  # so that children share what is loaded; each turns it on for itself
    ForkServer(socket.socket(fileno=int(descriptor)), package).serve()


if __name__ == "__main__":
    main()
