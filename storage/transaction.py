"""One transaction of the ledger."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Unpack

from sqlalchemy import ClauseElement, Connection, CursorResult, bindparam, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from gate.rules.action import Action, Inverse, Json, Session, Vote
from gate.rules.action_states import Event, State, after
from gate.rules.audit import Entry, Line, is_genuine
from gate.rules.due_times import IDLE_SECONDS, card_waited_at
from gate.rules.events import of_action
from gate.rules.jobs import Run, card, owned
from gate.rules.ledger_ports import ActionParts, TaskParts
from gate.rules.messages import CardKey, CardKind
from gate.rules.planner_port import CallReport, Exchange, Incoming, Turn
from gate.rules.ports import LedgerEvent, Limits, Note, OpenedModal, Posted, Stale, StaleTask, TooManyWaiting
from gate.rules.task import Task
from gate.rules.task_states import TaskEvent
from gate.rules.task_states import after as follow
from storage import statements, tables
from storage.api_tables import made
from storage.audit_log import Chain, append, decisive, in_turn
from storage.columns import Words, clock
from storage.events import event_of_row
from storage.grants import GrantsTx
from storage.posted_messages import request_statement, upsert_statement
from storage.reviews import ReviewsTx
from storage.row_macs import row_macs_of
from storage.rows import (
    action_row,
    inbox_row,
    insert,
    plain,
    raise_altered,
    task_due,
    task_row,
    to_action,
    to_exchange,
    to_joined_turn,
    to_line,
    to_one_task,
    to_votes,
)
from storage.server_questions import QuestionsTx
from storage.tables import actions, inbox
from storage.task_tables import HOLDS, tasks
from storage.transition_guard import action_with_changes, task_with_changes
from storage.webhook_subscriptions import HooksTx

IN_TURN = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("key", type_=Words), 0)))
NOTHING: Mapping[str, Any] = MappingProxyType({})
log = logging.getLogger(__name__)
# Puts a run into the queue; False where it is not in the queue, and goes on in this process.
Enqueue = Callable[[Connection, Run], bool | None]


class SqlTx:
    """gate.rules.ports.Tx over one connection. Entries and runs are kept until `finish`, which the ledger calls."""

    def __init__(
        self, connection: AsyncConnection, offset: timedelta, chain: Chain, limits: Limits, token: str = ""
    ) -> None:
        self._connection, self._chain, self._token = connection, chain, token
        self._limits = limits
        self._seals = row_macs_of(chain.key)
        self._offset = offset
        self._clock = clock(offset)
        self._locked_at: datetime | None = None  # the database's clock when the last row was locked
        self._entries: list[Entry] = []
        self._runs: list[Run] = []
        self.due = False  # whether a run was written that may begin at once
        self._cards: dict[CardKey, float] = {}  # to be brought up to date, and in how many seconds
        self.hurried: list[str] = []  # of these, those to be drawn at once for which a run waits already
        self.signalled: list[Task] = []
        self._happenings: list[LedgerEvent] = []
        self._tokens: dict[str, str] = {}  # that opened the tasks read here, by their ids
        self._changed: dict[
            str, tuple[int, Action]
        ] = {}  # version before this transaction, and how it stands now

    @property
    def token(self) -> str:
        """The id of the API token that it is made for; "" elsewhere."""
        return self._token

    @property
    def grants(self) -> GrantsTx:
        return GrantsTx(self, self._connection.dialect.name, self._offset, self._seals)

    @property
    def reviews(self) -> ReviewsTx:
        return ReviewsTx(self)

    @property
    def questions(self) -> QuestionsTx:
        return QuestionsTx(self, self._offset, self._seals)

    @property
    def hooks(self) -> HooksTx:
        return HooksTx(self, self._connection.dialect.name, self._in_turn, self._seals)

    def audit(self, entry: Entry) -> None:
        self._entries.append(replace(entry, token=self._token) if self._token else entry)

    async def token_of(self, task: str, turn: str) -> str:
        if task in self._tokens:
            return self._tokens[task]
        asked = statements.TOKEN_OF_TASK if task else statements.TOKEN_OF_TURN
        return (await self.execute(asked, {"of": task or turn})).scalar() or "" if task or turn else ""

    async def record_token(self, token: str, action_id: str) -> None:
        row = {"id": action_id, "token": token, "at": self._clock}
        self._tokens.pop(action_id, None)
        await self.execute(self._new(made).values(row).on_conflict_do_nothing())

    def enqueue(self, run: Run) -> None:
        args = (*run.args, self._seals.proof(run.name, run.args)) if run.proved else run.args
        self._runs.append(owned(replace(run, args=args)))

    def defer(self) -> list[Run]:
        """Take out the runs that may be written after this transaction, since the sweep asks for them where they are
        lost."""
        later = [run for run in self._runs if run.found_again]
        self._runs = [run for run in self._runs if not run.found_again]
        return later

    def request_card(self, card: CardKey, within: float = 0.0) -> None:
        self._cards[card] = min(within, self._cards.get(card, within))

    def notify_status(self, task: Task) -> None:
        self.signalled.append(task)

    async def ask(self, key: str) -> int | None:
        """Ask for a card: the number of the run that is to draw it, None where one waits already."""
        row = (await self.execute(request_statement(self._dialect, self._offset), {"of": key})).one_or_none()
        return row.asked if row else None

    async def _ask_for_cards(self) -> None:
        """In the order of their keys, so that no two transactions wait for each other's rows."""
        for one, within in sorted(self._cards.items(), key=lambda asked: asked[0].id):
            number = await self.ask(one.id)
            if number is not None:
                self.enqueue(card(one.kind, one.id, within, number))
            elif within <= 0:
                self.hurried.append(one.id)

    async def posted(self, key: str, now: Posted, before: int | None = None) -> bool:
        row = {f"new_{name}": getattr(now, name) for name in ("channel", "ts", "revision", "digest")}
        given = {"of": key, **row} | ({} if before is None else {"before": before})
        put = upsert_statement(self._dialect, self._offset, guarded=before is not None)
        return (await self.execute(put, given)).first() is not None

    @property
    def _dialect(self) -> str:
        return self._connection.dialect.name

    @property
    def heard(self) -> bool:
        """Whether it tells API clients something."""
        return bool(self._happenings or self._changed)

    async def finish(self, enqueue: Enqueue) -> None:
        """Write runs, then audit entries and events: the ends of both logs are locked for the shortest time."""
        await self._ask_for_cards()

        def enqueue_all(connection: Connection) -> None:
            for run in self._runs:
                self.due |= enqueue(connection, run) is not False and run.delay <= 0

        if self._runs:
            await self._connection.run_sync(enqueue_all)
        event_rows = self._event_rows()
        if self._entries:
            await append(self._connection, self._chain, self._entries, self._offset, event_rows)
        elif event_rows:
            await in_turn(self._connection)
            await self.execute(event_of_row(self._offset), event_rows)

    def _event_rows(self) -> list[dict[str, Any]]:
        """The rows of the events. They are written in turn with everybody else until the commit, which the lock on the
        end of the audit log sees to: whoever reads up to a number has then seen all before it."""
        of_actions = [told for changed in self._changed.values() for told in of_action(*changed)]
        return [{**plain(one), "team": one.session.team} for one in (*self._happenings, *of_actions)]

    def _touched(self, version: int, action: Action) -> Action:
        first, _ = self._changed.get(action.id, (version, action))
        self._changed[action.id] = (first, action)
        return action

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]:
        """One statement of the ledger's own in this transaction."""
        result: CursorResult[Any] = await self._connection.execute(statement, values)
        return result

    async def now(self) -> datetime:
        if self._locked_at is None:
            self._locked_at = (await self.execute(select(self._clock))).scalar_one()
        return self._locked_at

    async def insert(self, action: Action) -> Action:
        if await self._added(actions, action_row(action, self._offset, self._seals)):
            return self._touched(0, action)
        found = await self.action(action.id)
        assert found is not None  # neither inserted nor there: nothing deletes actions
        return found

    async def action(self, action_id: str) -> Action | None:
        row = await self._locked(statements.locked(actions, self._offset), action_id)
        return to_action(row, self._seals) if row else None

    async def _locked(self, statement: Any, of: str) -> Any:
        row = (await self.execute(statement, {"of": of})).one_or_none()
        self._locked_at = row.locked_at if row else self._locked_at
        return row

    async def confirmation_on_record(self, action: Action) -> tuple[datetime, datetime | None]:
        rows = (await self.execute(decisive(self._offset), {"of": action.id})).all()
        moment: datetime = rows[0].now
        lines = [to_line(row) for row in rows if row.seq is not None]
        over = any(line.entry.event in ("started", "cancelled") for line in lines)
        confirmed = [line.at for line in lines if self._confirms(line, action)]
        return moment, None if over else max(confirmed, default=None)

    def _confirms(self, line: Line, action: Action) -> bool:
        """Whether this entry, as the key shows that it was written, is the yes to exactly this."""
        said = line.entry
        same = (said.event, said.action, said.version, said.receipt, said.session, said.tool, said.actor) == (
            "confirmed",
            action.id,
            action.version,
            action.receipt,
            action.session.key,
            action.name,
            action.decided_by,
        )
        return same and is_genuine(self._chain.key, line)

    async def move(
        self, action: Action, event: Event, *, lost: bool = False, **changes: Unpack[ActionParts]
    ) -> Action:
        version = action.version + (event is Event.EDIT)
        moved = action_with_changes(action, changes, version=version, state=after(action.state, event))
        moved = await self._guarded(action, moved, *self._in_time(action, event, lost))
        return self._touched(action.version, moved)

    async def update_action(self, action: Action, **changes: Unpack[ActionParts]) -> Action:
        now = await self._guarded(action, action_with_changes(action, changes))
        return self._touched(action.version, now) if "proposal" in changes else now

    def _in_time(self, action: Action, event: Event, lost: bool) -> list[Any]:
        """The condition on the clock, compared inside the statement that also wins the race."""
        if action.state is not State.PREPARED or event is Event.SUPERSEDE or lost:
            return []
        expired = actions.c.expires_at <= self._clock
        return [expired if event is Event.EXPIRE else ~expired]

    async def _guarded(self, action: Action, now: Action, *conditions: Any) -> Action:
        row = action_row(now, self._offset, self._seals)
        if not await self._replaced(actions, action, row, *conditions):
            raise Stale(await self.action(action.id))
        return now

    async def count_pending(self, team: str, user: str) -> int:
        await self._in_turn(f"{team}:{user}")
        count = statements.count_waiting(self._offset)
        found: int = (await self.execute(count, {"team": team, "requester": user})).scalar_one()
        return found

    async def count_pending_of_agents(self, token: str, team: str, user: str) -> int:
        count = statements.count_waiting_of_agents(self._offset)
        values = {"token": token, "team": team, "requester": user}
        found: int = (await self.execute(count, values)).scalar_one()
        return found

    async def vote(self, vote: Vote) -> bool:
        return await self._put(tables.votes, plain(vote))

    async def votes(self, action_id: str, version: int) -> tuple[Vote, ...]:
        rows = await self.execute(statements.VOTES, {"of": action_id, "version": version})
        return to_votes(rows, self._seals)

    async def receive(self, incoming: Incoming, most: int | None = None) -> bool:
        row = inbox_row(incoming, self._seals)
        if most is None:
            return await self._added(inbox, row)
        put = statements.unless_crowded(self._connection.dialect.name)
        if (await self.execute(put, {**row, "most": most})).first() is not None:
            return True
        if (await self.execute(select(inbox.c.key).where(inbox.c.key == incoming.key))).first() is None:
            raise TooManyWaiting
        return False

    async def reserve_message(
        self, session: Session, reader: str, seconds: float, done: str = ""
    ) -> Incoming | None:
        await self._in_turn(session.key)  # so that no reader misses what another has just put down
        reserve = statements.reserve_after(self._offset, timedelta(seconds=seconds))
        rows = await self.execute(reserve, {"of_session": session, "by": reader, "done": done})
        row = next((row for row in rows if row.key != done), None)
        if row and not self._seals.holds(inbox, row):  # nobody of whom we know has said that
            log.error("A message in the inbox is not as it was written, and is not read.")
            return await self.reserve_message(session, reader, seconds, row.key)
        return Incoming(row.key, row.session, row.user, row.text, row.ts, row.mentioned) if row else None

    async def finish_message(self, key: str) -> None:
        done = update(inbox).where(inbox.c.key == key, inbox.c.done_at.is_(None))
        await self.execute(done.values(done_at=self._clock))

    async def open_turn(self, turn: Turn) -> Turn:
        row = {name: value for name, value in plain(turn).items() if name != "exchanges"}
        if not await self._put(tables.turns, row):
            rows = (await self.execute(statements.TURN, {"of": turn.id})).all()
            return to_joined_turn(rows, self._seals) or raise_altered("turn", turn.id)
        for index, exchange in enumerate(turn.exchanges):
            await self.store_exchange(turn.id, index, exchange)
        return turn

    async def store_exchange(self, turn_id: str, index: int, exchange: Exchange) -> Exchange:
        if await self._put(tables.exchanges, {"turn": turn_id, "index": index, **plain(exchange)}):
            return exchange
        place = (tables.exchanges.c.turn == turn_id, tables.exchanges.c.index == index)
        row = (await self.execute(select(tables.exchanges).where(*place))).one()
        return (
            to_exchange(row) if self._seals.holds(tables.exchanges, row) else raise_altered("turn", turn_id)
        )

    async def record_reports(self, turn_id: str, index: int, reports: tuple[CallReport, ...]) -> None:
        await self.execute(statements.REPORTS, {"of": turn_id, "place": index, "told": reports})

    async def open_task(self, task: Task) -> Task | None:
        inserted = await self._put(tasks, {**task_row(task), "due": self._task_due(task)})
        return task if inserted else await self.task(task.id)

    async def task(self, task_id: str) -> Task | None:
        row = await self._locked(statements.locked_task(self._offset), task_id)
        if row:
            self._tokens[task_id] = row.token or ""
        return await to_one_task(row, self._seals)

    async def thread_holder(self, session: Session) -> Task | None:
        await self._in_turn(f"task:{session.key}")
        held = select(tasks).where(HOLDS, tasks.c.session == session)
        row = (await self.execute(held)).one_or_none()
        return await to_one_task(row, self._seals)

    async def move_task(self, task: Task, event: TaskEvent, **changes: Unpack[TaskParts]) -> Task:
        return await self._put_task(task, task_with_changes(task, changes, state=follow(task.state, event)))

    async def update_task(self, task: Task, **changes: Unpack[TaskParts]) -> Task:
        return await self._put_task(task, task_with_changes(task, changes))

    async def _put_task(self, task: Task, now: Task) -> Task:
        row = self._seals.sealed(tasks, task_row(now))
        if not card_waited_at(now) or card_waited_at(now) != card_waited_at(task):
            row["due"] = self._task_due(now)  # else it still waits for the same, and for no longer
        if not await self._replaced(tasks, task, row):
            raise StaleTask(await self.task(task.id))
        return now

    def _task_due(self, task: Task) -> Any:
        return task_due(task, self._offset, self._limits)

    async def set_sweep_time(self, task: Task, moment: datetime) -> None:
        same = update(tasks).where(tasks.c.id == task.id, tasks.c.revision == task.revision)
        await self.execute(same.values(due=moment))

    async def postpone_sweep(self, task_id: str) -> None:
        late = update(tasks).where(tasks.c.id == task_id, tasks.c.due <= self._clock)
        await self.execute(late.values(due=clock(self._offset + timedelta(seconds=IDLE_SECONDS))))

    def publish(self, happening: LedgerEvent) -> None:
        self._happenings.append(happening)

    async def note(self, note: Note) -> bool:
        new = await self._put(tables.notes, plain(note))
        if new:
            self.request_card(CardKey(CardKind.NOTE, note.id))
        return new

    async def save_modal(self, sheet: OpenedModal) -> None:
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
        """Insert unless it is there already, with its MAC where it has one; whether it was inserted."""
        return await self._added(table, self._seals.sealed(table, row) if "mac" in table.c else row)

    async def _added(self, table: Any, row: dict[str, Any]) -> bool:
        """Insert a row as it is unless it is there already; whether it was inserted."""
        return await self._wrote(statements.unless_there(table, self._dialect), row) is not None

    async def _replaced(self, table: Any, before: Any, row: dict[str, Any], *conditions: Any) -> bool:
        """Update the row of an action or a task; False where it does not stand as it did `before`."""
        statement = statements.guarded(table, self._offset)
        was = {f"was_{name}": getattr(before, name) for name in statements.GUARDED[table.name]}
        written = await self._wrote(statement.where(*conditions) if conditions else statement, row, was)
        self._locked_at = written.locked_at if written else self._locked_at
        return written is not None

    async def _wrote(self, statement: Any, row: dict[str, Any], given: Mapping[str, Any] = NOTHING) -> Any:
        """Execute a statement that was built once, with the values of a row; the first row that it returns. What the
        database has to work out is built into it: that costs more than to send it."""
        made = {name: value for name, value in row.items() if isinstance(value, ClauseElement)}
        values = {name: value for name, value in row.items() if name not in made}
        written = await self.execute(statement.values(made) if made else statement, {**values, **given})
        return written.first()
