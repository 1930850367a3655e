"""trigger_ids, each for one modal within three seconds, and response_urls, each for five posts."""

from __future__ import annotations

from dataclasses import dataclass

from workspace.errors import SlackError
from workspace.state import State

MAX_USES = 5


@dataclass
class Trigger:
    """`tab`: the browser tab of the person that acted, or ""."""

    user: str
    issued: float
    tab: str = ""
    used: bool = False


@dataclass
class ResponseUrl:
    """`ts`: the message that was clicked, None after a command."""

    user: str
    channel: str
    ts: str | None
    issued: float
    uses: int = 0


class Triggers:
    """Issues trigger_ids and response_urls, and checks their use. Lifetimes are in seconds."""

    def __init__(self, state: State, trigger_seconds: float, response_url_seconds: float) -> None:
        self._state, self._trigger_seconds, self._response_url_seconds = (
            state,
            trigger_seconds,
            response_url_seconds,
        )
        self._triggers: dict[str, Trigger] = {}
        self._response_urls: dict[str, ResponseUrl] = {}

    def issue_trigger(self, user: str) -> str:
        trigger_id = self._state.ids("trigger.")
        self._triggers[trigger_id] = Trigger(user, self._state.clock(), self._state.tabs.get(user, ""))
        return trigger_id

    def use_trigger(self, trigger_id: object) -> Trigger:
        """Marks the trigger as used, and returns it. Raises SlackError when it is unknown, expired or used."""
        trigger = self._triggers.get(str(trigger_id))
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if self._state.clock() - trigger.issued > self._trigger_seconds:
            raise SlackError("expired_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        trigger.used = True
        return trigger

    def issue_response_url(self, user: str, channel: str, ts: str | None) -> str:
        key = self._state.ids("R")
        self._response_urls[key] = ResponseUrl(user, channel, ts, self._state.clock())
        return key

    def use_response_url(self, key: str) -> ResponseUrl:
        """Counts one use; returns the url. Raises SlackError `used_url` or `expired_url`."""
        url = self._response_urls.get(key)
        if url is None or self._state.clock() - url.issued > self._response_url_seconds:
            raise SlackError("expired_url")
        if url.uses >= MAX_USES:
            raise SlackError("used_url")
        url.uses += 1
        return url
