"""Lists of one person take no more of the bot than a few at once, whoever asks for them how often."""

from __future__ import annotations

import asyncio

from handlers.slack.listener import Reply
from handlers.slack.lists_at_once import CROWDED, MOST, ListsAtOnce
from handlers.slack.payloads import SlashCommand


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
