"""What an operator copies: the Slack app manifests and the example configuration, true to the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from bot.http_limits import HttpLimits
from bot.settings import Settings
from gate.rules.ports import Limits, World
from gate.rules.settings import CHOICES, FLAGS, SETTABLE, Switches, with_switches
from gate.rules.tool import Trust
from handlers.api.ports import Bounds
from handlers.slack.commands import Commands
from workspace.context import SCOPES
from workspace.state import COMMANDS

ROOT = Path(__file__).parents[2]
BOTH = ("socket", "http")
EVENTS = [
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "message.channels",
    "message.groups",
    "message.im",
]
# What each event and each method of the Web API that we call asks for.
NEEDED = {
    "app_mentions:read": "app_mention",
    "assistant:write": "agents.sessions.setStatus",
    "channels:history": "message.channels",
    "chat:write": "chat.postMessage",
    "commands": "slash commands",
    "groups:history": "message.groups",
    "im:history": "message.im",
    "im:write": "a private card",
    "usergroups:read": "usergroups.users.list",
    "users:read": "users.info",
}


def manifest(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / f"manifests/slack/{name}.yaml").read_text("utf-8"))
    return read


def without_addresses(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_addresses(v) for k, v in value.items() if k not in ("url", "request_url")}
    return [without_addresses(item) for item in value] if isinstance(value, list) else value


def test_the_two_manifests_differ_only_in_how_slack_reaches_us() -> None:
    socket, http = (without_addresses(manifest(name)) for name in BOTH)
    assert socket["settings"].pop("socket_mode_enabled") is True
    assert http["settings"].pop("socket_mode_enabled") is False
    assert socket == http


def test_http_gives_one_address_everywhere_and_socket_mode_none() -> None:
    addresses = {name: re.findall(r"url: (\S+)", yaml.dump(manifest(name))) for name in BOTH}
    assert addresses["socket"] == []
    assert set(addresses["http"]) == {"https://countersign.example.com/slack/events"}
    assert len(addresses["http"]) == len(COMMANDS) + 2


@pytest.mark.parametrize("name", BOTH)
def test_the_commands_are_those_that_we_answer(name: str) -> None:
    commands = manifest(name)["features"]["slash_commands"]
    assert [command["command"] for command in commands] == list(Commands(cast(World, None)).all())
    told = [
        (command["command"], command["description"], command.get("usage_hint", "")) for command in commands
    ]
    assert told == [(known.command, known.description, known.usage_hint) for known in COMMANDS]
    assert all(command["should_escape"] is True and len(command["command"]) <= 32 for command in commands)


@pytest.mark.parametrize("name", BOTH)
def test_events_and_scopes_are_those_that_are_used(name: str) -> None:
    settings = manifest(name)["settings"]
    assert settings["event_subscriptions"]["bot_events"] == EVENTS
    assert settings["interactivity"]["is_enabled"] is True
    assert manifest(name)["oauth_config"]["scopes"] == {"bot": sorted(NEEDED)}
    assert set(NEEDED) <= set(SCOPES.split(","))


@pytest.mark.parametrize("name", BOTH)
def test_the_app_keeps_the_limits_of_slack(name: str) -> None:
    display, features = manifest(name)["display_information"], manifest(name)["features"]
    assert len(display["name"]) <= 35
    assert len(display["description"]) <= 140
    assert len(features["agent_view"]["agent_description"]) <= 300
    assert 1 <= len(features["agent_view"]["suggested_prompts"]) <= 4
    assert all(
        prompt.keys() == {"title", "message"} for prompt in features["agent_view"]["suggested_prompts"]
    )
    home = {"home_tab_enabled": True, "messages_tab_enabled": True, "messages_tab_read_only_enabled": False}
    assert features["app_home"] == home
    assert len(features["bot_user"]["display_name"]) <= 80


def test_the_example_configuration_loads_and_shows_the_defaults(tmp_path: Path) -> None:
    settings = Settings.load({"COUNTERSIGN_CONFIG": str(ROOT / "countersign.example.yaml")}, tmp_path)
    assert (settings.limits, settings.namespace) == (Limits(), "confirmation")
    assert settings.switches == Switches()
    (server,) = settings.servers
    assert (server.name, server.transport, server.trust) == ("filesystem", "inproc", Trust.BUNDLED)


def test_the_example_names_every_limit_and_key() -> None:
    example = (ROOT / "countersign.example.yaml").read_text("utf-8")
    names = [
        *Limits.__slots__,
        "mcpServers",
        "confirmation",
        "namespace",
        "limits",
        "policy",
        "phrases",
        "recipes",
        "planner",
        "model",
        "channels",
        *SETTABLE,
    ]
    assert [name for name in names if f"{name}:" not in example] == []


def test_what_is_commented_out_in_the_example_can_be_used(tmp_path: Path) -> None:
    example = (ROOT / "countersign.example.yaml").read_text("utf-8")
    used = re.sub(
        r"^(  )?# (?=(  .*|git:|issues:|channels: .*|webhooks: .*|api: .*|http: .*|sampling_bounds: .*|judge: .*|planner: .*|model: .*|policy: .*|phrases: .*|recipes: .*)$)",
        r"\1",
        example,
        flags=re.M,
    )
    (tmp_path / "countersign.yaml").write_text(used)
    settings = Settings.load({"ISSUES_TOKEN": "t"}, tmp_path)
    told = [(server.name, server.transport, server.trust) for server in settings.servers]
    assert told[1:] == [("git", "command", Trust.REVIEWED), ("issues", "url", Trust.DECLARED)]
    assert settings.servers[2].headers == {"Authorization": "Bearer t"}
    assert settings.recipes == tmp_path / "manifests/tools"
    assert settings.switches_for("C0123456789").conversational
    assert (settings.api, settings.http, settings.judge) == (
        Bounds(),
        HttpLimits(),
        "rules",
    )  # as where nothing is said
    assert settings.model is None  # `planner: phrases` counts more than the model that is named


def test_the_switches_in_the_example_are_the_defaults() -> None:
    example = (ROOT / "countersign.example.yaml").read_text("utf-8")
    shown = dict(re.findall(r"^# (\w+): (\w+) #", example, flags=re.M))
    assert with_switches(Switches(), {name: shown[name] for name in (*FLAGS, *CHOICES)}) == Switches()


def test_the_configuration_page_names_every_switch_and_its_default() -> None:
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    assert [name for name in SETTABLE if f"| `{name}` |" not in page] == []
    defaults = {name: getattr(Switches(), name) for name in (*FLAGS, *CHOICES)}
    documented = dict(re.findall(r"^\| `(\w+)` \|.*\| `(\w+)` \|$", page, flags=re.M))
    assert with_switches(Switches(), {name: documented[name] for name in defaults}) == Switches()
