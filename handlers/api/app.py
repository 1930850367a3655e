"""Adds the API to an aiohttp application: routes, the OpenAPI 3.1 document made from them, gateway, problems."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from aiohttp import web
from pydantic.json_schema import models_json_schema

from handlers.api.endpoint import Endpoints, problem
from handlers.api.event_stream import FEED, OPEN_STREAMS, TOKEN_CHECK, Feed, TokenCheck
from handlers.api.models import ID
from handlers.api.ports import Services
from handlers.api.request import KEY_HEADER
from handlers.api.route import Problem, ProblemOut, Route, routes_by_path
from handlers.api.routes import ROUTES
from handlers.gateway.app import PATH, Gateway

REF = "#/components/schemas/{model}"
PROBLEM = "application/problem+json"
TELLS = (
    "A person countersigns what an agent proposes. An agent's token proposes, and sees and withdraws what it proposed; "
    "a person's token decides what that person may decide in Slack. What is not yours answers 404."
)
RETRY = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}, "description": "seconds to wait"}}
DOCUMENT = "/openapi.json"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@cache
def document(routes: tuple[Route, ...]) -> dict[str, Any]:
    """The document. Cached, as it takes about 60 ms of CPU; callers must not change it."""
    taken = {route.request_model for route in routes if route.has_body}
    given = {route.response_model for route in routes if route.response_model} | {ProblemOut}
    names, schemas = models_json_schema(
        [
            *((model, "validation") for model in sorted(taken, key=lambda m: m.__name__)),
            *((model, "serialization") for model in sorted(given, key=lambda m: m.__name__)),
        ],
        ref_template=REF,
    )
    refs = {model: schema for (model, _), schema in names.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Countersign", "version": "1", "description": TELLS},
        "security": [{"token": []}],
        "paths": {path: _path(ways, refs) for path, ways in routes_by_path(routes).items()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas.get("$defs", {}),
        },
    }


def _path(routes: list[Route], refs: Mapping[Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {route.method.lower(): _operation(route, refs) for route in routes}
    if routes[0].has_id:
        schema = {"type": "string", "pattern": ID}
        found["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": schema}]
    return found


def _operation(route: Route, refs: Mapping[Any, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "responses": _responses(route, refs),
    }
    if route.people_only:
        made["description"] = "People's tokens only."
    if route.has_body:
        needed = bool(route.request_model.model_json_schema().get("required"))
        content = {"application/json": {"schema": refs[route.request_model]}}
        made["requestBody"] = {"required": needed, "content": content}
        key = {"type": "string", "pattern": "^[!-~]{1,255}$"}
        made["parameters"] = [
            {
                "name": KEY_HEADER,
                "in": "header",
                "schema": key,
                "description": "the same request, carried out once",
            }
        ]
        return made
    query = route.request_model.model_json_schema(ref_template=REF)
    if route.stream:
        number = {"type": "string", "pattern": "^[0-9]{1,18}$"}
        made["parameters"] = [{"name": "Last-Event-ID", "in": "header", "schema": number}]
    found = [_parameter(name, schema) for name, schema in query.get("properties", {}).items()]
    if found:
        made["parameters"] = [*made.get("parameters", []), *found]
    return made


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter. It may be absent but is never null, so null is removed from its schema."""
    one = {
        key: value for key, value in schema.items() if key not in ("title", "anyOf", "default", "description")
    }
    for branch in schema.get("anyOf", ()):
        if branch.get("type") != "null":
            one |= {key: value for key, value in branch.items() if key != "description"}
    if schema.get("default") is not None:
        one["default"] = schema["default"]
    return {"name": name, "in": "query", "schema": one, "description": schema.get("description", "")}


def _responses(route: Route, refs: Mapping[Any, Any]) -> dict[str, Any]:
    content: dict[str, Any] = (
        {"application/json": {"schema": refs[route.response_model]}} if route.response_model else {}
    )
    if route.text:
        content["text/plain"] = {"schema": {"type": "string"}}
    if route.stream:
        content["text/event-stream"] = {"schema": {"type": "string"}}
    found: dict[str, Any] = {str(route.status): {"description": route.summary, "content": content}}
    for status in (*route.statuses, 500):
        told = HTTPStatus(status).phrase
        found[str(status)] = {"description": told, "content": {PROBLEM: {"schema": refs[ProblemOut]}}}
        if status in (429, 503):
            found[str(status)]["headers"] = RETRY
    return found


def _openapi() -> Handler:
    """Gives the document out as bytes that are made once: anybody may ask for it, also without a token."""
    published = json.dumps(document(ROUTES)).encode("ascii")
    tag = hashlib.sha256(published).hexdigest()

    async def handle(request: web.Request) -> web.StreamResponse:
        headers = {"ETag": f'"{tag}"'}
        # Not parsed: of 8 KB of tags that takes aiohttp 5 ms.
        if headers["ETag"] in request.headers.get("If-None-Match", ""):
            return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
        return web.Response(body=published, content_type="application/json", charset="utf-8", headers=headers)

    return handle


def add_api(app: web.Application, services: Services) -> Feed:
    """Adds the API to the application; returns the feed, whose `notify` is to be called after each commit of events."""
    endpoints, feed = Endpoints(services), Feed(services.events, services.bounds.poll)
    app[FEED], app[OPEN_STREAMS] = feed, Counter()
    app[TOKEN_CHECK] = TokenCheck(services, app[OPEN_STREAMS])
    for route in ROUTES:
        app.router.add_route(route.method, route.path, endpoints.aiohttp_handler(route))

    async def close(_: web.Application) -> None:
        await feed.close()

    gateway = Gateway(services, endpoints, feed)
    app.router.add_route("*", PATH, gateway.handle)
    app.router.add_get(DOCUMENT, _openapi())
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
