"""The tools that change something. A draft has a way back; a mail that was sent has none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.email import boxes, outgoing, parse
from servers.email.boxes import DRAFTS, OUTBOX, SENT, Letter
from servers.email.desk import Desk
from servers.email.models import (
    BodyArg,
    Deleted,
    DraftArg,
    Drafted,
    ExpectedArg,
    MessageArg,
    NewDraft,
    Sending,
    Sent,
    SubjectArg,
    ToArg,
)
from servers.email.outgoing import Outgoing
from servers.email.smtp import PerhapsSent
from servers.filesystem import change, disk, trash
from servers.filesystem.answers import spoken
from servers.filesystem.models import Sha256
from servers.filesystem.roots import Place

ShownArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of the mail that was shown. Refused when it would be another one."),
]


@dataclass(frozen=True)
class Changing:
    """The changing tools over one Maildir."""

    desk: Desk

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
        out = self.desk.drafted(asked, f"<{new}@{self.desk.sender.domain}>")
        _as_shown(out, expected_message)
        name = f"{int(at.timestamp())}.{new}.countersign"
        place, found = self.desk.boxes.add(DRAFTS, name, "DS", out.data)
        return Drafted(draft_id=boxes.identified(name), what=out.what, file=place.said, sha256=found.sha256)

    @spoken
    def delete_draft(self, draft_id: DraftArg, expected_sha256: ExpectedArg = None) -> Deleted:
        """Delete a draft. It stays in the trash."""
        letter = self.desk.boxes.wanted(draft_id, DRAFTS, OUTBOX)
        at = self.desk.days.now()
        mail = parse.message(boxes.bytes_of(letter.place), letter.place.said)
        expected = None if expected_sha256 is None else {letter.place.said: expected_sha256}
        manifest, _ = change.delete([letter.place], expected, at)
        return Deleted(
            draft_id=draft_id,
            what=parse.header(mail, "Subject") or "(no subject)",
            file=letter.place.said,
            sha256=disk.ABSENT,
            trash_id=manifest.id,
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
        data, out = self.desk.outgoing(asked)
        sha256 = disk.sha256(data)
        if expected_sha256 not in (None, sha256):
            raise ToolError("The draft has changed since it was shown. Look at it again, then ask again.")
        _as_shown(out, expected_message)
        return self._sent(letter, out, sha256, self.desk.days.now())

    def _sent(self, letter: Letter, out: Outgoing, sha256: str, at: datetime) -> Sent:
        """Whoever moves the draft to the outbox sends it, so nobody sends it twice."""
        post, wire = self.desk.mail_server(), out.wire(at)
        claimed = self.desk.boxes.place(OUTBOX, letter.name, letter.flags)
        change.move(letter.place, claimed, sha256)
        try:
            post.send(out.sender.addr_spec, out.envelope, wire)
        except ToolError:
            change.move(claimed, letter.place, sha256)
            raise
        except PerhapsSent as error:
            raise ToolError(
                f"The line to the mail server broke ({error}) while it took the mail, so it may have been sent. The "
                f"draft is in {claimed.said} now. Ask a recipient; then delete it, or move it back to send it again."
            ) from error
        return self._filed(claimed, letter, out, wire, at)

    def _filed(self, claimed: Place, letter: Letter, out: Outgoing, wire: bytes, at: datetime) -> Sent:
        """Keep a copy of what was sent, Bcc included, in place of the draft. It is sent, whatever happens here."""
        hidden = ", ".join(each.addr_spec for each in out.lists["Bcc"])
        copy = (f"Bcc: {hidden}\n".encode() if hidden else b"") + wire.replace(b"\r\n", b"\n")
        file, note = "", ""
        try:
            file = self.desk.boxes.add(SENT, letter.name, "S", copy)[0].said
            change.delete([claimed], None, at)
        except (ToolError, OSError) as error:
            note = f"It was sent, but its copy could not be filed ({error}). Its draft may still be listed: delete it."
        return Sent(
            what=out.what,
            recipients=out.recipients,
            sent_at=at,
            message_id=letter.id,
            file=file,
            header_id=parse.header(out.mail, "Message-ID"),
            note=note,
        )


def _as_shown(out: Outgoing, expected: str | None) -> None:
    if expected is not None and outgoing.plan(out, disk.ABSENT).shown != expected:
        raise ToolError("The mail has changed since it was shown. Look at it again, then ask again.")
