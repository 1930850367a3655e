"""The home of one Countersign: its folder can be written to, and nobody else can read what is in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile

from bot.settings import Settings, SettingsError
from storage import file_modes
from storage.database import parse

log = logging.getLogger(__name__)

PARTS = ("audit.*", "countersign.db*", "logs", "redis", "mails")
NOT_MINE = (
    "The home {home} cannot be used ({why}): give this user the right to read and write it, free some space, or set "
    "COUNTERSIGN_HOME to another folder."
)


def prepare(settings: Settings) -> None:
    """Make the home where it is missing, and take everybody else's rights off it and off a SQLite database elsewhere,
    with a notice. Raises SettingsError where it cannot be written to."""
    try:
        file_modes.folder(settings.home)
        with TemporaryFile(
            dir=settings.home
        ) as probe:  # not by one name: processes of one home start together
            probe.write(b"x" * 4096)
        tightened = sum(file_modes.tighten(path, below=below) for path, below in _ours(settings))
    except OSError as error:
        why = error.strerror or str(error)
        raise SettingsError([NOT_MINE.format(home=settings.home, why=why.lower())]) from error
    if tightened:
        log.warning(
            "%d files and folders of %s could be read by others of this machine: now only by this user.",
            tightened,
            settings.home,
        )


def _ours(settings: Settings) -> Iterator[tuple[Path, bool]]:
    """The home, what we put into it, and the files of a SQLite database; each with whether all below it is ours, too.
    What else lies there is somebody else's, and is kept from others by the home's own rights."""
    yield settings.home, False
    yield from ((path, True) for name in PARTS for path in settings.home.glob(name))
    if settings.alone:
        name = str(parse(settings.database_url).database)
        found = (Path(f"{name}{end}") for end in ("", "-wal", "-shm", "-journal", ".lock"))
        yield from ((path, False) for path in found if not path.is_dir())
