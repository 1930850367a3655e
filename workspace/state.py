"""Everything the workspace remembers, and the bell that rings when any of it changes."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from workspace.cast import Cast, Person

Blocks = list[dict[str, Any]]
Values = dict[str, dict[str, Any]]
Ids = Callable[[str], str]
Clock = Callable[[], float]


def counted_ids() -> Ids:
    """Ids that are the same in every run: `counted_ids()("V")` gives V00000001."""
    counter = itertools.count(1)
    return lambda prefix: f"{prefix}{next(counter):08d}"


def random_ids() -> Ids:
    """Ids that never come again, also not after a restart with kept data."""
    return lambda prefix: prefix + secrets.token_hex(6).upper()


@dataclass
class Channel:
    """A channel or, when `im_with` names a person, their direct messages with the app."""

    id: str
    name: str
    members: set[str]
    private: bool = False
    im_with: str | None = None

    @property
    def type(self) -> str:
        """What `channel_type` says in message events."""
        return "im" if self.im_with else "group" if self.private else "channel"


@dataclass
class Message:
    """A message. `visible_to` is the one reader of an ephemeral one; `values` are what its fields began with,
    `typed` what each person has filled in."""

    channel: str
    ts: str
    user: str
    text: str
    thread_ts: str | None = None
    blocks: Blocks | None = None
    visible_to: str | None = None
    edited: bool = False
    metadata: dict[str, Any] | None = None
    values: Values = field(default_factory=dict)
    typed: dict[str, Values] = field(default_factory=dict)
    reactions: dict[str, list[str]] = field(default_factory=dict)

    def values_of(self, user: str) -> Values:
        """What this person sees in the fields; nobody sees what another one typed."""
        return self.typed.setdefault(user, deepcopy(self.values))


@dataclass
class View:
    """A modal, or an App Home. `body` is what the app sent; `values` what the person filled in."""

    id: str
    user: str
    body: dict[str, Any]
    hash: str
    root: str
    previous: str | None = None
    values: Values = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    busy: bool = False

    @property
    def blocks(self) -> Blocks:
        blocks: Blocks = self.body["blocks"]
        return blocks


@dataclass
class Warned:
    """What Slack shows beside a warning triangle."""

    id: str
    text: str


class State:
    """People, channels, messages, views. No rule about who may do what lives here."""

    def __init__(self, cast: Cast, clock: Clock, ids: Ids) -> None:
        self.app, self.clock, self.ids = cast.app, clock, ids
        bot = Person(cast.app.bot_user, cast.app.name, "bot", cast.app.team)
        self.people = {p.id: p for p in (*cast.people, bot)}
        self.usergroups = {g.id: g for g in cast.usergroups}
        self.channels = {r.id: Channel(r.id, r.name, set(r.members), r.private) for r in cast.rooms}
        for person in cast.people:
            self._open_im(person)
        self.messages: dict[str, dict[str, Message]] = {channel: {} for channel in self.channels}
        self._threads: dict[tuple[str, str], list[Message]] = {}
        self.stacks: dict[str, list[View]] = {p: [] for p in self.people}
        self.homes: dict[str, View] = {}
        self.statuses: dict[tuple[str, str | None], str] = {}
        self.titles: dict[tuple[str, str | None], str] = {}
        self.prompts: dict[tuple[str, str | None], list[dict[str, str]]] = {}
        self.warnings: dict[str, list[Warned]] = {p: [] for p in self.people}
        self.rev = 0
        self._bells: set[asyncio.Event] = set()
        self._last_ts = 0

    def _open_im(self, person: Person) -> None:
        if person.kind in ("member", "guest"):
            channel = "D" + person.id[1:]
            members = {person.id, self.app.bot_user}
            self.channels[channel] = Channel(channel, person.name, members, im_with=person.id)

    def next_ts(self) -> str:
        """A message timestamp: seconds with six digits, never the same twice."""
        self._last_ts = max(int(self.clock() * 1_000_000), self._last_ts + 1)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def changed(self) -> None:
        """Rings the bell of everyone who waits for news."""
        self.rev += 1
        for bell in self._bells:
            bell.set()

    def listen(self) -> asyncio.Event:
        bell = asyncio.Event()
        self._bells.add(bell)
        return bell

    def unlisten(self, bell: asyncio.Event) -> None:
        self._bells.discard(bell)

    def im_of(self, user: str) -> Channel | None:
        return self.channels.get("D" + user[1:])

    def add(self, message: Message) -> Message:
        self.messages[message.channel][message.ts] = message
        if message.thread_ts and message.thread_ts != message.ts:
            self._threads.setdefault((message.channel, message.thread_ts), []).append(message)
        self.changed()
        return message

    def remove(self, message: Message) -> None:
        self.messages[message.channel].pop(message.ts, None)
        thread = self._threads.get((message.channel, message.thread_ts or ""), [])
        if message in thread:
            thread.remove(message)
        self.changed()

    def message(self, channel: str, ts: str) -> Message | None:
        return self.messages.get(channel, {}).get(ts)

    def message_at(self, ts: str) -> Message | None:
        """The message of this timestamp, which no two channels share."""
        return next((found[ts] for found in self.messages.values() if ts in found), None)

    def visible(self, channel: str, user: str) -> Iterable[Message]:
        """The messages of a channel that this person may see, oldest first."""
        return (m for m in self.messages[channel].values() if self.may_see(m, user))

    def may_see(self, message: Message, user: str) -> bool:
        return user in self.channels[message.channel].members and message.visible_to in (None, user)

    def replies(self, parent: Message) -> list[Message]:
        return [m for m in self._threads.get((parent.channel, parent.ts), []) if m.visible_to is None]

    def view(self, view_id: str) -> View | None:
        """An open modal or a published home; a closed view is gone."""
        views = (v for stack in self.stacks.values() for v in stack)
        return next((v for v in (*views, *self.homes.values()) if v.id == view_id), None)

    def top(self, user: str) -> View | None:
        stack = self.stacks[user]
        return stack[-1] if stack else None

    def warn(self, user: str, text: str) -> None:
        self.warnings[user].append(Warned(self.ids("W"), text))
        self.changed()
