"""The mailboxes of a Maildir and the messages in them: found within limits, read whole, each under a short id."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import change, disk, look
from servers.filesystem.disk import Found
from servers.filesystem.roots import Place, Roots, opened, spot
from servers.filesystem.text import read_at

INBOX, DRAFTS, SENT, OUTBOX = "INBOX", "Drafts", "Sent", "Outbox"
LARGEST = 20 << 20  # bytes of one message
READ = ("cur", "new")


@dataclass(frozen=True)
class Letter:
    """One message file. Its id stays when its flags change or it moves to another mailbox."""

    place: Place
    mailbox: str
    name: str  # without the flags
    flags: str
    size: int
    modified: datetime

    @property
    def id(self) -> str:
        return identified(self.name)

    @property
    def unread(self) -> bool:
        return "S" not in self.flags and self.mailbox not in (DRAFTS, SENT, OUTBOX)


@dataclass(frozen=True)
class Boxes:
    """A Maildir (Maildir++: mailboxes are folders with a dot before their name), and how long looking may take."""

    roots: Roots

    def letters(self, budget: look.Budget, mailbox: str = "") -> Iterator[Letter]:
        """Every message, or those of one mailbox; none twice, and no link."""
        for folder, name in self._mailboxes():
            if not mailbox or name.casefold() == mailbox.casefold():
                yield from self._inside(folder, name, budget)

    def _mailboxes(self) -> Iterator[tuple[Place, str]]:
        home = self.roots.place(self.roots.roots[0], ())
        yield home, INBOX
        with opened(home) as folder:
            found = list(look.visit(folder, "", look.Budget(), deep=False))
        for here, info in found:
            if stat.S_ISDIR(info.st_mode) and here.name not in ("cur", "new", "tmp"):
                yield home.child(here.name), here.said.lstrip(".")

    def _inside(self, box: Place, mailbox: str, budget: look.Budget) -> Iterator[Letter]:
        for sub in READ:
            place = box.child(sub)
            try:
                with opened(place) as folder:
                    for here, info in look.visit(folder, "", budget, deep=False):
                        if stat.S_ISREG(info.st_mode) and not here.name.startswith("."):
                            yield _letter(place.child(here.name), mailbox, info.st_size, disk.modified(info))
            except ToolError:
                continue  # no mailbox: just a folder

    def find(self, message_id: str, *mailboxes: str) -> Letter | None:
        """The message with this id, in these mailboxes or in all. Raises ToolError when several have it."""
        budget = look.Budget()
        found = [
            letter
            for letter in self.letters(budget)
            if letter.id == message_id and (not mailboxes or letter.mailbox in mailboxes)
        ]
        if len(found) > 1:
            names = ", ".join(letter.place.said for letter in found[:3])
            raise ToolError(f"{message_id} is in several places: {names}. Remove all but one by hand.")
        if not found and budget.spent:
            raise ToolError(f"{message_id} was not found. {budget.spent}")
        return found[0] if found else None

    def wanted(self, message_id: str, *mailboxes: str) -> Letter:
        """As find. Raises ToolError when it is not there."""
        found = self.find(message_id, *mailboxes)
        if found is None:
            where = "list_drafts" if DRAFTS in mailboxes else "search_emails"
            raise ToolError(f"There is no {message_id} here. Look at the ids with {where}.")
        return found

    def place(self, mailbox: str, name: str, flags: str) -> Place:
        """Where a message would be in a mailbox of ours."""
        root = self.roots.roots[0]
        return self.roots.place(root, (f".{mailbox}", "cur", f"{name}:2,{flags}"))

    def add(self, mailbox: str, name: str, flags: str, data: bytes) -> tuple[Place, Found]:
        place = self.place(mailbox, name, flags)
        return place, change.create(place, data)


def _letter(place: Place, mailbox: str, size: int, modified: datetime) -> Letter:
    name, _, flags = place.parts[-1].partition(":2,")
    return Letter(place, mailbox, name, flags, size, modified)


def identified(name: str) -> str:
    """The id that a message file of this name (without flags) has."""
    return hashlib.sha256(name.encode()).hexdigest()[:10]


def bytes_of(place: Place, most: int = LARGEST) -> bytes:
    """The bytes of a message. Raises ToolError when it is larger than `most`."""
    with spot(place) as here, disk.reading(here) as file:
        data = read_at(file, 0, most + 1)
    if len(data) > most:
        raise ToolError(f"{place.said} is larger than {most >> 20} MB, the most this server reads.")
    return data


def head_of(place: Place, most: int) -> bytes:
    """The first bytes of a message."""
    with spot(place) as here, disk.reading(here) as file:
        return read_at(file, 0, most)
