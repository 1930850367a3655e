"""The database of the service, for the operator's commands: read as it is, whether or not the service runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.cli import CommandError
from bot.settings import Settings
from gate.world import Unavailable
from storage.engine import open_engine, parse
from storage.pins import Pin, PinStore


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[AsyncEngine]:
    """The database as it is: nothing is made. Raises CommandError when it cannot be had or has no tables."""
    _must_exist(settings.database_url)
    engine = open_engine(settings.database_url)
    try:
        yield engine
    except DBAPIError as error:
        why = str(error.orig).strip().splitlines()[0]
        raise CommandError(
            f"The database cannot be read ({why}): check DATABASE_URL, and run `python -m bot migrate`."
        ) from error
    except Unavailable as error:
        raise CommandError(
            f"{error} If it is running: check DATABASE_URL, and run `python -m bot migrate`."
        ) from error
    finally:
        await engine.dispose()


def _must_exist(url: str) -> None:
    """SQLite would make an empty file where there is none."""
    address = parse(url)
    if address.get_backend_name() == "sqlite" and not Path(str(address.database)).exists():
        raise CommandError(f"There is no database {address.database} yet: run `python -m bot migrate`.")


async def pins(settings: Settings) -> dict[tuple[str, str], Pin]:
    """The definitions seen so far, by server and tool; none where there is no database yet."""
    try:
        async with database(settings) as engine:
            return {(pin.server, pin.tool): pin for pin in await PinStore(engine).all()}
    except CommandError:
        return {}
