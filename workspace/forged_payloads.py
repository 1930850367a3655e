"""Forged payloads, with any user, message, block, value or view, for security tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workspace import payloads
from workspace.context import Context
from workspace.delivery import AppResponse, Kind, Payload
from workspace.signed_http import encode, sign
from workspace.state import Blocks, Message, Values, View


class Forge:
    """`ws.forge`: builds forged payloads, and delivers them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def send(self, kind: Kind, payload: Payload) -> AppResponse:
        """Delivers a payload once; returns the app's response."""
        return await self._context.delivery.send_interaction(kind, payload)

    def event(self, event: Payload) -> str:
        """Sends an event with a new event_id and the usual retries; returns the event_id."""
        return self._context.delivery.send_event(event)

    def signed(
        self, kind: Kind, payload: Payload, timestamp: int | None = None
    ) -> tuple[str, dict[str, str]]:
        """The body and headers of this delivery over HTTP, for tests that alter them before they post."""
        content_type, body = encode(kind, payload)
        return body, {
            "Content-Type": content_type,
            **sign(self._context.installation.signing_secret, body, timestamp),
        }

    def click(self, user: str, message: Message, **action: Any) -> Payload:
        """block_actions from a message that need not exist; `action` are the fields of actions[0]."""
        return payloads.message_click(self._context, user, message, self._action(action))

    def view_click(self, user: str, view: View, **action: Any) -> Payload:
        return payloads.view_click(self._context, user, view, self._action(action))

    def submission(self, user: str, view: View) -> Payload:
        return payloads.view_submission(self._context, user, view)

    def closing(self, user: str, view: View) -> Payload:
        return payloads.view_closed(self._context, user, view, cleared=False)

    def command(self, user: str, channel: str, command: str, text: str = "") -> Payload:
        return payloads.slash_command(self._context, user, channel, command, text)

    def message(self, channel: str, ts: str, blocks: Blocks | None = None, **fields: Any) -> Message:
        """A message of the app that was never posted."""
        shape = {"user": self._context.state.app.bot_user, "text": "forged", **fields}
        return Message(channel, ts, blocks=blocks, **shape)

    def view(
        self, like: View | None = None, view_id: str | None = None, values: Values | None = None, **body: Any
    ) -> View:
        """A view that was never opened, or a copy of `like` with another id, values or body fields."""
        empty = {"type": "modal", "blocks": [], "title": {"type": "plain_text", "text": "forged"}}
        base = like or View("V_FORGED", "U_NOBODY", empty, "hash.forged", "V_FORGED")
        changed = replace(base, body={**base.body, **body}, id=view_id or base.id)
        changed.values = values if values is not None else base.values
        return changed

    def _action(self, action: dict[str, Any]) -> dict[str, Any]:
        return {"type": "button", "block_id": "forged", "action_ts": self._context.state.next_ts(), **action}
