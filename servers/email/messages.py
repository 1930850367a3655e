"""Messages parsed, composed and made ready to be sent. Runs in the sandbox."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.errors import (
    CloseBoundaryNotFoundDefect,
    MessageError,
    MissingHeaderBodySeparatorDefect,
    StartBoundaryNotFoundDefect,
)
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, getaddresses, parsedate_to_datetime
from functools import lru_cache
from typing import Any, cast

from mcp.server.mcpserver.exceptions import ToolError

from servers.date_limits import in_utc
from servers.email.models import CONTROL, ENCODED, few, line, people
from servers.email.outgoing import MOST_HEADERS
from servers.filesystem import disk
from servers.lines import one_line
from servers.text_encoding import Encoding, detect

MOST_PARTS = 200
# Characters of one header. What says how a part is made, with parameters, is parsed in more than linear time.
LONGEST_HEADER, LONGEST_STRUCTURE = 30_000, 4_000
MOST_ALIKE = 10  # headers of one name that are shown
BLANK = re.compile(rb"(?:\A|\n)\r?\n")
NO_BASE64 = re.compile(r"[^A-Za-z0-9+/]+")
WORD = re.compile(r"[\w.-]+", re.ASCII)
BEYOND_LATIN = re.compile(rb"[\x80-\x9f]")
BOUNDARY = re.compile(rb"boundary\s*=", re.IGNORECASE)
# Where the next mail of a file begins that holds several, as mail programs export them.
NEXT_MAIL = re.compile(rb"\nFrom [^\n]{1,200}[0-9][0-9]:[0-9][0-9][^\n]{0,40}\n[A-Za-z][A-Za-z0-9-]{0,70}:")


class Bounded(email.policy.EmailPolicy):
    """Headers up to some length; a longer one reads as empty, wherever in the message it is. The encoding of a part
    reads as its first word, as other programs have it."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        if name.lower() == "content-transfer-encoding":
            value = found[0] if (found := WORD.search(value)) else ""
        return super().header_fetch_parse(name, "" if too_long(name, value) else value)


def too_long(name: str, value: str) -> bool:
    return len(value) > (LONGEST_STRUCTURE if name.lower().startswith("content-") else LONGEST_HEADER)


READ = Bounded()


def message(data: bytes, said: str) -> EmailMessage:
    """The parsed message. Raises ToolError naming it when the parser cannot make sense of it."""
    if (
        len(BOUNDARY.findall(data)) > MOST_PARTS
    ):  # thousands inside each other would keep the parser busy for long
        raise ToolError(f"{said} has more than {MOST_PARTS} parts. Open it in a mail program.")
    if not BLANK.search(data, 0, MOST_HEADERS) and len(data) > MOST_HEADERS:
        raise ToolError(
            f"{said} has more than {MOST_HEADERS >> 10} kB of headers. Open it in a mail program."
        )
    if data.startswith(b"From ") and NEXT_MAIL.search(data):
        raise ToolError(f"{said} holds several mails (mbox). Split it into one file for each mail.")
    try:
        found = email.message_from_bytes(data, policy=READ)
    except Exception as error:  # the parser over foreign bytes may raise anything
        raise ToolError(f"{said} is no mail that can be read ({type(error).__name__}).") from error
    assert isinstance(found, EmailMessage)
    if not BLANK.search(data):
        found.defects.append(MissingHeaderBodySeparatorDefect())
    return found


def header(mail: EmailMessage, name: str) -> str:
    """The decoded value in one line; as it stands where it cannot be decoded; "" where there is none."""
    return " ".join(value(mail, name).split())


def value(mail: EmailMessage, name: str) -> str:
    """The same with the line breaks that were encoded in it."""
    try:
        return str(mail.get(name, ""))
    except Exception:  # the header registry gives up on some values
        raw = next((str(v) for k, v in mail.raw_items() if k.lower() == name.lower()), "")
        return " ".join(raw.split())


def headers(mail: EmailMessage, name: str) -> list[str]:
    """Each header of that name in one line; of one that is too long to be read, how long it is."""
    raw = [value for key, value in mail.raw_items() if key.lower() == name.lower()]
    if len(raw) == 1 and not too_long(name, raw[0]):
        return [header(mail, name)]
    told = [
        f"[{len(each):,} characters, too many to be read]" if too_long(name, each) else decoded(name, each)
        for each in raw[:MOST_ALIKE]
    ]
    return [*told, *([f"[{len(raw) - MOST_ALIKE} more]"] if len(raw) > MOST_ALIKE else [])]


def decoded(name: str, raw: str) -> str:
    one = EmailMessage(policy=READ)
    one.set_raw(name, raw)
    return header(one, name)


def addresses(mail: EmailMessage, *names: str) -> list[tuple[str, str]]:
    """Name and address of everybody in these headers."""
    found = getaddresses([header(mail, name) for name in names])
    return [(name, address) for name, address in found if "@" in address]


def date(mail: EmailMessage) -> datetime | None:
    """When it says that it was written, in UTC."""
    try:
        found = parsedate_to_datetime(header(mail, "Date"))
        return in_utc(found if found.tzinfo else found.replace(tzinfo=UTC))
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
    """The text of a text part, also under a charset that nobody knows, or that is not the one it is in."""
    return _decoded_text(part)[0]


def _ends_early(part: EmailMessage) -> bool:
    """Whether base64 has more behind the mark of its end, which is not decoded."""
    written = part.get_payload()
    if not isinstance(written, str) or header(part, "Content-Transfer-Encoding").lower() != "base64":
        return False
    return len(payload(part)) < len(NO_BASE64.sub("", written)) * 6 // 8


@lru_cache(MOST_PARTS)
def _decoded_text(part: EmailMessage) -> tuple[str, bool]:
    """The text of a part, and whether it is in the charset that the part names, if any."""
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    named = part.get_content_charset("")
    try:
        text, right = data.decode(_meant(named, data)), True
    except (LookupError, ValueError):  # none is named, or one that nobody knows, or another one
        text = (detect(data, whole=True) or Encoding("latin-1")).decoded(data)
        right = not named
    whole = text.encode("utf-8", "replace").decode()  # a charset may make halves of characters
    return whole.replace("\r\n", "\n").replace("\r", "\n"), right


def _meant(named: str, data: bytes) -> str:
    """The charset that is meant: many programs say Latin-1 where they write Windows-1252, with its “€”."""
    latin = named.replace("_", "-") in ("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii")
    return "cp1252" if latin and BEYOND_LATIN.search(data) else named


CUT_OFF = (StartBoundaryNotFoundDefect, CloseBoundaryNotFoundDefect, MissingHeaderBodySeparatorDefect)


def unread(mail: EmailMessage) -> str:
    """What of a mail could not be read, or is a guess, as the end of a sentence; "" where nothing is."""
    why = []
    if any(isinstance(defect, CUT_OFF) for part in mail.walk() for defect in part.defects):
        why.append("is cut off: its end is missing")
    if any(map(_ends_early, filter(is_text, parts(mail)))):
        why.append("is cut off: its text goes on behind the mark of its end, which cannot be read")
    if not all(_decoded_text(part)[1] for part in parts(mail) if is_text(part)):
        why.append("is not in the encoding that it names: another one was guessed")
    if any("\ufffd" in header(mail, name) for name in ("Subject", "From", "To", "Cc")):
        why.append("has letters in its headers that cannot be read, shown as �")
    return "; it ".join(why)


def is_read(part: EmailMessage) -> bool:
    """Whether it is text as people write it; a calendar or a table is none."""
    return is_text(part) and part.get_content_subtype() in ("plain", "html")


def attachments(mail: EmailMessage) -> Iterator[str]:
    """A line for each part that is not read as text, with its name, kind, size and SHA-256."""
    for part in attached(mail):
        data = payload(part)
        kind = one_line(part.get_content_type())
        yield f"[attachment: {name_of(part)}, {kind}, {len(data):,} bytes, SHA-256 {disk.sha256(data)}]"


def partly(mail: EmailMessage) -> list[str]:
    """A line about what could not be read, where there is something."""
    why = unread(mail)
    return [f"[This mail {why}.]"] if why else []


def attached(mail: EmailMessage) -> Iterator[EmailMessage]:
    return (part for part in parts(mail) if not is_read(part))


def payload(part: EmailMessage) -> bytes:
    """What a part holds; of one with a mail in it, that mail."""
    if part.is_multipart():
        return b"".join(
            cast(EmailMessage, each).as_bytes(policy=email.policy.compat32) for each in part.iter_parts()
        )
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def name_of(part: EmailMessage) -> str:
    """The name may hold encoded line breaks. A mail in the mail is called by its subject."""
    name = " ".join((part.get_filename() or "").split())
    return name or next((f"“{header(inner, 'Subject')}”" for inner in inside(part)), "no name")


def inside(part: EmailMessage) -> list[EmailMessage]:
    """The mail that a part is, if it is one."""
    is_mail = part.get_content_type() in ("message/rfc822", "message/global") and part.is_multipart()
    found = part.iter_parts() if is_mail else ()
    return [each for each in found if isinstance(each, EmailMessage)]


STORED = email.policy.SMTP.clone(cte_type="7bit", linesep="\n")
UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Letterhead:
    """What a new mail has besides what was asked for."""

    sender: Address
    written: datetime
    header_id: str  # <…@…>
    answers: tuple[str, ...] = ()  # Message-IDs of the thread it answers, the last one last


def composed(head: Letterhead, fields: dict[str, str]) -> EmailMessage:
    """A plain text mail. `fields`: to, cc, bcc, subject, body. Raises ToolError with what to mend."""
    lists = {name: people(fields.get(name, ""), name) for name in ("to", "cc", "bcc")}
    few(lists.values())
    body = fields["body"].replace("\r\n", "\n").replace("\r", "\n")
    if UNWRITABLE.search(body):
        raise ToolError("The text has characters that no mail can carry. Leave them out.")
    mail = EmailMessage(policy=STORED)
    try:
        mail["From"] = head.sender
        for name, found in lists.items():
            if found:
                mail[name.capitalize()] = found
        mail["Subject"] = line(fields["subject"], "subject")
        mail["Date"] = format_datetime(head.written)
        mail["Message-ID"] = head.header_id
        if head.answers:
            mail["In-Reply-To"] = head.answers[-1]
            mail["References"] = " ".join(head.answers)
        mail.set_content(body if body.endswith("\n") else body + "\n")
        _as_asked(mail)
    except (ValueError, MessageError) as error:
        raise ToolError(f"That cannot be written as a mail: {error}.") from error
    return mail


def _as_asked(mail: EmailMessage) -> None:
    """Raise ValueError unless whoever reads the bytes finds the headers that were set, each with what it says."""
    read = message(mail.as_bytes(policy=STORED), "The draft")
    if [name.lower() for name in read] != [name.lower() for name in mail]:
        raise ValueError("its headers would be read as others")
    for name in ("From", "To", "Cc", "Bcc", "Subject"):
        if header(read, name) != header(mail, name):
            raise ValueError(f"its {name} would be read as “{header(read, name)}”")


HEADER_ID = re.compile(r"<[^<>\s]{1,900}>")


def thread_of(mail: EmailMessage) -> tuple[str, ...]:
    """The Message-IDs that an answer to this mail names: the thread before it, then itself."""
    before, own = (header_ids(header(mail, name)) for name in ("References", "Message-ID"))
    return tuple(dict.fromkeys([*before[-20:], *own[:1]]))


def header_ids(text: str) -> list[str]:
    """The Message-IDs in a header that somebody else wrote, without those that would become something else in ours."""
    return [one for one in HEADER_ID.findall(text) if not (ENCODED.search(one) or CONTROL.search(one))]
