"""The front door of the API: every request goes through it, and nothing but an answer or a problem leaves it."""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from aiohttp import web

from gate import access
from gate.access import Kind, Token
from gate.action import Person
from gate.derive import derived
from gate.people import account
from gate.world import Unavailable
from handlers.api import intake
from handlers.api.ports import NoThread, Office
from handlers.api.problems import Problem
from handlers.api.route import Answer, Call, Route

log = logging.getLogger(__name__)

PROBLEM = "application/problem+json"
WINDOW = 60.0  # seconds of a rate
BUSY = "A store could not be reached just now, so nothing changed. Please try again in a moment."
BROKEN = "Something went wrong on our side (id {id}). Look at what you asked about: it shows what is true."
OTHER = "This Idempotency-Key was used for another request. Use a new key for each request."
UNDER_WAY = "The first request with this Idempotency-Key is still under way. Send it again in a moment."
SLOWER = "Too many requests with this token: {most} a minute. Wait as long as Retry-After says."
AGAIN = {"Retry-After": "1"}
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def problem(found: Problem) -> web.Response:
    """The answer to a request that was not carried out."""
    headers = {**HEADERS, **found.headers}
    text = intake.plain_json(found.content())
    return web.Response(status=found.status, text=text, content_type=PROBLEM, headers=headers)


class Front:
    """Serves routes for one office."""

    def __init__(self, office: Office) -> None:
        self._office = office

    def serve(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The route as aiohttp serves it."""

        async def handle(request: web.Request) -> web.StreamResponse:
            return await self._guarded(self._answer(route, request))

        return handle

    async def _guarded(self, work: Awaitable[web.StreamResponse]) -> web.StreamResponse:
        try:
            return await work
        except Problem as found:
            return problem(found)
        except NoThread as error:
            return problem(Problem(403, "no_thread", str(error)))
        except Unavailable as error:
            log.warning("the API could not answer: %s", error)
            return problem(Problem(503, "unavailable", BUSY, headers=AGAIN))
        except ConnectionResetError:
            raise  # whoever asked has gone
        except Exception:
            incident = self._office.world.ids.new()
            log.exception("a request of the API failed, incident %s", incident)
            return problem(Problem(500, "broken", BROKEN.format(id=incident)))

    async def _rendered(self, route: Route, call: Call[Any]) -> web.StreamResponse:
        return rendered(await route.handle(call))

    async def _answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        office = self._office
        token = await self.admitted(request)
        if route.people_only:
            ruling = access.may_decide(token, route.people_only)
            if not ruling.allowed:
                raise Problem(403, "agents_do_not_decide", ruling.reason)
        about, key = intake.id_of(request, route), intake.key_of(request)
        raw = await intake.raw_of(request) if route.has_body else b""
        given = intake.body_of(raw, route.takes) if route.has_body else intake.query_of(request, route.takes)
        person = await self.person_of(token)
        text = route.text and request.headers.get("Accept", "").startswith("text/plain")
        call: Call[Any] = Call(
            office.through(token), token, person, given, id=about, key=key, wants_text=text, request=request
        )
        if not (key and route.has_body):
            return await self._rendered(route, call)
        return await self._once(route, call, raw)

    async def admitted(self, request: web.Request) -> Token:
        """Whose request it is, counted. Raises Problem, Unavailable."""
        token = await intake.known(request, self._office)
        await self._in_rate(token)
        return token

    async def person_of(self, token: Token) -> Person | None:
        """The person whose token it is; None for an agent's. Raises Problem: the account must count, too."""
        if token.kind is not Kind.PERSON:
            return None
        person = await self._office.world.people.fresh(token.team, token.user)
        ruling = account(person)
        if not ruling.allowed:
            raise Problem(401, "account", ruling.reason, headers=intake.CHALLENGE)
        return person

    async def _in_rate(self, token: Token) -> None:
        most = self._office.bounds.per_minute
        wait = await self._office.rates.take(f"token:{token.id}", most, WINDOW)
        if wait > 0:
            retry = {"Retry-After": str(math.ceil(wait))}
            raise Problem(429, "slower", SLOWER.format(most=most), headers=retry)

    async def _once(self, route: Route, call: Call[Any], raw: bytes) -> web.StreamResponse:
        """Carry out a request with a key once; the same request again gets the same answer."""
        office, token, holder = self._office, call.token.id, self._office.world.ids.new()
        asked = f"{route.method} {route.path} {call.id}\n".encode() + raw
        digest = hashlib.sha256(asked).hexdigest()
        call = replace(call, once=derived(token, call.key, digest))
        kept = await office.answers.begin(token, call.key, digest, holder)
        if kept is not None and kept.digest != digest:
            raise Problem(422, "key_reused", OTHER)
        if kept is not None and not kept.status:
            raise Problem(409, "under_way", UNDER_WAY, headers=AGAIN)
        if kept is not None:
            kind = "application/json" if kept.status < HTTPStatus.BAD_REQUEST else PROBLEM
            headers = {**HEADERS, "Idempotent-Replayed": "true"}
            return web.Response(status=kept.status, text=kept.body, content_type=kind, headers=headers)
        answer = await self._guarded(self._rendered(route, call))
        if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR or not isinstance(answer, web.Response):
            await office.answers.drop(token, call.key, holder)
        else:
            await office.answers.keep(token, call.key, holder, answer.status, _kept(route, answer))
        return answer


def _kept(route: Route, answer: web.Response) -> str:
    """What is kept of an answer, for when the same request comes again."""
    text = answer.text or ""
    if not route.once or answer.status >= HTTPStatus.BAD_REQUEST:
        return text
    return intake.plain_json({**json.loads(text), route.once: None})


def rendered(answer: Answer | web.StreamResponse) -> web.StreamResponse:
    """An answer as HTTP; a stream stays what it is."""
    if isinstance(answer, web.StreamResponse):
        return answer
    if isinstance(answer.content, str):
        return web.Response(
            status=answer.status, text=answer.content, content_type="text/plain", headers=HEADERS
        )
    text = intake.plain_json(answer.content.model_dump(mode="json"))
    return web.Response(status=answer.status, text=text, content_type="application/json", headers=HEADERS)
