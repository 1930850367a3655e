"""The components of a running workspace, which its functions take as their first argument."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace.delivery import Delivery, Timing
from workspace.errors import SlackError
from workspace.faults import Faults
from workspace.seed import COMMANDS, Command
from workspace.sockets import Sockets
from workspace.state import State
from workspace.triggers import Triggers

SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,groups:history,"
    "groups:read,im:history,im:read,im:write,reactions:write,usergroups:read,users:read"
)


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
