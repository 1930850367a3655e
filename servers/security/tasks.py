"""What the sandbox does with encrypted files, and with those that are looked through."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyrage

from servers.detection.credentials import credentials
from servers.detection.hits import Finder, hits
from servers.detection.personal import personal
from servers.sandbox.protocol import Refused
from servers.text_encoding import HEAD, detect


def decrypt(data: bytes, keys: Sequence[str]) -> tuple[dict[str, Any], bytes]:
    """What is in a file of age that one of these secret keys opens."""
    try:
        return {}, bytes(pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(key) for key in keys]))
    except pyrage.DecryptError as error:
        if "matching keys" in str(error):
            raise Refused("was not encrypted for this server. Ask who has the key.") from None
        raise Refused("is not a whole file of age. Fetch it anew.") from None


FINDERS: dict[str, Finder] = {"credentials": credentials, "personal": personal}


def find(*files: bytes, finder: str, most: int) -> tuple[dict[str, Any], bytes]:
    """Of each file the first findings, as line, kind, how sure, and what is shown; None for one that is no text."""
    return {"found": [_found(data, FINDERS[finder], most) for data in files]}, b""


def _found(data: bytes, finder: Finder, most: int) -> list[tuple[int, str, str, str]] | None:
    encoding = detect(data[:HEAD], whole=len(data) < HEAD)
    if encoding is None:
        return None
    content, found = encoding.decoded(data), list[tuple[int, str, str, str]]()
    line, at = 1, 0
    for hit in islice(hits(content, finder), most):
        line, at = line + content.count("\n", at, hit.start), hit.start
        found.append((line, hit.kind, hit.sure, hit.shown))
    return found


TASKS = {"decrypt": decrypt, "find": find}
