"""The end of what a thread does for a call that was given up."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar
from threading import get_ident

from anyio import NoEventLoopError, from_thread

_CHANGING = ContextVar("the thread of a call that has begun to change something", default=0)


def unless_given_up() -> None:
    """Raise what ends this thread when the call that it works for was given up, as nothing else ends it. Not once the
    call has begun to change something: that comes to its end."""
    if _CHANGING.get() != get_ident():
        with suppress(NoEventLoopError):  # no thread of a call
            from_thread.check_cancelled()


def begin_change() -> None:
    """From now on this call is not given up any more. Raises what says so when it was before."""
    unless_given_up()
    _CHANGING.set(get_ident())
