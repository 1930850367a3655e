"""What a workspace is made of, handed to everything that acts in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace.cast import COMMANDS, Command
from workspace.delivery import Delivery, Timing
from workspace.errors import SlackError
from workspace.faults import Faults
from workspace.journal import Refusal
from workspace.passes import Passes
from workspace.sockets import Sockets
from workspace.state import State

SCOPES = (
    "app_mentions:read,assistant:write,channels:history,channels:read,chat:write,commands,groups:history,"
    "groups:read,im:history,im:read,im:write,reactions:write,usergroups:read,users:read"
)


@dataclass(frozen=True)
class Installation:
    """What the app and its workspace agreed on."""

    bot_token: str = "xoxb-local"
    app_token: str = "xapp-local"
    signing_secret: str = "local-signing-secret"
    commands: tuple[Command, ...] = COMMANDS
    scopes: str = SCOPES


@dataclass(frozen=True)
class Rules:
    """Where this workspace may be made milder or stricter than its default.

    rate_limits: enforce Slack's tiers. autolink: turn `notes.md` that a person types into a link,
    as Slack's composer does with every bare host name. seed: choose the same replicas in every run.
    """

    timing: Timing = field(default_factory=Timing)
    rate_limits: bool = False
    autolink: bool = True
    seed: int | None = None


@dataclass
class Parts:
    """`url` is known after the start; `refused` is every payload the validator would not take."""

    installed: Installation
    rules: Rules
    state: State
    delivery: Delivery
    sockets: Sockets
    passes: Passes
    faults: Faults
    refused: list[Refusal] = field(default_factory=list)
    url: str = ""

    def insist(self, method: str, payload: dict[str, Any], problems: Sequence[str], code: str) -> None:
        """Raises SlackError with these problems, if there are any, and keeps the payload as refused."""
        if problems:
            self.refused.append(Refusal(method, payload, list(problems)))
            self.state.changed()
            raise SlackError(code, problems)
