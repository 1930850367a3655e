"""Who may know of actions and tasks, read without the rest of their rows."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import Audience, Parties, Subject
from gate.rules.action import Proposal
from storage.api_tables import made
from storage.columns import unpacked
from storage.database import ask
from storage.tables import actions
from storage.task_tables import tasks

PARTIES = (
    actions.c.id,
    actions.c.session,
    actions.c.requester,
    actions.c.audience,
    actions.c.task,
    actions.c.undoes,
)
OLD_PAGE = 10  # proposals of rows without an audience that are read at once


async def subjects(
    engine: AsyncEngine, of_actions: Collection[str], of_tasks: Collection[str] = ()
) -> dict[str, Subject]:
    """id -> what a ruling on it needs, of the actions and tasks that exist. Raises Unavailable."""
    rows = await _rows(engine, select(*PARTIES), actions, of_actions)
    found = await _rows(engine, select(tasks.c.id, tasks.c.session, tasks.c.requester), tasks, of_tasks)
    return await with_makers(engine, rows, {row.id: Parties(row.session, row.requester) for row in found})


async def with_makers(
    engine: AsyncEngine, rows: Sequence[Any], of_tasks: Mapping[str, Parties]
) -> dict[str, Subject]:
    """The subjects of rows with the columns PARTIES, and of tasks. Raises Unavailable."""
    audiences = await _audiences(engine, rows)
    ids = {*of_tasks, *(one for row in rows for one in _sources(row))}
    makers = {row.id: row.token for row in await _rows(engine, select(made), made, ids)}

    def made_by(*sources: str) -> frozenset[str]:
        return frozenset(makers[one] for one in sources if one in makers)

    told = {id: Subject(task=parties, makers=made_by(id)) for id, parties in of_tasks.items()}
    for row in rows:
        audience = audiences[row.id]
        parties = Parties(row.session, row.requester, audience.approvers, audience.private)
        told[row.id] = Subject(parties, makers=made_by(*_sources(row)))
    return told


def _sources(row: Any) -> tuple[str, ...]:
    return row.id, row.task, row.undoes


async def _audiences(engine: AsyncEngine, rows: Sequence[Any]) -> dict[str, Audience]:
    """id -> who is shown it; of rows written before they said so by the whole of what was proposed."""
    known = {row.id: unpacked(row.audience) for row in rows}
    old = [id for id, audience in known.items() if audience is None]
    for first in range(0, len(old), OLD_PAGE):
        whole = select(actions.c.id, actions.c.proposal)
        found = await _rows(engine, whole, actions, old[first : first + OLD_PAGE])
        known |= await asyncio.to_thread(lambda rows: {row.id: _audience(row) for row in rows}, found)
    return known


def _audience(row: Any) -> Audience:
    proposal: Proposal = unpacked(row.proposal)
    return Audience(proposal.decision.approvers, proposal.decision.private)


async def _rows(engine: AsyncEngine, question: Any, table: Any, ids: Collection[str]) -> Sequence[Any]:
    wanted = set(ids) - {""}
    return await ask(engine, question.where(table.c.id.in_(wanted))) if wanted else ()
