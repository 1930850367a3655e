"""Grants, taints and history in SQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol

from sqlalchemy import CursorResult, Row, and_, bindparam, case, exists, func, or_, select, true, update

from gate.rules.access import TokenKind
from gate.rules.action import Action, Json, Session
from gate.rules.action_states import State
from gate.rules.canonical_json import spelled, stored_args
from gate.rules.confidence import is_of_its_kind
from gate.rules.grant_ports import WORDS_OF_OTHERS, Past
from gate.rules.grants import Grant
from gate.rules.tool import Pin
from storage import advisers
from storage.api_tables import made, tokens
from storage.codec import args_in, quoted
from storage.columns import clock, unpacked
from storage.grant_tables import STANDING, grants, taints
from storage.row_macs import RowMacs
from storage.rows import insert, loaded, plain
from storage.sqlite_driver import SLOW
from storage.tables import OF_A_TOOL, ORDER, RAN, actions, tool_pins, turns
from storage.task_tables import tasks

LATEST = 5  # earlier calls of a tool that are looked at
MOST_LOOKED_AT = 200  # of a person's calls of one tool in one thread, for one just like another
MOST_READ = 2_000_000  # characters of these, of which all have what the one asked for has
MOST_PARTS = 20  # of its arguments that are looked for in the others
MARK = "\0number"
IN_PLACE = quoted(spelled(MARK))[1:-1]  # as it stands in a text that holds JSON
_OUTSIDE = (taints.c.session == bindparam("session"), taints.c.outside, taints.c.at >= bindparam("since"))
_EARLIER = (
    select(actions.c.state, actions.c.proposal, *ORDER)
    .where(RAN, *(column == bindparam(column.name) for column in OF_A_TOOL), actions.c.id != bindparam("id"))
    .order_by(*(column.desc() for column in ORDER))
    .limit(LATEST)
    .subquery()
)
_ONCE = select(exists().where(*_OUTSIDE).label("tainted")).subquery()
# Whether a thread has read from outside since a moment, and with it the latest other calls of a tool that ran: at least
# one row.
PAST = (
    select(_ONCE.c.tainted, _EARLIER.c.state, _EARLIER.c.proposal)
    .select_from(_ONCE.outerjoin(_EARLIER, true()))
    .order_by(_EARLIER.c.created_at.desc(), _EARLIER.c.id.desc())
)


@cache
def _standing_for(offset: timedelta) -> Any:
    """The grants that stand for a person, a thread and a tool, the earliest first."""
    of = [grants.c[name] == bindparam(name) for name in ("session", "server", "tool")]
    found = select(grants).where(STANDING, *of, grants.c.until > clock(offset))
    return found.where(grants.c.user == bindparam("requester")).order_by(grants.c.given_at, grants.c.id)


def to_grants(rows: Iterable[Row[Any]], seals: RowMacs) -> tuple[Grant, ...]:
    """The grants that are as they were written, but for those taken back, which have lost their MAC."""
    return tuple(loaded(Grant, row) for row in rows if row.revoked_at is not None or seals.holds(grants, row))


def _without(args: Mapping[str, Json], names: Collection[str]) -> Mapping[str, Json]:
    return {name: value for name, value in args.items() if name not in names}


def _parts(action: Action, bound: Collection[str]) -> list[str]:
    """What stands in a proposal with the same arguments but for the `bound` ones, which come in the order of their
    names: what is between these, and between numbers, which have several spellings (5 and 5.0). Of many parts the
    longest."""
    args, runs = stored_args(action.args), [dict[str, Json]()]
    for name in sorted({*args, *bound}):
        if name in bound:
            runs.append({})
        else:
            runs[-1][name] = _without_numbers(args[name])
    texts = (quoted(spelled(run))[2:-2] for run in runs if run)  # without the braces
    parts = dict.fromkeys(part for text in texts for part in text.split(IN_PLACE))
    return sorted(parts, key=len, reverse=True)[:MOST_PARTS]


def _without_numbers(value: Json) -> Json:
    """The value with a mark in the place of each number."""
    if isinstance(value, dict):
        return {name: _without_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_without_numbers(one) for one in value]
    return MARK if isinstance(value, int | float) and not isinstance(value, bool) else value


class Executing(Protocol):
    """What is needed of a transaction. `token`: the id of the API token that it is made for; "" elsewhere."""

    @property
    def token(self) -> str: ...

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]: ...


class GrantsTx:
    """gate.rules.grant_ports.GrantsTx. `dialect`: of the database; `offset` is added to its clock."""

    def __init__(self, tx: Executing, dialect: str, offset: timedelta, seals: RowMacs) -> None:
        self._tx, self._dialect, self._clock, self._seals = tx, dialect, clock(offset), seals
        self._offset = offset

    async def give(self, grant: Grant) -> bool:
        row = self._seals.sealed(grants, {**plain(grant), "team": grant.session.team})
        new = insert(grants, self._dialect).values(row).on_conflict_do_nothing()
        return (await self._tx.execute(new.returning(grants.c.id))).first() is not None

    async def grant(self, grant_id: str) -> Grant | None:
        found = select(grants).where(grants.c.id == grant_id).with_for_update()  # no-op on SQLite
        return next(iter(to_grants(await self._tx.execute(found), self._seals)), None)

    async def grants_for(self, action: Action) -> tuple[Grant, ...]:
        of = {name: getattr(action, name) for name in ("session", "requester", "server", "tool")}
        rows = await self._tx.execute(_standing_for(self._offset), of)
        return to_grants(rows, self._seals)

    async def requested(self, action: Action) -> bool:
        of_turn = select(turns.c.task).where(turns.c.id == action.turn, turns.c.task != "").scalar_subquery()
        about = or_(made.c.id.in_([action.id, action.task]), made.c.id == of_turn)
        asking = or_(tasks.c.id == action.task, tasks.c.id == of_turn)
        through = select(made.c.id).where(about)
        asks = select(tasks.c.id).where(asking, tasks.c.asks)
        found = await self._tx.execute(through.union_all(asks).limit(1))
        return not self._tx.token and found.first() is None

    async def asked_before(self, action: Action, bound: Collection[str]) -> bool:
        names = ("session", "requester", "server", "tool")
        same = [actions.c[name] == getattr(action, name) for name in names]
        others = (actions.c.team == action.session.team, actions.c.id != action.id)
        alike = and_(true(), *map(self._says, _parts(action, bound)))
        size = case((alike, func.length(actions.c.proposal)), else_=0)
        found = select(actions.c.id, size.label("size")).where(*same, *others).limit(MOST_LOOKED_AT)
        rows = (await self._tx.execute(found.suffix_with(SLOW))).all()
        if len(rows) == MOST_LOOKED_AT or sum(row.size for row in rows) > MOST_READ:
            return True
        asked = _without(stored_args(action.args), bound)
        for one in (row.id for row in rows if row.size):
            proposal = (
                await self._tx.execute(select(actions.c.proposal).where(actions.c.id == one))
            ).scalar()
            earlier = filter(None, args_in(proposal or ""))  # not of private ones
            if any(_without(stored_args(args), bound) == asked for args in earlier):
                return True
        return False

    def _says(self, text: str) -> Any:
        """Whether this stands in a proposal, which is not read for that."""
        place = func.instr if self._dialect == "sqlite" else func.strpos
        return place(actions.c.proposal, text) > 0

    async def revoke(self, grant_id: str, user: str) -> bool:
        standing = (grants.c.id == grant_id, STANDING, grants.c.until > self._clock)
        ended = update(grants).where(*standing).values(revoked_at=self._clock, revoked_by=user, mac="")
        return (await self._tx.execute(ended.returning(grants.c.id))).first() is not None

    async def review_tool(self, pin: Pin) -> bool:
        place = (tool_pins.c.server == pin.server, tool_pins.c.tool == pin.tool)
        found = (await self._tx.execute(select(tool_pins).where(*place).with_for_update())).first()
        row = self._seals.sealed(tool_pins, plain(pin))
        if found is None:
            new = insert(tool_pins, self._dialect).values(row).on_conflict_do_nothing()
        elif self._seals.holds(tool_pins, found) and (found.definition, found.reviewed_by) == (
            pin.definition,
            None,
        ):
            new = update(tool_pins).where(*place).values(row)
        else:
            return False
        return (await self._tx.execute(new.returning(tool_pins.c.tool))).first() is not None

    async def taint(self, session: Session, tool: str, outside: bool) -> None:
        row = {"session": session, "tool": tool, "at": self._clock, "outside": outside}
        new = insert(taints, self._dialect).values(row)
        latest = {"at": new.excluded.at, "outside": or_(taints.c.outside, new.excluded.outside)}
        await self._tx.execute(new.on_conflict_do_update(index_elements=["session", "tool"], set_=latest))

    async def tainted(self, session: Session, since: datetime | None = None) -> bool:
        found = select(taints.c.tool).where(taints.c.session == session, taints.c.outside)
        found = found.where(taints.c.at >= since) if since else found
        return (await self._tx.execute(found.limit(1))).first() is not None

    async def last_read(self, session: Session) -> str:
        order = (taints.c.tool == WORDS_OF_OTHERS, taints.c.at.desc())
        found = select(taints.c.tool).where(taints.c.session == session).order_by(*order)
        row = (await self._tx.execute(found.limit(1))).first()
        return row.tool if row else ""

    async def others_wrote(self, session: Session, user: str) -> bool:
        asked = select(turns.c.id).where(turns.c.session == session, turns.c.requester != user)
        remarked = select(tasks.c.id).where(tasks.c.session == session, tasks.c.remarks != ())
        return (await self._tx.execute(asked.union_all(remarked).limit(1))).first() is not None


class Grants:
    """gate.rules.grant_ports.Learnt. `ask` answers questions, each with its rows; `offset` is added to the clock."""

    def __init__(
        self,
        ask: Callable[..., Awaitable[list[Sequence[Row[Any]]]]],
        offset: Callable[[], timedelta],
        seals: RowMacs,
    ) -> None:
        self._ask, self._offset, self._seals = ask, offset, seals

    async def grant(self, grant_id: str) -> Grant | None:
        (rows,) = await self._ask(select(grants).where(grants.c.id == grant_id))
        return next(iter(to_grants(rows, self._seals)), None)

    async def grants(self, session: Session) -> tuple[Grant, ...]:
        return await self._standing(grants.c.session == session)

    async def grants_of(self, team: str, user: str) -> tuple[Grant, ...]:
        return await self._standing(grants.c.team == team, grants.c.user == user)

    async def _standing(self, *whose: Any) -> tuple[Grant, ...]:
        now = select(clock(self._offset())).scalar_subquery()
        found = select(grants).where(STANDING, *whose, grants.c.until > now)
        (rows,) = await self._ask(found.order_by(grants.c.given_at.desc(), grants.c.id.desc()))
        return to_grants(rows, self._seals)

    async def of_agents(self, tasks: Collection[str]) -> frozenset[str]:
        opened = select(made.c.id).join(tokens, tokens.c.id == made.c.token)
        (rows,) = await self._ask(opened.where(made.c.id.in_(set(tasks)), tokens.c.kind == TokenKind.AGENT))
        return frozenset(row.id for row in rows)

    async def said_in(self, turns: Collection[str], tasks: Collection[str]) -> frozenset[str]:
        found = await self._ask(*advisers.IN_THREAD, turns=sorted(turns), tasks=sorted(tasks))
        return advisers.in_rows(*found)

    async def said_to_token(self, of: str, team: str, requester: str) -> frozenset[str]:
        (token,) = await self._ask(advisers.TOKEN, of=of)
        if not token:
            return frozenset()
        own = {"token": token[0].id, "team": team, "requester": requester}
        return advisers.in_rows(*await self._ask(*advisers.TO_TOKEN, **own))

    async def past(self, action: Action, since: datetime) -> Past:
        of = {name: getattr(action, name) for name in ("id", "server", "tool", "definition", "session")}
        (rows,) = await self._ask(PAST, **of, team=action.session.team, since=since)
        earlier = (
            row
            for row in rows
            if row.state is not None and is_of_its_kind(unpacked(row.proposal), action.proposal)
        )
        latest = next(earlier, None)
        return Past(latest is not None and latest.state is State.SUCCEEDED, bool(rows[0].tainted))
