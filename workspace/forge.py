"""Payloads that no honest client sends: any user, message, block, value or view. For hostile tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workspace import payloads
from workspace.delivery import Answer, Kind, Payload
from workspace.parts import Parts
from workspace.signed_http import encoded, signed
from workspace.state import Blocks, Message, Values, View


class Forge:
    """`ws.forge`. Each method builds a payload, or sends it and returns the app's answer."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def send(self, kind: Kind, payload: Payload) -> Answer:
        """Delivers any payload at all, once."""
        return await self._parts.delivery.ask(kind, payload)

    def event(self, event: Payload) -> str:
        """Sends any event, with a fresh event_id and the usual retries."""
        return self._parts.delivery.event(event)

    def signed(
        self, kind: Kind, payload: Payload, timestamp: int | None = None
    ) -> tuple[str, dict[str, str]]:
        """The body and headers in which this would arrive over HTTP, to alter and post by hand."""
        content_type, body = encoded(kind, payload)
        return body, {
            "Content-Type": content_type,
            **signed(self._parts.installed.signing_secret, body, timestamp),
        }

    def click(self, user: str, message: Message, **action: Any) -> Payload:
        """block_actions from a message, real or made up; `action` is what actions[0] says."""
        return payloads.message_click(self._parts, user, message, self._action(action))

    def view_click(self, user: str, view: View, **action: Any) -> Payload:
        return payloads.view_click(self._parts, user, view, self._action(action))

    def submission(self, user: str, view: View) -> Payload:
        return payloads.submission(self._parts, user, view)

    def closing(self, user: str, view: View) -> Payload:
        return payloads.closing(self._parts, user, view, cleared=False)

    def command(self, user: str, channel: str, command: str, text: str = "") -> Payload:
        return payloads.slash(self._parts, user, channel, command, text)

    def message(self, channel: str, ts: str, blocks: Blocks | None = None, **fields: Any) -> Message:
        """A message that was never posted, as if by the app."""
        shape = {"user": self._parts.state.app.bot_user, "text": "forged", **fields}
        return Message(channel, ts, blocks=blocks, **shape)

    def view(
        self, like: View | None = None, view_id: str | None = None, values: Values | None = None, **body: Any
    ) -> View:
        """A view that was never opened, or one like another with other id, values or body fields."""
        empty = {"type": "modal", "blocks": [], "title": {"type": "plain_text", "text": "forged"}}
        base = like or View("V_FORGED", "U_NOBODY", empty, "hash.forged", "V_FORGED")
        changed = replace(base, body={**base.body, **body}, id=view_id or base.id)
        changed.values = values if values is not None else base.values
        return changed

    def _action(self, action: dict[str, Any]) -> dict[str, Any]:
        return {"type": "button", "block_id": "forged", "action_ts": self._parts.state.next_ts(), **action}
