"""`python -m bot policy explain`, `tools …` and `recipes …`: what the policy makes of tools, and recipes for them."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime

from bot.audit_key import fitting_key
from bot.cli.database import database, pins
from bot.cli.main import CommandError
from bot.mcp_connect import connected, named
from bot.policy_file import load_policy, trusted
from bot.row_sealing import seal_once
from bot.settings import Settings
from gate.arguments.canonical_paths import with_canonical_paths
from gate.rules.action import Decision, Json
from gate.rules.approvers import Approvers
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.policy import Policy, decide
from gate.rules.tool import Pin, ToolSpec
from storage.row_macs import row_macs_of
from storage.tool_pins import PinStore
from tools.mcp.catalogue import catalogue_pin
from tools.mcp.client import Host
from tools.mcp.schema import problems
from tools.mcp.server_config import ServerConfig
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

GATES = {
    "run": "run: at once, and logged",
    "confirm": "confirm: a card with Confirm",
    "typed": "typed: a card with Review…, and a phrase to type",
    "deny": "deny: never",
}


async def explain(settings: Settings, tool: str, args: str, channel: str, user: str) -> int:
    """Show what stands between one call and its tool. 1 when the call could not even be proposed."""
    server, _, name = tool.partition(".")
    if not name:
        raise CommandError(f"“{tool}” is no tool: write SERVER.TOOL, as in filesystem.write_file.")
    arguments = _arguments(args)
    policy = await asyncio.to_thread(load_policy, settings.policy)
    config = named(settings, server)
    async with connected(settings, trusted([config], policy), await pins(settings)) as host:
        spec = _found(host, server, name)
    wrong = [problem.text for problem in problems(spec.schema, arguments)]
    for key, value in _explained(policy, spec, decided(policy, spec, arguments, channel), user):
        sys.stdout.write(f"{key:<10} {visible(value, lines=False)}\n")
    for text in wrong:
        sys.stdout.write(f"{'arguments':<10} {visible(text, lines=False)}\n")
    return 1 if wrong else 0


def decided(policy: Policy, spec: ToolSpec, args: Mapping[str, Json], channel: str = "") -> Decision:
    """What the policy says of a call, whose declared paths are judged in their canonical form, as at the gate."""

    def matches(schema: Mapping[str, Json], value: Json) -> bool:
        return all(problem.unsure for problem in problems(schema, value))

    return decide(policy, spec, with_canonical_paths(spec.recipe.targets, args), channel, matches)


def _arguments(text: str) -> dict[str, Json]:
    try:
        return parse(text)
    except BadArguments as error:
        raise CommandError(f"--args is not usable: {error}") from None


def _found(host: Host, server: str, name: str) -> ToolSpec:
    spec = host.find(server, name)
    if spec:
        return spec
    _must_be_ready(host)
    known = ", ".join(spec.name for spec in host.specs())
    raise CommandError(f"{server} has no tool “{name}”; it has: {known}.")


def _explained(policy: Policy, spec: ToolSpec, found: Decision, user: str) -> Iterable[tuple[str, str]]:
    yield (
        "tool",
        f"{spec.full_name} ({spec.trust} server{', CHANGED since it was read' if spec.changed else ''})",
    )
    yield "verdict", GATES[found.verdict]
    yield "class", found.cls
    yield "risk", found.risk
    yield "reason", found.reason
    yield "rule", f"{found.rule}{' (on the always-gate list)' if found.always_gated else ''}"
    yield "approvers", _approvers(found.approvers, user)
    if found.ttl:
        yield "ttl", f"{found.ttl:g} s"
    if found.private:
        yield "private", "only the requester sees the card"
    if user in policy.listed_bots:
        yield "requester", f"{user} is a listed bot: it may ask for reads only"
    yield "policy", policy.version


def _approvers(approvers: Approvers, user: str) -> str:
    asker = user or "who asks"
    if not approvers.named and approvers.needed == 1:
        return f"{asker}, alone"
    lists = [", ".join(sorted(one.users) + sorted(one.groups)) for one in approvers.lists]
    named = "; and also one of ".join(lists) or "any full members"
    return f"{approvers.needed} of {named}; never {asker}"


async def listing(settings: Settings) -> int:
    """Every tool with its class and trust. 1 when a server is not ready, or something is to be mended."""
    policy = await asyncio.to_thread(load_policy, settings.policy)
    async with connected(settings, trusted(settings.servers, policy), await pins(settings)) as host:
        statuses, specs, found = host.servers(), host.specs(), host.problems_found
    for status in statuses:
        detail = f": {visible(status.detail, lines=False)}" if status.detail else ""
        sys.stdout.write(f"{status.name}: {status.state}, {status.tools} tools{detail}\n")
        for spec in (spec for spec in specs if spec.server == status.name):
            cls = decided(policy, spec, {}).cls
            changed = "  CHANGED" if spec.changed else "  NOT READ" if spec.unread else ""
            sys.stdout.write(f"  {visible(spec.full_name):<44} {cls:<12} {spec.trust}{changed}\n")
    for problem in found:
        sys.stdout.write(f"mend: {visible(problem, lines=False)}\n")
    if not statuses:
        sys.stdout.write("No servers: name some under mcpServers in countersign.yaml.\n")
    return 1 if found or any(status.state != "ready" for status in statuses) else 0


async def review(settings: Settings, server: str, yes: bool, by: str) -> int:
    """Show what nobody has read yet, and note that `by` has read it. 1 when the answer is no."""
    policy = await asyncio.to_thread(load_policy, settings.policy)
    (config,) = trusted([named(settings, server)], policy)
    async with database(settings) as engine:
        key = (await fitting_key(settings, engine)).current
        store = PinStore(engine, row_macs_of(key))
        known = {(pin.server, pin.tool): pin for pin in await store.all()}
        specs = await _offered(settings, config, known)
        unread = [spec for spec in specs.values() if not _was_read(spec, known)]
        for spec in unread:
            then = decided(policy, replace(spec, reviewed=True, changed=False), {})
            sys.stdout.write(f"{_definition(spec, known)}\nonce read: {then.cls}, {GATES[then.verdict]}\n\n")
        if unread and not (yes or _agreed(len(unread), server)):
            return 1
        if unread:
            await seal_once(settings, engine, key)
            now = datetime.now(UTC)
            await store.review([Pin(one.server, one.name, one.definition, by, now) for one in unread], key)
    done = f"{len(unread)} definitions of {server} noted as read by {by}. A running service knows within a minute."
    sys.stdout.write((done if unread else f"Nothing of {server} is new: all of it has been read.") + "\n")
    sys.stdout.write(
        f"To pin all {len(specs)} in countersign.yaml:  pin: {{catalogue: {catalogue_pin(specs)}}}\n"
    )
    return 0


async def _offered(
    settings: Settings, config: ServerConfig, known: Mapping[tuple[str, str], Pin]
) -> dict[str, ToolSpec]:
    async with connected(settings, [config], known) as host:
        _must_be_ready(host)
        return {spec.name: spec for spec in host.specs()}


def _must_be_ready(host: Host) -> None:
    (status,) = host.servers()
    if status.state != "ready":
        detail = visible(status.detail, lines=False)
        raise CommandError(f"{status.name} is not ready ({status.state}): {detail}.")


def _was_read(spec: ToolSpec, known: Mapping[tuple[str, str], Pin]) -> bool:
    pin = known.get((spec.server, spec.name))
    return pin is not None and pin.definition == spec.definition and pin.reviewed_by is not None


def _definition(spec: ToolSpec, known: Mapping[tuple[str, str], Pin]) -> str:
    """All that a tool says about itself, with nothing hidden in it."""
    pin = known.get((spec.server, spec.name))
    word = "new" if pin is None else "CHANGED" if pin.definition != spec.definition else "not read yet"
    hints = {name: value for name, value in asdict(spec.hints).items() if value is not None}
    told = {"title": spec.title, "hints": hints, "arguments": spec.schema, "result": spec.output_schema}
    body = json.dumps({**told, "metadata": spec.meta}, indent=2, ensure_ascii=True)
    # A line of it that stands at the edge may look like another tool.
    described = textwrap.indent(spec.description, "    ", lambda line: True)
    return visible(f"== {spec.full_name} ({word})\n{described}\n{body}\n{spec.definition}")


def _agreed(count: int, server: str) -> bool:
    if not sys.stdin.isatty():
        raise CommandError("Nobody is there to ask: read the above, then run it again with --yes.")
    sys.stdout.write(f"Note these {count} definitions of {server} as read? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


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
