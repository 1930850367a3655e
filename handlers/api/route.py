"""The description of an API route, from which it is served, validated and documented."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, TypeVar

from aiohttp import web
from pydantic import BaseModel

from gate.rules.access import Token
from gate.rules.action import Person
from gate.rules.ports import World
from handlers.api.ports import Services

Params = TypeVar("Params")
ALWAYS = (400, 401, 429, 503)


@dataclass(frozen=True, slots=True)
class ApiRequest(Generic[Params]):
    """One request, authenticated, parsed and validated."""

    services: Services
    token: Token
    person: Person | None  # of a person's token, at most a minute old
    params: Params  # the body, or the query of a GET
    _: KW_ONLY
    id: str = ""  # from the path
    idempotency_key: str = ""  # Idempotency-Key
    idempotency_id: str = ""  # equal for repetitions of the request; new ids derive from it
    wants_text: bool = False
    http: web.Request | None = None

    @property
    def world(self) -> World:
        return self.services.world


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """The response: a model, or text if the client accepts text/plain."""

    content: BaseModel | str
    status: int = 200


Handle = Callable[[ApiRequest[Any]], Awaitable[ApiResponse | web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Route:
    """One route.

    request_model: of the body, or of the query of a GET. error_statuses: in addition to those of every route.
    """

    method: str
    path: str
    name: str
    summary: str
    handle: Handle
    request_model: type[BaseModel]
    response_model: type[BaseModel] | None = None
    status: int = 200
    people_only: str = ""  # what an agent cannot do: "confirm an action"
    error_statuses: tuple[int, ...] = ()
    text: bool = False  # also as text/plain
    stream: bool = False
    one_time_field: str = ""  # a field that only the first response has, not a repetition

    @property
    def has_id(self) -> bool:
        return "{id}" in self.path

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH")

    @property
    def statuses(self) -> tuple[int, ...]:
        """All error statuses of the route."""
        found = {*ALWAYS, *self.error_statuses}
        if self.has_id:
            found.add(404)
        if self.people_only:
            found.add(403)
        if self.has_body:
            found |= {408, 409, 413, 415, 422}
        return tuple(sorted(found))


def routes_by_path(routes: tuple[Route, ...]) -> Mapping[str, list[Route]]:
    """The routes by path."""
    found: dict[str, list[Route]] = {}
    for route in routes:
        found.setdefault(route.path, []).append(route)
    return found
