"""The chance to confirm, kept in Redis: one record per pending action, which ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisError

from gate.action import Session
from gate.world import Lease, Unavailable
from storage.codec import dumps, loads

SECONDS = 1.0  # for one question, connecting included
AWAY = "Redis does not answer, so nothing can be confirmed right now. Nothing was run: try again in a moment."

# KEYS: the record, the index of its user, the index of its session. ARGV: the record, its version, its
# milliseconds, the action. A newer version that is there already stays: two edits may arrive the wrong way round.
PUT = """
local there = redis.call('GET', KEYS[1])
local ours, record = pcall(cjson.decode, there)
local version = ours and type(record) == 'table' and tonumber(record.version)
if version and version > tonumber(ARGV[2]) then return 0 end
local ttl = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], ARGV[1], 'PX', ttl)
for i = 2, 3 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  redis.call('ZADD', KEYS[i], now + ttl, ARGV[4])
  redis.call('PEXPIRE', KEYS[i], math.max(ttl, redis.call('PTTL', KEYS[i])))
end
return 1
"""
# KEYS: the record, then the indexes. ARGV: the action.
DROP = """
for i = 2, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
return redis.call('DEL', KEYS[1])
"""
# KEYS: an index. ARGV: what stands before an action in the key of its record. The records, oldest first.
LIST = """
local found = {}
for _, action in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local record = redis.call('GET', ARGV[1] .. action)
  if record then found[#found + 1] = record else redis.call('ZREM', KEYS[1], action) end
end
return found
"""


def open_redis(url: str) -> Redis:
    """A client that gives up after a second, and tries again once where the connection was closed meanwhile.

    Not for a Redis cluster: the scripts touch keys of several slots.
    """
    once = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    return Redis.from_url(
        url, decode_responses=True, retry=once, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
    )


class RedisLeases:
    """gate.world.Leases. Keys: `{namespace}:{action}`, and per user and session the actions by their end."""

    def __init__(self, redis: Redis, namespace: str = "confirmation") -> None:
        self._redis = redis
        self._space = namespace
        self._put = redis.register_script(PUT)
        self._drop = redis.register_script(DROP)
        self._list = redis.register_script(LIST)

    async def put(self, lease: Lease, ttl: float) -> None:
        """Write or replace, for `ttl` seconds; an older version never replaces a newer."""
        keys = [self._record(lease.action), *self._indexes(lease)]
        milliseconds = max(round(ttl * 1000), 1)
        await asked(self._put(keys, [dumps(Lease, lease), lease.version, milliseconds, lease.action]))

    async def get(self, action_id: str) -> Lease | None:
        text = await asked(self._redis.get(self._record(action_id)))
        return _read(text) if text else None

    async def drop(self, action_id: str) -> None:
        held = await self.get(action_id)
        indexes = self._indexes(held) if held else []
        await asked(self._drop([self._record(action_id), *indexes], [action_id]))

    async def of_user(self, team: str, user: str) -> tuple[Lease, ...]:
        return await self._of(self._by_user(team, user))

    async def of_session(self, session: Session) -> tuple[Lease, ...]:
        return await self._of(self._by_session(session.key))

    async def _of(self, index: str) -> tuple[Lease, ...]:
        texts = await asked(self._list([index], [self._record("")]))
        return tuple(lease for lease in map(_read, texts) if lease)

    def _record(self, action_id: str) -> str:
        return f"{self._space}:{action_id}"

    def _indexes(self, lease: Lease) -> list[str]:
        by_user = self._by_user(Session.of(lease.session).team, lease.user)
        return [by_user, self._by_session(lease.session)]

    # Action ids hold no colon, so no record can have the name of an index.
    def _by_user(self, team: str, user: str) -> str:
        return f"{self._space}:user:{team}:{user}"

    def _by_session(self, session: str) -> str:
        return f"{self._space}:session:{session}"


def _read(text: str) -> Lease | None:
    """The lease, or None for a record that is none of ours: as good as none, so nothing is confirmed by it."""
    try:
        lease: Lease = loads(Lease, text)
        return lease
    except (ValueError, TypeError, KeyError):
        return None


async def asked(answer: Awaitable[Any]) -> Any:
    """The answer of Redis. Raises Unavailable when there is none in time."""
    try:
        async with asyncio.timeout(SECONDS):  # the client's own limit counts anew for each of its attempts
            return await answer
    except (RedisError, OSError) as error:  # OSError has TimeoutError in it
        raise Unavailable(AWAY) from error
