"""`recipes new` and `recipes test`: what they print, and every misfit as a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.cli.main import main

Run = Callable[..., tuple[int, str, str]]
WORD = {"class": "read", "summary": "Read {args.path}", "verb": "Read", "notifies": "nobody"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place with the filesystem server configured as if it were somebody else's, and a folder for recipes."""
    for name in ("DATABASE_URL", "COUNTERSIGN_CONFIG", "COUNTERSIGN_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "shared").mkdir()
    (tmp_path / "recipes").mkdir()
    server = {"inproc": "servers.filesystem:server", "args": [str(tmp_path / "shared")], "trust": "declared"}
    configured(tmp_path, files=server)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configured(home: Path, **servers: dict[str, Any]) -> None:
    (home / "countersign.yaml").write_text(json.dumps({"mcpServers": servers, "recipes": "recipes"}))


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def carried_out(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        said = capsys.readouterr()
        return code, said.out, said.err

    return carried_out


def test_a_draft_can_be_saved_and_is_not_ready(run: Run, home: Path) -> None:
    code, draft, told = run("recipes", "new", "files")
    assert code == 0
    assert "read it, and set `recipes: NAME`" in told
    read = yaml.safe_load(draft)
    assert (read["draft"], read["tools"]["read_file"]["class"]) == (True, "unknown")
    (home / "recipes" / "mine.yaml").write_text(draft)
    (home / "recipes" / "schemas").mkdir()
    (home / "recipes" / "schemas" / "mine.json").write_text(run("recipes", "new", "files", "--schemas")[1])
    code, said, _ = run("recipes", "test")
    assert code == 1
    assert "MEND mine: It is a draft and not used" in said
    assert "MEND mine: read_file: a word REVIEW is left" in said


def test_recipes_are_checked_against_the_live_server(run: Run, home: Path) -> None:
    config = json.loads((home / "countersign.yaml").read_text())["mcpServers"]["files"]
    configured(home, files={**config, "recipes": "mine"})
    recipes = {"read_file": WORD, "list_dir": {**WORD, "summary": "List {args.pth}"}, "gone": WORD}
    (home / "recipes" / "mine.yaml").write_text(json.dumps({"server": "*", "tools": recipes}))
    code, said, _ = run("recipes", "test")
    assert code == 1
    assert "MEND mine: list_dir: `summary` names {args.pth}, which is no parameter of the tool." in said
    assert "MEND mine: gone: the server has no such tool." in said
    assert "note mine: write_file has no recipe" in said
    assert said.endswith("To mend: 2.\n")


def test_recipes_that_nothing_is_known_of_are_told(run: Run, home: Path) -> None:
    (home / "recipes" / "mine.yaml").write_text(json.dumps({"server": "s", "tools": {}}))
    code, said, _ = run("recipes", "test")
    assert code == 1
    assert "MEND mine: There is nothing to check it against: configure a server" in said


def test_recipes_that_a_server_names_and_are_not_there_are_told(run: Run, home: Path) -> None:
    config = json.loads((home / "countersign.yaml").read_text())["mcpServers"]["files"]
    configured(home, files={**config, "recipes": "lost"})
    code, said, _ = run("recipes", "test")
    assert code == 1
    assert "MEND lost: a server names these recipes, and there is no such file" in said


def test_a_server_that_is_not_there_is_told(run: Run, home: Path) -> None:
    assert "There is no server “x” in the configuration" in run("recipes", "new", "x")[2]
    configured(home, dead={"command": "/nonexistent"})
    code, _, told = run("recipes", "new", "dead")
    assert code == 1
    assert "dead is not ready" in told


def test_the_recipes_that_come_along_all_fit(run: Run, home: Path) -> None:
    (home / "countersign.yaml").write_text("{}")
    code, said, _ = run("recipes", "test")
    assert (code, said.splitlines()[-1]) == (0, "Every recipe fits.")
    assert "63 recipes fit mcp-atlassian 0.23.1" in said
