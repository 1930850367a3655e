"""The ports through which flows reach the world, and World, the frozen bundle of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from gate.action import Action, Json, Person, Session, Vote
from gate.confidence import Judgement
from gate.ledger import Ledger as Ledger
from gate.ledger import Stale as Stale
from gate.ledger import StaleTask as StaleTask
from gate.ledger import Tx as Tx
from gate.ledger import Unavailable as Unavailable
from gate.policy import Policy
from gate.records import Happening as Happening
from gate.records import Lease as Lease
from gate.records import Note as Note
from gate.records import Posted as Posted
from gate.records import Sheet as Sheet
from gate.records import UndoEntry as UndoEntry
from gate.reviews import Pending as Pending
from gate.switches import Switches
from gate.talk import Planner
from gate.task import Plan, Step, Task
from gate.tool import Answer, Problem, ServerStatus, ToolSpec


class Leases(Protocol):
    """Redis: keeps time. Methods raise Unavailable when Redis cannot be had."""

    async def put(self, lease: Lease, ttl: float) -> None:
        """Write or replace, for `ttl` seconds."""

    async def get(self, action_id: str) -> Lease | None: ...
    async def drop(self, action_id: str) -> None: ...
    async def of_user(self, team: str, user: str) -> tuple[Lease, ...]: ...
    async def of_session(self, session: Session) -> tuple[Lease, ...]: ...


class Tools(Protocol):
    """The MCP host. Listing is local; only `call` travels."""

    def find(self, server: str, tool: str) -> ToolSpec | None: ...
    def specs(self) -> Sequence[ToolSpec]: ...
    def servers(self) -> Sequence[ServerStatus]: ...
    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        """Every way in which the value breaks the JSON Schema; empty when it keeps it."""

    async def call(self, server: str, tool: str, args: bytes, seconds: float | None = None) -> Answer:
        """Call a tool. Raises ServerUnavailable (did not run) or OutcomeUnknown (may have run)."""


class People(Protocol):
    """Who is who in Slack."""

    async def known(self, team: str, user: str) -> Person | None:
        """What is known without asking Slack; fast. None when nothing is."""

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        """No older than `seconds`; asks Slack when it has to. None when Slack does not say."""


class Judge(Protocol):
    """Verification tier 2 of spec 003: a rule, or a model."""

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        """What it makes of the result of a step that succeeded; None where it has no opinion, or cannot be had: then
        the score is made of the rest. Raises Unavailable: it is asked again."""


class Chat(Protocol):
    """What people see. Called by runs, never inside a transaction. Raises Unavailable: try again later."""

    async def draw(self, action: Action, votes: tuple[Vote, ...]) -> None: ...
    async def draw_task(self, task: Task) -> None:
        """Post or update the cards of a task as it stands."""

    async def post(self, note: Note) -> None: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator may set."""

    ttl: float = 300.0  # seconds in which a pending action can be confirmed
    undo_bar: float = 10.0  # seconds for which the undo button stays on the result card
    call: float = 60.0  # seconds a tool may take
    claim: float = 30.0  # seconds a claim lasts unless renewed
    decision: float = 1.5  # seconds for the commit before the acknowledgement
    pending_per_user: int = 10
    calls_per_turn: int = 12
    turns_depth: int = 12
    steps: int = 30  # of one plan
    plan: float = 604_800.0  # seconds for which a plan waits for its approval
    question: float = 604_800.0  # seconds for which a task waits for an answer to what it asks
    settle: float = 86_400.0  # seconds after which a finished task counts as done
    hold: float = 45.0  # seconds for which a call over MCP is held; many clients give up after 60
    proceed: float = 10.0  # seconds for which a summary can be held before the task goes on


class Clock(Protocol):
    def now(self) -> datetime: ...
    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh, unguessable identifier of letters and digits."""


@dataclass(frozen=True, slots=True)
class World:
    """Everything a flow may touch."""

    ledger: Ledger
    leases: Leases
    tools: Tools
    people: People
    chat: Chat
    planner: Planner
    policy: Policy
    limits: Limits
    clock: Clock
    ids: Ids
    executor: str
    fits: Callable[[Action], bool]  # the whole preview can be shown on one card
    reviewable: Callable[[Action], bool]  # or at least in one modal
    switches: Callable[[str], Switches] = lambda channel: Switches()  # for a channel
    # The steps whose whole preview a plan's card shows: nothing else is covered by its approval.
    shows: Callable[[Plan], frozenset[str]] = lambda plan: frozenset()
    # Help, in words: with the server that is named so, or "" for all of them.
    guide: Callable[[str], str] = lambda about: ""
    judge: Judge | None = None  # of the results of steps; without one, their score is made of the rest
    pending: Pending | None = (
        None  # the list of what waits for a review; without one, it is read from the ledger
    )

    def through(self, token: str) -> World:
        """The same world, for what comes through the API with this token: the record names it, by its id."""
        return replace(self, ledger=self.ledger.through(token))
