"""The ports through which flows reach the world, and World, the frozen bundle of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from gate.action import Action, Inverse, Json, Person, Session, Vote
from gate.audit import Entry, Line
from gate.policy import Policy
from gate.runs import Run
from gate.states import Event
from gate.talk import Exchange, Incoming, Planner, Turn
from gate.tool import Answer, Problem, ServerStatus, ToolSpec


class Stale(Exception):
    """The guarded write matched nothing: somebody else was first. `action` is how it stands now."""

    def __init__(self, action: Action | None) -> None:
        super().__init__("the action changed meanwhile")
        self.action = action


class Unavailable(Exception):
    """A store could not be reached, or was locked, in the time there was. Nothing was changed, unless the line
    broke while COMMIT was on its way: every write is guarded or keyed, so doing it again is safe."""


class Tx(Protocol):
    """One transaction of the ledger. Audit entries and runs are written with it or not at all."""

    async def now(self) -> datetime:
        """The database's clock."""

    async def insert(self, action: Action) -> Action:
        """Insert, or return the action that already has this id."""

    async def action(self, action_id: str) -> Action | None:
        """The action, its row locked until the end of the transaction."""

    async def move(self, action: Action, event: Event, *, lost: bool = False, **changes: Any) -> Action:
        """Follow an arrow: guarded by id, version, revision and state; revision + 1; returns the action as it
        now stands. `changes` are Action fields. Every event of a PREPARED action but EXPIRE and SUPERSEDE
        needs `expires_at` to lie ahead on the database's clock; EXPIRE needs it to have passed, unless `lost`
        is given: then the lease was lost early, which counts as expiry. EDIT adds one to the version.
        Raises Stale, or NoSuchArrow."""

    async def keep(self, action: Action, **changes: Any) -> Action:
        """Change fields that are no matter of state (undo_open, claim lease): same guard. Raises Stale."""

    async def waiting(self, team: str, user: str) -> int:
        """How many actions of this requester wait; whoever else asks for the same waits for this transaction."""

    async def vote(self, vote: Vote) -> bool:
        """Record a vote; False when this person has already voted on this version."""

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]: ...

    async def receive(self, incoming: Incoming) -> bool:
        """Put a message into the inbox; False when it is there already."""

    async def take(self, session: Session, reader: str, seconds: float) -> Incoming | None:
        """The oldest message of the session (by ts) not done with, reserved for this reader for `seconds`.
        None when there is none, or when another reader still holds it: that one goes on with the rest."""

    async def done_with(self, key: str) -> None: ...

    async def open_turn(self, turn: Turn) -> Turn:
        """Insert, or return the turn that already has this id."""

    async def exchange(self, turn_id: str, index: int, exchange: Exchange) -> None:
        """Insert or update the exchange at this place of the turn."""

    async def note(self, note: Note) -> bool:
        """Put a message for people into the outbox; False when it is there already."""

    async def sheet(self, sheet: Sheet) -> None:
        """Remember an opened modal; an older one with the same view id is replaced."""

    async def push_undo(self, action: Action, inverse: Inverse, kind: str, before: Json, after: Json) -> None:
        """Push onto the undo stack (spec 000)."""

    async def mark_undone(self, action_id: str) -> None: ...

    def audit(self, entry: Entry) -> None:
        """Written, chained to the entry before, at the end of this transaction."""

    def enqueue(self, run: Run) -> None:
        """Enqueued, in this transaction, at its end."""


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people that is no action's card: stored first, then posted once.

    kind: "text" {text} in a planner's words, "answer" {text} in ours, "read" {name, arguments, text, clipped,
    open_world, error}, "pending" {}, "undo" {},
    "audit" {count}, "help" {}, "refused" {name, reasons}.
    """

    id: str
    session: Session
    kind: str
    body: Mapping[str, Json]
    to: str = ""  # shown to this person alone; "" for the whole thread


@dataclass(frozen=True, slots=True)
class Sheet:
    """A modal that was really opened through Slack, for one person and one version."""

    view_id: str
    kind: str  # "typed", "edit", "reject", "full"
    user: str
    action: str
    version: int
    receipt: str


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """One line of the undo stack."""

    action: Action
    at: datetime
    kind: str
    undone: bool


class Ledger(Protocol):
    """SQL: the truth. Every method raises Unavailable when the database cannot be had in time."""

    def begin(self, seconds: float | None = None) -> AbstractAsyncContextManager[Tx]:
        """A transaction that commits on leaving; `seconds`, when given, are for all until COMMIT is sent. Inside
        it, the task uses `tx` and nothing else of the ledger."""

    async def now(self) -> datetime:
        """The database's clock."""

    async def action(self, action_id: str) -> Action | None: ...
    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]: ...

    async def overdue(self, limit: int = 100) -> tuple[Action, ...]:
        """For the janitor: `prepared` past expiry, `executing` past its claim, `approved` for over 30 s."""

    async def pending(
        self, team: str, *, user: str | None = None, session: Session | None = None
    ) -> tuple[Action, ...]:
        """Actions in `prepared` that have not expired, oldest first."""

    async def of_turn(self, turn_id: str) -> tuple[Action, ...]: ...
    async def turn(self, turn_id: str) -> Turn | None: ...
    async def has_session(self, session: Session) -> bool:
        """Whether this thread is ours: a turn was opened in it, or a message waits there to be read."""

    async def starter(self, session: Session) -> str | None:
        """Who opened the first turn of the thread."""

    async def sheet(self, view_id: str) -> Sheet | None: ...
    async def note(self, note_id: str) -> Note | None: ...

    async def undoable(
        self, team: str, *, user: str | None = None, session: Session | None = None, limit: int = 10
    ) -> tuple[UndoEntry, ...]:
        """What succeeded, has an inverse still in time, and is not undone; newest first."""

    async def audit_tail(
        self, *, team: str, user: str | None = None, session: Session | None = None, limit: int = 10
    ) -> tuple[Line, ...]:
        """The latest entries, newest first. `user`: those by this person, or about an action they asked for."""
        ...

    async def posted(self, key: str) -> Posted | None: ...
    async def set_posted(self, key: str, posted: Posted) -> None:
        """Insert or update where a card or note stands in Slack; an older revision never replaces a newer."""


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a message of ours stands, and which revision it shows."""

    channel: str
    ts: str
    revision: int
    digest: str = ""  # which version of an action people see there: "v2"
    at: datetime | None = field(default=None, compare=False)  # since when; the ledger sets it

    @property
    def shows(self) -> int:
        """The version that stands there; 0 when nothing is known to stand there yet."""
        version = self.digest.removeprefix("v")
        return int(version) if self.ts and version.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Lease:
    """The chance to confirm: one record in Redis, with a time to live, without arguments."""

    action: str
    version: int
    receipt: str
    user: str
    session: str
    tool: str
    risk: str
    preview: str  # one line
    deadline: datetime


class Leases(Protocol):
    """Redis: keeps time. Methods raise Unavailable when Redis cannot be had."""

    async def put(self, lease: Lease, ttl: float) -> None:
        """Write or replace, for `ttl` seconds."""

    async def get(self, action_id: str) -> Lease | None: ...
    async def drop(self, action_id: str) -> None: ...
    async def of_user(self, team: str, user: str) -> tuple[Lease, ...]: ...
    async def of_session(self, session: Session) -> tuple[Lease, ...]: ...


class Tools(Protocol):
    """The MCP host. Listing is local; only `call` travels."""

    def find(self, server: str, tool: str) -> ToolSpec | None: ...
    def specs(self) -> Sequence[ToolSpec]: ...
    def servers(self) -> Sequence[ServerStatus]: ...
    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        """Every way in which the value breaks the JSON Schema; empty when it keeps it."""

    async def call(self, server: str, tool: str, args: bytes, seconds: float | None = None) -> Answer:
        """Call a tool. Raises ServerUnavailable (did not run) or OutcomeUnknown (may have run)."""


class People(Protocol):
    """Who is who in Slack."""

    async def known(self, team: str, user: str) -> Person | None:
        """What is known without asking Slack; fast. None when nothing is."""

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        """No older than `seconds`; asks Slack when it has to. None when Slack does not say."""


class Chat(Protocol):
    """What people see. Called by runs, never inside a transaction. Raises Unavailable: try again later."""

    async def draw(self, action: Action, votes: tuple[Vote, ...]) -> None: ...
    async def post(self, note: Note) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator may set."""

    ttl: float = 300.0  # seconds in which a pending action can be confirmed
    undo_bar: float = 10.0  # seconds for which the undo button stays on the result card
    call: float = 60.0  # seconds a tool may take
    claim: float = 30.0  # seconds a claim lasts unless renewed
    decision: float = 1.5  # seconds for the commit before the acknowledgement
    pending_per_user: int = 10
    calls_per_turn: int = 12
    turns_depth: int = 12


class Clock(Protocol):
    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh, unguessable identifier of letters and digits."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything a flow may touch."""

    ledger: Ledger
    leases: Leases
    tools: Tools
    people: People
    chat: Chat
    planner: Planner
    policy: Policy
    limits: Limits
    clock: Clock
    ids: Ids
    executor: str
    fits: Callable[[Action], bool]  # the whole preview can be shown on one card
    reviewable: Callable[[Action], bool]  # or at least in one modal
