"""`python -m bot doctor`: look at everything the service needs, and say how to mend what is wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from slack_sdk.errors import SlackApiError

from bot import slack_app
from bot.audit_key import fitting_key, keyring
from bot.cli.database import database, exists, pins
from bot.cli.main import CommandError
from bot.config_file import MANIFESTS
from bot.embedded_redis import find_server
from bot.mcp_connect import connected
from bot.planner import answers, line
from bot.policy_file import load_policy, rules_about_nothing, trusted
from bot.settings import Settings
from bot.startup import NO_SERVERS
from gate.rules.policy import Policy
from servers.sandbox.calling import protection
from storage.audit_log import head
from storage.database import parse
from storage.leases import open_redis
from storage.migrate import is_current, is_older
from tools.phrases.planner import PhraseBook, load_phrases, misfits
from tools.recipes.reader import load_recipes
from views.block_kit import visible

if TYPE_CHECKING:
    from tools.model.provider_client import ProviderModel

OLDER = "run `python -m bot migrate`"
NEWER = "a newer Countersign has made them: start that one, or restore a backup of this one's"
SECONDS = 10.0  # for one answer of Redis, SQL or Slack


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `sentence`: what was found, or how to mend it."""

    what: str
    ok: bool
    sentence: str


async def doctor(settings: Settings) -> int:
    """Check all of it, one line each. 1 when something has to be mended."""
    wrong = 0
    async for finding in findings(settings):
        wrong += not finding.ok
        sys.stdout.write(
            f"{'ok  ' if finding.ok else 'MEND'} {finding.what}: {visible(finding.sentence, lines=False)}\n"
        )
    sys.stdout.write("Everything is well.\n" if not wrong else f"To mend: {wrong}.\n")
    return 1 if wrong else 0


async def findings(settings: Settings) -> AsyncIterator[Finding]:
    """Everything that was looked at, as it is found; settings that could not be read never come this far."""
    yield Finding("settings", True, f"home {settings.home}, {len(settings.servers)} MCP servers")
    policy, book = None, PhraseBook()
    for finding, read in _files(settings):
        yield finding
        policy = read if isinstance(read, Policy) else policy
        book = read if isinstance(read, PhraseBook) else book
    yield await _looked("audit key", _audit_key(settings))
    yield await _looked("database", _sql(settings))
    yield await _looked("Redis", _redis(settings))
    yield await _looked("opening files", _opening_files())
    yield await _planner(settings)
    async for finding in _servers(settings, policy, book):
        yield finding
    yield await _looked("Slack", _slack(settings))


async def _looked(what: str, look: Awaitable[str]) -> Finding:
    """What a look gives back is well; what it raises is not."""
    try:
        async with asyncio.timeout(SECONDS):
            return Finding(what, True, await look)
    except TimeoutError:
        return Finding(what, False, f"no answer in {SECONDS:g} s: is it running, and is its address right?")
    except Exception as error:
        return Finding(what, False, " ".join(str(error).split()) or type(error).__name__)


def _files(settings: Settings) -> Iterator[tuple[Finding, object]]:
    loads: dict[str, tuple[Path, Callable[[Path], object]]] = {
        "policy": (settings.policy, load_policy),
        "phrases": (settings.phrases, load_phrases),
        "recipes": (settings.recipes, load_recipes),
    }
    for what, (path, load) in loads.items():
        try:
            read = load(path)
        except Exception as error:
            yield Finding(what, False, "; ".join(getattr(error, "problems", None) or [str(error)])), None
        else:
            yield Finding(what, path.exists(), str(path) if path.exists() else f"{path} is not there"), read


async def _audit_key(settings: Settings) -> str:
    path = settings.home / "audit.key"
    fresh = settings.alone and not settings.audit_secret and not await asyncio.to_thread(path.exists)
    try:
        async with database(settings) as engine:
            fresh = fresh and not (await head(engine)).seq
            if not fresh:
                await fitting_key(settings, engine, make=False)
    except CommandError:  # which is told of the database
        if not fresh:
            keyring(settings)
    if fresh:
        return f"{path} will be made at the first start"
    return "from COUNTERSIGN_AUDIT_KEY" if settings.audit_secret else f"{path}: keep a copy of it elsewhere"


async def _opening_files() -> str:
    found = await asyncio.to_thread(protection)
    if not found.works:
        raise LookupError(found.sentence)
    return found.sentence


async def _sql(settings: Settings) -> str:
    """SQLite is migrated by every start, so there only tables that a start cannot bring to this version are wrong."""
    if settings.alone and not await asyncio.to_thread(exists, settings.database_url):
        return f"{parse(settings.database_url).database} will be made at the first start"
    async with database(settings) as engine:
        if await is_current(engine):
            return f"{engine.dialect.name}, with the tables of this version"
        if settings.alone and await is_older(engine):
            return f"{engine.dialect.name}, which the next start brings to the tables of this version"
        raise LookupError(f"its tables are of another version: {NEWER if settings.alone else OLDER}")


async def _redis(settings: Settings) -> str:
    if settings.redis_url is None:
        return f"the embedded one, {await asyncio.to_thread(find_server)}"
    client = open_redis(settings.redis_url)
    try:
        version = (await client.info("server"))["redis_version"]
    except Exception as error:
        raise LookupError(
            f"no answer ({error}): check REDIS_URL, or unset it for the embedded one"
        ) from error
    finally:
        await client.aclose()
    if tuple(map(int, version.split(".")[:2])) < (6, 2):
        raise LookupError(f"version {version} is too old: 6.2 or newer is needed")
    return f"version {version}"


async def _planner(settings: Settings) -> Finding:
    if settings.model is None:
        return Finding("planner", True, "phrases, no model")
    model = await line(settings.model)  # its libraries take seconds, which do not count as waiting for it
    return await _looked("planner", _answers(model, settings.model.full_name))


async def _answers(model: ProviderModel, name: str) -> str:
    await answers(model)
    return f"{name} answers"


async def _servers(settings: Settings, policy: Policy | None, book: PhraseBook) -> AsyncIterator[Finding]:
    if not settings.servers:
        yield Finding("MCP servers", False, NO_SERVERS)
        return
    servers = trusted(settings.servers, policy) if policy else settings.servers
    try:
        async with connected(settings, servers, await pins(settings)) as host:
            statuses, problems, unfit = host.servers(), host.problems_found, misfits(book, host)
            lost = rules_about_nothing(policy, host) if policy else []
    except Exception as error:
        yield Finding("MCP servers", False, str(error))
        return
    for status in statuses:
        ready = status.state == "ready"
        found = f"{status.tools} tools" if ready else f"{status.state}: {status.detail}"
        yield Finding(f"MCP server {status.name}", ready, found)
    for problem in problems:
        yield Finding("MCP tool", False, problem)
    for rule in lost:
        yield Finding("policy and tools", False, rule)
    for misfit in unfit:
        yield Finding("phrases and tools", False, misfit)


async def _slack(settings: Settings) -> str:
    settings.require_slack()
    token = settings.bot_token.reveal() if settings.bot_token else ""
    async with slack_app.http_session() as session:
        client, _ = slack_app.clients(session, token, settings.api_url)
        try:
            who = await client.auth_test()
        except SlackApiError as error:
            raise LookupError(
                f"it refuses SLACK_BOT_TOKEN ({error.response.get('error')}): install the app, copy its token again"
            ) from error
        except OSError as error:
            raise LookupError(
                f"no answer ({error}): check the network, and SLACK_API_URL if it is set"
            ) from error
        await slack_app.may_connect(client, settings.app_token)
    given = {scope.strip() for scope in str(who.headers.get("x-oauth-scopes", "")).split(",")}
    if missing := sorted(scopes() - given):
        raise LookupError(
            f"the app lacks {', '.join(missing)}: add them under “OAuth & Permissions”, then reinstall it"
        )
    way = "Socket Mode" if settings.app_token else "HTTP"
    return f"{who['user']} in {who['team']}, over {way}, with all scopes"


def scopes() -> frozenset[str]:
    """The scopes that the bot needs, as the app manifest asks for them."""
    manifest = yaml.safe_load((MANIFESTS / "slack" / "socket.yaml").read_text("utf-8"))
    return frozenset(manifest["oauth_config"]["scopes"]["bot"])
