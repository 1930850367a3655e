"""Adds the API to an aiohttp application: routes, OpenAPI document, MCP gateway, and problems for 404 and 405."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from handlers.api.endpoint import Endpoints, problem
from handlers.api.event_feed import Feed
from handlers.api.event_stream import FEED, OPEN_STREAMS, TOKEN_CHECK, TokenCheck
from handlers.api.openapi import document
from handlers.api.ports import Services
from handlers.api.problems import Problem
from handlers.api.routes import ROUTES
from handlers.gateway.app import PATH, Gateway

DOCUMENT = "/openapi.json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def add_api(app: web.Application, services: Services) -> Feed:
    """Adds the API to the application; returns the feed, whose `notify` is to be called after each commit of events."""
    endpoints, feed = Endpoints(services), Feed(services.events, services.bounds.poll)
    app[FEED], app[OPEN_STREAMS] = feed, Counter()
    app[TOKEN_CHECK] = TokenCheck(services, app[OPEN_STREAMS])
    for route in ROUTES:
        app.router.add_route(route.method, route.path, endpoints.aiohttp_handler(route))
    openapi_document = document(ROUTES)

    async def openapi(_: web.Request) -> web.Response:
        return web.json_response(openapi_document)

    async def close(_: web.Application) -> None:
        await feed.close()

    gateway = Gateway(services, endpoints, feed)
    app.router.add_route("*", PATH, gateway.handle)
    app.router.add_get(DOCUMENT, openapi)
    app.middlewares.append(_problem_on_error)
    app.on_shutdown.append(close)
    app.on_shutdown.append(gateway.close)
    return feed


@web.middleware
async def _problem_on_error(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns aiohttp's own 404 and 405 into problems: what no route takes was meant for the API."""
    try:
        return await handler(request)
    except web.HTTPException as found:
        if request.match_info.http_exception is None or found.status < 400:
            raise
        allowed = {key: value for key, value in found.headers.items() if key == "Allow"}
        words = "Look at /openapi.json for what there is."
        return problem(Problem(found.status, "no_route", f"{found.reason}. {words}", headers=allowed))
