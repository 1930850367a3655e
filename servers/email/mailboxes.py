"""The mailboxes of a Maildir: messages found within limits and opened in the sandbox, each under a short id."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from itertools import accumulate, chain, islice, pairwise
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.date_limits import in_utc
from servers.days import Days
from servers.email import outgoing
from servers.email.models import NewDraft, Sending
from servers.email.outgoing import Outgoing
from servers.email.smtp import Post
from servers.filesystem import disk, file_ops, listing
from servers.filesystem.disk import Found
from servers.filesystem.paths import Place, Roots, opened, spot
from servers.filesystem.text import read_at
from servers.sandbox.calling import (
    NO_TIME,
    SANDBOX,
    TOO_MUCH,
    Job,
    Limits,
    brief,
    count,
    decoded,
    unbroken,
)
from servers.sandbox.portions import Portions
from servers.sandbox.protocol import MOST_JSON, MOST_TEXT

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
    version: str  # what another file in its place, or another content, does not have

    @property
    def id(self) -> str:
        return identified(self.name)

    @property
    def said(self) -> str:
        """What it is called to somebody who has its id alone."""
        return f"The mail {self.id}"

    @property
    def unread(self) -> bool:
        return "S" not in self.flags and self.mailbox not in (DRAFTS, SENT, OUTBOX)


@dataclass(frozen=True)
class Boxes:
    """A Maildir (Maildir++: mailboxes are folders with a dot before their name), and how long looking may take."""

    roots: Roots

    def letters(self, budget: listing.Budget, mailbox: str = "") -> Iterator[Letter]:
        """Every message, or those of one mailbox; none twice, and no link."""
        for folder, name in self._mailboxes():
            if not mailbox or name.casefold() == mailbox.casefold():
                yield from self._inside(folder, name, budget)

    def _mailboxes(self) -> Iterator[tuple[Place, str]]:
        home = self.roots.place(self.roots.roots[0], ())
        yield home, INBOX
        with opened(home) as folder:
            found = list(listing.visit(folder, "", listing.Budget(), deep=False))
        for here, info in found:
            if stat.S_ISDIR(info.st_mode) and here.name not in ("cur", "new", "tmp"):
                yield home.child(here.name), here.said.lstrip(".")

    def called(self, name: str) -> list[str]:
        """The mailboxes of this name, in whatever letters; none for "". Raises ToolError where there is none."""
        found = [mailbox for _, mailbox in self._mailboxes() if mailbox.casefold() == name.casefold()]
        if name and not found:
            raise ToolError(f"There is no mailbox {name}. Name one as a search of the mail has it.")
        return found

    def _inside(self, box: Place, mailbox: str, budget: listing.Budget) -> Iterator[Letter]:
        for sub in READ:
            place = box.child(sub)
            try:
                with opened(place) as folder:
                    for here, info in listing.visit(folder, "", budget, deep=False):
                        if stat.S_ISREG(info.st_mode) and not here.name.startswith("."):
                            yield _letter(place.child(here.name), mailbox, info)
            except ToolError:
                continue  # no mailbox: just a folder

    def find(self, message_id: str, *mailboxes: str) -> Letter | None:
        """The message with this id, in these mailboxes or in all. Raises ToolError when several have it."""
        budget = listing.Budget()
        found = [
            letter
            for letter in self.letters(budget)
            if letter.id == message_id and (not mailboxes or letter.mailbox in mailboxes)
        ]
        if len(found) > 1:
            raise ToolError(
                f"{message_id} is in {len(found)} places. Search the mail to see which, and name a mailbox, or remove "
                "all but one by hand."
            )
        if not found and budget.spent:
            raise ToolError(f"{message_id} was not found. {budget.spent}")
        return found[0] if found else None

    def wanted(self, message_id: str, *mailboxes: str) -> Letter:
        """As find. Raises ToolError when it is not there."""
        found = self.find(message_id, *mailboxes)
        if found is None:
            what = "draft" if DRAFTS in mailboxes else "mail"
            raise ToolError(f"There is no {what} {message_id}. List the {what}s to see their ids.")
        return found

    def place(self, mailbox: str, name: str, flags: str) -> Place:
        """Where a message would be in a mailbox of ours."""
        root = self.roots.roots[0]
        return self.roots.place(root, (f".{mailbox}", "cur", f"{name}:2,{flags}"))

    def add(self, mailbox: str, name: str, flags: str, data: bytes) -> tuple[Place, Found]:
        place = self.place(mailbox, name, flags)
        return place, file_ops.create(place, data)


def _letter(place: Place, mailbox: str, info: os.stat_result) -> Letter:
    name, _, flags = place.parts[-1].partition(":2,")
    which = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return Letter(place, mailbox, name, flags, info.st_size, disk.modified(info), " ".join(map(str, which)))


def identified(name: str) -> str:
    """The id that a message file of this name (without flags) has."""
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:10]  # the bytes on the disk, which may be no UTF-8


def bytes_of(place: Place, most: int = LARGEST) -> bytes:
    """The bytes of a message. Raises ToolError when it is larger than `most`."""
    with spot(place) as here, disk.reading(here) as file:
        data = read_at(file, 0, most + 1)
    if len(data) > most:
        raise ToolError(f"{place.said} is larger than {most >> 20} MB, the most this server reads.")
    return data


def of(letter: Letter) -> bytes:
    """The bytes of a message that was asked for by its id. Raises ToolError, which does not name its file."""
    try:
        return bytes_of(letter.place)
    except ToolError as error:
        raise ToolError(str(error).replace(letter.place.said, letter.said)) from error


IN_FOLDER = re.compile(r"(?:[^/]+/){0,2}?(?:cur|new)/")


def folders_named(sentences: Iterable[str]) -> list[str]:
    """The folders of the messages with whose files these sentences begin."""
    found = filter(None, map(IN_FOLDER.match, sentences))
    return list(dict.fromkeys(one[0] for one in found))


def head_of(place: Place, most: int) -> bytes:
    """The first bytes of a message."""
    with spot(place) as here, disk.reading(here) as file:
        return read_at(file, 0, most)


LIMITS = Limits(seconds=5, told=MOST_JSON)  # for one message or one portion
MOST_BYTES = 16 << 20  # of one portion
AT_ONCE = 100
Facts = dict[str, Any]


def one(task: str, name: str, blobs: Sequence[bytes], **args: Any) -> tuple[Facts, bytes]:
    """What a task gives that says whole sentences. Raises ToolError."""
    result = SANDBOX.call(Job(task, blobs, args, limits=LIMITS))
    if result.refused:
        raise ToolError(f"{name} {result.refused}" if result.stopped else result.refused)
    return result.told, result.data


def each(
    task: str, letters: Iterable[Letter], most: int, budget: listing.Budget, wrong: list[str]
) -> Iterator[tuple[Letter, Facts]]:
    """What a task says of the first `most` bytes of each message. One that is gone meanwhile or makes no sense goes to
    `wrong`."""
    for letter, facts, _ in chain.from_iterable(told(task, letters, most, budget, wrong)):
        if "wrong" in facts:
            wrong.append(facts["wrong"])
        else:
            yield letter, facts


def told(
    task: str, letters: Iterable[Letter], most: int, budget: listing.Budget, wrong: list[str]
) -> Iterator[Iterable[tuple[Letter, Facts, list[str]]]]:
    """The same with the texts that the task gives besides, and with the messages that make no sense: their facts say
    what is `wrong`. Those for which the time of the budget is not enough are left out. What one call told is given
    together: there is a wait before it, and none within."""

    def job(some: list[tuple[Letter, bytes]]) -> Job:
        names = [letter.place.said for letter, _ in some]
        return Job(task, [data for _, data in some], {"names": names}, limits=LIMITS)

    for portion in _portions(letters, most, wrong):
        seconds = max(1.0, budget.deadline - budget.clock())
        for some, result in Portions(job, AT_ONCE, seconds).results(portion):
            if not result.refused:
                yield _told(some, result.told.get("found"), result.data)
            elif result.stopped and result.begun:
                [(letter, _)] = some
                yield [(letter, {"wrong": f"{letter.place.said} {result.refused}"}, [])]
            elif result.refused != NO_TIME:
                wrong += [brief(f"{letter.place.said} {result.refused}") for letter, _ in some]


def _told(
    some: Sequence[tuple[Letter, bytes]], found: Any, data: bytes
) -> Iterator[tuple[Letter, Facts, list[str]]]:
    """What was said of each."""
    at = 0
    each = found if isinstance(found, list) and len(found) == len(some) else [None] * len(some)
    for (letter, _), facts in zip(some, each, strict=True):
        name = letter.place.said
        try:
            with unbroken(name):
                kept = _known(facts)
                sizes = [count(size, len(data) - at) for size in facts.get("sizes", ())[:_MOST_TEXTS]]
                ends = [*accumulate(sizes, initial=at)]
                count(ends[-1] - at, min(len(data) - at, 4 * MOST_TEXT))
                texts = [decoded(data[start:end], name) for start, end in pairwise(ends)]
        except ToolError:  # a mail may have taken the process over
            yield letter, {"wrong": f"{name} {TOO_MUCH}"}, []
            continue
        at = ends[-1]
        yield letter, kept, texts


_MOST_TEXTS, _MOST_TEXT = 20, 2_000  # of one message; characters of what is said of it
_TEXTS = {"subject", "recipients", "unread", "words"}
_LISTS = {"ids": 50, "people": 500, "questions": 200, "decisions": 200, "attached": 1_000}  # how many at most


def _known(facts: Facts) -> Facts:
    """Of the facts of a message those that are asked for, none longer than it may be. Raises ValueError, TypeError and
    AttributeError for what are none."""
    if "wrong" in facts:
        return {"wrong": brief(_text(facts["wrong"]))}
    kept: Facts = {name: _text(facts.get(name, "")) for name in _TEXTS}
    for name in _LISTS.keys() & facts.keys():
        kept[name] = [*map(_part, _list(facts[name], _LISTS[name]))]
    sender, date = facts["sender"], facts["date"]
    kept["sender"] = _part(sender) if "people" in facts else _text(sender)
    kept["date"] = None if date is None else in_utc(datetime.fromisoformat(_text(date))).isoformat()
    kept["named"] = bool(facts.get("named"))
    return kept


def _list(found: Any, most: int) -> list[Any]:
    if not isinstance(found, list):
        raise TypeError("no list")
    return found[:most]


def _part(found: Any) -> str | list[str]:
    """A text, or a name and an address."""
    return [_text(one) for one in found[:2]] if isinstance(found, list) else _text(found)


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise TypeError("no text")
    return brief(found, _MOST_TEXT)


def _portions(letters: Iterable[Letter], most: int, wrong: list[str]) -> Iterator[list[tuple[Letter, bytes]]]:
    """The messages with their bytes, as many together as one call takes."""
    rest = iter(letters)
    while some := list(islice(rest, AT_ONCE)):
        held: list[tuple[Letter, bytes]] = []
        for letter in some:
            try:
                held.append((letter, head_of(letter.place, most)))
            except ToolError as error:
                wrong.append(str(error))
            if sum(len(data) for _, data in held) > MOST_BYTES:
                yield held
                held = []
        if held:
            yield held


@dataclass(frozen=True)
class Account:
    """`post` None: nothing can be sent."""

    boxes: Boxes
    sender: Address
    days: Days
    post: Post | None
    ids: Callable[[], str]

    def drafted(self, asked: NewDraft, header_id: str) -> tuple[Outgoing, list[str]]:
        """The mail that was asked for, and the files it is made of. Raises ToolError with what to mend."""
        fields = asked.model_dump(exclude={"in_reply_to"}, exclude_none=True)
        letter = self.boxes.wanted(asked.in_reply_to) if asked.in_reply_to else None
        answers = self._answers(letter) if letter else []
        facts, data = one(
            "email.composed",
            "This mail",
            [],
            sender=self._me,
            written=self.days.now().isoformat(),
            header_id=header_id,
            answers=answers,
            fields=fields,
        )
        with unbroken("This mail"):
            return outgoing.told(facts, data, self.sender), [letter.place.said] if letter else []

    @property
    def _me(self) -> list[str]:
        return [self.sender.display_name, self.sender.username, self.sender.domain]

    def _answers(self, letter: Letter) -> list[str]:
        facts, _ = one("email.mail", letter.said, [of(letter)], said=letter.said)
        return list(facts["answers"])

    def outgoing(self, letter: Letter, asked: Sending) -> tuple[bytes, Outgoing]:
        """The bytes of a draft, and the mail that it would send. Raises ToolError with what to mend."""
        data = of(letter)
        facts, made = one("email.ready", "The draft", [data], sender=self._me, edits=asked.edits)
        with unbroken("The draft"):
            return data, outgoing.told(facts, made, self.sender)

    def mail_server(self) -> Post:
        if self.post is None:
            raise ToolError("No mail server is set up, so nothing can be sent. Start this with --smtp-host.")
        return self.post
