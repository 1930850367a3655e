"""Hosts in the form that programs look them up by, and in their own letters."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from gate.rules.url_guard import NUMBER, embedded_ipv4

LONGEST_HOST, LONGEST_LABEL = 253, 63  # characters of a name and of its parts (RFC 1035)
DOTS = re.compile("[\u3002\uff0e\uff61]")  # of other scripts, which stand for one (RFC 3490)
DEVIATING = re.compile("[\u00df\u03c2\u200c\u200d]")
IN_ASCII = re.compile(r"\bxn--([a-z0-9-]{1,59}+)(?![a-z0-9-])", re.IGNORECASE)


def in_ascii(host: str) -> str:
    """The host in lower case, without a dot at its end, and in ASCII."""
    host = DOTS.sub(".", host).rstrip(".").lower()
    if len(host) > LONGEST_HOST or host.isascii():
        return host
    return _ascii_host(host)


@lru_cache(maxsize=4_096)
def _ascii_host(host: str) -> str:
    if any(len(label) > LONGEST_LABEL for label in host.split(".")):  # no name at all, and long work for IDNA
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def as_of_2008(host: str) -> str:
    """A host with ß, ς or a joiner in ASCII as browsers take it (IDNA 2008), where the form above has ss, σ or nothing;
    "" for any other."""
    host = DOTS.sub(".", host).rstrip(".").lower()
    if len(host) > LONGEST_HOST or not DEVIATING.search(host):
        return ""
    labels = host.split(".")
    if any(len(label) > LONGEST_LABEL for label in labels):
        return ""
    return ".".join(one if one.isascii() else f"xn--{one.encode('punycode').decode()}" for one in labels)


def with_own_letters(text: str) -> str:
    """The text with the parts of hosts that are written in ASCII for other letters in these (RFC 3492)."""
    if "--" not in text or "xn--" not in text.lower():
        return text
    return IN_ASCII.sub(lambda found: _own_letters(found[1]) or found[0], text)


@lru_cache(maxsize=4_096)
def _own_letters(label: str) -> str:
    """The letters that a part of a host stands for; "" where it stands for none."""
    try:
        return label.encode("ascii").decode("punycode").lower()
    except UnicodeError:
        return ""


def host_on_the_web(written: str) -> str:
    """The host as browsers read it (https://url.spec.whatwg.org/#host-parsing): an IPv4 address in four numbers."""
    host = in_ascii(written)
    try:
        if host.startswith("["):
            meant = embedded_ipv4(IPv6Address(host.strip("[]").partition("%")[0]))
            return str(meant) if isinstance(meant, IPv4Address) else f"[{meant}]"
        return str(_ipv4(host)) if NUMBER.fullmatch(host.rpartition(".")[2]) else host
    except (AddressValueError, ValueError):
        return host


def _ipv4(host: str) -> IPv4Address:
    """An IPv4 address of one to four numbers, each decimal, octal or hexadecimal. Raises ValueError."""
    *first, last = [_number(part) for part in host.split(".")]
    if len(first) > 3 or any(one > 255 for one in first) or last >= 256 ** (4 - len(first)):
        raise ValueError(host)
    return IPv4Address(sum(one << 8 * (3 - at) for at, one in enumerate(first)) + last)


def _number(part: str) -> int:
    if part.lower().startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if part.startswith("0") and part != "0" else 10)
