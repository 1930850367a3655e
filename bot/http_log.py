"""What other sides did wrong over HTTP is counted, and logged without a traceback each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aiohttp.http import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

http_log = logging.getLogger("countersign.http")
asyncio_log = logging.getLogger("asyncio")  # where a task of aiohttp ends with what nobody awaits

MALFORMED = "asked for no path, or sent something that is not HTTP"
LEFT = "went away before they were answered"
REFUSED = "Cannot call write() after write_eof()"  # asyncio, of an answer of aiohttp behind one of ours
NO_FACTORY = "'NoneType' object is not callable"  # aiohttp's error for a request whose connection is lost


@contextmanager
def counted(count: Callable[[str], None]) -> Iterator[None]:
    """Within it, `count` is told of what the other side did wrong; every other error is logged."""

    def answered(record: logging.LogRecord) -> bool:
        """For the log of the HTTP server."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            count(MALFORMED)
        elif isinstance(error, ConnectionResetError | BrokenPipeError) or _is_gone(error):
            count(LEFT)
        else:
            return not _is_refused(error)  # what it was refused for has been counted
        return False

    def ended(record: logging.LogRecord) -> bool:
        """For the log of asyncio: a task of aiohttp fails when its connection is lost after a request has arrived and
        before the task goes on with it."""
        error, trace = record.exc_info[1:] if record.exc_info else (None, None)
        while trace and trace.tb_next:
            trace = trace.tb_next
        where = trace.tb_frame.f_code if trace else None
        if type(error) is TypeError and str(error) == NO_FACTORY and where is RequestHandler.start.__code__:
            count(LEFT)
            return False
        return True

    http_log.addFilter(answered)
    asyncio_log.addFilter(ended)
    try:
        yield
    finally:
        http_log.removeFilter(answered)
        asyncio_log.removeFilter(ended)


def _is_gone(error: BaseException | None) -> bool:
    """Whether a handler of aiohttp waited for a body on a connection that was ended."""
    return type(error) is RuntimeError and str(error) == "Connection closed."


def _is_refused(error: BaseException | None) -> bool:
    """Whether aiohttp wrote to a connection that was refused: it found something wrong with the same headers."""
    return type(error) is RuntimeError and str(error) == REFUSED
