"""`python -m bot webhooks …`, and the networks that countersign.yaml allows them."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path

import pytest

from bot.config_file import read_config
from gate.rules.webhooks import key_of
from tests.bot.test_cli import Run, home, run
from tools.strict_config import ConfigError

__all__ = ["home", "run"]
TEAM = ("--team", "T0OURS")


def test_a_webhook_is_added_listed_rotated_and_removed(run: Run) -> None:
    run("migrate")
    code, out, err = run("webhooks", "add", "https://example.com/hook", *TEAM, "--kind", "approval_requested")
    hook, secret = out.split()
    assert code == 0
    assert len(key_of(secret)) == 32
    assert "not shown again" in err
    _, listed, _ = run("webhooks", "list")
    assert "https://example.com/hook" in listed
    assert "approval_requested" in listed
    assert secret not in listed
    assert run("webhooks", "rotate", hook)[1].strip() != secret
    assert run("webhooks", "remove", hook)[0] == 0
    assert run("webhooks", "list")[1] == ""
    assert run("webhooks", "remove", hook)[0] == 1


def test_a_webhook_is_added_rotated_and_removed_on_the_record(run: Run) -> None:
    run("migrate")
    hook, secret = run("webhooks", "add", "https://example.com/hook?key=s3cret", *TEAM, "--channel", "C0OPS")[
        1
    ].split()
    newer = run("webhooks", "rotate", hook)[1].strip()
    assert run("webhooks", "remove", hook)[0] == 0
    told = [json.loads(line) for line in run("audit", "export")[1].splitlines()]
    assert [one["event"] for one in told] == ["webhook_added", "webhook_rotated", "webhook_removed"]
    for one in told:
        assert (one["actor"], one["action"]) == ("operator", hook)
        assert one["reason"] == "example.com: C0OPS, all events"
    assert not any(text in str(told) for text in (secret, newer, "s3cret"))
    assert run("audit", "verify")[1].startswith("ok: 3 entries")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("http://example.com/", *TEAM), "https to port 443"),
        (("https://127.1/", *TEAM), "written plainly"),
        (("https://me@example.com/", *TEAM), "no user"),
        (("https://example.com/", "--team", "ours"), "a workspace ID"),
        (("https://example.com/", *TEAM, "--kind", "everything"), "there are action_changed"),
        (("https://example.com/", *TEAM, "--channel", "#ops"), "a channel ID"),
    ],
)
def test_a_wrong_webhook_is_answered_with_what_to_do(run: Run, words: tuple[str, ...], told: str) -> None:
    code, out, err = run("webhooks", "add", *words)
    assert (code, out) == (1, "")
    assert told in err


def test_the_operator_names_networks_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "countersign.yaml"
    path.write_text("webhooks: {allow: [10.1.0.0/16, 'fd00::/8']}\n")
    assert read_config(path, {}).webhooks == (ip_network("10.1.0.0/16"), ip_network("fd00::/8"))
    path.write_text("webhooks: {allow: [10.1.0.1/16]}\n")
    with pytest.raises(ConfigError, match="a network such as"):
        read_config(path, {})
