"""`mcpServers` is validated strictly: every mistake names its server and key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gate.rules.tool import Trust
from tools.mcp.server_config import ENVIRONMENT, ServerConfig, Servers, server_configs
from tools.strict_config import ConfigError, Document, Section

VARIABLES = {"TOKEN": "s3cret", "HOME": "/home/ann"}


class File(Section):
    servers: Servers


def read_servers(entries: Any, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    text = json.dumps({"servers": entries})
    return server_configs(Document.parse("c.yaml", text).validated(File, {ENVIRONMENT: environ}).servers)


def read(**entry: Any) -> ServerConfig:
    return read_servers({"s": entry}, VARIABLES)[0]


def test_the_usual_form_is_accepted() -> None:
    configs = read_servers(
        {
            "git": {
                "command": "mcp-server-git",
                "args": ["--repository", "${HOME}/repo"],
                "env": {"A": "b"},
                "cwd": "/tmp",
                "trust": "reviewed",
                "recipes": "server-git",
                "mode": "legacy",
                "timeout": 5,
                "concurrency": 2,
                "pin": {"package": "mcp-server-git@1", "catalogue": "sha256:" + "0" * 64},
            },
            "web": {
                "type": "http",
                "url": "https://x.test/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
            },
            "files": {"inproc": "servers.filesystem:server", "args": ["files"]},
        },
        VARIABLES,
    )
    git, web, files = configs
    assert git.args == ("--repository", "/home/ann/repo")
    assert (git.transport, git.trust, git.mode, git.timeout, git.concurrency) == (
        "command",
        "reviewed",
        "legacy",
        5,
        2,
    )
    assert (git.recipes, git.package, git.catalogue) == (
        "server-git",
        "mcp-server-git@1",
        "sha256:" + "0" * 64,
    )
    assert (web.transport, web.trust, web.headers) == (
        "url",
        Trust.DECLARED,
        {"Authorization": "Bearer s3cret"},
    )
    assert (files.transport, files.trust, files.args) == ("inproc", Trust.BUNDLED, ("files",))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({}, "exactly one of"),
        ({"command": "a", "url": "http://x"}, "exactly one of"),
        ({"command": "a", "headers": {}}, "servers.s.headers” is not known with `command`"),
        ({"command": "a", "comand": "b"}, "servers.s.comand” is not known; did you mean “command”"),
        ({"command": ""}, "servers.s.command” must be text"),
        ({"command": ["a"]}, "servers.s.command” must be text"),
        ({"command": "a", "args": "b"}, "servers.s.args” must be a list"),
        ({"command": "a", "args": [1]}, "servers.s.args[0]” must be text: put it into quotes"),
        ({"command": "a", "env": {"A": 1}}, "servers.s.env.A” must be text: put it into quotes"),
        ({"command": "a", "env": {"A": "${NOPE}"}}, "needs the environment variable NOPE"),
        ({"command": "a", "trust": "blind"}, "servers.s.trust” must be one of"),
        ({"command": "a", "mode": "modern"}, "servers.s.mode” must be one of auto, legacy"),
        ({"command": "a", "timeout": 0}, "servers.s.timeout” must be a number"),
        ({"command": "a", "timeout": True}, "servers.s.timeout” must be a number"),
        ({"command": "a", "sampling": "yes"}, "servers.s.sampling” must be"),
        ({"command": "a", "concurrency": 1.5}, "servers.s.concurrency” must be a whole number"),
        ({"command": "a", "pin": {"version": "1"}}, "servers.s.pin.version” is not known"),
        ({"command": "a", "pin": {"catalogue": "abc"}}, "servers.s.pin.catalogue” must be sha256:"),
        ({"command": "a", "type": "http"}, "does not go with `command`"),
        ({"url": "x.test"}, "servers.s.url” must begin with http"),
        ({"url": "http://x.test/a b"}, "servers.s.url” must begin with http"),
        ({"url": "http://x.test/\x00"}, "servers.s.url” must begin with http"),
        ({"url": "http://x.test", "headers": {"A": "b\nC: d"}}, "headers.A” must be one line"),
        ({"inproc": "os:system"}, "servers.s.inproc” must name a server that comes along"),
        ({"inproc": "servers.filesystem"}, "servers.s.inproc” must name a server that comes along"),
        ("command", "servers.s” must be a mapping"),
    ],
)
def test_each_mistake_is_named(entry: Any, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_servers({"s": entry}, VARIABLES)
    assert expected in str(caught.value)
    assert "“servers.s" in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 41, "é"])
def test_a_name_must_be_plain(name: str) -> None:
    with pytest.raises(ConfigError, match="it is 1 to 40"):
        read_servers({name: {"command": "a"}}, {})


def test_all_mistakes_are_reported_at_once_and_no_secret_is() -> None:
    entries = {"a": {"command": "x", "wrong": "${TOKEN}"}, "b": {"url": "${TOKEN}"}}
    with pytest.raises(ConfigError) as caught:
        read_servers(entries, VARIABLES)
    assert len(caught.value.problems) == 2
    assert "s3cret" not in str(caught.value)


def test_servers_must_be_a_mapping() -> None:
    with pytest.raises(ConfigError):
        read_servers(["a"], {})
