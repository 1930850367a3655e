"""Requests over the web: whether one that is said to only fetch may change something where it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gate.arguments.change_arguments import DESCRIBED, HTTP, is_of_records
from gate.arguments.json_texts import parsed
from gate.arguments.tool_names import words
from gate.rules.action import Json

WEB = frozenset(
    "api browse crawl curl download fetch http https request requests rest scrape url urls web webpage website "
    "wget".split()
)
METHOD = frozenset({"method", "methods", "verb"})
CHANGES = frozenset(
    "copy delete link lock merge mkcol move patch post proppatch purge put unlink unlock".split()
)
SENT = frozenset("body data form json multipart payload upload".split())
# Written in one with what stands before them: `HTTPMETHOD`, `postdata`
JOINED = {
    before + word: word
    for before in ("form", "http", "post", "raw", "request")
    for word in sorted(METHOD | {"body", "data", "payload"})
}
# Something to send where the whole name is that, and no word for how a page is shown
ALONE = (frozenset({"content"}), frozenset({"files"}), frozenset({"raw"}))
SHOWN = frozenset("false full html json main markdown md no none raw text true yes".split())
CALLED = frozenset(
    "action mode operation request type".split()
)  # by whom a method may be called as well, in capitals
PLACES = frozenset("endpoint endpoints href uri url urls".split())  # what stands there is an address
REST = frozenset("api http https request rest url wget".split())  # of these tools a path is one as well
PATHS = PLACES | {"path", "route"}
ADDRESS = re.compile(r"(?i)\s{0,90}(https?:)?//")
# The first line of a raw request
LINE = re.compile(
    r"\s{0,90}(?:(?i:post|put|patch|delete)|COPY|LINK|LOCK|MERGE|MKCOL|MOVE|PROPPATCH|PURGE|UNLINK|UNLOCK)\s{1,90}(?:/|(?i:https?:))"
)
# A header for another method, in a text of headers
OVERRIDE = re.compile(
    r"(?i)\bx-(?:http-)?method(?:-override)?[\"']?\s{0,9}[:=]\s{0,9}[\"']?(?:copy|delete|link|lock|merge|mkcol|move|"
    r"patch|post|proppatch|purge|put|unlink|unlock)\b"
)
SEARCHING = DESCRIBED | {"docs", "documentation", "search"}  # there it is what is looked for


def sends_something(said: Sequence[str], args: Json) -> bool:
    """Whether a call of a tool for the web names a method other than one that reads, or sends something along."""
    if WEB.isdisjoint(said):
        return False
    fields = [*_fields(args), *_fields(parsed(args))]
    tool = frozenset(said)
    places, raw = _places(tool), not (is_of_records(tool) or tool & SEARCHING)
    texts = [(name, value) for name, value in fields if isinstance(value, str)]
    if raw and any(LINE.match(value) for _, value in texts):
        return True
    if not any(_is_address(places, name, value) for name, value in texts):
        return False
    return any(_sends(_words(name[:100]), value) for name, value in fields)


def _words(name: str) -> frozenset[str]:
    """The words of a name of an argument, whatever capitals it is written in."""
    said = frozenset((*words(name), *words(name.lower())))
    return said | {JOINED[word] for word in said & JOINED.keys()}


def _places(tool: frozenset[str]) -> frozenset[str]:
    """The names of arguments that hold an address, in whatever form."""
    if is_of_records(tool):
        return frozenset()
    return PATHS if tool & REST else PLACES


def _is_address(places: frozenset[str], name: str, value: str) -> bool:
    return ADDRESS.match(value) is not None or (bool(value) and not places.isdisjoint(_words(name[:100])))


def _sends(name: frozenset[str], value: Json) -> bool:
    if isinstance(value, str) and (LINE.match(value) or (name & METHOD and value.strip().lower() in CHANGES)):
        return True
    if isinstance(value, str) and name & CALLED and value.isupper() and value.strip().lower() in HTTP:
        return True
    if isinstance(value, (bool, int, float)) or not value:
        return False
    if isinstance(value, str) and "headers" in name and OVERRIDE.search(value):
        return True
    shown = isinstance(value, str) and value.strip().lower() in SHOWN
    return not SENT.isdisjoint(name) or (name in ALONE and not shown)


def _fields(value: Json) -> Iterator[tuple[str, Json]]:
    """Each field at whatever depth, and what it holds. One of JSON in a text is a pair of them."""
    left: list[tuple[str, Json]] = [("", value)]
    while left:
        name, one = left.pop()
        yield name, one
        if isinstance(one, Mapping):
            left += one.items()
        elif isinstance(one, list):
            pair = one[0] if len(one) == 2 and isinstance(one[0], str) else name
            left += ((pair, item) for item in one)
