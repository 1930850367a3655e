"""Converts the SDK's results and errors into answers, or into failures that say whether the call may have run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from mcp import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    CallToolResult,
)
from pydantic import ValidationError

from gate.rules.action import Json
from gate.rules.message_size import extent
from gate.rules.tool import Answer, AnswerTooLong, OutcomeUnknown, ServerUnavailable
from tools.mcp.limits import TOO_LONG, TOO_MANY_PARTS, error_line
from tools.mcp.session import CallTrace

MAX_KEPT = 256 * 1024  # characters of text, and bytes of structured content, that are kept of one answer
CLOSED_WORDS = ("Connection closed", "SSE stream")  # -32000 is a legal code for servers too
SDK_PREFIX = re.compile(r"\AError executing tool \S+: ")  # the SDK's prefix before the tool's text
SESSION_WORDS = ("Session terminated", "Session not found")
SDK_ERROR_WORDS = (
    "Server returned an error response",
    "Unexpected content type",
    "server answered a request with 202",
)
# The connection task has just closed it
CLIENT_CLOSED = "Client must be used within an async context manager"
SAMPLING_REFUSED = "Sampling was refused"
ELICITATION_REFUSED = "Elicitation not supported"
TOO_LONG_WORDS = (
    TOO_LONG,
    TOO_MANY_PARTS,
    "Server-sent event exceeded",
)  # ours, and those of the SDK's HTTP client


def to_answer(result: CallToolResult) -> Answer:
    """The content parts as one text, with non-text parts named. Longer text than MAX_KEPT is cut and the answer
    marked."""
    text = "\n".join(part_text(part) for part in result.content)
    if result.is_error:
        text = SDK_PREFIX.sub("", text)
    structured, dropped = bounded_structure(result.structured_content)
    return Answer(
        text=text[:MAX_KEPT],
        structured=structured,
        is_error=result.is_error,
        clipped=dropped or len(text) > MAX_KEPT,
    )


def part_text(part: Any) -> str:
    """One content part as text. Images and audio are named with type and size only."""
    if part.type == "text":
        return str(part.text)
    if part.type in ("image", "audio"):
        return f"[{part.type}, {part.mime_type}, about {len(part.data) * 3 // 4:,} bytes]"
    if part.type == "resource":
        text = getattr(part.resource, "text", None)
        return str(text) if text is not None else f"[resource {part.resource.uri}]"
    if part.type == "resource_link":
        return f"[link to {part.uri}]"
    return f"[{part.type}]"


def bounded_structure(structured: Json) -> tuple[Json, bool]:
    """The structured content and False, or None and True when it is too large to keep: a part of a structure is
    useless. `dumps` and not `iterencode`, which takes time for each level of each value."""
    if structured is None:
        return None, False
    if max(extent(structured, MAX_KEPT, MAX_KEPT)) > MAX_KEPT:
        return None, True
    try:
        dropped = len(json.dumps(structured, ensure_ascii=False)) > MAX_KEPT
    except RecursionError:
        dropped = True
    return (None, True) if dropped else (structured, False)


@dataclass(frozen=True, slots=True)
class CallFailure:
    """The outcome of a call that gave no result."""

    outcome: Answer | ServerUnavailable | OutcomeUnknown
    connection_lost: bool = False  # the connection cannot be used any more
    timed_out: bool = False  # no answer in time: the server may hang


def classify_error(error: BaseException, call: CallTrace, server: str, observed: bool) -> CallFailure:
    """The outcome that an error stands for. ServerUnavailable only where the call certainly did not run.

    `observed` is False for a server in this process: no transport records anything, and every error is the server's
    own.
    """
    if isinstance(error, MCPError):
        return _classify_protocol_error(error, call, server, observed)
    closed = isinstance(error, RuntimeError) and str(error) == CLIENT_CLOSED
    if (observed and not call.sent) or closed:
        return CallFailure(ServerUnavailable(f"nothing was sent to {server} ({error_line(error)})"))
    if isinstance(error, TimeoutError):
        return CallFailure(OutcomeUnknown(f"{server} did not answer in time"), timed_out=True)
    if isinstance(error, ValidationError):
        return CallFailure(
            OutcomeUnknown(f"{server} answered something that is no answer: {error_line(error)}")
        )
    if isinstance(error, RuntimeError):  # the SDK checks the output schema after the tool ran
        return CallFailure(
            OutcomeUnknown(f"it ran, but its result was not what {server} promised: {error_line(error)}")
        )
    return CallFailure(OutcomeUnknown(f"the call to {server} broke off: {error_line(error)}"))


def _classify_protocol_error(error: MCPError, call: CallTrace, server: str, observed: bool) -> CallFailure:
    said = error_line(error.message)
    if any(words in error.message for words in TOO_LONG_WORDS):
        why = TOO_MANY_PARTS if TOO_MANY_PARTS in error.message else TOO_LONG
        return CallFailure(AnswerTooLong(f"the answer of {server} is too long to be read ({why})"))
    closed = error.code == CONNECTION_CLOSED and error.message.startswith(CLOSED_WORDS)
    if call.rejection and call.sent <= 1:  # of several rounds, an earlier one may have done something
        connection_lost = "Session" in error.message or closed
        return CallFailure(
            ServerUnavailable(f"{server} turned it away: {call.rejection}"), connection_lost=connection_lost
        )
    if error.code == INVALID_REQUEST and error.message in SESSION_WORDS and call.sent <= 1:
        return CallFailure(ServerUnavailable(f"{server} has forgotten this connection"), connection_lost=True)
    if observed and not call.sent:
        return CallFailure(
            ServerUnavailable(f"nothing was sent to {server} ({said})"), connection_lost=closed
        )
    if closed:
        return CallFailure(
            OutcomeUnknown(f"the connection to {server} broke before it answered"), connection_lost=True
        )
    if error.code == REQUEST_TIMEOUT:
        return CallFailure(OutcomeUnknown(f"{server} did not answer in time"), timed_out=True)
    if error.message == ELICITATION_REFUSED:
        return CallFailure(
            OutcomeUnknown(f"{server} asked a question in the middle of the call; I cannot answer")
        )
    if error.message.startswith(SAMPLING_REFUSED):
        return CallFailure(OutcomeUnknown(f"{server} asked for a model in the middle of the call: {said}"))
    from_sdk = error.code in (INVALID_REQUEST, INTERNAL_ERROR) and error.message.startswith(SDK_ERROR_WORDS)
    if error.code == PARSE_ERROR or from_sdk or (observed and not call.has_answer):
        return CallFailure(OutcomeUnknown(f"{server} gave no usable answer: {said}"))
    text, clipped = error.message[:MAX_KEPT], len(error.message) > MAX_KEPT
    return CallFailure(Answer(f"{text} (error {error.code})", is_error=True, clipped=clipped))
