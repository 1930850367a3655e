"""The ports of what lets things go on by themselves: grants, what a thread has read from outside, and history."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from gate.action import Action, Session
from gate.grants import Grant


class LearntTx(Protocol):
    """In a transaction of the ledger."""

    async def give(self, grant: Grant) -> bool:
        """Write a grant down; False when it is there already."""

    async def grant(self, grant_id: str) -> Grant | None:
        """The grant, its row locked: nobody revokes it before the end of the transaction."""

    async def grants_for(self, action: Action) -> tuple[Grant, ...]:
        """The grants of its requester for its tool in its thread that stand now, the oldest first."""

    async def revoke(self, grant_id: str, user: str) -> bool:
        """Take a grant back; False when it had ended before."""

    async def taint(self, session: Session, tool: str) -> None:
        """Something from outside was read in this thread, by `server.tool`."""

    async def tainted(self, session: Session, since: datetime | None = None) -> bool:
        """Whether something from outside was read in this thread; with `since`, then or later."""


class Learnt(Protocol):
    """Questions. Each raises Unavailable when the database cannot be had in time."""

    async def grant(self, grant_id: str) -> Grant | None: ...
    async def grants(self, session: Session) -> tuple[Grant, ...]:
        """All grants of this thread that stand now, the newest first."""

    async def grants_of(self, team: str, user: str) -> tuple[Grant, ...]:
        """All grants of this person that stand now, the newest first."""

    async def tainted(self, session: Session, since: datetime) -> bool:
        """Whether something from outside was read in this thread at `since` or later."""

    async def went_well(self, action: Action) -> bool:
        """Whether another call of the same tool, as it was defined for this one, has succeeded in this team and was
        not taken back."""
