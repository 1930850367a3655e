"""One transaction of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ClauseElement, Connection, CursorResult, and_, bindparam, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gate.action import Action, Inverse, Json, Session, Vote
from gate.audit import Entry
from gate.happenings import of_action
from gate.runs import Run
from gate.states import Event, State, after
from gate.talk import Exchange, Incoming, Told, Turn
from gate.task import Task
from gate.task_states import TaskEvent
from gate.task_states import after as follow
from gate.world import Happening, Note, Sheet, Stale, StaleTask
from storage import questions, tables
from storage.api_tables import made
from storage.chain import append
from storage.changes import GUARDS, changed, kept
from storage.columns import Words, clock
from storage.events import happened
from storage.learnt import LearntTx
from storage.reviews import ReviewsTx
from storage.rows import LOOK, action_row, insert, plain, task_row, to_action, to_exchange, to_task, to_turn
from storage.subscriptions import HooksTx
from storage.tables import actions, inbox
from storage.task_tables import HOLDS, tasks

IN_TURN = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("key", type_=Words), 0)))
Enqueue = Callable[[Connection, Run], None]


class SqlTx:
    """gate.world.Tx over one connection. Entries and runs are kept until `finish`, which the ledger calls."""

    def __init__(self, connection: AsyncConnection, offset: timedelta, token: str = "") -> None:
        self._connection, self._token = connection, token
        self._offset = offset
        self._clock = clock(offset)
        self._entries: list[Entry] = []
        self._runs: list[Run] = []
        self._happenings: list[Happening] = []
        self._changed: dict[
            str, tuple[int, Action]
        ] = {}  # version before this transaction, and how it stands now

    @property
    def learnt(self) -> LearntTx:
        return LearntTx(self, self._connection.dialect.name, self._offset)

    @property
    def reviews(self) -> ReviewsTx:
        return ReviewsTx(self)

    @property
    def hooks(self) -> HooksTx:
        return HooksTx(self, self._connection.dialect.name, self._in_turn)

    def audit(self, entry: Entry) -> None:
        self._entries.append(replace(entry, token=self._token) if self._token else entry)

    async def token_of(self, task: str, turn: str) -> str:
        asked = questions.TOKEN_OF_TASK if task else questions.TOKEN_OF_TURN
        return (await self.execute(asked, {"of": task or turn})).scalar() or "" if task or turn else ""

    async def made_by(self, token: str, action_id: str) -> None:
        row = {"id": action_id, "token": token, "at": self._clock}
        await self.execute(self._new(made).values(row).on_conflict_do_nothing())

    def enqueue(self, run: Run) -> None:
        self._runs.append(run)

    @property
    def due(self) -> bool:
        """Whether it asks for a run that may begin at once."""
        return any(run.delay <= 0 for run in self._runs)

    @property
    def heard(self) -> bool:
        """Whether it tells API clients something."""
        return bool(self._happenings or self._changed)

    async def finish(self, enqueue: Enqueue, key: bytes) -> None:
        """Write runs, then audit entries and events: the ends of both logs are locked for the shortest time."""

        def enqueue_all(connection: Connection) -> None:
            for run in self._runs:
                enqueue(connection, run)

        if self._runs:
            await self._connection.run_sync(enqueue_all)
        if self._entries:
            await append(self._connection, key, self._entries, self._offset)
        if self.heard:
            await self._tell()

    async def _tell(self) -> None:
        """Write the events, in turn with everybody else until the commit: whoever reads up to a number has then
        seen all before it."""
        await self._in_turn("events")
        of_actions = [told for changed in self._changed.values() for told in of_action(*changed)]
        for one in (*self._happenings, *of_actions):
            await self.execute(happened(self._offset), {**plain(one), "team": one.session.team})

    def _touched(self, version: int, action: Action) -> Action:
        first, _ = self._changed.get(action.id, (version, action))
        self._changed[action.id] = (first, action)
        return action

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]:
        """One statement of the ledger's own in this transaction."""
        result: CursorResult[Any] = await self._connection.execute(statement, values)
        return result

    async def now(self) -> datetime:
        moment: datetime = (await self.execute(select(self._clock))).scalar_one()
        return moment

    async def insert(self, action: Action) -> Action:
        new = self._new(actions).values(action_row(action, self._offset)).on_conflict_do_nothing()
        row = (await self.execute(new.returning(*actions.c))).one_or_none()
        found = self._touched(0, to_action(row)) if row else await self.action(action.id)
        assert found is not None  # neither inserted nor there: nothing deletes actions
        return found

    async def action(self, action_id: str) -> Action | None:
        row = (await self.execute(questions.LOCKED_ACTION, {"of": action_id})).one_or_none()
        return to_action(row) if row else None

    async def move(self, action: Action, event: Event, *, lost: bool = False, **changes: Any) -> Action:
        version = action.version + (event is Event.EDIT)
        moved = changed(action, changes, version=version, state=after(action.state, event))
        moved = await self._guarded(action, moved, *self._in_time(action, event, lost))
        return self._touched(action.version, moved)

    async def keep(self, action: Action, **changes: Any) -> Action:
        now = await self._guarded(action, changed(action, changes))
        return self._touched(action.version, now) if "preview" in changes else now

    def _in_time(self, action: Action, event: Event, lost: bool) -> list[Any]:
        """The condition on the clock, compared inside the statement that also wins the race."""
        if action.state is not State.PREPARED or event is Event.SUPERSEDE or lost:
            return []
        expired = actions.c.expires_at <= self._clock
        return [expired if event is Event.EXPIRE else ~expired]

    async def _guarded(self, action: Action, now: Action, *conditions: Any) -> Action:
        guards = [actions.c[name] == getattr(action, name) for name in sorted(GUARDS)]
        statement = update(actions).where(*guards, *conditions).values(action_row(now, self._offset))
        row = (await self.execute(statement.returning(*actions.c))).one_or_none()
        if row is None:
            raise Stale(await self.action(action.id))
        return to_action(row)

    async def waiting(self, team: str, user: str) -> int:
        await self._in_turn(f"{team}:{user}")
        own = (tables.PREPARED, actions.c.team == team, actions.c.requester == user)
        count = select(func.count()).select_from(actions).where(*own, actions.c.expires_at > self._clock)
        found: int = (await self.execute(count)).scalar_one()
        return found

    async def vote(self, vote: Vote) -> bool:
        return await self._put(tables.votes, plain(vote))

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]:
        return tuple(
            Vote(**row._mapping)
            for row in await self.execute(questions.VOTES, {"of": action_id, "version": version})
        )

    async def receive(self, incoming: Incoming) -> bool:
        return await self._put(inbox, {**plain(incoming), "reader": ""})

    async def take(self, session: Session, reader: str, seconds: float) -> Incoming | None:
        await self._in_turn(session.key)  # so that no reader misses what another has just put down
        waiting = and_(inbox.c.session == session, inbox.c.done_at.is_(None))
        held = and_(waiting, inbox.c.reader != reader, inbox.c.held_until > self._clock)
        if (await self.execute(select(inbox.c.key).where(held).limit(1))).first():
            return None
        oldest = select(inbox.c.key).where(waiting).order_by(inbox.c.ts, inbox.c.key).limit(1)
        until = clock(self._offset + timedelta(seconds=seconds))
        taken = update(inbox).where(inbox.c.key == oldest.scalar_subquery())
        row = (await self.execute(taken.values(reader=reader, held_until=until).returning(inbox))).first()
        return Incoming(row.key, row.session, row.user, row.text, row.ts, row.mentioned) if row else None

    async def done_with(self, key: str) -> None:
        done = update(inbox).where(inbox.c.key == key, inbox.c.done_at.is_(None))
        await self.execute(done.values(done_at=self._clock))

    async def open_turn(self, turn: Turn) -> Turn:
        row = {name: value for name, value in plain(turn).items() if name != "exchanges"}
        if not await self._put(tables.turns, row):
            found, said = [
                await self.execute(query, {"of": turn.id}) for query in (questions.TURN, questions.EXCHANGES)
            ]
            return to_turn(found.one(), said)
        for index, exchange in enumerate(turn.exchanges):
            await self.exchange(turn.id, index, exchange)
        return turn

    async def exchange(self, turn_id: str, index: int, exchange: Exchange) -> Exchange:
        if await self._put(tables.exchanges, {"turn": turn_id, "index": index, **plain(exchange)}):
            return exchange
        place = (tables.exchanges.c.turn == turn_id, tables.exchanges.c.index == index)
        return to_exchange((await self.execute(select(tables.exchanges).where(*place))).one())

    async def told(self, turn_id: str, index: int, told: tuple[Told, ...]) -> None:
        place = (tables.exchanges.c.turn == turn_id, tables.exchanges.c.index == index)
        await self.execute(update(tables.exchanges).where(*place).values(told=told))

    async def open_task(self, task: Task) -> Task | None:
        inserted = await self._put(tasks, task_row(task, self._offset))
        return task if inserted else await self.task(task.id)

    async def task(self, task_id: str) -> Task | None:
        row = (await self.execute(questions.LOCKED_TASK, {"of": task_id})).one_or_none()
        return to_task(row) if row else None

    async def holder(self, session: Session) -> Task | None:
        await self._in_turn(f"task:{session.key}")
        held = select(tasks).where(HOLDS, tasks.c.session == session)
        row = (await self.execute(held)).one_or_none()
        return to_task(row) if row else None

    async def move_task(self, task: Task, event: TaskEvent, **changes: Any) -> Task:
        return await self._put_task(task, kept(task, changes, state=follow(task.state, event)))

    async def keep_task(self, task: Task, **changes: Any) -> Task:
        return await self._put_task(task, kept(task, changes))

    async def _put_task(self, task: Task, now: Task) -> Task:
        guards = [tasks.c[name] == getattr(task, name) for name in ("id", "revision", "state")]
        statement = update(tasks).where(*guards).values(task_row(now, self._offset))
        row = (await self.execute(statement.returning(*tasks.c))).one_or_none()
        if row is None:
            raise StaleTask(await self.task(task.id))
        return to_task(row)

    async def look_later(self, task_id: str) -> None:
        later = update(tasks).where(tasks.c.id == task_id, tasks.c.due.is_not(None))
        await self.execute(later.values(due=clock(self._offset + LOOK)))

    def emit(self, happening: Happening) -> None:
        self._happenings.append(happening)

    async def note(self, note: Note) -> bool:
        return await self._put(tables.notes, plain(note))

    async def sheet(self, sheet: Sheet) -> None:
        row = {**plain(sheet), "opened_at": self._clock}
        new = self._new(tables.sheets).values(row)
        await self.execute(new.on_conflict_do_update(index_elements=["view_id"], set_=row))

    async def push_undo(self, action: Action, inverse: Inverse, kind: str, before: Json, after: Json) -> None:
        row = {
            "session_id": action.session,
            "timestamp": self._clock,
            "tool_name": action.name,
            "action_type": kind,
            "original_state": before,
            "new_state": after,
            "undone": False,
            "action_id": action.id,
            "team": action.session.team,
            "user": action.requester,
            "until": inverse.until,
        }
        await self._put(tables.undo_stack, row)

    async def mark_undone(self, action_id: str) -> None:
        stack = tables.undo_stack
        done = update(stack).where(stack.c.action_id == action_id, ~stack.c.undone)
        await self.execute(done.values(undone=True, closed_at=self._clock))

    async def _in_turn(self, key: str) -> None:
        """Wait until no other transaction is in turn for this key. On SQLite there is only one at a time."""
        if self._connection.dialect.name == "postgresql":
            await self.execute(IN_TURN, {"key": key})

    def _new(self, table: Any) -> Any:
        return insert(table, self._connection.dialect.name)

    async def _put(self, table: Any, row: dict[str, Any]) -> bool:
        """Insert unless it is there already; whether it was inserted."""
        made = {name: value for name, value in row.items() if isinstance(value, ClauseElement)}
        given = {name: value for name, value in row.items() if name not in made}
        new = questions.unless_there(table, self._connection.dialect.name)
        return (await self.execute(new.values(made) if made else new, given)).first() is not None
