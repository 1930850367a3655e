"""Programs that run beside us: they end when we end, kill -9 included, and leave no directory behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

STOP_SECONDS = 10.0

# When our end of the pipe on its stdin closes, whatever the reason, the program gets the signal; when the
# program ends, the directory is removed. The watcher reads fd 3: a background job of sh has no stdin.
GUARD = """
s=$1 d=$2; shift 2; exec 3<&0
"$@" </dev/null 3<&- & p=$!
(read _ <&3; kill -s "$s" "$p") & w=$!
wait "$p"; r=$?; kill "$w" 2>/dev/null; rm -rf "$d"; exit "$r"
"""

Child = subprocess.Popen[bytes]


def start_child(
    command: Sequence[str], run_dir: Path, log: IO[bytes], end: str = "TERM", **popen: Any
) -> Child:
    """Start `command` under a guard that ends it with the signal `end` and removes `run_dir` after it.

    What it says goes to `log`; `popen` is passed on to subprocess.Popen. The process returned is the guard,
    which ends with the status of the command. It has a session of its own, so that Ctrl-C reaches us alone
    and the child outlives our shutdown.
    """
    guard = ["/bin/sh", "-c", GUARD, "sh", end, str(run_dir), *command]
    return subprocess.Popen(
        guard, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, **popen
    )


def stop_child(child: Child) -> None:
    """End the child in its own clean way, by force after 10 s; a second call does nothing."""
    if child.stdin:
        child.stdin.close()
    try:
        child.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
