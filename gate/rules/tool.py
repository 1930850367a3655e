"""What is known of a tool: its definition, the server's claims, and our recipe for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gate.arguments.declared_targets import Targets
from gate.rules.action import CallClass, Json, Risk


class Trust(StrEnum):
    """How far a server's claims about its own tools are believed."""

    BUNDLED = "bundled"
    REVIEWED = "reviewed"  # a tool is believed once an operator has read its definition
    DECLARED = "declared"  # the default: a claim to only read is believed where its words agree
    UNTRUSTED = "untrusted"  # claims can only raise a class


@dataclass(frozen=True, slots=True)
class Hints:
    """MCP tool annotations, as claimed. None: not said."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None


@dataclass(frozen=True, slots=True)
class Each:
    """Repeats a read for everything that a pattern finds in a text: the people who are mentioned, perhaps.

    The first group that is not empty is `{each}` among the arguments. `take` picks from `{read}`, the answer.
    """

    text: str
    find: str
    take: str


@dataclass(frozen=True, slots=True)
class Read:
    """A read call of the same server, with templates as arguments.

    `absent`: a pattern for the error that means that nothing is there yet; any other error ends the look. `seconds`:
    its time, where the usual one is too short; 0 for the usual one.
    """

    tool: str
    args: Mapping[str, Json]
    absent: str = ""
    each: Each | None = None
    seconds: int = 0


@dataclass(frozen=True, slots=True)
class ClassRaise:
    """Arguments that make a call worse than its tool: where they fit, the class is at least `cls`. `elsewhere`: its
    server takes them for something else than they say, so that no rule about arguments can be held against them.
    `hides`: only none about these. `about`: a test of the tool's full name and the arguments, which has to hold as
    well. `when`: a condition over the reads for the call; empty once it holds."""

    cls: CallClass
    schema: Mapping[str, Json] | None = None
    text: str = ""
    elsewhere: bool = False
    hides: tuple[str, ...] = ()
    about: Callable[[str, Json], bool] | None = None
    when: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Another first line of the card, for where `when` holds of the arguments and of what was captured, and `unless`
    does not; either may be empty."""

    summary: str
    when: str = ""
    unless: str = ""


@dataclass(frozen=True, slots=True)
class Undo:
    """One way back: used when its condition holds. Both conditions empty: always.

    `partly`: what it does not bring back, for people; empty when it brings back everything.
    """

    tool: str
    args: Mapping[str, Json]
    when: str = ""
    unless: str = ""
    partly: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """How to see whether a target is still as the action left it."""

    read: Read
    same: Mapping[str, str]  # path in the read's result -> template of the value it must have


@dataclass(frozen=True, slots=True)
class Follow:
    """A read that is made again and again after the action, for so many hours. Of its result, each of `news` (a list of
    {text, mark}) with another mark than before is told in the thread, and `over`, a sentence, ends it. `title`: a
    template, of those messages."""

    read: Read
    title: str
    hours: int


@dataclass(frozen=True, slots=True)
class Expect:
    """What a good result looks like: `that` is a template, `tests` what must hold of it, all of them.

    Tests: `equals`, `contains`, `matches`, `least`, `most`. `verdict`: of a result of which they do not hold,
    "doubtful" or "failed"; `why`: what is said then.
    """

    that: str
    tests: Mapping[str, Json]
    verdict: str = "doubtful"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Show:
    """How to draw the change: "fields", "diff" (before, after, path), "text" (after: a difference that a read
    gave) or "affected" (items).

    What a "text" says of the arguments: `says` names those that it has on lines of their own, `+ name: value`, and `of`
    those all of whose effect it shows, perhaps in other words.
    """

    kind: str = "fields"
    before: str = ""
    after: str = ""
    path: str = ""
    items: str = ""
    says: Sequence[str] = ()
    of: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """What we know about a tool beyond its schema (docs/recipes.md)."""

    cls: CallClass | None = None
    risk: Risk | None = None
    raises: Sequence[ClassRaise] = ()
    summary: str = ""
    summaries: Sequence[Summary] = ()  # in place of it, the first that holds
    verb: str = ""
    noun: str = ""
    capture: Mapping[str, Read] = field(default_factory=dict)
    bind: Mapping[str, str] = field(default_factory=dict)
    show: Show = Show()
    recoverable: str = ""
    keeps_days: int | None = None
    notifies: str = ""
    idempotent: bool = False
    undo: Sequence[Undo] = ()
    drift: Drift | None = None
    follow: Follow | None = None
    expect: Sequence[Expect] = ()
    targets: Targets | None = None  # None: nothing is known of its arguments
    ids: Sequence[str] = ()  # arguments of its server's tools that hold names in any case, or UUIDs
    # What reads tell, by the names of other tools' arguments, and once they have told it
    reported_as: Mapping[str, str] = field(default_factory=dict)
    resolved_as: Mapping[str, Json] = field(default_factory=dict)
    nested: Sequence[str] = ()  # and those that others of these have by another name, as `block_id=page_id`
    any_case: Sequence[str] = ()  # those that hold words or a statement in any case, and no list of ids

    @property
    def raises_by_arguments(self) -> tuple[ClassRaise, ...]:
        """What makes a call worse than its tool, but for what reads have yet to tell."""
        return tuple(one for one in self.raises if not one.when)

    @property
    def names_of_lists(self) -> tuple[str, ...]:
        """The arguments of this tool, and of its server's tools, that hold ids, perhaps several in one text; also where
        rules see those that stand inside of another."""
        own = self.targets or Targets()
        lifted = (
            name.removeprefix(f"{way}.")
            for way in own.nested
            for name in own.ids
            if name.startswith(f"{way}.")
        )
        return (*self.ids, *own.ids, *lifted)

    @property
    def names_of_ids(self) -> tuple[str, ...]:
        """Those, and the ones whose words are compared in any case."""
        return (*self.names_of_lists, *self.any_case)

    @property
    def names_in_any_letters(self) -> tuple[str, ...]:
        """Those, and the ones that name what files lie in, until a read has said what that is."""
        own = self.targets or Targets()
        return (*self.names_of_ids, *(() if own.resolved_in else own.inside))


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool of one server, as last listed."""

    server: str
    name: str
    title: str
    description: str
    schema: Mapping[str, Json]
    definition: str  # SHA-256 over name, description, schemas, annotations, _meta and where its server is
    hints: Hints = Hints()
    trust: Trust = Trust.DECLARED
    output_schema: Mapping[str, Json] | None = None
    recipe: Recipe = Recipe()
    changed: bool = False  # differs from the definition that was first seen or last reviewed
    reviewed: bool = False  # an operator has read exactly this definition
    own_recipe: bool = False  # the recipe is the server's own word, not the operator's
    meta: Mapping[str, Json] = field(default_factory=dict)  # as declared, for whoever reviews it
    shows_change: bool | None = None  # whether its words tell of a change; None where nobody has looked yet
    # The least class of a call without arguments, by its name and its schema, and why; None the same
    class_without_arguments: tuple[CallClass, str] | None = None

    @property
    def required(self) -> frozenset[str]:
        """The arguments that its schema requires."""
        named = self.schema.get("required")
        return (
            frozenset(name for name in named if isinstance(name, str))
            if isinstance(named, list)
            else frozenset()
        )

    @property
    def full_name(self) -> str:
        return f"{self.server}.{self.name}"

    @property
    def unread(self) -> bool:
        """Whether an operator would have to read it before anything that its server says of it may lower its class."""
        return self.changed or (self.trust is Trust.REVIEWED and not self.reviewed)

    @property
    def believed(self) -> bool:
        """Whether its own words count: it comes along, or an operator has read its definition as it is now."""
        reviewed = self.reviewed and self.trust is not Trust.UNTRUSTED
        return not self.changed and (reviewed or self.trust is Trust.BUNDLED)


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool's definition, by its hash: the first that was seen, or the one that `reviewed_by` has read."""

    server: str
    tool: str
    definition: str
    reviewed_by: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How one MCP server is doing."""

    name: str
    state: str  # connecting, ready, backoff, stopped
    detail: str = ""
    tools: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered. `is_error` is data: the tool ran and said no."""

    text: str
    structured: Json = None
    is_error: bool = False
    clipped: bool = False  # the answer was longer than what is kept


@dataclass(frozen=True, slots=True)
class Problem:
    """One way in which arguments break a schema: where, and a sentence for a person.

    `unsure`: it could not be checked to the end. A tool is not called then, and a rule counts as holding.
    """

    path: tuple[str | int, ...]
    text: str
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class InvalidAnswer:
    """What somebody filled in breaks the schema that it was asked for: one sentence for each field."""

    problems: tuple[Problem, ...]


class ServerUnavailable(Exception):
    """Nothing was sent, or it was turned away before it ran: safe to try again."""


class OutcomeUnknown(Exception):
    """It was sent and no trustworthy answer came: it may have run. Never tried again by itself."""


class AnswerTooLong(OutcomeUnknown):
    """It was sent, and the answer is longer than what is read of one: what it says is not known."""
