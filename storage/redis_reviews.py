"""What waits for a review, in Redis: a copy of what SQL says, without a time to live, for lists that must be fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis

from gate.rules.reviews import PendingReview
from storage.codec import dumps, loads
from storage.leases import ask_redis

BUILT = ""  # the field that says that the list was made from SQL; no id is empty


class RedisPending:
    """gate.rules.reviews.Pending. One hash for each team, `{namespace}:reviews:{team}`: what waits, by its key."""

    def __init__(self, redis: Redis, namespace: str = "confirmation") -> None:
        self._redis, self._space = redis, namespace

    async def put(self, waiting: PendingReview) -> None:
        place = self._of(waiting.session.team)
        await ask_redis(self._redis.hset(place, waiting.key, dumps(PendingReview, waiting)))

    async def drop(self, team: str, key: str) -> None:
        await ask_redis(self._redis.hdel(self._of(team), key))

    async def all(self, team: str) -> tuple[PendingReview, ...] | None:
        found = await ask_redis(self._redis.hgetall(self._of(team)))
        if BUILT not in found:
            return None
        try:
            return tuple(loads(PendingReview, text) for key, text in found.items() if key != BUILT)
        except (ValueError, TypeError, KeyError):  # not written by us as we are now: as good as not there
            return None

    async def replace(self, team: str, waiting: Sequence[PendingReview]) -> None:
        rows: dict[Any, Any] = {BUILT: "1", **{one.key: dumps(PendingReview, one) for one in waiting}}
        async with self._redis.pipeline(transaction=True) as both:
            both.delete(self._of(team))
            both.hset(self._of(team), mapping=rows)
            await ask_redis(both.execute())

    def _of(self, team: str) -> str:
        return f"{self._space}:reviews:{team}"
