"""What a planner is told of steps whose results nobody has let out."""

from __future__ import annotations

from tests.api.api_server import Api
from tests.api.test_api_result_review_steps import SECRETS, begun, reviewing
from tests.api.test_api_tasks import seen
from tests.gate.fake_tools import answer

SECRET = SECRETS["write"]


async def test_a_result_that_is_not_trusted_is_not_told_to_the_planner_either(api: Api) -> None:
    """The operator wants it reviewed; nobody could, since it was not trusted, and somebody has skipped the step."""
    agent, ann = await api.agent(), await api.client()
    reviewing(api, "desk.write")
    failed = answer({"sha": SECRET, "error": f"no room for {SECRET}"})
    api.gate.desk._change = lambda tool, given: failed  # type: ignore[method-assign]
    path, task = await begun(api, agent, ann, "write")
    assert SECRET in task["reason"]
    await ann.post(f"{path}/continue", seen(task, how="skip", text="write it elsewhere"))
    await api.gate.play()
    brief = api.gate.planner.briefs[-1]
    assert [one.text for one in brief.instructions] == ["write it elsewhere"]
    (step,) = brief.done
    assert (step.state, step.text) == ("skipped", "")
    assert SECRET not in str(brief)
    assert SECRET not in str(await agent.get(path))
