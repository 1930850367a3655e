"""The names that one text holds: in lists, and where a notation marks a name.

Where the line is drawn for secret files. A name counts where something other than a sentence puts it there:

- Under an argument that is called after files (`path`, `files`, `sourceUris`) each word of the text is a name, whatever
  stands around it.
- Under any other argument a name counts where it stands alone between two separators of lists: on a line of its own,
  behind a bullet or a number as well, or between tabs, zero bytes, commas, semicolons, bars or colons, quoted or not.
  It counts as well where a notation marks it: see gate/arguments/notations.py. Escapes (`\\u002e`, `\\x2e`, `&#46;`)
  are read as what they stand for.
- It does not count within a sentence: between words, as in “do not commit .env files”, or between commas on a line with
  four words or more that belong to no name (“we use Postgres, .env and Docker, but not here”).
- A name with blanks in it counts where all entries of the text are names. So do names that code, tables and prose are
  full of: `item.key`, `process.env`, `credentials`.

The rules of operators are held against the same names, as far as they look like paths.

Arguments that hold words by their name (`body`, `query`) are not looked at: see `PROSE` in target_texts.py beside this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from gate.arguments.escapes import unescaped
from gate.arguments.notations import (
    ENDS_AS_NAME,
    LINES,
    MOST_WORDS_OF_A_NAME,
    PATH_SIGN,
    Name,
    marked_names,
)
from gate.arguments.secret_files import SECRET, SECRET_NAMES
from gate.arguments.secret_patterns import matched_secrets
from gate.arguments.text_cache import Remembered

_T = TypeVar("_T")
LONGEST = 1 << 17  # characters of a text that is looked through; a longer one counts as naming a secret file
MOST_NAMES, MOST_PATTERNS = 8, 64  # that are told, and that are looked at, of one text
MOST_PLAIN_WORDS = 3  # on a line that is no sentence
TOKENS = re.compile(r"[^\s\0,;|&\"'`()\[\]{}<>=\u3001\u2018-\u201f\u00ab\u00bb]{1,300}")
PIECES = re.compile(r"[,;|\u3001]")
BULLET = re.compile(
    r"^\s{0,40}(?:(?:[-*+\u2022\u2023\u25cf\u2013]|\d{1,4}[.)]|[A-Za-z][.)]|\[[ xX]?\])\s{1,8}){1,3}"
)
AROUND = " \"'`()[]{}<>\u2018\u2019\u201c\u201d\u00ab\u00bb"
CODE, NO_NAME = re.compile(r"[={}<>()$&]"), re.compile(r"[={}<>()$&\[\]\"'`]")
WEAK = re.compile(r"[!$]?(\w{1,60}\??\.){1,9}(key|env)|[A-Za-z-]{1,40}")
# Code, numbers, versions and times
NO_PATH = re.compile(rf"[{{}}]|^(?:{WEAK.pattern}|[\^~<>=]{{0,2}}v?\d[\d.,:/eE%+-]{{0,300}})$")
SAYS_SOMETHING = re.compile(r"\w\w|\w[./]|[./]\w")
HOLDS_PATHS = re.compile(r"[./=<]")
WITHOUT_ENDING = frozenset(
    "authors changelog copying dockerfile gemfile jenkinsfile licence license makefile notice procfile readme "
    "vagrantfile".split()
)


def secret_names(text: str, of_files: bool = False) -> tuple[str, ...]:
    """The names of secret files that a text holds as names; `of_files`: it is of an argument called after files."""
    return _names_among_files(text) if of_files else _names_among_words(text)


@Remembered
def _names_among_files(text: str) -> tuple[str, ...]:
    return SECRET_NAMES[:1] if len(text) > LONGEST else (*_patterns(_tokens(text)), *_names_meant(text, True))


@Remembered
def _names_among_words(text: str) -> tuple[str, ...]:
    return SECRET_NAMES[:1] if len(text) > LONGEST else _names_meant(text, False)


@Remembered
def secret_words(text: str) -> frozenset[str]:
    """The words of a text that are called as secret files are; `f(x).key` is code."""
    return frozenset(filter(SECRET.search, _tokens(text) - {".key"}))


def _names_meant(text: str, of_files: bool) -> tuple[str, ...]:
    """The secret names in a text as it is, and with what its escapes stand for."""
    meant = unescaped(text)
    return (*_secret_names(text, of_files), *(_secret_names(meant, of_files) if meant != text else ()))


def path_names(text: str) -> Iterator[str]:
    """The names in a text, as it is and with what its escapes stand for, that look like paths, or are called after
    files: what the rules of operators are held against. A text that is too long counts as one that names a secret
    file."""
    for one in dict.fromkeys((text, unescaped(text))):
        if one != text and not LINES.search(one):
            yield one
        if may_hold_paths(one):
            for name, certain in _names(one, _lines(one)):
                if certain or looks_like_path(name):
                    yield name


def looks_like_path(name: str) -> bool:
    """Whether it looks like a path, and does not end as a word that is secret in lists alone (`credentials`)."""
    if (
        not PATH_SIGN.search(name)
        or NO_PATH.search(name)
        or not SAYS_SOMETHING.search(name)
        or name == ".key"
    ):
        return False
    return "." in name.rpartition("/")[2] or not (_is_weak(name) and _is_secret(name))


def may_hold_paths(text: str) -> bool:
    """Whether a text is looked through for names that look like paths."""
    return len(text) <= LONGEST and HOLDS_PATHS.search(text) is not None


def _lines(text: str) -> list[list[str]]:
    return [pieces for line in LINES.split(text) if (pieces := _pieces(line))]


def _names(text: str, lines: Sequence[Sequence[str]]) -> Iterator[Name]:
    """All names that a text holds in any notation: what is marked as one, and what stands alone in a list. Each with
    whether it is one although it is a word just as well."""
    yield from marked_names(text)
    yield from ((name, False) for name in _alone(lines, _is_list(lines)))


def _secret_names(text: str, of_files: bool) -> tuple[str, ...]:
    """The first of the names, so that what names many takes no longer than what names few."""
    if not (words := secret_words(text)):
        return ()
    lines = _lines(text)
    weak_too = _has_files(lines) if _is_list(lines) else of_files and _says_only_names(text, lines)
    found = ((word, False) for word in sorted(words)) if of_files else _names(text, lines)
    secret = (one for one in unlike(found) if one[0] in words or _is_secret(one[0]))
    names = (name for name, certain in secret if weak_too or certain or not _is_weak(name))
    return tuple(islice(unlike(names), MOST_NAMES))


def _is_secret(name: str) -> bool:
    return SECRET.search(name) is not None


def unlike(names: Iterable[_T]) -> Iterator[_T]:
    """Each of these once, as soon as it comes."""
    seen = set[_T]()
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name


def _says_only_names(text: str, lines: Sequence[Sequence[str]]) -> bool:
    return not CODE.search(text) and not any(map(_plain_words, lines))


def _has_files(lines: Sequence[Sequence[str]]) -> bool:
    """Whether an entry of a list can only be the name of a file."""
    words = (word for pieces in lines for piece in pieces for word in piece.split())
    return any(_is_file(word) and not _is_weak(word) for word in unlike(words))


def _tokens(text: str) -> set[str]:
    """The words of a text that may be names, without what stands around them."""
    words = {word.rstrip(".,:!?") for word in TOKENS.findall(text)}
    return words | {part for word in words if ":" in word for part in word.split(":", 8)}


def _patterns(tokens: set[str]) -> Iterator[str]:
    """The first secret file that a word can mean as a pattern; one as well where there are too many to be looked at."""
    wild = [token for token in tokens if "*" in token or "?" in token]
    if len(wild) > MOST_PATTERNS:
        yield SECRET_NAMES[0]
    yield from islice((name for token in wild[:MOST_PATTERNS] for name in matched_secrets(token)), 1)


def _is_weak(name: str) -> bool:
    """Whether it is a word or an expression of code just as well."""
    hidden = name.startswith((".", "/", "~")) or "/." in name
    return not hidden and WEAK.fullmatch(name.rpartition("/")[2]) is not None


def _pieces(line: str) -> list[str]:
    """The entries of a line between its separators; between colons as well where it has no blank."""
    plain = BULLET.sub("", line, count=1).strip()
    pieces = PIECES.split(plain if " " in plain else plain.replace(":", ","))
    return [bare for piece in pieces if (bare := piece.strip(AROUND).removeprefix("@"))]


def _is_name(piece: str) -> bool:
    words = piece.split()
    if NO_NAME.search(piece) or len(words) > MOST_WORDS_OF_A_NAME:
        return False
    return len(words) == 1 or (bool(words) and ENDS_AS_NAME.search(words[-1]) is not None)


def _is_list(lines: Sequence[Sequence[str]]) -> bool:
    """Whether all entries of a text are names, and there are several."""
    entries = [piece for pieces in lines for piece in pieces]
    if len(entries) == 1:
        words = entries[0].split()
        return len(words) > 1 and all(map(_is_file, set(words)))
    return len(entries) > 1 and all(map(_is_name, entries))


def _is_file(word: str) -> bool:
    return not NO_NAME.search(word) and ("." in word or "/" in word or word.lower() in WITHOUT_ENDING)


def _plain_words(pieces: Sequence[str]) -> int:
    """How many words of a line belong to no name: those of entries with blanks that do not end as one."""
    many = [
        words for piece in pieces if len(words := piece.split()) > 1 and not ENDS_AS_NAME.search(words[-1])
    ]
    return sum(word.isalpha() for words in many for word in words)


def _is_sentence(pieces: Sequence[str]) -> bool:
    return _plain_words(pieces) > MOST_PLAIN_WORDS


def _alone(lines: Sequence[Sequence[str]], is_list: bool) -> Iterator[str]:
    """What stands alone between separators; where all is a list, also the names with blanks."""
    for pieces in lines:
        bare = (piece.rstrip(".:") for piece in pieces)
        found = [one for one in bare if TOKENS.fullmatch(one) and one != ".key"]  # `f(x).key` is code
        if found and not _is_sentence(pieces):
            yield from found
        if is_list:
            yield from (name for piece in pieces for name in _within(piece))


def _within(piece: str) -> Iterator[str]:
    """An entry with blanks, and its end, or each of its words where all are names of files."""
    words = piece.split()
    if len(words) > 1:
        yield piece
        yield from words if all(map(_is_file, set(words))) else words[-1:]
