"""Who an API token speaks for, what it may see, and what it may do. Without a rule the answer is no."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from gate.rules.action import Action, Json, Person, Session
from gate.rules.approvers import Approvers
from gate.rules.permissions import YES, Ruling, account, is_named
from gate.rules.policy import Policy
from gate.rules.steps import PRIVATE_REASON
from gate.rules.task import Task

T = TypeVar("T")
TOKEN_PREFIX = "cs"
NOT_OPENED = (
    "An agent's token names only a thread that was opened for it: what people say in others is not for agents. Leave "
    "out session_id, and a thread is opened."
)
NOT_RELEASED = "What a call gave is told once whoever asked for it, or an admin, has released it."
TOKEN_FORM = re.compile(rf"{TOKEN_PREFIX}_(agent|person)_([0-9a-f]{{16}})_([0-9a-f]{{64}})_([0-9a-f]{{8}})")


class TokenKind(StrEnum):
    """What a token is for."""

    AGENT = "agent"  # proposes, and sees and withdraws what it proposed; never decides
    PERSON = "person"  # decides exactly what its person may decide in Slack


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is on record. `user` asks for what it proposes, and decides where it is a person's.

    `channels` are those that it may propose in, the first unless another is named; their rules apply.
    """

    id: str
    kind: TokenKind
    name: str
    team: str
    user: str
    channels: tuple[str, ...]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Audience:
    """Who is shown an action besides its requester."""

    approvers: Approvers = Approvers()
    private: bool = False


@dataclass(frozen=True, slots=True)
class Parties:
    """What says of an action or a task who may know of it; the same fields as there."""

    session: Session
    requester: str
    approvers: Approvers = Approvers()
    private: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event or a request is about. `makers`: ids of the tokens that proposed it, or the task it belongs to."""

    action: Action | Parties | None = None
    task: Task | Parties | None = None
    makers: frozenset[str] = frozenset()

    @property
    def session(self) -> Session | None:
        about = self.action or self.task
        return about.session if about else None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The parts of a token as its holder has it."""

    id: str
    secret: str


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event as it stands on the stream, with what it is about as that stands now. `seq` orders them."""

    seq: int
    at: datetime
    kind: str
    session: Session
    task: str
    body: dict[str, Json]
    subject: Subject


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """A page of what is listed: as many as were asked for, or fewer where those are large. `more`: others follow."""

    items: Sequence[T]
    more: bool


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events are wanted: those of a Slack workspace, and of one kind or task where that is not ""."""

    team: str
    kind: str = ""
    task: str = ""


def format_token(kind: TokenKind, token_id: str, secret: str) -> str:
    """The text that its holder is given once. Its last part is a checksum: what was mistyped is known as such."""
    head = f"{TOKEN_PREFIX}_{kind}_{token_id}_{secret}"
    return f"{head}_{zlib.crc32(head.encode()):08x}"


def parse_token(text: str) -> IssuedToken | None:
    """The parts of a token's text, or None when it is none of ours."""
    found = TOKEN_FORM.fullmatch(text)
    if found is None or format_token(TokenKind(found[1]), found[2], found[3]) != text:
        return None
    return IssuedToken(found[2], found[3])


def digest(secret: str) -> str:
    """What is kept of a secret of 256 random bits: nothing slower is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_valid_token(token: Token, now: datetime) -> Ruling:
    """Whether the token still counts."""
    if token.revoked_at is not None:
        return Ruling(False, "This token was revoked. Ask an operator for a new one.")
    if token.expires_at <= now:
        return Ruling(False, "This token has expired. Ask an operator for a new one.")
    return YES


def may_be_used(policy: Policy, token: Token, person: Person | None) -> Ruling:
    """Whether the account that the token speaks for lets it be used: of an agent's it may be an app that may ask."""
    if token.kind is TokenKind.AGENT and person and person.id in policy.listed_bots and not person.is_deleted:
        return YES
    return account(person)


def may_decide(token: Token, what: str) -> Ruling:
    """Whether a token of this kind may do what only people do. Whether this person may is the flow's to say."""
    if token.kind is TokenKind.PERSON:
        return YES
    return Ruling(
        False, f"An agent's token cannot {what}: a person has to, in Slack or with a token of theirs."
    )


def sees(policy: Policy, token: Token, person: Person | None, subject: Subject) -> Ruling:
    """Whether the token may know of this at all. To whom it is not shown, it does not exist.

    An agent sees what it proposed; a person what they asked for, may decide, or administer.
    """
    session = subject.session
    if session is None or session.team != token.team:
        return Ruling(False)
    if token.kind is TokenKind.AGENT:
        return Ruling(token.id in subject.makers)
    ruling = account(person)
    if not ruling.allowed or person is None or person.id != token.user:
        return Ruling(False, ruling.reason)
    if person.id in policy.admins:
        return YES
    if subject.action is not None:
        return Ruling(_may_see_action(subject.action, token, person))
    return Ruling(subject.task is not None and subject.task.requester == person.id)


def _may_see_action(action: Action | Parties, token: Token, person: Person) -> bool:
    """Whether it is theirs, or theirs to decide. Where any member may, only those of its channel are shown it."""
    if action.requester == person.id or is_named(action.approvers, person):
        return True
    anybody = action.approvers.needed > 1 and not action.approvers.named
    return anybody and not action.private and action.session.channel in token.channels


def may_read_held(policy: Policy, token: Token, requester: str) -> Ruling:
    """Whether the token is shown what a call of this requester gave while that is held, and after it was withheld: only
    to a person who may release it (gate.rules.permissions: Verb.RELEASE, TaskVerb.CONTINUE)."""
    releases = token.user == requester or token.user in policy.admins
    return YES if token.kind is TokenKind.PERSON and releases else Ruling(False, NOT_RELEASED)


def visible_action(token: Token, action: Action) -> Action:
    """The action as this token is shown it: what a decision has to name, the phrase to type, the private rule by which
    it asks, and what people say of an undo, which no agent asks for, are for people."""
    if token.kind is TokenKind.PERSON:
        return action
    decision = action.proposal.decision
    decision = replace(decision, reason=PRIVATE_REASON, rule="") if action.private else decision
    told, said = replace(action.proposal, phrase="", decision=decision), action.resolution
    said = replace(said, reason="") if action.undoes and not said.own else said
    return replace(action, proposal=told, resolution=said, receipt="")


def may_join(token: Token, opened: bool) -> Ruling:
    """Whether the token may propose in a thread that is there. `opened`: that thread was opened for what it proposed. A
    task takes in what its person writes in its thread, and is told to the agent that made it."""
    return YES if opened or token.kind is TokenKind.PERSON else Ruling(False, NOT_OPENED)


def session_for_token(token: Token, session_key: str, channel: str) -> Session | Ruling:
    """Where it may propose: the named thread, or a new one (thread "") in the named or its first channel."""
    if not token.channels:
        return Ruling(
            False, "This token names no channel, so it cannot propose anything. Ask for one that does."
        )
    if not session_key:
        wanted = Session(token.team, channel or token.channels[0], "")
    else:
        parts = session_key.split(":")
        if len(parts) != 3 or not all(parts):
            return Ruling(False, "session_id must have the form team:channel:thread_ts.")
        wanted = Session(*parts)
        if channel and channel != wanted.channel:
            return Ruling(False, "session_id and channel name different channels; leave out channel.")
    if wanted.team != token.team or wanted.channel not in token.channels:
        return Ruling(False, f"This token may propose in {', '.join(token.channels)} only.")
    return wanted
