"""Files for this user alone: made with mode 0600 in folders of 0700, and tightened where they were made wider."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

FILE, FOLDER = 0o600, 0o700


def opener(path: str, flags: int) -> int:
    """For `open(…, opener=opener)`: what is made is readable by its owner alone."""
    return os.open(path, flags, FILE)


def folder(path: Path) -> Path:
    """The folder, made where it is missing. Raises OSError."""
    path.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    return path


def file(path: Path) -> Path:
    """The file, made empty where it is missing, in a folder that is. Raises OSError."""
    folder(path.parent)
    open(path, "ab", opener=opener).close()
    return path


def tighten(path: Path, *, below: bool = True) -> int:
    """Take everybody else's rights off this file or folder, and off all that is `below` it; how many there were that
    had any. Links are not followed. Raises OSError."""
    return sum(map(_tighten, _within(path, below)))


def _within(path: Path, below: bool) -> Iterator[Path]:
    if not os.path.lexists(path):
        return
    yield path
    for parent, folders, files in os.walk(path) if below and path.is_dir() and not path.is_symlink() else ():
        yield from (Path(parent, name) for name in (*folders, *files))


def _tighten(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or not mode & 0o077:
            return False
        path.chmod(stat.S_IMODE(mode) & FOLDER)
    except FileNotFoundError:  # it has just been removed
        return False
    return True
