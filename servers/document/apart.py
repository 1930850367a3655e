"""Files that others made are opened apart: in a process of its own, with limits on memory and time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.paper.worker import packed, unpacked


@dataclass(frozen=True)
class Limits:
    """What the process may use: seconds, on the wall and of each processor, and bytes of address space."""

    seconds: int = 30
    memory: int = 1 << 30


LIMITS = Limits()
ONE_THREAD = {"OMP_THREAD_LIMIT": "1"}  # and nothing else of the environment
_HOME = Path(__file__).parents[2]
_TOO_MUCH = "{what} is broken, or too much to open: it was stopped. Take a part of it, or another file."


def run(
    task: str, what: str, blobs: Sequence[bytes] = (), within: Limits | None = None, **args: Any
) -> tuple[dict[str, Any], bytes]:
    """What the task of the worker gives: facts and, for tasks that make a file, its bytes.

    `what` names the file in sentences. Raises ToolError when the task refuses the file or is stopped.
    """
    within = within or LIMITS
    head = {"task": task, "args": args, "sizes": [len(blob) for blob in blobs], "limits": asdict(within)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "servers.paper.worker"],
            input=packed(head, *blobs),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=_HOME,
            env=ONE_THREAD,
            timeout=within.seconds + 5,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(_TOO_MUCH.format(what=what)) from None
    if done.returncode != 0:
        raise ToolError(_TOO_MUCH.format(what=what))
    told, data = unpacked(done.stdout)
    if "refused" in told:
        raise ToolError(f"{what} {told['refused']}")
    return told, data
