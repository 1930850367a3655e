"""Looking through files: personal data and secrets, duplicates, and what could be cleaned up. Bounded in time."""

from __future__ import annotations

import re
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk, listing, text
from servers.filesystem.paths import Place, Roots, Spot, opened, spot
from servers.sandbox import calling
from servers.sandbox.calling import MOST_SAID, NO_TIME, Job, Result, brief, unbroken
from servers.sandbox.portions import Portions
from servers.sandbox.protocol import MOST_JSON
from servers.security.models import Cleanup, Duplicates, Finding, Proposal, Scan, Twins

SECONDS = 10.0
DOCUMENT_SECONDS = 8.0  # to read the text of one of several
PAST = "past"  # in a cursor: all of its file was looked through, or nothing of it can be
LARGEST = 8 << 20  # bytes of a text that is looked through
PORTION = 1 << 20  # bytes of files that are looked through at once, in a process of their own
MOST_AT_ONCE = 200  # files
MOST_FINDINGS = 1_000
MOST_NAMES = 1_000_000
MOST_PASSED = 1 << 30  # characters of the paths that a scan passes by: it keeps few of them
MOST_SKIPPED = 50  # files that an answer names, as they could not be looked into
MOST_NAMED, LONGEST_NAMED = 3, 200  # files that a note names, and characters of each with its reason
Content = tuple[str, bytes]  # what a file is called, and what is in it
_NOTHING: Mapping[str, int] = {}
DOCUMENTS = (".pdf", ".docx", ".xlsx")
MAILS = (".eml", ".mbox")  # one of several mails is looked through as it stands


@dataclass
class Unread:
    """Files that were not read: how many, and the first of them by their names, each with its reason."""

    count: int = 0
    names: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def add(self, said: str, why: str) -> None:
        """`why`: with the name of the file."""
        self.count += 1
        if len(self.names) < MOST_SKIPPED:
            self.names.append(said)
            self.told.append(brief(why))


@dataclass
class Looked:
    """How far a look through files has come."""

    budget: listing.Budget = field(
        default_factory=lambda: listing.Budget(SECONDS, MOST_NAMES, characters=MOST_PASSED)
    )
    files: int = 0
    alone: bool = False  # whether it is one file that was asked for
    at: str = ""  # the last file that was looked into, or is
    told: int = 0  # how many findings in it an earlier look told
    later: str = ""  # why the next file was not begun, as the end of a sentence
    skipped: Unread = field(default_factory=Unread)
    partly: Unread = field(default_factory=Unread)  # files of which some was not read


def _named(what: str, files: Unread) -> str:
    """How many files that holds of, and the first of them, each with its reason."""
    first = "; ".join(file[:LONGEST_NAMED] for file in files.told[:MOST_NAMED])
    more = f"; and {files.count - MOST_NAMED:,} more" if files.count > MOST_NAMED else ""
    return f"{answers.counted(files.count, 'file')} {what}: {first}{more}."


def scan_files(roots: Roots, path: str, finder: str, cursor: str) -> Scan:
    """Every finding in a file, or in all files below a folder, from `cursor` on. `finder`: one of FINDERS of
    servers.security.tasks. Raises ToolError."""
    place, looked = roots.find(path), Looked()
    found, more = answers.fitting(_findings(place, finder, looked, cursor), MOST_FINDINGS)
    kinds = Counter(one.kind for one in found)
    told = ", ".join(f"{count} × {kind}" for kind, count in kinds.most_common()) or "nothing"
    stopped = more or bool(looked.budget.spent)
    notes = ["Not all was looked through yet: ask for the rest."] if stopped else []
    if looked.budget.closed_count or looked.budget.broken:
        notes.append(looked.budget.unseen.removeprefix(looked.budget.spent).strip())
    if looked.later not in ("", NO_TIME):
        notes.append(f"The next file {looked.later}")
    if looked.skipped.count:
        notes.append(_named("could not be looked into", looked.skipped))
    if looked.partly.count:
        notes.append(_named("could be looked into only in part", looked.partly))
    done = looked.told + sum(one.path == looked.at for one in found)
    named = [*(one.path for one in found), *looked.skipped.names, *looked.partly.names]
    return Scan(
        path=place.said,
        files=looked.files,
        findings=found,
        paths=list(dict.fromkeys(one.path for one in found)),
        named=list(filter(None, dict.fromkeys([*named, looked.at if stopped else ""]))),
        kinds=dict(kinds),
        skipped=[*looked.skipped.told, *looked.partly.told][:MOST_SKIPPED],
        truncated=stopped,
        next_cursor=(f"{done if more else PAST}:{looked.at}" if looked.at else cursor) if stopped else "",
        note=" ".join(notes),
        summary=f"{answers.counted(looked.files, 'file')} looked through, and found: {told}.",
    )


def _findings(place: Place, finder: str, looked: Looked, cursor: str) -> Iterator[Finding]:
    told, _, first = cursor.partition(":")
    is_folder = folder(place)
    if cursor and not (first and ((told.isdecimal() and len(told) < 10) or (is_folder and told == PAST))):
        raise ToolError("That is no cursor to go on from. Leave it out, or give next_cursor as it was told.")
    if is_folder:
        spots = (here for here, _ in files(place, looked.budget) if _order(here.said) >= _order(first))
        if told == PAST:
            spots, told = (here for here in spots if here.said != first), ""
        yield from _of_files(spots, finder, looked, {first: int(told or 0)})
        return
    with spot(place) as here:
        looked.alone = True
        yield from _of_files([here], finder, looked, {here.said: int(told or 0)})
        if looked.later:
            raise ToolError(f"{here.said} {looked.later}")
        if looked.skipped.count:
            raise ToolError(f"{looked.skipped.told[0]}, so it was not looked through. Name another file.")


def _order(said: str) -> list[str]:
    """Files come in the order of their folders."""
    return said.split("/")


def folder(place: Place) -> bool:
    """Whether a folder is there. Raises ToolError when nothing is."""
    if not place.parts:
        return True
    with spot(place) as here:
        info = disk.status(here)
    if info is None:
        raise ToolError(f"{place.said} does not exist. Look at what is in its folder first.")
    return stat.S_ISDIR(info.st_mode)


def files(place: Place, budget: listing.Budget) -> Iterator[tuple[Spot, int]]:
    """Every plain file below a folder, with its size. A spot holds only until the next one is asked for."""
    with opened(place) as top:
        for here, info in listing.visit(top, listing.start(place), budget, deep=True):
            if stat.S_ISREG(info.st_mode):
                yield here, info.st_size


def _of_files(
    spots: Iterable[Spot], finder: str, looked: Looked, done: Mapping[str, int] = _NOTHING
) -> Iterator[Finding]:
    """The findings in each file, but for the first ones that an earlier look told (`done`); of one that cannot be read
    the reason goes to `skipped`. Many small ones are looked through at once."""
    portion, last = list[Content](), ""
    for here in spots:
        last = here.said
        content = _content_or_reason(here, looked)
        portion += [(here.said, content)] if content is not None else []
        if len(portion) >= MOST_AT_ONCE or sum(len(each) for _, each in portion) >= PORTION:
            yield from _of_portion(portion, finder, looked, done)
            portion = []
    yield from _of_portion(portion, finder, looked, done)
    if last not in ("", looked.at) and not looked.later:
        looked.at, looked.told = last, 0


def _of_portion(
    portion: list[Content], finder: str, looked: Looked, done: Mapping[str, int]
) -> Iterator[Finding]:
    """In a process of its own, which others go before: the patterns take much of a processor."""
    most = MOST_FINDINGS + 1 + max(done.values(), default=0)

    def job(some: list[Content]) -> Job:
        mails = [n for n, (said, _) in enumerate(some) if said.lower().endswith(MAILS)]
        args = {"finder": finder, "most": most, "mails": mails}
        return Job(
            "security.find", [each for _, each in some], args, limits=replace(calling.LIMITS, told=MOST_JSON)
        )

    seconds = max(1.0, looked.budget.deadline - looked.budget.clock())
    for some, result in Portions(job, MOST_AT_ONCE, seconds).results(portion):
        if not result.begun:
            looked.later = result.refused
            looked.budget.spent = looked.budget.spent or f"Stopped: a file {result.refused}"
            return
        each_found = _of_each(result.told.get("found"), len(some))
        partly = zip(some, result.told.get("partly", ()), strict=False)
        for (said, _), why in partly:
            if why:
                looked.partly.add(said, f"{said} {why}")
        for (said, _), found in zip(some, each_found, strict=True):
            looked.at, looked.told = said, done.get(said, 0)
            if found is None:
                looked.skipped.add(said, f"{said} {result.refused or 'is not text'}")
                continue
            try:
                told = _named_in(said, found, looked.told, most)
            except ToolError as error:
                looked.skipped.add(said, str(error))
                continue
            looked.files += 1
            yield from told


def _of_each(found: Any, many: int) -> list[Any]:
    """What was found in each of so many files; None for all where that is not what is told."""
    return found if isinstance(found, list) and len(found) == many else [None] * many


def _named_in(said: str, found: Any, first: int, most: int) -> list[Finding]:
    """The findings in a file from the first one on. Raises ToolError where they are none."""
    with unbroken(said):
        if any(len(text) > MOST_SAID for one in found[first:most] for text in one if isinstance(text, str)):
            raise ValueError("too long a text")
        return [
            Finding(path=said, line=line, kind=kind, sure=sure, shown=shown)
            for line, kind, sure, shown in found[first:most]
        ]


def _content_or_reason(here: Spot, looked: Looked) -> bytes | None:
    try:
        return _content(here, looked)
    except ToolError as error:
        said = str(error)
        looked.skipped.add(here.said, said[:200] if here.said in said else f"{here.said}: {said[:200]}")
        return None


def _content(here: Spot, looked: Looked) -> bytes:
    """What is in a file; of a document its text. Raises ToolError for too much, or a document without text."""
    with disk.reading(here) as file:
        data = text.read_at(file, 0, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"{here.said} is larger than {LARGEST >> 20} MB")
    ending = next((one for one in DOCUMENTS if here.name.lower().endswith(one)), "")
    if not ending:
        return data
    made = _text_of(data, ending, looked.alone)
    if made.refused or not made.data.strip():
        raise ToolError(f"{here.said} {made.refused or made.told.get('guessed') or 'has no text'}")
    if why := made.told.get("guessed"):
        looked.partly.add(here.said, f"{here.said} {why}")
    return made.data


def _text_of(data: bytes, ending: str, alone: bool) -> Result:
    """The text of a document. One of several gets less time."""
    limits = calling.LIMITS
    seconds = limits.seconds if alone else min(limits.seconds, DOCUMENT_SECONDS)
    job = Job("formats.text", [data], {"ending": ending}, limits=replace(limits, seconds=seconds))
    made = calling.SANDBOX.call(job)
    if made.stopped and made.begun and not alone:
        return replace(made, refused="is broken, or takes too long to open beside others. Name it alone")
    return made


CLEANUP_SECONDS = 15.0
MOST_CHECKED = 1 << 20  # bytes of a file that is looked into for what should be encrypted
_TEMPORARY = re.compile(
    r"~\$.*|.*(~|\.(tmp|temp|bak|old|swp|part|crdownload|log\.\d+))|\.DS_Store|Thumbs\.db|desktop\.ini",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Seen:
    """One file on a walk."""

    said: str
    name: str
    size: int
    modified: datetime
    sha256: str = ""


def duplicates(roots: Roots, path: str, smallest: int) -> Duplicates:
    """Groups of files with the same bytes, those that waste most first. Raises ToolError."""
    place, budget = roots.find(path), listing.Budget(CLEANUP_SECONDS)
    seen = [one for one in _walk(roots, path, budget) if one.size >= smallest]
    groups = _same(roots, seen, budget)
    listed, more = answers.fitting(groups, 500)
    wasted = sum(group.size * (len(group.paths) - 1) for group in groups)
    note = "There are more groups. Look at a smaller folder." if more else budget.unseen
    return Duplicates(
        path=place.said,
        files=len(seen),
        groups=listed,
        extra=[said for group in listed for said in group.paths if said != _kept(group.paths)],
        wasted=wasted,
        truncated=more or bool(budget.unseen),
        note=note,
        summary=_told(len(seen), len(groups), wasted),
    )


def _told(files: int, groups: int, wasted: int) -> str:
    looked = answers.counted(files, "file")
    if not groups:
        return f"No duplicates among {looked}."
    several = "1 file is" if groups == 1 else f"{groups:,} files are"
    return f"Of {looked}, {several} there more than once. The copies take {wasted:,} bytes."


def _walk(roots: Roots, path: str, budget: listing.Budget) -> list[Seen]:
    found = []
    for here, size in files(roots.find(path), budget):
        info = disk.status(here)
        if info is not None:
            found.append(Seen(here.said, here.name, size, disk.modified(info)))
    return found


def _same(roots: Roots, seen: list[Seen], budget: listing.Budget) -> list[Twins]:
    sizes: dict[int, list[Seen]] = defaultdict(list)
    for one in seen:
        sizes[one.size].append(one)
    alike: dict[tuple[int, str], list[str]] = defaultdict(list)
    for size, ones in sizes.items():
        for one in ones if len(ones) > 1 and size else ():
            if budget.left() and (sha256 := _hash(roots, one.said)):
                alike[size, sha256].append(one.said)
    groups = [
        Twins(paths=sorted(paths), size=key[0], sha256=key[1])
        for key, paths in alike.items()
        if len(paths) > 1
    ]
    return sorted(groups, key=lambda group: (-group.size * (len(group.paths) - 1), group.paths))


def _hash(roots: Roots, said: str) -> str:
    """SHA-256 of a file that was seen before; nothing when it is gone or cannot be read."""
    try:
        with spot(roots.find(said)) as here:
            return disk.examine(here).sha256
    except (ToolError, OSError):
        return ""


def cleanup(roots: Roots, path: str, now: datetime, old_days: int, large: int) -> Cleanup:
    """What could go, be moved or be encrypted below a folder, each with its reason. Raises ToolError."""
    place, looked = roots.find(path), Looked(listing.Budget(CLEANUP_SECONDS))
    seen = _walk(roots, path, looked.budget)
    proposals = [*_proposals(roots, seen, now - timedelta(days=old_days), large, looked)]
    listed, more = answers.fitting(proposals, 500)
    sizes = {one.said: one.size for one in seen}
    going = {
        said for one in proposals if one.action.startswith("delete") for said in one.paths if said != one.keep
    }
    free = sum(sizes[said] for said in going)
    return Cleanup(
        path=place.said,
        files=len(seen),
        proposals=listed,
        size=free,
        truncated=more or bool(looked.budget.unseen),
        note=" ".join(
            filter(
                None,
                [
                    "There are more. Look at a smaller folder." if more else looked.budget.unseen,
                    _unchecked(seen, looked),
                ],
            )
        ),
        summary=f"{answers.counted(len(seen), 'file')} looked at, {answers.counted(len(proposals), 'proposal')}; "
        f"deleting would free {answers.counted(free, 'byte')}. Nothing was changed.",
    )


def _unchecked(seen: list[Seen], looked: Looked) -> str:
    """What is said of files that were not looked into for secrets."""
    count = sum(one.size > MOST_CHECKED for one in seen) + looked.skipped.count + looked.partly.count
    return (
        f"Not looked into for secrets, or only in part, because they are no text, cannot be read, or are larger than "
        f"{MOST_CHECKED >> 20} MB: {count:,} of {answers.counted(len(seen), 'file')}."
        if count
        else ""
    )


def _proposals(
    roots: Roots, seen: list[Seen], before: datetime, large: int, looked: Looked
) -> Iterator[Proposal]:
    named: set[str] = set()
    for group in _same(roots, seen, looked.budget):
        keep = _kept(group.paths)
        extra = [said for said in group.paths if said != keep]
        named.update(extra)
        why = f"The same bytes as {keep}."
        yield _proposal("duplicate", extra, group.size * len(extra), why, "delete").model_copy(
            update={"keep": keep}
        )
    for one in seen:
        if one.said in named:
            continue
        if _TEMPORARY.fullmatch(one.name):
            yield _proposal("temporary", [one.said], one.size, "Left over by a program.", "delete")
        elif one.size == 0:
            yield _proposal("empty", [one.said], 0, "There is nothing in it.", "delete")
        elif one.modified < before:
            yield _proposal(
                "old", [one.said], one.size, f"Not changed since {one.modified:%Y-%m-%d}.", "move to archive"
            )
        elif one.size >= large:
            yield _proposal("large", [one.said], one.size, f"{one.size >> 20} MB.", "move to archive")
    yield from _sensitive(roots, seen, named, looked)


def _kept(paths: list[str]) -> str:
    """Of twins, the one to keep: the one closest to the top, with the shortest name."""
    return min(paths, key=lambda said: (said.count("/"), len(said), said))


def _sensitive(roots: Roots, seen: list[Seen], named: set[str], looked: Looked) -> Iterator[Proposal]:
    sizes = {one.said: one.size for one in seen if one.said not in named and one.size <= MOST_CHECKED}
    found = _of_files(_spots(roots, [*sizes], looked), "credentials", looked)
    for said, some in groupby((one for one in found if one.sure != "perhaps"), key=attrgetter("path")):
        kinds = sorted({one.kind for one in some})
        yield _proposal("sensitive", [said], sizes[said], f"It holds: {', '.join(kinds)}.", "encrypt")


def _spots(roots: Roots, names: list[str], looked: Looked) -> Iterator[Spot]:
    """The files of these names, each until the next one is asked for; those that are gone are left out."""
    for said in names:
        if not looked.budget.left():
            return
        with suppress(ToolError, OSError), spot(roots.find(said)) as here:
            yield Spot(here.folder, here.name, said)


def _proposal(kind: str, paths: list[str], size: int, why: str, action: str) -> Proposal:
    said = f"{action} {', '.join(paths[:3])}" + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return Proposal.model_validate({"kind": kind, "paths": paths, "size": size, "why": why, "action": said})
