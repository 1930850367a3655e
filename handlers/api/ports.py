"""The ports of the API besides World: tokens, stored responses, pages, rate limits, threads, events, webhooks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from gate.rules.access import EventFilter, IssuedToken, Listed, StreamEvent, Subject, Token
from gate.rules.action import Action, Session
from gate.rules.idempotency import StoredAnswer
from gate.rules.ports import World
from gate.rules.task import Task
from gate.rules.webhooks import Webhook


class Tokens(Protocol):
    """API tokens. Methods raise Unavailable if the store cannot be reached."""

    async def find(self, written: IssuedToken) -> Token | None: ...
    async def counting(self, ids: Collection[str]) -> frozenset[str]:
        """The ids whose tokens are valid now."""
        ...

    async def get(self, token_id: str) -> Token | None: ...
    async def makers(self, ids: Collection[str]) -> dict[str, str]:
        """id of an action or task -> id of the token that proposed it."""
        ...

    async def now(self) -> datetime: ...


class Answers(Protocol):
    """Responses by idempotency key, stored for a day. Methods raise Unavailable."""

    async def begin(self, token: str, key: str, digest: str, holder: str) -> StoredAnswer | None:
        """Reserves the key and returns None, or returns what is stored. A reservation expires unless `keep` follows."""

    async def keep(self, token: str, key: str, holder: str, status: int, body: str) -> None:
        """Stores a response; without its body if this token's stored responses are too large already."""

    async def drop(self, token: str, key: str, holder: str) -> None:
        """Releases the reservation: the request may be repeated."""


class Pages(Protocol):
    """The actions and tasks of a token, newest first, after the item with the id `after`. Raises Unavailable, and
    LookupError where nothing has that id and nothing comes after it."""

    async def actions(
        self, token: Token, *, pending: bool, session: Session | None, after: str, limit: int
    ) -> Listed[Action]: ...
    async def tasks(self, token: Token, *, after: str, limit: int) -> Listed[Task]: ...
    async def waiting(self, team: str, session: Session | None) -> Mapping[str, Subject]:
        """id -> subject of all actions that wait for a decision, newest first."""
        ...

    async def waiting_of(self, task: Task) -> Sequence[str]:
        """The ids of the actions of a task that wait for a decision, oldest first."""
        ...

    async def load(self, ids: Sequence[str], limit: int) -> Listed[Action]:
        """The first of these actions, in their order."""
        ...

    async def subjects(self, of_actions: Collection[str], of_tasks: Collection[str]) -> Mapping[str, Subject]:
        """id -> subject, of the actions and tasks that exist."""
        ...


class Rates(Protocol):
    """Rate limits. Raises Unavailable."""

    async def take(self, key: str, most: int, seconds: float) -> float:
        """Counts a request and returns 0 within `most` in `seconds`, else the seconds to wait."""


class Threads(Protocol):
    """The Slack threads for proposals over the API."""

    async def open(self, key: str, channel: str, token: Token, text: str) -> str:
        """The thread_ts for this key; the first call opens the thread. Raises Unavailable, NoThread."""
        ...

    async def is_of(self, session: Session, keys: Collection[str]) -> bool:
        """Whether this thread was opened for one of these keys. Raises Unavailable."""
        ...


class Hooks(Protocol):
    """The registered webhooks; transactions of the ledger change them. Methods raise Unavailable."""

    async def of_team(self, team: str) -> Sequence[Webhook]:
        """The webhooks of a Slack workspace, oldest first."""
        ...

    async def get(self, hook_id: str) -> Webhook | None: ...


class NoThread(Exception):
    """Slack does not let the app post in the channel. The text is a sentence for people."""


class Events(Protocol):
    """The table of events. Raises Unavailable."""

    async def after(self, seq: int, limit: int) -> Sequence[StreamEvent]:
        """The events after `seq`, oldest first, each with the current state of its subject."""
        ...

    async def between(self, seq: int, until: int, wanted: EventFilter) -> Sequence[StreamEvent]:
        """The same for what is wanted of the events after `seq` up to `until`."""
        ...

    async def ends(self) -> tuple[int, int]:
        """The seq of the oldest and of the newest stored event; 0, 0 if there are none."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits per token, and intervals."""

    per_minute: int = 300  # requests
    streams: int = 10  # of events at the same time, in one process
    turn: float = 0.25  # seconds after which a request lets the next one of its token begin
    requests: int = 50  # at the same time, in one process, including streams and waiting MCP calls
    webhooks: int = 10
    heartbeat: float = 15.0  # seconds
    slow: float = 10.0  # seconds in which a client must read what an event stream has sent
    recheck: float = 5.0  # seconds between checks of the token of an open stream
    beat: float = 5.0  # seconds between progress notifications of a waiting MCP call
    poll: float = 0.5  # seconds between polls for events of other processes


@dataclass(frozen=True, slots=True)
class Services:
    """The services that the API uses."""

    world: World
    tokens: Tokens
    answers: Answers
    pages: Pages
    rates: Rates
    threads: Threads
    events: Events
    hooks: Hooks
    bounds: Bounds = field(default_factory=Bounds)

    def for_token(self, token: Token) -> Services:
        """The services for a request with this token: audit entries name the token."""
        return replace(self, world=self.world.for_token(token.id))

    async def subject(self, action: Action | None = None, task: Task | None = None) -> Subject:
        """The subject of a permission check: an action or task, and the tokens that proposed it."""
        ids = [action.id, action.task, action.undoes] if action else [task.id] if task else []
        return Subject(action, task, frozenset((await self.tokens.makers(ids)).values()))
