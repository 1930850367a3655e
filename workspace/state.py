"""The state of the workspace: its initial contents, notification of changes, and the messages in a file."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["member", "guest", "stranger", "deleted", "bot"]
Blocks = list[dict[str, Any]]
Values = dict[str, dict[str, Any]]
Ids = Callable[[str], str]
Clock = Callable[[], float]
log = logging.getLogger(__name__)
NEWEST = 500  # messages of each channel that are kept
SAVE_SECONDS = 1.0  # between a change and its being on disk


@dataclass(frozen=True)
class App:
    """The installed app. Its ids are part of every payload."""

    id: str = "A_COUNTERSIGN"
    name: str = "Countersign"
    bot_user: str = "UBOT"
    bot_id: str = "BBOT"
    team: str = "T1"
    team_domain: str = "local"


@dataclass(frozen=True)
class Person:
    """A user. `kind` sets the flags of users.info."""

    id: str
    name: str
    kind: Kind = "member"
    team: str = "T1"

    @property
    def bot_id(self) -> str | None:
        return "B" + self.id[1:] if self.kind == "bot" else None


@dataclass(frozen=True)
class SeedChannel:
    """A channel with its members. `private` makes it a `group` in events."""

    id: str
    name: str
    members: tuple[str, ...]
    private: bool = False


@dataclass(frozen=True)
class Usergroup:
    id: str
    handle: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A slash command, as in the app's manifest."""

    command: str
    description: str
    usage_hint: str = ""


PEOPLE = (
    Person("U_ANN", "Ann"),
    Person("U_BEN", "Ben"),
    Person("U_CLEO", "Cleo"),
    Person("U_GIL", "Gil", "guest"),
    Person("U_SAM", "Sam", "stranger", team="T2"),
    Person("U_DORA", "Dora", "deleted"),
    Person("U_ROBOT", "Robot", "bot"),
)
CHANNELS = (
    SeedChannel("C_OPS", "ops", ("U_ANN", "U_BEN", "U_CLEO", "U_GIL", "U_SAM", "U_ROBOT", "UBOT")),
    SeedChannel("C_GENERAL", "general", ("U_ANN", "U_BEN", "U_CLEO", "UBOT")),
    SeedChannel("C_LEADS", "leads", ("U_ANN", "U_BEN", "UBOT"), private=True),
    SeedChannel("C_RANDOM", "random", ("U_ANN", "U_BEN", "U_CLEO")),
)
USERGROUPS = (Usergroup("S_OPS", "ops-team", ("U_BEN", "U_CLEO")),)
COMMANDS = (
    Command("/pending", "What is waiting for you"),
    Command("/undo", "Take back what was done", "[number]"),
    Command("/audit", "What was decided and done", "[number]"),
    Command("/countersign", "How it works", "help"),
)


@dataclass(frozen=True)
class Seed:
    """Everything that exists when the workspace starts."""

    app: App = App()
    people: tuple[Person, ...] = PEOPLE
    channels: tuple[SeedChannel, ...] = CHANNELS
    usergroups: tuple[Usergroup, ...] = USERGROUPS


def counted_ids() -> Ids:
    """A generator of the same ids in every run: `counted_ids()("V")` is V00000001."""
    counter = itertools.count(1)
    return lambda prefix: f"{prefix}{next(counter):08d}"


def random_ids() -> Ids:
    """A generator of random ids, unique across restarts."""
    return lambda prefix: prefix + secrets.token_hex(6).upper()


@dataclass
class Channel:
    """A channel or, with `im_with`, the direct messages of that person and the app."""

    id: str
    name: str
    members: set[str]
    private: bool = False
    im_with: str | None = None
    made_by: str = ""  # the other workspace that made it and shares it with ours

    @property
    def type(self) -> str:
        """The `channel_type` of message events."""
        return "im" if self.im_with else "group" if self.private else "channel"


@dataclass
class Message:
    """A message. `visible_to`: the reader of an ephemeral one. `values`: the initial values of its fields.
    `typed`: the values by person."""

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
    stream: dict[str, Any] | None = None  # of a message that the app has not stopped streaming

    def values_of(self, user: str) -> Values:
        """The field values that this person sees; input of other people is not shown."""
        return self.typed.setdefault(user, deepcopy(self.values))


@dataclass
class View:
    """A modal or App Home. `body`: as sent by the app. `values`: the person's input. `tab`: the browser tab that a
    modal was asked for in, "" when another client asked."""

    id: str
    user: str
    body: dict[str, Any]
    hash: str
    root: str
    previous: str | None = None
    values: Values = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    busy: bool = False
    tab: str = ""

    @property
    def blocks(self) -> Blocks:
        blocks: Blocks = self.body["blocks"]
        return blocks


@dataclass
class ClientWarning:
    """A warning that the client shows to one person, in one channel; in all of them where `channel` is ""."""

    id: str
    text: str
    channel: str = ""


class State:
    """People, channels, messages and views. It stores without checks; callers check permissions."""

    def __init__(self, seed: Seed, clock: Clock, ids: Ids) -> None:
        self.app, self.clock, self.ids = seed.app, clock, ids
        bot = Person(seed.app.bot_user, seed.app.name, "bot", seed.app.team)
        self.people = {p.id: p for p in (*seed.people, bot)}
        self.usergroups = {g.id: g for g in seed.usergroups}
        self.channels = {r.id: Channel(r.id, r.name, set(r.members), r.private) for r in seed.channels}
        for person in seed.people:
            self._open_im(person)
        self.messages: dict[str, dict[str, Message]] = {channel: {} for channel in self.channels}
        self._threads: dict[tuple[str, str], list[Message]] = {}
        self.stacks: dict[str, list[View]] = {p: [] for p in self.people}
        self.homes: dict[str, View] = {}
        self.statuses: dict[tuple[str, str | None], str] = {}
        self.titles: dict[tuple[str, str | None], str] = {}
        self.prompts: dict[tuple[str, str | None], list[dict[str, str]]] = {}
        self.warnings: dict[str, list[ClientWarning]] = {p: [] for p in self.people}
        self.tabs: dict[str, str] = {}  # by person: the browser tab that acted last
        self.rev = 0
        self._listeners: set[asyncio.Event] = set()
        self._last_ts = 0

    def _open_im(self, person: Person) -> None:
        if person.kind in ("member", "guest"):
            channel = "D" + person.id[1:]
            members = {person.id, self.app.bot_user}
            self.channels[channel] = Channel(channel, person.name, members, im_with=person.id)

    def next_ts(self) -> str:
        """A unique message timestamp: seconds since the epoch with six decimals."""
        self._last_ts = max(int(self.clock() * 1_000_000), self._last_ts + 1)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def continue_after(self, ts: str) -> None:
        """Later timestamps are greater than this one, even if the clock went back."""
        seconds, _, micros = ts.partition(".")
        self._last_ts = max(self._last_ts, int(seconds) * 1_000_000 + int(micros))

    def changed(self) -> None:
        """Increments the revision and wakes all listeners."""
        self.rev += 1
        for listener in self._listeners:
            listener.set()

    def listen(self) -> asyncio.Event:
        """An event that is set at each change. The caller clears it, and ends with `unlisten`."""
        listener = asyncio.Event()
        self._listeners.add(listener)
        return listener

    def unlisten(self, listener: asyncio.Event) -> None:
        self._listeners.discard(listener)

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
        key = (message.channel, message.thread_ts or "")
        if message in (thread := self._threads.get(key, [])):
            thread.remove(message)
            if not thread:
                del self._threads[key]
        self.changed()

    def message(self, channel: str, ts: str) -> Message | None:
        return self.messages.get(channel, {}).get(ts)

    def message_at(self, ts: str) -> Message | None:
        """The message with this timestamp in any channel, or None."""
        return next((found[ts] for found in self.messages.values() if ts in found), None)

    def visible(self, channel: str, user: str) -> Iterable[Message]:
        """The messages of a channel that this person sees, oldest first."""
        return (m for m in self.messages[channel].values() if self.may_see(m, user))

    def may_see(self, message: Message, user: str) -> bool:
        return user in self.channels[message.channel].members and message.visible_to in (None, user)

    def replies(self, parent: Message) -> list[Message]:
        return [m for m in self._threads.get((parent.channel, parent.ts), []) if m.visible_to is None]

    def view(self, view_id: str) -> View | None:
        """An open modal or a published App Home, or None."""
        views = (v for stack in self.stacks.values() for v in stack)
        return next((v for v in (*views, *self.homes.values()) if v.id == view_id), None)

    def top(self, user: str) -> View | None:
        stack = self.stacks[user]
        return stack[-1] if stack else None

    def warn(self, user: str, text: str, channel: str = "") -> None:
        self.warnings[user].append(ClientWarning(self.ids("W"), text, channel))
        self.changed()


@asynccontextmanager
async def archived(state: State, file: Path) -> AsyncIterator[None]:
    """Restores the messages from the file, and keeps the file up to date for as long as this context lasts."""
    restore(state, file)
    changed = state.listen()
    saving = asyncio.create_task(_save_changes(state, changed, file))
    try:
        yield
    finally:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        state.unlisten(changed)
        await save(state, file)


def restore(state: State, file: Path) -> None:
    """Adds the messages of the file, if there is one.

    A file in another format is kept aside as `NAME.unreadable`, and the workspace begins empty.
    """
    if not file.exists():
        return
    try:
        messages = [Message(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    except (ValueError, TypeError) as broken:
        aside = file.with_name(f"{file.name}.unreadable")
        log.warning("The messages in %s cannot be read (%s); they are kept in %s.", file, broken, aside)
        file.replace(aside)
        return
    for message in messages:
        if message.channel in state.channels and message.user in state.people:
            state.add(message)
    state.continue_after(max((message.ts for message in messages), default="0.0"))


async def save(state: State, file: Path) -> None:
    """Writes the newest messages of each channel, one line of JSON each; a crash leaves the previous file or the new
    one."""
    messages = [message for found in state.messages.values() for message in list(found.values())[-NEWEST:]]
    lines = []
    for message in messages:
        lines.append(json.dumps(vars(message)))
        await asyncio.sleep(0)  # other work of the loop goes on between two messages
    await asyncio.to_thread(_replace, file, "\n".join(lines))


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f"{file.name}.new")
    with beside.open("w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    beside.replace(file)


async def _save_changes(state: State, changed: asyncio.Event, file: Path) -> None:
    while await changed.wait():
        await asyncio.sleep(SAVE_SECONDS)  # the changes of one second share one write
        changed.clear()
        await save(state, file)
