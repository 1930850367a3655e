"""The names that notations mark in a text: of requests, markup, calls and settings, and of differences of files.

These are usual notations, and not all: see “Known weak spots” in SECURITY.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gate.rules.diffs import differing_files

FILE_WORDS = frozenset(
    "attachment attachments dest destination dir directories directory file filename filenames filepath filepaths "
    "files folder folders glob globs include includes path pathname pathnames paths source sources src target targets "
    "uri uris url urls".split()
)
SOURCES = frozenset("source src file from path".split())
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
LINES = re.compile(r"[\0\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
ENDS_AS_NAME = re.compile(r"(^|[\w)/])[./]\w[\w-]{0,60}$")
PATH_SIGN = re.compile(r"[./]")
MOST_QUOTED_WORDS = 1  # on a line whose quoted words are names
MOST_WORDS_OF_A_NAME, MOST_WORDS_OF_A_FOLDER = 6, 3
MARKED = re.compile(
    r"(?i)\bfile:/{0,3}([^\s\"'`<>()\[\]]{1,300})|(?<![^\s(\[,;\"'`])@([^\s\"'`<>()\[\],;]{1,300})|"
    r"\]\(\s?<?([^\s()<>]{1,300})|\w\(\s{0,4}[rbuf]?[\"'`]([^\s\"'`]{1,300})[\"'`]|"
    r"\burl\(([^\s\"'`<>()]{1,300})\)"
)
# Of a query, a form or a cookie
_NAME, _VALUE = r"([\w.%\[\]-]{1,60}+)=(?!=)", r"([^\s&;#\"'`<>(){}]{1,300}+)"
PAIR = re.compile(
    rf"(?:^|[?;]\s{{0,2}}){_NAME}{_VALUE}(?=\s{{0,2}}(?:[&;#\r\n]|$))|&\s{{0,2}}{_NAME}{_VALUE}"
)
# `path: ".env"` in a call or an object; `path = .env` on a line of its own
GIVEN = re.compile(
    r"(?<![\w.-])([\w.-]{1,60}+)[\"']?\s{0,4}(?:=>|[:=])\s{0,4}[rbuf]?([\"'`])([^\"'`\r\n]{1,300}+)\2"
)
SETTING = re.compile(
    r"(?:^|(?<=[\r\n]))[ \t]{0,40}+([\w.-]{1,60}+)[ \t]{0,8}+([=:])[ \t]{0,8}+([^\s\"'`=<>(){}]{1,300}+)[ \t]{0,8}+"
    r"(?=[\r\n]|$)"
)
# `type=bind,source=.env`
OPTION = re.compile(r"(?:^|,)-{0,2}([\w.-]{1,60}+)=([^\s,;\"'`=<>(){}]{1,300}+)(?=[,\r\n]|$)")
# An element of XML without others in it; those of HTML mark words of a sentence just as well
MARKUP = re.compile(r"<!--[^<>]{0,1000}-->|<!\[CDATA\[|\]\]>")
ELEMENT = re.compile(r"<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]{0,300})?>([^<>]{1,1000}+)</")
OF_HTML = frozenset(
    "a abbr b bdi bdo big blockquote button caption cite code dd del details dfn div dt em figcaption font footer h1 "
    "h2 h3 h4 h5 h6 header i ins kbd label legend li main mark nav option p pre q s samp section small span strike "
    "strong sub summary sup td th title tt u var".split()
)
IN_BRACKETS = re.compile(r"\[([^\[\]]{1,4000})\]")
QUOTED = re.compile(r"[\"'`\u2018\u201c]([^\s\"'`\u2018-\u201f]{1,300})[\"'`\u2019\u201d]")
OF_DIFFS = re.compile(r"(?:^|(?<=[\r\n]))(?:--- |diff --|rename |copy |\*\*\* )")
PATCHED = re.compile(r"(?:^|(?<=[\r\n]))\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]{1,1000})")
Name = tuple[str, bool]


def is_file_argument(name: str) -> bool:
    """Whether an argument is called after files: `path`, `source_files`, `targetPath`."""
    return not FILE_WORDS.isdisjoint(word.lower() for word in WORDS.findall(name))


def marked_names(text: str) -> Iterator[Name]:
    """What notations mark as names, each with whether it is called after files, so that any word is one."""
    yield from _pairs(text)
    yield from _elements(text) if "</" in text else ()
    found = (next(filter(None, one.groups())) for one in MARKED.finditer(text))
    yield from ((name, False) for name in found)
    yield from ((name, False) for name in (*_given(text), *_of_diffs(text), *_quoted(text)))


def _pairs(text: str) -> Iterator[Name]:
    """The values of a query or of a form."""
    if "=" not in text or not any(sign in text for sign in "&;?"):
        return
    whole = text.split() == [text]
    for found in PAIR.finditer(text):
        name, value = (found[1], found[2]) if found[1] else (found[3], found[4])
        yield value, whole and (name.lower() in SOURCES or is_file_argument(name))


def _elements(text: str) -> Iterator[Name]:
    """What elements of XML hold, but for those of HTML, where it is a word or a path."""
    for found in ELEMENT.finditer(MARKUP.sub("", text) if "<!" in text else text):
        if found[1].lower() in OF_HTML or not (value := found[2].strip()):
            continue
        words = value.split()
        if len(words) == 1:
            yield value, found[1].lower() in SOURCES or is_file_argument(found[1])
        elif _is_path(words) or is_file_argument(found[1]):
            yield value, False


def _is_path(words: list[str]) -> bool:
    """Whether words are a path with blanks in it: one of the first has a slash, and the last ends as a name."""
    if len(words) > MOST_WORDS_OF_A_NAME or not ENDS_AS_NAME.search(words[-1]):
        return False
    return any("/" in word for word in words[: MOST_WORDS_OF_A_FOLDER - 1])


def _given(text: str) -> Iterator[str]:
    """What is given under a name in a call, an object or a file of settings."""
    if ":" not in text and "=" not in text:
        return
    yield from (found[3] for found in GIVEN.finditer(text) if is_file_argument(found[1]))
    if "," in text:
        yield from (found[2] for found in OPTION.finditer(text) if is_file_argument(found[1]))
    yield from (found[3] for found in SETTING.finditer(text) if found[2] == "=" or is_file_argument(found[1]))


def _of_diffs(text: str) -> Iterator[str]:
    """The files that a difference or a patch is about, without the times behind their names."""
    if OF_DIFFS.search(text):
        names = differing_files("\n".join(text.splitlines()))
        yield from (part for name in names for part in {name, name.partition("\t")[0]})
        yield from (found[1].strip() for found in PATCHED.finditer(text))


def _quoted(text: str) -> Iterator[str]:
    """What is quoted in brackets, or on a line with hardly a word beside it."""
    if not QUOTED.search(text):
        return
    for found in IN_BRACKETS.finditer(text):
        yield from (item[1] for item in QUOTED.finditer(found[1]))
    for line in LINES.split(text):
        if QUOTED.search(line) and sum(map(str.isalpha, line.split())) <= MOST_QUOTED_WORDS:
            yield from (item[1] for item in QUOTED.finditer(line))
