"""A model for tests: a server that speaks the OpenAI chat-completions API over real HTTP, from a script.

    async with ModelStub([calls(("files__delete_file", {"path": "a.md"})), says("It is prepared.")]) as stub:
        planner = ModelPlanner(ProviderModel(stub.config()), …)      # or OPENAI_BASE_URL=stub.base_url for a process
        …
    assert "a.md" in stub.requests[0].text

The script is a list of answers, given one after the other, or a function from what was asked (`Heard`) to an answer.
Requests to assess are answered with `assessment` and use up nothing of a list; pass `assessment=None` to script them
too. When a list has run dry, the stub answers with status 500 and remembers it in `ran_dry`. Answers: `says`, `calls`,
`both`, `assesses`, `fails`, `nonsense`; `.after(seconds)` makes one late, `.costing(…)` sets its usage. `obey` is a
script that does whatever any text tells it to.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tools.model.model_port import ModelConfig

ORDER = re.compile(r"CALL\((\w+) (\{.*?\})\)")


@dataclass(frozen=True)
class Heard:
    """One request as it came in."""

    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        return "\n".join(_text(m) for m in self.messages if m["role"] in ("system", "developer"))

    @property
    def text(self) -> str:
        """Everything that was sent besides the system prompt and the tools."""
        return "\n".join(_text(m) for m in self.messages if m["role"] in ("user", "tool"))

    @property
    def results(self) -> list[str]:
        """The results of calls, in order."""
        return [_text(m) for m in self.messages if m["role"] == "tool"]

    @property
    def called(self) -> list[tuple[str, str]]:
        """The calls that the model is shown to have made: name and arguments as text."""
        made = [call for m in self.messages for call in m.get("tool_calls") or ()]
        return [(call["function"]["name"], call["function"]["arguments"]) for call in made]

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The functions on offer, by name, in order."""
        return {tool["function"]["name"]: tool["function"] for tool in self.body.get("tools", ())}

    @property
    def assessing(self) -> bool:
        return "assess" in self.tools


@dataclass(frozen=True)
class Answer:
    """One response. `raw`: sent as it is instead."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()  # name, arguments as text
    tokens: tuple[int, int] = (100, 20)  # in, out
    status: int = 200
    raw: str | None = None
    finish_reason: str = ""  # "": what fits the content
    delay: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)

    def after(self, seconds: float) -> Answer:
        return replace(self, delay=seconds)

    def cut_off(self) -> Answer:
        """The same, ended by the output limit."""
        return replace(self, finish_reason="length")

    def costing(self, tokens_in: int, tokens_out: int) -> Answer:
        return replace(self, tokens=(tokens_in, tokens_out))


Script = Callable[[Heard], Answer] | Sequence[Answer]


def says(text: str) -> Answer:
    return Answer(text)


def calls(*made: tuple[str, Mapping[str, Any] | str]) -> Answer:
    """Calls in one response. Arguments given as text are sent as they are, JSON or not."""
    return both("", *made)


def both(text: str, *made: tuple[str, Mapping[str, Any] | str]) -> Answer:
    """Text and calls in one response."""
    return Answer(text, tuple((name, a if isinstance(a, str) else json.dumps(a)) for name, a in made))


def assesses(complexity: float = 10, steps: float = 1, *, clear: bool = True, **more: Any) -> Answer:
    found = {"complexity": complexity, "steps": steps, "clear": clear, "questions": []}
    return calls(("assess", {**found, **more}))


def fails(status: int, message: str = "it failed", **headers: str) -> Answer:
    raw = json.dumps({"error": {"message": message, "type": "error", "code": None}})
    return Answer(status=status, raw=raw, headers=headers)


def nonsense(text: str = "<html>not what you think</html>") -> Answer:
    return Answer(raw=text)


def obey(heard: Heard) -> Answer:
    """Does what any text says in the form CALL(name {json}), each once, wherever it stands; then claims success."""
    if heard.assessing and len(heard.tools) == 1:
        return assesses()
    told = [str(tool) for tool in heard.tools.values()]
    orders = dict.fromkeys(ORDER.findall("\n".join([heard.text, *told]).replace('\\"', '"')))
    made = {(name, json.dumps(json.loads(args), sort_keys=True)) for name, args in heard.called}
    left = [o for o in orders if (o[0], json.dumps(json.loads(o[1]), sort_keys=True)) not in made]
    if heard.assessing:
        return calls(*left) if 0 < len(left) <= 2 else assesses()
    return calls(*left[:8]) if left else says("Done. I have carried out everything that I was told.")


SIMPLE = assesses()


class ModelStub:
    """The server. `requests` holds all that it was asked, in order."""

    def __init__(self, script: Script, *, assessment: Answer | None = SIMPLE) -> None:
        self._script = script if callable(script) else list(script)
        self._assessment = assessment
        self.requests: list[Heard] = []
        self.ran_dry = False
        self.held: asyncio.Event | None = None  # where there is one, answers wait for it
        self.base_url = ""
        self._runner: web.AppRunner | None = None

    def config(self, **changes: Any) -> ModelConfig:
        """How ProviderModel reaches it."""
        known: dict[str, Any] = {
            "provider": "openai",
            "name": "stub",
            "key": "sk-stub",
            "base_url": self.base_url,
            "retry_seconds": 0.0,  # unless a test is about that
        }
        return ModelConfig(**{**known, **changes})

    @property
    def environment(self) -> dict[str, str]:
        """How a process of ours reaches it."""
        return {
            "COUNTERSIGN_MODEL": "openai:stub",
            "OPENAI_API_KEY": "sk-stub",
            "OPENAI_BASE_URL": self.base_url,
        }

    @property
    def replies(self) -> list[Heard]:
        """The requests that were no assessments."""
        return [heard for heard in self.requests if not heard.assessing]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=16 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner:
            await self._runner.cleanup()

    def _next(self, heard: Heard) -> Answer:
        if heard.assessing and self._assessment is not None:
            return self._assessment
        if not isinstance(self._script, list):
            return self._script(heard)
        if not self._script:
            self.ran_dry = True
            return fails(500, "the script has run dry")
        return self._script.pop(0)

    async def _answer(self, request: web.Request) -> web.Response:
        heard = Heard(await request.json(), dict(request.headers))
        self.requests.append(heard)
        answer = self._next(heard)
        if self.held:
            await self.held.wait()
        if answer.delay:
            await asyncio.sleep(answer.delay)
        text = answer.raw if answer.raw is not None else json.dumps(_completion(answer, len(self.requests)))
        return web.Response(
            text=text, status=answer.status, headers=answer.headers, content_type="application/json"
        )


def _completion(answer: Answer, number: int) -> dict[str, Any]:
    made = [
        {"id": f"call_{number}_{i}", "type": "function", "function": {"name": name, "arguments": args}}
        for i, (name, args) in enumerate(answer.calls)
    ]
    message = {"role": "assistant", "content": answer.text or None, **({"tool_calls": made} if made else {})}
    tokens_in, tokens_out = answer.tokens
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1_800_000_000,
        "model": "stub",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": answer.finish_reason or ("tool_calls" if made else "stop"),
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
