"""The ledger's ports: one transaction of it, and the questions that it answers."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Protocol

from gate.action import Action, Inverse, Json, Session, Vote
from gate.audit import Entry, Line
from gate.learnt import Learnt, LearntTx
from gate.records import Happening, Note, Posted, Sheet, UndoEntry
from gate.reviews import Reviews, ReviewsTx
from gate.runs import Run
from gate.states import Event
from gate.talk import Exchange, Incoming, Told, Turn
from gate.task import Task
from gate.task_states import TaskEvent
from gate.webhook import HooksTx


class Stale(Exception):
    """The guarded write matched nothing: somebody else was first. `action` is how it stands now."""

    def __init__(self, action: Action | None) -> None:
        super().__init__("the action changed meanwhile")
        self.action = action


class StaleTask(Exception):
    """The guarded write of a task matched nothing. `task` is how it stands now."""

    def __init__(self, task: Task | None) -> None:
        super().__init__("the task changed meanwhile")
        self.task = task


class Unavailable(Exception):
    """A store could not be reached, or was locked, in the time there was. Nothing was changed, unless the line
    broke while COMMIT was on its way: every write is guarded or keyed, so doing it again is safe."""


class Tx(Protocol):
    """One transaction of the ledger. Audit entries and runs are written with it or not at all."""

    @property
    def learnt(self) -> LearntTx: ...
    @property
    def reviews(self) -> ReviewsTx: ...
    @property
    def hooks(self) -> HooksTx: ...

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

    async def exchange(self, turn_id: str, index: int, exchange: Exchange) -> Exchange:
        """Insert the exchange at this place of the turn, or return the one that is there: the first reply counts."""

    async def told(self, turn_id: str, index: int, told: tuple[Told, ...]) -> None:
        """Write down what became of a stored reply."""

    async def open_task(self, task: Task) -> Task | None:
        """Insert, or return the task that already has this id. None when another one holds the thread."""

    async def task(self, task_id: str) -> Task | None:
        """The task, its row locked until the end of the transaction."""

    async def holder(self, session: Session) -> Task | None:
        """The task that holds this thread; whoever else asks for it waits for the end of this transaction."""

    async def move_task(self, task: Task, event: TaskEvent, **changes: Any) -> Task:
        """Follow an arrow: guarded by id, revision and state; revision + 1; returns the task as it now stands.
        `changes` are Task fields. Raises StaleTask, or NoSuchTaskArrow."""

    async def keep_task(self, task: Task, **changes: Any) -> Task:
        """Change fields that are no matter of state: same guard. Raises StaleTask."""

    async def look_later(self, task_id: str) -> None:
        """For the janitor: it has seen to this task, and looks again in some minutes."""

    def emit(self, happening: Happening) -> None:
        """Put an event on the stream that API clients read, in this transaction."""

    async def note(self, note: Note) -> bool:
        """Put a message for people into the outbox; False when it is there already."""

    async def sheet(self, sheet: Sheet) -> None:
        """Remember an opened modal; an older one with the same view id is replaced."""

    async def push_undo(self, action: Action, inverse: Inverse, kind: str, before: Json, after: Json) -> None:
        """Push onto the undo stack (spec 000)."""

    async def mark_undone(self, action_id: str) -> None: ...

    def audit(self, entry: Entry) -> None:
        """Written, chained to the entry before, at the end of this transaction."""

    async def token_of(self, task: str, turn: str) -> str:
        """The id of the API token that opened this task, or without one that of this turn; "" where none did."""
        ...

    async def made_by(self, token: str, action_id: str) -> None:
        """Note which API token this was proposed through. The first one to say so stays."""

    def enqueue(self, run: Run) -> None:
        """Enqueued, in this transaction, at its end."""


class Ledger(Protocol):
    """SQL: the truth. Every method raises Unavailable when the database cannot be had in time."""

    @property
    def learnt(self) -> Learnt: ...
    @property
    def reviews(self) -> Reviews: ...

    def through(self, token: str) -> Ledger:
        """The same ledger; every audit entry that is written with it names this API token, by its id."""
        ...

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
    async def of_group(self, group: str) -> tuple[Action, ...]:
        """The actions of a group in the order of their calls, those among them that have left its card."""

    async def turn(self, turn_id: str) -> Turn | None: ...
    async def has_session(self, session: Session) -> bool:
        """Whether this thread is ours: something was asked for in it, or a message waits there to be read."""

    async def starter(self, session: Session) -> str | None:
        """Who asked for the first task of the thread."""

    async def task(self, task_id: str) -> Task | None: ...
    async def tasks_of(self, session: Session, limit: int = 10) -> tuple[Task, ...]:
        """The tasks of a thread, newest first."""

    async def overdue_tasks(self, limit: int = 100) -> tuple[str, ...]:
        """For the janitor: ids of tasks that have stood still for ten minutes where they should go on by themselves."""

    async def history(self, session: Session, since: datetime, limit: int = 30) -> tuple[Turn, ...]:
        """The newest turns of the thread that were opened at `since` or later, oldest first."""

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
