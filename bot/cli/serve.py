"""The commands that serve, and the migration before them."""

from __future__ import annotations

import sys

from bot.process_priority import step_back, take_turns
from bot.settings import Settings


async def everything(settings: Settings) -> None:
    await _serve(settings, "web", "worker")


async def web(settings: Settings) -> None:
    await _serve(settings, "web")


async def worker(settings: Settings) -> None:
    await _serve(settings, "worker")


async def migrate(settings: Settings) -> None:
    """Bring the database to the tables of this version, and say what was done with which."""
    from bot import data_folder
    from bot.startup import report_database_errors
    from storage.database import parse
    from storage.migrate import migrate

    data_folder.prepare(settings)
    with report_database_errors(settings):
        done = await migrate(settings.database_url)
    name = parse(settings.database_url).render_as_string(hide_password=True)
    sys.stdout.write(
        f"{name} {'has the tables of this version now' if done else 'is up to date: nothing was changed'}.\n"
    )


async def serve_as(settings: Settings, roles: frozenset[str]) -> None:
    """Serve in these roles. A worker beside a web process leaves it the CPU: acknowledgements cannot wait."""
    from bot.wiring import serve

    if "web" not in roles:
        step_back(settings.worker_nice)
    take_turns()
    await serve(settings, roles)


async def _serve(settings: Settings, *roles: str) -> None:
    from bot.cli.main import CommandError

    if len(roles) == 1 and settings.alone:
        raise CommandError(
            "With SQLite one process does everything: run `python -m bot`, or set DATABASE_URL to PostgreSQL."
        )
    if not settings.servers:
        from bot.startup import NO_SERVERS

        raise CommandError(NO_SERVERS)
    await serve_as(settings, frozenset(roles))
