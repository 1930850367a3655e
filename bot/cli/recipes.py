"""`python -m bot recipes …`: draft recipes from a live server, and check all of them against what servers take."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping

from bot.cli.database import pins
from bot.cli.main import CommandError
from bot.mcp_connect import connected, named
from bot.settings import Settings
from gate.rules.tool import ToolSpec
from tools.mcp.client import Host
from tools.recipes.check import (
    RecordedSchemas,
    check,
    draft,
    load_recorded_schemas,
    schema_file_text,
    schemas_of,
    unreviewed,
)
from tools.recipes.reader import load_recipes
from views.block_kit import visible


async def new(settings: Settings, server: str, schemas: bool) -> int:
    """Print a draft of recipes for one server, or with `schemas` what its recipes are to be checked against."""
    config = named(settings, server)
    async with connected(settings, [config], await pins(settings)) as host:
        (status,) = host.servers()
        if status.state != "ready":
            detail = visible(status.detail, lines=False)
            raise CommandError(f"{server} is not ready ({status.state}): {detail}.")
        specs, reported_name = _of(host, server), host.reported_name(server)
    source = config.package or server
    sys.stdout.write(
        schema_file_text(source, reported_name, schemas_of(specs))
        if schemas
        else draft(reported_name or "*", specs)
    )
    if not schemas:
        sys.stderr.write(
            f"This is a draft. Save it as {settings.recipes}/NAME.yaml, read it, and set `recipes: NAME` for "
            f"{server} in countersign.yaml.\n"
        )
    return 0


async def test(settings: Settings) -> int:
    """Check every recipe file: against its live servers, else against kept schemas. 1 when something is wrong."""
    files, schemas = await asyncio.to_thread(
        lambda: (load_recipes(settings.recipes), load_recorded_schemas(settings.recipes))
    )
    wrong = 0
    live = await _live(settings)
    for name, file in files.items():
        against = [*live.get(name, ()), *([schemas[name]] if name in schemas else [])]
        problems = [problem for one in against for problem in check(file, one)] or list(
            _unchecked(name, against)
        )
        wrong += len(problems)
        for problem in dict.fromkeys(problems):
            _say("MEND", name, problem)
        if not problems:
            _say("ok  ", name, f"{len(file.tools)} recipes fit {' and '.join(one.source for one in against)}")
        for one in against:
            for tool in () if file.partial else unreviewed(file, one):
                _say("note", name, f"{tool} has no recipe: its class comes from what the server says of it")
    for name in live.keys() - files.keys():
        _say("MEND", name, "a server names these recipes, and there is no such file")
        wrong += 1
    sys.stdout.write(f"To mend: {wrong}.\n" if wrong else "Every recipe fits.\n")
    return 1 if wrong else 0


def _unchecked(name: str, against: list[RecordedSchemas]) -> Iterator[str]:
    if not against:
        yield (
            "There is nothing to check it against: configure a server with these recipes, or keep its schemas with "
            f"`python -m bot recipes new SERVER --schemas > schemas/{name}.json` beside the recipes."
        )


async def _live(settings: Settings) -> Mapping[str, list[RecordedSchemas]]:
    """What the configured servers take now, by the recipes they use; those that are not ready are told and left out."""
    configs = [config for config in settings.servers if config.recipes]
    found: dict[str, list[RecordedSchemas]] = {}
    async with connected(settings, configs, await pins(settings)) as host:
        ready = {status.name: status for status in host.servers()}
        for config in configs:
            status = ready[config.name]
            if status.state != "ready":
                detail = visible(status.detail, lines=False)
                _say("note", config.recipes, f"{config.name} is not ready and was not asked ({detail})")
                continue
            made = RecordedSchemas(
                f"the live {config.name}", host.reported_name(config.name), schemas_of(_of(host, config.name))
            )
            found.setdefault(config.recipes, []).append(made)
    return found


def _of(host: Host, server: str) -> dict[str, ToolSpec]:
    return {spec.name: spec for spec in host.specs() if spec.server == server}


def _say(mark: str, name: str, told: str) -> None:
    sys.stdout.write(f"{mark} {visible(name, lines=False)}: {visible(told, lines=False)}\n")
