"""A thread by its Message-IDs, and what can be said of it by rule: who, when, what was asked, what came last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pydantic import BaseModel

from servers.email.mailboxes import folders_named
from servers.email.models import Thread
from servers.filesystem.models import Given
from servers.model_answers import Answer, answer_text, cited, refusal

MOST_MESSAGES = 200
MOST_QUESTIONS = 20
MOST_NOTED = 3  # sentences
LAST_WORDS = 1500  # characters
TASK = "Sum up this thread of mails: what it is about, what was agreed, and what is open."
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Written(BaseModel):
    """One message of a thread, as the sandbox tells of it."""

    date: datetime | None
    subject: str
    sender: tuple[str, str]  # name and address
    people: Given[tuple[str, str]]  # whom it was addressed to
    questions: Given[str]
    decisions: Given[str]
    attached: Given[str]
    words: str  # the first of its own
    file: str

    @property
    def who(self) -> str:
        name, address = self.sender
        return name or address


def related(start: set[str], others: dict[str, set[str]]) -> set[str]:
    """Of the other messages (the ids that each names, by its key), those in one thread with `start`, however far."""
    naming: dict[str, list[str]] = {}
    for key, ids in others.items():
        for one in ids:
            naming.setdefault(one, []).append(key)
    found, left = set[str](), list(start)
    while left:
        fresh = set(naming.pop(left.pop(), ())) - found
        found |= fresh
        left += [one for key in fresh for one in others[key]]
    return found


def _in_order(mails: Iterable[Written]) -> list[Written]:
    return sorted(mails, key=lambda each: each.date or LONG_AGO)


def sources(mails: Iterable[Written]) -> list[str]:
    """The messages as a model is given them, the oldest first."""
    return [
        f"{each.who}{f', {_day(each.date)}' if each.date else ''}: {each.words}" for each in _in_order(mails)
    ]


def _by_model(thread: list[Written], told: Answer) -> tuple[list[str], str]:
    """The lines of a model whose quotations are true, and what was used, for people."""
    if refused := refusal(told):
        return [], f"By rules: no model answered ({refused})."
    answer = answer_text(told)
    if not answer:
        return [], ""
    kept, dropped = cited(answer, [each.words for each in thread])
    lines = [f"- {one.text} (message {one.source}, {thread[one.source - 1].who})" for one in kept]
    said = f"{dropped} of its lines were dropped: what they quote is not there." if dropped else ""
    return lines, f"By rules and a model. {said}".strip() if lines else f"By rules. A model answered. {said}"


def note_of(said: Sequence[str]) -> str:
    """The first of what is to be said of messages, and how much more there is."""
    more = f"And {len(said) - MOST_NOTED} more." if len(said) > MOST_NOTED else ""
    return " ".join(filter(None, [*said[:MOST_NOTED], more]))


def summary(mails: Sequence[Written], notes: Sequence[str], told: Answer = None) -> Thread:
    """The extract, with what a model `told` of it. It reads the messages, and decides nothing."""
    thread = _in_order(mails)
    lines, used = _by_model(thread, told)
    head = ["Summary of a model, each line with a quotation that was found:", *lines] if lines else []
    dates = [each.date for each in thread if each.date]
    return Thread(
        subject=thread[0].subject or "(no subject)",
        messages=len(thread),
        first=min(dates, default=None),
        last=max(dates, default=None),
        text="\n".join([*_told(thread, dates), *head]),
        note=" ".join(filter(None, [note_of(notes), used])),
        files=[each.file for each in mails],
        folders=folders_named(notes[:MOST_NOTED]),
    )


def _told(thread: list[Written], dates: list[datetime]) -> Iterator[str]:
    count = f"{len(thread)} message" + "s" * (len(thread) > 1)
    span = f", {_day(min(dates))} to {_day(max(dates))} (UTC)" if dates else ""
    yield f"{thread[0].subject or '(no subject)'}: {count}{span}"
    yield f"Wrote: {', '.join(_writers(thread))}"
    if silent := list(_silent(thread)):
        yield f"Only addressed: {', '.join(silent)}"
    asked = list(_questions(thread))
    if asked:
        yield "Questions:"
        yield from asked[:MOST_QUESTIONS]
    if len(asked) > MOST_QUESTIONS:
        yield f"… and {len(asked) - MOST_QUESTIONS} more questions"
    yield from _listed("Decided, as it seems:", [(each, one) for each in thread for one in each.decisions])
    yield from _listed("Attachments:", [(each, one) for each in thread for one in each.attached])
    last = thread[-1]
    yield f"Last, {last.who}{f', {_day(last.date)}' if last.date else ''}:"
    yield last.words[:LAST_WORDS] + ("…" if len(last.words) > LAST_WORDS else "")


def _listed(head: str, found: list[tuple[Written, str]]) -> Iterator[str]:
    if found:
        yield head
        for each, said in found[:MOST_QUESTIONS]:
            yield f"- {each.who}{f', {each.date:%Y-%m-%d}' if each.date else ''}: {said}"
    if len(found) > MOST_QUESTIONS:
        yield f"… and {len(found) - MOST_QUESTIONS} more"


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _writers(thread: list[Written]) -> Iterator[str]:
    names = {each.sender[1].lower(): each for each in reversed(thread)}
    for address, count in Counter(each.sender[1].lower() for each in thread).most_common():
        name = names[address].sender[0]
        yield f"{name} <{address}> ({count})" if name else f"{address} ({count})"


def _silent(thread: list[Written]) -> Iterator[str]:
    wrote = {each.sender[1].lower() for each in thread}
    seen = {a.lower(): name for each in thread for name, a in each.people}
    return (
        f"{name} <{address}>" if name else address for address, name in seen.items() if address not in wrote
    )


def _questions(thread: list[Written]) -> Iterator[str]:
    """Each question; with a mark when nobody else has written since."""
    for number, each in enumerate(thread):
        answered = any(later.sender[1].lower() != each.sender[1].lower() for later in thread[number + 1 :])
        for question in each.questions:
            day = f", {each.date:%Y-%m-%d}" if each.date else ""
            yield f"- {each.who}{day}: {question}" + ("" if answered else " (nobody has answered)")
