"""Runs that many messages ask for at once: written together, behind the acknowledgements of these messages."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import Context

from gate.rules.jobs import Run, owned
from gate.rules.ports import Unavailable
from storage.transaction import SqlTx

AGAIN = 1.0  # seconds until they are tried again where the database does not answer

log = logging.getLogger(__name__)


class DeferredRuns:
    """Writes runs in transactions of their own, which `begin` opens: in each of them all that have come meanwhile.

    A run that is not written when the process dies is lost, so only those come here that the sweep asks for again
    (`Run.found_again`).
    """

    def __init__(self, begin: Callable[[], AbstractAsyncContextManager[SqlTx]]) -> None:
        self._begin = begin
        self._runs: list[Run] = []
        self._writing: asyncio.Task[None] | None = None

    def add(self, runs: Sequence[Run]) -> None:
        """Have them written soon."""
        self._runs += map(owned, runs)  # they are written as nobody's work
        if self._runs and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write(), context=Context())

    async def finish(self, seconds: float) -> None:
        """Wait until all are written, for so long at most; what is left then is found by the sweep."""
        if self._writing is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._writing, seconds)

    async def _write(self) -> None:
        while self._runs:
            try:
                await self._write_together()
            except Unavailable as error:
                log.warning("%d messages wait to be read: %s", len(self._runs), error)
                await asyncio.sleep(AGAIN)
            except Exception:
                log.exception("%d messages are read when the sweep finds them", len(self._runs))
                self._runs.clear()

    async def _write_together(self) -> None:
        async with self._begin() as tx:
            written = len(self._runs)  # more may come while it is committed
            for run in self._runs:
                tx.enqueue(run)
        del self._runs[:written]
