"""Which requests are refused before anything looks at them, as they would cost more than their senders may."""

from __future__ import annotations

from aiohttp import web

from handlers.api.endpoint import problem
from handlers.api.route import Problem

HEAD_BYTES = 16 * 1024  # of the first line and all headers of a request together
PATH_CHARACTERS = 2_000
PATH_PARTS = 20  # aiohttp's router looks for a route for each of them
METHOD_BYTES = 32  # no method that anybody knows is as long
HEAD = "The headers of a request can have {most:,} bytes together."
TARGET = "Ask for a path, which begins with “/”: this is no proxy."
PATH = "A path can have {most:,} characters and {parts} parts."
CHUNKED = "Bodies in chunks are not taken here: send the body with its length, in the header Content-Length."
EXPECTED = "Send no header Expect, or “Expect: 100-continue”: nothing else can be expected here."
CONTINUE = "100-continue"
ENCODED = "Compressed bodies are not taken here: send the body as it is, without the header Content-Encoding."


def refusal(request: web.BaseRequest) -> Problem | None:
    """Why a request is not looked at. A body that has to be unpacked can become a very large one, before its sender is
    known; one without a length has chunks, which may have one byte each, and each takes as long as a large one."""
    encodings = {one.strip().lower() for one in request.headers.getall("Content-Encoding", [])}
    path = request.rel_url.raw_path
    if len(path) > PATH_CHARACTERS or path.count("/") > PATH_PARTS:
        return Problem(414, "long_path", PATH.format(most=PATH_CHARACTERS, parts=PATH_PARTS))
    if "Transfer-Encoding" in request.headers:
        return Problem(411, "chunked", CHUNKED)
    if not encodings <= {"", "identity"}:
        return Problem(415, "encoded", ENCODED, headers={"Accept-Encoding": "identity"})
    if request.headers.get("Expect", CONTINUE).lower() != CONTINUE:
        return Problem(417, "expected", EXPECTED)
    return None


def asks_for_a_path(start: bytes) -> bool:
    """Whether a request that begins with these bytes asks for a path, as far as they tell. In any other target aiohttp
    looks for a host, which takes it 20 ms for names such as `xn--a`, before it has anybody look at the request."""
    method, blank, target = start.partition(b" ")
    if not blank:
        return len(start) < METHOD_BYTES
    return method.upper() != b"CONNECT" and (not target or target.startswith(b"/"))


def _plain(refused: Problem) -> bytes:
    """The bytes of an answer that aiohttp does not write."""
    answer = problem(refused)
    body = answer.body
    assert isinstance(body, bytes)
    headers = {**answer.headers, "Content-Length": str(len(body)), "Connection": "close"}
    lines = [
        f"HTTP/1.1 {answer.status} {answer.reason}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


NO_PATH = _plain(Problem(400, "no_path", TARGET))
HEAD_TOO_LARGE = _plain(Problem(431, "large_headers", HEAD.format(most=HEAD_BYTES)))
