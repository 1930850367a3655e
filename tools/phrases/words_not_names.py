"""Words that are no name of a file or a folder, and words that are one and may be something else as well."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from tools.phrases.plan_draft import NotThere, Unclear
from tools.phrases.typed_values import clipped

PRONOUNS = frozenset(
    "it me us you him her them they this that these those there here myself yourself itself everyone everybody "
    "everything someone somebody something anyone anybody nothing one ones all both "
    "whatever whichever nowhere anywhere somewhere none maybe perhaps not soon".split()
)
FOLDER_BEFORE = ("it", "there", "in there", "that folder", "this folder", "the folder", "the new folder")
PEOPLE = frozenset(
    "me us you him her them everyone everybody someone somebody anyone anybody team boss colleague colleagues".split()
)
WHOSE = re.compile(r"(?:the|my|our|your|their|his|her|all|whole|entire)[ \t]+", re.IGNORECASE)
MENTION = re.compile(r"<[@#!][^<>\s]++>|@[^\s@]++")
DAY = re.compile(
    r"(?:(?:on|by|next|this|the)[ \t]+)?(?:today|tonight|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"week|weekend|month|year|morning|noon|afternoon|evening|now|later|\d{4}-\d\d-\d\d|"
    r"\d{1,2}(?::\d\d)?[ \t]?[ap]m|\d{1,2}:\d\d)",
    re.IGNORECASE,
)
NO_DAY = "“{}” names a day or a time, and no folder. Write the name of a folder, or put the name in quotes."
NO_WORD = "I do not know what “{}” stands for here. Write the name itself, or put it in quotes."
NO_PERSON = "“{}” is a person, and no name of a file or a folder. Write the name, or put it in quotes."
TO_PEOPLE = (
    "To send something to somebody, write: write a mail to bob@example.com about Figures: Here they are."
)


@dataclass(frozen=True, slots=True)
class Kind:
    """Something else that a word may name: how it is called in a question, and what to write for it."""

    server: str
    label: str
    instead: str


EVENT = Kind(
    "calendar",
    "an event in the calendar",
    "I took that for an event in the calendar, and did nothing. `what is on my calendar` shows your events, which go "
    "like this: `delete event standup`.",
)
MAIL = Kind(
    "email",
    "a mail",
    "I took that for a mail, and did nothing. `list my mails` and `show my mail drafts` show your mails.",
)
TASK = Kind(
    "task",
    "a task",
    "I took that for a task, and did nothing. `show me my tasks` shows them with their numbers, as in "
    "`delete task 1`.",
)
KINDS = {
    **dict.fromkeys(("meeting", "event", "appointment", "call", "lunch", "standup", "calendar"), EVENT),
    **dict.fromkeys(("mail", "email", "message", "draft", "inbox"), MAIL),
    **dict.fromkeys(("task", "todo", "reminder"), TASK),
}


def other_kind(last_word: str, servers: Collection[str]) -> Kind | None:
    """What a name that ends in this word may be besides a file, where a server for it is there."""
    kind = KINDS.get(last_word)
    return kind if kind and kind.server in servers else None


def is_person(value: str) -> bool:
    """Whether this is somebody, as far as words can tell: a mention, or `everyone`."""
    return MENTION.fullmatch(value) is not None or WHOSE.sub("", value, count=2).lower() in PEOPLE


def refuse_no_name(value: str, named: bool = False) -> None:
    """Raise Unclear for what is no name of anything new. `named`: the sentence says that it is one, as in “called
    march”; a pronoun or a mention is none even then."""
    shown = clipped(value, 60)
    if is_person(value):
        raise Unclear(NO_PERSON.format(shown))
    if value.lower() in PRONOUNS:
        raise Unclear(NO_WORD.format(shown))
    if not named and DAY.fullmatch(value):
        raise Unclear(NO_DAY.format(shown))


def no_folder(value: str, servers: Collection[str]) -> NotThere | None:
    """Why this cannot be where something goes, where it names no folder that is there: a day or a person."""
    shown = clipped(value, 60)
    if DAY.fullmatch(value):
        more = " For another day of a task, write: move task 1 to friday." if "task" in servers else ""
        return NotThere(NO_DAY.format(shown) + more, told=True)
    person = is_person(value) or (value[:1].isupper() and not value.isupper())
    if person:
        mail = f" {TO_PEOPLE}" if "email" in servers else ""
        return NotThere(f"There is no folder “{shown}”, and files do not go to people.{mail}", told=True)
    return NotThere(NO_WORD.format(shown), told=True) if value.lower() in PRONOUNS else None
