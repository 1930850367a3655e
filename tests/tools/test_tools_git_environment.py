"""Servers that call git run no program that a folder among files names to it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from gate.rules.diffs import differing_files
from tests.foreign.conftest import WHO, git
from tools.mcp.git_environment import COUNT, USUAL_NAMES, with_safe_git
from tools.mcp.server_config import ServerConfig
from tools.mcp.transport import Connector

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git on PATH")


def settings(env: Mapping[str, str]) -> dict[str, str]:
    return {env[f"GIT_CONFIG_KEY_{n}"]: env[f"GIT_CONFIG_VALUE_{n}"] for n in range(int(env[COUNT]))}


def test_an_operators_own_settings_are_kept_before_ours() -> None:
    own = {COUNT: "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "Ann", "TOKEN": "x"}
    made = with_safe_git(own, "server-git")
    assert own.items() <= (made | {COUNT: "1"}).items()
    assert settings(made) == {
        "user.name": "Ann",
        "safe.bareRepository": "explicit",
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        **USUAL_NAMES,
    }


@needs_git
@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.mnemonicPrefix"])
def test_a_difference_names_its_files_in_the_usual_way(tmp_path: Path, setting: str) -> None:
    """With `diff.noprefix`, `b/pay.csv` was taken for `pay.csv`, so that a rule on the folder did not hold."""
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", ".")
    git(tmp_path, "config", setting, "true")
    (tmp_path / "b").mkdir()
    for text in "12":
        (tmp_path / "b/pay.csv").write_text(text)
        git(tmp_path, "add", "--intent-to-add", "b/pay.csv")
    env = with_safe_git(os.environ, "server-git")
    told = subprocess.run(["git", "diff"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert differing_files(told.stdout) == ("b/pay.csv",)


def test_what_an_operator_has_set_is_not_set_again() -> None:
    own = {COUNT: "1", "GIT_CONFIG_KEY_0": "safe.barerepository", "GIT_CONFIG_VALUE_0": "all"}
    assert settings(with_safe_git(own, "")) == {"safe.barerepository": "all", "core.fsmonitor": "false"}


def test_what_git_does_not_count_is_set_all_the_same() -> None:
    own = {"GIT_CONFIG_KEY_0": "safe.bareRepository", "GIT_CONFIG_VALUE_0": "all"}
    assert settings(with_safe_git(own, ""))["safe.bareRepository"] == "explicit"


def test_a_count_that_git_refuses_is_left_to_it() -> None:
    assert with_safe_git({COUNT: "many"}, "server-git") == {COUNT: "many"}


def planted(folder: Path, mark: Path) -> Path:
    """A repository as plain files below a folder, whose configuration names a program."""
    folder.mkdir()
    other = folder.parent / "other"
    git(folder.parent, "init", "--quiet", "--initial-branch", "main", str(other))
    for text in "12":
        (other / "a.md").write_text(text)
        git(other, "add", "a.md")
        git(other, *WHO, "commit", "--quiet", "-m", text)
    place = folder / "vendor"
    git(folder.parent, "clone", "--quiet", "--bare", str(other), str(place))
    with (place / "config").open("a") as config:
        config.write(f'[diff]\n\texternal = "touch {mark}; true"\n')
    return place


def ran(folder: Path, env: Mapping[str, str], *command: str) -> None:
    subprocess.run(["git", *command], cwd=folder, env={**os.environ, **env}, capture_output=True, check=False)


@needs_git
@pytest.mark.parametrize("recipes", ["", "server-git"])
def test_git_takes_no_plain_files_for_a_repository(tmp_path: Path, recipes: str) -> None:
    mark = tmp_path / "ran"
    place = planted(tmp_path / "docs", mark)
    for env, executed in (({}, True), (with_safe_git({}, recipes), False)):
        ran(place, env, "diff", "--cached")
        assert mark.exists() is executed
        mark.unlink(missing_ok=True)


@needs_git
def test_a_status_runs_no_monitor_and_no_hook_of_a_repository(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    git(tmp_path, "init", "--quiet", "repo")
    repo = tmp_path / "repo"
    (repo / "a.md").write_text("1")
    git(repo, "add", "a.md")
    hook = repo / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    git(repo, "config", "core.fsmonitor", f"touch {mark}; true")
    for env, executed in (({}, True), (with_safe_git({}, "server-git"), False)):
        os.utime(repo / "a.md", (1, 1 + executed))  # so that the status writes the index
        ran(repo, env, "status")
        assert mark.exists() is executed
        mark.unlink(missing_ok=True)


async def test_the_process_of_a_server_has_these_settings(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = f"env > {told}"
    config = ServerConfig(name="x", command="sh", args=("-c", script), env={"A": "b"}, recipes="server-git")
    with pytest.raises(ExceptionGroup):  # it answers nothing
        async with Connector(config, tmp_path)("auto", None, lambda: None):  # type: ignore[arg-type]
            pass
    env = dict(line.split("=", 1) for line in told.read_text().splitlines() if "=" in line)
    assert env["A"] == "b"
    assert settings(env)["safe.bareRepository"] == "explicit"
