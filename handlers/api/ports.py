"""What the API needs besides the World: tokens, kept answers, pages, rates, threads and the stream of events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from gate.access import Logged, Subject, Token, Written
from gate.action import Action, Session
from gate.kept import Kept
from gate.task import Task
from gate.webhook import Webhook
from gate.world import World


class Tokens(Protocol):
    """Methods raise Unavailable when the store cannot be had."""

    async def find(self, written: Written) -> Token | None: ...
    async def counting(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the ids whose token counts now."""
        ...

    async def get(self, token_id: str) -> Token | None: ...
    async def made(self, token: Token, about: str) -> None:
        """Note that this token proposes what has, or will have, this id."""

    async def makers(self, ids: Collection[str]) -> dict[str, str]:
        """Id of a proposed thing -> id of the token that proposed it."""
        ...

    async def now(self) -> datetime: ...


class Answers(Protocol):
    """Answers by idempotency key, kept for a day. Methods raise Unavailable."""

    async def begin(self, token: str, key: str, digest: str, holder: str) -> Kept | None:
        """Reserve the key for this request, or what is there under it. A reservation that nobody keeps ends."""

    async def keep(self, token: str, key: str, holder: str, status: int, body: str) -> None: ...
    async def drop(self, token: str, key: str, holder: str) -> None:
        """Give the reservation up: the same request may be tried again."""


class Pages(Protocol):
    """What was asked for by, or through, a token; newest first, from behind the item with the id `after`."""

    async def actions(
        self, token: Token, *, pending: bool, session: Session | None, after: str, limit: int
    ) -> Sequence[Action]: ...
    async def tasks(self, token: Token, *, after: str, limit: int) -> Sequence[Task]: ...


class Rates(Protocol):
    """Counts requests. Raises Unavailable."""

    async def take(self, key: str, most: int, seconds: float) -> float:
        """Count one; 0 when it is within `most` in `seconds`, else for how many seconds to wait."""


class Threads(Protocol):
    """Places in Slack where what is proposed over the API is asked about."""

    async def open(self, key: str, channel: str, token: Token, text: str) -> str:
        """The thread of this key, opened on the first asking. Raises Unavailable, or NoThread."""
        ...

    async def link(self, channel: str, thread: str) -> str:
        """Its address for a browser; "" when Slack does not say one."""
        ...


class Hooks(Protocol):
    """Webhooks on record; they change in transactions of the ledger. Methods raise Unavailable."""

    async def of_team(self, team: str) -> Sequence[Webhook]:
        """Those of one Slack workspace, the oldest first."""
        ...

    async def get(self, hook_id: str) -> Webhook | None: ...


class NoThread(Exception):
    """Slack does not let us post there. Its text is a sentence."""


class Events(Protocol):
    """The stream as it stands in SQL. Raises Unavailable."""

    async def after(self, seq: int, limit: int) -> Sequence[Logged]:
        """The events behind `seq`, oldest first, each with what it is about as that stands now."""
        ...

    async def ends(self) -> tuple[int, int]:
        """The numbers of the oldest event that is kept and of the newest; 0, 0 without any."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one token may take."""

    per_minute: int = 300  # requests
    streams: int = 10  # of events at the same time, in one process
    webhooks: int = 10
    heartbeat: float = 15.0  # seconds
    slow: float = 10.0  # seconds that a reader of events may take for what it was sent
    recheck: float = 5.0  # seconds after which an open stream asks whether its token still counts
    beat: float = 5.0  # seconds between two words of progress of a call over MCP that is held
    poll: float = 0.5  # seconds between two looks for events of other processes


@dataclass(frozen=True, slots=True)
class Office:
    """Everything that the API works with."""

    world: World
    tokens: Tokens
    answers: Answers
    pages: Pages
    rates: Rates
    threads: Threads
    events: Events
    hooks: Hooks
    bounds: Bounds = field(default_factory=Bounds)

    def through(self, token: Token) -> Office:
        """The same office, for a request with this token: the record names it."""
        return replace(self, world=self.world.through(token.id))

    async def subject(self, action: Action | None = None, task: Task | None = None) -> Subject:
        """What a request is about, with the tokens that proposed it or its task."""
        ids = [action.id, action.task, action.undoes] if action else [task.id] if task else []
        return Subject(action, task, frozenset((await self.tokens.makers(ids)).values()))
