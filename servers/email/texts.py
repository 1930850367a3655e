"""What mails say, as people read it: text, HTML without its marks, mails inside of mails. Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from email.message import EmailMessage
from typing import cast

from servers.email.invitations import invitations
from servers.email.messages import content, header, inside, is_read
from servers.email.wording import says_more, unflowed
from servers.formats import html
from servers.formats.blocks import to_plain
from servers.sandbox.protocol import Refused

LONGEST_HTML = 200_000  # characters; to read a longer one takes a good part of the time that a message has
OTHER_HTML = "[The HTML of this mail says something else:]"
LONG_HTML = "[The HTML of this mail is too long to be compared with its plain text.]"
INSIDE = "[In this mail is another one:]"
END_INSIDE = "[until here]"
HEADERS = ("From", "To", "Date", "Subject")


def said(mail: EmailMessage, links: bool = False) -> str:
    """What it says: its text parts one after the other, and HTML without the marks; then each mail inside of it, with
    who wrote it. `links`: HTML with where its links lead to.

    HTML beside plain text is read only where it says something else, at the end.
    """
    return "\n".join([own(mail, links), *(line for each in _inner(mail) for line in _told(each, links))])


def own(mail: EmailMessage, links: bool = False) -> str:
    """The same without the mails inside of it, which somebody else may have written; with what it invites to."""
    read = _read_parts(mail)
    text = "\n".join(_read(part, links).strip("\n") for part in read)
    return "\n".join([text, *_other_html(mail, read, text), *invitations(mail)])


def half_read(text: str) -> str:
    """What is to be said of such HTML in the text of a mail, as the end of a sentence; "" where there is none."""
    if OTHER_HTML in text:
        return "has HTML that says something else than its plain text"
    return "has HTML that is too long to be compared with its plain text" if LONG_HTML in text else ""


def _told(mail: EmailMessage, links: bool) -> Iterator[str]:
    yield INSIDE
    yield from (f"{name}: {value}" for name in HEADERS if (value := header(mail, name)))
    yield ""
    yield from (said(mail, links), END_INSIDE)


def _inner(part: EmailMessage) -> Iterator[EmailMessage]:
    """The mails in a mail, without those in these."""
    if found := inside(part):
        yield from found
    elif part.is_multipart():
        for each in part.iter_parts():
            yield from _inner(cast(EmailMessage, each))


def _leaves(part: EmailMessage) -> Iterator[EmailMessage]:
    """The parts that are read, but for those of mails inside."""
    if part.is_multipart() and not inside(part):
        for each in part.iter_parts():
            yield from _leaves(cast(EmailMessage, each))
    elif not part.is_multipart() and is_read(part):
        yield part


def _other_html(mail: EmailMessage, read: Sequence[EmailMessage], text: str) -> Iterator[str]:
    left = LONGEST_HTML
    for part in _leaves(mail):
        if part not in read:
            left -= len(content(part))
            if left < 0:
                yield LONG_HTML
                return
            if says_more(other := _read(part).strip("\n"), text):
                yield from (OTHER_HTML, other)


def _read(part: EmailMessage, links: bool = False) -> str:
    text = content(part)
    if part.get_content_subtype() == "plain":
        return _flowing(part, text)
    try:
        return to_plain(html.read(text), links=links)
    except Refused:
        return text


def _flowing(part: EmailMessage, text: str) -> str:
    """Lines that a program broke only to send them are one line again (RFC 3676)."""
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    return unflowed(text, joined=str(part.get_param("delsp", "")).lower() == "yes")


def _read_parts(part: EmailMessage) -> list[EmailMessage]:
    """The parts that are read as text. Of alternatives those in plain text, where there are any."""
    if not part.is_multipart():
        return [part] if is_read(part) else []
    if inside(part):
        return []
    found = [one for each in part.iter_parts() for one in _read_parts(cast(EmailMessage, each))]
    plain = [one for one in found if one.get_content_subtype() == "plain"]
    return plain if plain and part.get_content_type() == "multipart/alternative" else found
