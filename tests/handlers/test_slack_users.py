"""Who is who: asked once, believed for a while, and never guessed when Slack is silent."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import event

from bot.slack_users import person_of
from gate.rules.permissions import account
from gate.rules.ports import Unavailable
from tests.slack_app import ANN, BEN, DORA, GIL, OPS, ROBOT, SAM, TEAM, Edge
from workspace.faults import BadGateway, Fault, RateLimited, Refused, ServerError, Silent
from workspace.state import Usergroup

# A dropped connection is none of these: aiohttp itself asks again, since asking twice does no harm.
SILENT = [RateLimited(1), ServerError(), BadGateway(), Refused("internal_error"), Silent()]


def asked(edge: Edge) -> int:
    return len(edge.ws.calls("users.info"))


def deactivate(edge: Edge, user: str) -> None:
    edge.ws.state.people[user] = replace(edge.ws.state.people[user], kind="deleted")


async def test_accounts_are_what_slack_says_they_are(http: Edge) -> None:
    people = {user: await http.people.fresh(TEAM, user) for user in (ANN, BEN, GIL, SAM, DORA, ROBOT)}
    assert all(people.values())
    assert people[BEN].groups == {"S_OPS"}
    assert people[ANN].groups == frozenset()
    assert people[GIL].is_guest
    assert people[SAM].is_stranger
    assert people[DORA].is_deleted
    assert people[ROBOT].is_bot
    assert [u for u, p in people.items() if p.is_guest or p.is_stranger or p.is_deleted or p.is_bot] == [
        GIL,
        SAM,
        DORA,
        ROBOT,
    ]
    assert await http.people.fresh(TEAM, "U_NOBODY") is None


@pytest.mark.parametrize(
    ("user", "allowed"),
    [
        ({"id": "USLACKBOT", "name": "slackbot", "is_bot": False}, False),
        ({"id": "U9", "is_connector_bot": True}, False),
        ({"id": "U9", "is_workflow_bot": True}, False),
        ({"id": "U9", "is_bot": True}, False),
        ({"id": "U9", "is_bot": False, "is_app_user": True}, True),  # somebody who has authorised the app
    ],
)
def test_an_account_that_nobody_stands_behind_is_no_person(user: dict[str, Any], allowed: bool) -> None:
    person = person_of("T1", {"team_id": "T1", "profile": {}, **user}, frozenset())
    assert account(person).allowed is allowed


async def test_slack_is_asked_once_a_minute_and_a_group_once_for_all(http: Edge) -> None:
    for _ in range(3):
        await http.people.fresh(TEAM, ANN)
        await http.people.fresh(TEAM, BEN)
    assert asked(http) == 2
    assert len(http.ws.calls("usergroups.users.list")) == 1
    http.travel(61)
    await http.people.fresh(TEAM, ANN)
    assert asked(http) == 3
    assert len(http.ws.calls("usergroups.users.list")) == 2


async def test_a_cache_of_zero_seconds_asks_slack_each_time(http: Edge) -> None:
    for _ in range(2):
        await http.people.fresh(TEAM, ANN, 0)
    assert asked(http) == 2


async def test_concurrent_lookups_of_one_user_ask_slack_once(http: Edge) -> None:
    found = await asyncio.gather(*[http.people.fresh(TEAM, ANN) for _ in range(20)])
    assert len(set(found)) == 1
    assert asked(http) == 1


async def test_a_known_account_is_stored_for_a_day(http: Edge) -> None:
    await http.people.fresh(TEAM, ANN)
    http.people._recent.clear()  # as after a restart
    http.travel(23 * 3600)
    assert (await http.people.known(TEAM, ANN)).id == ANN
    assert asked(http) == 1
    http.travel(2 * 3600)
    assert (await http.people.known(TEAM, ANN)).id == ANN
    assert asked(http) == 2


async def test_an_account_is_written_down_when_it_has_changed_or_after_an_hour(http: Edge) -> None:
    async def written_at() -> datetime:
        found = await http.people._store.get(TEAM, ANN)
        assert found is not None
        return found.at

    await http.people.fresh(TEAM, ANN)
    first = await written_at()
    http.travel(61)
    await http.people.fresh(TEAM, ANN)
    assert (asked(http), await written_at()) == (2, first)
    deactivate(http, ANN)
    http.travel(61)
    await http.people.fresh(TEAM, ANN)
    changed = await written_at()
    assert changed > first
    http.travel(3601)
    await http.people.fresh(TEAM, ANN)
    assert await written_at() > changed


async def test_what_slack_said_within_a_minute_is_known_without_a_look_at_the_record(http: Edge) -> None:
    sent: list[str] = []
    await http.people.fresh(TEAM, BEN)
    event.listen(
        http.people._store._engine.sync_engine, "before_cursor_execute", lambda *of: sent.append(of[2])
    )
    assert (await http.people.known(TEAM, BEN)).groups == {"S_OPS"}
    assert not [one for one in sent if "people" in one]
    http.travel(61)
    deactivate(http, BEN)
    assert not (await http.people.known(TEAM, BEN)).is_deleted  # the record is believed for a day
    assert [one for one in sent if "people" in one]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fault", SILENT, ids=repr)
async def test_a_silent_slack_is_no_answer(hasty_http: Edge, fault: Fault, no_traceback: None) -> None:
    hasty_http.ws.faults.on("users.info", fault, times=2)
    with pytest.raises(Unavailable):
        await hasty_http.people.fresh(TEAM, ANN)
    assert await hasty_http.people.known(TEAM, ANN) is None
    assert (await hasty_http.people.known(TEAM, ANN)).id == ANN


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fault", SILENT, ids=repr)
async def test_a_silent_list_of_a_group_is_no_answer(hasty_http: Edge, fault: Fault) -> None:
    hasty_http.ws.faults.on("usergroups.users.list", fault)
    with pytest.raises(Unavailable):
        await hasty_http.people.fresh(TEAM, BEN)
    assert (await hasty_http.people.fresh(TEAM, BEN)).groups == {"S_OPS"}


async def test_a_group_that_is_gone_has_no_members(http: Edge) -> None:
    http.ws.state.usergroups.clear()
    assert (await http.people.fresh(TEAM, BEN)).groups == frozenset()


@pytest.mark.slow
async def test_a_slow_slack_keeps_no_click_waiting(http: Edge, no_traceback: None) -> None:
    card = await http.propose("write", path="a.md", content="hello")
    http.ws.faults.on("users.info", Silent())
    await card.click("confirm", BEN)
    await http.told(BEN, "I could not check your account just now.")
    assert http.desk.calls == []


async def test_a_request_waits_for_a_silent_slack_and_is_not_lost(http: Edge, no_traceback: None) -> None:
    http.ws.faults.on("users.info", ServerError(), times=3)
    card = await http.propose("write", path="a.md", content="hello")
    assert card.text == "Prepared: Write a.md"
    assert len(http.planner.seen) == 1


async def test_who_left_the_group_before_it_runs_confirms_nothing(http: Edge) -> None:
    card = await http.propose("poke", at="a.md")
    await http.people.fresh(TEAM, BEN)
    http.ws.state.usergroups["S_OPS"] = Usergroup("S_OPS", "ops-team", ("U_CLEO",))
    http.travel(61)
    await card.click("confirm", BEN)
    assert http.desk.calls == []
    assert card.text.startswith("Cancelled:")
    assert "may not do so any more" in (await card.action()).decision
    assert len([m for m in http.ws.by_app(OPS, card.said.ts) if m.text.startswith("Prepared:")]) == 1


async def test_who_is_deactivated_before_a_typed_one_runs_confirms_nothing_at_once(http: Edge) -> None:
    http.desk.notes["a.md"] = "hello"
    card = await http.propose("shred", path="a.md")
    await card.click("review")
    modal = await card.modal(ANN, "typed")
    deactivate(http, ANN)
    await http.ann.submit(modal, {"phrase": {"phrase": (await card.action()).phrase}})
    await http.settled()
    assert http.desk.calls == []
    assert card.text == "Cancelled: Shred a.md"
