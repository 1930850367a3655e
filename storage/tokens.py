"""API tokens on record: only the hash of a secret is kept; and which token proposed what."""

from __future__ import annotations

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.access import Token, Written, digest
from storage.api_tables import made, tokens
from storage.columns import clock
from storage.engine import ask, carry
from storage.rows import insert, plain

COLUMNS = [column for column in tokens.c if column.name != "digest"]


class TokenStore:
    """Methods raise Unavailable when the database cannot be had. `offset`: added to its clock (tests)."""

    def __init__(self, engine: AsyncEngine, offset: timedelta = timedelta(0)) -> None:
        self._engine = engine
        self.offset = offset

    async def add(self, token: Token, secret: str) -> None:
        await carry(self._engine, insert(tokens, self._dialect).values(**plain(token), digest=digest(secret)))

    async def find(self, written: Written) -> Token | None:
        """The token with this id and secret, expired and revoked ones included; None when there is none."""
        found = await ask(self._engine, select(tokens).where(tokens.c.id == written.id))
        kept = found[0].digest if found else digest("")  # the same work, whether or not there is such an id
        right = hmac.compare_digest(kept, digest(written.secret))
        return _token(found[0]) if found and right else None

    async def get(self, token_id: str) -> Token | None:
        found = await ask(self._engine, select(*COLUMNS).where(tokens.c.id == token_id))
        return _token(found[0]) if found else None

    async def counting(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the ids whose token counts now."""
        still = (tokens.c.revoked_at.is_(None), tokens.c.expires_at > clock(self.offset))
        found = await ask(self._engine, select(tokens.c.id).where(tokens.c.id.in_(set(ids)), *still))
        return frozenset(row.id for row in found)

    async def all(self) -> tuple[Token, ...]:
        return tuple(
            map(_token, await ask(self._engine, select(*COLUMNS).order_by(tokens.c.created_at, tokens.c.id)))
        )

    async def revoke(self, token_id: str) -> bool:
        """Whether there was such a token that still counted."""
        still = and_(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        return bool(
            await carry(self._engine, update(tokens).where(still).values(revoked_at=clock(self.offset)))
        )

    async def made(self, token: Token, about: str) -> None:
        """Note that this token proposes what has, or will have, this id. The first one to say so stays."""
        row = {"id": about, "token": token.id, "at": clock(self.offset)}
        await carry(self._engine, insert(made, self._dialect).values(row).on_conflict_do_nothing())

    async def makers(self, ids: Collection[str]) -> dict[str, str]:
        """Id of a proposed thing -> id of the token; without those that no token proposed."""
        wanted = [one for one in ids if one]
        if not wanted:
            return {}
        return {
            row.id: row.token for row in await ask(self._engine, select(made).where(made.c.id.in_(wanted)))
        }

    async def now(self) -> datetime:
        ((moment,),) = await ask(self._engine, select(clock(self.offset)))
        assert isinstance(moment, datetime)
        return moment

    @property
    def _dialect(self) -> str:
        return self._engine.dialect.name


def _token(row: Any) -> Token:
    return Token(**{column.name: getattr(row, column.name) for column in COLUMNS})
