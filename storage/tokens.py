"""API tokens on record: only the hash of a secret is kept; and which token proposed what."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import and_, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import IssuedToken, Token, digest
from storage.api_tables import made, tokens
from storage.columns import clock
from storage.database import ask
from storage.operator_record import carry_noted, token_entry
from storage.row_macs import RowMacs
from storage.rows import insert, loaded, plain

LOOKS = 5.0  # for ids that are not known


class TokenStore:
    """Methods raise Unavailable when the database cannot be had. A row that is not as it was written counts as none.
    `offset`: added to the database's clock (tests). `seconds`: a clock that only goes forward. `audit_key`: with
    which changes are noted in the log."""

    def __init__(
        self,
        engine: AsyncEngine,
        seals: RowMacs,
        offset: timedelta = timedelta(0),
        seconds: Callable[[], float] = time.monotonic,
        audit_key: bytes | None = None,
    ) -> None:
        self._engine, self._seals, self._audit_key = engine, seals, audit_key
        self.offset = offset
        self._digests: dict[str, str] = {}  # by id, as they were when an id was not among them
        self._one_looks = asyncio.Lock()
        self._seconds, self._looked, self._looks = seconds, seconds(), LOOKS

    async def add(self, token: Token, secret: str) -> None:
        row = self._seals.sealed(tokens, {**plain(token), "digest": digest(secret)})
        new = insert(tokens, self._dialect).values(row)
        await carry_noted(self._engine, self._audit_key, new, token_entry("token_added", token.id, token))

    async def find(self, written: IssuedToken) -> Token | None:
        """The token with this id and secret, expired and revoked ones included; None when there is none. A wrong
        secret costs no statement, and wrong ids cost a few in a second, however many there are."""
        given = digest(written.secret)
        if not hmac.compare_digest(await self._digest_of(written.id), given):
            return None
        found = await self._rows(tokens.c.id == written.id)
        return loaded(Token, found[0]) if found and hmac.compare_digest(found[0].digest, given) else None

    async def _digest_of(self, token_id: str) -> str:
        """The digest of its secret; "" where there is no such token that we know of."""
        if token_id not in self._digests:
            async with self._one_looks:  # who comes meanwhile may be among those that it finds
                if token_id not in self._digests and self._may_look():
                    rows = await ask(self._engine, select(tokens.c.id, tokens.c.digest))
                    self._digests = {row.id: row.digest for row in rows}
        return self._digests.get(token_id, "")

    def _may_look(self) -> bool:
        """Whether an id that is not known is looked for: LOOKS at once, then as many in a second. Each look finds
        every token, so that none stays unknown for long while others guess."""
        now = self._seconds()
        self._looks, self._looked = min(LOOKS, self._looks + (now - self._looked) * LOOKS), now
        if self._looks < 1:
            return False
        self._looks -= 1
        return True

    async def get(self, token_id: str) -> Token | None:
        found = await self._rows(tokens.c.id == token_id)
        return loaded(Token, found[0]) if found else None

    async def counting(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the ids whose token counts now."""
        still = (tokens.c.revoked_at.is_(None), tokens.c.expires_at > clock(self.offset))
        return frozenset(row.id for row in await self._rows(tokens.c.id.in_(set(ids)), *still))

    async def all(self) -> tuple[Token, ...]:
        return tuple(loaded(Token, row) for row in await self._rows())

    async def _rows(self, *which: Any) -> list[Any]:
        """Those that are as they were written, or were revoked, which takes the MAC away."""
        found = await ask(
            self._engine, select(tokens).where(*which).order_by(tokens.c.created_at, tokens.c.id)
        )
        return [row for row in found if row.revoked_at is not None or self._seals.holds(tokens, row)]

    async def revoke(self, token_id: str) -> bool:
        """Whether there was such a token that still counted."""
        noted = token_entry("token_revoked", token_id, await self.get(token_id))
        still = and_(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        ended = update(tokens).where(still).values({"revoked_at": clock(self.offset), "mac": ""})
        return bool(await carry_noted(self._engine, self._audit_key, ended, noted))

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
