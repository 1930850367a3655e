"""*Show all* under the beginning of a long result: the whole of it, to whoever may see its message."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from gate.actions.shown_results import NOT_ITS_MESSAGE
from gate.rules.action import Session
from gate.rules.permissions import PRIVATE
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.ports import Note
from handlers.slack.buttons import STILL_MAKING, Buttons
from handlers.slack.listener import Opening
from handlers.slack.payloads import Click
from tests.handlers.slack_task import begun, proposes, write
from tests.slack_app import ANN, BEN, OPS, TEAM, Edge, said_in
from views import long_result
from views.long_result import NOT_KEPT, SHOW_ALL
from views.task_questions import NOT_KEPT as CUT_OFF

TEXT = "".join(f"line {n}\n" for n in range(2_000))


async def posted(edge: Edge, key: str = "n" * 26, to: str = "", **more: Any) -> Any:
    """A long result in a thread, as a message that is on record as posted."""
    said = await edge.ann.say(OPS, "what stands in it?")
    body = {"name": "files.read", "summary": f"Read {key}", "arguments": {}, "text": TEXT, **more}
    async with edge.ledger.begin() as tx:
        await tx.note(Note(key, Session(TEAM, OPS, said.ts), "read", body, to))

    def found() -> Any:
        return next((m for m in edge.ws.messages(OPS) if m.text == f"Read {key}"), None)

    message = await edge.ws.wait_for(found)
    await edge.settled()
    return message


async def window(edge: Edge, user: str, kind: str) -> str:
    def find() -> Any:
        top = edge.ws.as_(user).modal
        return top if top and top.body["callback_id"] == kind else None

    await edge.settled()
    return said_in(await edge.ws.wait_for(find))


async def test_everybody_who_sees_the_message_sees_all_of_it(edge: Edge) -> None:
    message = await posted(edge, clipped=True)
    for user in (ANN, BEN):
        assert (await edge.ws.as_(user).click(message, SHOW_ALL)).ok
        told = await window(edge, user, SHOW_ALL)
        assert "line 1999" in told
        assert NOT_KEPT in told


async def test_a_private_result_is_shown_to_its_person_alone(http: Edge) -> None:
    message = await posted(http, to=ANN)
    assert (await http.ws.as_(ANN).click(message, SHOW_ALL)).ok
    assert "line 1999" in await window(http, ANN, SHOW_ALL)
    shown = await http.ledger.posted("n" * 26)
    assert shown is not None
    assert shown.ts == message.ts  # so that a plain yes is known to come below it
    other = await posted(http, "m" * 26)
    value = f"{'n' * 26}.1.0"
    await http.send("interactive", http.ws.forge.click(BEN, other, action_id=SHOW_ALL, value=value))
    told = await window(http, BEN, "message")
    assert PRIVATE in told
    assert "line 1" not in told


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("value", [f"{'n' * 26}.1.0", f"{'o' * 26}.1.0", f"{'m' * 26}.7.0"])
async def test_no_other_message_and_no_other_number_shows_it(http: Edge, value: str) -> None:
    await posted(http)
    other = await posted(http, "m" * 26)
    await http.send("interactive", http.ws.forge.click(BEN, other, action_id=SHOW_ALL, value=value))
    told = await window(http, BEN, "message")
    assert "line 1" not in told
    assert (NOT_ITS_MESSAGE in told) == value.startswith("n")


@pytest.mark.parametrize(
    "body",
    [
        {"text": "\u200b" * 30_000},
        {"text": "", "structured": {"content": "\u200b" * 30_000}},
        {
            "text": "",
            "structured": {"found": {"rows": [["x"] * 50 for _ in range(40)], "content": TEXT[:10_000]}},
        },
    ],
)
async def test_a_long_result_is_drawn_beside_the_loop(
    http: Edge, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]
) -> None:
    drawn, told = list[int](), long_result.told

    def watched(note: Note, most: int = long_result.MOST) -> str:
        drawn.append(threading.get_ident())
        return told(note, most)

    monkeypatch.setattr(long_result, "told", watched)
    await posted(http, **body)
    assert drawn
    assert threading.get_ident() not in drawn


async def test_the_clicks_of_one_person_hold_up_nobody_and_wait_for_each_other(
    http: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = await posted(http)
    begun, go_on = list[int](), threading.Event()

    def slow(note: Note, number: int) -> dict[str, object]:
        begun.append(number)
        go_on.wait(20)
        return {"blocks": [note.id]}

    monkeypatch.setattr(long_result, "window", slow)
    shows = Buttons(http.world).show_all

    async def made(user: str) -> dict[str, Any]:
        value = f"{'n' * 26}.1.0"
        click = Click(TEAM, user, SHOW_ALL, value, "trigger", channel=OPS, message_ts=message.ts)
        opening = await shows(click)
        assert isinstance(opening, Opening)
        return dict(await opening.then("V1"))

    first = asyncio.create_task(made(ANN))
    await http.ws.wait_for(lambda: begun or first.done())
    assert not first.done(), await first
    assert STILL_MAKING in str(await made(ANN))
    other = asyncio.create_task(made(BEN))
    await asyncio.sleep(0.1)
    assert begun == [1]
    go_on.set()
    assert [await first, await other] == [{"blocks": ["n" * 26]}] * 2
    assert await made(ANN) == {"blocks": ["n" * 26]}


async def test_all_of_a_plans_answer_that_was_shortened_is_shown_to_whoever_sees_its_message(
    http: Edge,
) -> None:
    http.desk.notes |= {"a.md": TEXT[:5_000], "b.md": "beta"}
    look = [ProposedStep(Call("desk", "look", {"path": path})) for path in ("a.md", "b.md")]
    story = await begun(http, proposes(*look, write("c.md")))
    await story.click("plan", "plan_approve")
    assert "line 300\n" not in story.text("satisfaction")
    for user in (ANN, BEN):
        await story.click("satisfaction", SHOW_ALL, user)
        told = await window(http, user, SHOW_ALL)
        assert "line 400\n" in told
        assert "beta" in told
        assert CUT_OFF not in told
    other = await posted(http)
    value = f"{(await story.task()).id}.1.0"
    await http.send("interactive", http.ws.forge.click(BEN, other, action_id=SHOW_ALL, value=value))
    assert NOT_ITS_MESSAGE in await window(http, BEN, "message")


async def test_a_plans_answer_that_its_message_shows_whole_has_no_button(http: Edge) -> None:
    http.desk.notes |= {"a.md": "alpha"}
    story = await begun(http, proposes(ProposedStep(Call("desk", "look", {"path": "a.md"})), write("b.md")))
    await story.click("plan", "plan_approve")
    assert "alpha" in story.text("satisfaction")
    assert SHOW_ALL not in story.buttons("satisfaction")
