"""Tokens on record, on both databases."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncEngine

from gate.access import Kind, Token, Written
from storage.tokens import TokenStore


async def test_a_token_is_found_by_id_and_secret_together(engine: AsyncEngine) -> None:
    store = TokenStore(engine)
    now = await store.now()
    token = Token("0" * 16, Kind.AGENT, "nightly", "T1", "U1", ("C1", "C2"), now, now + timedelta(days=1))
    await store.add(token, "secret")
    assert await store.find(Written(token.id, "secret")) == token
    assert await store.find(Written(token.id, "Secret")) is None
    assert await store.find(Written("1" * 16, "secret")) is None
    assert await store.all() == (token,)


async def test_a_token_is_revoked_once(engine: AsyncEngine) -> None:
    store = TokenStore(engine)
    now = await store.now()
    await store.add(Token("t", Kind.PERSON, "me", "T1", "U1", (), now, now + timedelta(days=1)), "secret")
    assert await store.revoke("t")
    assert not await store.revoke("t")
    found = await store.get("t")
    assert found is not None
    assert found.revoked_at is not None


async def test_who_proposed_first_stays_its_maker(engine: AsyncEngine) -> None:
    store = TokenStore(engine)
    now = await store.now()
    one, two = (
        Token(name, Kind.AGENT, name, "T1", "U1", ("C1",), now, now + timedelta(days=1))
        for name in ("a", "b")
    )
    await store.made(one, "action")
    await store.made(two, "action")
    assert await store.makers(["action", "", "else"]) == {"action": "a"}
