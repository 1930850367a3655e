"""One engine for each kind of database in a test process: a statement is compiled once, not once for every test."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import AsyncEngine

from storage.database import open_engine, parse

_engines: dict[str, AsyncEngine] = {}
_now: dict[str, URL] = {}


def engine_for(url: str) -> AsyncEngine:
    """The engine, connecting to this database from now on. `dispose` of it before the next one is asked for."""
    address = parse(url)
    kind = address.get_backend_name()
    _now[kind] = address
    if kind not in _engines:
        _engines[kind] = open_engine(url)
        event.listen(_engines[kind].sync_engine, "do_connect", _lead)
    return _engines[kind]


def _lead(dialect: Any, _: Any, args: list[Any], named: dict[str, Any]) -> None:
    address, given = dialect.create_connect_args(_now[dialect.name])
    args[:] = address
    named.update(given)
