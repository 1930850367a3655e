"""The JSON that the page speaks: what one person sees, and what they do. See `person.py` for the doing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from workspace.errors import NotPossible
from workspace.parts import Parts
from workspace.person import Outcome, Person
from workspace.screen import screen

Body = Mapping[str, Any]
Deed = Callable[[Person, Body], Awaitable[object]]
PING_SECONDS = 15.0
TEXTS = ("as", "channel", "text", "thread_ts", "command", "ts", "view_id", "block_id", "action_id")
ACTION_FIELDS = ("state", "value")


async def _message(person: Person, body: Body) -> object:
    return await person.say(body["channel"], body["text"], body.get("thread_ts"))


async def _command(person: Person, body: Body) -> object:
    place, text = body["channel"], body.get("text", "")
    return await person.command(body["command"], text, place, body.get("thread_ts"))


async def _action(person: Person, body: Body) -> object:
    given = {k: v for k, v in body.items() if k in ACTION_FIELDS or k.startswith("selected_")}
    target = body.get("view_id") or body["ts"]
    return await person.click(target, body["action_id"], body.get("block_id"), **given)


async def _submit(person: Person, body: Body) -> object:
    return await person.submit(body["view_id"], body.get("values"))


async def _close(person: Person, body: Body) -> object:
    return await person.close(body["view_id"])


async def _home(person: Person, body: Body) -> object:
    await person.open_home()
    return None


async def _stop(person: Person, body: Body) -> object:
    await person.stop(body["channel"], body.get("thread_ts"))
    return None


DEEDS: Mapping[str, Deed] = {
    "message": _message,
    "command": _command,
    "action": _action,
    "submit": _submit,
    "close": _close,
    "home": _home,
    "stop": _stop,
}


class Ui:
    """`closing` ends the streams when the workspace stops."""

    def __init__(self, parts: Parts, closing: asyncio.Event) -> None:
        self._parts, self._closing = parts, closing

    def _person(self, user: object) -> Person:
        if user not in self._parts.state.people:
            raise NotPossible(f"There is no {user} in this workspace.")
        return Person(self._parts, str(user))

    async def state(self, request: web.Request) -> web.Response:
        """GET /ui/state?as=U_ANN"""
        try:
            return web.json_response(screen(self._parts, self._person(request.query.get("as"))))
        except NotPossible as why:
            return _no(str(why))

    async def log(self, request: web.Request) -> web.Response:
        """GET /ui/log"""
        return web.json_response(self._parts.delivery.journal.as_json())

    async def do(self, request: web.Request) -> web.Response:
        """POST /ui/{deed}. JSON only: a page of another origin cannot send that unasked."""
        deed = DEEDS.get(request.match_info["deed"])
        if deed is None or request.content_type != "application/json":
            return _no("There is no such thing to do; send JSON to one of " + ", ".join(DEEDS) + ".")
        try:
            body = readable(await request.text())
            done = await deed(self._person(body["as"]), body)
        except (ValueError, KeyError) as broken:
            return _no(f"This request is incomplete: {broken}.")
        except NotPossible as why:
            return _no(str(why))
        if isinstance(done, Outcome) and not done.ok and not done.fields:
            return _no(done.error)
        return web.json_response({"ok": True})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """GET /ui/events?as=U_ANN: a line whenever something changed, coalesced."""
        if request.query.get("as") not in self._parts.state.people:
            raise web.HTTPNotFound(text="There is no such person in this workspace.")
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        stream = web.StreamResponse(headers=headers)
        await stream.prepare(request)
        bell = self._parts.state.listen()
        try:
            while not self._closing.is_set():
                bell.clear()
                await stream.write(f'data: {{"rev": {self._parts.state.rev}}}\n\n'.encode())
                await self._next(bell)
        except ConnectionError:
            pass  # the page was closed
        finally:
            self._parts.state.unlisten(bell)
        return stream

    async def _next(self, bell: asyncio.Event) -> None:
        """Waits for news, for the end, or long enough to see whether the page is still there."""
        waits = [asyncio.ensure_future(bell.wait()), asyncio.ensure_future(self._closing.wait())]
        try:
            await asyncio.wait(waits, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def readable(text: str) -> Body:
    """The body of a request. Raises ValueError unless it is an object whose names are texts."""
    body = json.loads(text)
    if not isinstance(body, dict):
        raise ValueError("it is not an object")
    wrong = [name for name in TEXTS if not isinstance(body.get(name), str | None)]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} must be text")
    return body


def _no(sentence: str) -> web.Response:
    return web.json_response({"ok": False, "error": sentence})


def only_as(*names: str) -> Middleware:
    """Refuses requests that came under another host name, which is how a foreign web page would reach us."""

    @web.middleware
    async def refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.host.rsplit(":", 1)[0] not in names:
            raise web.HTTPForbidden(text="This workspace answers on its own address only.")
        return await handler(request)

    return refuse
