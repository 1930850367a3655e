"""The mail tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Sample
from pydantic import Field

from servers.email import mailboxes, outgoing, threads
from servers.email.mailboxes import DRAFTS, OUTBOX, SENT, Account, Facts, Letter, folders_named
from servers.email.models import (
    BodyArg,
    Deleted,
    DraftArg,
    Drafted,
    DraftLine,
    Drafts,
    ExpectedArg,
    Line,
    Mail,
    MailboxArg,
    MessageArg,
    Messages,
    NewDraft,
    Plan,
    Sending,
    Sent,
    SubjectArg,
    Thread,
    ToArg,
)
from servers.email.outgoing import Outgoing
from servers.email.search import SEARCHED, Index
from servers.email.smtp import PerhapsSent
from servers.email.threads import MOST_NOTED, Written, note_of
from servers.email.words import Wanted, terms
from servers.filesystem import answers, disk, file_ops, listing, trash
from servers.filesystem.answers import spoken
from servers.filesystem.models import Item, Sha256
from servers.filesystem.paths import Place
from servers.filesystem.tools import FROM_TRASH
from servers.filesystem.trash import KEEP
from servers.folders import WAYS_BACK
from servers.model_answers import Answer, about, asking, samples
from servers.sandbox.calling import unbroken
from servers.tool_metadata import Card, bound, call, change, lying_inside, reading, unchanged

HEAD = 64 * 1024  # bytes that hold the headers
MOST_FOUND = 100
NEW_EACH_TIME = "message-id"  # of a draft: the one that is shown is not yet written
SECONDS = 8.0
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
Words = Annotated[str, Field(max_length=200)]
DayArg = Annotated[str, Field(max_length=40, description="A day, like 2026-11-24 or today.")]


@dataclass(frozen=True)
class Tools:
    """The tools over one Maildir, with the index of its words."""

    desk: Account
    index: Index = field(default_factory=Index)

    @spoken
    def list_drafts(self) -> Drafts:
        """List the drafts, the last saved first; and mails of which nobody knows whether they were sent."""
        budget, wrong = listing.Budget(SECONDS), list[str]()
        letters = (each for box in (OUTBOX, DRAFTS) for each in self._letters(budget, box))
        told = mailboxes.each("email.lines", letters, HEAD, budget, wrong)
        found = [_draft(letter, facts) for letter, facts in told]
        found.sort(key=lambda line: line.saved, reverse=True)
        shown, more = answers.fitting(found, MOST_FOUND)
        note, folders = _note(budget, wrong, bool(shown)), folders_named(wrong[:MOST_NOTED])
        return Drafts(drafts=shown, truncated=more, note=note, folders=folders)

    @spoken
    def search_emails(  # noqa: PLR0913 - one argument for each thing that can be asked for
        self,
        text: Annotated[
            Words,
            Field(
                description="Words in the subject, text, names of attachments and text files, in any order; "
                '"in quotes": together; from:ann, to:bob or subject:offer: in that field.'
            ),
        ] = "",
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
        asked = [*terms(text), *terms(sender, ("sender",)), *terms(recipient, ("recipient",))]
        asked += terms(subject, ("subject",))
        wanted = Wanted(asked, days.day(since), days.day(until), days.zone)
        budget, wrong = listing.Budget(SECONDS), list[str]()
        told = self.index.search([*self._letters(budget, mailbox)], wanted, budget, wrong)
        found = [_line(letter, facts) for letter, facts in told if letter.unread or not unread]
        found.sort(key=lambda line: line.date or LONG_AGO, reverse=True)
        shown, more = answers.fitting(found, MOST_FOUND)
        note, folders = _note(budget, wrong, bool(shown)), folders_named(wrong[:MOST_NOTED])
        return Messages(messages=shown, truncated=more or bool(budget.spent), note=note, folders=folders)

    def _letters(self, budget: listing.Budget, mailbox: str = "") -> Iterator[Letter]:
        for letter in self.desk.boxes.letters(budget, mailbox):
            if not budget.left():
                return
            if mailbox or letter.mailbox not in (DRAFTS, OUTBOX):
                yield letter

    @spoken
    def read_email(self, message_id: MessageArg, mailbox: MailboxArg = "") -> Mail:
        """One message: its headers, its text, a line for each attachment; or that it is not there."""
        letter = self.desk.boxes.find(message_id, *self.desk.boxes.called(mailbox))
        if letter is None:
            return Mail(
                exists=False, message_id=message_id, what=message_id, text="", file="", sha256=disk.ABSENT, items=[]
            )  # fmt: skip
        return self._mail(letter)

    def _mail(self, letter: Letter) -> Mail:
        data = mailboxes.of(letter)
        facts, _ = mailboxes.one("email.mail", letter.said, [data], said=letter.said)
        what = f"{facts['subject']}, to {facts['to']}" if facts["to"] else str(facts["subject"])
        item = Item(name=what, kind="file", size=len(data), modified=letter.modified)
        return Mail(
            exists=True,
            message_id=letter.id,
            what=what,
            text=facts["text"],
            file=letter.place.said,
            sha256=disk.sha256(data),
            items=[item],
        )

    @property
    def summarize_thread(self) -> Callable[..., Thread]:
        """The tool, which asks the client's model where there is one."""
        return asking(self._summarize_thread, self._thread_question)

    @spoken
    def _summarize_thread(self, message_id: MessageArg, told: Answer, mailbox: MailboxArg = "") -> Thread:
        """What a thread holds: who wrote, what was asked, decided and attached, and the last message, by rule.

        With sampling also lines of a model, each with the message that it quotes."""
        return threads.summary(*self._thread(message_id, mailbox), told)

    def _thread_question(self, message_id: str, mailbox: str, ctx: Context[Any, Any]) -> Sample | None:
        """What the model is asked about a thread; None where there is no model."""
        if not samples(ctx):
            return None
        mails, _ = self._thread(message_id, mailbox)
        return about(threads.TASK, threads.sources(mails), [each.file for each in mails])

    def _thread(self, message_id: str, mailbox: str) -> tuple[list[Written], list[str]]:
        """The messages of a thread, and what is to be said of how they were found. Raises ToolError."""
        start = self.desk.boxes.wanted(message_id, *self.desk.boxes.called(mailbox))
        budget = listing.Budget(SECONDS)
        wrong: list[str] = []
        heads = {
            letter.id: (letter, set(facts["ids"]), facts["date"] or "")
            for letter, facts in mailboxes.each(
                "email.lines", self._all(start, budget, mailbox), HEAD, budget, wrong
            )
        }
        if start.id not in heads:
            raise ToolError(wrong[0].replace(start.place.said, start.said))
        _, ids, _ = heads.pop(start.id)
        related = threads.related(ids, {key: ids for key, (_, ids, _) in heads.items()})
        keys = sorted(related, key=lambda key: (heads[key][2], key))
        newest = keys[-threads.MOST_MESSAGES :]
        letters = [start, *(heads[key][0] for key in newest)]
        mails = []
        for letter, facts in mailboxes.each("email.written", letters, SEARCHED, budget, wrong):
            try:
                with unbroken(letter.place.said):
                    mails.append(Written.model_validate({**facts, "file": letter.place.said}))
                    wrong += _partly(letter, facts["unread"])
            except ToolError as error:
                wrong.append(str(error))
        if not mails:
            raise ToolError(wrong[-1].replace(start.place.said, start.said))
        return mails, [*filter(None, [budget.unseen]), *_left_out(len(keys) - len(newest)), *wrong]

    def _all(self, start: Letter, budget: listing.Budget, mailbox: str) -> Iterator[Letter]:
        """Every message, or every one of a mailbox, beginning with this one."""
        yield start
        yield from (letter for letter in self._letters(budget, mailbox) if letter.id != start.id)

    @spoken
    def preview_draft(self, draft: NewDraft) -> Plan:
        """The mail that draft_email would write."""
        out, files = self.desk.drafted(draft, "<preview@example.invalid>")
        return outgoing.plan(out, disk.ABSENT, out.shown(NEW_EACH_TIME), files)

    @spoken
    def preview_send(self, sending: Sending) -> Plan:
        """The mail that send_draft would send, and everybody who would get it."""
        self.desk.mail_server()
        letter = self.desk.boxes.wanted(sending.draft_id, DRAFTS)
        data, out = self.desk.outgoing(letter, sending)
        return outgoing.plan(out, disk.sha256(data), out.shown(), [letter.place.said])

    @spoken
    def preview_delete(self, draft_id: DraftArg) -> Mail:
        """The draft that delete_draft would take away."""
        letter = self.desk.boxes.wanted(draft_id, DRAFTS, OUTBOX)
        return self._mail(letter)

    @spoken
    def draft_email(  # noqa: PLR0913 - one argument for each field, so that a form asks for each
        self,
        to: ToArg,
        subject: SubjectArg,
        body: BodyArg,
        cc: ToArg | None = None,
        bcc: ToArg | None = None,
        in_reply_to: MessageArg | None = None,
        expected_message: ShownArg = None,
    ) -> Drafted:
        """Write a mail and keep it as a draft. Nothing is sent."""
        asked = NewDraft(to=to, subject=subject, body=body, cc=cc, bcc=bcc, in_reply_to=in_reply_to)
        at, new = self.desk.days.now(), self.desk.ids()
        out, _ = self.desk.drafted(asked, f"<{new}@{self.desk.sender.domain}>")
        _as_shown(out.shown(NEW_EACH_TIME), expected_message)
        name = f"{int(at.timestamp())}.{new}.countersign"
        place, found = self.desk.boxes.add(DRAFTS, name, "DS", out.data)
        return Drafted(
            draft_id=mailboxes.identified(name), what=out.what, file=place.said, sha256=found.sha256
        )

    @spoken
    def delete_draft(self, draft_id: DraftArg, expected_sha256: ExpectedArg = None) -> Deleted:
        """Delete a draft. It stays in the trash."""
        letter = self.desk.boxes.wanted(draft_id, DRAFTS, OUTBOX)
        at = self.desk.days.now()
        facts, _ = mailboxes.one("email.mail", letter.said, [mailboxes.of(letter)], said=letter.said)
        expected = None if expected_sha256 is None else {letter.place.said: expected_sha256}
        kept, _ = file_ops.delete([letter.place], expected, at)
        return Deleted(
            draft_id=draft_id,
            what=facts["subject"],
            file=letter.place.said,
            sha256=disk.ABSENT,
            trash_id=kept.id,
            entry=kept.entry,
            kept_until=at + trash.KEEP,
        )

    @spoken
    def send_draft(  # noqa: PLR0913 - as above
        self,
        draft_id: DraftArg,
        to: ToArg | None = None,
        cc: ToArg | None = None,
        bcc: ToArg | None = None,
        subject: SubjectArg | None = None,
        body: BodyArg | None = None,
        expected_sha256: ExpectedArg = None,
        expected_message: ShownArg = None,
    ) -> Sent:
        """Send a draft, changed where something is given. This cannot be taken back."""
        asked = Sending(draft_id=draft_id, to=to, cc=cc, bcc=bcc, subject=subject, body=body)
        letter = self.desk.boxes.wanted(draft_id, DRAFTS)
        data, out = self.desk.outgoing(letter, asked)
        sha256 = disk.sha256(data)
        if expected_sha256 not in (None, sha256):
            raise ToolError("The draft has changed since it was shown. Look at it again, then ask again.")
        _as_shown(out.shown(), expected_message)
        return self._sent(letter, out, sha256, self.desk.days.now())

    def _sent(self, letter: Letter, out: Outgoing, sha256: str, at: datetime) -> Sent:
        """Whoever moves the draft to the outbox sends it, so nobody sends it twice."""
        post, wire = self.desk.mail_server(), out.wire(at)
        claimed = self.desk.boxes.place(OUTBOX, letter.name, letter.flags)
        file_ops.move(letter.place, claimed, sha256)
        try:
            post.send(out.sender.addr_spec, out.envelope, wire)
        except ToolError:
            file_ops.move(claimed, letter.place, sha256)
            raise
        except PerhapsSent as error:
            raise ToolError(
                f"It is not known whether the mail server took the mail ({error}), so it may have been sent. The draft "
                f"is in {claimed.said} now. Ask a recipient; then delete it, or move it back to send it again."
            ) from error
        return self._filed(claimed, letter, out, wire, at)

    def _filed(self, claimed: Place, letter: Letter, out: Outgoing, wire: bytes, at: datetime) -> Sent:
        """Keep a copy of what was sent, Bcc included, in place of the draft. It is sent, whatever happens here."""
        hidden = ", ".join(each.addr_spec for each in out.lists["Bcc"])
        copy = (f"Bcc: {hidden}\n".encode() if hidden else b"") + wire.replace(b"\r\n", b"\n")
        file, note = "", ""
        try:
            file = self.desk.boxes.add(SENT, letter.name, "S", copy)[0].said
            file_ops.delete([claimed], None, at)
        except (ToolError, OSError) as error:
            note = f"It was sent, but its copy could not be filed ({error}). Its draft may still be listed: delete it."
        return Sent(
            what=out.what,
            recipients=out.recipients,
            sent_at=at,
            message_id=letter.id,
            file=file,
            header_id=out.header_id,
            note=note,
        )


def _partly(letter: Letter, unread: str) -> list[str]:
    """A sentence about a message of which some was not read."""
    if letter.size > SEARCHED:
        unread = f"is larger than {SEARCHED >> 20} MB: only its beginning was read"
    return [f"{letter.place.said} {unread}."] if unread else []


def _left_out(count: int) -> list[str]:
    """A sentence about the messages of a thread that are not read."""
    if not count:
        return []
    return [
        f"The thread has {count} older message{'s' * (count > 1)} that {'are' if count > 1 else 'is'} not in this: "
        f"it tells of the one asked for and of the {threads.MOST_MESSAGES} newest others."
    ]


def _note(budget: listing.Budget, wrong: list[str], any_: bool) -> str:
    return " ".join(filter(None, [budget.unseen, note_of(wrong)])) or ("" if any_ else "There are none.")


def _line(letter: Letter, facts: Facts) -> Line:
    return Line(
        message_id=letter.id,
        date=facts["date"] and datetime.fromisoformat(facts["date"]),
        sender=facts["sender"],
        subject=facts["subject"],
        mailbox=letter.mailbox,
        unread=letter.unread,
        file=letter.place.said,
    )


def _draft(letter: Letter, facts: Facts) -> DraftLine:
    return DraftLine(
        draft_id=letter.id,
        recipients=facts["recipients"],
        subject=facts["subject"],
        saved=letter.modified,
        size=letter.size,
        state="draft" if letter.mailbox == DRAFTS else "perhaps sent",
        file=letter.place.said,
    )


ShownArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of the mail that was shown. Refused when it would be another one."),
]


def _as_shown(found: str, expected: str | None) -> None:
    if expected is not None and found != expected:
        raise ToolError("The mail has changed since it was shown. Look at it again, then ask again.")


# A deleted draft comes back as the file it was, by the tools of the filesystem server.

_SAME_FILE: dict[str, Any] = {"drift": unchanged("get_metadata", path="{result.file}")}
_WHOLE_MAIL: dict[str, Any] = {
    "preview": {
        "kind": "text",
        "after": "{capture.plan.message}",
        "of": ["to", "cc", "bcc", "subject", "body"],
    }
}


def _told_of(*fields: str) -> dict[str, list[str]]:
    """Targets of a read whose result names in these fields the files that it tells of."""
    return {"found": [*fields], "listed": [*fields]}


_CARDS: dict[str, Card] = {
    "list_drafts": reading("List drafts", "List the drafts", **_told_of("drafts[].file", "folders[]")),
    "search_emails": reading(
        "Search mail",
        "Search the mail",
        ids=["mailbox"],
        looks=["mailbox"],
        **_told_of("messages[].file", "folders[]"),
    ),
    "summarize_thread": reading(
        "Summarize thread",
        "Sum up the thread of {args.message_id}",
        ids=["message_id", "mailbox"],
        looks=["mailbox"],
        **_told_of("files[]", "folders[]"),
    ),
    "read_email": reading(
        "Read mail",
        "Read the mail {args.message_id}",
        ids=["message_id", "mailbox"],
        looks=["mailbox"],
        **_told_of("file"),
    ),
    "preview_draft": reading(
        "Preview a draft",
        "Look at the new draft",
        addresses=["draft.to", "draft.cc", "draft.bcc"],
        nested=["draft"],
        told=["files[]"],
    ),
    "preview_send": reading(
        "Preview sending",
        "Look at the draft {args.sending.draft_id}",
        addresses=["sending.to", "sending.cc", "sending.bcc"],
        nested=["sending"],
        **_told_of("files[]"),
    ),
    "preview_delete": reading(
        "Preview deleting a draft",
        "Look at the draft {args.draft_id}",
        ids=["draft_id"],
        **_told_of("file"),
    ),
    "draft_email": change(
        "Draft mail",
        "Draft",
        "Draft a mail: {capture.plan.what}",
        targets={"addresses": ["to", "cc", "bcc"], "reported": ["{capture.plan.files}", f".{DRAFTS}/cur/"]},
        risk="low",
        noun="{args.subject}",
        capture={"plan": call("preview_draft", draft="{args}")},
        bind=bound(expected_message="shown"),
        **_WHOLE_MAIL,
        recoverable="Nothing is sent",
        undo=[call("delete_draft", draft_id="{result.draft_id}", expected_sha256="{result.sha256}")],
        **_SAME_FILE,
    ),
    "delete_draft": change(
        "Delete draft",
        "Delete",
        "Delete the draft {capture.target.what}",
        targets={"ids": ["draft_id"], "reported": ["{capture.target.file}"]},
        cls="destructive",
        risk="medium",
        noun="draft {args.draft_id}",
        capture={"target": call("preview_delete", draft_id="{args.draft_id}")},
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The draft stays in .countersign/trash",
        keeps_days=KEEP.days,
        undo=[call("restore_file", **FROM_TRASH, expected_sha256="{result.sha256}")],
        **_SAME_FILE,
    ),
    "send_draft": replace(
        change(
            "Send mail",
            "Send",
            "Send {capture.plan.what}",
            targets={
                "addresses": ["to", "cc", "bcc"],
                "ids": ["draft_id"],
                "reported": ["{capture.plan.addresses}", "{capture.plan.files}", f".{SENT}/cur/"],
                "left_out": [
                    "subject={capture.plan.subject}",
                    "body={capture.plan.message|body}",
                    *(f"{name}={{capture.plan.{name}}}" for name in ("to", "cc", "bcc")),
                ],
            },
            cls="destructive",
            risk="high",
            noun="{capture.plan.noun}",
            capture={"plan": call("preview_send", sending="{args}")},
            bind=bound(expected_sha256="sha256", expected_message="shown"),
            **_WHOLE_MAIL,
            recoverable="A mail that was sent stays sent",
            expect=[{"that": "{result.header_id}", "matches": "@", "why": "it has no Message-ID"}],
            notifies="{capture.plan.recipients}",
        ),
        open_world=True,
    ),
    **WAYS_BACK,
}
CARDS = lying_inside(_CARDS, "mailbox")
