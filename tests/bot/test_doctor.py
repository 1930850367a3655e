"""The doctor against a local Slack, a real Redis and a real database: well when all is well, and exact when not."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bot.cli.doctor import Finding, findings, scopes
from bot.settings import Secret, Settings
from bot.startup import NO_SERVERS
from storage.database import parse
from storage.migrate import migrate
from tests.model_stub import ModelStub, fails, says
from tools.mcp.server_config import ServerConfig
from workspace.context import Installation
from workspace.server import Workspace

ENOUGH = ",".join(sorted(scopes()))


@pytest.fixture
async def settings(tmp_path: Path, redis_url: str) -> AsyncIterator[Settings]:
    """All is well: a workspace, a Redis, a migrated database, a server with tools."""
    installed = Installation(scopes=ENOUGH)
    workspace = Workspace(installed)
    url = await workspace.start()
    environ = {
        "SLACK_BOT_TOKEN": installed.bot_token,
        "SLACK_APP_TOKEN": installed.app_token,
        "SLACK_API_URL": f"{url}/api/",
        "REDIS_URL": redis_url,
    }
    made = Settings.load(environ, tmp_path, slack=True)
    await migrate(made.database_url)
    files = ServerConfig(name="filesystem", inproc="servers.filesystem:server", args=(str(tmp_path),))
    yield replace(made, servers=(files,))
    await workspace.stop()


async def unwell(settings: Settings) -> dict[str, str]:
    return {finding.what: finding.sentence async for finding in findings(settings) if not finding.ok}


async def test_all_is_well(settings: Settings) -> None:
    found: list[Finding] = [finding async for finding in findings(settings)]
    assert [finding for finding in found if not finding.ok] == []
    told = {finding.what: finding.sentence for finding in found}
    assert told["Slack"].endswith("over Socket Mode, with all scopes")
    assert told["database"] == "sqlite, with the tables of this version"
    assert told["Redis"].startswith("version ")
    assert told["planner"] == "phrases, no model"
    assert told["audit key"].endswith("will be made at the first start")
    assert not (settings.home / "audit.key").exists()


@pytest.mark.slow
async def test_settings_that_name_no_server(settings: Settings) -> None:
    told = await unwell(replace(settings, servers=()))
    assert told == {"MCP servers": NO_SERVERS}


async def test_a_token_that_slack_refuses(settings: Settings) -> None:
    told = await unwell(replace(settings, bot_token=Secret("xoxb-of-another-app")))
    assert told.keys() == {"Slack"}
    assert "refuses SLACK_BOT_TOKEN (invalid_auth)" in told["Slack"]


async def test_a_scope_that_is_missing_is_named(tmp_path: Path, settings: Settings) -> None:
    assert settings.bot_token
    assert settings.app_token
    tokens = (settings.bot_token.reveal(), settings.app_token.reveal())
    lacking = Installation(*tokens, scopes=ENOUGH.replace("usergroups:read,", ""))
    workspace = Workspace(lacking)
    url = await workspace.start()
    told = await unwell(replace(settings, api_url=f"{url}/api/"))
    await workspace.stop()
    assert told.keys() == {"Slack"}
    assert "lacks usergroups:read: add" in told["Slack"]


async def test_stores_that_are_away(settings: Settings, tmp_path: Path) -> None:
    away = replace(
        settings,
        redis_url="redis://127.0.0.1:1",
        database_url="postgresql+psycopg://nobody@127.0.0.1:1/none",
        api_url="http://127.0.0.1:1/api/",
    )
    told = await unwell(away)
    assert told.keys() == {"Redis", "database", "Slack", "audit key"}
    assert "check REDIS_URL" in told["Redis"]
    assert "check DATABASE_URL" in told["database"]
    assert "check the network" in told["Slack"]
    assert told["audit key"].startswith("COUNTERSIGN_AUDIT_KEY is not set")


async def test_files_with_mistakes(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("admin: []\nrule: []")
    (tmp_path / "phrases.yaml").write_text("[")
    told = await unwell(
        replace(
            settings,
            policy=tmp_path / "policy.yaml",
            phrases=tmp_path / "phrases.yaml",
            recipes=tmp_path / "no",
        )
    )
    assert told.keys() == {"policy", "phrases", "recipes"}
    assert "line 1" in told["policy"]
    assert "line 2" in told["policy"]


async def test_a_runbook_that_its_tools_do_not_take(settings: Settings, tmp_path: Path) -> None:
    step = "{call: filesystem.list_dir, args: {pth: .}}"
    path = tmp_path / "phrases.yaml"
    path.write_text(f"phrases: []\nrunbooks:\n  - name: look\n    steps: [{step}]\n")
    told = await unwell(replace(settings, phrases=path))
    assert told.keys() == {"phrases and tools"}
    assert "The runbook look, step 1: `filesystem.list_dir`: `pth` is not known" in told["phrases and tools"]


RULES_ABOUT_NOTHING = """
servers:
  filesystem: {tools: {"delte_*": {deny: true}, "*": {ttl: 60}}}
  filesytem: {trust: reviewed, tools: {move: {deny: true}}}
  "*": {tools: {web_serch: {class: read}}}
rules:
  - {name: never, tools: ["filesystem.move*", "*.create_foldr", "*.pay_invoice"], deny: true}
  - {name: everything, tools: ["*"], risk: high}
reviews:
  - {name: all of it, trigger_phase: AFTER_EXECUTION, tools: ["*"]}
  - {name: what moves, trigger_phase: BEFORE_EXECUTION, tools: ["filesystem.move*", "filesystem.mvoe"]}
"""


async def test_rules_that_name_no_tool_are_told_as_a_typing_error_makes_of_a_deny_nothing(
    settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(RULES_ABOUT_NOTHING)
    found = [one async for one in findings(replace(settings, policy=path)) if not one.ok]
    assert {one.what for one in found} == {"policy and tools"}
    assert [one.sentence for one in found] == [
        "The policy names the server “filesytem” and there is none: correct the name, or remove it.",
        "The policy has a rule for “filesystem.delte_*” and there is no such tool: correct the name, or remove the rule.",
        "The policy has a rule for “filesytem.move” and there is no server “filesytem”: correct the name, or remove the "
        "rule.",
        "The policy has a rule for “*.create_foldr” and there is no such tool, but “create_folder”: correct the name, or "
        "remove the rule.",
        "The policy has a review for “filesystem.mvoe” and there is no such tool: correct the name, or remove the review.",
    ]


async def test_nothing_is_said_of_rules_for_a_server_that_is_not_there_yet(
    settings: Settings, tmp_path: Path
) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("servers:\n  away: {trust: reviewed, tools: {delete: {deny: true}}}\n")
    away = ServerConfig(name="away", command="/bin/false")
    told = await unwell(replace(settings, policy=path, servers=(*settings.servers, away)))
    assert told.keys() == {"MCP server away"}


async def told_of_database(settings: Settings) -> Finding:
    (found,) = [one async for one in findings(settings) if one.what == "database"]
    return found


async def test_a_sqlite_database_that_the_next_start_makes_or_migrates_is_well(
    settings: Settings, tmp_path: Path
) -> None:
    fresh = replace(settings, database_url=f"sqlite+aiosqlite:///{tmp_path}/fresh.db")
    told = await told_of_database(fresh)
    assert (told.ok, told.sentence) == (True, f"{tmp_path}/fresh.db will be made at the first start")
    assert not (tmp_path / "fresh.db").exists()
    (tmp_path / "fresh.db").touch()
    told = await told_of_database(fresh)
    assert (told.ok, told.sentence) == (
        True,
        "sqlite, which the next start brings to the tables of this version",
    )


async def test_tables_of_a_newer_version_have_to_be_mended(settings: Settings) -> None:
    with closing(sqlite3.connect(str(parse(settings.database_url).database))) as sql, sql:
        sql.execute("UPDATE alembic_version SET version_num = 'f00d'")
    told = await told_of_database(settings)
    assert not told.ok
    assert told.sentence.startswith("its tables are of another version: a newer Countersign has made them")


async def test_a_postgresql_database_is_migrated_by_hand(settings: Settings, postgres_url: str) -> None:
    told = await told_of_database(replace(settings, database_url=postgres_url))
    assert not told.ok
    assert told.sentence == "its tables are of another version: run `python -m bot migrate`"


@pytest.mark.slow
async def test_a_model_that_answers_and_one_that_does_not(settings: Settings) -> None:
    async with ModelStub([says("Yes."), fails(401), fails(503)]) as stub:
        planned = replace(settings, model=stub.config())
        found = {finding.what: finding async for finding in findings(planned)}
        assert (found["planner"].ok, found["planner"].sentence) == (True, "openai:stub answers")
        assert "does not accept our key" in (await unwell(planned))["planner"]
        assert "cannot be reached now" in (await unwell(planned))["planner"]
