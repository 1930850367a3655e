"""Finding files by a shell pattern and by a literal text: bounded in time, names and bytes, no regular expressions."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, look, room, text
from servers.filesystem.models import Match, Matches
from servers.filesystem.roots import Place, Spot, opened

SEARCHED = 1 << 20  # bytes of each file
EXCERPT = 200  # characters


def search(place: Place, pattern: str, contains: str | None, limit: int, budget: look.Budget) -> Matches:
    """Names that fit `pattern`, of files whose text holds `contains`, below a folder. Case does not matter."""
    fits = matcher(pattern)
    with opened(place) as folder:
        seen = look.visit(folder, look.start(place), budget, deep=True)
        fitting = (_match(here, info, contains) for here, info in seen if fits(here.said, look.start(place)))
        matches, more = room.fitting((match for match in fitting if match), limit)
    note = budget.spent
    if more:
        note = f"Only the first {len(matches)} are listed. Search in a smaller folder or more precisely."
    return Matches(path=place.said, matches=matches, truncated=bool(note), note=note)


def matcher(pattern: str) -> Callable[[str, str], bool]:
    """A test of a path below a start. Without “/” the pattern is held against names, with it against paths.

    The pattern becomes a regular expression of ours in which a star never gives back what it took (fnmatch makes
    those since Python 3.9), so no pattern takes more than names × stars steps.
    """
    compiled = re.compile(fnmatch.translate(pattern), re.IGNORECASE)

    def fits(said: str, start: str) -> bool:
        below = said.removeprefix(start).lstrip("/")
        return bool(compiled.match(below if "/" in pattern else below.rpartition("/")[2]))

    return fits


def _match(here: Spot, info: os.stat_result, contains: str | None) -> Match | None:
    what = disk.kind(info.st_mode)
    size = None if what == "folder" else info.st_size
    found = Match.model_validate({"path": here.said, "kind": what, "size": size})
    if contains is None:
        return found
    line = _line(here, contains) if stat.S_ISREG(info.st_mode) else None
    return line and found.model_copy(update={"line": line[0], "excerpt": line[1]})


def _line(here: Spot, contains: str) -> tuple[int, str] | None:
    """Number and text of the first line with `contains` in the first MiB of a text file."""
    try:
        with disk.reading(here) as file:
            data = text.read_at(file, 0, SEARCHED)
    except ToolError:
        return None  # may not be opened, or was exchanged for something else meanwhile
    if (name := text.encoding(data[: text.HEAD])) == "binary":
        return None
    content, wanted = data.decode(name, "replace"), contains.casefold()
    lines = enumerate(content.splitlines(), 1)
    return next(((n, line.strip()[:EXCERPT]) for n, line in lines if wanted in line.casefold()), None)
