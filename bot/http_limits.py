"""What the listening socket bears, and what counts as one address."""

from __future__ import annotations

import ipaddress
import logging
import resource
from dataclasses import dataclass, replace

log = logging.getLogger(__name__)

# Descriptors for everything else: databases, child processes, and one burst of accepted sockets
RESERVED = 256
# Of a body that no handler reads aiohttp takes twice as many; by itself 512 KiB
UNREAD_BYTES = 32 * 1024
FEWEST = 16  # connections below which serving makes no sense


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What the HTTP port bears. Times in seconds."""

    connections: int = 1000  # open at once, in one process
    per_address: int = 100  # of them from one address, before anything is authenticated
    per_token: int = 64  # of them with one token of the API: more than it may have requests under way
    headers: float = 10.0  # from the first byte, or from the connection, to the end of a request's headers
    slow: float = 30.0  # in which a reader must take enough of an answer that more of it can be sent


def network_of(address: str) -> str:
    """What counts as one address: of IPv6 the first 64 bits, as one machine has all of a network."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(found) >> 64 << 64))


def fitted(limits: HttpLimits) -> HttpLimits:
    """The limits, with no more connections than this process can have descriptors for.

    Raises the soft limit of descriptors as far as needed and allowed; where that is not enough, a log says so.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.connections + RESERVED
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    possible = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))
    except (ValueError, OSError):
        possible = soft
    if possible >= needed:
        return limits
    most = max(FEWEST, possible - RESERVED)
    log.warning(
        "This process may open %s files, so it serves %s connections at once instead of %s: raise the limit "
        "(`ulimit -n`, or LimitNOFILE of systemd) to %s.",
        possible,
        most,
        limits.connections,
        needed,
    )
    return replace(limits, connections=most)
