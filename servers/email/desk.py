"""What drafting and sending need at hand: the mailboxes, the sender, the mail server, the time, new ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from email.headerregistry import Address

from mcp.server.mcpserver.exceptions import ToolError

from servers.days import Days
from servers.email import boxes, compose, outgoing, parse
from servers.email.boxes import DRAFTS, Boxes
from servers.email.models import NewDraft, Sending
from servers.email.outgoing import Outgoing
from servers.email.smtp import Post


@dataclass(frozen=True)
class Desk:
    """`post` None: nothing can be sent."""

    boxes: Boxes
    sender: Address
    days: Days
    post: Post | None
    ids: Callable[[], str]

    def drafted(self, asked: NewDraft, header_id: str) -> Outgoing:
        """The mail that was asked for. Raises ToolError with what to mend."""
        fields = asked.model_dump(exclude={"in_reply_to"}, exclude_none=True)
        answers = self._answers(asked.in_reply_to) if asked.in_reply_to else ()
        head = compose.Letterhead(self.sender, self.days.now(), header_id, answers)
        data = compose.composed(head, fields).as_bytes(policy=compose.STORED)
        return outgoing.ready(data, self.sender, {})

    def _answers(self, message_id: str) -> tuple[str, ...]:
        letter = self.boxes.wanted(message_id)
        return compose.thread_of(parse.message(boxes.bytes_of(letter.place), letter.place.said))

    def outgoing(self, asked: Sending) -> tuple[bytes, Outgoing]:
        """The bytes of a draft, and the mail that it would send. Raises ToolError with what to mend."""
        letter = self.boxes.wanted(asked.draft_id, DRAFTS)
        data = boxes.bytes_of(letter.place)
        return data, outgoing.ready(data, self.sender, asked.edits)

    def mail_server(self) -> Post:
        if self.post is None:
            raise ToolError("No mail server is set up, so nothing can be sent. Start this with --smtp-host.")
        return self.post
