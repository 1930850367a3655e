"""One house per foreign server, with its recipes and its tools reviewed; what it works on is as new for each test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.ports import Limits
from gate.rules.tool import Pin, Trust
from tests.foreign.install import atlassian_server, git_server, npm_servers
from tests.foreign.rest_fake import Rest, github, jira, serving
from tests.product import Product, running_product
from tools.mcp.server_config import ServerConfig

NODE = shutil.which("node") or "node"
START = "from mcp_atlassian import main; main()"  # it has no __main__, and its script names the venv's first place
MANY = Limits(pending_per_user=100)  # actions that wait: tests leave theirs to the next
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


@asynccontextmanager
async def _house(home: Path, server: ServerConfig, rules: str = "[]") -> AsyncIterator[Product]:
    """A house with this server, whose tools Ann has read."""
    policy = f"version: 1\nservers:\n  {server.name}: {{trust: reviewed}}\nrules: {rules}\n"
    async with running_product(home, limits=MANY, servers=[server], policy=policy) as product:
        await read_by_ann(product, server.name)
        yield product


House = tuple[Product, Path]  # and what its server works on


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def files_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    script = npm_servers() / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    home = tmp_path_factory.mktemp("files")
    folder = home / "shared"
    folder.mkdir()
    server = replace(reviewed("disk", NODE, str(script), str(folder)), recipes="server-filesystem")
    kept = f'[{{name: personnel, tools: ["disk.*"], deny: true, text: "^{folder}/team/hr/"}}]'
    async with _house(home / "home", server, kept) as product:
        yield product, folder


@pytest.fixture
def files_product(files_house: House) -> House:
    """@modelcontextprotocol/server-filesystem over a folder with one file."""
    product, folder = files_house
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    (folder / "old.md").write_text("one\ntwo\n")
    return product, folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    script = npm_servers() / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    home = tmp_path_factory.mktemp("memory")
    memory = home / "memory.jsonl"
    server = reviewed("memory", NODE, str(script), MEMORY_FILE_PATH=str(memory))
    kept = '[{name: pay, tools: ["memory.*"], deny: true, text: "salary"}]'
    async with _house(home / "home", server, kept) as product:
        yield product, memory


@pytest.fixture
def memory_product(memory_house: House) -> House:
    """@modelcontextprotocol/server-memory with its memory, of nothing yet, in a file: it reads that for each call."""
    product, memory = memory_house
    memory.unlink(missing_ok=True)
    return product, memory


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def git_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    python, home = git_server(), tmp_path_factory.mktemp("git")
    repo = _repository(home / "repo")
    server = reviewed("git", str(python), "-m", "mcp_server_git", "--repository", str(repo))
    async with _house(home / "home", server) as product:
        yield product, repo


@pytest.fixture
def git_product(git_house: House) -> House:
    """mcp-server-git over a repository with one commit and one changed file."""
    product, repo = git_house
    shutil.rmtree(repo)
    return product, _repository(repo)


def _repository(repo: Path) -> Path:
    git(repo.parent, "init", "--quiet", "--initial-branch", "main", str(repo))
    (repo / "a.md").write_text("one\n")
    git(repo, "add", "a.md")
    git(repo, *WHO, "commit", "--quiet", "-m", "first")
    git(repo, "config", "user.name", "Ann")
    git(repo, "config", "user.email", "ann@example.com")
    (repo / "a.md").write_text("two\n")
    return repo


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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def github_house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Product, Rest]]:
    script = npm_servers() / "@modelcontextprotocol" / "server-github" / "dist" / "index.js"
    async with serving(github()) as rest:
        env = {"GITHUB_PERSONAL_ACCESS_TOKEN": "token", "LOCAL_API": rest.url}
        local = Path(__file__).with_name("to_local.mjs").as_uri()
        server = reviewed("github", NODE, "--import", local, str(script), **env)
        async with _house(tmp_path_factory.mktemp("github"), server) as product:
            yield product, rest


@pytest.fixture
def github_product(github_house: tuple[Product, Rest]) -> tuple[Product, Rest]:
    """@modelcontextprotocol/server-github against a local GitHub as it was at the start."""
    product, rest = github_house
    rest.calls.clear()
    rest.state = github().state
    return product, rest


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout
