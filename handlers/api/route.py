"""A route of the API: the one description that serves it, checks it and documents it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, TypeVar

from aiohttp import web
from pydantic import BaseModel

from gate.access import Token
from gate.action import Person
from handlers.api.ports import Office

In = TypeVar("In")
ALWAYS = (400, 401, 429, 503)


@dataclass(frozen=True, slots=True)
class Call(Generic[In]):
    """One request, after all that can be checked without knowing what it is about."""

    office: Office
    token: Token
    person: Person | None  # of a person's token, no older than a minute
    given: In  # the body, or the query of a GET
    _: KW_ONLY
    id: str = ""  # from the path
    key: str = ""  # Idempotency-Key
    once: str = ""  # with a key: the same for the same request of this token alone; ids are derived from it
    wants_text: bool = False
    request: web.Request | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a model, or text where that was asked for."""

    content: BaseModel | str
    status: int = 200


Handle = Callable[[Call[Any]], Awaitable[Answer | web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """`takes`: the model of the body, or of a GET's query. `gives`: of the answer. `problems`: statuses that it
    may answer with besides those that every route may."""

    method: str
    path: str
    name: str
    tells: str
    handle: Handle
    takes: type[BaseModel]
    gives: type[BaseModel] | None = None
    status: int = 200
    people_only: str = ""  # what an agent cannot do: "confirm an action"
    problems: tuple[int, ...] = ()
    text: bool = False  # also as text/plain
    stream: bool = False
    once: str = ""  # a field of its answer that is never said again, also not to the same request

    @property
    def has_id(self) -> bool:
        return "{id}" in self.path

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH")

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status of a problem that it may answer with."""
        found = {*ALWAYS, *self.problems}
        if self.has_id:
            found.add(404)
        if self.people_only:
            found.add(403)
        if self.has_body:
            found |= {408, 409, 413, 415, 422}
        return tuple(sorted(found))


def by_place(routes: tuple[Route, ...]) -> Mapping[str, list[Route]]:
    """Path -> its routes."""
    found: dict[str, list[Route]] = {}
    for route in routes:
        found.setdefault(route.path, []).append(route)
    return found
