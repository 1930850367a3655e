"""From what the SDK gives back or raises to what the gate understands: an answer, or how much is unknown."""

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

from gate.action import Json
from gate.tool import Answer, OutcomeUnknown, ServerUnavailable
from tools.line import Flight

KEPT = 256 * 1024  # characters of text, and bytes of structured content, that are kept of one answer
CLOSED_WORDS = ("Connection closed", "SSE stream")  # -32000 is a legal code for servers too
WRAPPED = re.compile(r"\AError executing tool \S+: ")  # the SDK's own words before the tool's
SESSION_WORDS = ("Session terminated", "Session not found")
MADE_UP = (
    "Server returned an error response",
    "Unexpected content type",
    "server answered a request with 202",
)
LEFT = "Client must be used within an async context manager"  # the owner closed it a moment ago
ASKED = "Elicitation not supported"


def answer(result: CallToolResult) -> Answer:
    """The parts as one text, other kinds named; what is longer than is kept is cut and says so."""
    text = "\n".join(part_text(part) for part in result.content)
    if result.is_error:
        text = WRAPPED.sub("", text)
    structured, dropped = kept(result.structured_content)
    return Answer(
        text=text[:KEPT],
        structured=structured,
        is_error=result.is_error,
        clipped=dropped or len(text) > KEPT,
    )


def part_text(part: Any) -> str:
    """One content part as text. Pictures and sounds are named, never shown."""
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


def kept(structured: Json) -> tuple[Json, bool]:
    """The structured content, or None and True when it is too large to keep: half a structure is none."""
    if structured is None:
        return None, False
    size = 0
    for chunk in json.JSONEncoder(ensure_ascii=False).iterencode(structured):
        size += len(chunk)
        if size > KEPT:
            return None, True
    return structured, False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a call that gave no result."""

    outcome: Answer | ServerUnavailable | OutcomeUnknown
    lost: bool = False  # the connection is of no more use
    late: bool = False  # no answer in time: the server may be stuck


def judge(error: BaseException, flight: Flight, server: str, watched: bool) -> Verdict:
    """What an error says about the call. Only certain knowledge makes it ServerUnavailable.

    `watched` is False in process, where no line takes notes and every answer is the server's own.
    """
    if isinstance(error, MCPError):
        return _judge_protocol(error, flight, server, watched)
    if (watched and not flight.sent) or str(error) == LEFT:
        return Verdict(ServerUnavailable(f"nothing was sent to {server} ({short(error)})"))
    if isinstance(error, TimeoutError):
        return Verdict(OutcomeUnknown(f"{server} did not answer in time"), late=True)
    if isinstance(error, ValidationError):
        return Verdict(OutcomeUnknown(f"{server} answered something that is no answer: {short(error)}"))
    if isinstance(error, RuntimeError):  # the SDK checks the output schema after the tool ran
        return Verdict(
            OutcomeUnknown(f"it ran, but its result was not what {server} promised: {short(error)}")
        )
    return Verdict(OutcomeUnknown(f"the call to {server} broke off: {short(error)}"))


def _judge_protocol(error: MCPError, flight: Flight, server: str, watched: bool) -> Verdict:
    closed = error.code == CONNECTION_CLOSED and error.message.startswith(CLOSED_WORDS)
    if flight.turned_away and flight.sent <= 1:  # of several rounds, an earlier one may have done something
        gone = "Session" in error.message or closed
        return Verdict(ServerUnavailable(f"{server} turned it away: {flight.turned_away}"), lost=gone)
    if error.code == INVALID_REQUEST and error.message in SESSION_WORDS and flight.sent <= 1:
        return Verdict(ServerUnavailable(f"{server} has forgotten this connection"), lost=True)
    if watched and not flight.sent:
        return Verdict(ServerUnavailable(f"nothing was sent to {server} ({error.message})"), lost=closed)
    if closed:
        return Verdict(OutcomeUnknown(f"the connection to {server} broke before it answered"), lost=True)
    if error.code == REQUEST_TIMEOUT:
        return Verdict(OutcomeUnknown(f"{server} did not answer in time"), late=True)
    if error.message == ASKED:
        return Verdict(
            OutcomeUnknown(f"{server} asked a question in the middle of the call; I cannot answer")
        )
    invented = error.code in (INVALID_REQUEST, INTERNAL_ERROR) and error.message.startswith(MADE_UP)
    if error.code == PARSE_ERROR or invented or (watched and not flight.answered):
        return Verdict(OutcomeUnknown(f"{server} gave no usable answer: {error.message}"))
    return Verdict(Answer(f"{error.message} (error {error.code})", is_error=True))


def short(error: BaseException) -> str:
    """An error in one line of at most 300 characters."""
    return (" ".join(str(error).split()) or type(error).__name__)[:300]
