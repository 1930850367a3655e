"""Names of what is new, and parts of names to look for: what words are one, and what may be a part of a sentence."""

from __future__ import annotations

import re

from tools.phrases.plan_draft import Unclear
from tools.phrases.titles import refuse_doubtful_name
from tools.phrases.typed_values import clipped
from tools.phrases.words_not_names import PRONOUNS, refuse_no_name

BLANK = re.compile(r"[\s\0]")
ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")
MAIL_ADDRESS = re.compile(r"[^\s@/]+@[A-Za-z][^\s@/]*\.[A-Za-z]{2,}")
MAIL_TO = re.compile(
    r"(?:(?:a|an|the)[ \t]+)?(?:mail|email|e-mail|message)[ \t]+to[ \t]+(?P<to>\S.*)", re.IGNORECASE
)
NO_NAME = frozenset("and or to in into with as from then if unless not no maybe except".split())
NAME_WORDS = 3  # of a new name that was typed without quotes
PATTERN_WORDS = 2  # of a part of a name that is looked for


def refuse_mail(value: str) -> None:
    """Raise Unclear for a mail, or an address, in the place of a name for something new."""
    mail = MAIL_TO.match(value)
    if mail:
        raise Unclear(
            f"A mail needs a subject. Write: write a mail to {clipped(mail['to'], 60)} about Figures: and then "
            "your text."
        )
    if MAIL_ADDRESS.fullmatch(value):
        raise Unclear(
            f"“{clipped(value, 60)}” is a mail address. For a file of that name, put it in quotes; for a mail, write "
            "`write a mail to bob@example.com about Figures: Here they are.`"
        )


def pattern_of(value: str, words: str) -> str:
    """What finds names that hold these words; of more than two, or of none, what was typed."""
    parts = words.split()
    whole = len(parts) > PATTERN_WORDS or ENDING.search(words) or parts[0].lower() in PRONOUNS
    return value if whole else f"*{'*'.join(parts)}*"


def new_name(words: str, value: str, alone: bool) -> str:
    """The name of a new file. `alone`: one word without an ending will do. Raises Unclear for what may be a part of a
    sentence."""
    if is_file_name(words) or (alone and not BLANK.search(words)):
        return words
    raise Unclear(
        f"I am not sure what the new file is to be called: “{clipped(value, 60)}”? Write its name with an ending, such "
        "as notes.md, or put it in quotes."
    )


def new_folder(value: str, text: str, named: bool) -> str:
    """The name of a new folder, of a few words. Raises Unclear for what may be a part of a sentence, or a person."""
    refuse_no_name(value, named)
    refuse_doubtful_name(value)
    if BLANK.search(value) and text.lower().startswith("mkdir"):
        raise Unclear(
            "One folder at a time: write, for example, mkdir a and then mkdir b. Quote a name with blanks."
        )
    if value[:1].isupper() and f" for {value}" in text:
        raise Unclear(
            f"What is the folder for {clipped(value, 60)} to be called? Write, for example, create a folder called "
            f"{clipped(value, 60)}."
        )
    parts = value.lower().split()
    if len(parts) <= NAME_WORDS and not NO_NAME & {*parts}:
        return value
    raise Unclear(
        f"I am not sure what the new folder is to be called: “{clipped(value, 60)}”? Write its name alone, or put "
        "it in quotes."
    )


def is_file_name(words: str) -> bool:
    parts = words.lower().split()
    return bool(ENDING.search(words)) and len(parts) <= NAME_WORDS and not NO_NAME & {*parts}
