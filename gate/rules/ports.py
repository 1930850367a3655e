"""The ports through which flows reach the world, and World, the frozen bundle of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from gate.rules.action import Action, Json, Person
from gate.rules.confidence import Judgement
from gate.rules.judging_turns import JudgingTurns
from gate.rules.ledger_ports import ActionContext as ActionContext
from gate.rules.ledger_ports import DueItem as DueItem
from gate.rules.ledger_ports import Ledger as Ledger
from gate.rules.ledger_ports import PlannerUnavailable as PlannerUnavailable
from gate.rules.ledger_ports import Stale as Stale
from gate.rules.ledger_ports import StaleTask as StaleTask
from gate.rules.ledger_ports import ThreadContext as ThreadContext
from gate.rules.ledger_ports import TooManyWaiting as TooManyWaiting
from gate.rules.ledger_ports import Tx as Tx
from gate.rules.ledger_ports import Unavailable as Unavailable
from gate.rules.messages import CardKey as CardKey
from gate.rules.messages import Lease as Lease
from gate.rules.messages import LedgerEvent as LedgerEvent
from gate.rules.messages import Note as Note
from gate.rules.messages import OpenedModal as OpenedModal
from gate.rules.messages import Posted as Posted
from gate.rules.messages import UndoEntry as UndoEntry
from gate.rules.planner_port import Planner
from gate.rules.policy import Policy
from gate.rules.reviews import Pending as Pending
from gate.rules.settings import Switches
from gate.rules.task import Plan, Step, Task
from gate.rules.tool import Answer, Problem, ServerStatus, ToolSpec


class Leases(Protocol):
    """Redis: keeps time. Methods raise Unavailable when Redis cannot be had."""

    async def put(self, lease: Lease, ttl: float) -> None:
        """Write or replace, for `ttl` seconds."""

    async def get(self, action_id: str) -> Lease | None: ...
    async def drop(self, action_id: str) -> None: ...


class Tools(Protocol):
    """The MCP host. `find` and the lists are local; `declared` and `call` travel."""

    def find(self, server: str, tool: str) -> ToolSpec | None: ...
    def specs(self) -> Sequence[ToolSpec]: ...
    def servers(self) -> Sequence[ServerStatus]: ...
    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        """Every way in which the value breaks the JSON Schema; empty when it keeps it."""

    def relist(self, server: str) -> None:
        """Have the server's tools, and what is pinned of them, looked at anew soon. Waits for nothing."""

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        """The tool as its server declares it now, by a listing of the last seconds. Raises ServerUnavailable."""

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None, definition: str
    ) -> Answer:
        """Call a tool, while its server declares just this definition. Raises ServerUnavailable (did not run) or
        OutcomeUnknown (may have run)."""


class People(Protocol):
    """Who is who in Slack."""

    async def known(self, team: str, user: str) -> Person | None:
        """What is known without asking Slack; fast. None when nothing is."""

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        """No older than `seconds`; asks Slack when it has to. None when Slack does not say."""


class Judge(Protocol):
    """Verification tier 2 (docs/promises.md GATE-14): a rule, or a model."""

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        """What it makes of the result of a step that succeeded; None where it has no opinion, or cannot be had: then
        the score is made of the rest. Raises Unavailable: it is asked again."""


class Chat(Protocol):
    """What people see. Called by runs, never inside a transaction. Raises Unavailable: try again later."""

    async def draw(
        self, key: CardKey, within: float, seen: Callable[[Action | Task], Awaitable[None]]
    ) -> None:
        """Bring a card up to date, in up to `within` seconds: what changes meanwhile is drawn with it. `seen` is given
        each action or task that is drawn, before anybody sees it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator may set."""

    ttl: float = 300.0  # seconds in which a pending action can be confirmed
    call: float = 60.0  # seconds a tool may take
    claim: float = 30.0  # seconds a claim lasts unless renewed
    begin: float = 900.0  # seconds after the last yes in which a call has to begin; later it is asked again
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
    server_question: float = 300.0  # seconds for which a call waits for the answer to what its server asks
    server_questions: int = 5  # that the server of one call may ask
    follow: float = 30.0  # seconds between two looks at what an action has begun, such as a watch

    @property
    def requests_per_user(self) -> int:
        """How many requests of one person may be under way, and how many messages of theirs may wait to be read."""
        return 2 * self.pending_per_user

    @property
    def pending_of_agents(self) -> int:
        """How many of a person's actions that wait agents' tokens may have proposed, all together: the rest is left
        for what the person asks for."""
        return max(1, self.pending_per_user // 2)

    @property
    def requests_of_agents(self) -> int:
        """The same of requests that are under way."""
        return max(1, self.requests_per_user // 2)

    @property
    def standing_per_user(self) -> int:
        """How many requests of one person may wait for an answer of theirs, which they may do for ever: each list of
        what waits reads them all."""
        return 5 * self.requests_per_user


class Clock(Protocol):
    def now(self) -> datetime: ...
    def uptime(self) -> float:
        """Seconds that the machine runs; unlike `now`, nobody sets them back."""

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
    address: str = ""  # of the Slack workspace, as auth.test tells it, for links to messages
    # The list of what waits for a review; without one, it is read from the ledger
    pending: Pending | None = None
    # Steps of plans are judged one after the other: those of several presses at once, too
    judging: JudgingTurns = field(default_factory=JudgingTurns)

    def for_token(self, token: str) -> World:
        """The same world, for what comes through the API with this token: the record names it, by its id."""
        return replace(self, ledger=self.ledger.for_token(token))
