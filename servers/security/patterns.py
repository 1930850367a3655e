"""What personal data and secrets look like on a line. Each pattern takes time in proportion to the line, no more."""

# ruff: noqa: E501 - a pattern reads best on one line
from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

LONGEST_LINE = 5_000  # characters looked at at once
OVERLAP = 300  # of the end of one piece that the next begins with
Sure = Literal["certain", "likely", "perhaps"]


class Hit(NamedTuple):
    """One thing on a line: where it is, and what may be shown of it."""

    start: int
    end: int
    kind: str
    sure: Sure
    shown: str


class Pattern(NamedTuple):
    """One kind of thing. `group` 1, where there is one, is the thing itself."""

    kind: str
    sure: Sure
    regex: re.Pattern[str]
    holds: Callable[[str], bool]
    mask: Callable[[str], str]


def _tail(text: str) -> str:
    plain = "".join(c for c in text if c.isalnum())
    return "•" * max(len(plain) - 4, 4) + plain[-4:]


def _mail(text: str) -> str:
    name, _, host = text.partition("@")
    return f"{name[0]}•••@{host}"


def _head(text: str) -> str:
    return f"{text[:4]}••• ({len(text)} characters)"


def _nothing(text: str) -> str:
    return f"••• ({len(text)} characters)"


def luhn(text: str) -> bool:
    """Whether the digits are those of a payment card."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = sum(sum(divmod(2 * d, 10)) for d in digits[-2::-2])
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[-1::-2]) + doubled) % 10 == 0


def iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616)."""
    plain = text.replace(" ", "").upper()
    turned = plain[4:] + plain[:4]
    return 15 <= len(plain) <= 34 and int("".join(str(int(c, 36)) for c in turned)) % 97 == 1


def _ssn(text: str) -> bool:
    area, group, serial = text.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _phone(text: str) -> bool:
    return 8 <= sum(c.isdigit() for c in text) <= 15


def _address(text: str) -> bool:
    parts = [int(part) for part in text.split(".")]
    return max(parts) < 256 and parts[0] not in (0, 10, 127, 255) and parts[:2] != [192, 168]


def chance(text: str) -> bool:
    """Whether a text looks as if it was made by chance, not by people: many different signs, unevenly mixed kinds."""
    counts = Counter(text)
    bits = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    kinds = sum(bool(re.search(part, text)) for part in ("[a-z]", "[A-Z]", r"\d"))
    return bits >= 3.0 and kinds >= 2


def _word(text: str) -> bool:
    placeholder = re.fullmatch(
        r"(?i)(x+|\*+|\.+|changeme|example|none|null|true|false|secret|password|token|<.*>|\$.*|\{.*)", text
    )
    return placeholder is None and len(set(text)) > 3


def _always(_: str) -> bool:
    return True


def _p(
    kind: str, sure: Sure, regex: str, mask: Callable[[str], str], holds: Callable[[str], bool] = _always
) -> Pattern:
    return Pattern(kind, sure, re.compile(regex), holds, mask)


PERSONAL = (
    _p("email", "certain", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}(?![\w-])", _mail),
    _p("payment card", "certain", r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d-])", _tail, luhn),
    _p("bank account (IBAN)", "certain", r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", _tail, iban),
    _p("social security number (US)", "likely", r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])", _tail, _ssn),
    _p("phone number", "likely", r"(?<![\w+])\+\d{1,3}(?:[ .()/-]{0,2}\d{1,4}){2,6}(?!\w)", _tail, _phone),
    _p("phone number", "perhaps", r"(?<![\w(+-])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])", _tail, _phone),
    _p("date of birth", "likely", r"(?i:born|birth(?:day|date)?|dob)\W{1,4}(\d{4}-\d{2}-\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4})", _nothing),
    _p("network address", "perhaps", r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])", lambda t: t.rpartition(".")[0] + ".•••", _address),
)  # fmt: skip
SECRETS = (
    _p("private key", "certain", r"-----BEGIN (?:[A-Z]{1,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----", lambda t: t),
    _p("age key", "certain", r"AGE-SECRET-KEY-1[0-9A-Z]{58}", _nothing),
    _p("AWS access key", "certain", r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", _head),
    _p("GitHub token", "certain", r"(?<!\w)(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255})", _head),
    _p("GitLab token", "certain", r"(?<!\w)glpat-[\w-]{20,64}", _head),
    _p("Slack token", "certain", r"(?<!\w)xox[abeoprs]-[\w-]{10,250}|(?<!\w)xapp-\d-[\w-]{20,250}", _head),
    _p("Slack webhook", "certain", r"hooks\.slack\.com/services/[\w/]{20,80}", _nothing),
    _p("Google key", "certain", r"(?<!\w)AIza[\w-]{35}(?!\w)", _head),
    _p("Stripe key", "certain", r"(?<!\w)[rs]k_live_[A-Za-z0-9]{20,200}", _head),
    _p("model provider key", "certain", r"(?<!\w)sk-(?:ant-|proj-|svcacct-)?[\w-]{32,250}", _head),
    _p("package registry token", "certain", r"(?<!\w)(?:npm_[A-Za-z0-9]{36}|pypi-[\w-]{60,250})", _head),
    _p("signed token (JWT)", "likely", r"(?<!\w)eyJ[\w-]{10,2000}\.eyJ[\w-]{10,2000}\.[\w-]{10,1000}", _nothing),
    _p("password in an address", "likely", r"[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,80}:([^\s:/@]{3,200})@", _nothing, _word),
    _p("password", "likely", r"""(?i:password|passwd|pwd|passphrase)["']?\s{0,4}[:=]\s{0,4}["']?([^\s"',;]{6,200})""", _nothing, _word),
    _p("secret", "likely", r"""(?i:secret|token|api[_-]?key|access[_-]?key|auth)[\w-]{0,20}["']?\s{0,4}[:=]\s{0,4}["']?([\w+/=.~-]{16,300})""", _nothing, chance),
)  # fmt: skip


def hits(line: str, patterns: tuple[Pattern, ...], go_on: Callable[[], bool]) -> Iterator[Hit]:
    """What is on a line; where two patterns see the same, the first in the list counts. Stops when told to."""
    taken: list[tuple[int, int]] = []
    for start in range(0, max(len(line), 1), LONGEST_LINE - OVERLAP):
        if not go_on():
            return
        piece = line[start : start + LONGEST_LINE]
        for pattern in patterns:
            for found in pattern.regex.finditer(piece):
                group = 1 if pattern.regex.groups else 0
                a, b = start + found.start(group), start + found.end(group)
                if any(a < end and begin < b for begin, end in taken) or not pattern.holds(found[group]):
                    continue
                taken.append((a, b))
                yield Hit(a, b, pattern.kind, pattern.sure, pattern.mask(found[group]))
