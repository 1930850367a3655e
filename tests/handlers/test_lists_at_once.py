"""Lists of one person take no more of the bot than a few at once, whoever asks for them how often."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from gate.rules.ports import World
from handlers.slack.home import HomeAfter
from handlers.slack.listener import ListenerFactory, Opening, Reply, To
from handlers.slack.lists_at_once import CROWDED, MOST, ListsAtOnce
from handlers.slack.payloads import Click, SlashCommand
from tests.slack_app import Edge
from views.block_kit import Message


def asked_by(user: str) -> SlashCommand:
    return SlashCommand("T1", user, "C1", "/pending", "")


async def test_of_many_lists_of_one_person_a_few_are_made_at_once_and_others_have_theirs() -> None:
    lists, made, done = ListsAtOnce(), list[str](), asyncio.Event()

    async def handler(command: SlashCommand) -> Reply:
        made.append(command.user)
        await done.wait()
        return Reply(text="here")

    bounded = lists.bounded(handler)
    waiting = [asyncio.create_task(bounded(asked_by("U1"))) for _ in range(9)]
    waiting.append(asyncio.create_task(bounded(asked_by("U2"))))
    await asyncio.sleep(0)  # all have begun
    refused = [await one for one in waiting[MOST:-1]]
    assert {one.ack["text"] for one in refused} == {CROWDED}
    assert made == ["U1"] * MOST + ["U2"]
    done.set()
    assert [one.text for one in await asyncio.gather(*waiting[:MOST], waiting[-1])] == ["here"] * (MOST + 1)
    assert (await bounded(asked_by("U1"))).text == "here"


async def test_a_page_is_not_turned_for_a_person_for_whom_lists_are_made() -> None:
    lists, done = ListsAtOnce(), asyncio.Event()

    async def turn(click: Click) -> Reply:
        await done.wait()
        return Reply(text="here")

    bounded = lists.bounded(turn)
    waiting = [asyncio.create_task(bounded(Click("T1", "U1", "later", "1", "t"))) for _ in range(MOST + 1)]
    await asyncio.sleep(0)  # all have begun
    assert (await waiting[-1]).text == CROWDED
    done.set()
    assert [one.text for one in await asyncio.gather(*waiting[:-1])] == ["here"] * MOST


class Shown:
    """What a person is told, and the App Home that is published."""

    def __init__(self) -> None:
        self.told, self.homes = list[str](), list[object]()

    async def tell(self, to: To, text: str) -> None:
        self.told.append(text)

    async def open(self, opening: Opening, to: To) -> None:
        raise AssertionError("nothing is opened here")

    async def replace(self, url: str, to: To, message: Message) -> None:
        raise AssertionError("nothing is replaced here")

    async def publish(self, user: str, view: Mapping[str, Any]) -> None:
        self.homes.append(view)


@pytest.mark.parametrize(("busy", "homes"), [(MOST, []), (0, ["the first page"])])
async def test_app_home_stays_at_its_page_where_another_is_not_made(busy: int, homes: list[str]) -> None:
    lists, shown = ListsAtOnce(), Shown()

    async def turn(click: Click) -> Reply:
        return Reply()

    async def home(*_: object) -> Any:
        return "the first page"

    async def ack(**_: object) -> None:
        pass

    listen = ListenerFactory(shown, lambda: "id", home).listener(lambda click: click, lists.bounded(turn))
    with ExitStack() as others:
        for _ in range(busy):
            others.enter_context(lists.for_person("U1"))
        await listen(ack, Click("T1", "U1", "later", "1", "t", in_private_list=True))
    assert (shown.told, shown.homes) == ([CROWDED] * bool(busy), homes)


async def test_app_home_is_made_once_for_all_decisions_that_wait_for_it(
    monkeypatch: pytest.MonkeyPatch, edge: Edge
) -> None:
    made, done = list[str](), asyncio.Event()

    async def home(world: World, team: str, user: str) -> dict[str, str]:
        made.append(user)
        await done.wait()
        return {"of": user}

    monkeypatch.setattr("handlers.slack.home.home", home)
    after = HomeAfter(edge.world)
    waiting = [asyncio.create_task(after("T1", user, None)) for user in ["U1"] * 9 + ["U2"]]
    await asyncio.sleep(0)  # all have begun
    assert made == ["U1", "U2"]
    done.set()
    views = await asyncio.gather(*waiting)
    assert views == [{"of": "U1"}] * 2 + [None] * 7 + [{"of": "U2"}]
    assert made == ["U1", "U2", "U1"]


async def test_app_home_is_made_after_one_that_waited_was_given_up(
    monkeypatch: pytest.MonkeyPatch, edge: Edge
) -> None:
    done = asyncio.Event()

    async def home(world: World, team: str, user: str) -> dict[str, str]:
        await done.wait()
        return {"of": user}

    monkeypatch.setattr("handlers.slack.home.home", home)
    after = HomeAfter(edge.world)
    first, second = (asyncio.create_task(after("T1", "U1", None)) for _ in range(2))
    await asyncio.sleep(0)  # both have begun
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    third = asyncio.create_task(after("T1", "U1", None))
    done.set()
    assert [await first, await third] == [{"of": "U1"}] * 2
