"""One house per foreign server, with its recipes and its tools reviewed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gate.tool import Trust
from tests.foreign.install import atlassian_server, git_server, npm_servers
from tests.foreign.rest_fake import Rest, github, jira, serving
from tests.whole import Whole, whole
from tools.servers import ServerConfig

NODE = shutil.which("node") or "node"
START = "from mcp_atlassian import main; main()"  # it has no __main__, and its script names the venv's first place
WHO = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]


def reviewed(name: str, command: str, *args: str, **env: str) -> ServerConfig:
    return ServerConfig(
        name=name, command=command, args=args, env=env, trust=Trust.REVIEWED, recipes=f"server-{name}"
    )


@pytest.fixture
async def files_house(tmp_path: Path) -> AsyncIterator[tuple[Whole, Path]]:
    """@modelcontextprotocol/server-filesystem over a folder with two notes."""
    script = npm_servers() / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "old.md").write_text("one\ntwo\n")
    server = ServerConfig(
        name="disk", command=NODE, args=(str(script), str(folder)), trust=Trust.REVIEWED,
        recipes="server-filesystem",
    )  # fmt: skip
    async with whole(tmp_path / "home", servers=[server]) as house:
        yield house, folder


@pytest.fixture
async def memory_house(tmp_path: Path) -> AsyncIterator[tuple[Whole, Path]]:
    """@modelcontextprotocol/server-memory with its memory in a file."""
    script = npm_servers() / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    memory = tmp_path / "memory.jsonl"
    server = reviewed("memory", NODE, str(script), MEMORY_FILE_PATH=str(memory))
    async with whole(tmp_path / "home", servers=[server]) as house:
        yield house, memory


@pytest.fixture
async def git_house(tmp_path: Path) -> AsyncIterator[tuple[Whole, Path]]:
    """mcp-server-git over a repository with one commit and one changed file."""
    python, repo = git_server(), tmp_path / "repo"
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(repo))
    (repo / "a.md").write_text("one\n")
    git(repo, "add", "a.md")
    git(repo, *WHO, "commit", "--quiet", "-m", "first")
    git(repo, "config", "user.name", "Ann")
    git(repo, "config", "user.email", "ann@example.com")
    (repo / "a.md").write_text("two\n")
    server = reviewed("git", str(python), "-m", "mcp_server_git", "--repository", str(repo))
    async with whole(tmp_path / "home", servers=[server]) as house:
        yield house, repo


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def atlassian(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Whole, Rest]]:
    """mcp-atlassian against a local Jira Cloud: its address is one of Atlassian's, reached through a local proxy.

    It takes its time to start, so it is started once.
    """
    python = atlassian_server()
    async with serving(jira()) as rest:
        env = {
            "JIRA_URL": "http://example.atlassian.net",
            "JIRA_HTTP_PROXY": rest.url,
            "JIRA_USERNAME": "bot@example.com",
            "JIRA_API_TOKEN": "token",
        }
        server = ServerConfig(
            name="jira", command=str(python), args=("-c", START), env=env, trust=Trust.REVIEWED,
            recipes="mcp-atlassian",
        )  # fmt: skip
        async with whole(tmp_path_factory.mktemp("atlassian"), servers=[server]) as house:
            await house.ws.wait_for(lambda: house.parts.host.find("jira", "jira_get_issue"), 90)
            yield house, rest


@pytest.fixture
def jira_house(atlassian: tuple[Whole, Rest]) -> tuple[Whole, Rest]:
    """The same house with a Jira as it was at the start."""
    house, rest = atlassian
    rest.calls.clear()
    rest.state = jira().state
    return house, rest


@pytest.fixture
async def github_house(tmp_path: Path) -> AsyncIterator[tuple[Whole, Rest]]:
    """@modelcontextprotocol/server-github against a local GitHub."""
    script = npm_servers() / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    async with serving(github()) as rest:
        env = {"GITHUB_PERSONAL_ACCESS_TOKEN": "token", "LOCAL_API": rest.url}
        local = Path(__file__).with_name("to_local.mjs").as_uri()
        server = reviewed("github", NODE, "--import", local, str(script), **env)
        async with whole(tmp_path / "home", servers=[server]) as house:
            yield house, rest


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
