"""The ports of what lets things go on by themselves: grants, what a thread has read from outside, and history."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple, Protocol

from gate.rules.action import Action, Session
from gate.rules.grants import Grant
from gate.rules.tool import Pin

WORDS_OF_OTHERS = "words of others"  # that a model was told, in place of the tool that was read


class GrantsTx(Protocol):
    """In a transaction of the ledger."""

    async def give(self, grant: Grant) -> bool:
        """Write a grant down; False when it is there already."""

    async def grant(self, grant_id: str) -> Grant | None:
        """The grant, its row locked: nobody revokes it before the end of the transaction."""

    async def grants_for(self, action: Action) -> tuple[Grant, ...]:
        """The grants of its requester for its tool in its thread that stand now, the oldest first."""

    async def requested(self, action: Action) -> bool:
        """Whether its requester asked for it themselves: neither it nor its task came through an API token, and its
        task came neither from feedback on a result nor from a reply that did not address the bot."""

    async def asked_before(self, action: Action, bound: Collection[str]) -> bool:
        """Whether another action of its requester in its thread, whatever became of it, had the same tool and arguments
        but for the `bound` ones, or had them before it was edited. Also where there are too many to look at."""

    async def revoke(self, grant_id: str, user: str) -> bool:
        """Take a grant back; False when it had ended before."""

    async def review_tool(self, pin: Pin) -> bool:
        """Note who has reviewed a definition. False, and nothing is written, where the tool is pinned to another one,
        or has been reviewed."""

    async def taint(self, session: Session, tool: str, outside: bool) -> None:
        """An answer of `server.tool` was given in this thread, which may hold words of others, or a model was told
        those in another way (WORDS_OF_OTHERS). `outside`: of people who are not in this workspace."""

    async def tainted(self, session: Session, since: datetime | None = None) -> bool:
        """Whether something from outside was read in this thread; with `since`, then or later."""

    async def last_read(self, session: Session) -> str:
        """The tool whose answer was given last in this thread, from outside or not; else WORDS_OF_OTHERS where a model
        was told those; "" where there was none of it."""

    async def others_wrote(self, session: Session, user: str) -> bool:
        """Whether anybody but this user asked for something in this thread, or remarked on a task in it."""


class Past(NamedTuple):
    """`went_well`: of the latest other calls of the same tool in this team, as it was defined for this one, the last
    one of its kind has succeeded and was not taken back (gate.rules.confidence.is_of_its_kind). `tainted`: something
    from outside was read in this thread."""

    went_well: bool
    tainted: bool


class Grants(Protocol):
    """Questions. Each raises Unavailable when the database cannot be had in time."""

    async def grant(self, grant_id: str) -> Grant | None: ...
    async def grants(self, session: Session) -> tuple[Grant, ...]:
        """All grants of this thread that stand now, the newest first."""

    async def grants_of(self, team: str, user: str) -> tuple[Grant, ...]:
        """All grants of this person that stand now, the newest first."""

    async def of_agents(self, tasks: Collection[str]) -> frozenset[str]:
        """Those of these tasks that an agent's API token has opened."""

    async def said_in(self, turns: Collection[str], tasks: Collection[str]) -> frozenset[str]:
        """Who has said something in these tasks since they were asked for, or about the calls of these turns."""

    async def said_to_token(self, of: str, team: str, requester: str) -> frozenset[str]:
        """The same of the latest 50 calls and the latest 50 tasks of an API token, whatever their size. `of`: the
        token, or a task that it has opened; of others nobody."""

    async def past(self, action: Action, since: datetime) -> Past:
        """What came before an action; of its thread, from `since` on."""
