"""What the sandbox does with encrypted files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyrage

from servers.sandbox.protocol import Refused


def decrypt(data: bytes, keys: Sequence[str]) -> tuple[dict[str, Any], bytes]:
    """What is in a file of age that one of these secret keys opens."""
    try:
        return {}, bytes(pyrage.decrypt(data, [pyrage.x25519.Identity.from_str(key) for key in keys]))
    except pyrage.DecryptError as error:
        if "matching keys" in str(error):
            raise Refused("was not encrypted for this server. Ask who has the key.") from None
        raise Refused("is not a whole file of age. Fetch it anew.") from None


TASKS = {"decrypt": decrypt}
