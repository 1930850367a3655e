"""Messages of MCP clients that are made to take time: the SDK gets none that has many things wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from aiohttp import web
from mcp_types import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, methods
from pydantic import BaseModel, ValidationError

from gate.rules.message_size import MAX_DEPTH, MAX_DIGITS, MAX_TYPED_VALUES
from handlers.gateway.messages import MAX_ANSWERS, MAX_META_CHARS, RefusedMessage, check, refusal
from tests.cpu_time import seconds

MODERN, LEGACY = "2026-07-28", "2025-11-25"
MOST_ERRORS = 10_000  # of one validation, at two microseconds each
LIMIT = 0.3  # seconds of this thread for one message, as in tests/test_hostile_sizes.py
MOST_BYTES = 255 * 1024
SERVED = {"initialize", "ping", "server/discover", "subscriptions/listen", "tools/list", "tools/call"}
DEEPEST = 3  # fields in fields: `inputResponses.a.content.content`
FILLS: dict[str, Any] = {
    "objects": {},
    "numbers": 1,
    "lists": [],
    "texts": {"type": "text"},
    "uses of tools": {"type": "tool_use"},
    "results of tools": {"type": "tool_result", "content": [{}]},
}


def models(kind: Any) -> Iterator[type[BaseModel]]:
    """The models in an annotation."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for part in get_args(kind):
        yield from models(part)


def paths(model: type[BaseModel], deepest: int = DEEPEST) -> Iterator[tuple[str, ...]]:
    """The fields of a model and of the models in them. "*" is any name, or a place in a list."""
    for name, field in model.model_fields.items():
        here = (field.alias or name,)
        yield here
        many = "[" in str(field.annotation) and deepest > 1
        inner = here + (("*",) if many else ())
        if many:
            yield inner
        for found in models(field.annotation) if deepest > 1 else ():
            for rest in paths(found, deepest - 1):
                yield inner + rest
                yield here + rest


def surface() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Method, version and path of each field that a request of a client can have."""
    for (method, version), model in methods.CLIENT_REQUESTS.items():
        if version in (MODERN, LEGACY):
            fields = model.model_fields["params"].annotation
            for path in dict.fromkeys(path for found in models(fields) for path in paths(found)):
                yield method, version, path


def at(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for name in reversed(path):
        value = {"a" if name == "*" else name: value}
    assert isinstance(value, dict)
    return value


def message(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def refused(raw: bytes) -> RefusedMessage | None:
    try:
        check(raw, SERVED.__contains__)
    except RefusedMessage as found:
        return found
    return None


def errors(method: str, version: str, raw: bytes) -> int:
    """How much the SDK finds wrong with a message; 0 for one that it does not get."""
    if refused(raw):
        return 0
    try:
        methods.validate_client_request(method, version, json.loads(raw)["params"])
    except ValidationError as error:
        return error.error_count()
    return 0


def many(value: Any, count: int) -> Iterator[Any]:
    yield [value] * count
    yield {f"{number:x}": value for number in range(count)}


@pytest.mark.slow
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_no_field_of_a_request_lets_the_sdk_find_many_things_wrong(fill: Any) -> None:
    """As many values as are let through, in each field that the SDK knows."""
    size = 1 + sum(2 + 2 * len(inner) for inner in [fill] if isinstance(inner, dict))
    count = (MAX_TYPED_VALUES - 60) // (2 + 2 * size)
    found = {
        (method, version, path): errors(method, version, message(method, at(path, value)))
        for method, version, path in surface()
        for value in many(fill, count)
    }
    assert len(found) > 300
    assert {place: count for place, count in found.items() if count > MOST_ERRORS} == {}


@pytest.mark.parametrize("name", ["progressToken", "baggage"])
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "ping"])
def test_the_texts_in_the_meta_of_a_message_are_bounded(method: str, name: str) -> None:
    room = "a" * (MAX_META_CHARS - len(name))
    assert refused(message(method, {"_meta": {name: room}})) is None
    for longer in ({name: f"{room}a"}, {name: [room, "a"]}, {f"{name}{room}": "a"}):
        found = refused(message(method, {"_meta": longer}))
        assert found is not None
        assert (found.code, found.message_id) == (INVALID_REQUEST, 1)
        assert "32,768 characters" in str(found)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_no_large_field_of_a_request_reaches_the_sdk(fill: Any) -> None:
    count = MOST_BYTES // (len(json.dumps(fill)) + 12)
    for method, path in (
        ("initialize", ("clientInfo", "icons")),
        ("prompts/get", ("arguments",)),
        ("tools/call", ("inputResponses",)),
        ("tools/call", ("inputResponses", "approval", "content")),
        ("tools/call", ("inputResponses", "approval", "roots")),
        ("tools/call", ("_meta",)),
        ("tools/list", ("_meta", "io.modelcontextprotocol/clientCapabilities", "experimental")),
    ):
        for value in many(fill, count):
            found = refused(message(method, at(path, value)))
            assert found is not None
            assert found.code == INVALID_REQUEST


@pytest.mark.parametrize(
    "raw",
    [
        message("tools/call", {"name": "x", "arguments": {f"{n:x}": 1 for n in range(MOST_BYTES // 12)}}),
        message("tools/call", {"name": "x", "arguments": {"a": [{}] * 24_000}}),
        message("tools/call", {"name": "x", "inputResponses": {"a": {"content": [{}] * 60_000}}}),
        message("tools/call", {"name": "x" * MOST_BYTES}),
    ],
    ids=["many arguments", "objects in an argument", "answers", "a long name"],
)
def test_no_message_takes_long_to_be_looked_at(raw: bytes) -> None:
    assert seconds(lambda: refused(raw), 3, LIMIT) < LIMIT
    if refused(raw) is None:
        assert errors("tools/call", LEGACY, raw) < MOST_ERRORS


def test_the_arguments_of_a_call_are_not_counted_with_the_rest() -> None:
    arguments = {"paths": ["a.md"] * MAX_TYPED_VALUES}
    assert refused(message("tools/call", {"name": "x", "arguments": arguments})) is None
    assert refused(message("tools/list", {"arguments": arguments})) is not None


def test_a_call_may_answer_few_questions() -> None:
    for count in (1, MAX_ANSWERS, MAX_ANSWERS + 1):
        answers = {f"{number}": {"action": "accept"} for number in range(count)}
        found = refused(message("tools/call", {"name": "x", "inputResponses": answers}))
        assert (found is not None) == (count > MAX_ANSWERS)


@pytest.mark.parametrize(
    ("raw", "code", "sentence"),
    [
        (b"", PARSE_ERROR, "not one JSON value"),
        (b"{", PARSE_ERROR, "not one JSON value"),
        (b"[]", INVALID_REQUEST, "not a JSON object"),
        (b"\xff\xfe{}", PARSE_ERROR, "not one JSON value"),
        ('{"a":"∀"}'.encode("utf-16-le"), PARSE_ERROR, "not one JSON value"),
        (('{"∀":' + "[" * 30_000).encode("utf-16-le"), PARSE_ERROR, "not one JSON value"),
        (b'{"id":' + b"9" * (MAX_DIGITS + 1) + b"}", INVALID_REQUEST, "400 digits"),
        (b'{"a":' * (MAX_DEPTH + 1) + b"1" + b"}" * (MAX_DEPTH + 1), INVALID_REQUEST, "190 levels"),
        (b"[" + b"{}," * 25_000 + b"{}]", INVALID_REQUEST, "25,000 lists and objects"),
        (b'{"a":' + b"[" * 1_000_000, INVALID_REQUEST, "190 levels"),
    ],
)
def test_what_is_no_message_is_refused_in_a_sentence(raw: bytes, code: int, sentence: str) -> None:
    found = refused(raw)
    assert found is not None
    assert found.code == code
    assert sentence in str(found)


def test_notifications_and_answers_of_clients_are_let_through_unless_they_are_large() -> None:
    for text in (
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/other"},
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}},
    ):
        assert refused(json.dumps(text).encode()) is None
        large = {**text, "params": {"a": [{}] * MAX_TYPED_VALUES}}
        assert refused(json.dumps(large).encode()) is not None


@pytest.mark.parametrize(("version", "status"), [(None, 200), (LEGACY, 200), (MODERN, 404)])
def test_a_method_that_is_not_served_is_told_as_its_client_expects(version: str | None, status: int) -> None:
    found = refused(message("prompts/get", {"name": "x"}))
    assert found is not None
    answer = refusal(found, {"mcp-protocol-version": version} if version else {})
    assert isinstance(answer, web.Response)
    assert answer.status == status
    assert json.loads(str(answer.text)) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": METHOD_NOT_FOUND, "message": str(found)},
    }
