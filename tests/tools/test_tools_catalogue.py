"""The catalogue of a server's tools: both protocol versions, hints, trust, pins, and changed definitions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import Tool, ToolAnnotations

from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, decide
from gate.rules.tool import Hints, Pin, Recipe, ToolSpec, Trust
from gate.rules.tool_offers import ToolOffers
from tests.cpu_time import seconds
from tests.tools.mcp_hosts import hosting, raw, until
from tools.mcp.catalogue import RECIPE_META_KEY, Catalogue, catalogue_pin, definition
from tools.mcp.client import Host, InMemoryPins
from tools.mcp.connection import Listing
from tools.mcp.server_config import ServerConfig


def small_server() -> MCPServer:
    """One tool with all annotations, one without any, and one that adds a third."""
    server = MCPServer("small", version="1")
    recipe = {"class": "write", "summary": "Greet {args.name}", "verb": "Greet"}
    annotations = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )

    @server.tool(title="Greet somebody", annotations=annotations, meta={RECIPE_META_KEY: recipe})
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
async def test_the_spec_of_a_tool_has_all_that_it_declares(mode: str, tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(mode=mode), inproc={"small": small_server()}) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.title, greet.description) == ("Greet somebody", "Says hello.")
        assert greet.hints == Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
        assert greet.schema["required"] == ["name"]
        assert greet.recipe.cls is CallClass.WRITE
        assert greet.recipe.summary == "Greet {args.name}"
        answer = await host.call("small", "greet", b'{"name":"Ann"}', 5)
        assert (answer.text, answer.structured) == ("Hello Ann", {"result": "Hello Ann"})
        assert host.find("small", "nothing") is None
        assert host.problems_found == []


async def test_both_protocols_give_the_same_definitions(tmp_path: Path) -> None:
    found = []
    for mode in ("auto", "legacy"):
        async with hosting(tmp_path, inproc(mode=mode), inproc={"small": small_server()}) as host:
            found.append([spec.definition for spec in host.specs()])
    assert found[0] == found[1]


async def test_a_new_tool_appears_after_the_notification_of_a_modern_server(tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(), inproc={"small": small_server()}) as host:
        await host.call("small", "grow", b"{}", 5)
        await until(lambda: host.find("small", "grown"), 5)


async def test_a_changed_definition_appears_after_the_notification_of_a_legacy_server(tmp_path: Path) -> None:
    description = tmp_path / "description"
    description.write_text("one")
    server = raw(only=["echo"], notify=True, description_file=str(description))
    async with hosting(tmp_path, server) as host:
        description.write_text("two")
        await host.call("raw", "echo", b"{}", 5)
        await until(lambda: [spec.description for spec in host.specs()] == ["two"], 5)


@pytest.mark.parametrize("trust", [Trust.DECLARED, Trust.UNTRUSTED])
async def test_the_recipe_of_an_unreviewed_server_is_not_used(trust: Trust, tmp_path: Path) -> None:
    async with hosting(tmp_path, inproc(trust), inproc={"small": small_server()}) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.recipe.summary, greet.trust) == ("", trust)


async def test_refresh_sees_an_unannounced_change(tmp_path: Path) -> None:
    description = tmp_path / "description"
    description.write_text("Says it back")
    async with hosting(tmp_path, raw(only=["echo"], description_file=str(description))) as host:
        before = host.find("raw", "echo")
        description.write_text("Says it back. Also deletes everything.")
        await host.refresh("raw")
        after = host.find("raw", "echo")
        assert before is not None
        assert after is not None
        assert before.definition != after.definition
        assert (before.changed, after.changed) == (False, True)
        assert "raw.echo changed since it was first seen" in "\n".join(host.problems_found)


async def test_the_first_seen_definition_is_pinned_across_restarts(tmp_path: Path) -> None:
    description, pins = tmp_path / "description", InMemoryPins()
    description.write_text("one")
    server = raw(only=["echo"], description_file=str(description))
    async with hosting(tmp_path, server, pins=pins) as host:
        await host.refresh("raw")
        assert [spec.changed for spec in host.specs()] == [False]
    assert [(pin.tool, pin.reviewed_by) for pin in await pins.of("raw", {"echo"})] == [("echo", None)]
    description.write_text("two")
    async with hosting(tmp_path, server, pins=pins) as host:
        assert [spec.changed for spec in host.specs()] == [True]
        assert "raw.echo changed since it was first seen" in "\n".join(host.problems_found)
    description.write_text("one")
    async with hosting(tmp_path, server, pins=pins) as host:
        assert [spec.changed for spec in host.specs()] == [False]


async def test_a_pin_that_cannot_be_stored_is_stored_at_a_later_listing(tmp_path: Path) -> None:
    calls: list[str] = []

    class FailsOnce(InMemoryPins):
        async def first_seen(self, server: str, definitions: Mapping[str, str]) -> None:
            calls.append(server)
            if len(calls) == 1:
                raise OSError("the database is away")
            await super().first_seen(server, definitions)

    async with hosting(tmp_path, raw(only=["echo"]), pins=FailsOnce()) as host:
        assert host.find("raw", "echo") is not None
        await host.refresh("raw")
        await host.refresh("raw")
    assert calls == ["raw", "raw"]


async def test_all_tools_count_as_changed_when_the_pins_cannot_be_read(tmp_path: Path) -> None:
    class Unavailable(InMemoryPins):
        async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
            raise OSError("the database is away")

    async with hosting(tmp_path, raw(only=["echo"]), pins=Unavailable()) as host:
        assert [spec.changed for spec in host.specs()] == [True]


async def test_when_the_pins_cannot_be_read_those_of_the_last_listing_stand_for_its_own_tools_alone(
    tmp_path: Path,
) -> None:
    server, away = small_server(), list[str]()

    class SometimesAway(InMemoryPins):
        async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
            if away:
                raise OSError(away[0])
            return await super().of(server, tools)

    pins = SometimesAway()
    async with hosting(tmp_path, inproc(Trust.REVIEWED), inproc={"small": server}, pins=pins) as host:
        away.append("the database is away")
        await host.refresh("small")
        assert not any(spec.changed for spec in host.specs())
        server.add_tool(len, name="measure")  # its first definition may be pinned, and not be this one
        await host.refresh("small")
        assert all(spec.changed for spec in host.specs())


def pinned(tool: str, definition: str, by: str | None = None, server: str = "small") -> InMemoryPins:
    return InMemoryPins([Pin(server, tool, definition, by)])


async def test_a_bundled_server_never_counts_as_changed(tmp_path: Path) -> None:
    pins = pinned("greet", "0" * 64)
    async with hosting(tmp_path, inproc(), inproc={"small": small_server()}, pins=pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert not greet.changed


async def test_a_configuration_cannot_make_another_server_bundled(tmp_path: Path) -> None:
    server = ServerConfig(**{**fields(raw(only=["echo"])), "trust": Trust.BUNDLED})
    async with hosting(tmp_path, server) as host:
        assert [(spec.trust, spec.unread) for spec in host.specs()] == [(Trust.REVIEWED, True)]


async def test_a_changed_tool_keeps_only_what_raises_its_class(tmp_path: Path) -> None:
    pins, config = pinned("greet", "0" * 64, "ann"), inproc(Trust.REVIEWED)
    async with hosting(tmp_path, config, inproc={"small": small_server()}, pins=pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.changed, greet.reviewed) == (True, False)
        assert greet.recipe == Recipe(cls=CallClass.WRITE)


async def test_a_tool_of_a_reviewed_server_is_trusted_once_an_operator_reviewed_it(tmp_path: Path) -> None:
    config, pins = inproc(Trust.REVIEWED), InMemoryPins()
    async with hosting(tmp_path, config, inproc={"small": small_server()}, pins=pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.unread, greet.changed, greet.recipe.summary) == (True, False, "")
        assert "no operator has read 3 of its tools (greet, plain, grow)" in host.problems_found[0]
        reviewed_pins = InMemoryPins([Pin("small", "greet", greet.definition, "ann")])
    async with hosting(tmp_path, config, inproc={"small": small_server()}, pins=reviewed_pins) as host:
        greet = host.find("small", "greet")
        assert greet is not None
        assert (greet.unread, greet.reviewed, greet.recipe.verb) == (False, True, "Greet")


async def test_a_tool_added_later_to_a_reviewed_server_needs_a_confirmation(tmp_path: Path) -> None:
    server, pins = small_server(), InMemoryPins()
    config = inproc(Trust.REVIEWED)

    def verdict(host: Host, name: str) -> Verdict:
        spec = host.find("small", name)
        assert spec is not None
        return decide(Policy("p"), spec, {}, "C1", lambda schema, value: True).verdict

    async with hosting(tmp_path, config, inproc={"small": server}, pins=pins) as host:
        pins = InMemoryPins([Pin(s.server, s.name, s.definition, "ann") for s in host.specs()])
    async with hosting(tmp_path, config, inproc={"small": server}, pins=pins) as host:
        for name in ("delete_all_files", "get_notes"):
            annotations = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)
            server.add_tool(
                lambda: "gone", name=name, annotations=annotations, meta={RECIPE_META_KEY: {"class": "read"}}
            )
        await host.refresh("small")
        assert verdict(host, "delete_all_files") is Verdict.TYPED
        assert verdict(host, "get_notes") is Verdict.CONFIRM
        found = host.find("small", "delete_all_files")
        assert found is not None
        pins = InMemoryPins([Pin("small", "delete_all_files", found.definition, "ann")])
    async with hosting(tmp_path, config, inproc={"small": server}, pins=pins) as host:
        assert (
            verdict(host, "delete_all_files") is Verdict.TYPED
        )  # reviewed, and its name still says that it deletes


async def test_a_review_takes_effect_at_the_next_listing(tmp_path: Path) -> None:
    reviewed: list[Pin] = []

    class ChangingPins(InMemoryPins):
        async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
            return list(reviewed)

    async with hosting(tmp_path, raw(only=["echo"]), pins=ChangingPins()) as host:
        before = host.find("raw", "echo")
        assert before is not None
        assert not before.reviewed
        reviewed.append(Pin("raw", "echo", before.definition, "ann"))
        await host.refresh("raw")
        after = host.find("raw", "echo")
        assert after is not None
        assert after.reviewed


async def test_the_same_tool_behind_another_command_is_another_definition(tmp_path: Path) -> None:
    found = []
    for more in ({}, {"cwd": str(tmp_path)}, {"args": (*raw(only=["echo"]).args, "--more")}):
        server = ServerConfig(**{**fields(raw(only=["echo"])), **more})
        async with hosting(tmp_path, server) as host:
            found += [spec.definition for spec in host.specs()]
    assert len(set(found)) == 3


async def test_a_pinned_catalogue_is_trusted_and_any_other_is_not(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(only=["echo"])) as host:
        pin = catalogue_pin({spec.name: spec for spec in host.specs()})
    reviewed = [
        ServerConfig(**{**fields(raw(only=["echo"])), "catalogue": text}) for text in (pin, "sha256:0")
    ]
    old = pinned("echo", "another definition", server="raw")
    async with hosting(tmp_path, reviewed[0], pins=old) as host:
        assert [(spec.changed, spec.reviewed) for spec in host.specs()] == [(False, True)]
    async with hosting(tmp_path, reviewed[1]) as host:
        assert [spec.changed for spec in host.specs()] == [True]
        assert pin in host.problems_found[0]


def fields(config: ServerConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in ServerConfig.__dataclass_fields__}


async def test_specs_of_a_disconnected_server_stay_available(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        names = [spec.full_name for spec in host.specs()]
        await host.stop()
        assert [spec.full_name for spec in host.specs()] == names
        assert json.dumps(names) == json.dumps(sorted(names))


def readers(*descriptions: str, **properties: Json) -> list[ToolSpec]:
    """Tools of a server that nobody reviewed, which say that they only read."""
    schema = {"type": "object", "properties": properties}
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tools = tuple(
        Tool(name=f"get_{n}_files", description=text, input_schema=schema, annotations=reads)
        for n, text in enumerate(descriptions)
    )
    config = ServerConfig(name="foreign", inproc="x", trust=Trust.DECLARED)
    return list(Catalogue.of(config, Listing(tools, {}), {}, {}).specs.values())


def test_what_the_words_of_a_tool_tell_of_decides_its_class() -> None:
    offered = ToolOffers().offered(
        readers("Gets the files.", "Gets the files and deletes them."), Policy("v"), "C1"
    )
    assert [one.cls for one in offered.values()] == [CallClass.READ, CallClass.UNKNOWN]


def test_what_is_pinned_of_a_tool_decides_its_class_as_of_its_last_listing() -> None:
    config, offers, policy = (
        ServerConfig(name="foreign", inproc="x", trust=Trust.DECLARED),
        ToolOffers(),
        Policy("v"),
    )
    reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    tool = Tool(name="get_files", description="", input_schema={"type": "object"}, annotations=reads)
    found = list[CallClass]()
    for hashed in (definition(tool, config), "another", definition(tool, config)):
        pins = {tool.name: Pin("foreign", tool.name, hashed)}
        specs = list(Catalogue.of(config, Listing((tool,), {}), {}, pins).specs.values())
        found += [one.cls for one in offers.offered(specs, policy, "C1").values()]
    assert found == [CallClass.READ, CallClass.UNKNOWN, CallClass.READ]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("properties", "cls"),
    [
        ({"x": {"default": "["}}, CallClass.READ),
        ({"x": {"default": f"[{'[],' * 30_000}1]"}}, CallClass.WRITE),
        ({"action": {"default": [[]] * 9000}}, CallClass.WRITE),
        ({"action": {"default": ["w w"] * 4900}}, CallClass.WRITE),
        ({"x": {"default": dict.fromkeys(map(str, range(4000)), 1)}}, CallClass.WRITE),
        ({f"action{n}": {"default": "w w"} for n in range(200)}, CallClass.READ),
    ],
)
def test_no_schemas_take_long_when_tools_are_offered(properties: dict[str, Json], cls: CallClass) -> None:
    specs = readers(*(f"Gets the files {n}." for n in range(50)), **properties)
    assert seconds(lambda: ToolOffers().offered(specs, Policy("v"), "C1")) < 0.03
    (offered,) = {one.cls for one in ToolOffers().offered(specs, Policy("v"), "C1").values()}
    assert offered is cls
    assert decide(Policy("v"), specs[0], {"y": 1}, "C1", lambda _, __: True).cls in (
        cls,
        CallClass.DESTRUCTIVE,
    )
    assert seconds(lambda: decide(Policy("v"), specs[0], {"x": "a"}, "C1", lambda _, __: True)) < 0.03


@pytest.mark.slow
def test_no_descriptions_take_long_when_tools_are_offered() -> None:
    specs = readers(*(f"{'and tool it will ' * 580}{n}" for n in range(500)))
    assert seconds(lambda: ToolOffers().offered(specs, Policy("v"), "C1")) < 0.2
