"""How many requests somebody has made lately, counted in Redis."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from gate.rules.ports import Unavailable

SECONDS = 1.0  # for one question
AWAY = "One of my stores (Redis) does not answer, so I cannot count requests. Nothing changed: try again in a moment."
# KEYS: the count. ARGV: milliseconds of the window. The count with this one, and how long it still lasts.
TAKE = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}
"""


class RedisRates:
    """Counts by key in windows that begin with the first request."""

    def __init__(self, redis: Redis, namespace: str) -> None:
        self._redis, self._namespace = redis, namespace
        self._take: Any = redis.register_script(TAKE)

    async def take(self, key: str, most: int, seconds: float) -> float:
        """Count one; 0 when it is within `most` in `seconds`, else for how many seconds to wait."""
        try:
            async with asyncio.timeout(SECONDS):
                count, left = await self._take(
                    keys=[f"{self._namespace}:rate:{key}"], args=[round(seconds * 1000)]
                )
        except (RedisError, OSError, TimeoutError) as error:
            raise Unavailable(AWAY) from error
        return 0.0 if count <= most else max(left, 1) / 1000
