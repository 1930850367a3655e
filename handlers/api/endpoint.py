"""The handling of every API request: authentication, rate limits, idempotency; errors become problems."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any

from aiohttp import web

from gate.actions.loop_time import in_own_turn
from gate.rules import access
from gate.rules.access import Token, TokenKind
from gate.rules.ids import derive_id
from gate.rules.jobs import for_owner
from gate.rules.ports import Unavailable
from handlers.api import request as parsing
from handlers.api.admission import RETRY_SOON, Admission
from handlers.api.ports import NoThread, Services
from handlers.api.request_turns import Turns
from handlers.api.route import ApiRequest, ApiResponse, Problem, Route

log = logging.getLogger(__name__)

PROBLEM_TYPE = "application/problem+json"
RATE_SECONDS = 60.0  # the window of the rate limit
BUSY = "A store could not be reached just now, so nothing changed. Please try again in a moment."
BROKEN = "Something went wrong on our side (id {id}). Look at what you asked about: it shows what is true."
KEY_REUSED = "This Idempotency-Key was used for another request. Use a new key for each request."
KEY_IN_USE = "The first request with this Idempotency-Key is still under way. Send it again in a moment."
NOT_KEPT = (
    "The request with this Idempotency-Key was carried out and is not carried out again, but its answer (status "
    "{status}) was not kept: this token's answers of the day are too large. Look up what came of it."
)
RATE_LIMITED = "Too many requests with this token: {most} a minute. Wait as long as Retry-After says."
TOO_MANY_AT_ONCE = "This token has {most} requests under way. Wait until one is answered, or close a stream."
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def problem(error: Problem) -> web.Response:
    """The HTTP response for a problem."""
    headers = {**HEADERS, **error.headers}
    text = parsing.plain_json(error.content())
    return web.Response(status=error.status, text=text, content_type=PROBLEM_TYPE, headers=headers)


class Endpoints:
    """Makes aiohttp handlers from routes, and counts the requests under way."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._under_way: Counter[str] = Counter()  # requests, by token
        self.turns = Turns(services.bounds.turn)
        self._admission = Admission(services.bounds.turn)

    def aiohttp_handler(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """An aiohttp handler for the route."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._problem_on_error(self._handle(route, request))

        return handle

    async def _problem_on_error(self, work: Awaitable[web.StreamResponse]) -> web.StreamResponse:
        try:
            return await work
        except Problem as error:
            return problem(error)
        except NoThread as error:
            return problem(Problem(403, "no_thread", str(error)))
        except Unavailable as error:
            log.warning("the API could not answer: %s", error)
            return problem(Problem(503, "unavailable", BUSY, headers=RETRY_SOON))
        except ConnectionResetError:
            raise  # the client has disconnected
        except Exception:
            incident = self._services.world.ids.new()
            log.exception("a request of the API failed, incident %s", incident)
            return problem(Problem(500, "broken", BROKEN.format(id=incident)))

    async def _call_handler(self, route: Route, call: ApiRequest[Any]) -> web.StreamResponse:
        return await to_http(await route.handle(call))

    async def _handle(self, route: Route, request: web.Request) -> web.StreamResponse:
        async with self.authenticated(request) as token:
            async with self.turns.taken(token.user):
                with for_owner(owner_of(token)):
                    work = partial(self._handle_authenticated, route, request, token)
                    return await in_own_turn(self._services.world, work)

    async def _handle_authenticated(
        self, route: Route, request: web.Request, token: Token
    ) -> web.StreamResponse:
        services = self._services
        if route.people_only:
            ruling = access.may_decide(token, route.people_only)
            if not ruling.allowed:
                raise Problem(403, "agents_do_not_decide", ruling.reason)
        path_id, key = parsing.path_id(request, route), parsing.idempotency_key(request)
        raw = await parsing.read_body(request) if route.has_body else b""
        model = route.request_model
        params = parsing.parse_body(raw, model) if route.has_body else parsing.parse_query(request, model)
        person = await parsing.load_person(services, token)
        text = route.text and request.headers.get("Accept", "").startswith("text/plain")
        call: ApiRequest[Any] = ApiRequest(
            services.for_token(token),
            token,
            person,
            params,
            id=path_id,
            idempotency_key=key,
            wants_text=text,
            http=request,
        )
        if not (key and route.has_body):
            return await self._call_handler(route, call)
        return await self._handle_once(route, call, raw)

    @asynccontextmanager
    async def authenticated(self, request: web.Request) -> AsyncIterator[Token]:
        """Authenticates the request and counts it while it is under way. Raises Problem, Unavailable."""
        written = parsing.written_token(request)
        async with self._admission.taken(parsing.credential(written)):
            token = await parsing.authenticate(request, written, self._services)
            await self._check_rate(token)
        most = self._services.bounds.requests
        if self._under_way[token.id] >= most:
            raise Problem(429, "too_many_at_once", TOO_MANY_AT_ONCE.format(most=most), headers=RETRY_SOON)
        self._under_way[token.id] += 1
        try:
            yield token
        finally:
            self._under_way[token.id] -= 1
            if not self._under_way[token.id]:
                del self._under_way[token.id]

    async def _check_rate(self, token: Token) -> None:
        most = self._services.bounds.per_minute
        wait = await self._services.rates.take(f"token:{token.id}", most, RATE_SECONDS)
        if wait > 0:
            retry = {"Retry-After": str(math.ceil(wait))}
            raise Problem(429, "slower", RATE_LIMITED.format(most=most), headers=retry)

    async def _handle_once(self, route: Route, call: ApiRequest[Any], raw: bytes) -> web.StreamResponse:
        """Handles a request with an Idempotency-Key once; a repetition gets the stored response. Raises Problem."""
        services, token, holder = self._services, call.token.id, self._services.world.ids.new()
        asked = f"{route.method} {route.path} {call.id}\n".encode() + raw
        digest = hashlib.sha256(asked).hexdigest()
        call = replace(call, idempotency_id=derive_id(token, call.idempotency_key, digest))
        stored = await services.answers.begin(token, call.idempotency_key, digest, holder)
        if stored is not None and stored.digest != digest:
            raise Problem(422, "key_reused", KEY_REUSED)
        if stored is not None and not stored.status:
            raise Problem(409, "under_way", KEY_IN_USE, headers=RETRY_SOON)
        if stored is not None:
            kind = "application/json" if stored.status < HTTPStatus.BAD_REQUEST else PROBLEM_TYPE
            headers = {**HEADERS, "Idempotent-Replayed": "true"}
            if not stored.body:
                raise Problem(409, "answer_not_kept", NOT_KEPT.format(status=stored.status), headers=headers)
            return web.Response(status=stored.status, text=stored.body, content_type=kind, headers=headers)
        response = await self._problem_on_error(self._call_handler(route, call))
        passing = (
            response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
            or response.status == HTTPStatus.TOO_MANY_REQUESTS
        )
        if passing or not isinstance(response, web.Response):
            await services.answers.drop(token, call.idempotency_key, holder)
        else:
            body = _stored_body(route, response)
            await services.answers.keep(token, call.idempotency_key, holder, response.status, body)
        return response


def owner_of(token: Token) -> str:
    """The owner of the work that a request starts: the person, or an agent of theirs."""
    return token.user if token.kind is TokenKind.PERSON else f"{token.user}:{token.id}"


def _stored_body(route: Route, response: web.Response) -> str:
    """The body to store for repetitions, without the one-time field."""
    text = response.text or ""
    if not route.one_time_field or response.status >= HTTPStatus.BAD_REQUEST:
        return text
    return parsing.plain_json({**json.loads(text), route.one_time_field: None})


async def to_http(response: ApiResponse | web.StreamResponse) -> web.StreamResponse:
    """The response as HTTP; a stream is returned unchanged."""
    if isinstance(response, web.StreamResponse):
        return response
    text, kind = await asyncio.to_thread(_encoded, response)
    return web.Response(status=response.status, text=text, content_type=kind, headers=HEADERS)


def _encoded(response: ApiResponse) -> tuple[str, str]:
    """The body and its type: beside the loop, as that of a large one takes 0.1 s and more."""
    content = response.content() if callable(response.content) else response.content
    if isinstance(content, str):
        return content, "text/plain"
    return parsing.plain_json(content.model_dump(mode="json")), "application/json"
