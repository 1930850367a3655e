"""Authenticates a request, and parses and validates its header, path, query and body."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from gate.rules import access
from gate.rules.access import IssuedToken, Token, TokenKind
from gate.rules.action import Person
from gate.rules.canonical_json import MAX_DEPTH, BadArguments, parse
from handlers.api.models import ID
from handlers.api.ports import Services
from handlers.api.route import Problem, Route, Wrong, not_found

MAX_BODY_BYTES = 64 * 1024
BODY_SECONDS = 10.0  # until the body is complete
KEY = re.compile(r"[!-~]{1,255}")
KEY_HEADER = "Idempotency-Key"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="countersign"'}
NO_TOKEN = "Send the header “Authorization: Bearer <token>”. `python -m bot tokens new` makes one."
MAX_ERRORS = 20  # in one response
SLACK = "slack"  # the sender of what is signed by Slack
IDENTIFY = web.RequestKey[Callable[[str], None]](
    "identify"
)  # told the sender of a request once it is authenticated


def written_token(request: web.Request) -> IssuedToken:
    """The token that the request has. Raises Problem: one that is none gets the same as a wrong one."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    written = access.parse_token(text.strip()) if scheme.lower() == "bearer" else None
    if written is None:
        raise Problem(401, "no_token", NO_TOKEN, headers=CHALLENGE)
    return written


def credential(written: IssuedToken) -> str:
    """What requests with the same token have in common before they are authenticated: a digest, never the secret."""
    return hashlib.sha256(f"{written.id} {written.secret}".encode()).hexdigest()


async def authenticate(request: web.Request, written: IssuedToken, services: Services) -> Token:
    """The token that this one is. Raises Problem."""
    token = await services.tokens.find(written)
    if token is None:
        raise Problem(401, "no_token", NO_TOKEN, headers=CHALLENGE)
    ruling = access.is_valid_token(token, await services.tokens.now())
    if not ruling.allowed:
        raise Problem(401, "token_over", ruling.reason, headers=CHALLENGE)
    identify(request, token.id)
    return token


async def load_person(services: Services, token: Token) -> Person | None:
    """The person of the token; None for an agent's. Raises Problem where the account does not let it be used."""
    person = await services.world.people.fresh(token.team, token.user)
    ruling = access.may_be_used(services.world.policy, token, person)
    if not ruling.allowed:
        raise Problem(401, "account", ruling.reason, headers=CHALLENGE)
    return person if token.kind is TokenKind.PERSON else None


def identify(request: web.Request, sender: str) -> None:
    """Tell the connection of the request who sent it: SLACK, or the id of a token."""
    if told := request.get(IDENTIFY):
        told(sender)


def idempotency_key(request: web.Request) -> str:
    """The Idempotency-Key header, or "". Raises Problem."""
    given = request.headers.getall(KEY_HEADER, [])
    if not given:
        return ""
    if len(given) > 1 or not KEY.fullmatch(given[0]):
        raise Problem(400, "bad_key", f"{KEY_HEADER} must be one value of 1 to 255 visible ASCII characters.")
    return given[0]


def path_id(request: web.Request, route: Route) -> str:
    """The id in the path, or "" if the route has none. Raises Problem 404 for text that cannot be an id."""
    if not route.has_id:
        return ""
    found = request.match_info["id"]
    if not re.fullmatch(ID, found):
        raise not_found("id")
    return found


async def read_body(request: web.Request, most: int = MAX_BODY_BYTES) -> bytes:
    """The raw body. Raises Problem if it is too large, too slow or not JSON by its content type."""
    if request.content_length and request.content_length > most:
        raise too_large(most)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            raw = await request.content.read(most + 1)
            while len(raw) <= most and (more := await request.content.read(most + 1)):
                raw += more
    except TimeoutError:
        raise Problem(
            408, "too_slow", f"The body did not arrive within {BODY_SECONDS:.0f} s. Send it again."
        ) from None
    if len(raw) > most:
        raise too_large(most)
    if raw and not _says_json(request.headers.get("Content-Type", "")):
        raise Problem(415, "not_json", "Send the body with “Content-Type: application/json”.")
    return raw


def _says_json(content_type: str) -> bool:
    """Without aiohttp's `content_type`, which parses all of it and takes 0.8 s for 8 KB."""
    return content_type.partition(";")[0].strip().lower() == "application/json"


def too_large(most: int) -> Problem:
    return Problem(
        413, "too_large", f"A body can have {most:,} bytes at most.", headers={"Connection": "close"}
    )


def parse_body(raw: bytes, model: type[BaseModel]) -> Any:
    """The body as this model; an empty body is an empty object. Raises Problem with all validation errors."""
    try:
        value = parse(raw) if raw else {}
    except BadArguments as error:
        text = str(error).replace("The arguments", "The body").replace("the arguments", "the body")
        raise Problem(400, "bad_json", text) from None
    except RecursionError:
        raise Problem(400, "bad_json", f"The body is nested more than {MAX_DEPTH} levels deep.") from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise Problem(
            422,
            "bad_request",
            "The body does not fit: see errors. /openapi.json says what does.",
            errors=wrongs(error),
        ) from None


def parse_query(request: web.Request, model: type[BaseModel]) -> Any:
    """The query as this model. Raises Problem with all validation errors."""
    twice = sorted(
        name for name, times in Counter(name for name, _ in request.query.items()).items() if times > 1
    )
    if twice:
        raise Problem(400, "bad_query", f"“{twice[0][:40]}” is given twice.")
    try:
        return model.model_validate(dict(request.query))
    except ValidationError as error:
        raise Problem(
            400,
            "bad_query",
            "The query does not fit: see errors. /openapi.json says what does.",
            errors=wrongs(error),
        ) from None


def wrongs(error: ValidationError) -> list[Wrong]:
    """What is wrong, without repeating what was sent."""
    return [
        Wrong(pointer="/" + "/".join(_escaped(part) for part in one["loc"]), detail=one["msg"])
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:MAX_ERRORS]
    ]


def _escaped(part: str | int) -> str:
    return str(part)[:80].replace("~", "~0").replace("/", "~1")


def plain_json(content: dict[str, Any]) -> str:
    """JSON text that any transport takes: what is strange is escaped."""
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
