"""Where a webhook may go: addresses of the open internet, and what the operator names. Nothing else is reached."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network
# An IPv4 address inside an IPv6 one is judged as what it is.
NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))
# What Python 3.11 takes for the open internet and is not: protocol assignments, 6to4 relays, NAT64 of a site's own,
# documentation (https://www.iana.org/assignments/iana-ipv6-special-registry).
NOT_OPEN = tuple(map(ip_network, ("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "3fff::/20")))
ISATAP = 0x5EFE  # the second last word of an address that stands for an IPv4 one (RFC 5214)
MOST = 2000  # characters of a URL
HTTPS_PORT = 443
NUMBER = re.compile(r"[0-9]+|0[xX][0-9a-fA-F]*")  # a host that ends so is an address, in some spelling


@dataclass(frozen=True, slots=True)
class Target:
    """A URL that may be tried; its address is judged once it is known."""

    host: str
    port: int
    secure: bool


def embedded_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that an IPv6 one stands for, where it does; else the same."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if any(address in network for network in NAT64) or int(address) >> 32 == 0:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def address_refusal(text: str, allowed: Sequence[Network] = ()) -> str:
    """Why nothing may be sent to this address, as a sentence; "" when it may."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return f"{text[:60]} is no address."
    meant = embedded_ipv4(address)
    if any(one in network for one in (address, meant) for network in allowed):
        return ""
    local = meant.is_multicast or meant.is_reserved or meant.is_unspecified or not meant.is_global
    local = local or (
        isinstance(meant, IPv6Address) and (meant.is_site_local or int(meant) >> 32 & 0xFFFF == ISATAP)
    )
    local = local or any(one in network for one in (address, meant) for network in NOT_OPEN)
    if local or "%" in text:
        return f"{text[:60]} is not an address of the open internet, and the operator does not allow it."
    return ""


def parse_target(url: str, allowed: Sequence[Network] = ()) -> Target | str:
    """The parts of a webhook's URL, or why it cannot be one, as a sentence.

    Other ports and plain http only where the operator allows networks: there, the address decides.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "This is not a URL."
    if len(url) > MOST or not url.isascii() or not url.isprintable() or any(c in url for c in " \\"):
        return "A URL of a webhook has visible ASCII characters only, 2,000 at most."
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host:
        return "A webhook needs a URL that begins with https:// and names a host."
    if NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) and not _plain(host):
        return "An address in a URL is written plainly, such as 203.0.113.7."
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        return "A URL of a webhook carries no user and no password."
    if parts.fragment:
        return "A URL of a webhook has no #fragment."
    secure = parts.scheme == "https"
    wanted = port if port is not None else HTTPS_PORT if secure else 80
    if not allowed and (not secure or wanted != HTTPS_PORT):
        return "A webhook goes by https to port 443. The operator may allow networks of their own (webhooks: allow)."
    return Target(host, wanted, secure)


def url_problem(url: str) -> str:
    """Why this URL cannot be told over the open internet, as a sentence; "" when it can be tried. A host that is a
    name is judged each time it is looked up: a look-up now would tell whoever asks what names there are inside."""
    found = parse_target(url)
    if isinstance(found, str):
        return found
    return address_refusal(found.host) if _plain(found.host) else ""


def _plain(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def needs_allow_list(found: Target) -> bool:
    """Whether this target is reached only at addresses that the operator allows."""
    return not found.secure or found.port != HTTPS_PORT


def is_allowed(text: str, allowed: Sequence[Network]) -> bool:
    """Whether the operator allows exactly this address."""
    return bool(allowed) and any(embedded_ipv4(ip_address(text)) in network for network in allowed)
