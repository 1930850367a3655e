"""The API on a site: its routes, its document, and problems in one shape for whatever is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from aiohttp import web

from handlers.api.feed import Feed
from handlers.api.front import Front, problem
from handlers.api.gateway.mount import PATH, Gateway
from handlers.api.openapi import document
from handlers.api.ports import Office
from handlers.api.problems import Problem
from handlers.api.routes import ROUTES
from handlers.api.stream import FEED, OPEN, STANDING, Standing

DOCUMENT = "/openapi.json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
OURS = frozenset({path.split("/")[1] for path in [route.path for route in ROUTES]})


def serve(site: web.Application, office: Office) -> Feed:
    """Put the API on the site; the feed is to be rung after each commit with events."""
    front, feed = Front(office), Feed(office.events, office.bounds.poll)
    site[FEED], site[OPEN] = feed, Counter()
    site[STANDING] = Standing(office, site[OPEN])
    for route in ROUTES:
        site.router.add_route(route.method, route.path, front.serve(route))
    made = document(ROUTES)

    async def openapi(_: web.Request) -> web.Response:
        return web.json_response(made)

    async def close(_: web.Application) -> None:
        await feed.close()

    gateway = Gateway(office, front, feed)
    site.router.add_route("*", PATH, gateway.handle)
    site.router.add_get(DOCUMENT, openapi)
    site.middlewares.append(_in_shape)
    site.on_shutdown.append(close)
    site.on_shutdown.append(gateway.close)
    return feed


@web.middleware
async def _in_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    """What aiohttp itself says of a path of ours, as a problem."""
    try:
        return await handler(request)
    except web.HTTPException as found:
        if request.path.split("/")[1] not in OURS or found.status < 400:
            raise
        allowed = {key: value for key, value in found.headers.items() if key == "Allow"}
        words = "Look at /openapi.json for what there is."
        return problem(Problem(found.status, "no_route", f"{found.reason}. {words}", headers=allowed))
