"""The components of a running workspace; trigger_ids for one modal each, response_urls for five posts each."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace.delivery import Delivery, Sockets, Timing
from workspace.faults import Faults, SlackError
from workspace.state import COMMANDS, Command, State

MAX_USES = 5
SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,groups:history,"
    "groups:read,im:history,im:read,im:write,reactions:write,usergroups:read,users:read"
)


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
    """Issues trigger_ids and response_urls, and checks their use. Lifetimes are in seconds. What expired is told as
    expired for as long again; then it is unknown."""

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
        self._drop_older(self._triggers, 2 * self._trigger_seconds)
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
        self._drop_older(self._response_urls, 2 * self._response_url_seconds)
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

    def forget(self, newest: int) -> None:
        """Removes all but the newest of each kind."""
        for issued in (self._triggers, self._response_urls):
            for key in list(issued)[:-newest]:
                del issued[key]

    def _drop_older(self, issued: dict[str, Trigger] | dict[str, ResponseUrl], seconds: float) -> None:
        oldest = self._state.clock() - seconds
        while (first := next(iter(issued), None)) and issued[first].issued < oldest:
            del issued[first]


@dataclass(frozen=True)
class Installation:
    """The app's credentials, commands and scopes. Credentials are random unless given."""

    bot_token: str = field(default_factory=lambda: f"xoxb-{secrets.token_hex(16)}")
    app_token: str = field(default_factory=lambda: f"xapp-{secrets.token_hex(16)}")
    signing_secret: str = field(default_factory=lambda: secrets.token_hex(16))
    commands: tuple[Command, ...] = COMMANDS
    scopes: str = SCOPES


@dataclass(frozen=True)
class Options:
    """Settings of a workspace.

    timing: Slack's time limits. rate_limits: enforce Slack's rate tiers. autolink: turn `notes.md` that a person
    types into a link, as Slack's composer does with every bare host name. random_seed: makes the choice of replicas
    repeatable. examples: messages that the page offers to somebody who has written nothing yet.
    """

    timing: Timing = field(default_factory=Timing)
    rate_limits: bool = False
    autolink: bool = True
    random_seed: int | None = None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A payload that failed validation, with its problems."""

    method: str
    payload: dict[str, Any]
    problems: list[str]


@dataclass
class Context:
    """`url` is empty until the start; `refused` are the payloads that failed validation."""

    installation: Installation
    options: Options
    state: State
    delivery: Delivery
    sockets: Sockets
    triggers: Triggers
    faults: Faults
    refused: list[Refusal] = field(default_factory=list)
    url: str = ""

    def raise_for_problems(
        self, method: str, payload: dict[str, Any], problems: Sequence[str], code: str
    ) -> None:
        """Records the payload as refused and raises SlackError, if there are problems."""
        if problems:
            self.refused.append(Refusal(method, payload, list(problems)))
            self.state.changed()
            raise SlackError(code, problems)
