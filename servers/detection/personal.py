"""Personal data: numbers whose check digits and ranges are right, and what stands behind a word that names it."""

# ruff: noqa: E501 - a form reads best on one line
from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache, lru_cache
from importlib import import_module
from typing import NamedTuple

import phonenumbers
import re2
from stdnum import iban, luhn, numdb

from servers.detection.columns import Tables
from servers.detection.hits import Hit, Sure, nothing, tail

AROUND = 60  # bytes before a number in which a word may say what it is
Check = Callable[[str, str], int]  # the text and what stands before it: how many characters of it are one


class Kind(NamedTuple):
    """`near`: words of which one must stand before, on the line or at the head of the column; "" for none."""

    name: str
    sure: Sure
    form: str
    check: Check
    mask: Callable[[str], str] = tail
    near: str = ""


def _whole(text: str, before: str) -> int:
    return len(text)


def _mail(text: str, before: str) -> int:
    name, _, host = text.partition("@")
    ours = name.lower() in ("git", "hg", "svn") or _IN_ADDRESS.search(before) or ".." in text
    file = host.rpartition(".")[2].lower() in ("png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css", "md")
    return 0 if ours or file else len(text.rstrip("."))


_IN_ADDRESS = re2.compile(r"://[^\s/]*$")


def _masked_mail(text: str) -> str:
    name, _, host = text.partition("@")
    return f"{name[0]}•••@{host}"


def _iban(text: str, before: str) -> int:
    """As many characters as an account has in that country: what follows in capitals is no part of it."""
    left = _length(text[:2])
    end = next((n for n, c in enumerate(text, 1) if (left := left - (c != " ")) == 0), 0)
    return end if end and iban.is_valid(text[:end], check_country=False) else 0


@cache
def _length(country: str) -> int:
    known = numdb.get("iban").info(country)[0][1]
    return 4 + sum(map(int, re2.findall(r"\d+", known.get("bban", "")))) if known else 0


_NO_CARD = re2.compile(
    r"(?i)\b(?:ids?|order|ref\w*|track\w*|serial|sku|isbn|e[ai]n|gtin|upc|timestamp|imei|commit)\W{0,4}$"
)


def _card(text: str, before: str) -> int:
    digits = text.replace(" ", "").replace("-", "")
    n = len(digits)
    head = int(digits[:4] or 0)
    known = (
        (head // 1000 == 4 and n in (16, 19))
        or (51 <= head // 100 <= 55 and n == 16)
        or (2221 <= head <= 2720 and n == 16)
        or (head // 100 in (34, 37) and n == 15)
        or ((head == 6011 or head // 100 == 65 or 644 <= head // 10 <= 649) and 16 <= n <= 19)
        or ((300 <= head // 10 <= 305 or head // 100 in (36, 38, 39)) and n == 14)
        or (3528 <= head <= 3589 and n == 16)
        or (head // 100 == 62 and 16 <= n <= 19)
    )
    plain = text == digits and _NO_CARD.search(before)
    return len(text) if known and not plain and len(set(digits)) > 1 and luhn.is_valid(digits) else 0


def _by(module: str) -> Check:
    """Valid for a module of python-stdnum."""

    def check(text: str, before: str) -> int:
        return (
            len(text)
            if import_module(f"stdnum.{module}").is_valid(text.replace(" ", "")) and len(set(text)) > 3
            else 0
        )

    return check


def _public(text: str, before: str) -> int:
    """An address that others can reach, and no number of a version."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return 0
    own = found.is_loopback or found.is_link_local or found.is_unspecified or found.is_multicast
    if found.version == 4:
        own = own or text.startswith(("10.", "192.168.", "0.", "255.")) or found in _INSIDE
    return 0 if own or _VERSION.search(before) else len(text)


_INSIDE = ipaddress.ip_network("172.16.0.0/12")
_VERSION = re2.compile(r"(?i)(?:\bv|version|release|build|==|>=|~=)\W{0,3}$")


def _passport(text: str, before: str) -> int:
    return len(text) if sum(c.isdigit() for c in text) > 3 else 0


def _day(text: str, before: str) -> int:
    numbers = [int(part) for part in re2.findall(r"\d+", text)]
    year = max(numbers)
    rest = sorted(n for n in numbers if n != year)
    return len(text) if 1900 <= year <= date.max.year and rest and rest[0] <= 12 and rest[-1] <= 31 else 0


_CALL = r"(?i)\b(?:tele(?:ph|f)on\w*|tel|phone\w*|fon|fono|mobile?\w*|handy\w*|cell\w*|fax\w*|call\w*|ring|rufnummer|durchwahl|whatsapp|sms|t[eé]l[eé]phone|m[oó]vil|cellulare|contact\w*)\b"  # fmt: skip
_NAMED = re2.compile(_CALL)
_NATIONAL = re2.compile(
    r"\(0?\d{1,5}\) ?\d{3,}[\d \-/]*|\(\d{3}\) ?\d{3}[-. ]\d{4}|\d{3}[-. ]\d{3}[-. ]\d{4}|0\d{1,5}(?: ?[/-] ?| )\d{3,}[\d \-]*|0\d(?:[ .]\d{2}){4}"
)
_GOES_ON = re2.compile(r"\d[ ./-]$")
_DATED = re2.compile(r"^\D?(?:\d{4}[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./]\d{2,4})(?:\D|$)")
REGIONS = ("DE", "US", "GB", "FR", "AT", "CH", "IT", "ES", "NL", "PL")


def _phone(text: str, before: str) -> int:
    """With the code of a country; or as people write it in one of these, or behind a word like Tel."""
    if text.startswith(("+", "00")):
        return len(text) if _dialled("+" + text.lstrip("+0(").strip(), "ZZ") else 0
    if _DATED.search(text) or _GOES_ON.search(before):
        return 0
    if not (_NATIONAL.fullmatch(text) or _NAMED.search(before)):
        return 0
    return len(text) if any(_dialled(text, region) for region in REGIONS) else 0


@lru_cache(4096)
def _dialled(text: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(text, region))
    except phonenumbers.NumberParseException:
        return False


_TAX = r"(?i)\b(?:steuer\w*|tax\w*|tin|idnr|identifikationsnummer|itin)\b"
KINDS = (
    Kind("email", "certain", r"[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}", _mail, _masked_mail),
    Kind("bank account (IBAN)", "certain", r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", _iban),
    Kind("payment card", "certain", r"\d{4}(?:[ -]?\d{4}){2}[ -]?\d{2,7}|\d{4}[ -]?\d{6}[ -]?\d{4,5}", _card),
    Kind("social security number (US)", "likely", r"\d{3}-\d{2}-\d{4}", _by("us.ssn")),
    Kind("social security number (US)", "likely", r"\d{3} ?\d{2} ?\d{4}", _by("us.ssn"), near=r"(?i)\b(?:ssn|social security\w*)\b"),
    Kind("social security number (CH)", "certain", r"756\.?\d{4}\.?\d{4}\.?\d{2}", _by("ch.ssn")),
    Kind("social security number (FR)", "likely", r"[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?\d{2}", _by("fr.nir")),
    Kind("social security number (GB)", "likely", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]", _whole),
    Kind("social security number (DE)", "likely", r"\d{2} ?\d{6} ?[A-Z] ?\d{3}", _whole, near=r"(?i)\b(?:sozialvers\w*|rentenvers\w*|rvnr|svnr|sv-nummer)"),
    Kind("national id (IT)", "certain", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", _by("it.codicefiscale")),
    Kind("national id (ES)", "likely", r"\d{8}-?[A-HJ-NP-TV-Z]", _by("es.dni")),
    Kind("national id (ES)", "likely", r"[XYZ]-?\d{7}-?[A-Z]", _by("es.nie")),
    Kind("national id (FI)", "likely", r"\d{6}[-+A]\d{3}[0-9A-Y]", _by("fi.hetu")),
    Kind("national id (PL)", "likely", r"\d{11}", _by("pl.pesel"), near=r"(?i)\bpesel\b"),
    Kind("national id (NL)", "likely", r"\d{9}", _by("nl.bsn"), near=r"(?i)\b(?:bsn|burgerservice\w*|sofi\w*)\b"),
    Kind("health number (GB)", "likely", r"\d{3} ?\d{3} ?\d{4}", _by("gb.nhs"), near=r"(?i)\bnhs\b"),
    Kind("tax id (DE)", "likely", r"\d{2} ?\d{3} ?\d{3} ?\d{3}", _by("de.idnr"), near=_TAX),
    Kind("tax id (US)", "likely", r"9\d{2}-?\d{2}-?\d{4}", _by("us.itin"), near=_TAX),
    Kind("passport", "likely", r"P[A-Z<][A-Z]{3}[A-Z<]{39}", _whole, nothing),
    Kind("passport", "likely", r"[A-Z0-9]{6,10}", _passport, near=r"(?i)\b(?:passport\w*|passeport|reisepass\w*|personalausweis\w*|ausweisnummer|pasaporte|passaporto|pass-?nr)\b"),
    Kind("date of birth", "likely", r"\d{4}-\d{2}-\d{2}|\d{1,2}[./-]\d{1,2}[./-]\d{4}", _day, nothing, near=r"(?i)(?:\bborn\b|birth\s?(?:day|date)?|\bdob\b|geboren|geburts\w*|\bgeb\.|\bn[eé]e? le\b|naissance|nacimiento|nascita)"),
    Kind("phone number", "likely", r"(?:\+|00)\(?\d(?:[ .()/-]{0,3}\d){6,16}|\(?\d(?:[ .()/-]{0,3}\d){5,16}", _phone),
    Kind("network address", "perhaps", r"\d{1,3}(?:\.\d{1,3}){3}", _public, lambda text: text.rpartition(".")[0] + ".•••"),
    Kind("network address", "perhaps", r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{1,4}", _public),
)  # fmt: skip


@cache
def _compiled() -> list[tuple[Kind, re2._Regexp, re2._Regexp | None]]:
    return [
        (kind, re2.compile(kind.form.encode()), re2.compile(kind.near) if kind.near else None)
        for kind in KINDS
    ]


def personal(data: bytes) -> Iterator[Hit]:
    """The personal data in a piece of text, by bytes."""
    tables = Tables(data)
    for kind, form, near in _compiled():
        at = 0
        while found := form.search(data, at):
            start, end = found.span()
            at = _next_group(data, start, end)
            if _joined(data, start, end, kind.name):
                continue
            before = _before(data, start, tables)
            text = data[start:end].decode("utf-8", "replace")
            if (near is None or near.search(before)) and (length := kind.check(text, before)):
                text = text[:length]
                at = end = start + len(text.encode())
                yield Hit(start, end, kind.name, kind.sure, kind.mask(text))


def _next_group(data: bytes, start: int, end: int) -> int:
    """Where to go on after what was none: behind its first run of letters or digits."""
    at = start + 1
    while at < end and data[at : at + 1].isalnum():
        at += 1
    return at


def _joined(data: bytes, start: int, end: int, name: str) -> bool:
    """Whether it is a part of something longer."""
    before, after = data[start - 1 : start] if start else b"", data[end : end + 2]
    if (
        before.isalnum()
        or before == b"_"
        or before >= b"\x80"
        or (after[:1].isalnum() and name != "bank account (IBAN)")
    ):
        return True
    number = name not in ("email", "date of birth")
    return (
        (number and (before in (b".", b"-", b":") and data[start - 2 : start - 1].isdigit()))
        or after[:1] == b"_"
        or (name == "payment card" and after[:1] == b"-" and after[1:].isalnum())
    )


def _before(data: bytes, start: int, tables: Tables) -> str:
    """What stands before it on its line, and over its column where it is in a table."""
    line = data.rfind(b"\n", 0, start) + 1
    said = data[max(line, start - AROUND) : start].decode("utf-8", "replace")
    table = tables.at(start)
    head = table.head(data, start) if table else ""
    return f"{head}: {said}" if head else said
