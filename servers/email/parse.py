"""From the bytes of a message to what people read of it. Whatever is wrong with them, something readable comes out."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import getaddresses, parsedate_to_datetime
from html.parser import HTMLParser

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk

MOST_PARTS = 200
BOUNDARY = re.compile(rb"boundary\s*=", re.IGNORECASE)
BLANKS = re.compile(r"\n{3,}")
QUOTED = re.compile(r"^\s*(>|On .{5,200} wrote:\s*$|-{2,} ?Original Message)", re.IGNORECASE)
SIGNATURE = "-- "


def message(data: bytes, said: str) -> EmailMessage:
    """The parsed message. Raises ToolError naming it when the parser cannot make sense of it."""
    if (
        len(BOUNDARY.findall(data)) > MOST_PARTS
    ):  # thousands inside each other would keep the parser busy for long
        raise ToolError(f"{said} has more than {MOST_PARTS} parts. Open it in a mail program.")
    try:
        found = email.message_from_bytes(data, policy=email.policy.default)
    except Exception as error:  # the parser over foreign bytes may raise anything
        raise ToolError(f"{said} is no mail that can be read ({type(error).__name__}).") from error
    assert isinstance(found, EmailMessage)
    return found


def header(mail: EmailMessage, name: str) -> str:
    """The decoded value in one line; as it stands where it cannot be decoded; "" where there is none."""
    try:
        value = str(mail.get(name, ""))
    except Exception:  # the header registry gives up on some values
        value = next((str(v) for k, v in mail.raw_items() if k.lower() == name.lower()), "")
    return " ".join(value.split())


def addresses(mail: EmailMessage, *names: str) -> list[tuple[str, str]]:
    """Name and address of everybody in these headers."""
    found = getaddresses([header(mail, name) for name in names])
    return [(name, address) for name, address in found if "@" in address]


def date(mail: EmailMessage) -> datetime | None:
    """When it says that it was written, in UTC."""
    try:
        found = parsedate_to_datetime(header(mail, "Date"))
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def parts(mail: EmailMessage) -> list[EmailMessage]:
    """The leaves of the message. Raises ToolError for too many."""
    found = []
    for part in mail.walk():
        if part.get_content_maintype() != "multipart" and isinstance(part, EmailMessage):
            found.append(part)
        if len(found) > MOST_PARTS:
            raise ToolError(f"The mail has more than {MOST_PARTS} parts. Open it in a mail program.")
    return found


def is_text(part: EmailMessage) -> bool:
    return part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment"


def content(part: EmailMessage) -> str:
    """The text of a text part, also under a charset that nobody knows."""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        text = data.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def said(mail: EmailMessage) -> str:
    """What it says: its plain text where it has one, else its HTML without the marks."""
    texts = [part for part in parts(mail) if is_text(part)]
    plain = [part for part in texts if part.get_content_subtype() == "plain"]
    if plain:
        return "\n".join(content(part).strip("\n") for part in plain)
    return "\n".join(without_marks(content(part)) for part in texts)


def own_words(text: str) -> str:
    """The text without what it quotes and without the signature."""
    kept = []
    for line in text.split("\n"):
        if line == SIGNATURE or line.rstrip() == "--":
            break
        if not QUOTED.match(line):
            kept.append(line.rstrip())
    return BLANKS.sub("\n\n", "\n".join(kept)).strip()


def attachments(mail: EmailMessage) -> Iterator[str]:
    """A line for each part that is no text, with its name, kind, size and SHA-256."""
    for part in parts(mail):
        if not is_text(part):
            payload = part.get_payload(decode=True)
            data = payload if isinstance(payload, bytes) else b""
            name = part.get_filename() or "no name"
            kind = part.get_content_type()
            yield f"[attachment: {name}, {kind}, {len(data):,} bytes, SHA-256 {disk.sha256(data)}]"


class _Marks(HTMLParser):
    """Collects what a reader of the page would see."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hidden += tag in ("script", "style", "head", "title")
        if tag in ("br", "p", "div", "tr", "li", "h1", "h2", "h3", "blockquote"):
            self.seen.append("\n")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in ("script", "style", "head", "title")))

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.seen.append(re.sub(r"\s+", " ", data))


def without_marks(page: str) -> str:
    """The text of an HTML page."""
    marks = _Marks()
    marks.feed(page)
    marks.close()
    return BLANKS.sub("\n\n", "\n".join(line.strip() for line in "".join(marks.seen).split("\n"))).strip()
