"""The description of an API route, from which it is served, validated and documented; and its problems (RFC 9457)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from http import HTTPStatus
from typing import Any, Generic, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from gate.actions.button_press import PressResult
from gate.rules.access import Token
from gate.rules.action import Person
from gate.rules.ports import World
from handlers.api.ports import Services

MARKED = re.compile(r"(?<![\w*])\*([^*\n]{1,80})\*(?![\w*])|`([^`\n]{1,80})`")
MENTION = re.compile(r"<(?:@|!subteam\^)([A-Z0-9_]+)>")
UNKNOWN_PLACE = (
    "Nothing of yours has the id in `after`. Give `next` of the page before as it was, or leave `after` out."
)
STATUS = {  # by the code of a refusal; 409 for other codes
    "gone": 404,
    "not_allowed": 403,
    "not_ours": 403,
    "needs_phrase": 422,
    "wrong_phrase": 422,
    "no_preview": 422,
    "unfit": 422,
    "empty": 422,
    "needed": 422,
    "denied": 403,
    "no_edit": 422,
    "no_tool": 503,
    "full": 422,
    "bad_url": 422,
}
Params = TypeVar("Params")
ALWAYS = (400, 401, 429, 503)


class Wrong(BaseModel):
    """One thing that is wrong in a request, and where."""

    pointer: str = Field(description="where in the body, as a JSON pointer, or the name of a parameter")
    detail: str


class ProblemOut(BaseModel):
    """Why a request was not carried out (RFC 9457, application/problem+json)."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(description="urn:countersign:problem:<code>")
    title: str
    status: int
    detail: str = Field(description="a plain sentence that says what to do")
    code: str
    errors: list[Wrong] = Field(default_factory=list)


class Problem(Exception):
    """An error response. `headers` are added to it."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[Wrong] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, plain_text(detail)
        self.errors, self.headers = tuple(errors), dict(headers or {})

    def content(self) -> dict[str, Any]:
        """The body of the response."""
        return ProblemOut(
            type=f"urn:countersign:problem:{self.code}",
            title=HTTPStatus(self.status).phrase,
            status=self.status,
            detail=self.detail,
            code=self.code,
            errors=list(self.errors),
        ).model_dump(mode="json")


def plain_text(text: str) -> str:
    """A sentence for Slack without mrkdwn and mentions."""
    return MENTION.sub(r"\1", MARKED.sub(lambda found: f"“{found[1] or found[2]}”", text))


def not_found(what: str) -> Problem:
    """The same 404 for what does not exist and for what the token may not see."""
    return Problem(404, "gone", f"There is no such {what} for this token.")


def require_ok(said: PressResult) -> PressResult:
    """Returns the result of a flow, or raises it as a Problem if the flow refused."""
    if said.ok:
        return said
    text = said.text or "This cannot be done as things stand. Look at it anew, then decide."
    raise Problem(STATUS.get(said.code, 409), said.code, text)


@contextmanager
def a_known_place() -> Iterator[None]:
    """Within it, a page is read from behind an item. Raises Problem where there is none with the id `after`."""
    try:
        yield
    except LookupError:
        raise Problem(400, "unknown_place", UNKNOWN_PLACE) from None


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
    """The response: a model, or text if the client accepts text/plain; or what makes it, beside the event loop."""

    content: BaseModel | str | Callable[[], BaseModel | str]
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
