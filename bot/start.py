"""The commands that serve, and the migration before them."""

from __future__ import annotations

from bot.settings import Settings


async def everything(settings: Settings) -> None:
    await _serve(settings, "web", "worker")


async def web(settings: Settings) -> None:
    await _serve(settings, "web")


async def worker(settings: Settings) -> None:
    await _serve(settings, "worker")


async def migrate(settings: Settings) -> None:
    """Bring the database to the tables of this version."""
    from storage.migrate import migrate

    await migrate(settings.database_url)


async def _serve(settings: Settings, *roles: str) -> None:
    from bot.app import serve
    from bot.cli import CommandError

    if len(roles) == 1 and settings.alone:
        raise CommandError(
            "With SQLite one process does everything: run `python -m bot`, or set DATABASE_URL to PostgreSQL."
        )
    await serve(settings, frozenset(roles))
