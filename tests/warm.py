"""Scripts that are run by a Python which has loaded the MCP SDK already: to load it takes most of a second of CPU.

A command (`warm_command.py`) stands for the script wherever a command is wanted. It has a child forked that runs the
script with its streams, in its folder, with its environment; it ends when the child ends, and the child when it does.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from typing import NoReturn

LOADED = ("anyio._backends._asyncio", "mcp.server.mcpserver.resolve", "mcp.server.stdio", "uvicorn")
COMMAND = Path(__file__).with_name("warm_command.py")


def warm(script: Path, *words: str) -> tuple[str, ...]:
    """What to give to `sys.executable`, so that it runs this script."""
    return ("-I", "-S", str(COMMAND), _forker(), str(script), *words)


@cache
def _forker() -> str:
    """The address of a process that forks such children. It ends with this one."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    address = str(Path(folder.name, "s"))
    process = subprocess.Popen(
        [sys.executable, "-P", __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    lifeline, answer = process.stdin, process.stdout

    def stop() -> None:
        lifeline.close()
        answer.close()
        process.wait()
        folder.cleanup()

    atexit.register(stop)
    assert answer.readline() == b"ready\n"
    return address


class Forker:
    """Forks a child for each connection. A child is killed when its connection ends, and all when standard input does."""

    def __init__(self, address: str) -> None:
        self.children: dict[socket.socket, int] = {}
        self.listener = socket.create_server(address, family=socket.AF_UNIX)
        self.ended, told = os.pipe()
        os.set_blocking(told, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(told)

    def serve(self) -> None:
        while True:
            ready, _, _ = select.select([0, self.ended, *self.children, self.listener], [], [])
            for line in [one for one in self.children if one in ready]:
                self._end(line)
            if self.ended in ready:
                os.read(self.ended, 100)
                self._tell()
            if 0 in ready:
                for line in [*self.children]:
                    self._end(line)
                return
            if self.listener in ready:
                line, _ = self.listener.accept()
                self.children[line] = self._fork(line)

    def _end(self, line: socket.socket) -> None:
        child = self.children.pop(line)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        line.close()

    def _tell(self) -> None:
        """Tell the commands of those that have ended their exit codes."""
        for line, child in [*self.children.items()]:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                del self.children[line]
                code = os.waitstatus_to_exitcode(status)
                with line:
                    line.send(bytes([code if code >= 0 else 128 - code]))

    def _fork(self, line: socket.socket) -> int:
        order, streams, _, _ = socket.recv_fds(line, 1 << 20, 3)
        while order and len(order) < 4 + int.from_bytes(order[:4], "big"):
            order += line.recv(1 << 20)
        child = os.fork()
        if not child:
            self.listener.close()
            for one in (line, *self.children):
                one.close()
            _run(os.fsdecode(order[4:]).split("\0"), streams)
        for stream in streams:
            os.close(stream)
        return child


def _run(said: list[str], streams: list[int]) -> NoReturn:
    """All that a child does."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file, stream in enumerate(streams):
            os.dup2(stream, file)
            os.close(stream)
        os.chdir(said[0])
        words, variables = said[2 : 2 + int(said[1])], said[2 + int(said[1]) :]
        os.environ.clear()
        os.environ.update(one.split("=", 1) for one in variables)
        sys.argv[:] = words
        sys.path.insert(0, str(Path(words[0]).parent))
        gc.enable()
        runpy.run_path(words[0], run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1 if end.code else 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    forker = Forker(sys.argv[1])
    print("ready", flush=True)  # noqa: T201
    forker.serve()
