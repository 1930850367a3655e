"""What the sandbox does with mails: each task takes the bytes of messages, and gives facts and bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from functools import wraps
from itertools import islice
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.decision_sentences import decided
from servers.email import messages, sending, texts
from servers.email.complete_text import complete_text
from servers.email.invitations import is_calendar
from servers.email.sending import NO_SUBJECT
from servers.email.wording import own_words, unwrapped
from servers.email.words import plain
from servers.sandbox.protocol import Refused, in_turn
from servers.sentences import sentences

Result = tuple[dict[str, Any], bytes]
MOST_QUESTIONS = 200  # of one message
LAST_WORDS = 1501  # characters: one more than are shown
SECONDS = 0.5  # of processor time for one of several messages
TOGETHER = 2.0  # seconds on the clock after which no other one of them is begun
LONGEST_TEXT = 200_000  # characters of one message
LONGEST_LINE = 1_000  # characters of a subject, or of a list of recipients, beside the text
MOST_PEOPLE = 500  # whom one message is said to be addressed to
LONGEST_QUESTION = 300  # characters, its end
SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
CLOSING = "\"”’')]"  # what may stand behind a question mark
LETTER = re.compile(r"\w")


def lines(*heads: bytes, names: Sequence[str]) -> Result:
    """What a list says of each message; {"wrong": why} for one that makes no sense. Of the first ones at least, as
    below: what is not begun in time is not told of."""
    found = _found(heads, names, _line)
    return {"found": found, "through": len(found)}, b""


def indexed(*mails: bytes, names: Sequence[str]) -> Result:
    """What a list says of each message, with the `sizes` of its texts (see words.TEXTS), which follow one another."""
    found = _found(mails, names, _indexed)
    texts = [[text.encode("utf-8", "replace") for text in facts.pop("texts", ())] for facts in found]
    told = [{**facts, "sizes": [*map(len, each)]} for facts, each in zip(found, texts, strict=True)]
    return {"found": told, "through": len(told)}, b"".join(text for each in texts for text in each)


def written(*mails: bytes, names: Sequence[str]) -> Result:
    """What a summary says of each message, or {"wrong": why}."""
    found = _found(mails, names, _written)
    return {"found": found, "through": len(found)}, b""


def _found(
    mails: Sequence[bytes], names: Sequence[str], tell: Callable[..., dict[str, Any]]
) -> list[dict[str, Any]]:
    """The facts of the messages from the first on. Many that take long do not get all of them stopped together."""
    each = in_turn(mails, lambda number, data: _each(data, names[number], tell), SECONDS, TOGETHER)
    return [one or _unread(name, "OutOfTime") for name, one in zip(names, each, strict=False)]


def _each(data: bytes, name: str, tell: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    try:
        return tell(messages.message(data, name))
    except ToolError as error:
        return {"wrong": str(error)}
    except Exception as error:  # the parser over foreign bytes may raise anything
        return _unread(name, type(error).__name__)


def _unread(name: str, why: str) -> dict[str, Any]:
    return {"wrong": f"{name} is no mail that can be read ({why})."}


def _line(mail: EmailMessage) -> dict[str, Any]:
    return {
        **_shown(mail),
        "recipients": ", ".join(each for _, each in messages.addresses(mail, "To", "Cc", "Bcc"))[:300],
        "ids": _ids(mail),
    }


def _shown(mail: EmailMessage) -> dict[str, Any]:
    return {
        "date": _date(mail),
        "sender": messages.header(mail, "From")[:200],
        "subject": messages.header(mail, "Subject")[:300],
    }


def _indexed(mail: EmailMessage) -> dict[str, Any]:
    recipients = " ".join(messages.header(mail, name) for name in ("To", "Cc", "Bcc"))
    subject, sender = messages.header(mail, "Subject"), messages.header(mail, "From")
    attached, named = _within(mail)
    told = [subject, texts.said(mail), attached, sender, recipients]
    found = {"texts": [*map(plain, told)], "unread": messages.unread(mail), "named": named}
    return {**_shown(mail), **found}


def _within(mail: EmailMessage) -> tuple[str, bool]:
    """The names of what is attached, and what text files say; whether of something only the name is known."""
    others = [one for one in messages.attached(mail) if not (messages.inside(one) or is_calendar(one))]
    files = [one for one in others if one.get_content_maintype() == "text"]
    said = "\n".join([*_attached(mail), *map(messages.content, files)])
    return said[:LONGEST_TEXT], len(files) < len(others) or len(said) > LONGEST_TEXT


def _date(mail: EmailMessage) -> str | None:
    at = messages.date(mail)
    return at.isoformat() if at else None


def _ids(mail: EmailMessage) -> list[str]:
    return [*messages.thread_of(mail), *messages.HEADER_ID.findall(messages.header(mail, "In-Reply-To"))]


def _attached(mail: EmailMessage) -> list[str]:
    return [messages.name_of(part)[:200] for part in messages.attached(mail)]


def _written(mail: EmailMessage) -> dict[str, Any]:
    text = texts.own(mail)
    words = own_words(text)
    return {
        "date": _date(mail),
        "subject": messages.header(mail, "Subject")[:LONGEST_LINE],
        "sender": next(iter(messages.addresses(mail, "From")), ("", "somebody")),
        "people": messages.addresses(mail, "To", "Cc")[:MOST_PEOPLE],
        "questions": _questions(words),
        "decisions": _decisions(words),
        "attached": _attached(mail),
        "words": words[:LAST_WORDS],
        "unread": "; it ".join(filter(None, [messages.unread(mail), texts.half_read(text)])),
    }


def _questions(words: str) -> list[str]:
    found = (one for line in unwrapped(words) for one in sentences(line) if _asks(one))
    return [" ".join(one[-LONGEST_QUESTION:].split()) for one in islice(found, MOST_QUESTIONS)]


def _asks(sentence: str) -> bool:
    return sentence.rstrip(CLOSING).endswith("?") and LETTER.search(sentence) is not None


def _decisions(words: str) -> list[str]:
    found = (" ".join(one.split()) for line in unwrapped(words) for one in sentences(line))
    return [one[:LONGEST_QUESTION] for one in islice(filter(decided, found), MOST_QUESTIONS)]


def _sentences(task: Callable[..., Result]) -> Callable[..., Result]:
    """A task whose errors are whole sentences."""

    @wraps(task)
    def told(*blobs: bytes, **args: Any) -> Result:
        try:
            return task(*blobs, **args)
        except ToolError as error:
            raise Refused(str(error)) from error

    return told


@_sentences
def mail(data: bytes, said: str) -> Result:
    """One message as people read it: its headers, its text, a line for each attachment."""
    found = messages.message(data, said)
    headers = {name: messages.headers(found, name) for name in SHOWN}
    told = [f"{name}: {value}" for name, values in headers.items() for value in values if value]
    text = "\n".join([*told, "", texts.said(found), *messages.attachments(found), *messages.partly(found)])
    return {
        "subject": next(iter(headers["Subject"]), "")[:LONGEST_LINE] or NO_SUBJECT,
        "to": next(iter(headers["To"]), "")[:LONGEST_LINE],
        "answers": messages.thread_of(found),
        "text": text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "\n… (there is more)",
    }, b""


def text(data: bytes, attachments: bool = True) -> Result:
    """A mail with the text of what is attached to it; told is what is to be said of how it was read (`guessed`)."""
    made, why = complete_text(data, every=False, attachments=attachments)
    return {"guessed": why}, made.encode("utf-8", "replace")


@_sentences
def ready(data: bytes, sender: list[str], edits: dict[str, str]) -> Result:
    """The mail that a draft would send, changed as asked."""
    return sending.ready(data, Address(*sender), edits)


@_sentences
def composed(
    sender: list[str], written: str, header_id: str, answers: list[str], fields: dict[str, str]
) -> Result:
    """A new mail, as `ready` gives it."""
    mine = Address(*sender)
    head = messages.Letterhead(mine, datetime.fromisoformat(written), header_id, tuple(answers))
    return sending.ready(messages.composed(head, fields).as_bytes(policy=messages.STORED), mine, {})


TASKS = {one.__name__: one for one in (lines, indexed, written, mail, text, ready, composed)}
