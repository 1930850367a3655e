"""The same thing asked for twice at once: the model is asked once, and its answer is not lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from bot.job_routes import jobs
from gate.actions.button_press import TaskPress
from gate.rules.action import Ref
from gate.rules.settings import Switches
from gate.rules.task_states import TaskState
from gate.tasks import converse
from tests.gate.gate_setup import ANN, TEAM, Scene
from tests.gate.plan_setup import only
from tests.gate.tasks.test_task_with_model import WRITE, thinking
from tests.model_stub import calls, says

OTHER = ("desk__write", {"path": "b.md", "content": "new"})
THINK = 0.05  # seconds for which the model thinks, so that the other run comes meanwhile


async def test_two_calls_that_end_at_once_ask_the_model_once(stage: Scene) -> None:
    script = [calls(WRITE, OTHER), says("Both say new.").after(THINK), says("I was asked twice.")]
    async with thinking(stage, script) as stub:
        await stage.say("make a.md and b.md say new")
        for waiting in await stage.ledger.pending("T1"):
            assert (await stage.confirm(waiting)).ok
        work = jobs(stage.world)
        for run in [run for run in stage.runs if run.name == "carry_out"]:
            stage.done.add(run.key)
            await work[run.name].work(*run.args)
        ended = [run for run in stage.runs if run.name == "turn" and run.key not in stage.done]
        assert len(ended) == 2
        await asyncio.gather(*(work["turn"].work(*run.args) for run in ended))
        await stage.play()
        assert len(stub.replies) == 2
    assert sorted(stage.desk.notes) == ["a.md", "b.md"]
    task = await only(stage)
    assert (task.requester, task.state, task.planning.usage.requests) == (ANN, TaskState.SATISFACTION, 3)


async def test_a_second_press_on_implement_now_leaves_the_answer_on_its_way(stage: Scene) -> None:
    stage.world = replace(stage.world, switches=lambda channel: Switches(conversational=True))
    wants = calls(("implement", {"requirements": ["a.md says new"]}))
    async with thinking(stage, [says("What shall it say?"), wants]) as stub:
        await stage.say("let us think about a.md")
        task = await only(stage)
        press = TaskPress(Ref(task.id, task.attempts, "0"), TEAM, ANN)
        said = [(await converse.implement(stage.world, press)).code for _ in range(3)]
        await stage.play()
        assert said == ["start", "compiling", "compiling"]
        assert len(stub.replies) == 2
    assert (await only(stage)).requirements == ("a.md says new",)
