"""What the sandbox does with encrypted files, and with those that are looked through."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pyrage

from servers.detection.credentials import credentials
from servers.detection.hits import Finder, hits
from servers.detection.personal import personal
from servers.email.complete_text import complete_text
from servers.sandbox.protocol import Refused
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


def find(*files: bytes, finder: str, most: int, mails: Sequence[int] = ()) -> tuple[dict[str, Any], bytes]:
    """Of each file the first findings, as line, kind, how sure, and what is shown; None for one that is no text.

    `mails`: the numbers of those that are mails, of which the text is looked through. `partly` has what is to be said
    of each file, as the end of a sentence.
    """
    texts = [_mail(data) if n in mails else (_text(data), "") for n, data in enumerate(files)]
    found = [None if text is None else _found(text, FINDERS[finder], most) for text, _ in texts]
    return {"found": found, "partly": [why for _, why in texts]}, b""


def _text(data: bytes) -> str | None:
    encoding = detect(data[:HEAD], whole=len(data) < HEAD)
    return encoding.decoded(data) if encoding else None


def _mail(data: bytes) -> tuple[str | None, str]:
    """The text of a mail; of a file that only is called one, what stands in it."""
    try:
        return complete_text(data, every=True)
    except Refused as refused:
        return _text(data), f"{refused} What is encoded in it was not looked into."


def _found(content: str, finder: Finder, most: int) -> list[tuple[int, str, str, str]]:
    found = list[tuple[int, str, str, str]]()
    line, at = 1, 0
    for hit in islice(hits(content, finder), most):
        line, at = line + content.count("\n", at, hit.start), hit.start
        found.append((line, hit.kind, hit.sure, hit.shown))
    return found


TASKS = {"decrypt": decrypt, "encrypt": encrypt, "find": find}
