"""What the sandbox does with mails: each task takes the bytes of messages, and gives facts and bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

from mcp.server.mcpserver.exceptions import ToolError

from servers.decisions import decided
from servers.email import messages
from servers.sandbox.protocol import OutOfTime, Refused, time_limit

Result = tuple[dict[str, Any], bytes]
MOST_QUESTIONS = 200  # of one message
LAST_WORDS = 1501  # characters: one more than are shown
SECONDS = 0.5  # of processor time for one of several messages
LONGEST_TEXT = 200_000  # characters of one message
LONGEST_QUESTION = 300  # characters, its end
WANTED = re.compile(r'"([^"]+)"|(\S+)')
SENTENCE = re.compile(r"[^\s.!?][^.!?\n]*+(?:[.!?](?!\s|$)[^.!?\n]*+)*+[.!?]?")
WRAPPED = re.compile(r"(?<!\n)\n(?!\n)")
QUESTION = re.compile(r"(?<![^.!?\n])[^.!?\n]{2,}+\?(?=[\s\"”’')\]]|$)")


def lines(*heads: bytes, names: Sequence[str], wanted: dict[str, str] | None = None) -> Result:
    """What a list says of each message, and whether it `fits` what a search wants; {"wrong": why} for one that
    makes no sense."""
    return {"found": [_each(head, name, _line, wanted) for head, name in zip(heads, names, strict=True)]}, b""


def written(*mails: bytes, names: Sequence[str]) -> Result:
    """What a summary says of each message, or {"wrong": why}."""
    return {"found": [_each(data, name, _written) for data, name in zip(mails, names, strict=True)]}, b""


def _each(data: bytes, name: str, tell: Callable[..., dict[str, Any]], *more: Any) -> dict[str, Any]:
    try:
        with time_limit(SECONDS):
            return tell(messages.message(data, name), *more)
    except ToolError as error:
        return {"wrong": str(error)}
    except (Exception, OutOfTime) as error:  # the parser over foreign bytes may raise anything
        return {"wrong": f"{name} is no mail that can be read ({type(error).__name__})."}


def _line(mail: EmailMessage, wanted: dict[str, str] | None) -> dict[str, Any]:
    return {
        "date": _date(mail),
        "sender": messages.header(mail, "From")[:200],
        "subject": messages.header(mail, "Subject")[:300],
        "recipients": ", ".join(each for _, each in messages.addresses(mail, "To", "Cc", "Bcc"))[:300],
        "ids": _ids(mail),
        "fits": wanted is None or _fits(mail, **wanted),
    }


def _date(mail: EmailMessage) -> str | None:
    at = messages.date(mail)
    return at.isoformat() if at else None


def _ids(mail: EmailMessage) -> list[str]:
    return [*messages.thread_of(mail), *messages.HEADER_ID.findall(messages.header(mail, "In-Reply-To"))]


def _fits(mail: EmailMessage, text: str, since: str, until: str, zone: str, **headers: str) -> bool:
    """Whether a message is what a search wants; `headers`: a part of sender, recipient and subject."""
    told = {
        "sender": messages.header(mail, "From"),
        "recipient": " ".join(messages.header(mail, name) for name in ("To", "Cc", "Bcc")),
        "subject": messages.header(mail, "Subject"),
    }
    return (
        all(_in(words, told[name]) for name, words in headers.items())
        and _between(messages.date(mail), since, until, ZoneInfo(zone))
        and (not text or _in(text, "\n".join([told["subject"], messages.said(mail), *_attached(mail)])))
    )


def _between(at: datetime | None, since: str, until: str, zone: ZoneInfo) -> bool:
    if not (since or until):
        return True
    day = at.astimezone(zone).date() if at else None
    return (
        day is not None
        and not (since and day < date.fromisoformat(since))
        and not (until and day > date.fromisoformat(until))
    )


def _in(words: str, text: str) -> bool:
    """Whether all these words are in a text; what stands in quotes, one after the other."""
    wanted = [" ".join((quoted or word).split()) for quoted, word in WANTED.findall(words.casefold())]
    there = " ".join(text.casefold().split())
    return all(each in there for each in wanted)


def _attached(mail: EmailMessage) -> list[str]:
    return [messages.name_of(part)[:200] for part in messages.attached(mail)]


def _written(mail: EmailMessage) -> dict[str, Any]:
    words = messages.own_words(messages.said(mail))
    return {
        "date": _date(mail),
        "subject": messages.header(mail, "Subject"),
        "sender": next(iter(messages.addresses(mail, "From")), ("", "somebody")),
        "people": messages.addresses(mail, "To", "Cc"),
        "questions": _questions(words),
        "decisions": _decisions(words),
        "attached": _attached(mail),
        "words": words[:LAST_WORDS],
    }


def _questions(words: str) -> list[str]:
    found = QUESTION.findall(words)[:MOST_QUESTIONS]
    return [" ".join(one[-LONGEST_QUESTION:].split()) for one in found]


def _decisions(words: str) -> list[str]:
    found = (" ".join(one.split()) for one in SENTENCE.findall(WRAPPED.sub(" ", words)))
    return [one[:LONGEST_QUESTION] for one in found if decided(one)][:MOST_QUESTIONS]


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
    headers = {
        name: value
        for name in ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
        if (value := messages.header(found, name))
    }
    told = [f"{name}: {value}" for name, value in headers.items()]
    text = "\n".join([*told, "", messages.said(found), *messages.attachments(found)])
    return {
        "subject": headers.get("Subject") or messages.NO_SUBJECT,
        "to": headers.get("To", ""),
        "answers": messages.thread_of(found),
        "text": text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "\n… (there is more)",
    }, b""


@_sentences
def ready(data: bytes, sender: list[str], edits: dict[str, str]) -> Result:
    """The mail that a draft would send, changed as asked."""
    return messages.ready(data, Address(*sender), edits)


@_sentences
def composed(
    sender: list[str], written: str, header_id: str, answers: list[str], fields: dict[str, str]
) -> Result:
    """A new mail, as `ready` gives it."""
    mine = Address(*sender)
    head = messages.Letterhead(mine, datetime.fromisoformat(written), header_id, tuple(answers))
    return messages.ready(messages.composed(head, fields).as_bytes(policy=messages.STORED), mine, {})


TASKS = {one.__name__: one for one in (lines, written, mail, ready, composed)}
