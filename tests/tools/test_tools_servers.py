"""mcpServers is read strictly: what is meant is taken, and every mistake is named with its server and key."""

from __future__ import annotations

from typing import Any

import pytest

from gate.tool import Trust
from tools.servers import BadServers, ServerConfig, read_servers

ENVIRONMENT = {"TOKEN": "s3cret", "HOME": "/home/ann"}


def read(**entry: Any) -> ServerConfig:
    return read_servers({"s": entry}, ENVIRONMENT)[0]


def test_the_usual_form_is_read() -> None:
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
        ENVIRONMENT,
    )
    git, web, files = configs
    assert git.args == ("--repository", "/home/ann/repo")
    assert (git.way, git.trust, git.mode, git.timeout, git.concurrency) == (
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
    assert (web.way, web.trust, web.headers) == ("url", Trust.DECLARED, {"Authorization": "Bearer s3cret"})
    assert (files.way, files.trust, files.args) == ("inproc", Trust.BUNDLED, ("files",))


def test_no_servers_is_fine() -> None:
    assert read_servers(None, {}) == ()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "exactly one of"),
        ({"command": "a", "url": "http://x"}, "exactly one of"),
        ({"command": "a", "headers": {}}, "`headers` is not known with `command`"),
        ({"command": "a", "comand": "b"}, "`comand` is not known"),
        ({"command": ""}, "`command` must be text"),
        ({"command": ["a"]}, "`command` must be text"),
        ({"command": "a", "args": "b"}, "`args` must be a list of texts"),
        ({"command": "a", "args": [1]}, "`args` must be a list of texts"),
        ({"command": "a", "env": {"A": 1}}, "`env` must be a mapping"),
        ({"command": "a", "env": {"A": "${NOPE}"}}, "needs the environment variable NOPE"),
        ({"command": "a", "trust": "blind"}, "`trust` must be one of"),
        ({"command": "a", "mode": "modern"}, "`mode` must be one of auto, legacy"),
        ({"command": "a", "timeout": 0}, "`timeout` must be a number"),
        ({"command": "a", "timeout": True}, "`timeout` must be a number"),
        ({"command": "a", "concurrency": 1.5}, "`concurrency` must be a number"),
        ({"command": "a", "pin": {"version": "1"}}, "`pin.version` is not known"),
        ({"command": "a", "pin": {"catalogue": "abc"}}, "`pin.catalogue` must be sha256:"),
        ({"command": "a", "type": "http"}, "does not go with `command`"),
        ({"url": "x.test"}, "`url` must begin with http"),
        ("command", "exactly one of"),
    ],
)
def test_each_mistake_is_named(entry: Any, said: str) -> None:
    with pytest.raises(BadServers) as caught:
        read_servers({"s": entry}, ENVIRONMENT)
    assert said in str(caught.value)
    assert "mcpServers.s" in str(caught.value)


@pytest.mark.parametrize("name", ["", "a b", "a.b", "x" * 41, "é"])
def test_a_name_must_be_plain(name: str) -> None:
    with pytest.raises(BadServers, match="a name is 1 to 40"):
        read_servers({name: {"command": "a"}}, {})


def test_all_mistakes_are_told_at_once_and_no_secret_is() -> None:
    entries = {"a": {"command": "x", "wrong": "${TOKEN}"}, "b": {"url": "${TOKEN}"}}
    with pytest.raises(BadServers) as caught:
        read_servers(entries, ENVIRONMENT)
    assert len(caught.value.problems) == 2
    assert "s3cret" not in str(caught.value)


def test_servers_must_be_a_mapping() -> None:
    with pytest.raises(BadServers):
        read_servers(["a"], {})
