"""Servers that this project did not write, from their registries: pinned, hashed, kept between runs."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.services import unavailable

HERE = Path(__file__).parent
KEPT = Path.home() / ".cache" / "countersign-tests"
SECONDS = 300
REQUIRED = "REQUIRE_FOREIGN"  # set to 1: what cannot be installed fails


def npm_servers() -> Path:
    """The folder `node_modules` with the npm packages of package.json. Skips where there is no node or no registry."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        unavailable("there is no node and npm on PATH, which these servers are written for", REQUIRED)
    locked = (HERE / "package.json", HERE / "package-lock.json")

    def install(home: Path) -> None:
        for path in locked:
            shutil.copy(path, home)
        _run(
            "the npm registry",
            [npm, "ci", "--prefix", str(home), "--no-audit", "--no-fund", "--ignore-scripts"],
        )

    return _kept("npm", locked, install) / "node_modules"


def git_server() -> Path:
    """A Python with mcp-server-git, in a venv of its own: its needs are not ours. Skips without a registry or git."""
    if shutil.which("git") is None:
        unavailable("there is no git on PATH, which mcp-server-git calls", REQUIRED)
    return _python("git", HERE / "server-git.txt")


def atlassian_server() -> Path:
    """A Python with mcp-atlassian (200 MB). Skips without a registry."""
    return _python("atlassian", HERE / "mcp-atlassian.txt")


def sqlite_server() -> Path:
    """A Python with mcp-server-sqlite and the older mcp that it needs. Skips without a registry."""
    return _python("sqlite", HERE / "server-sqlite.txt")


def _python(name: str, lock: Path) -> Path:
    """A venv with what a lock names, and nothing else."""

    def install(home: Path) -> None:
        # Without a pip of its own, and compiled when it is imported: most of what is installed never is.
        _run("Python's venv module", [sys.executable, "-m", "venv", "--without-pip", str(home)])
        python = str(home / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
        # The lock names all that is needed. Asked to look for it, pip takes a later release of what is locked with an
        # extra for another requirement, and refuses that.
        safely = ["--disable-pip-version-check", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
        _run("the Python registry", [*pip, *safely, "-r", str(lock)])

    return _kept(name, (lock,), install) / "bin" / "python"


def _kept(name: str, locked: Sequence[Path], install: Callable[[Path], None]) -> Path:
    """What was installed from these very files before, else now; whole or not at all, whoever else is at it."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in locked) + sys.version.encode()).hexdigest()
    home = KEPT / f"{name}-{digest[:16]}"
    if (home / "whole").exists():
        return home
    KEPT.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=KEPT))
    try:
        install(draft)
        (draft / "whole").touch()
        draft.rename(home)
    except OSError:  # another test process was first
        if not (home / "whole").exists():
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return home


def _run(what: str, command: Sequence[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        unavailable(f"{what} did not answer within {SECONDS} s", REQUIRED)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        unavailable(f"the server could not be installed from {what}: {' '.join(last)[:300]}", REQUIRED)
