"""`python -m bot tokens …`: shown once, only the hash kept, listed and revoked."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gate.rules.access import parse_token
from storage.database import open_engine
from storage.row_macs import row_macs_of
from storage.tokens import TokenStore
from tests.bot.test_cli import Run, home, run

__all__ = ["home", "run"]
ANN = ("--user", "U0ANN", "--team", "T0OURS")


# promise: API-04
def test_a_token_is_shown_once_and_only_its_hash_is_kept(run: Run, home: Path) -> None:
    run("migrate")
    code, out, err = run("tokens", "new", "agent", *ANN, "--channel", "C0OPS", "--name", "nightly")
    written = parse_token(out.strip())
    assert code == 0
    assert written is not None
    assert "not shown again" in err
    assert written.secret.encode() not in (home / "var/countersign.db").read_bytes()
    _, listed, _ = run("tokens", "list")
    assert written.id in listed
    assert "nightly" in listed
    assert written.secret not in listed


def test_a_revoked_token_is_listed_as_such_and_revoked_once(run: Run, home: Path) -> None:
    run("migrate")
    _, out, _ = run("tokens", "new", "person", *ANN)
    token = parse_token(out.strip())
    assert token is not None
    assert run("tokens", "revoke", token.id)[0] == 0
    assert "revoked" in run("tokens", "list")[1]
    code, _, err = run("tokens", "revoke", token.id)
    assert code == 1
    assert "still counts" in err

    async def found() -> bool:
        engine = open_engine(f"sqlite+aiosqlite:///{home / 'var/countersign.db'}")
        kept = await TokenStore(engine, row_macs_of((home / "var" / "audit.key").read_bytes())).find(token)
        await engine.dispose()
        return kept is not None and kept.revoked_at is not None

    assert asyncio.run(found())


def test_a_token_is_made_and_revoked_on_the_record(run: Run, home: Path) -> None:
    run("migrate")
    token = parse_token(
        run("tokens", "new", "agent", *ANN, "--channel", "C0OPS", "--name", "nightly")[1].strip()
    )
    assert token is not None
    assert run("tokens", "revoke", token.id)[0] == 0
    assert run("tokens", "revoke", token.id)[0] == 1
    told = [json.loads(line) for line in run("audit", "export")[1].splitlines()]
    assert [one["event"] for one in told] == ["token_added", "token_revoked"]
    for one in told:
        assert (one["actor"], one["action"], one["requester"]) == ("operator", token.id, "U0ANN")
        assert one["session"].startswith("T0OURS:C0OPS")
        assert "agent “nightly”: C0OPS, until 20" in one["reason"]
        assert token.secret not in str(one)
    assert run("audit", "verify")[1].startswith("ok: 2 entries")


def test_a_token_whose_row_was_changed_is_revoked_on_the_record(run: Run, home: Path) -> None:
    run("migrate")
    token = parse_token(run("tokens", "new", "person", *ANN)[1].strip())
    assert token is not None
    with closing(sqlite3.connect(home / "var/countersign.db")) as base, base:
        base.execute("UPDATE api_tokens SET \"user\" = 'U0EVE'")
    assert run("tokens", "revoke", token.id)[0] == 0
    last = json.loads(run("audit", "export")[1].splitlines()[-1])
    assert (last["event"], last["action"], last["requester"]) == ("token_revoked", token.id, "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("agent", *ANN), "at least one --channel"),
        (("agent", *ANN, "--channel", "#ops"), "a channel ID"),
        (("person", "--user", "ann", "--team", "T1"), "a member ID"),
        (("person", "--user", "U1", "--team", "ours"), "a workspace ID"),
        (("person", *ANN, "--days", "91"), "from 1 to 90"),
        (("person", *ANN, "--name", "x" * 81), "80 characters"),
    ],
)
def test_a_wrong_wish_is_answered_with_what_to_do(run: Run, words: tuple[str, ...], told: str) -> None:
    code, out, err = run("tokens", "new", *words)
    assert (code, out) == (1, "")
    assert told in err
