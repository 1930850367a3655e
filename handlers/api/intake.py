"""Reading a request: who sends it, and what they send, strictly and within limits."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from aiohttp import web
from pydantic import BaseModel, ValidationError

from gate import access
from gate.access import Token
from gate.canonical import MAX_DEPTH, BadArguments, parse
from handlers.api.models import ID
from handlers.api.ports import Office
from handlers.api.problems import Problem, Wrong, missing
from handlers.api.route import Route

MOST_BYTES = 64 * 1024
SECONDS = 10.0  # for the body to arrive
KEY = re.compile(r"[!-~]{1,255}")
KEY_HEADER = "Idempotency-Key"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="countersign"'}
WITHOUT = "Send the header “Authorization: Bearer <token>”. `python -m bot tokens new` makes one."
SHOWN = 20  # errors in one answer


async def known(request: web.Request, office: Office) -> Token:
    """Whose request it is. Raises Problem, the same for every token that does not count."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    written = access.read(text.strip()) if scheme.lower() == "bearer" else None
    if written is None:
        raise Problem(401, "no_token", WITHOUT, headers=CHALLENGE)
    token = await office.tokens.find(written)
    if token is None:
        raise Problem(401, "no_token", WITHOUT, headers=CHALLENGE)
    ruling = access.usable(token, await office.tokens.now())
    if not ruling.allowed:
        raise Problem(401, "token_over", ruling.reason, headers=CHALLENGE)
    return token


def key_of(request: web.Request) -> str:
    """The Idempotency-Key; "" without one."""
    given = request.headers.getall(KEY_HEADER, [])
    if not given:
        return ""
    if len(given) > 1 or not KEY.fullmatch(given[0]):
        raise Problem(400, "bad_key", f"{KEY_HEADER} must be one value of 1 to 255 visible ASCII characters.")
    return given[0]


def id_of(request: web.Request, route: Route) -> str:
    """The id in the path; "" where the route has none. Names that no id can have do not exist."""
    if not route.has_id:
        return ""
    found = request.match_info["id"]
    if not re.fullmatch(ID, found):
        raise missing("id")
    return found


async def raw_of(request: web.Request) -> bytes:
    """The body as it came. Raises Problem when it is too large, too slow, or of another kind."""
    if request.content_length and request.content_length > MOST_BYTES:
        raise too_large()
    try:
        async with asyncio.timeout(SECONDS):
            raw = await request.content.read(MOST_BYTES + 1)
            while len(raw) <= MOST_BYTES and (more := await request.content.read(MOST_BYTES + 1)):
                raw += more
    except TimeoutError:
        raise Problem(
            408, "too_slow", f"The body did not arrive within {SECONDS:.0f} s. Send it again."
        ) from None
    if len(raw) > MOST_BYTES:
        raise too_large()
    if raw and request.content_type != "application/json":
        raise Problem(415, "not_json", "Send the body with “Content-Type: application/json”.")
    return raw


def too_large() -> Problem:
    return Problem(
        413, "too_large", f"A body can have {MOST_BYTES:,} bytes at most.", headers={"Connection": "close"}
    )


def body_of(raw: bytes, model: type[BaseModel]) -> Any:
    """The body by its model. Raises Problem with everything that is wrong. An empty one is an empty object."""
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


def query_of(request: web.Request, model: type[BaseModel]) -> Any:
    """The query by its model. Raises Problem."""
    names = [name for name, _ in request.query.items()]
    twice = sorted({name for name in names if names.count(name) > 1})
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
        for one in error.errors(include_url=False, include_context=False, include_input=False)[:SHOWN]
    ]


def _escaped(part: str | int) -> str:
    return str(part)[:80].replace("~", "~0").replace("/", "~1")


def plain_json(content: dict[str, Any]) -> str:
    """JSON text that any transport takes: what is strange is escaped."""
    return json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
