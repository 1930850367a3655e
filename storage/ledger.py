"""The ledger in SQL: where every transaction begins and ends, and every question is asked."""

from __future__ import annotations

import asyncio
import copy
import hmac
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from sqlalchemy import Row, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.util import greenlet_spawn

from gate.rules.action import OWN_CARD, Action, Session, Vote
from gate.rules.action_states import State
from gate.rules.audit import Line
from gate.rules.jobs import Run
from gate.rules.messages import UNDECIDED, CardKey, CardKind
from gate.rules.planner_port import Incoming, Turn
from gate.rules.ports import (
    ActionContext,
    DueItem,
    Limits,
    Note,
    OpenedModal,
    Posted,
    ThreadContext,
    UndoEntry,
)
from gate.rules.task import Task
from gate.rules.undo_privacy import is_confidential
from storage import api_tables, tables, task_tables
from storage.audit_log import IN_CHAIN, Chain
from storage.columns import clock
from storage.database import CHECKPOINTS, READ_SECONDS, connected, reached, reading, transaction
from storage.deferred_runs import DeferredRuns
from storage.foreground import ForegroundPriority
from storage.grants import Grants
from storage.pending import ASKING, listed_tasks, undecided_actions
from storage.posted_messages import (
    BEGIN_DRAWING,
    FAILED_DRAW,
    LOST_AFTER,
    OTHERS_WROTE,
    POSTED,
    POSTED_OF,
    SHOWN_AFTER,
    UNREAD_SINCE,
    WAITS_IN_THREAD,
    below_card,
    lost_statement,
)
from storage.question_tables import CLOSED_UNANSWERED, server_questions
from storage.reviews import Reviews
from storage.row_macs import row_macs_of
from storage.rows import (
    inbox_row,
    loaded,
    to_actions,
    to_joined_turn,
    to_line,
    to_one_task,
    to_tasks,
    to_turns,
    to_voted,
    to_votes,
)
from storage.server_questions import Questions
from storage.statements import (
    ACTION,
    FIRST_TASK,
    FIRST_TURN,
    HISTORY,
    MAKERS,
    OF_TURN,
    TASK,
    TASKS_OF,
    TURN,
    UNREAD,
    VOTED,
    VOTES,
    before_action,
    due,
    opening,
    unless_crowded,
)
from storage.tables import actions, audit_log, inbox, undo_stack
from storage.transaction import Enqueue, SqlTx

TURNS_AT_ONCE = 5  # read with all that was said in them, before others go on
YIELD_SECONDS = 0.3  # seconds for which such a transaction lets those go first that somebody waits for
# Transactions at once that nobody waits for, on PostgreSQL: the other connections are for those
MAX_BACKGROUND = 6
# The same while very much is acknowledged, all of it on one event loop (docs/decisions/engine-experiments.md)
FLOOD_YIELD_SECONDS, MAX_IN_FLOOD = 1.0, 2
# Rows that one purge looks at for what tokens proposed and was not stored, and pages of them
MAKER_PAGE, MAKER_PAGES = 500, 20


class NestedTransaction(RuntimeError):
    """The ledger was used inside a transaction: a second connection would wait for the first, for ever."""

    def __init__(self) -> None:
        super().__init__("a transaction of the ledger is open in this task: use its tx")


def _nobody() -> None:
    """Is told of events while no API is served."""


class SqlLedger:
    """gate.rules.ports.Ledger. `enqueue` is called on the transaction's own connection; `audit_key` chains the
    log; `wake` is called after a commit with runs that are due at once; `limits` says for how long tasks wait.

    offset: added to the database's clock everywhere; tests travel in time with it. on_events: called after a commit
    with events for API clients. hurry: called after one that wants a card at once for which a run waits already, with
    the id of its key. signal: called with each task that was signalled."""

    on_events: Callable[[], None]

    def __init__(
        self,
        engine: AsyncEngine,
        enqueue: Enqueue,
        audit_key: bytes,
        wake: Callable[[], None] = lambda: None,
        limits: Limits | None = None,
    ) -> None:
        self.offset, self.limits = timedelta(0), limits or Limits()
        self._wake, self.on_events = wake, _nobody
        self.draw_now: Callable[[str], None] = lambda key: None
        self.signal: Callable[[Task], None] = lambda task: None
        self._engine = engine
        self._reader = reading(engine)
        self._enqueue = enqueue
        self._chain, self.seals = Chain(audit_key), row_macs_of(audit_key)
        self._sqlite = engine.dialect.name == "sqlite"
        # On SQLite they stand in line (storage/write_queue.py), and need no connection until it is their turn.
        self._background, self._in_flood = asyncio.Semaphore(MAX_BACKGROUND), asyncio.Semaphore(MAX_IN_FLOOD)
        self._priority, self.deferred = ForegroundPriority(), DeferredRuns(self.begin)
        self._inside: set[asyncio.Task[Any] | None] = set()
        self.grants = Grants(self._ask, lambda: self.offset, self.seals)
        self.reviews = Reviews(self._ask, lambda: self.offset, self.seals)
        self.questions = Questions(self._ask, lambda: self.offset, self.seals)
        self.token = ""
        self._makers_seen = ""  # the id up to which `purge` has looked at what tokens proposed

    def for_token(self, token: str) -> Self:
        """The same ledger, in the same line: its entries name this API token."""
        other = copy.copy(self)
        other.token = token
        return other

    @asynccontextmanager
    async def begin(self, seconds: float | None = None) -> AsyncIterator[SqlTx]:
        """A transaction. `seconds` is the time in all until COMMIT is sent: from there its answer is awaited,
        since only that says what happened. Who sets it has somebody waiting, and goes before those who do not.
        Raises Unavailable, and whatever the body raises."""
        limit = asyncio.timeout(seconds)
        turn = self._in_background() if seconds is None else self._priority.foreground()
        with self._alone(), reached(limit):
            async with turn, limit, self._transaction(limit) as connection:
                tx = SqlTx(connection, self.offset, self._chain, self.limits, self.token)
                yield tx
                later = tx.defer() if seconds is not None and self._defers else ()
                await tx.finish(self._enqueue)
                limit.reschedule(None)
        self.deferred.add(later)
        if tx.due:
            self._wake()
        if tx.heard:
            self.on_events()
        for key in tx.hurried:
            self.draw_now(key)
        for task in tx.signalled:
            self.signal(task)

    async def receive_at_once(self, incoming: Incoming, most: int, run: Run) -> bool:
        if self._sqlite or not self._priority.is_busy:  # there are no round trips on SQLite
            return False
        async with self._priority.foreground():
            put = unless_crowded(self._engine.dialect.name)
            (rows,) = await self._ask(put, **inbox_row(incoming, self.seals), most=most)
        if rows:
            self.deferred.add([run])
        return bool(rows)

    @property
    def _defers(self) -> bool:
        """Whether runs are left for another transaction: in a crowd, since a run takes two of the five round trips of
        an acknowledgement. On SQLite they take no trips."""
        return self._priority.is_crowded and not self._sqlite

    @asynccontextmanager
    async def _in_background(self) -> AsyncIterator[None]:
        """The turn of one that nobody waits for. Whether somebody waits is looked at when the turn has come: what stood
        in line would else go before a click that came meanwhile."""
        flooded = self._priority.is_flooded and not self._sqlite
        until = asyncio.get_running_loop().time() + (FLOOD_YIELD_SECONDS if flooded else YIELD_SECONDS)
        async with self._in_flood if flooded else nullcontext(), self._background:
            if not self._sqlite:
                await self._priority.wait_for_foreground(until)
            yield

    def _transaction(self, limit: asyncio.Timeout) -> AbstractAsyncContextManager[AsyncConnection]:
        deadline = limit.when()
        if not self._sqlite or deadline is None:
            return transaction(self._engine)
        # A statement that waits in SQLite cannot be called off from here: it has to know its limit itself.
        left = max(deadline - asyncio.get_running_loop().time(), 0)
        return transaction(self._engine.execution_options(wait=left, first=True))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        task = asyncio.current_task()
        if task in self._inside:
            raise NestedTransaction
        self._inside.add(task)
        try:
            yield
        finally:
            self._inside.discard(task)

    async def checkpoint(self) -> None:
        """Write SQLite's WAL back into its file with every writer locked out (storage/database.py says why); to be
        called every few seconds. Does nothing where the database looks after itself. Raises Unavailable."""
        if not (self._sqlite and CHECKPOINTS):
            return
        async with self.begin(), connected(self._reader) as other:
            await other.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")

    async def _ask(self, *questions: Any, **values: Any) -> list[Sequence[Row[Any]]]:
        """The rows of each question; `values` are those of all of them, by name."""
        if asyncio.current_task() in self._inside:
            raise NestedTransaction

        def ask() -> list[Sequence[Row[Any]]]:
            with self._reader.sync_engine.connect() as connection:
                return [connection.execute(question, values).all() for question in questions]

        limit = asyncio.timeout(READ_SECONDS)
        with reached(limit):
            async with limit:
                return await greenlet_spawn(ask)  # at once: AsyncConnection would make one for each call

    async def _one(self, question: Any, **values: Any) -> Row[Any] | None:
        (rows,) = await self._ask(question, **values)
        return rows[0] if rows else None

    def _now(self) -> Any:
        """The clock as a sub-query: asked once per statement, so that an index can be searched with it."""
        return select(clock(self.offset)).scalar_subquery()

    async def now(self) -> datetime:
        ((row,),) = await self._ask(select(clock(self.offset)))
        moment: datetime = row[0]
        return moment

    async def action(self, action_id: str) -> Action | None:
        row = await self._one(ACTION, of=action_id)
        (found,) = await to_actions([row], self.seals) if row else (None,)
        return found

    async def voted(self, action_id: str) -> tuple[Action, tuple[Vote, ...]] | None:
        (rows,) = await self._ask(VOTED, of=action_id)
        return to_voted(rows, self.seals) if rows else None

    def verified_args(self, name: str, args: Sequence[str]) -> tuple[str, ...] | None:
        *given, proof = args or ("",)
        right = hmac.compare_digest(self.seals.proof(name, given).encode(), proof.encode())
        return tuple(given) if right else None

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]:
        (rows,) = await self._ask(VOTES, of=action_id, version=version)
        return to_votes(rows, self.seals)

    async def due(self, within: float = 0.0, limit: int = 100) -> tuple[DueItem, ...]:
        (rows,) = await self._ask(due(self.offset, timedelta(seconds=within)), count=limit)
        found = (DueItem(row.kind, row.id, row.revision, (row.due - row.now).total_seconds()) for row in rows)
        return tuple(sorted(found, key=lambda due: due.left))

    async def lost_work(self, limit: int = 100) -> tuple[tuple[CardKey, ...], tuple[Session, ...]]:
        now = await self.now()
        given = {"count": limit, "now": now, "ts": f"{(now - LOST_AFTER).timestamp():.6f}"}
        cards, threads = await self._ask(lost_statement(self.offset), UNREAD_SINCE, **given)
        keys = tuple(CardKey(CardKind(row.kind), row.key) for row in cards)
        return keys, tuple(row.session for row in threads)

    async def pending(
        self, team: str, *, user: str | None = None, session: Session | None = None
    ) -> tuple[Action, ...]:
        (rows,) = await self._ask(undecided_actions(self._now(), team, user, session))
        return await to_actions(rows, self.seals)

    async def before_action(self, action_id: str, team: str, requester: str) -> ActionContext:
        given = {"of": action_id, "team": team, "requester": requester}
        ((row,),) = await self._ask(before_action(self.offset), **given)
        return ActionContext(bool(row.known), row.waiting)

    async def actions_of_turn(self, turn_id: str) -> tuple[Action, ...]:
        (rows,) = await self._ask(OF_TURN, of=turn_id)
        return await to_actions(rows, self.seals)

    async def actions_of_group(self, group: str) -> tuple[Action, ...]:
        of = select(actions).where(tables.GROUPED, actions.c.group.in_((group, group + OWN_CARD)))
        (rows,) = await self._ask(of.order_by(actions.c.call, actions.c.created_at, actions.c.id))
        return await to_actions(rows, self.seals)

    async def turn(self, turn_id: str) -> Turn | None:
        (rows,) = await self._ask(TURN, of=turn_id)
        return to_joined_turn(rows, self.seals) if rows else None

    async def has_session(self, session: Session) -> bool:
        return (
            await self.thread_starter(session) is not None
            or await self._one(UNREAD, session=session) is not None
        )

    async def thread_starter(self, session: Session) -> str | None:
        asked, said = await self._ask(FIRST_TASK, FIRST_TURN, session=session)
        return next((row.requester for row in (*asked, *said)), None)

    async def first_task(self, session: Session) -> str:
        row = await self._one(FIRST_TASK, session=session)
        return row.id if row else ""

    async def task(self, task_id: str) -> Task | None:
        return await to_one_task(await self._one(TASK, of=task_id), self.seals)

    async def opening(self, session: Session, requester: str) -> ThreadContext:
        day = datetime.now(UTC) - timedelta(days=1)  # what is older is not being worked on
        asked = {"session": session, "team": session.team, "requester": requester, "from_": day}
        ((row,),) = await self._ask(opening(self.offset), **asked)
        return ThreadContext(**row._mapping)

    async def tasks_of(self, session: Session, limit: int = 10, user: str = "") -> tuple[Task, ...]:
        (rows,) = await self._ask(TASKS_OF, session=session, count=limit, requester=user)
        return await to_tasks(rows, self.seals)

    async def tasks_awaiting_answer(self, team: str, user: str) -> tuple[tuple[Task, datetime | None], ...]:
        (ids,) = await self._ask(ASKING, team=team, requester=user)
        return await listed_tasks(self._ask, ids, self.seals)

    async def history(
        self, session: Session, since: datetime, limit: int = 30, but: str = ""
    ) -> tuple[Turn, ...]:
        (rows,) = await self._ask(HISTORY, session=session, since=since, count=limit, but=but)
        exchanges, found = tables.exchanges, list[Turn | None]()
        for first in range(0, len(rows), TURNS_AT_ONCE):
            some = rows[::-1][first : first + TURNS_AT_ONCE]
            said = select(exchanges).where(exchanges.c.turn.in_([row.id for row in some]))
            (replies,) = await self._ask(said.order_by(exchanges.c.turn, exchanges.c.index))
            for turn in to_turns(some, replies, self.seals):
                found.append(turn)
                await asyncio.sleep(0)
        return tuple(turn for turn in found if turn)

    async def opened_modal(self, view_id: str) -> OpenedModal | None:
        sheets = tables.sheets
        columns = [column for column in sheets.c if column.name != "opened_at"]
        row = await self._one(select(*columns).where(sheets.c.view_id == view_id))
        return loaded(OpenedModal, row) if row else None

    async def note(self, note_id: str) -> Note | None:
        row = await self._one(select(tables.notes).where(tables.notes.c.id == note_id))
        return loaded(Note, row) if row else None

    async def undoable(
        self, team: str, *, user: str | None = None, session: Session | None = None, limit: int = 10
    ) -> tuple[UndoEntry, ...]:
        stack = undo_stack.c
        in_time = or_(stack.until.is_(None), stack.until > self._now())
        entries = select(actions, stack.timestamp, stack.action_type, stack.undone).join_from(
            undo_stack, actions
        )
        entries = entries.where(tables.OPEN, stack.team == team, in_time, actions.c.state == State.SUCCEEDED)
        if user is not None:
            entries = entries.where(stack.user == user)
        if session is not None:
            entries = entries.where(stack.session_id == session)
        (rows,) = await self._ask(entries.order_by(*(column.desc() for column in tables.NEWEST)).limit(limit))
        found = zip(await to_actions(rows, self.seals), rows, strict=True)
        return tuple(UndoEntry(action, row.timestamp, row.action_type, row.undone) for action, row in found)

    async def audit_tail(
        self, *, team: str, user: str | None = None, session: Session | None = None, limit: int = 10
    ) -> tuple[Line, ...]:
        """The latest entries, newest first. `user`: those by this person, or about an action of theirs."""
        log = audit_log.c
        lines = select(audit_log).where(log.team == team, IN_CHAIN)
        if session is not None:
            lines = lines.where(log.session_id == session.key)
        # One search per index; with OR, the database would read on and on for the last few lines.
        about = (
            [lines] if user is None else [lines.where(log.actor == user), lines.where(log.requester == user)]
        )
        latest = [column.desc() for column in tables.LATEST]
        found = await self._ask(*(one.order_by(*latest).limit(limit) for one in about))
        unique = {row.seq: to_line(row) for rows in found for row in rows}
        return tuple(sorted(unique.values(), key=lambda line: (line.at, line.seq), reverse=True)[:limit])

    async def sampled(self, session: Session, action: str, limit: int = 20) -> tuple[Line, ...]:
        log = audit_log.c
        of = (log.session_id == session.key, log.action_id == action, log.event == "sampled")
        (rows,) = await self._ask(select(audit_log).where(*of).order_by(log.seq).limit(limit))
        return tuple(to_line(row) for row in rows)

    async def confidential(self, ids: Collection[str]) -> frozenset[str]:
        (rows,) = await self._ask(select(actions).where(actions.c.id.in_(ids)))
        return frozenset(one.id for one in await to_actions(rows, self.seals) if is_confidential(one))

    async def posted(self, key: str) -> Posted | None:
        row = await self._one(POSTED, of=key)
        return loaded(Posted, row) if row else None

    async def posted_of(self, keys: Sequence[str]) -> dict[str, Posted]:
        (rows,) = await self._ask(POSTED_OF, keys=list(keys)) if keys else ((),)
        return {row.key: loaded(Posted, row) for row in rows}

    async def shown_after(self, session: Session, since: str, to: str, but: str = UNDECIDED) -> bool:
        return await self._one(SHOWN_AFTER, **below_card(session, since, to, but)) is not None

    async def others_wrote(self, incoming: Incoming, since: str) -> bool:
        session = incoming.session
        place = f"{session.team}:{session.channel}:"
        between = {"since": place + since, "until": place + incoming.ts}
        return await self._one(OTHERS_WROTE, session=session, but=incoming.user, **between) is not None

    async def set_posted(self, key: str, posted: Posted) -> None:
        async with self.begin() as tx:
            await tx.posted(key, posted)

    async def begin_drawing(self, key: str) -> Posted | None:
        async with self.begin() as tx:
            row = (await tx.execute(BEGIN_DRAWING, {"of": key})).one_or_none()
        return loaded(Posted, row) if row else None

    async def count_failed_draws(self, runs: Mapping[str, int]) -> None:
        async with self.begin() as tx:
            for key, number in sorted(runs.items()):
                await tx.execute(FAILED_DRAW, {"of": key, "number": number})

    async def reopen_drawing(self, key: str) -> bool:
        async with self.begin() as tx:
            return await tx.ask(key) is not None

    async def purge(self, before: datetime) -> None:
        """Forget what was kept for a while only, from before then, but no message of a thread in which something waits;
        close undo entries that are out of time."""
        sheets, stack = tables.sheets, undo_stack
        await self._write(
            delete(inbox).where(inbox.c.done_at.is_not(None), inbox.c.done_at < before, ~WAITS_IN_THREAD),
            delete(sheets).where(sheets.c.opened_at < before),
            delete(server_questions).where(CLOSED_UNANSWERED, server_questions.c.created_at < before),
            delete(task_tables.events).where(task_tables.events.c.at < before),
            delete(api_tables.answers).where(api_tables.answers.c.at < before),
            update(stack)
            .where(tables.OPEN, stack.c.until <= self._now())
            .values(closed_at=clock(self.offset)),
        )
        for _ in range(MAKER_PAGES):
            await self._purge_makers(before)

    async def _purge_makers(self, before: datetime) -> None:
        """Forget, of the next page, which token proposed what was not stored: such rows wrote versions before."""
        (rows,) = await self._ask(MAKERS, of=self._makers_seen, count=MAKER_PAGE)
        self._makers_seen = rows[-1].id if len(rows) == MAKER_PAGE else ""
        stale = [row.id for row in rows if not row.stored and row.at < before]
        if stale:
            await self._write(delete(api_tables.made).where(api_tables.made.c.id.in_(stale)))

    async def _write(self, *statements: Any) -> None:
        async with self.begin() as tx:
            for statement in statements:
                await tx.execute(statement)
