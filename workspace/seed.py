"""The initial contents of a workspace: the app, people, channels, user groups, commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["member", "guest", "stranger", "deleted", "bot"]


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
