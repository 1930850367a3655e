"""Texts of mails as people write them: which words are their own, and whether one text says more than another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from mailparser_reply import EmailReplyParser

SIGNATURE = "-- "
QUOTED = re.compile(r"^\s*(>|On .{5,200} wrote:\s*$|-{2,} ?Original Message)", re.IGNORECASE)
BLANKS = re.compile(r"\n{3,}")
LANGUAGES = ["en", "de", "fr", "es", "it", "nl", "pl"]
# The parser takes time by the square of what it is given: so it gets paragraphs, of some size together.
AT_ONCE = 2_000  # characters
MOST_SPLIT = 50_000  # characters; behind them only marks before the lines tell what is quoted


def own_words(text: str) -> str:
    """The text without what it quotes, with or without marks before the lines, and without the signature."""
    return _unquoted(_first_reply(text)) or _unquoted(text)


def _first_reply(text: str) -> str:
    """What stands before the first answered mail, or before the signature."""
    parser = EmailReplyParser(languages=LANGUAGES)
    own, left = "", MOST_SPLIT
    for gap, piece in _pieces(text):
        left -= len(piece)
        if left < 0 or len(piece) > AT_ONCE:
            own += gap + piece
            continue
        replies = parser.read(piece).replies
        if own and replies[0].headers:
            break
        own += gap + replies[0].body
        if len(replies) > 1 or replies[0].signatures:
            break
    return own


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs, as many together as the parser gets at once, each with the line breaks before it. A longer one is
    divided between its lines; a longer line is alone."""
    held = gap = ""
    for before, each in _lines(text):
        if held and len(held) + len(each) > AT_ONCE:
            cut = held.rfind("\n\n") if before == "\n" else -1
            cut = cut if cut >= 0 else len(held)
            yield gap, held[:cut]
            rest = held[cut:].lstrip("\n")
            held, gap = (f"{rest}{before}{each}", "\n\n") if rest else (each, before)
        else:
            held += before * bool(held) + each
    yield gap, held


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Lines that say something, each with the line breaks before it: one, or two for all more."""
    before = ""
    for each in map(str.rstrip, text.split("\n")):
        if each:
            yield before, each
            before = "\n"
        elif before:
            before = "\n\n"


def _unquoted(text: str) -> str:
    kept = []
    for each in text.split("\n"):
        if each == SIGNATURE or each.rstrip() == "--":
            break
        if not QUOTED.match(each):
            kept.append(each.rstrip())
    return BLANKS.sub("\n\n", "\n".join(kept)).strip()


WRAPPED = 40  # characters: a shorter line ended where its writer wanted
LISTED = re.compile(r"\s*(?:[-*•>|]|\d{1,3}[.)]\s)")


def unwrapped(text: str) -> Iterator[str]:
    """The lines of a text, those put together that were one before a program wrapped them at a width."""
    held: list[str] = []
    for line in [*text.split("\n"), ""]:
        wrapped = held and (len(held[-1]) >= WRAPPED or line[:1].islower()) and not LISTED.match(line)
        if held and not (line.strip() and wrapped):
            yield " ".join(held)
            held = []
        held += [line.strip()] if line.strip() else []


FLOWS = re.compile(r"(?P<marks>>*+) ?+(?P<text>.*+)")


def unflowed(text: str, joined: bool) -> str:
    """A text without the line breaks that only the width of a line was the reason for: lines before them end with a
    blank, which is no part of the text where it is `joined`."""
    lines: list[tuple[str, str, bool]] = []
    for line in text.split("\n"):
        found = FLOWS.fullmatch(line)
        marks, said = (found["marks"], found["text"]) if found else ("", line)
        soft = said.endswith(" ") and said != SIGNATURE
        said = said[:-1] if soft and joined else said
        if lines and lines[-1][2] and lines[-1][0] == marks and line != SIGNATURE:
            lines[-1] = (marks, lines[-1][1] + said, soft)
        else:
            lines.append((marks, said, soft))
    return "\n".join(f"{marks} {said}" if marks else said for marks, said, _ in lines)


WORD = re.compile(r"\w+")
ABOUT_ITSELF = frozenset(
    "unsubscribe here view click open in this the your browser web online email e mail newsletter version image logo "
    "abmelden hier ansehen im öffnen diese ihrem webansicht bild".split()
)


def says_more(text: str, than: str) -> bool:
    """Whether a text has a word, or a number, more often than the other one, but for what pages say of themselves. A
    single “not” may be all of it."""
    more = Counter(WORD.findall(text.casefold())) - Counter(WORD.findall(than.casefold()))
    return not more.keys() <= ABOUT_ITSELF
