"""What people say and what planners answer: the port behind which any planner fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from gate.action import Action, Json, Risk, Session


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message that came in, as the inbox keeps it."""

    key: str  # team:channel:ts, or the event id where there is no ts
    session: Session
    user: str
    text: str  # unescaped; mentions as <@U…>
    ts: str
    mentioned: bool  # addressed to the bot, by mention or in a direct message


@dataclass(frozen=True, slots=True)
class Call:
    """A proposed tool call. `risk` may raise, never lower. `prose` is shown as unchecked."""

    server: str
    tool: str
    args: Mapping[str, Json]
    risk: Risk | None = None
    prose: str = ""


@dataclass(frozen=True, slots=True)
class Propose:
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Say:
    """Words for the thread. Not about outcomes: those sentences come from code."""

    text: str


@dataclass(frozen=True, slots=True)
class CancelPending:
    """Withdraw a pending action of the requester: always safe."""

    action: str


@dataclass(frozen=True, slots=True)
class ListPending:
    """Show what waits."""


@dataclass(frozen=True, slots=True)
class Done:
    """Nothing more to do or say in this turn."""


Reply = Propose | Say | CancelPending | ListPending | Done


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one proposed call: the truth, for the planner."""

    call: int
    status: str  # succeeded, failed, denied, cancelled, rejected, expired, unknown, refused, waiting
    text: str  # the tool's answer, or the reason
    args: Mapping[str, Json] | None = None  # what really ran, when a person edited it
    by: str = ""  # who decided


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply of the planner and what came of it."""

    reply: Reply
    told: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message of the requester set in motion."""

    id: str
    session: Session
    requester: str
    text: str
    at: datetime
    exchanges: tuple[Exchange, ...] = ()


class Planner(Protocol):
    """Turns words into proposals. It can propose, speak, list and cancel; it can never confirm."""

    follows: bool  # wants to be asked again once its proposals are settled

    async def reply(self, turn: Turn, pending: tuple[Action, ...]) -> Reply: ...
