"""The ledger's ports: one transaction of it, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from gate.rules.action import (
    Action,
    Execution,
    Inverse,
    Json,
    Origin,
    Proposal,
    Resolution,
    ResultReview,
    Session,
    Undo,
    Vote,
)
from gate.rules.action_states import Event
from gate.rules.audit import Entry, Line
from gate.rules.grant_ports import Grants, GrantsTx
from gate.rules.jobs import Run
from gate.rules.messages import UNDECIDED, CardKey, LedgerEvent, Note, OpenedModal, Posted, UndoEntry
from gate.rules.planner_port import CallReport, Exchange, Incoming, Turn
from gate.rules.question_ports import Questions, QuestionsTx
from gate.rules.reviews import Reviews, ReviewsTx
from gate.rules.task import (
    Clarification,
    Flow,
    Input,
    Pause,
    Plan,
    Planning,
    Request,
    Specification,
    Task,
    TaskOutcome,
)
from gate.rules.task_states import TaskEvent
from gate.rules.webhooks import HooksTx


class Stale(Exception):
    """The guarded write matched nothing: somebody else was first. `action` is how it stands now."""

    def __init__(self, action: Action | None) -> None:
        super().__init__("the action changed meanwhile")
        self.action = action


class TooManyWaiting(Exception):
    """So much of one person waits that no more is taken in."""


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """`since`: from when on what was said in the thread is the context of its newest task, None where it has none.
    `under_way`: tasks of the person, in any thread, that are being assessed, planned or run; `of_agents`: those of
    them that agents' tokens opened. `standing`: tasks that ask the person something; `standing_of_agents`: the same of
    those. `now`: the database's clock."""

    since: datetime | None
    under_way: int
    of_agents: int
    standing: int
    standing_of_agents: int
    now: datetime


@dataclass(frozen=True, slots=True)
class ActionContext:
    """`known`: whether there is an action with its id. `waiting`: those of its requester that wait already."""

    known: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class DueItem:
    """A row that the sweep has to look at. `left`: seconds until then by the database's clock, negative after it."""

    kind: str  # action or task
    id: str
    revision: int  # that it had: one that has been changed since is due at another time
    left: float


class StaleTask(Exception):
    """The guarded write of a task matched nothing. `task` is how it stands now."""

    def __init__(self, task: Task | None) -> None:
        super().__init__("the task changed meanwhile")
        self.task = task


class Unavailable(Exception):
    """A store could not be reached, or was locked, in the time there was. Nothing was changed, unless the line
    broke while COMMIT was on its way: every write is guarded or keyed, so doing it again is safe."""


class PlannerUnavailable(Unavailable):
    """The planner's model cannot be reached: several tries over some seconds have failed. Nothing was done, and asking
    again later is safe."""


class ActionParts(TypedDict, total=False):
    """What a transaction may change of an action; the rest is changed by the arrows of gate/rules/action_states.py
    alone."""

    origin: Origin
    proposal: Proposal
    receipt: str
    resolution: Resolution
    execution: Execution
    result_review: ResultReview
    undo: Undo


class TaskParts(TypedDict, total=False):
    """The same of a task, along gate/rules/task_states.py."""

    request: Request
    flow: Flow
    clarification: Clarification
    specification: Specification
    plan: Plan | None
    planning: Planning
    pause: Pause
    reason: str
    input: Input
    outcome: TaskOutcome


class Tx(Protocol):
    """One transaction of the ledger. Audit entries and runs are written with it or not at all."""

    @property
    def grants(self) -> GrantsTx: ...
    @property
    def reviews(self) -> ReviewsTx: ...
    @property
    def questions(self) -> QuestionsTx: ...
    @property
    def hooks(self) -> HooksTx: ...
    @property
    def token(self) -> str:
        """The id of the API token that it is made for; "" elsewhere."""

    async def now(self) -> datetime:
        """The database's clock, as it was when the last row was locked or changed in this transaction, or it was
        asked first."""
        ...

    async def insert(self, action: Action) -> Action:
        """Insert, or return the action that already has this id."""

    async def action(self, action_id: str) -> Action | None:
        """The action, its row locked until the end of the transaction."""

    async def confirmation_on_record(self, action: Action) -> tuple[datetime, datetime | None]:
        """The database's clock, and when this was confirmed by the audit log: it holds the chained yes to exactly this
        action, version and receipt, by whoever decided. None where it does not, or holds that it has begun: then
        nothing may begin."""
        ...

    async def move(
        self, action: Action, event: Event, *, lost: bool = False, **changes: Unpack[ActionParts]
    ) -> Action:
        """Follow an arrow: guarded by id, version, revision and state; revision + 1; returns the action as it
        now stands. Every event of a PREPARED action but EXPIRE and SUPERSEDE
        needs `expires_at` to lie ahead on the database's clock; EXPIRE needs it to have passed, unless `lost`
        is given: then the lease was lost early, which counts as expiry. EDIT adds one to the version.
        Raises Stale, or NoSuchArrow."""

    async def update_action(self, action: Action, **changes: Unpack[ActionParts]) -> Action:
        """Change fields that are no matter of state (undo, the lease of a claim): same guard. Raises Stale."""

    async def count_pending(self, team: str, user: str) -> int:
        """How many actions of this requester wait; whoever else asks for the same waits for this transaction."""

    async def count_pending_of_agents(self, token: str, team: str, user: str) -> int:
        """How many of them agents' tokens proposed; 0 where `token` is no agent's."""
        ...

    async def vote(self, vote: Vote) -> bool:
        """Record a vote; False when this person has already voted on this version."""

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]: ...

    async def receive(self, incoming: Incoming, most: int | None = None) -> bool:
        """Put a message into the inbox; False when it is there already.

        Raises Crowded when it is new and `most` messages of its author are there unread."""

    async def reserve_message(
        self, session: Session, reader: str, seconds: float, done: str = ""
    ) -> Incoming | None:
        """The oldest message of the session (by ts) not done with, reserved for this reader for `seconds`, once it is
        done with the message that has the key `done`. None when there is none, or when another reader still holds it:
        that one goes on with the rest. Locks the reading of the session until the transaction is over: do it last."""

    async def finish_message(self, key: str) -> None: ...

    async def open_turn(self, turn: Turn) -> Turn:
        """Insert, or return the turn that already has this id."""

    async def store_exchange(self, turn_id: str, index: int, exchange: Exchange) -> Exchange:
        """Insert the exchange at this place of the turn, or return the one that is there: the first reply counts."""

    async def record_reports(self, turn_id: str, index: int, reports: tuple[CallReport, ...]) -> None:
        """Write down what became of a stored reply."""

    async def open_task(self, task: Task) -> Task | None:
        """Insert, or return the task that already has this id. None when another one holds the thread."""

    async def task(self, task_id: str) -> Task | None:
        """The task, its row locked until the end of the transaction."""

    async def thread_holder(self, session: Session) -> Task | None:
        """The task that holds this thread; whoever else asks for it waits for the end of this transaction."""

    async def move_task(self, task: Task, event: TaskEvent, **changes: Unpack[TaskParts]) -> Task:
        """Follow an arrow: guarded by id, revision and state; revision + 1; returns the task as it now stands.
        Raises StaleTask, or NoSuchTaskArrow."""

    async def update_task(self, task: Task, **changes: Unpack[TaskParts]) -> Task:
        """Change parts that are no matter of state: same guard. Raises StaleTask."""

    async def set_sweep_time(self, task: Task, moment: datetime) -> None:
        """Have the sweep look at a task at this moment, unless the task has changed since it was read."""

    async def postpone_sweep(self, task_id: str) -> None:
        """For the sweep: it has seen to this task; where it is still due, it looks again in some minutes."""

    def publish(self, happening: LedgerEvent) -> None:
        """Put an event on the stream that API clients read, in this transaction."""

    async def note(self, note: Note) -> bool:
        """Put a message for people into the outbox, and have it posted; False when it is there already."""

    async def save_modal(self, sheet: OpenedModal) -> None:
        """Remember an opened modal; an older one with the same view id is replaced."""

    async def push_undo(self, action: Action, inverse: Inverse, kind: str, before: Json, after: Json) -> None:
        """Push onto the undo stack (docs/promises.md ACT-09)."""

    async def mark_undone(self, action_id: str) -> None: ...

    def audit(self, entry: Entry) -> None:
        """Written, chained to the entry before, at the end of this transaction."""

    async def token_of(self, task: str, turn: str) -> str:
        """The id of the API token that opened this task, or made this action; without one that of this turn. "" where
        none did."""
        ...

    async def record_token(self, token: str, action_id: str) -> None:
        """Note which API token this was proposed through. The first one to say so stays."""

    def enqueue(self, run: Run) -> None:
        """Enqueued, in this transaction, at its end."""

    def request_card(self, card: CardKey, within: float = 0.0) -> None:
        """Have a card brought up to date once this is committed, at the latest `within` seconds later. Where a run
        that is to do so waits already, none is added."""

    def notify_status(self, task: Task) -> None:
        """Once this is committed, let whoever shows how a thread stands know how a task without cards stands. A
        nicety: it is written down nowhere."""

    async def posted(self, key: str, now: Posted, before: int | None = None) -> bool:
        """Write down where a card stands. False, and nothing is written, where the row shows a newer revision; with
        `before` also where it shows any other than that one: somebody else has drawn it meanwhile."""
        ...


class Ledger(Protocol):
    """SQL: the truth. Every method raises Unavailable when the database cannot be had in time."""

    @property
    def grants(self) -> Grants: ...
    @property
    def reviews(self) -> Reviews: ...
    @property
    def questions(self) -> Questions: ...

    @property
    def token(self) -> str:
        """The id of the API token that it is for; "" elsewhere."""
        ...

    def for_token(self, token: str) -> Ledger:
        """The same ledger; every audit entry that is written with it names this API token, by its id."""
        ...

    def begin(self, seconds: float | None = None) -> AbstractAsyncContextManager[Tx]:
        """A transaction that commits on leaving; `seconds`, when given, are for all until COMMIT is sent. Inside
        it, the task uses `tx` and nothing else of the ledger."""

    async def receive_at_once(self, incoming: Incoming, most: int, run: Run) -> bool:
        """Take a message in by one statement, while many come: a transaction takes three round trips. Its run is
        written soon after. False where it was not taken in so: then a transaction does that, or says why not."""
        ...

    async def now(self) -> datetime:
        """The database's clock."""

    async def action(self, action_id: str) -> Action | None: ...
    async def voted(self, action_id: str) -> tuple[Action, tuple[Vote, ...]] | None:
        """An action, and the votes on it as it stands."""

    def verified_args(self, name: str, args: Sequence[str]) -> tuple[str, ...] | None:
        """The arguments of a run that was enqueued as `proved`, without their MAC; None where it does not fit them."""
        ...

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]: ...

    async def due(self, within: float = 0.0, limit: int = 100) -> tuple[DueItem, ...]:
        """What the sweep has to look at by now, or within so many seconds, the earliest first. Actions: `prepared` past
        expiry, `executing` past its claim, `approved` for over 30 s. Tasks: whose wait is over, and those that stand
        still for ten minutes where they should go on by themselves."""
        ...

    async def lost_work(self, limit: int = 100) -> tuple[tuple[CardKey, ...], tuple[Session, ...]]:
        """The cards that should have begun to be drawn a minute ago and have not, and the threads with a message that
        nobody has begun to read for a minute: their runs may be lost. The oldest, at most `limit` of each."""
        ...

    async def pending(
        self, team: str, *, user: str | None = None, session: Session | None = None
    ) -> tuple[Action, ...]:
        """Actions in `prepared` that have not expired, oldest first."""

    async def before_action(self, action_id: str, team: str, requester: str) -> ActionContext:
        """What a call of this person has to know that may become the action with this id."""
        ...

    async def actions_of_turn(self, turn_id: str) -> tuple[Action, ...]: ...
    async def actions_of_group(self, group: str) -> tuple[Action, ...]:
        """The actions of a group in the order of their calls, those among them that have left its card."""

    async def turn(self, turn_id: str) -> Turn | None: ...
    async def has_session(self, session: Session) -> bool:
        """Whether this thread is ours: something was asked for in it, or a message waits there to be read."""

    async def thread_starter(self, session: Session) -> str | None:
        """Who asked for the first task of the thread."""

    async def first_task(self, session: Session) -> str:
        """The id of the first task of the thread; "" where there is none."""
        ...

    async def task(self, task_id: str) -> Task | None: ...
    async def opening(self, session: Session, requester: str) -> ThreadContext:
        """What a new task of this person in this thread has to know."""
        ...

    async def tasks_of(self, session: Session, limit: int = 10, user: str = "") -> tuple[Task, ...]:
        """The tasks of a thread, newest first: so many, and however many came after them the one that holds the thread,
        and those of this person that are not over."""

    async def tasks_awaiting_answer(self, team: str, user: str) -> tuple[tuple[Task, datetime | None], ...]:
        """The tasks of a person in the states in which a task may wait for an answer, oldest first, each with when the
        sweep looks at it. Without the results of their steps, which take much and which no list shows."""

    async def history(
        self, session: Session, since: datetime, limit: int = 30, but: str = ""
    ) -> tuple[Turn, ...]:
        """The newest turns of the thread that were opened at `since` or later, without the turn `but`, oldest first."""

    async def opened_modal(self, view_id: str) -> OpenedModal | None: ...
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

    async def sampled(self, session: Session, action: str, limit: int = 20) -> tuple[Line, ...]:
        """The first requests to a model that servers made in calls for this action, oldest first."""
        ...

    async def posted(self, key: str) -> Posted | None: ...
    async def confidential(self, ids: Collection[str]) -> frozenset[str]:
        """Those of these actions of which only their requester is told what they give."""

    async def posted_of(self, keys: Sequence[str]) -> Mapping[str, Posted]:
        """Where each of these cards stands, by key; those that nothing is known of are left out."""
        ...

    async def shown_after(self, session: Session, since: str, to: str, but: str = UNDECIDED) -> bool:
        """Whether a message of ours that is newer than this timestamp of Slack stands in this thread, for all or for
        this person alone, or is on its way there, or it is not known whether it came there; of what they alone were
        told, not counting notes of the kind `but` ("": all count)."""
        ...

    async def others_wrote(self, incoming: Incoming, since: str) -> bool:
        """Whether somebody else, or another app, wrote in the thread after this timestamp of Slack and before the
        message."""
        ...

    async def set_posted(self, key: str, posted: Posted) -> None:
        """Insert or update where a card or note stands in Slack; an older revision never replaces a newer."""

    async def begin_drawing(self, key: str) -> Posted | None:
        """Take up what was asked for this card until now; where it stands, None when nobody has asked for it. What is
        asked for from now on is drawn by another run."""
        ...

    async def count_failed_draws(self, runs: Mapping[str, int]) -> None:
        """Count runs of cards, as key and number, as lost: each has begun and drawn nothing. Not where another run was
        asked for since."""
        ...

    async def reopen_drawing(self, key: str) -> bool:
        """Ask for a card without a run, for who will draw it anyhow; False where a run waits that will."""
        ...
