"""The JSON API of the page: the state that one person sees, and their actions (carried out by `person.py`)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

from aiohttp import web

from workspace import streams
from workspace.context import Context
from workspace.faults import NotPossible
from workspace.person import Outcome, Person
from workspace.state import Message, View

Body = Mapping[str, Any]
Json = dict[str, Any]
Action = Callable[[Person, Body], Awaitable[object]]
PING_SECONDS = 15.0
TEXTS = ("as", "channel", "text", "thread_ts", "command", "ts", "view_id", "block_id", "action_id", "tab")
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


ACTIONS: Mapping[str, Action] = {
    "message": _message,
    "command": _command,
    "action": _action,
    "submit": _submit,
    "close": _close,
    "home": _home,
    "stop": _stop,
}


class Ui:
    """The endpoints below /ui/. `closing` ends the event streams when the workspace stops."""

    def __init__(self, context: Context, closing: asyncio.Event) -> None:
        self._context, self._closing = context, closing

    def _person(self, user: object) -> Person:
        if user not in self._context.state.people:
            raise NotPossible(f"There is no {user} in this workspace.")
        return Person(self._context, str(user))

    async def state(self, request: web.Request) -> web.Response:
        """GET /ui/state?as=U_ANN&tab=…"""
        try:
            person = self._person(request.query.get("as"))
            return web.json_response(client_state(self._context, person, request.query.get("tab", "")))
        except NotPossible as why:
            return _error(str(why))

    async def log(self, request: web.Request) -> web.Response:
        """GET /ui/log"""
        return web.json_response(self._context.delivery.call_log.as_json())

    async def act(self, request: web.Request) -> web.Response:
        """POST /ui/{action}. JSON only: a page of another origin cannot send JSON without a CORS preflight."""
        action = ACTIONS.get(request.match_info["action"])
        if action is None or request.content_type != "application/json":
            return _error("There is no such thing to do; send JSON to one of " + ", ".join(ACTIONS) + ".")
        try:
            body = parse_body(await request.text())
            person = self._person(body["as"])
            self._context.state.tabs[person.id] = body.get("tab") or ""
            outcome = await action(person, body)
        except (ValueError, KeyError) as broken:
            return _error(f"This request is incomplete: {broken}.")
        except NotPossible as why:
            return _error(str(why))
        if isinstance(outcome, Outcome) and not outcome.ok and not outcome.fields:
            return _error(outcome.error)
        posted = {"ts": outcome.ts} if isinstance(outcome, Message) else {}
        return web.json_response({"ok": True, **posted})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """GET /ui/events?as=U_ANN: a server-sent event after each change; changes in quick succession share one."""
        if request.query.get("as") not in self._context.state.people:
            raise web.HTTPNotFound(text="There is no such person in this workspace.")
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        stream = web.StreamResponse(headers=headers)
        await stream.prepare(request)
        listener = self._context.state.listen()
        try:
            while not self._closing.is_set():
                listener.clear()
                await stream.write(f'data: {{"rev": {self._context.state.rev}}}\n\n'.encode())
                await self._wait_for_change(listener)
        except ConnectionError:
            pass  # the page was closed
        finally:
            self._context.state.unlisten(listener)
        return stream

    async def _wait_for_change(self, listener: asyncio.Event) -> None:
        """Waits for a change, for the stop, or PING_SECONDS: a write then finds out whether the page is still open."""
        waits = [asyncio.ensure_future(listener.wait()), asyncio.ensure_future(self._closing.wait())]
        try:
            await asyncio.wait(waits, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def parse_body(text: str) -> Body:
    """The parsed body of a request. Raises ValueError unless it is an object whose TEXTS fields are strings."""
    body = json.loads(text)
    if not isinstance(body, dict):
        raise ValueError("it is not an object")
    wrong = [name for name in TEXTS if not isinstance(body.get(name), str | None)]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} must be text")
    return body


def _error(message: str) -> web.Response:
    return web.json_response({"ok": False, "error": message})


def client_state(context: Context, person: Person, tab: str = "") -> Json:
    """Everything that the page shows to this person: the JSON of /ui/state. A modal is shown in the tab that asked for
    it, and to a client without tabs."""
    state = context.state
    mine = [c for c in state.channels.values() if c.im_with in (None, person.id)]
    seen = [c for c in mine if not c.private or person.id in c.members]
    people = [{"id": p.id, "name": p.name, "kind": p.kind} for p in state.people.values()]
    rooms = [
        {
            "id": c.id,
            "name": state.app.name if c.im_with else c.name,
            "is_im": c.type == "im",
            "is_private": c.private,
            "member": person.id in c.members,
        }
        for c in seen
    ]
    return {
        "me": {"id": person.id, "name": person.name},
        "people": people,
        "bot": {"id": state.app.bot_user, "name": state.app.name},
        "channels": rooms,
        "usergroups": [asdict(g) for g in state.usergroups.values()],
        "messages": {
            c.id: [_message_json(context, m, person.id) for m in state.visible(c.id, person.id)] for c in seen
        },
        "statuses": [
            {"channel": channel, "thread_ts": thread_ts, "status": status}
            for (channel, thread_ts), status in state.statuses.items()
            if person.id in state.channels[channel].members
        ],
        "modal": _modal_json(person.modal, tab),
        "home": person.home.blocks if person.home else None,
        "home_id": person.home.id if person.home else None,
        "warnings": [asdict(w) for w in state.warnings[person.id][-10:]],
        "examples": list(context.options.examples),
        "commands": [asdict(c) for c in context.installation.commands],
        "connected": bool(context.delivery.transport.receivers()),
        "rev": state.rev,
    }


def _message_json(context: Context, message: Message, reader: str) -> Json:
    state = context.state
    mine = message.user == state.app.bot_user
    return {
        "ts": message.ts,
        "thread_ts": message.thread_ts,
        "user": message.user,
        "name": state.people[message.user].name,
        "is_bot": state.people[message.user].kind == "bot",
        "text": message.text,
        # The page renders a person's message from its text, the app's from its blocks.
        "blocks": message.blocks if mine else None,
        "values": message.values_of(reader),
        "ephemeral": message.visible_to is not None,
        "edited": message.edited,
        "stream": streams.condition(context, message),
        "reactions": message.reactions,
        "reply_count": len(state.replies(message)),
    }


def _modal_json(view: View | None, tab: str) -> Json | None:
    if view is None or (tab and view.tab and view.tab != tab):
        return None
    return {
        "id": view.id,
        "title": view.body["title"]["text"],
        "submit": view.body.get("submit", {}).get("text"),
        "close": view.body.get("close", {}).get("text"),
        "callback_id": view.body.get("callback_id"),
        "blocks": view.blocks,
        "values": view.values,
        "errors": view.errors,
        "busy": view.busy,
    }
