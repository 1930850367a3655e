"""The CPU priority of this process: a worker steps behind whoever answers people."""

from __future__ import annotations

import logging
import os
import sys

log = logging.getLogger(__name__)


TURN = 0.0005  # seconds


def take_turns() -> None:
    """Let the thread that answers people wait no longer for one that computes: a tool of a bundled server runs in a
    thread of the bot, and Python lets it go on for 5 ms each time that the other one wants to."""
    sys.setswitchinterval(TURN)


def step_back(by: int) -> None:
    """Lower the priority by so many steps of nice (0: not at all). Where that is refused, a log says so and
    nothing changes. To be called before other threads are started: Linux lowers the calling thread, and what it
    starts from then on, servers included."""
    if by == 0:
        return
    try:
        os.nice(by)
    except OSError as error:
        log.warning("The priority of this worker stays as it is: %s.", error.strerror)
