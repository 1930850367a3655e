"""Taking files into an index: the text of each, within a time for all of them, and the index after the change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from time import monotonic
from typing import Any, BinaryIO

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, text
from servers.filesystem.answers import counted
from servers.filesystem.given_up import unless_given_up
from servers.filesystem.paths import Place, Roots, spot
from servers.knowledge.indexing import LARGEST, Change, Seen, ask
from servers.sandbox import calling
from servers.sandbox.calling import Blob, Job, Limits, Result, Streamed, brief, decoded, filled, written

SECONDS = 25.0  # for all files that the sandbox opens; a call lasts 60 in all
_LEAST = 1.0  # a file is not opened for less
_NO_FAULT = (calling.BUSY, calling.NO_ROOM)  # of the file that was to be opened


def taken(
    index: Blob, roots: Roots, change: Change, folder: tuple[Place, bool] | None, made: BinaryIO
) -> tuple[Blob, int]:
    """The index after the change, in the file `made`, and how many parts were written. `folder`: one that is in it from
    now on. What is left to the next update is no longer in the change. Raises ToolError where that is all of it."""
    with TemporaryFile() as file:
        found = _read(Texts(roots, file), change)
        told, _ = ask(
            index,
            "changed",
            *(read for _, read in found),
            into=made,
            folder=[folder[0].inner, folder[1]] if folder else None,
            gone=[roots.find(one).inner for one in (*change.removed, *(one.said for one in change.changed))],
            new=[[roots.find(one.said).inner, one.sha256, one.size] for one, _ in found],
        )
    if told["missing"]:
        left = f"{told['missing']:,} parts (found by their words alone until the index is updated)"
        change.skipped.insert(0, left)
    after = written(made)
    return after if after.size else b"", told["chunks"]


def _read(texts: Texts, change: Change) -> list[tuple[Seen, Streamed]]:
    """The text of each file of a change that is not left out of it."""
    found = texts.of([*change.added, *change.changed])
    change.leave(texts.left)
    if texts.left and not change.items:
        raise ToolError("None of these files could be opened just now. Try again in a minute.")
    left = [f"{said} (left to the next update of the index)" for said in texts.left]
    many = [f"{counted(len(left), 'file')} (no time was left to open them: update the index again)"]
    change.skipped[:0] = [*(many if left else []), *texts.wrong, *left]
    return found


@dataclass
class Texts:
    """The text of files, all in one file of ours. Those that the sandbox opens get a time together, of which the first
    may take all: with each call one of them at least is taken in, or named as the one to blame."""

    roots: Roots
    into: BinaryIO
    wrong: list[str] = field(default_factory=list)  # files of which a part is left out, each with the reason
    left: list[str] = field(default_factory=list)  # files for which no time was left
    ends: float | None = None  # of the time, which begins with the first of these files

    def of(self, files: Sequence[Seen]) -> list[tuple[Seen, Streamed]]:
        """Each file with its text, in order. Raises ToolError for more text than an index holds."""
        found = list[tuple[Seen, Streamed]]()
        for one in sorted(files, key=lambda one: (one.document, one.marked, one.said)):
            unless_given_up()
            if (read := self._text(one)) is None:
                self.left.append(one.said)
                continue
            found.append((one, filled(self.into, [read.encode("utf-8", "replace")])))
            if self.into.tell() > LARGEST:
                raise ToolError(
                    f"These files hold more than {LARGEST >> 20} MB of text. Index smaller folders."
                )
        return sorted(found, key=lambda pair: pair[0].said)

    def _text(self, one: Seen) -> str | None:
        """The text of a file; of a document that cannot be opened nothing, and of another file what stands in it. None
        where no time is left to open it."""
        if not (tries := _tries(one)):
            return _plain(_bytes(self.roots, one))
        if self._left() < _LEAST:
            return None
        data = _bytes(self.roots, one)
        results = self._results(data, tries)
        for result in results:
            if result is None:
                return None
            with suppress(ToolError):
                return self._told(one, result)
        if one.document:
            self.wrong.append(f"{one.said} (broken, or too much to open)")
            return ""
        self.wrong.append(f"{one.said} (cannot be read as {_ending(one)}: taken in as it stands)")
        return _plain(data)

    def _results(self, data: bytes, tries: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[Result | None]:
        """What each try gives; None in place of the first one where that is not the file's fault."""
        share = SECONDS / len(tries)
        for number, (task, args) in enumerate(tries):
            seconds = min(share, self._left())
            if seconds < _LEAST:
                return
            self.ends = self.ends or monotonic() + SECONDS
            result = calling.SANDBOX.call(
                Job(task, [data], args, limits=Limits(seconds=seconds, output=calling.TEXT_OUTPUT))
            )
            cut_short = result.stopped and seconds < share and result.seconds > seconds - 1
            yield None if not number and (cut_short or result.refused in _NO_FAULT) else result

    def _left(self) -> float:
        """The seconds that are left for files that are opened."""
        return SECONDS if self.ends is None else self.ends - monotonic()

    def _told(self, one: Seen, result: Result) -> str:
        """The text that a task gave. Raises ToolError where it gave none."""
        if result.refused:
            raise ToolError(f"{one.said} {result.refused}")
        made = decoded(result.data, one.said)
        why = result.told.get("guessed") or ("has no text" if one.document and not made.strip() else "")
        self.wrong += [f"{one.said} ({brief(why)})"] if why else []
        return made


def _bytes(roots: Roots, one: Seen) -> bytes:
    with spot(roots.find(one.said)) as here, disk.reading(here) as file:
        data = text.read_at(file, 0, one.size + 1)
    if disk.sha256(data) != one.sha256:
        raise ToolError(f"{one.said} has changed while it was read. Ask again.")
    return data


def _tries(one: Seen) -> list[tuple[str, dict[str, Any]]]:
    """The tasks that give the text of a file, the best first, each with its arguments; none for a plain text. Of a mail
    with and without what is attached."""
    ending = _ending(one)
    if ending in (".eml", ".mbox"):
        return [("email.text", {}), ("email.text", {"attachments": False})]
    return [("formats.text", {"ending": ending})] if one.document or one.marked else []


def _ending(one: Seen) -> str:
    return f".{one.said.rpartition('.')[2].lower()}"


def _plain(data: bytes) -> str:
    found = text.encoding(data)
    return found.decoded(data) if found else ""
