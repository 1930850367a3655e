"""Which planner thinks: the phrases, or a model. Said in the settings, made at the start."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from gate.rules.planner_port import Planner
from gate.rules.policy import Policy
from gate.rules.ports import Tools
from gate.rules.sampling import Sampler, SamplingBounds
from tools.mcp.server_config import ServerConfig
from tools.model.model_port import PROVIDERS, ModelConfig

if TYPE_CHECKING:
    from tools.model.provider_client import ProviderModel

PLANNERS = ("phrases", "model")
FORM = "must name a provider and a model: openai:NAME or anthropic:NAME."
NO_MODEL = (
    "The planner is to be a model, and none is named: set COUNTERSIGN_MODEL, or `model` in the file, to openai:NAME "
    "or anthropic:NAME."
)


def read_model(environ: Mapping[str, str], planner: str, model: str) -> tuple[ModelConfig | None, list[str]]:
    """The model that plans, or None for the phrases; and what is wrong, in sentences.

    `planner` and `model` are what the file says, "" where it says nothing. COUNTERSIGN_MODEL comes before `model`;
    a model that is named is used, unless the file says `planner: phrases`.
    """
    said = environ.get("COUNTERSIGN_MODEL", "").strip()
    named = said or model
    if planner == "phrases" or (not named and not planner):
        return None, []
    if not named:
        return None, [NO_MODEL]
    provider, _, name = named.partition(":")
    if provider not in PROVIDERS or not name.strip():
        return None, [f"{'COUNTERSIGN_MODEL' if said else '`model`'} {FORM}"]
    variable = provider.upper()
    key = environ.get(f"{variable}_API_KEY", "").strip()
    base_url = environ.get(f"{variable}_BASE_URL", "").strip()
    wrong = []
    if not key:
        wrong.append(
            f"{variable}_API_KEY is not set: the model {named} needs it. For a server of your own that wants no key, "
            "set it to any text."
        )
    if base_url and not base_url.startswith(("https://", "http://")):
        wrong.append(f"{variable}_BASE_URL must begin with https:// or http://.")
    return ModelConfig(provider=provider, name=name.strip(), key=key, base_url=base_url), wrong


async def planner(
    stack: AsyncExitStack, config: ModelConfig | None, phrases: Planner, tools: Tools, policy: Policy
) -> Planner:
    """The model's planner where there is one, its connections closed with the stack; else the phrases."""
    if config is None:
        return phrases
    from tools.model.planner import ModelPlanner

    model = await line(config)
    stack.push_async_callback(model.close)
    return ModelPlanner(model, tools, policy, secrets.token_bytes(32))


async def line(config: ModelConfig) -> ProviderModel:
    """A line to the model. Loads the libraries for it, which takes seconds: who plans by phrases never pays that."""

    def made() -> ProviderModel:
        from tools.model.provider_client import ProviderModel

        return ProviderModel(config)

    return await asyncio.to_thread(made)


async def answers(model: ProviderModel) -> None:
    """Ask the model for a word. Raises Unavailable or ModelRefused, which say what is wrong."""
    from tools.model.model_port import Request, UserMessage

    try:
        await model.ask(Request("Answer in one word.", (UserMessage("Are you there?"),)))
    finally:
        await model.close()


async def sampler(
    stack: AsyncExitStack, config: ModelConfig | None, servers: Sequence[ServerConfig], bounds: SamplingBounds
) -> Sampler | None:
    """What answers the servers that may sample, its line closed with the stack; None without a model, or such a
    server."""
    if config is None or not any(server.sampling for server in servers):
        return None
    from tools.model.sampling import ModelSampler

    model = await line(replace(config, seconds=bounds.seconds, output_tokens=bounds.answer_tokens))
    stack.push_async_callback(model.close)
    return ModelSampler(model, config.full_name, bounds.seconds)
