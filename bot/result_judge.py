"""Who judges the results of steps: nobody, the recipes' rules, or the model that plans as well."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from dataclasses import replace

from bot.planner import line
from gate.rules.ports import Judge, Tools
from tools.model.model_port import ModelConfig
from tools.recipes.validation import RuleJudge

JUDGES = ("none", "rules", "model")
BY_DEFAULT, BY_MODEL = "rules", "model"  # where nothing is said, without and with a model that plans
WITHOUT = (
    "`judge: model` asks the model that plans, and phrases plan: name a model in COUNTERSIGN_MODEL, or in `model`, "
    "or write `judge: rules`."
)
ANSWER = 2048  # tokens of its answer, thinking included


def unjudged(judge: str, model: ModelConfig | None) -> list[str]:
    """Why nobody can judge as it is said, in sentences."""
    return [WITHOUT] if judge == "model" and model is None else []


async def judge(stack: AsyncExitStack, name: str, config: ModelConfig | None, tools: Tools) -> Judge | None:
    """One of JUDGES, made; a line to the model is closed with the stack."""
    if name == "none":
        return None
    rules = RuleJudge(tools)
    if name == "rules" or config is None:
        return rules
    from tools.model.judge import SECONDS, ModelJudge, RulesThenModel

    model = await line(replace(config, seconds=SECONDS, output_tokens=ANSWER))
    stack.push_async_callback(model.close)
    return RulesThenModel(rules, ModelJudge(model, secrets.token_bytes(32)))
