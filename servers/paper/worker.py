"""The process apart: takes one task from standard input, within limits, and answers on standard output."""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from servers.paper.blocks import Refused

LARGEST_FILE = 128 << 20  # bytes: what a library may put aside while it writes


def packed(head: dict[str, Any], *blobs: bytes) -> bytes:
    """A head and what follows it, as both sides write it: eight bytes of length, JSON, the rest."""
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "big"), text, *blobs])


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The head, and all that follows it."""
    size = int.from_bytes(data[:8], "big")
    head: dict[str, Any] = json.loads(data[8 : 8 + size])
    return head, data[8 + size :]


def limited(seconds: int, memory: int) -> None:
    """No more time, memory or files than this, for all that follows; less where less was given already."""
    wanted = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: LARGEST_FILE,
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform != "darwin":  # macOS has this limit and refuses to set it
        wanted[resource.RLIMIT_AS] = memory
    for kind, most in wanted.items():
        given = resource.getrlimit(kind)[1]
        most = most if given == resource.RLIM_INFINITY else min(most, given)
        resource.setrlimit(kind, (most, most))


def carried_out(task: str, args: dict[str, Any], blobs: list[bytes]) -> tuple[dict[str, Any], bytes]:
    """What the task gives; a refusal is an answer too."""
    from servers.paper.tasks import TASKS  # after the limits: what it loads counts as well

    try:
        return TASKS[task](*blobs, **args)
    except Refused as refused:
        return {"refused": str(refused)}, b""


def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    head, rest = unpacked(sys.stdin.buffer.read())
    limited(**head["limits"])
    blobs, at = [], 0
    for size in head["sizes"]:
        blobs.append(rest[at : at + size])
        at += size
    told, data = carried_out(head["task"], head["args"], blobs)
    with os.fdopen(out, "wb") as answer:
        answer.write(packed(told, data))


if __name__ == "__main__":
    main()
