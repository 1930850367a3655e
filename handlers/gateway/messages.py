"""Which messages of MCP clients reach the SDK: it validates one in any amount, before it asks who serves its method."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from gate.rules.message_size import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_TYPED_VALUES,
    MAX_VALUES,
    MessageSize,
    extent,
    has_more_values,
)
from handlers.api.endpoint import HEADERS
from handlers.api.request import plain_json

CALL = "tools/call"
INITIALIZE = "initialize"  # the SDK serves it without a handler
MAX_META_CHARS = 32 * 1024  # of the names and texts in `_meta`, where a client may have an icon of its own
# Of what a client says of itself with a session, which is kept as long as that is: several bytes for each character.
MAX_CLIENT_VALUES, MAX_CLIENT_CHARS = 500, 16 * 1024
MAX_ANSWERS = 10  # in `inputResponses`: a call asks its client for one thing
NO_JSON = "The body is not one JSON value in UTF-8. Send one JSON-RPC message."
NO_OBJECT = "The body is not a JSON object. Send one JSON-RPC message in each request."
TOO_LARGE = (
    f"A message can have {MAX_CONTAINERS:,} lists and objects, {MAX_DEPTH} levels of them, {MAX_VALUES:,} values and "
    f"names, and {MAX_DIGITS} digits in a number at most. Send less in one message."
)
TOO_MANY_VALUES = (
    f"A message can have {MAX_TYPED_VALUES:,} values and names at most besides the arguments of a call. "
    "Send fewer."
)
TOO_LONG_META = f"The names and texts in `_meta` can have {MAX_META_CHARS:,} characters at most. Send fewer."
TOO_MUCH_OF_CLIENT = (
    f"What a client says of itself can have {MAX_CLIENT_VALUES} values and names, and {MAX_CLIENT_CHARS:,} "
    "characters in them, at most. Send less."
)
TOO_MANY_ANSWERS = (
    f"`inputResponses` can have {MAX_ANSWERS} answers at most. Send the one that the call asked for."
)
NOT_SERVED = "There is no such method here. Use tools/list to list the tools, and tools/call to call one."


class RefusedMessage(Exception):
    """A message that the SDK does not get. Its text is a sentence for the client."""

    def __init__(self, code: int, sentence: str, message_id: object = None) -> None:
        super().__init__(sentence)
        self.code, self.message_id = code, message_id


def check(raw: bytes, is_served: Callable[[str], bool]) -> None:
    """Look at a message before the SDK does. Raises RefusedMessage."""
    message = _parsed(raw)
    method, message_id = message.get("method"), message.get("id")
    if has_more_values(_typed(message), MAX_TYPED_VALUES):
        raise RefusedMessage(INVALID_REQUEST, TOO_MANY_VALUES, message_id)
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if extent(meta, MAX_TYPED_VALUES, MAX_META_CHARS)[1] > MAX_META_CHARS:
        raise RefusedMessage(INVALID_REQUEST, TOO_LONG_META, message_id)
    if method == INITIALIZE and _is_larger(params, MAX_CLIENT_VALUES, MAX_CLIENT_CHARS):
        raise RefusedMessage(INVALID_REQUEST, TOO_MUCH_OF_CLIENT, message_id)
    answers = params.get("inputResponses") if isinstance(params, dict) else None
    if isinstance(answers, dict) and len(answers) > MAX_ANSWERS:
        raise RefusedMessage(INVALID_REQUEST, TOO_MANY_ANSWERS, message_id)
    if isinstance(method, str) and "id" in message and not is_served(method):
        raise RefusedMessage(METHOD_NOT_FOUND, NOT_SERVED, message_id)


def _is_larger(whole: Any, max_values: int, max_chars: int) -> bool:
    values, chars = extent(whole, max_values, max_chars)
    return values > max_values or chars > max_chars


def refusal(refused: RefusedMessage, headers: Mapping[str, str]) -> web.Response:
    """The response to a refused message. To a client with a session, 404 would say that its session has ended."""
    has_sessions = headers.get(MCP_PROTOCOL_VERSION_HEADER) in (None, *HANDSHAKE_PROTOCOL_VERSIONS)
    status = 400
    if refused.code == METHOD_NOT_FOUND:
        status = 200 if has_sessions else 404
    return json_rpc_error(status, refused.code, str(refused), message_id=refused.message_id)


def json_rpc_error(
    status: int,
    code: int,
    sentence: str,
    *,
    message_id: object = None,
    headers: Mapping[str, str] | None = None,
) -> web.Response:
    """A JSON-RPC error, whose message MCP clients show to the person."""
    known_id = message_id if isinstance(message_id, str) or type(message_id) is int else None
    body = {"jsonrpc": "2.0", "id": known_id, "error": {"code": code, "message": sentence}}
    return web.Response(
        status=status,
        text=plain_json(body),
        content_type="application/json",
        headers={**HEADERS, **(headers or {})},
    )


def _parsed(raw: bytes) -> dict[str, Any]:
    size = MessageSize()
    size.feed(raw)
    if size.too_large:
        raise RefusedMessage(INVALID_REQUEST, TOO_LARGE)
    try:
        message = json.loads(
            raw.decode()
        )  # bytes would be read as UTF-16, too, which is not what was counted
    except ValueError:
        raise RefusedMessage(PARSE_ERROR, NO_JSON) from None
    if not isinstance(message, dict):
        raise RefusedMessage(INVALID_REQUEST, NO_OBJECT)
    return message


def _typed(message: dict[str, Any]) -> dict[str, Any]:
    """What the SDK compares with its types: all but the arguments of a call."""
    params = message.get("params")
    if message.get("method") != CALL or not isinstance(params, dict):
        return message
    return {**message, "params": {name: value for name, value in params.items() if name != "arguments"}}
