"""Who and what exists when the workspace starts: the app, people, channels, groups, commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["member", "guest", "stranger", "deleted", "bot"]


@dataclass(frozen=True)
class App:
    """The one installed app. Its names are part of every payload."""

    id: str = "A_COUNTERSIGN"
    name: str = "Countersign"
    bot_user: str = "UBOT"
    bot_id: str = "BBOT"
    team: str = "T1"
    team_domain: str = "local"


@dataclass(frozen=True)
class Person:
    """Anyone with a user id. `kind` says what Slack's users.info would show of them."""

    id: str
    name: str
    kind: Kind = "member"
    team: str = "T1"

    @property
    def bot_id(self) -> str | None:
        return "B" + self.id[1:] if self.kind == "bot" else None


@dataclass(frozen=True)
class Room:
    """A channel at the start. `private` makes it a `group` in events."""

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
    """A slash command of the app, as its manifest declares it."""

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
ROOMS = (
    Room("C_OPS", "ops", ("U_ANN", "U_BEN", "U_CLEO", "U_GIL", "U_SAM", "U_ROBOT", "UBOT")),
    Room("C_GENERAL", "general", ("U_ANN", "U_BEN", "U_CLEO", "UBOT")),
    Room("C_LEADS", "leads", ("U_ANN", "U_BEN", "UBOT"), private=True),
    Room("C_RANDOM", "random", ("U_ANN", "U_BEN", "U_CLEO")),
)
USERGROUPS = (Usergroup("S_OPS", "ops-team", ("U_BEN", "U_CLEO")),)
COMMANDS = (
    Command("/pending", "What is waiting for you"),
    Command("/undo", "Take back what was done", "[number]"),
    Command("/audit", "What was decided and done", "[number]"),
    Command("/countersign", "How it works", "help"),
)


@dataclass(frozen=True)
class Cast:
    app: App = App()
    people: tuple[Person, ...] = PEOPLE
    rooms: tuple[Room, ...] = ROOMS
    usergroups: tuple[Usergroup, ...] = USERGROUPS
