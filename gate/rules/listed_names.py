"""Names of secret files in one text that holds several: in lists, and where a notation marks a name.

Where the line is drawn. A name counts where something other than a sentence puts it there:

- Under an argument that is called after files (`path`, `files`, `sourceUris`) each word of the text is a name, whatever
  stands around it.
- Under any other argument a name counts where it stands alone between two separators of lists: on a line of its own,
  behind a bullet or a number as well, or between tabs, zero bytes, commas, semicolons, bars or colons, quoted or not.
  It counts as well where a notation marks it: `file://`, `@name`, the target of a link in Markdown, a quoted argument
  of a call, a quoted item in brackets, the value of `name=value` between `&` or `;`, all that an element of XML holds
  which is none of HTML. Escapes (`\\u002e`, `\\x2e`, `&#46;`) are read as what they stand for.
- It does not count within a sentence: between words, as in “do not commit .env files”, or between commas on a line with
  four words or more that belong to no name (“we use Postgres, .env and Docker, but not here”).
- A name with blanks in it counts where all entries of the text are names. So do names that code, tables and prose are
  full of: `item.key`, `process.env`, `credentials`.

Arguments that hold words by their name (`body`, `query`) are not looked at: see gate/rules/canonical_targets.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from gate.rules.escapes import unescaped
from gate.rules.secret_files import SECRET, SECRET_NAMES
from gate.rules.secret_patterns import matched_secrets
from gate.rules.text_cache import Remembered

LONGEST = 1 << 17  # characters of a text that is looked through; a longer one counts as naming a secret file
MOST_NAMES, MOST_PATTERNS = 8, 64  # that are told, and that are looked at, of one text
MOST_PLAIN_WORDS, MOST_QUOTED_WORDS = 3, 1  # on a line that is no sentence
MOST_WORDS_OF_A_NAME = 6
FILE_WORDS = frozenset(
    "attachment attachments dest destination dir directories directory file filename filenames filepath filepaths "
    "files folder folders glob globs include includes path pathname pathnames paths source sources src target targets "
    "uri uris url urls".split()
)
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
TOKENS = re.compile(r"[^\s\0,;|&\"'`()\[\]{}<>=\u3001\u2018-\u201f\u00ab\u00bb]{1,300}")
LINES = re.compile(r"[\0\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
PIECES = re.compile(r"[,;|\u3001]")
BULLET = re.compile(
    r"^\s{0,40}(?:(?:[-*+\u2022\u2023\u25cf\u2013]|\d{1,4}[.)]|[A-Za-z][.)]|\[[ xX]?\])\s{1,8}){1,3}"
)
AROUND = " \"'`()[]{}<>\u2018\u2019\u201c\u201d\u00ab\u00bb"
ENDS_AS_NAME = re.compile(r"(^|[\w)/])[./]\w[\w-]{0,60}$")
CODE, NO_NAME = re.compile(r"[={}<>()$&]"), re.compile(r"[={}<>()$&\[\]\"'`]")
WEAK = re.compile(r"[!$]?(\w{1,60}\??\.){1,9}(key|env)|[A-Za-z-]{1,40}")
WITHOUT_ENDING = frozenset(
    "authors changelog copying dockerfile gemfile jenkinsfile licence license makefile notice procfile readme "
    "vagrantfile".split()
)
MARKED = re.compile(
    r"(?i)\bfile:/{0,3}([^\s\"'`<>()\[\]]{1,300})|(?<![^\s(\[,;\"'`])@([^\s\"'`<>()\[\],;]{1,300})|"
    r"\]\(\s?<?([^\s()<>]{1,300})|\w\(\s{0,4}[rbuf]?[\"'`]([^\s\"'`]{1,300})[\"'`]|"
    r"\burl\(([^\s\"'`<>()]{1,300})\)|"
    r"[?&;][\w.%\[\]-]{1,60}=(?!=)([^\s\"'`<>()&;#]{1,300})(?=[&;])|&[\w.%\[\]-]{1,60}=(?!=)([^\s\"'`<>()&;#]{1,300})"
)
# An element of XML that holds one word; those of HTML mark words of a sentence just as well
ELEMENT = re.compile(
    r"<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,300})?>\s{0,40}(?:<!\[CDATA\[)?([^\s<>]{1,300}?)(?:\]\]>)?\s{0,40}</"
)
OF_HTML = frozenset(
    "a abbr b bdi bdo big blockquote button caption cite code dd del details dfn div dt em figcaption font footer h1 "
    "h2 h3 h4 h5 h6 header i ins kbd label legend li main mark nav option p pre q s samp section small span strike "
    "strong sub summary sup td th title tt u var".split()
)
IN_BRACKETS = re.compile(r"\[([^\[\]]{1,4000})\]")
QUOTED = re.compile(r"[\"'`\u2018\u201c]([^\s\"'`\u2018-\u201f]{1,300})[\"'`\u2019\u201d]")


def is_file_argument(name: str) -> bool:
    """Whether an argument is called after files: `path`, `source_files`, `targetPath`."""
    return not FILE_WORDS.isdisjoint(word.lower() for word in WORDS.findall(name))


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
    """The names in a text as it is, and with what its escapes stand for."""
    meant = unescaped(text)
    return (*_secret_names(text, of_files), *(_secret_names(meant, of_files) if meant != text else ()))


def _secret_names(text: str, of_files: bool) -> tuple[str, ...]:
    """The first of the names, so that what names many takes no longer than what names few."""
    if not (words := secret_words(text)):
        return ()
    lines = [pieces for line in LINES.split(text) if (pieces := _pieces(line))]
    is_list = _is_list(lines)
    found = sorted(words) if of_files else chain(_marked(text), _alone(lines, words, is_list))
    weak_too = _has_files(lines) if is_list else of_files and _says_only_names(text, lines)
    names = (name for name in _unlike(found) if weak_too or not _is_weak(name))
    return tuple(islice(names, MOST_NAMES))


def _unlike(names: Iterable[str]) -> Iterator[str]:
    """Each of these once, as soon as it comes."""
    seen = set[str]()
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name


def _says_only_names(text: str, lines: Sequence[Sequence[str]]) -> bool:
    return not CODE.search(text) and not any(map(_plain_words, lines))


def _has_files(lines: Sequence[Sequence[str]]) -> bool:
    """Whether an entry of a list can only be the name of a file."""
    words = (word for pieces in lines for piece in pieces for word in piece.split())
    return any(_is_file(word) and not _is_weak(word) for word in _unlike(words))


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
    return len(words) == 1 or ENDS_AS_NAME.search(words[-1]) is not None


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


def _alone(lines: Sequence[Sequence[str]], suspects: frozenset[str], is_list: bool) -> Iterator[str]:
    """The suspects that stand alone between separators; where all is a list, also the names with blanks."""
    for pieces in lines:
        found = [one for piece in pieces if (one := piece.rstrip(".:")) in suspects]
        if found and not _is_sentence(pieces):
            yield from found
        if is_list:
            yield from (name for piece in pieces for name in _within(piece, suspects))


def _within(piece: str, suspects: frozenset[str]) -> Iterator[str]:
    """What is secret of an entry with blanks: its end, or any of its words where all are names of files."""
    words = piece.split()
    yield from words[-1:] if words[-1] in suspects or SECRET.search(piece) else ()
    yield from suspects.intersection(words) if all(map(_is_file, set(words))) else ()


def _marked(text: str) -> Iterator[str]:
    """The secret files that a notation marks as names."""
    marked = (next(filter(None, found.groups())) for found in MARKED.finditer(text))
    inside = (item[1] for found in IN_BRACKETS.finditer(text) for item in QUOTED.finditer(found[1]))
    quoted = (
        item[1]
        for line in LINES.split(text)
        if sum(map(str.isalpha, line.split())) <= MOST_QUOTED_WORDS
        for item in QUOTED.finditer(line)
    )
    held = (value for _, value in elements(text))
    yield from filter(SECRET.search, _unlike(chain(marked, inside, quoted, held)))


def elements(text: str) -> Iterator[tuple[str, str]]:
    """The elements of XML, but for those of HTML, that hold one word: the name, and the word."""
    return ((found[1], found[2]) for found in ELEMENT.finditer(text) if found[1].lower() not in OF_HTML)
