"""Keys, tokens and passwords, by the forms in credentials.toml; examples and placeholders are none."""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any, NamedTuple

import re2

from servers.detection.columns import Tables
from servers.detection.hits import Hit, Sure, nothing

RULES = Path(__file__).with_name("credentials.toml")
NAME = b"name"  # the group that is not the secret, but what it is called
LONGEST = 20_000  # characters of one that are looked at
# How many places that look like secrets are looked at in a text that is shown: usual ones have not half as many
LOOKED_AT, ONE_IN = 40, 500  # and one more in so many bytes
PLACEHOLDER = "likely a placeholder"
_HEAD_WORD = re2.compile(rb"(?i)passw|passphrase|kennwort|pwd|secret|api.?key|token")
_HEAD = re.compile(
    r"(?i)(?:[\w.äöü]{1,20}[ -])?(?:\w{0,12}(?:password|passwort|kennwort|passphrase)|passwd|pwd|secret|client ?secret|"
    r"(?:api|secret|access|private)[ -]?key|(?:api|access|auth|bearer)[ -]?token)(?: \([^()]{1,20}\))?"
)
BY_NAME = "named secret"  # the kind of what is told by its name alone


class Rule(NamedTuple):
    kind: str
    sure: Sure
    regex: str
    entropy: float
    keywords: tuple[bytes, ...]
    allowed: re2._Regexp | None


class Allowed(NamedTuple):
    """What is no secret by any rule: by its own form, by rows of signs in it, and by its name."""

    secrets: re2._Regexp
    rows: re2._Regexp
    names: re2._Regexp


@cache
def _rules() -> tuple[Sequence[Rule], Allowed]:
    given = tomllib.loads(RULES.read_text("utf-8"))
    never = {name: _any(forms) for name, forms in given["allowed"].items()}
    return [_rule(one, given["parts"]) for one in given["rules"]], Allowed(**never)


def _rule(given: Mapping[str, Any], parts: Mapping[str, str]) -> Rule:
    regex = given["regex"]
    for name, part in (*parts.items(), ("keywords", "|".join(map(re.escape, given["keywords"])))):
        regex = regex.replace(f"<{name}>", part)
    return Rule(
        kind=given["id"].replace("-", " "),
        sure=given.get("sure", "certain"),
        regex=regex,
        entropy=given.get("entropy", 0.0),
        keywords=tuple(word.encode() for word in given["keywords"]),
        allowed=_any(given["allowed"]) if "allowed" in given else None,
    )


def _any(forms: Sequence[str]) -> re2._Regexp:
    return re2.compile("|".join(f"(?:{form})" for form in forms))


@cache
def _compiled(regex: str) -> re2._Regexp:
    """Most rules are never tried, so each is compiled when it first is."""
    return re2.compile(regex.encode())


def credentials(data: bytes) -> Iterator[Hit]:
    """The secrets in a piece of text, by bytes. One that somebody typed as an example, with signs that count up as in
    12345678-ABCD, is one perhaps: its kind says that it is likely a placeholder."""
    yield from _found(data)
    yield from _below_heads(data)


def _below_heads(data: bytes) -> Iterator[Hit]:
    """What stands in a column of a table whose head says that it holds passwords or keys."""
    never = _rules()[1]
    for table in Tables(data).found if _HEAD_WORD.search(data) else ():
        columns = {n for n, head in enumerate(table.heads) if _HEAD.fullmatch(head)}
        place = table.start + len(table.first)
        for line in data[place : table.end].splitlines(keepends=True) if columns else ():
            for n, cell in enumerate(line.split(table.sign)):
                bare = cell.strip(b' \t"\r\n')
                if n in columns and _chosen(secret := bare.decode("utf-8", "replace"), never):
                    start = place + cell.index(bare)
                    yield Hit(start, start + len(bare), "password", "likely", nothing(secret))
                place += len(cell) + len(table.sign)
            place -= len(table.sign)


def _chosen(secret: str, never: Allowed) -> bool:
    """Whether a cell below such a head holds one: not a word that says that there is one, or where it is."""
    kinds = sum(any(test(c) for c in secret) for test in (str.islower, str.isupper, str.isdigit))
    signs = any(not c.isalnum() for c in secret)
    plain = kinds + signs > 1 and len(set(secret)) > 3 and not any(map(str.isspace, secret))
    return plain and 5 <= len(secret) <= 200 and not never.secrets.search(secret) and not secret.istitle()


def to_hide(data: bytes) -> Iterator[Hit]:
    """The same with what has the form of a certain secret and may be an example: better hidden once too often. What
    lies over each other is one. Of a text made of what looks like secrets only so much is looked at; all behind it is
    one more of them, whatever it says."""
    never, most = _rules()[1], LOOKED_AT + len(data) // ONE_IN
    found = list[Hit]()
    for n, (rule, match) in enumerate(merge(*_matches(data), key=lambda one: one[1].start())):
        if n == most:
            found.append(_hidden(data, match.start(), len(data)))
            break
        start, end, secret = _secret(data, match)
        if rule.sure == "certain" or _counts(rule, secret, _name(match), never):
            found.append(Hit(start, end, rule.kind, rule.sure, _shown(secret, rule.sure)))
    found.sort(key=lambda hit: (hit.start, -hit.end))
    yield from _apart(data, found)


def _apart(data: bytes, found: Sequence[Hit]) -> Iterator[Hit]:
    """Those that begin one behind the other, with those that lie over each other as one."""
    last: Hit | None = None
    for hit in found:
        if last and hit.start < last.end:
            last = _hidden(data, last.start, hit.end) if hit.end > last.end else last
        else:
            if last:
                yield last
            last = hit
    if last:
        yield last


def _hidden(data: bytes, start: int, end: int) -> Hit:
    return Hit(start, end, BY_NAME, "perhaps", nothing(data[start:end].decode("utf-8", "replace")))


def _found(data: bytes) -> Iterator[Hit]:
    never = _rules()[1]
    for rule, match in chain.from_iterable(_matches(data)):
        start, end, secret = _secret(data, match)
        if _counts(rule, secret, _name(match), never):
            yield Hit(start, end, rule.kind, rule.sure, _shown(secret, rule.sure))
        elif _is_placeholder(rule, secret, _name(match), never):
            yield Hit(start, end, f"{rule.kind} ({PLACEHOLDER})", "perhaps", nothing(secret))


def _matches(data: bytes) -> Iterator[Iterator[tuple[Rule, Any]]]:
    """Of each rule what it sees, in order. A rule is tried where one of its words stands."""
    small = data.lower()
    for rule in _rules()[0]:
        if any(word in small for word in rule.keywords):
            yield zip(repeat(rule), _compiled(rule.regex).finditer(data))


def _secret(data: bytes, found: Any) -> tuple[int, int, str]:
    """Where the secret of a match is, and its beginning."""
    start, end = _span(found)
    return start, end, data[start : min(end, start + LONGEST)].decode("utf-8", "replace")


def _span(found: Any) -> tuple[int, int]:
    """Of the secret in a match: the first group that holds something and is no name, else all of it."""
    name = found.re.groupindex.get(NAME)
    spans = (found.span(group) for group in range(1, found.re.groups + 1) if group != name)
    return next(((start, end) for start, end in spans if end > start), found.span())


def _name(found: Any) -> str:
    name: bytes = found.groupdict().get(NAME, b"")
    return name.decode("utf-8", "replace")


def _counts(rule: Rule, secret: str, name: str, never: Allowed) -> bool:
    made_up = never.secrets.search(secret) or never.rows.search(secret) or invented(secret)
    return _fits(rule, secret, name, never) and not (made_up and len(secret) < 300)


def _is_placeholder(rule: Rule, secret: str, name: str, never: Allowed) -> bool:
    """Whether it has the form of a provider's secret and counts up, and says in no word that it is none. A value that
    only its name makes a secret is none then: alphabets are called keys, too."""
    if rule.kind == BY_NAME:
        return False
    counts_up = len(secret) >= INVENTED and _counting(secret.lower()) * 3 >= len(secret)
    return counts_up and _fits(rule, secret, name, never) and not never.secrets.search(secret)


def _fits(rule: Rule, secret: str, name: str, never: Allowed) -> bool:
    """Whether a secret of the rule can look so, and be called so."""
    if (rule.entropy and entropy(secret) <= rule.entropy) or len(set(secret)) < 4:
        return False
    return not (never.names.search(name) or (rule.allowed and rule.allowed.search(secret)))


def entropy(text: str) -> float:
    """Bits for each sign."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


INVENTED = 16  # signs below which a text that counts up may be a weak password, and no example
_GROUP = re.compile(r"[A-Za-z0-9]{3,}")
_SAME = re.compile(r"([^Aa=])\1{5}")  # a coded zero is a row of A, and a padding a row of =


def invented(text: str) -> bool:
    """Whether a long text is one that somebody typed as an example.

    A third of it counts up (abcd, 4567), or a part between other signs stands there three times, or a sign six times in
    a row. Of texts made by chance less than one in ten thousand does.
    """
    if len(text) < INVENTED:
        return False
    groups = Counter(_GROUP.findall(text)).values()
    return _counting(text.lower()) * 3 >= len(text) or max(groups, default=0) >= 3 or bool(_SAME.search(text))


def _counting(text: str) -> int:
    """How many signs belong to rows of at least three that follow each other, as in abc or 789."""
    counted, row = 0, 1
    for one, other in pairwise(text):
        row = row + 1 if other.isalnum() and ord(other) == ord(one) + 1 else 1
        counted += 3 if row == 3 else row > 3
    return counted


def by_chance(text: str) -> bool:
    """Whether a text looks as if it was made by chance, not by people: many different signs of several kinds."""
    kinds = sum(any(test(c) for c in text) for test in (str.islower, str.isupper, str.isdigit))
    return entropy(text) >= 3.0 and kinds >= 2


def _shown(secret: str, sure: Sure) -> str:
    if secret.startswith("-----BEGIN"):
        return secret.splitlines()[0][:60]
    return f"{secret[:4]}{nothing(secret)}" if sure == "certain" and len(secret) >= 20 else nothing(secret)
