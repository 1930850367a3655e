"""Short-lived rights: a trigger opens one modal within three seconds, a response_url takes five posts."""

from __future__ import annotations

from dataclasses import dataclass

from workspace.errors import SlackError
from workspace.state import State

RESPONSES = 5


@dataclass
class Trigger:
    user: str
    issued: float
    used: bool = False


@dataclass
class ResponseUrl:
    """`ts` is the message that was clicked, None after a command."""

    user: str
    channel: str
    ts: str | None
    issued: float
    uses: int = 0


class Passes:
    def __init__(self, state: State, trigger_life: float, response_life: float) -> None:
        self._state, self._trigger_life, self._response_life = state, trigger_life, response_life
        self._triggers: dict[str, Trigger] = {}
        self._responses: dict[str, ResponseUrl] = {}

    def trigger(self, user: str) -> str:
        trigger_id = self._state.ids("trigger.")
        self._triggers[trigger_id] = Trigger(user, self._state.clock())
        return trigger_id

    def pull(self, trigger_id: object) -> str:
        """Uses the trigger up; returns whose it was. Raises SlackError when it is unknown, old or used."""
        trigger = self._triggers.get(str(trigger_id))
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if self._state.clock() - trigger.issued > self._trigger_life:
            raise SlackError("expired_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        trigger.used = True
        return trigger.user

    def response(self, user: str, channel: str, ts: str | None) -> str:
        key = self._state.ids("R")
        self._responses[key] = ResponseUrl(user, channel, ts, self._state.clock())
        return key

    def respond(self, key: str) -> ResponseUrl:
        """Counts one use. Raises SlackError `used_url` or `expired_url`."""
        url = self._responses.get(key)
        if url is None or self._state.clock() - url.issued > self._response_life:
            raise SlackError("expired_url")
        if url.uses >= RESPONSES:
            raise SlackError("used_url")
        url.uses += 1
        return url
