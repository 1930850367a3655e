"""A bundled server in this process, with sampling as an operator switches it on, and a model that follows a script."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

from gate.rules.sampling import Sampled, SamplingRecord, recorded_by
from gate.rules.tool import Trust
from tests.model_stub import ModelStub, Script
from tests.tools.mcp_hosts import hosting
from tools.mcp.client import Host
from tools.mcp.server_config import ServerConfig
from tools.model.provider_client import ProviderModel
from tools.model.sampling import ModelSampler


@dataclass
class Sampling:
    """The host of one server; `record`: what was put on record. `gated`: files that no model is given."""

    host: Host
    name: str
    stub: ModelStub
    record: list[Sampled] = field(default_factory=list)
    gated: tuple[str, ...] = ()

    async def keep(self, one: Sampled) -> None:
        """Put a request on record."""
        self.record.append(one)

    async def __call__(self, tool: str, /, **args: Any) -> dict[str, Any]:
        """The structured answer of a call that has a record."""
        with recorded_by(SamplingRecord(self.keep, self._refusal)):
            answer = await self.host.call(self.name, tool, json.dumps(args).encode(), 30)
        assert not answer.is_error, answer.text
        assert isinstance(answer.structured, dict)
        return answer.structured

    async def _refusal(self, server: str, tool: str, files: Sequence[str]) -> str:
        found = [one for one in files if one in self.gated]
        return f"it would be given {found[0]} by {server}.{tool}" if found else ""


@asynccontextmanager
async def sampling(
    logs: Path, name: str, app: MCPServer, script: Script, on: bool = True
) -> AsyncIterator[Sampling]:
    async with AsyncExitStack() as stack:
        stub = await stack.enter_async_context(ModelStub(script))
        model = ProviderModel(stub.config())
        stack.push_async_callback(model.close)
        config = ServerConfig(name=name, inproc="x", trust=Trust.BUNDLED, sampling=on)
        sampler = ModelSampler(model, "openai:stub", 20)
        host = await stack.enter_async_context(hosting(logs, config, inproc={name: app}, sampler=sampler))
        yield Sampling(host, name, stub)
