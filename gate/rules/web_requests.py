"""Requests over the web: whether one that is said to only fetch may change something where it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.json_texts import parsed
from gate.rules.tool_names import words

WEB = frozenset(
    "api browse crawl curl download fetch http https request requests rest scrape url urls web webpage website "
    "wget".split()
)
METHOD = frozenset({"method", "methods", "verb"})
CHANGES = frozenset(
    "copy delete link lock merge mkcol move patch post proppatch purge put unlink unlock".split()
)
SENT = frozenset("body data form json multipart payload upload".split())
ADDRESS = re.compile(r"(?i)\s{0,90}(https?:)?//")
LINE = re.compile(r"(?i)\s{0,90}(post|put|patch|delete)\s{1,90}(/|https?:)")  # of a raw request


def sends_something(said: Sequence[str], args: Json) -> bool:
    """Whether a call of a tool for the web names a method other than one that reads, or sends something along."""
    if WEB.isdisjoint(said):
        return False
    fields = [*_fields(args), *_fields(parsed(args))]
    if not any(isinstance(value, str) and ADDRESS.match(value) for _, value in fields):
        return False
    return any(_sends(frozenset(words(name[:100])), value) for name, value in fields)


def _sends(name: frozenset[str], value: Json) -> bool:
    if isinstance(value, str) and (LINE.match(value) or (name & METHOD and value.strip().lower() in CHANGES)):
        return True
    return not SENT.isdisjoint(name) and not isinstance(value, (bool, int, float)) and bool(value)


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
