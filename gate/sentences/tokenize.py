"""A message as a person reads it: plain letters, nothing quoted, cut into sentences and their pieces."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

INVISIBLE = re.compile("[\u00ad\u180e\u200b-\u200f\u2060\ufeff\ufe00-\ufe0f]")  # they draw nothing
STRAIGHT = str.maketrans(
    {c: "'" for c in "‘’‛´ʼ′"} | {c: '"' for c in "“”„‟«»″"} | {"❓": "?", "❔": "?", "&": " and "}
)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.S)
UNSURE = re.compile(
    "[🤔🤨🤷😕🙄❌🚫🛑⛔✋👎🙅]|:(?:thinking_face|thinking|face_with_raised_eyebrow|shrug|man-shrugging|"
    "woman-shrugging|confused|x|no_entry|no_entry_sign|octagonal_sign|hand|raised_hand|thumbsdown|-1|no_good):"
)
ASKING = re.compile(r":(?:grey_)?question:")
EMOJI = re.compile(r":[a-z0-9_+'-]+:")
QUOTE_LINE = re.compile(r"^[ \t]*(?:>>>.*|>[^\n]*)", re.M | re.S)
ITEM = re.compile(r"^[ \t]*(?:[-*•◦▪–]|\d{1,3}[.)])[ \t]+", re.M)
PERSON = re.compile(r"<@[^<>\n]*>|<!subteam[^<>\n]*>")
QUOTED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^'\n]*'(?!\w)|(?<!\w)~(?=\S)[^~\n]*(?<=\S)~(?!\w)|<[^<>\n]*>")
EMPHASIS = re.compile(r"(?<![^\s(,:])[*_]{1,3}|[*_]{1,3}(?![^\s.,!?):;])")
SHORT = re.compile(r"\b(?:e\. ?g|i\. ?e)\.")
RUN = re.compile(r"[.!?]{2,}")
END = re.compile(r"(\.(?=\s|\Z)|[!?;\n])")
JOIN = re.compile(
    r" ?((?:, )?\b(?:and then|and|then|but)\b(?= \S)|(?:, )?(?<!make it )\bso\b(?= \S)|[,():—–]| --? ) ?"
)
UNCLOSED = re.compile('```|"')
NOT_SPOKEN, SOMEBODY, DOUBT, LISTED, OPEN = "§quoted", "§person", "§doubt", "§item", "§open"


@dataclass(frozen=True, slots=True)
class Piece:
    """Words between two joints: `joint` is what stood before them (",", ", and", …; "" at the beginning)."""

    joint: str
    text: str  # lower case, straight apostrophes, single spaces


@dataclass(frozen=True, slots=True)
class Sentence:
    asks: bool  # ends with a question mark
    pieces: tuple[Piece, ...]


def visible_text(text: str) -> str:
    """Lower case and without what draws nothing; full-width and curly characters as their plain ones.

    Character by character, and few for each: normalising a whole text can be made to take very long.
    """
    seen = INVISIBLE.sub("", text).translate(STRAIGHT)
    if not seen.isascii():
        seen = "".join(c if c.isascii() else unicodedata.normalize("NFKC", c)[:4] for c in seen)
    return seen.casefold()


def sentences(seen: str) -> tuple[Sentence, ...]:
    """What the writer says in their own words, of a text as `visible_text` gives it. Takes linear time.

    Quotations, quoted lines, code, struck words and links become one word, §quoted; somebody's mention §person;
    an emoji that doubts or refuses §doubt; a quotation that does not end begins with §open. An item of a list begins
    with §item.
    """
    parts = END.split(RUN.sub(lambda run: "?" if "?" in run[0] else "! ", _own_words(seen)))
    pairs = zip(parts[::2], [*parts[1::2], ""], strict=True)
    return tuple(Sentence(end == "?", cut) for text, end in pairs if (cut := _pieces(text)) or end == "?")


def _own_words(seen: str) -> str:
    text = CODE.sub(f" {NOT_SPOKEN} ", seen)
    text = EMOJI.sub(" ", ASKING.sub("?", UNSURE.sub(f" {DOUBT} ", text)))
    text = QUOTED.sub(f" {NOT_SPOKEN} ", PERSON.sub(f" {SOMEBODY} ", QUOTE_LINE.sub(NOT_SPOKEN, text)))
    text = UNCLOSED.sub(f" {OPEN} ", text).replace("`", "'")  # people write don`t too
    text = re.sub(r":[ \t]*\n", ": ", ITEM.sub(f"{LISTED} ", text))  # “Ann wrote:” belongs to the line below
    text = SHORT.sub("for example", EMPHASIS.sub("", text))
    return "".join(" " if unicodedata.category(c) in ("So", "Sk", "Cn") else c for c in text)


def _pieces(text: str) -> tuple[Piece, ...]:
    parts = JOIN.split(" ".join(text.split()))
    joints = ["", *(joint.strip() for joint in parts[1::2])]
    pairs = zip(joints, parts[::2], strict=True)
    return tuple(Piece(joint, part.strip()) for joint, part in pairs if part.strip())
