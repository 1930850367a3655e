"""What the sandbox does with encrypted files, and with those that are looked through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyrage

from servers.detection.credentials import credentials
from servers.detection.hits import Finder, hits
from servers.detection.personal import personal
from servers.email.complete_text import complete_text
from servers.sandbox.protocol import Refused, in_turn
from servers.text_encoding import HEAD, detect


def decrypt(data: bytes, keys: Sequence[str], shown: bool = True) -> tuple[dict[str, Any], bytes]:
    """What is in a file of age that one of these secret keys opens, or its size alone."""
    try:
        plain = bytes(pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(key) for key in keys]))
        return {"size": len(plain)}, plain if shown else b""
    except pyrage.DecryptError as error:
        if "matching keys" in str(error):
            raise Refused("was not encrypted for this server. Ask who has the key.") from None
        raise Refused("is not a whole file of age. Fetch it anew.") from None


def encrypt(data: bytes, recipients: Sequence[str]) -> tuple[dict[str, Any], bytes]:
    """A file of age that the secret keys of these public ones open."""
    keys = [pyrage.x25519.Recipient.from_str(key) for key in recipients]
    return {}, bytes(pyrage.encrypt(data, keys))


FINDERS: dict[str, Finder] = {"credentials": credentials, "personal": personal}


Told = tuple[int, str, str, str]  # line, kind, how sure, and what is shown
ALONE, BESIDE = 25.0, 5.0  # seconds of processor time for a file alone, and for one of several
TOGETHER = 3.0  # seconds on the clock after which no other one of several is begun
SLOW = "takes too long, so not all of it was looked through. Name it alone, or a part of it."


def find(*files: bytes, finder: str, most: int, mails: Sequence[int] = ()) -> tuple[dict[str, Any], bytes]:
    """Of each file the first findings, None for one that is no text. `through`: how many files, the first of them.

    `mails`: the numbers of those that are mails, of which the text is looked through. `partly` has what is to be said
    of each file, as the end of a sentence. Of one that takes too long, what was found by then is told.
    """
    found = [list[Told]() for _ in files]

    def look(number: int, data: bytes) -> tuple[bool, str]:
        text, why = _mail(data) if number in mails else (_text(data), "")
        for one in _found(text or "", FINDERS[finder], most):
            found[number].append(one)
        return text is not None, why

    each = in_turn(files, look, BESIDE if files[1:] else ALONE, TOGETHER)
    told = [some if one is None or one[0] else None for some, one in zip(found, each, strict=False)]
    partly = [SLOW if one is None else one[1] for one in each]
    return {"found": told, "partly": partly, "through": len(each)}, b""


def _text(data: bytes) -> str | None:
    encoding = detect(data[:HEAD], whole=len(data) < HEAD)
    return encoding.decoded(data) if encoding else None


def _mail(data: bytes) -> tuple[str | None, str]:
    """The text of a mail; of a file that only is called one, what stands in it."""
    try:
        return complete_text(data, every=True)
    except Refused as refused:
        return _text(data), f"{refused} What is encoded in it was not looked into."


def _found(content: str, finder: Finder, most: int) -> Iterator[Told]:
    line, at = 1, 0
    for hit in islice(hits(content, finder), most):
        line, at = line + content.count("\n", at, hit.start), hit.start
        yield line, hit.kind, hit.sure, hit.shown


TASKS = {"decrypt": decrypt, "encrypt": encrypt, "find": find}
