"""Lists, events and streams whose actions are as large as they may be, and rows that are larger than they may be today."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.watchdog import Stall
from gate.rules import canonical_json
from gate.rules.access import EventFilter
from gate.rules.action import Affected, CallClass, Fact, Json, Preview
from gate.rules.approvers import Approvers
from gate.rules.tool import Hints, ToolSpec, Trust
from gate.rules.tool_offers import OfferedTool
from handlers.api.action_responses import LISTED
from handlers.api.event_history import History
from handlers.gateway.results import OWN, tool_page
from storage.columns import Stored
from storage.database import open_engine
from storage.tables import actions
from tests.actions import but
from tests.api.api_server import Api
from tests.gate.gate_setup import ANN, BEN, TEAM
from tests.stalls import watched_loops
from tests.storage.samples import action

FACTS, THINGS = 10_000, 900
BEN_DECIDES = Approvers(users=frozenset({BEN}))
LIMIT = 0.3  # seconds of one stall; 0.1 is aimed at on a quiet machine
MANY = tuple(Fact(f"rows[{number}].name", f"value {number}") for number in range(FACTS))


async def insert(api: Api, count: int, **fields: Any) -> list[str]:
    """Actions of Ann that wait, the newest first."""
    now, made = await api.gate.ledger.now(), []
    for number in range(count):
        moment = now + timedelta(microseconds=number)
        one = action(id=f"big{number}", session=api.gate.session, requester=ANN, created_at=moment, **fields)
        async with api.gate.ledger.begin() as tx:
            made.append((await tx.insert(but(one, expires_at=now + timedelta(hours=1)))).id)
    return made[::-1]


def large() -> Preview:
    touched = tuple(Affected(f"{number}.md") for number in range(THINGS))
    return replace(action().preview, facts=MANY, affected=touched)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("state", ["pending", "all"])
async def test_a_page_ends_before_its_actions_are_too_large_together(api: Api, state: str) -> None:
    ids = await insert(api, 5, preview=large())
    ann, pages, found = await api.client(), 0, list[Any]()
    after: str | None = ""
    stalls: list[Stall] = []
    with watched_loops(stalls, LIMIT):
        while after is not None:
            page = await ann.get(f"/actions?state={state}&limit=100{after}")
            found, pages = [*found, *page["actions"]], pages + 1
            after = f"&after={page['next']}" if page["next"] else None
    assert stalls == []
    assert [one["id"] for one in found] == ids
    assert 1 < pages <= len(ids)


async def test_a_list_tells_the_first_facts_of_an_action_and_the_action_alone_tells_all(api: Api) -> None:
    (made,) = await insert(api, 1, preview=large())
    ann = await api.client()
    (listed,) = (await ann.get("/actions"))["actions"]
    alone = await ann.get(f"/actions/{made}")
    shown = listed["preview"]
    assert (len(shown["facts"]), len(shown["affected"])) == (LISTED, LISTED)
    assert shown["left_out"] == FACTS + THINGS - 2 * LISTED
    assert f"{shown['left_out']:,} more" in shown["text"]
    assert len(json.dumps(listed)) < 50_000
    assert (len(alone["preview"]["facts"]), alone["preview"]["left_out"]) == (FACTS, 0)
    assert f"value {FACTS - 1}" in alone["preview"]["text"]


async def test_a_person_finds_what_they_may_decide_among_the_actions_of_others(api: Api) -> None:
    (made,) = await insert(api, 1, approvers=BEN_DECIDES)
    assert [one["id"] for one in (await (await api.client(user=BEN)).get("/actions"))["actions"]] == [made]


async def test_an_event_of_the_past_is_judged_without_its_action_being_read(
    api: Api, sqlite_url: str
) -> None:
    (made,) = await insert(api, 1, preview=large())
    await _write(sqlite_url, made, proposal="not read")
    found = await api.services.events.between(0, 100, EventFilter(TEAM))
    parties = found[0].subject.action
    assert parties is not None
    assert (parties.requester, parties.private) == (ANN, False)


async def test_an_action_that_was_stored_without_its_audience_is_judged_by_what_was_proposed(
    api: Api, sqlite_url: str
) -> None:
    (made,) = await insert(api, 1, approvers=BEN_DECIDES, private=True)
    await _write(sqlite_url, made, audience="null")
    found = await api.services.events.between(0, 100, EventFilter(TEAM))
    parties = found[0].subject.action
    assert parties is not None
    assert (parties.approvers, parties.private) == (BEN_DECIDES, True)


async def _write(url: str, action_id: str, **texts: str) -> None:
    """Put texts into columns as they are."""
    engine: AsyncEngine = open_engine(url)
    values = {actions.c[name]: Stored(text) for name, text in texts.items()}
    async with engine.begin() as connection:
        await connection.execute(update(actions).where(actions.c.id == action_id).values(values))
    await engine.dispose()


class CountingEvents:
    """Counts how many read at once."""

    def __init__(self) -> None:
        self.reading = self.most = 0

    async def between(self, seq: int, until: int, wanted: EventFilter) -> list[Any]:
        self.reading += 1
        self.most = max(self.most, self.reading)
        for _ in range(5):
            await asyncio.sleep(0)
        self.reading -= 1
        return []


async def test_the_history_is_read_for_one_token_at_a_time() -> None:
    events = CountingEvents()
    history = History(events)  # type: ignore[arg-type]
    await asyncio.gather(*(history.page(f"t{n}", 0, 1, EventFilter(TEAM)) for n in range(20)))
    assert events.most == 1


def beyond_limits() -> dict[str, Json]:
    """Arguments that no version takes today: names, paths and all of it are too long."""
    return {
        "path": "a.md",
        "n" * (2 * canonical_json.MAX_NAME): ["x" * 40] * (canonical_json.MAX_BYTES // 20),
    }


async def test_a_stored_action_that_is_larger_than_one_may_be_today_is_listed_and_shown(api: Api) -> None:
    args = beyond_limits()
    with pytest.raises(canonical_json.BadArguments):
        canonical_json.canonical(args)
    (made,) = await insert(api, 1, args=json.dumps(args, sort_keys=True, separators=(",", ":")).encode())
    ann = await api.client()
    (listed,) = (await ann.get("/actions"))["actions"]
    assert listed["arguments"] == (await ann.get(f"/actions/{made}"))["arguments"] == args


async def test_tools_with_long_definitions_are_listed_over_mcp_in_pages(api: Api) -> None:
    spec = ToolSpec("big", "", "Big", "d" * 90_000, {"type": "object"}, "d", Hints(), Trust.DECLARED)
    known = [OfferedTool(f"t{n}", replace(spec, name=f"t{n}"), CallClass.UNKNOWN) for n in range(20)]
    found, cursor, pages = list[str](), "", 0
    while pages == 0 or cursor:
        page = tool_page(known, cursor)
        found, cursor, pages = [*found, *(one.name for one in page.tools)], page.next_cursor or "", pages + 1
    assert sorted(found) == sorted([*(one.name for one in known), *(one.name for one in OWN)])
    assert pages == 4
    assert tool_page(known, "nonsense") == tool_page(known, "")
    assert tool_page(known, "99").tools == []
