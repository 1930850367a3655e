"""The tools that only read: drafts, messages, threads, and what drafting or sending would do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.message import EmailMessage
from typing import Annotated, TypeVar

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.days import Days
from servers.email import boxes, outgoing, parse, threads
from servers.email.boxes import DRAFTS, OUTBOX, Letter
from servers.email.desk import Desk
from servers.email.models import (
    DraftArg,
    DraftLine,
    Drafts,
    Line,
    Mail,
    MessageArg,
    Messages,
    NewDraft,
    Plan,
    Sending,
    Thread,
)
from servers.filesystem import disk, look, room
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item

HEAD = 64 * 1024  # bytes that hold the headers
SEARCHED = 4 << 20  # bytes of a message that are searched
MOST_FOUND = 100
SECONDS = 8.0
LONGEST_TEXT = 200_000  # characters of one message
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
Words = Annotated[str, Field(max_length=200)]
DayArg = Annotated[str, Field(max_length=40, description="A day, like 2026-11-24 or today.")]


@dataclass(frozen=True)
class Wanted:
    """What a search asks for. Empty: anything."""

    text: str
    sender: str
    recipient: str
    subject: str
    since: date | None
    until: date | None

    def holds(self, mail: EmailMessage, days: Days) -> bool:
        at = parse.date(mail)
        day = at.astimezone(days.zone).date() if at else None
        told = {
            self.sender: parse.header(mail, "From"),
            self.recipient: " ".join(parse.header(mail, name) for name in ("To", "Cc", "Bcc")),
            self.subject: parse.header(mail, "Subject"),
        }
        return (
            all(_in(words, value) for words, value in told.items())
            and not (self.since and (day is None or day < self.since))
            and not (self.until and (day is None or day > self.until))
            and (not self.text or _in(self.text, f"{parse.header(mail, 'Subject')}\n{parse.said(mail)}"))
        )


def _in(words: str, text: str) -> bool:
    return words.casefold() in text.casefold()


@dataclass(frozen=True)
class Reading:
    """The reading tools over one Maildir."""

    desk: Desk

    @spoken
    def list_drafts(self) -> Drafts:
        """List the drafts, the last saved first; and mails of which nobody knows whether they were sent."""
        budget, wrong = look.Budget(SECONDS), list[str]()
        letters = (each for box in (OUTBOX, DRAFTS) for each in self._letters(budget, box))
        found = list(_readable(letters, _draft, wrong))
        found.sort(key=lambda line: line.saved, reverse=True)
        shown, more = room.fitting(found, MOST_FOUND)
        return Drafts(drafts=shown, truncated=more, note=_note(budget, wrong, bool(shown)))

    @spoken
    def search_emails(  # noqa: PLR0913 - one argument for each thing that can be asked for
        self,
        text: Annotated[Words, Field(description="Words in the subject or the text.")] = "",
        sender: Annotated[Words, Field(description="A part of a name or an address.")] = "",
        recipient: Annotated[Words, Field(description="A part of a name or an address.")] = "",
        subject: Annotated[Words, Field(description="Words in the subject.")] = "",
        since: DayArg = "",
        until: DayArg = "",
        mailbox: Annotated[Words, Field(description="INBOX, Sent, …; empty: all but drafts.")] = "",
        unread: Annotated[bool, Field(description="Only what nobody has read.")] = False,
    ) -> Messages:
        """Find messages, the newest first."""
        days = self.desk.days
        wanted = Wanted(text, sender, recipient, subject, days.day(since), days.day(until))
        budget, wrong = look.Budget(SECONDS), list[str]()

        def fitting(letter: Letter) -> Line | None:
            mail = _read(letter, SEARCHED if text else HEAD)
            return _line(letter, mail) if wanted.holds(mail, days) else None

        letters = (each for each in self._letters(budget, mailbox) if each.unread or not unread)
        found = [line for line in _readable(letters, fitting, wrong) if line]
        found.sort(key=lambda line: line.date or LONG_AGO, reverse=True)
        shown, more = room.fitting(found, MOST_FOUND)
        note = _note(budget, wrong, bool(shown))
        return Messages(messages=shown, truncated=more or bool(budget.spent), note=note)

    def _letters(self, budget: look.Budget, mailbox: str = "") -> Iterator[Letter]:
        for letter in self.desk.boxes.letters(budget, mailbox):
            if not budget.left():
                return
            if mailbox or letter.mailbox not in (DRAFTS, OUTBOX):
                yield letter

    @spoken
    def read_email(self, message_id: MessageArg) -> Mail:
        """One message: its headers, its text, a line for each attachment; or that it is not there."""
        letter = self.desk.boxes.find(message_id)
        if letter is None:
            return Mail(
                exists=False, message_id=message_id, what=message_id, text="", file="", sha256=disk.ABSENT, items=[]
            )  # fmt: skip
        data = boxes.bytes_of(letter.place)
        return self._mail(letter, data)

    def _mail(self, letter: Letter, data: bytes) -> Mail:
        mail = parse.message(data, letter.place.said)
        subject, to = parse.header(mail, "Subject") or "(no subject)", parse.header(mail, "To")
        what = f"{subject}, to {to}" if to else subject
        item = Item(name=what, kind="file", size=len(data), modified=letter.modified)
        text = "\n".join([*_headers(mail), "", parse.said(mail), *parse.attachments(mail)])
        return Mail(
            exists=True,
            message_id=letter.id,
            what=what,
            text=text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "\n… (there is more)",
            file=letter.place.said,
            sha256=disk.sha256(data),
            items=[item],
        )

    @spoken
    def summarize_thread(self, message_id: MessageArg) -> Thread:
        """What a thread holds, by rule: who wrote, when, what was asked, and what the last message says."""
        start = self.desk.boxes.wanted(message_id)
        budget = look.Budget(SECONDS)
        first = _read(start, SEARCHED)
        wrong: list[str] = []
        others = {letter.id: letter for letter in self._letters(budget) if letter.id != start.id}
        heads = _readable(others.values(), lambda letter: (letter.id, _read(letter, HEAD)), wrong)
        keys = sorted(threads.related(first, heads))[: threads.MOST_MESSAGES]
        mails = _readable([others[key] for key in keys], lambda letter: _read(letter, SEARCHED), wrong)
        return threads.summary([first, *mails], _note(budget, wrong, True))

    @spoken
    def preview_draft(self, draft: NewDraft) -> Plan:
        """The mail that draft_email would write."""
        return outgoing.plan(self.desk.drafted(draft, "<preview@example.invalid>"), disk.ABSENT)

    @spoken
    def preview_send(self, sending: Sending) -> Plan:
        """The mail that send_draft would send, and everybody who would get it."""
        self.desk.mail_server()
        data, out = self.desk.outgoing(sending)
        return outgoing.plan(out, disk.sha256(data))

    @spoken
    def preview_delete(self, draft_id: DraftArg) -> Mail:
        """The draft that delete_draft would take away."""
        letter = self.desk.boxes.wanted(draft_id, DRAFTS, OUTBOX)
        return self._mail(letter, boxes.bytes_of(letter.place))


Shown = TypeVar("Shown")


def _readable(
    letters: Iterable[Letter], show: Callable[[Letter], Shown], wrong: list[str]
) -> Iterator[Shown]:
    """What can be shown of each. A mail that is gone meanwhile or makes no sense goes to `wrong`."""
    for letter in letters:
        try:
            yield show(letter)
        except ToolError as error:
            wrong.append(str(error))


def _note(budget: look.Budget, wrong: list[str], any_: bool) -> str:
    more = f"And {len(wrong) - 3} more." if len(wrong) > 3 else ""
    return " ".join(filter(None, [budget.spent, *wrong[:3], more])) or ("" if any_ else "There are none.")


def _headers(mail: EmailMessage) -> Iterator[str]:
    for name in ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject"):
        if value := parse.header(mail, name):
            yield f"{name}: {value}"


def _read(letter: Letter, most: int) -> EmailMessage:
    return parse.message(boxes.head_of(letter.place, most), letter.place.said)


def _line(letter: Letter, mail: EmailMessage) -> Line:
    return Line(
        message_id=letter.id,
        date=parse.date(mail),
        sender=parse.header(mail, "From")[:200],
        subject=parse.header(mail, "Subject")[:300],
        mailbox=letter.mailbox,
        unread=letter.unread,
    )


def _draft(letter: Letter) -> DraftLine:
    mail = _read(letter, HEAD)
    people = [address for _, address in parse.addresses(mail, "To", "Cc", "Bcc")]
    return DraftLine(
        draft_id=letter.id,
        recipients=", ".join(people)[:300],
        subject=parse.header(mail, "Subject")[:300],
        saved=letter.modified,
        size=letter.size,
        state="draft" if letter.mailbox == DRAFTS else "perhaps sent",
    )
