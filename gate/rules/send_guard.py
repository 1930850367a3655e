"""Whether a change may be sent still: what the sender of a call asks just before its bytes leave."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class SendGuard(Protocol):
    """The right to send one call. Both raise ServerUnavailable where it is lost; it does not come back."""

    async def confirm(self) -> None:
        """Ask the record. Called when all is ready to be sent."""

    def check(self) -> None:
        """Ask the clocks of this process, and wait for nothing. Called just before the first bytes are sent."""


# Of the call that is made now; None: it needs no right, as a read.
SEND_GUARD: ContextVar[SendGuard | None] = ContextVar("send guard", default=None)


@contextmanager
def guarded_by(guard: SendGuard) -> Iterator[None]:
    """Within it, calls are sent only while this guard allows it."""
    token = SEND_GUARD.set(guard)
    try:
        yield
    finally:
        SEND_GUARD.reset(token)
