"""“Help me design a new authentication system” in Slack: talked over with a model, without any prefix."""

from __future__ import annotations

from pathlib import Path

from gate.rules.ports import Limits
from gate.rules.task import Flow
from gate.rules.task_states import TaskState
from tests.model_stub import ModelStub, assesses, calls, says
from tests.product import OPS, Product, running_product
from tests.slack_app import AGES, ANN
from tests.views.samples import buttons, shown
from workspace.state import Message

ASKED = "Help me design a new authentication system"
LIMITS = Limits(decision=AGES, proceed=0.5)


def answers(product: Product, ts: str) -> list[Message]:
    return [m for m in product.ws.by_app(OPS, ts) if m.visible_to is None]


async def say(product: Product, text: str, count: int, ts: str | None = None) -> str:
    """Ann writes this; wait until so many messages of ours stand in the thread."""
    said = await product.ws.as_(ANN).say(OPS, text, thread_ts=ts)
    thread = ts or said.ts
    await product.ws.wait_for(lambda: len(answers(product, thread)) == count, 40)
    return thread


async def test_a_model_talks_over_what_is_to_be_designed_and_plans_once_it_is_told_to(tmp_path: Path) -> None:
    script = [
        assesses(70, 6, clear=False, conversation=True),
        says("Which method do you prefer?"),
        says("Good. Where are the sessions kept?"),
        calls(("implement", {"requirements": ["Sign in with OAuth", "Sessions in Redis"]})),
    ]
    async with ModelStub(script, assessment=None) as stub:
        async with running_product(tmp_path, limits=LIMITS, model=stub.config()) as product:
            before = product.names()
            ts = await say(product, f"<@UBOT> {ASKED}", 1)
            assert (await product.task(ts, TaskState.TALKING)).flow is Flow.TALK
            assert "Which method do you prefer?" in shown(answers(product, ts)[0].blocks)
            await say(product, "OAuth, with Google", 2, ts)
            await say(product, "In Redis. Yes, implement it", 3, ts)
            last = answers(product, ts)[-1]
            assert "Sign in with OAuth" in shown(last.blocks)
            assert "task_confirm" in buttons(last.blocks)
            assert product.names() == before
        assert not stub.ran_dry
    assert "OAuth, with Google" in stub.requests[-1].text


async def test_phrases_say_what_they_can_do_instead_and_offer_nothing_to_confirm(tmp_path: Path) -> None:
    async with running_product(tmp_path, limits=LIMITS) as product:
        ts = await say(product, f"<@UBOT> {ASKED}", 1)
        (told,) = answers(product, ts)
        assert shown(told.blocks).startswith(f"I did not understand “{ASKED}”.")
        assert "• what is in reports" in shown(told.blocks)
        assert buttons(told.blocks) == []
        assert (await product.task(ts)).is_finished
