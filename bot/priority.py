"""The CPU priority of this process: a worker steps behind whoever answers people."""

from __future__ import annotations

import logging
import os

log = logging.getLogger(__name__)


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
