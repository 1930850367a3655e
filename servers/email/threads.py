"""A thread by its Message-IDs, and what can be said of it by rule: who, when, what was asked, what came last."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage

from servers.email import compose, parse
from servers.email.models import Thread

MOST_MESSAGES = 200
MOST_QUESTIONS = 20
LAST_WORDS = 1500  # characters
QUESTION = re.compile(r"[^.!?\n]{2,300}\?(?=[\s\"”’')\]]|$)")
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Written:
    """One message of a thread."""

    mail: EmailMessage

    @property
    def at(self) -> datetime | None:
        return parse.date(self.mail)

    @property
    def sender(self) -> tuple[str, str]:
        return next(iter(parse.addresses(self.mail, "From")), ("", "somebody"))

    @property
    def who(self) -> str:
        name, address = self.sender
        return name or address

    @property
    def words(self) -> str:
        return parse.own_words(parse.said(self.mail))


def related(start: EmailMessage, others: Iterable[tuple[str, EmailMessage]]) -> set[str]:
    """Of the other messages (with their keys), those that are in one thread with `start`, however remotely."""
    known = set(compose.thread_of(start)) | set(compose.HEADER_ID.findall(parse.header(start, "In-Reply-To")))
    left = {key: _ids(mail) for key, mail in others}
    found: set[str] = set()
    while fresh := {key for key, ids in left.items() if ids & known}:
        found |= fresh
        for key in fresh:
            known |= left.pop(key)
    return found


def _ids(mail: EmailMessage) -> set[str]:
    return set(compose.thread_of(mail)) | set(compose.HEADER_ID.findall(parse.header(mail, "In-Reply-To")))


def summary(mails: Iterable[EmailMessage], note: str) -> Thread:
    """The extract. It reads the messages, and decides nothing."""
    thread = sorted(map(Written, mails), key=lambda each: each.at or LONG_AGO)
    dates = [each.at for each in thread if each.at]
    return Thread(
        subject=parse.header(thread[0].mail, "Subject") or "(no subject)",
        messages=len(thread),
        first=min(dates, default=None),
        last=max(dates, default=None),
        text="\n".join(_told(thread, dates)),
        note=note,
    )


def _told(thread: list[Written], dates: list[datetime]) -> Iterator[str]:
    count = f"{len(thread)} message" + "s" * (len(thread) > 1)
    span = f", {_day(min(dates))} to {_day(max(dates))} (UTC)" if dates else ""
    yield f"{parse.header(thread[0].mail, 'Subject') or '(no subject)'}: {count}{span}"
    yield f"Wrote: {', '.join(_writers(thread))}"
    if silent := list(_silent(thread)):
        yield f"Only addressed: {', '.join(silent)}"
    asked = list(_questions(thread))
    if asked:
        yield "Questions:"
        yield from asked[:MOST_QUESTIONS]
    if len(asked) > MOST_QUESTIONS:
        yield f"… and {len(asked) - MOST_QUESTIONS} more questions"
    last = thread[-1]
    yield f"Last, {last.who}{f', {_day(last.at)}' if last.at else ''}:"
    yield last.words[:LAST_WORDS] + ("…" if len(last.words) > LAST_WORDS else "")


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _writers(thread: list[Written]) -> Iterator[str]:
    names = {each.sender[1].lower(): each for each in reversed(thread)}
    for address, count in Counter(each.sender[1].lower() for each in thread).most_common():
        name = names[address].sender[0]
        yield f"{name} <{address}> ({count})" if name else f"{address} ({count})"


def _silent(thread: list[Written]) -> Iterator[str]:
    wrote = {each.sender[1].lower() for each in thread}
    seen = {a.lower(): name for each in thread for name, a in parse.addresses(each.mail, "To", "Cc")}
    return (
        f"{name} <{address}>" if name else address for address, name in seen.items() if address not in wrote
    )


def _questions(thread: list[Written]) -> Iterator[str]:
    """Each question; with a mark when nobody else has written since."""
    for number, each in enumerate(thread):
        answered = any(later.sender[1].lower() != each.sender[1].lower() for later in thread[number + 1 :])
        for question in QUESTION.findall(each.words):
            day = f", {each.at:%Y-%m-%d}" if each.at else ""
            yield f"- {each.who}{day}: {' '.join(question.split())}" + (
                "" if answered else " (nobody has answered)"
            )
