"""The server side of the page's contract, as small as it can be: a state to show and the posts it received."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from playwright.async_api import Page

OpenPage = Callable[[str], Awaitable[Page]]
PAGE = Path(__file__).parents[2] / "workspace" / "page"
NAMES = {"U_ANN": "Ann", "U_BEN": "Ben", "U_CLEO": "Cleo"}


def plain(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, **more}


def mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text}


def section(text: str, block_id: str = "s") -> dict[str, Any]:
    return {"type": "section", "block_id": block_id, "text": mrkdwn(text)}


def button(action_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "type": "button",
        "action_id": action_id,
        "text": plain(text),
        "value": f"{action_id}-value",
        **more,
    }


def actions(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "actions", "block_id": "act", "elements": list(elements)}


def field_block(block_id: str, kind: str, **element: Any) -> dict[str, Any]:
    block = {"type": "input", "block_id": block_id, "label": plain(block_id.title())}
    if element.pop("optional", False):
        block["optional"] = True
    return {**block, "element": {"type": kind, "action_id": "v", **element}}


def options(*values: str) -> list[dict[str, Any]]:
    return [{"text": plain(value.title()), "value": value} for value in values]


def view(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    shown = {
        "id": "V1",
        "title": "Delete 2 files",
        "submit": "Delete",
        "close": "Cancel",
        "callback_id": "typed",
    }
    return {**shown, "blocks": list(blocks), "errors": {}, "busy": False, **more}


@dataclass
class FakeWorkspace:
    """What the page sees (`messages`, `more`), what it sent (`posts`, from which `tabs`), how it is answered (`answers`), and what it sees
    from then on (`after`: by the path of the post)."""

    url: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    posts: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    after: dict[str, dict[str, Any]] = field(default_factory=dict)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    held: asyncio.Event | None = None
    rev: int = 1
    tabs: set[str] = field(default_factory=set)
    listeners: list[asyncio.Queue[int]] = field(default_factory=list)

    def say(self, n: int, text: str = "", user: str = "U_BOT", **more: Any) -> str:
        """Add the n-th message and return its ts."""
        ts = f"{1_800_000_000 + n}.000100"
        bot = user == "U_BOT"
        message = {
            "ts": ts,
            "thread_ts": None,
            "user": user,
            "name": NAMES.get(user, "Countersign"),
            "is_bot": bot,
        }
        rest = {
            "text": text,
            "blocks": None,
            "ephemeral": False,
            "edited": False,
            "reply_count": 0,
            "stream": "",
        }
        self.messages.append({**message, **rest, **more})
        return ts

    def touch(self) -> None:
        """Tell every open page that something changed."""
        self.rev += 1
        for queue in self.listeners:
            queue.put_nowait(self.rev)

    def state(self, person: str) -> dict[str, Any]:
        people = [{"id": i, "name": n, "kind": "member"} for i, n in NAMES.items()]
        room = {"id": "C_OPS", "name": "ops", "is_im": False, "member": True}
        closed = {"id": "C_FIN", "name": "finance", "is_im": False, "member": False}
        direct = {"id": "D_BOT", "name": "Countersign", "is_im": True, "member": True}
        return {
            "me": {"id": person, "name": NAMES[person]},
            "people": [*people, {"id": "U_BOT", "name": "Countersign", "kind": "bot"}],
            "bot": {"id": "U_BOT", "name": "Countersign"},
            "channels": [room, closed, direct],
            "messages": {"C_OPS": self.messages},
            "statuses": [],
            "modal": None,
            "home": None,
            "warnings": [],
            "commands": [{"command": "/undo", "description": "Take back", "usage_hint": "[n]"}],
            "rev": self.rev,
            **self.more,
        }

    async def on_state(self, request: web.Request) -> web.Response:
        return web.json_response(self.state(request.query["as"]))

    async def on_post(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.tabs.add(body.pop("tab"))
        self.posts.append((request.path, body))
        self.more |= self.after.get(request.path, {})
        async with self.arrived:
            self.arrived.notify_all()
        if self.held:
            await self.held.wait()
        return web.json_response(self.answers.get(request.path, {"ok": True}))

    async def on_events(self, request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await stream.prepare(request)
        queue: asyncio.Queue[int] = asyncio.Queue()
        self.listeners.append(queue)
        try:
            while True:
                await stream.write(f"data: {json.dumps({'rev': self.rev})}\n\n".encode())
                await queue.get()
        finally:
            self.listeners.remove(queue)

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/", _index)
        app.router.add_get("/archives/{channel}/{message}", _index)
        app.router.add_static("/static", PAGE)
        app.router.add_get("/ui/state", self.on_state)
        app.router.add_get("/ui/events", self.on_events)
        app.router.add_post("/ui/{what}", self.on_post)
        return app


async def _index(request: web.Request) -> web.FileResponse:
    return web.FileResponse(PAGE / "index.html")


async def serve(fake: FakeWorkspace) -> web.AppRunner:
    """Start the fake on a free local port; the caller cleans the runner up."""
    runner = web.AppRunner(fake.app(), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    return runner
