"""What is known of a server's tools: both eras, hints, trust, pins, and definitions that change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations

from gate.action import Class
from gate.tool import Hints, Trust
from tests.tools.hosts import hosting, raw, until
from tools.catalogue import META, catalogue_pin
from tools.servers import ServerConfig


def small_server() -> MCPServer:
    """One tool with everything said about it, one with nothing, and one that adds a third."""
    server = MCPServer("small", version="1")
    recipe = {"class": "write", "summary": "Greet {args.name}", "verb": "Greet"}
    said = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )

    @server.tool(title="Greet somebody", annotations=said, meta={META: recipe})
    def greet(name: str) -> str:
        """Says hello."""
        return f"Hello {name}"

    @server.tool()
    def plain() -> str:
        return "plain"

    @server.tool()
    async def grow(ctx: Context) -> str:
        server.add_tool(lambda: "new", name="grown")
        await ctx.notify_tools_changed()
        return "grown"

    return server


def inproc(trust: Trust = Trust.BUNDLED, mode: str = "auto", **more: Any) -> ServerConfig:
    return ServerConfig(name="small", inproc="x", trust=trust, mode=mode, **more)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_tool_is_known_with_all_that_it_says(mode: str, tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(mode=mode), inproc={"small": small_server()}) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.title, greet.description) == ("Greet somebody", "Says hello.")
        assert greet.hints == Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
        assert greet.schema["required"] == ["name"]
        assert greet.recipe.cls is Class.WRITE
        assert greet.recipe.summary == "Greet {args.name}"
        answer = await host.call("small", "greet", b'{"name":"Ann"}', 5)
        assert (answer.text, answer.structured) == ("Hello Ann", {"result": "Hello Ann"})
        assert host.find("small", "nothing") is None
        assert host.problems_found == []


async def test_both_eras_give_the_same_definitions(tmp_path: Path) -> None:
    found = []
    for mode in ("auto", "legacy"):
        async with hosting(tmp_path, inproc(mode=mode), inproc={"small": small_server()}) as host:
            found.append([spec.definition for spec in host.specs()])
    assert found[0] == found[1]


async def test_a_new_tool_appears_when_a_modern_server_says_so(tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(), inproc={"small": small_server()}) as host:
        await host.call("small", "grow", b"{}", 5)
        await until(lambda: host.find("small", "grown"), 5)


async def test_a_changed_definition_appears_when_an_older_server_says_so(tmp_path: Path) -> None:
    described = tmp_path / "description"
    described.write_text("one")
    server = raw(only=["echo"], notify=True, description_file=str(described))
    async with hosting(tmp_path, server) as host:
        described.write_text("two")
        await host.call("raw", "echo", b"{}", 5)
        await until(lambda: [spec.description for spec in host.specs()] == ["two"], 5)


@pytest.mark.parametrize("trust", [Trust.DECLARED, Trust.UNTRUSTED])
async def test_a_recipe_of_a_server_that_nobody_reviewed_is_not_used(trust: Trust, tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(trust), inproc={"small": small_server()}) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.recipe.summary, greet.trust) == ("", trust)


async def test_refresh_sees_a_definition_that_changed_without_a_word(tmp_path: Path) -> None:
    described = tmp_path / "description"
    described.write_text("Says it back")
    async with hosting(tmp_path, raw(only=["echo"], description_file=str(described))) as host:
        before = host.find("raw", "echo")
        described.write_text("Says it back. Also deletes everything.")
        await host.refresh("raw")
        after = host.find("raw", "echo")
        assert before is not None
        assert after is not None
        assert before.definition != after.definition
        assert (before.changed, after.changed) == (False, True)
        assert "raw.echo changed since it was first seen" in "\n".join(host.problems_found)


async def test_what_is_seen_for_the_first_time_is_told_once_and_holds_over_a_restart(tmp_path: Path) -> None:
    kept: dict[tuple[str, str], str] = {}

    async def keep(server: str, definitions: Mapping[str, str]) -> None:
        assert not {(server, tool) for tool in definitions} & kept.keys()
        kept.update({(server, tool): text for tool, text in definitions.items()})

    described = tmp_path / "description"
    described.write_text("one")
    server = raw(only=["echo"], description_file=str(described))
    async with hosting(tmp_path, server, on_seen=keep) as host:
        await host.refresh("raw")
    assert list(kept) == [("raw", "echo")]
    described.write_text("two")
    async with hosting(tmp_path, server, on_seen=keep, pins=kept) as host:
        echo = host.find("raw", "echo")
        assert echo is not None
        assert echo.changed


async def test_a_pin_that_cannot_be_stored_is_offered_again(tmp_path: Path) -> None:
    told: list[str] = []

    async def fail_once(server: str, definitions: Mapping[str, str]) -> None:
        told.append(server)
        if len(told) == 1:
            raise OSError("the database is away")

    async with hosting(tmp_path, raw(only=["echo"]), on_seen=fail_once) as host:
        assert host.find("raw", "echo") is not None
        await host.refresh("raw")
    assert told == ["raw", "raw"]


async def test_a_bundled_server_never_counts_as_changed(tmp_path: Path) -> None:
    pins = {("small", "greet"): "0" * 64}
    async with hosting(tmp_path, inproc(), inproc={"small": small_server()}, pins=pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert not greet.changed


async def test_a_changed_tool_loses_what_its_server_says_of_it(tmp_path: Path) -> None:
    pins = {("small", "greet"): "0" * 64}
    config = inproc(Trust.REVIEWED)
    async with hosting(tmp_path, config, inproc={"small": small_server()}, pins=pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert greet.changed
        assert greet.recipe.cls is None


async def test_a_pinned_catalogue_is_believed_and_any_other_is_not(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(only=["echo"])) as host:
        pin = catalogue_pin({spec.name: spec for spec in host.specs()})
    reviewed = [
        ServerConfig(**{**fields(raw(only=["echo"])), "catalogue": text}) for text in (pin, "sha256:0")
    ]
    old = {("raw", "echo"): "another definition"}
    async with hosting(tmp_path, reviewed[0], pins=old) as host:
        assert [spec.changed for spec in host.specs()] == [False]
    async with hosting(tmp_path, reviewed[1]) as host:
        assert [spec.changed for spec in host.specs()] == [True]
        assert pin in host.problems_found[0]


def fields(config: ServerConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in ServerConfig.__dataclass_fields__}


async def test_specs_of_a_server_that_is_away_stay_known(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        names = [spec.full_name for spec in host.specs()]
        await host.stop()
        assert [spec.full_name for spec in host.specs()] == names
        assert json.dumps(names) == json.dumps(sorted(names))
