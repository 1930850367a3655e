"""The recipe of GitHub's own server, over answers of the form that its source code gives."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import BlobResourceContents, EmbeddedResource, TextContent, TextResourceContents

from gate.rules.always_gated import ALWAYS
from gate.rules.policy import Policy
from gate.rules.tool import Trust
from tests.servers.gate_around_server import Gate
from tests.tools.mcp_hosts import hosting
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import load_recipes

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
README = {"owner": "acme", "repo": "app", "path": "README.md", "message": "Say three", "branch": "main"}
Content = list[TextContent | EmbeddedResource]


def sha(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def github(files: dict[str, str | bytes], written: list[dict[str, Any]]) -> MCPServer:
    app = MCPServer("github-mcp-server")

    @app.tool(structured_output=False)
    def get_file_contents(owner: str, repo: str, path: str = "/", ref: str = "") -> Content:
        held = files.get(path)
        if held is None:
            raise ToolError("failed to get file contents: 404 Not Found")
        uri = f"repo://{owner}/{repo}/{ref}/contents/{path}"
        if isinstance(held, bytes):
            blob = BlobResourceContents(uri=uri, blob=held.hex(), mime_type="image/png")
            told = f"successfully downloaded binary file (SHA: {'0' * 40})"
            return [TextContent(text=told), EmbeddedResource(resource=blob)]
        text = TextResourceContents(uri=uri, text=held, mime_type="text/plain; charset=utf-8")
        told = f"successfully downloaded text file (SHA: {sha(held)})"
        return [TextContent(text=told), EmbeddedResource(resource=text)]

    @app.tool(structured_output=False)
    def create_or_update_file(
        owner: str, repo: str, path: str, content: str, message: str, branch: str, sha: str = ""
    ) -> str:
        written.append({"path": path, "content": content, "sha": sha})
        return "{}"

    return app


@asynccontextmanager
async def gated(logs: Path, app: MCPServer) -> AsyncIterator[Gate]:
    config = ServerConfig(name="github", inproc="x", recipes="github-mcp-server", trust=Trust.BUNDLED)
    async with hosting(logs, config, inproc={"github": app}, recipes=load_recipes(FOLDER)) as host:
        yield Gate(host, "github")


async def test_a_changed_file_is_shown_as_a_difference_and_exactly_that_state_is_replaced(
    tmp_path: Path,
) -> None:
    written: list[dict[str, Any]] = []
    async with gated(tmp_path, github({"README.md": "one\ntwo\n"}, written)) as gate:
        seen = await gate.look("create_or_update_file", **README, content="one\nthree\n")
    assert seen.preview.problem == ""
    assert "-two" in seen.preview.diff
    assert "+three" in seen.preview.diff
    assert "SHA" not in seen.preview.diff
    assert seen.args["sha"] == sha("one\ntwo\n")


async def test_a_new_file_is_shown_whole_and_names_no_state(tmp_path: Path) -> None:
    async with gated(tmp_path, github({}, [])) as gate:
        seen = await gate.look("create_or_update_file", **README, content="hello\n")
    assert seen.preview.problem == ""
    assert "hello\n" in [fact.value for fact in seen.preview.facts]
    assert "sha" not in seen.args


@pytest.mark.parametrize("held", [b"\x89PNG", "successfully downloaded"])
async def test_a_file_of_bytes_is_not_confirmed_blind(tmp_path: Path, held: str | bytes) -> None:
    async with gated(tmp_path, github({"README.md": held}, [])) as gate:
        seen = await gate.look("create_or_update_file", **README, content="hello\n")
    assert bool(seen.preview.problem) is isinstance(held, bytes)


@pytest.mark.parametrize("path", [".env", ".e\tnv"])
async def test_a_card_shows_nothing_of_a_secret_file_however_its_path_is_written(
    tmp_path: Path, path: str
) -> None:
    async with gated(tmp_path, github({path: "TOKEN=hush\n"}, [])) as gate:
        cast(Any, gate.world).policy = Policy("p", rules=ALWAYS)
        seen = await gate.look("create_or_update_file", **{**README, "path": path}, content="hello\n")
    assert "hush" not in str(seen.preview)
