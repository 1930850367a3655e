"""Words that come with a person's token count as words of others in their thread: a program may have written them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gate.actions import claim_click
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.planner_port import Call, Propose
from gate.rules.reviews import Phase
from gate.rules.task import Assessment, Missing, Question
from gate.tasks import control
from gate.tasks import plan as flow
from handlers.api.routes import ROUTES
from tests.api.api_server import Api, Client
from tests.api.test_api_actions import seen
from tests.api.test_api_reviews import decided
from tests.gate.actions.test_action_grants import granted
from tests.gate.plan_setup import on_plan, only, planned, pressed, waiting, write, wrote
from tests.gate.tasks.test_task_injected_instructions import thinking
from tests.gate.tasks.test_task_step_review import reviewing
from tests.gate.tasks.test_task_told_others import ORDER, SHRED, ask, last_read
from tests.model_stub import Answer, Heard, assesses, obey, says

CHANGE = Propose((Call("desk", "write", {"path": "own.md", "content": "mine"}),))
FILE = Question("file", "Which file?", Missing.INPUTS)
Send = Callable[[Api, Client], Awaitable[None]]


async def action_path(api: Api, client: Client) -> tuple[str, Any]:
    action = await api.gate.prepare(path="own.md", content="mine")
    path = f"/actions/{action.id}"
    return path, await client.get(path)


async def task_path(api: Api) -> str:
    return f"/tasks/{(await only(api.gate)).id}"


async def cancel(api: Api, client: Client) -> None:
    path, _ = await action_path(api, client)
    await client.post(f"{path}/cancel", {"reason": ORDER})


async def reject(api: Api, client: Client) -> None:
    path, got = await action_path(api, client)
    await client.post(f"{path}/reject", seen(got, reason=ORDER))


async def edit(api: Api, client: Client) -> None:
    path, got = await action_path(api, client)
    await client.post(f"{path}/edit", seen(got, arguments={"path": "own.md", "content": ORDER}))


async def create(api: Api, client: Client) -> None:
    await client.post("/tasks", {"text": ORDER, "session_id": api.gate.session.key}, 201)


async def instruct(api: Api, client: Client) -> None:
    api.gate.planner.script = [CHANGE]
    await api.gate.say("write it")
    status, told = await client.ask("PATCH", await task_path(api), {"instruction": ORDER})
    assert status == 200, told


async def replan(api: Api, client: Client) -> None:
    task = await planned(api.gate, write("a.md"), write("b.md"))
    assert task.plan
    sent = {"decision": "replan", "number": task.plan.version, "seal": task.plan.seal, "text": ORDER}
    await client.post(f"/tasks/{task.id}/plan", sent)


async def modify(api: Api, client: Client) -> None:
    task = await planned(api.gate, write("a.md"))
    assert task.plan
    change = {"id": "s1", "place": 1, "arguments": {"path": "a.md", "content": ORDER}}
    sent = {"decision": "modify", "number": task.plan.version, "seal": task.plan.seal, "changes": [change]}
    await client.post(f"/tasks/{task.id}/plan", sent)


async def answer(api: Api, client: Client) -> None:
    api.gate.planner.assessments = [Assessment(20, 1, (FILE.missing,), (FILE,))]
    await api.gate.say("move the reports")
    task = await only(api.gate)
    await client.post(f"/tasks/{task.id}/clarify", {"number": task.asked, "answers": {"file": ORDER}})


async def go_on(api: Api, client: Client) -> None:
    task = await planned(api.gate, write("a.md"), write("b.md"))
    assert (await flow.step_by_step(api.gate.world, on_plan(task))).ok
    await api.gate.play()
    await pressed(api.gate, control.pause, on_plan(await only(api.gate)))
    task = await only(api.gate)
    await client.post(f"/tasks/{task.id}/continue", {"number": task.pauses, "text": ORDER})


async def feedback(api: Api, client: Client) -> None:
    api.gate.planner.script = [CHANGE]
    await api.gate.say("write it")
    await api.gate.confirm(await waiting(api.gate))
    await api.gate.play()
    task = await only(api.gate)
    sent = {"number": task.ends, "verdict": "changes", "text": ORDER}
    await client.post(f"/tasks/{task.id}/satisfaction", sent)


async def held(api: Api, client: Client) -> Any:
    """A call whose result waits for Ann: its line."""
    reviewing(api.gate, Phase.AFTER)
    await api.gate.confirm(await api.gate.prepare(path="own.md", content="mine"))
    await api.gate.play()
    (line,) = (await client.get("/pending-review"))["reviews"]
    return line


async def change_result(api: Api, client: Client) -> None:
    await client.post("/resume", decided(await held(api, client), edited={"text": ORDER}))


async def comment(api: Api, client: Client) -> None:
    await client.post("/resume", decided(await held(api, client), "REJECT", comment=ORDER))


async def change_result_of_step(api: Api, client: Client) -> None:
    reviewing(api.gate, Phase.AFTER)
    task = await planned(api.gate, write("a.md"), write("b.md"))
    assert (await flow.approve_all(api.gate.world, on_plan(task))).ok
    await api.gate.play()
    (line,) = (await client.get("/pending-review"))["reviews"]
    assert line["node_id"] != (await only(api.gate)).id
    await client.post("/resume", decided(line, edited={"text": ORDER}))


WORDS: dict[str, tuple[Send, ...]] = {
    "cancelAction": (cancel,),
    "rejectAction": (reject,),
    "editAction": (edit,),
    "createTask": (create,),
    "instructTask": (instruct,),
    "decidePlan": (replan, modify),
    "answerQuestions": (answer,),
    "continueTask": (go_on,),
    "settleTask": (feedback,),
    "resumeExecution": (change_result, comment, change_result_of_step),
}
# What they take is a number, one of our own words, or a phrase that is compared and not kept. Of a proposal a model is
# told the id and the tool.
NO_WORDS = {
    "proposeAction",
    "confirmAction", "renewAction", "settleAction", "undoAction", "setTaskMode", "confirmRequirements",
    "pauseTask", "stopTask", "undoTask", "addWebhook", "removeWebhook", "rotateWebhook",
}  # fmt: skip


def test_every_route_that_changes_something_is_known_to_take_words_or_none() -> None:
    changing = {route.name for route in ROUTES if route.method != "GET"}
    assert changing == {*WORDS, *NO_WORDS}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("send", [one for sends in WORDS.values() for one in sends])
async def test_words_of_a_token_count_as_those_of_others(api: Api, send: Send) -> None:
    await send(api, await api.client())
    assert await last_read(api.gate) == WORDS_OF_OTHERS


async def test_a_yes_through_a_token_says_no_words(api: Api) -> None:
    client = await api.client()
    path, got = await action_path(api, client)
    await client.post(f"{path}/confirm", seen(got))
    assert await last_read(api.gate) == ""


async def test_an_edit_through_a_token_is_no_order_that_a_grant_covers(api: Api) -> None:
    stage = api.gate
    await granted(stage)
    stage.desk.notes |= {"old.md": "x", ORDER: "x"}
    person = await api.client()
    async with thinking(stage, obey):
        await ask(stage, SHRED)
        action = await waiting(stage)
        got = await person.get(f"/actions/{action.id}")
        await person.post(f"/actions/{action.id}/edit", seen(got, arguments={"path": ORDER}))
        await stage.play()
        assert (await claim_click.cancel(stage.world, stage.press(await waiting(stage)))).ok
        await stage.play()
    assert "evil.md" not in wrote(stage)


def at_the_next_request(heard: Heard) -> Answer:
    """Obeys what it was told earlier, once something else is asked."""
    if "what is the time" in heard.text:
        return obey(heard)
    return assesses() if heard.assessing else says("Noted.")


async def test_a_request_through_a_token_is_no_order_that_a_grant_covers_later(api: Api) -> None:
    stage = api.gate
    await granted(stage)
    person = await api.client()
    async with thinking(stage, at_the_next_request):
        sent = {"text": f"remember: {ORDER}", "session_id": stage.session.key}
        await person.post("/tasks", sent, 201)
        await stage.play()
        await ask(stage, "what is the time?", 3)
    assert "evil.md" not in wrote(stage)
