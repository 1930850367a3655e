"""What is in folders, within limits of time and number, and the lines in them that match."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from heapq import merge
from itertools import islice

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, paths, text, trees
from servers.filesystem.given_up import unless_given_up
from servers.filesystem.models import Described, Item, Match, Matches, Metadata
from servers.filesystem.paths import Place, Root, Spot, opened, spot

MOST_VISITED = 50_000
MOST_CHARACTERS = 16 << 20  # characters of all paths of a visit: whoever keeps them holds four bytes for one
MOST_CLOSED = 100  # folders that may not be entered, of which the names are kept
DEEPEST = 64
_SORTED = 20_000  # names that are put in order at once
MOST_SHOWN = 300  # names in folders that are changed: a person reads them
LONGEST_SHOWN = 40_000  # characters of these names
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


TOO_MANY = "Stopped after too many names. Look in a smaller folder."


@dataclass
class Budget:
    """How much of a tree may be visited. `spent` says why the visit stopped, or nothing; `closed` names folders that
    may not be entered. `characters` are for the paths that are given, `room` is for the names in the open folders."""

    seconds: float = 5.0
    visits: int = MOST_VISITED
    characters: int = MOST_CHARACTERS
    room: int = MOST_CHARACTERS
    clock: Callable[[], float] = time.monotonic
    spent: str = ""
    closed: list[str] = field(default_factory=list)  # the first of them
    closed_count: int = 0  # how many there are
    broken: int = 0  # names of which the disk does not tell what they are
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.clock() + self.seconds

    def left(self) -> bool:
        unless_given_up()
        if not self.spent and self.visits < 0:
            self.spent = TOO_MANY
        if not self.spent and self.characters < 0:
            self.spent = "Stopped after too many long names. Look in a smaller folder."
        if not self.spent and self.clock() > self.deadline:
            self.spent = f"Stopped after {self.seconds:g} seconds. Look in a smaller folder."
        return not self.spent

    def close(self, folder: str) -> None:
        """Count a folder that may not be entered, or of which nothing but names is told."""
        self.closed_count += 1
        self.closed += [folder] if self.closed_count <= MOST_CLOSED else []

    @property
    def unseen(self) -> str:
        """What of the tree was not seen, in sentences that name nothing which a rule may close; "" where all was."""
        count = self.closed_count
        folders, were = ("folder", "was") if count == 1 else ("folders", "were")
        shut = f"{count} {folders} {were} not looked into: no right to." if count else ""
        return " ".join(filter(None, [self.spent, shut, self.lost]))

    @property
    def lost(self) -> str:
        """What is said of names of which the disk does not tell what they are."""
        names, were = ("name", "was") if self.broken == 1 else ("names", "were")
        return f"{self.broken} {names} {were} left out: the disk does not tell what that is." * bool(
            self.broken
        )


def visit(
    folder: int, said: str, budget: Budget, deep: bool, depth: int = 0
) -> Iterator[tuple[Spot, os.stat_result]]:
    """Every name in a folder, and below it when `deep`, in order. Links are seen, never followed."""
    names = _names(folder, budget)
    is_cut = budget.room < 0
    for name in names:
        here = Spot(folder, name, f"{said}/{paths.shown(name)}" if said else paths.shown(name))
        budget.visits -= 1
        budget.characters -= len(here.said)
        if not budget.left():
            return
        try:
            info = disk.status(here)
        except PermissionError:
            budget.close(said or ".")
            break  # the folder gives its names and nothing else
        except OSError:
            budget.broken += 1  # such as where a disk that was mounted there does not answer
            continue
        if info is None:
            continue  # gone since it was listed
        yield here, info
        if deep and stat.S_ISDIR(info.st_mode):
            yield from _below(here, budget, depth + 1)
    budget.room += sum(map(len, names))
    if is_cut:
        budget.spent = budget.spent or TOO_MANY


def _names(folder: int, budget: Budget) -> list[str]:
    """The names in a folder in order, of a very full one only some: one more than may be visited, or as many as there
    is room for. They take that room."""
    found = list[str]()
    with os.scandir(folder) as scan:
        for name in islice((e.name for e in scan if not paths.is_private(e.name)), max(budget.visits, 0) + 1):
            found.append(name)
            budget.room -= len(name)
            if budget.room < 0:
                break
    # A million names in one go would hold up all threads for most of a second.
    return [*merge(*(sorted(found[at : at + _SORTED]) for at in range(0, len(found), _SORTED)))]


def _below(here: Spot, budget: Budget, depth: int) -> Iterator[tuple[Spot, os.stat_result]]:
    if depth > DEEPEST:
        budget.spent = budget.spent or f"Stopped {DEEPEST} folders deep. Look in a folder further down."
        return
    try:
        inner = os.open(here.name, _FOLDER, dir_fd=here.folder)
    except PermissionError:
        budget.close(here.said)
        return
    except OSError:
        return  # became a link: it was listed, its inside is not
    try:
        yield from visit(inner, here.said, budget, True, depth)
    finally:
        os.close(inner)


@dataclass
class OtherNames:
    """The files of the server's folders that have a secret file's name and others (hard links). They are looked for
    once, and only when a file with several names is to be read."""

    place: Place
    budget: Budget = field(default_factory=Budget)

    @cached_property
    def secret(self) -> dict[tuple[int, int], str]:
        """The name of each, by what the disk knows it by."""
        return {
            (info.st_dev, info.st_ino): here.said
            for root in self.place.served or (self.place.root,)
            for here, info in self._below(root)
            if info.st_nlink > 1 and stat.S_ISREG(info.st_mode) and self.is_secret(here.said)
        }

    def is_secret(self, said: str) -> bool:
        """Whether this path is one of a secret file: as it stands, or from the root of the disk."""
        return paths.is_secret(said) or any(map(paths.is_secret, self._absolute(said)))

    def _absolute(self, said: str) -> Iterator[str]:
        for root in self.place.served or (self.place.root,):
            if not self.place.prefix or said.startswith(f"{root.name}/"):
                inner = said.removeprefix(f"{root.name}/") if self.place.prefix else said
                yield from (f"{root.path}/{inner}", f"{root.given}/{inner}")

    def _below(self, root: Root) -> Iterator[tuple[Spot, os.stat_result]]:
        top = Place(root, (), (root.name,) if self.place.prefix else ())
        with opened(top) as folder:
            yield from visit(folder, start(top), self.budget, deep=True)

    def refusal(self, said: str, info: os.stat_result) -> str:
        """Why a file is not read by this name: it is a secret one by another, or that cannot be told; else ""."""
        if info.st_nlink < 2 or not stat.S_ISREG(info.st_mode) or self.is_secret(said):
            return ""
        if secret := self.secret.get((info.st_dev, info.st_ino)):
            return (
                f"{said} is another name of {secret}, a secret file (a hard link). Name that one to read it."
            )
        if self.budget.spent:
            return (
                f"{said} has other names elsewhere (a hard link), among too many to see whether one is that of a "
                "secret file. Replace it by a copy."
            )
        return ""


def unless_secret(place: Place) -> Place:
    """The place of a file that is to be read. Raises ToolError where a secret file has this name too."""
    if place.parts:
        with spot(place) as here:
            info = disk.status(here)
        if info and (why := OtherNames(place).refusal(place.said, info)):
            raise ToolError(why)
    return place


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
            f"Only the first {len(items)} are listed. Look in a smaller folder, or search for a name.",
        )
    return items, budget.unseen


def metadata(place: Place, most: int = disk.LARGEST) -> Metadata:
    """What is at a path, hashed when it is a file of at most so many bytes. A missing last name is an answer, not an
    error."""
    if not place.parts:
        return _folder(place)
    with spot(place) as here:
        info = disk.status(here)
        if info is None:
            told = f"There is no file or folder {place.said}."
            return Metadata(path=place.said, exists=False, kind="absent", sha256=disk.ABSENT, summary=told)
        if stat.S_ISDIR(info.st_mode):
            return _folder(place)
        hashed = stat.S_ISREG(info.st_mode) and info.st_size <= most
        return _metadata(place.said, info, disk.examine(here).sha256 if hashed else None)


def _folder(place: Place) -> Metadata:
    with opened(place) as folder:
        info = os.fstat(folder)
        return _metadata(place.said, info, None).model_copy(
            update={"size": None, "links": None, "entries": len(_names(folder, Budget()))}
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


def hashed(places: Sequence[Place]) -> list[tuple[Described, list[Item]]]:
    """Files and folders that could be deleted at once, with their hashes; and what is in each. Raises ToolError for the
    rest."""
    with ExitStack() as stack:
        found = trees.together([stack.enter_context(spot(place)) for place in places])
    return [
        (_whole(place, whole), items(place.said, parts))
        for place, (whole, parts) in zip(places, found, strict=True)
    ]


def _whole(place: Place, found: disk.Found) -> Described:
    return Described.model_validate(
        {
            "name": place.said,
            "kind": disk.kind(found.mode),
            "size": found.size,
            "modified": found.modified,
            "exists": True,
            "sha256": found.sha256,
        }
    )


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


def described(places: Sequence[Place], whole_folders: bool = False) -> list[Described]:
    """Paths for a list, with the hashes of as many as hold 1 GB together. `whole_folders`: folders are hashed too, with
    all that is in them."""
    found, left = list[Described](), disk.LARGEST
    for place in places:
        one, size = _described(place, whole_folders, left)
        found.append(one)
        left -= size
    return found


def _described(place: Place, whole_folders: bool, most: int) -> tuple[Described, int]:
    """One of them, and how many bytes were hashed: of a folder those of all that is in it."""
    seen = metadata(place, most)
    size = seen.size or 0 if seen.sha256 else 0
    if whole_folders and seen.kind == "folder" and place.parts and most >= 0:
        with spot(place) as here:
            whole = trees.examine(here)
        seen, size = seen.model_copy(update={"sha256": whole.sha256}), whole.size
    return _as_described(seen), size


def _as_described(seen: Metadata) -> Described:
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


@dataclass
class Unsearched:
    """The files whose text a search has not looked at, or only at the start of it. They are told by their number: a
    rule may close one to whoever asks, and a rule is held against what was found."""

    secret: list[str] = field(default_factory=list)
    in_part: list[str] = field(default_factory=list)
    no_text: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.secret or self.in_part or self.no_text or self.closed)

    @property
    def sentences(self) -> str:
        told = (
            _told(self.secret, "secret", "not looked into", "name one to read it"),
            _told(self.in_part, "large", "searched in part", f"the first {SEARCHED >> 20} MiB alone"),
            _told(self.no_text, "other", "not searched", "no text"),
            _told(self.closed, "other", "not searched", "cannot be opened"),
        )
        return " ".join(filter(None, told))


def _told(names: Sequence[str], which: str, what: str, more: str) -> str:
    if not names:
        return ""
    files, were = ("file", "was") if len(names) == 1 else ("files", "were")
    return f"{len(names)} {which} {files} {were} {what}: {more}."


def search(place: Place, pattern: str, contains: str | None, limit: int, budget: Budget) -> Matches:
    """Names that fit `pattern`, of files whose text holds `contains`, below a folder. Case does not matter."""
    fits, left_out, others = matcher(pattern), Unsearched(), OtherNames(place)
    with opened(place) as folder:
        seen = visit(folder, start(place), budget, deep=True)
        fitting = (
            _match(here, info, contains, left_out, others)
            for here, info in seen
            if fits(here.said, start(place))
        )
        matches, more = answers.fitting((match for match in fitting if match), limit)
    note = budget.unseen
    if more:
        note = f"Only the first {len(matches)} are listed. Search in a smaller folder or more precisely."
    summary = "" if matches or note else _nothing(place, pattern, contains, left_out)
    return Matches(
        path=place.said,
        matches=matches,
        truncated=bool(note or left_out),
        summary=summary,
        note=" ".join(filter(None, [note, left_out.sentences])),
    )


def _nothing(place: Place, pattern: str, contains: str | None, left_out: Unsearched) -> str:
    where = f" in {place.said}" if place.parts else ""
    if not contains:
        return f"No files match {pattern}{where}."
    files = "No file" if pattern == "*" else f"No file that matches {pattern}"
    return f"{files} contains this text{where}{', as far as it was looked for' if left_out else ''}."


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


def _match(
    here: Spot, info: os.stat_result, contains: str | None, left_out: Unsearched, others: OtherNames
) -> Match | None:
    what = disk.kind(info.st_mode)
    size = None if what == "folder" else info.st_size
    found = Match.model_validate({"path": here.said, "kind": what, "size": size})
    if contains is None:
        return found
    if others.is_secret(here.said) or others.refusal(here.said, info):
        left_out.secret.append(here.said)
        return None
    line = _line(here, contains, left_out) if stat.S_ISREG(info.st_mode) else None
    return line and found.model_copy(update={"line": line[0], "excerpt": line[1]})


def _line(here: Spot, contains: str, left_out: Unsearched) -> tuple[int, str] | None:
    """Number and text of the first line with `contains` in the first MiB of a text file."""
    try:
        with disk.reading(here) as file:
            data = text.read_at(file, 0, SEARCHED + 1)
    except ToolError:
        left_out.closed.append(here.said)  # or it was exchanged for something else meanwhile
        return None
    found = text.encoding(data)
    if found is None:
        left_out.no_text.append(here.said)
        return None
    content, wanted = found.decoded(data[:SEARCHED]), contains.casefold()
    lines = enumerate(content.splitlines(), 1)
    line = next(((n, line.strip()[:EXCERPT]) for n, line in lines if wanted in line.casefold()), None)
    if line is None and len(data) > SEARCHED:
        left_out.in_part.append(here.said)
    return line
