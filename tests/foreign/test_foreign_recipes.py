"""The kept schemas and the reviewed recipes are those of the real packages: nothing in them is from memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gate.rules.tool import Trust
from tests.foreign.conftest import NODE, START
from tests.foreign.install import atlassian_server, git_server, npm_servers, sqlite_server
from tests.tools.mcp_hosts import hosting
from tools.mcp.server_config import ServerConfig
from tools.recipes.check import load_recorded_schemas, schema_file_text, schemas_of
from tools.recipes.reader import load_recipes

pytestmark = [pytest.mark.node, pytest.mark.slow]
FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
JIRA = {"JIRA_URL": "http://127.0.0.1:9", "JIRA_USERNAME": "a@example.com", "JIRA_API_TOKEN": "token"}
Started = tuple[str, list[str], dict[str, str]]


def node(package: str, script: str, *args: str, **env: str) -> Started:
    return NODE, [str(npm_servers() / package / script), *args], env


REAL: dict[str, Callable[[Path], Started]] = {
    "server-filesystem": lambda home: node(
        "@modelcontextprotocol/server-filesystem", "dist/index.js", str(home)
    ),
    "server-memory": lambda home: node("@modelcontextprotocol/server-memory", "dist/index.js"),
    "server-github": lambda home: node("@modelcontextprotocol/server-github", "dist/index.js"),
    "notion-mcp-server": lambda home: node(
        "@notionhq/notion-mcp-server", "bin/cli.mjs", NOTION_TOKEN="token"
    ),
    "server-git": lambda home: (str(git_server()), ["-m", "mcp_server_git"], {}),
    "server-sqlite": lambda home: (
        str(sqlite_server()),
        ["-c", "from mcp_server_sqlite import main; main()", "--db-path", str(home / "a.db")],
        {},
    ),
    "mcp-atlassian": lambda home: (str(atlassian_server()), ["-c", START], JIRA),
}


def test_every_server_that_can_be_installed_is_asked() -> None:
    assert load_recipes(FOLDER).keys() - REAL.keys() == {"github-mcp-server"}  # Go: not from npm or PyPI


@pytest.mark.soak  # installs seven packages; the kept schemas are checked in every run
@pytest.mark.parametrize("name", REAL)
async def test_the_real_server_is_as_it_was_kept_and_its_recipes_fit(name: str, tmp_path: Path) -> None:
    command, args, env = REAL[name](tmp_path)
    config = ServerConfig(
        name="it", command=command, args=tuple(args), env=env, trust=Trust.REVIEWED, recipes=name
    )
    async with hosting(tmp_path / "logs", config, wait=90, recipes=load_recipes(FOLDER)) as host:
        assert [status.state for status in host.servers()] == ["ready"]
        assert [text for text in host.problems_found if "no operator has read" not in text] == []
        known = load_recorded_schemas(FOLDER)[name]
        live = schema_file_text(
            known.source, host.reported_name("it"), schemas_of({s.name: s for s in host.specs()})
        )
        assert live == (FOLDER / "schemas" / f"{name}.json").read_text("utf-8")
