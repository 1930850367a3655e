"""One house per foreign server, with its recipes and its tools reviewed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.tool import Pin, Trust
from tests.foreign.install import atlassian_server, git_server, npm_servers
from tests.foreign.rest_fake import Rest, github, jira, serving
from tests.product import Product, running_product
from tools.mcp.server_config import ServerConfig

NODE = shutil.which("node") or "node"
START = "from mcp_atlassian import main; main()"  # it has no __main__, and its script names the venv's first place
WHO = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]


async def read_by_ann(product: Product, server: str) -> None:
    """Ann reviews every tool of this server, as `python -m bot tools review` would have it."""
    host = product.parts.host
    book = host._options.pins
    now = datetime.now(UTC)
    read = [Pin(spec.server, spec.name, spec.definition, "ann", now) for spec in host.specs()]
    await book._pins.review(read, product.parts.world.ledger._chain.key)
    await host.refresh(server)
    assert not any(spec.unread for spec in host.specs())


def reviewed(name: str, command: str, *args: str, **env: str) -> ServerConfig:
    return ServerConfig(
        name=name, command=command, args=args, env=env, trust=Trust.REVIEWED, recipes=f"server-{name}"
    )


@pytest.fixture
async def files_product(tmp_path: Path) -> AsyncIterator[tuple[Product, Path]]:
    """@modelcontextprotocol/server-filesystem over a folder with two notes."""
    script = npm_servers() / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "old.md").write_text("one\ntwo\n")
    server = ServerConfig(
        name="disk", command=NODE, args=(str(script), str(folder)), trust=Trust.REVIEWED,
        recipes="server-filesystem",
    )  # fmt: skip
    async with running_product(tmp_path / "home", servers=[server]) as product:
        await read_by_ann(product, server.name)
        yield product, folder


@pytest.fixture
async def memory_product(tmp_path: Path) -> AsyncIterator[tuple[Product, Path]]:
    """@modelcontextprotocol/server-memory with its memory in a file."""
    script = npm_servers() / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    memory = tmp_path / "memory.jsonl"
    server = reviewed("memory", NODE, str(script), MEMORY_FILE_PATH=str(memory))
    async with running_product(tmp_path / "home", servers=[server]) as product:
        await read_by_ann(product, server.name)
        yield product, memory


@pytest.fixture
async def git_product(tmp_path: Path) -> AsyncIterator[tuple[Product, Path]]:
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
    async with running_product(tmp_path / "home", servers=[server]) as product:
        await read_by_ann(product, server.name)
        yield product, repo


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def atlassian(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Product, Rest]]:
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
        async with running_product(tmp_path_factory.mktemp("atlassian"), servers=[server]) as product:
            await product.ws.wait_for(lambda: product.parts.host.find("jira", "jira_get_issue"), 90)
            await read_by_ann(product, "jira")
            yield product, rest


@pytest.fixture
def jira_product(atlassian: tuple[Product, Rest]) -> tuple[Product, Rest]:
    """The same house with a Jira as it was at the start."""
    product, rest = atlassian
    rest.calls.clear()
    rest.state = jira().state
    return product, rest


@pytest.fixture
async def github_product(tmp_path: Path) -> AsyncIterator[tuple[Product, Rest]]:
    """@modelcontextprotocol/server-github against a local GitHub."""
    script = npm_servers() / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    async with serving(github()) as rest:
        env = {"GITHUB_PERSONAL_ACCESS_TOKEN": "token", "LOCAL_API": rest.url}
        local = Path(__file__).with_name("to_local.mjs").as_uri()
        server = reviewed("github", NODE, "--import", local, str(script), **env)
        async with running_product(tmp_path / "home", servers=[server]) as product:
            await read_by_ann(product, server.name)
            yield product, rest


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
