"""Tokens on record, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import event, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import IssuedToken, Token, TokenKind
from storage.api_tables import tokens
from storage.ledger import MAKER_PAGE, SqlLedger
from storage.row_macs import RowMacs
from storage.tokens import LOOKS, TokenStore
from tests.storage.conftest import SEALS
from tests.storage.samples import action


async def test_a_token_is_found_by_id_and_secret_together(engine: AsyncEngine) -> None:
    store = TokenStore(engine, SEALS)
    now = await store.now()
    token = Token(
        "0" * 16, TokenKind.AGENT, "nightly", "T1", "U1", ("C1", "C2"), now, now + timedelta(days=1)
    )
    await store.add(token, "secret")
    assert await store.find(IssuedToken(token.id, "secret")) == token
    assert await store.find(IssuedToken(token.id, "Secret")) is None
    assert await store.find(IssuedToken("1" * 16, "secret")) is None
    assert await store.all() == (token,)


async def test_guesses_cost_a_few_statements_a_second_and_keep_no_new_token_out(engine: AsyncEngine) -> None:
    now, asked = [100.0], list[str]()
    store = TokenStore(engine, SEALS, seconds=lambda: now[0])

    def note(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    at = await store.now()
    known, new = (
        Token(name * 16, TokenKind.AGENT, name, "T1", "U1", (), at, at + timedelta(days=1))
        for name in ("a", "b")
    )
    await store.add(known, "secret")
    assert await store.find(IssuedToken(known.id, "secret")) == known
    event.listen(engine.sync_engine, "before_cursor_execute", note)
    for number in range(300):
        assert await store.find(IssuedToken(f"{number:016}", "guess")) is None
        assert await store.find(IssuedToken(known.id, f"guess {number}")) is None
        now[0] += 0.001
    assert len(asked) <= 2 * LOOKS
    assert await store.find(IssuedToken(known.id, "secret")) == known
    await TokenStore(engine, SEALS).add(new, "other")  # by another process, while somebody guesses
    now[0] += 1 / LOOKS
    assert await store.find(IssuedToken("f" * 16, "guess")) is None
    assert await store.find(IssuedToken(new.id, "other")) == new


async def test_a_token_is_revoked_once(engine: AsyncEngine) -> None:
    store = TokenStore(engine, SEALS)
    now = await store.now()
    await store.add(
        Token("t", TokenKind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1)), "secret"
    )
    assert await store.revoke("t")
    assert not await store.revoke("t")
    found = await store.get("t")
    assert found is not None
    assert found.revoked_at is not None


async def test_who_proposed_first_stays_its_maker(engine: AsyncEngine, ledger: SqlLedger) -> None:
    for token in ("a", "b"):
        async with ledger.begin() as tx:
            await tx.record_token(token, "action")
    assert await TokenStore(engine, SEALS).makers(["action", "", "else"]) == {"action": "a"}


async def test_a_purge_forgets_who_proposed_what_was_not_stored(
    engine: AsyncEngine, ledger: SqlLedger
) -> None:
    ids = [f"gone{number}" for number in range(MAKER_PAGE + 2)]
    now = await ledger.now()
    async with ledger.begin() as tx:
        await tx.insert(action(id="stored", created_at=now, expires_at=now + timedelta(hours=1)))
        for one in ("stored", *ids):
            await tx.record_token("a", one)
    await ledger.purge(now - timedelta(hours=1))
    assert len(await TokenStore(engine, SEALS).makers(ids)) == len(ids)
    await ledger.purge(now + timedelta(hours=1))
    assert await TokenStore(engine, SEALS).makers(["stored", *ids]) == {"stored": "a"}


async def test_a_token_that_was_written_or_changed_in_the_database_is_none(engine: AsyncEngine) -> None:
    store, forger = TokenStore(engine, SEALS), TokenStore(engine, RowMacs(b"another key"))
    now = await store.now()
    mine = Token("a", TokenKind.AGENT, "mine", "T1", "U1", ("C1",), now, now + timedelta(days=1))
    await store.add(mine, "secret")
    await forger.add(replace(mine, id="b", kind=TokenKind.PERSON), "secret")
    assert await store.find(IssuedToken("b", "secret")) is None
    assert await store.get("b") is None
    assert await store.all() == (mine,)
    assert await store.counting(["a", "b"]) == {"a"}
    for changed in ({"kind": TokenKind.PERSON}, {"user": "U9"}, {"expires_at": now + timedelta(days=900)}):
        async with engine.begin() as connection:
            await connection.execute(update(tokens).where(tokens.c.id == "a").values(changed))
        assert await store.find(IssuedToken("a", "secret")) is None
    assert await store.revoke("a")
    async with engine.begin() as connection:
        await connection.execute(update(tokens).values(revoked_at=None))
    assert await store.find(IssuedToken("a", "secret")) is None
