"""Whether a text is a password, a key or a token: of a known form, or one word as if made by chance."""

from __future__ import annotations

import re

from servers.detection.credentials import by_chance, to_hide
from servers.detection.hits import hits

_ODD, _BETWEEN_SIGNS = re.compile(r"[!#$%^&*+=?{}|<>;\"'`\\]"), re.compile(r"[^A-Za-z0-9]+")


def secret(text: str) -> bool:
    """Whether a text looks like a password, a key or a token: a known form, or one word as if made by chance."""
    alone = text.strip()
    random = 12 <= len(alone) <= 200 and not any(map(str.isspace, alone)) and by_chance(alone)
    return (random and not _is_a_path(alone)) or any(True for _ in hits(text, to_hide))


def _is_a_path(word: str) -> bool:
    """Whether a word with a slash is an address or a path: keys in base64, and passwords, have slashes as well, but no
    name that people give has such signs, or eight letters and digits in all of their kinds."""
    if "/" not in word or "://" in word:
        return "/" in word
    parts = _BETWEEN_SIGNS.split(word)
    return not _ODD.search(word) and not any(len(part) >= 8 and _is_mixed(part) for part in parts)


def _is_mixed(part: str) -> bool:
    return all(any(map(of, part)) for of in (str.islower, str.isupper, str.isdigit))
