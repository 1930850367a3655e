"""What stands in the way of a start, each in one sentence that says what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from redis.asyncio import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import DBAPIError

if TYPE_CHECKING:
    from bot.settings import Settings  # which knows the limits of bot/http_limits.py

SECONDS = 10.0  # for Redis to answer
NO_SERVERS = "No MCP servers are configured: name some under mcpServers, as countersign.example.yaml does."
NO_TABLES = "The database does not have the tables of this version: run `python -m bot migrate` first."
NO_DATABASE = "The database cannot be used ({why}): check that it runs, and DATABASE_URL."
NO_FILE = (
    "The database {path} cannot be used ({why}): check the rights of its file and folder, and the free space."
)
NO_REDIS = (
    "Redis does not answer ({why}): check that it runs, and REDIS_URL, or unset it for the embedded one."
)
NO_PORT = "Port {port} cannot be listened on ({why}): stop what uses it, or set PORT to another one."


class NotStarted(Exception):
    """Something has to be mended before a start. Its text is one sentence."""


@contextmanager
def report_database_errors(settings: Settings) -> Iterator[None]:
    """Tell in a sentence that the database cannot be had."""
    try:
        yield
    except (DBAPIError, OSError) as error:
        why = next(iter(str(getattr(error, "orig", error)).strip().splitlines()), "no more is known")
        if settings.alone:
            path = settings.database_url.partition("///")[2]
            raise NotStarted(NO_FILE.format(path=path, why=why)) from error
        raise NotStarted(NO_DATABASE.format(why=why)) from error


async def require_redis(redis: Redis) -> None:
    """Raise NotStarted unless Redis answers."""
    try:
        async with asyncio.timeout(SECONDS):
            await redis.ping()
    except (RedisError, OSError, TimeoutError) as error:
        why = str(error) or f"nothing in {SECONDS:g} s"
        raise NotStarted(NO_REDIS.format(why=why)) from error
