"""What is in folders, within limits of time and number, and the lines in them that match."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, paths, text, trees
from servers.filesystem.models import Described, Item, Match, Matches, Metadata
from servers.filesystem.paths import Place, Spot, opened, spot

MOST_VISITED = 50_000
DEEPEST = 64
MOST_SHOWN = 300  # names in folders that are changed: a person reads them
LONGEST_SHOWN = 40_000  # characters of these names
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass
class Budget:
    """How much of a tree may be visited. `spent` says why the visit stopped, or nothing."""

    seconds: float = 5.0
    visits: int = MOST_VISITED
    clock: Callable[[], float] = time.monotonic
    spent: str = ""
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.clock() + self.seconds

    def left(self) -> bool:
        if not self.spent and self.visits < 0:
            self.spent = "Stopped after too many names. Look in a smaller folder."
        if not self.spent and self.clock() > self.deadline:
            self.spent = f"Stopped after {self.seconds:g} seconds. Look in a smaller folder."
        return not self.spent


def visit(
    folder: int, said: str, budget: Budget, deep: bool, depth: int = 0
) -> Iterator[tuple[Spot, os.stat_result]]:
    """Every name in a folder, and below it when `deep`, in order. Links are seen, never followed."""
    for name in _names(folder, budget.visits):
        budget.visits -= 1
        if not budget.left():
            return
        here = Spot(folder, name, f"{said}/{paths.shown(name)}" if said else paths.shown(name))
        info = disk.status(here)
        if info is None:
            continue  # gone since it was listed
        yield here, info
        if deep and stat.S_ISDIR(info.st_mode):
            yield from _below(here, budget, depth + 1)


def _names(folder: int, most: int) -> list[str]:
    """The names in a folder in order, of a very full one only some: one more than `most`."""
    with os.scandir(folder) as scan:
        return sorted(islice((e.name for e in scan if not paths.is_private(e.name)), max(most, 0) + 1))


def _below(here: Spot, budget: Budget, depth: int) -> Iterator[tuple[Spot, os.stat_result]]:
    if depth > DEEPEST:
        budget.spent = budget.spent or f"Stopped {DEEPEST} folders deep. Look in a folder further down."
        return
    try:
        inner = os.open(here.name, _FOLDER, dir_fd=here.folder)
    except OSError:
        return  # became a link, or may not be entered: it was listed, its inside is not
    try:
        yield from visit(inner, here.said, budget, True, depth)
    finally:
        os.close(inner)


def start(place: Place) -> str:
    """What the names in a folder are said under."""
    return "" if place.said == "." else place.said


def item(said: str, info: os.stat_result) -> Item:
    what = disk.kind(info.st_mode)
    size = None if what == "folder" else info.st_size
    return Item.model_validate({"name": said, "kind": what, "size": size, "modified": disk.modified(info)})


def listing(place: Place, recursive: bool, limit: int) -> tuple[list[Item], str]:
    """The items of a folder and, when there are more, a sentence that says so."""
    budget = Budget()
    with opened(place) as folder:
        seen = visit(folder, start(place), budget, recursive)
        items, more = answers.fitting((item(here.said, info) for here, info in seen), limit)
    if more:
        return (
            items,
            f"Only the first {len(items)} are listed. Look in a smaller folder, or use search_files.",
        )
    return items, budget.spent


def metadata(place: Place) -> Metadata:
    """What is at a path, hashed when it is a file of at most 1 GB. A missing last name is an answer, not an error."""
    if not place.parts:
        return _folder(place)
    with spot(place) as here:
        info = disk.status(here)
        if info is None:
            return Metadata(path=place.said, exists=False, kind="absent", sha256=disk.ABSENT)
        if stat.S_ISDIR(info.st_mode):
            return _folder(place)
        hashed = stat.S_ISREG(info.st_mode) and info.st_size <= disk.LARGEST
        return _metadata(place.said, info, disk.examine(here).sha256 if hashed else None)


def _folder(place: Place) -> Metadata:
    with opened(place) as folder:
        info = os.fstat(folder)
        return _metadata(place.said, info, None).model_copy(
            update={"size": None, "links": None, "entries": len(_names(folder, MOST_VISITED))}
        )


def _metadata(said: str, info: os.stat_result, sha256: str | None) -> Metadata:
    return Metadata.model_validate(
        {
            "path": said,
            "exists": True,
            "kind": disk.kind(info.st_mode),
            "size": info.st_size,
            "modified": disk.modified(info),
            "sha256": sha256,
            "mode": stat.filemode(info.st_mode),
            "links": info.st_nlink,
        }
    )


def hashed(place: Place) -> tuple[Described, list[Item]]:
    """A file or a folder that could be deleted, with its hash; and what is in it. Raises ToolError for the rest."""
    with spot(place) as here:
        info = disk.status(here)
        folder = info is not None and stat.S_ISDIR(info.st_mode)
        found, parts = trees.parts(here) if folder else (trees.examine(here), [])
        kind = "folder" if folder else "file"
        top = Described.model_validate(
            {
                "name": place.said,
                "kind": kind,
                "size": found.size,
                "modified": found.modified,
                "exists": True,
                "sha256": found.sha256,
            }
        )
    return top, items(place.said, parts)


def items(said: str, parts: Sequence[trees.Part]) -> list[Item]:
    """What is in a folder, as a card lists it. Raises ToolError for more than a person reads."""
    if len(parts) > MOST_SHOWN:
        raise ToolError(
            f"{said} holds {len(parts)} names, more than {MOST_SHOWN} that can be shown. Take the folders in it "
            "one by one."
        )
    inside = [{"name": f"{said}/{part.path}", "kind": part.kind, "size": part.size} for part in parts]
    found = [Item.model_validate(item) for item in inside]
    bearable(found)
    return found


def bearable(inside: Sequence[Item]) -> None:
    """Raise ToolError for more than a person reads, and than the gate holds its rules against at once."""
    if len(inside) > MOST_SHOWN or sum(len(item.name) for item in inside) > LONGEST_SHOWN:
        raise ToolError(
            f"These hold more than {MOST_SHOWN} names, or longer ones than can be shown. Name fewer."
        )


def described(place: Place, whole_folders: bool = False) -> Described:
    """One path for a list. `whole_folders`: folders are hashed too, with all that is in them."""
    seen = metadata(place)
    if whole_folders and seen.kind == "folder" and place.parts:
        with spot(place) as here:
            seen = seen.model_copy(update={"sha256": trees.examine(here).sha256})
    return Described(
        name=seen.path,
        kind=seen.kind,
        size=seen.size,
        modified=seen.modified,
        exists=seen.exists,
        sha256=seen.sha256,
    )


SEARCHED = 1 << 20  # bytes of each file
EXCERPT = 200  # characters


def search(place: Place, pattern: str, contains: str | None, limit: int, budget: Budget) -> Matches:
    """Names that fit `pattern`, of files whose text holds `contains`, below a folder. Case does not matter."""
    fits, left_out = matcher(pattern), list[str]()
    with opened(place) as folder:
        seen = visit(folder, start(place), budget, deep=True)
        fitting = (
            _match(here, info, contains, left_out) for here, info in seen if fits(here.said, start(place))
        )
        matches, more = answers.fitting((match for match in fitting if match), limit)
    note = budget.spent
    if more:
        note = f"Only the first {len(matches)} are listed. Search in a smaller folder or more precisely."
    truncated = bool(note)
    if left_out:
        note = f"{note} {len(left_out)} secret files were not looked into, such as {left_out[0]}: name one to read it."
    summary = "" if matches or truncated else _nothing(place, pattern, contains)
    return Matches(path=place.said, matches=matches, truncated=truncated, summary=summary, note=note.strip())


def _nothing(place: Place, pattern: str, contains: str | None) -> str:
    where = f" in {place.said}" if place.parts else ""
    if not contains:
        return f"No files match {pattern}{where}."
    return f"{'No file' if pattern == '*' else f'No file that matches {pattern}'} contains this text{where}."


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


def _match(here: Spot, info: os.stat_result, contains: str | None, left_out: list[str]) -> Match | None:
    what = disk.kind(info.st_mode)
    size = None if what == "folder" else info.st_size
    found = Match.model_validate({"path": here.said, "kind": what, "size": size})
    if contains is None:
        return found
    if paths.is_secret(here.said):
        left_out.append(here.said)
        return None
    line = _line(here, contains) if stat.S_ISREG(info.st_mode) else None
    return line and found.model_copy(update={"line": line[0], "excerpt": line[1]})


def _line(here: Spot, contains: str) -> tuple[int, str] | None:
    """Number and text of the first line with `contains` in the first MiB of a text file."""
    try:
        with disk.reading(here) as file:
            data = text.read_at(file, 0, SEARCHED)
    except ToolError:
        return None  # may not be opened, or was exchanged for something else meanwhile
    found = text.encoding(data)
    if found is None:
        return None
    content, wanted = found.decoded(data), contains.casefold()
    lines = enumerate(content.splitlines(), 1)
    return next(((n, line.strip()[:EXCERPT]) for n, line in lines if wanted in line.casefold()), None)
