"""The database of the service, for the operator's commands: read as it is, whether or not the service runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.audit_key import seals_there
from bot.cli.main import CommandError
from bot.settings import Settings
from gate.rules.ports import Unavailable
from gate.rules.tool import Pin
from storage.database import open_engine, parse
from storage.tool_pins import PinStore


@asynccontextmanager
async def database(settings: Settings) -> AsyncIterator[AsyncEngine]:
    """The database as it is: nothing is made. Raises CommandError when it cannot be had or has no tables."""
    if not exists(settings.database_url):
        name = parse(settings.database_url).database
        raise CommandError(f"There is no database {name} yet: run `python -m bot migrate`.")
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


def exists(url: str) -> bool:
    """Whether there is a database to open. SQLite would make an empty file where there is none."""
    address = parse(url)
    return address.get_backend_name() != "sqlite" or Path(str(address.database)).exists()


async def pins(settings: Settings) -> dict[tuple[str, str], Pin]:
    """The definitions seen so far, by server and tool; none where there is no database yet."""
    try:
        async with database(settings) as engine:
            seals = await seals_there(settings, engine)
            if seals is None:
                return {}
            store = PinStore(engine, seals)
            return {(pin.server, pin.tool): pin for pin in await store.all()}
    except CommandError:
        return {}
