"""The repository itself: it names no machine and no registry, its lock is whole, its two commands are told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
NOT_OURS = {".git", ".venv", "var", "node_modules", "__pycache__", ".hypothesis"}
REGISTRY = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)|yarnpkg\.com|crates\.io")
MACHINE = re.compile(
    r"(?<![\w.])/(root|work)/|(?<![\w.])/(home|Users)/(?!ann/)\w+/|/opt/(wheels|pypi)|file:///(home|Users|root|work|opt|tmp)/"
)
LOCKED = re.compile(r"^(\S+)==(\S+)(?: ;.*?)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def files() -> Iterator[tuple[str, str]]:
    """Each text file that belongs to the project, with its path from the root."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in NOT_OURS and not name.endswith("_cache")]
        # In a git worktree, .git is a file that names the checkout it belongs to.
        for path in (Path(folder, name) for name in names if name not in NOT_OURS):
            try:
                yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
            except (UnicodeDecodeError, FileNotFoundError):  # an image, or another test's file
                continue


def lines_with(pattern: re.Pattern[str]) -> str:
    return "\n".join(
        f"{path}:{number} {line.strip()[:120]}"
        for path, text in files()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    )


LOCKS = ("run", "dev")


def locked(name: str) -> dict[str, str]:
    lock = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
    return {match[1].split("[")[0].lower(): match[2] for match in LOCKED.finditer(lock)}


def make(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    if program is None:
        pytest.skip("there is no make on PATH")
    environment = {"PATH": path, "MAKEFLAGS": ""}
    return subprocess.run(
        [program, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_no_file_names_a_package_registry() -> None:
    assert lines_with(REGISTRY) == ""


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    assert lines_with(MACHINE) == ""


@pytest.mark.parametrize("name", LOCKS)
def test_the_lock_names_no_address_and_hashes_everything(name: str) -> None:
    lock = (ROOT / f"requirements/{name}.txt").read_text("utf-8")
    assert "://" not in lock
    assert LOCKED.sub("", lock).strip() == ""


def test_the_locks_hold_what_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    runtime, development = project["dependencies"], project["optional-dependencies"]["dev"]
    missing = [
        f"{want} in {name}"
        for name, wanted in (("run", runtime), ("dev", [*runtime, *development]))
        for want in map(Requirement, wanted)
        if not want.specifier.contains(locked(name).get(want.name.lower(), "0"))
    ]
    assert missing == [], "run `make lock`"


def test_running_installs_nothing_that_only_the_tests_need() -> None:
    runtime, all_of_it = locked("run"), locked("dev")
    assert runtime.items() <= all_of_it.items()
    assert not {"pytest", "mypy", "ruff", "playwright", "hypothesis"} & runtime.keys()


def test_continuous_integration_runs_all_tests_and_requires_everything() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert script.read_text("utf-8").rstrip().endswith("\nexec make test SLOW=with")
    assert "CI=true REQUIRE_BROWSER=1 REQUIRE_POSTGRES=1" in script.read_text("utf-8")


def test_the_procfile_migrates_serves_and_works() -> None:
    processes = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text("utf-8").splitlines())
    assert processes == {
        "release": "python -m bot migrate",
        "web": "python -m bot web",
        "worker": "python -m bot worker",
    }


def test_the_readme_tells_the_two_commands() -> None:
    readme = ROOT / "README.md"
    if not readme.exists():
        pytest.skip("there is no README yet")
    text = readme.read_text("utf-8")
    assert {"make run", "make test"} <= set(re.findall(r"make \w+", text))
    assert len(text.splitlines()) <= 120


def test_the_tables_come_from_migrations() -> None:
    if not (ROOT / "storage").exists():
        pytest.skip("there is no storage yet")
    assert list((ROOT / "storage/migrations/versions").glob("*.py"))


def test_setup_without_a_new_enough_python_says_so(tmp_path: Path) -> None:
    done = make("setup", f"VENV={tmp_path}/venv", path=str(tmp_path))
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stdout


def test_setup_with_a_python_that_lacks_venv_says_what_to_install(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\n')
    python.chmod(0o755)
    done = make("setup", f"VENV={tmp_path}/venv", path=str(tmp_path))
    assert done.returncode != 0
    assert f"{python} is too old, or lacks venv" in done.stdout
    assert "apt-get install python3-venv" in done.stdout
