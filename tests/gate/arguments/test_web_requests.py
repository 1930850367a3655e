"""A tool that is said to fetch runs at once only where it sends nothing, by any method, under any name."""

from __future__ import annotations

import json

import pytest

from gate.rules.action import Decision, Json, Verdict
from gate.rules.policy import Policy, decide
from gate.rules.tool import Hints, ToolSpec
from tools.mcp.schema import problems

URL = "https://api.example.com/items/7"


def judged(name: str, args: Json) -> Decision:
    spec = ToolSpec("s", name, name, "", {}, "d", hints=Hints(read_only=True, open_world=False))
    return decide(Policy("v"), spec, args, "C1", lambda schema, value: not problems(schema, value))


@pytest.mark.parametrize("name", ["fetch_url", "get-web-page", "getHttp", "http_get", "FETCH"])
@pytest.mark.parametrize(
    "more",
    [
        {"method": "DELETE"},
        {"http_method": "post"},
        {"verb": " Patch "},
        {"options": {"method": "DELETE"}},
        {"options": '{"method": "PUT"}'},
        {"headers": {"X-HTTP-Method-Override": "DELETE"}},
        {"json_body": "{}"},
        {"requestBody": {"a": 1}},
        {"request": {"body": "a"}},
        {"payload": [1]},
        {"form": {"a": "b"}},
        {"data": "a=b"},
        {"raw": "DELETE /items/7"},
        {"raw": "a=b"},
        {"HTTPMETHOD": "POST"},
        {"httpmethod": "post"},
        {"mETHOD": "POST"},
        {"bODY": "a"},
        {"POSTdata": "a"},
        {"postdata": "a"},
        {"requestbody": "a"},
        {"files": ["a.txt"]},
        {"content": "a=b"},
        {"headers": "Accept: */*\nX-HTTP-Method-Override: DELETE"},
        {"headers": ["x-http-method: put"]},
    ],
)
def test_a_fetch_that_sends_something_asks(name: str, more: dict[str, Json]) -> None:
    assert judged(name, {"url": URL, **more}).verdict is Verdict.CONFIRM
    assert judged(name, {"request": json.dumps({"url": URL, **more})}).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"method": "GET"},
        {"HTTPMETHOD": "GET"},
        {"method": "readability"},
        {"json": True},
        {"raw": True},
        {"raw": "true"},
        {"content": "markdown"},
        {"contentType": "text/html"},
        {"platform": "web"},
        {"files": []},
        {"headers": "Accept: text/html"},
        {"headers": {"Accept": "text/html"}},
        {"body": ""},
        {"max_length": 5},
    ],
)
def test_a_fetch_that_sends_nothing_runs(more: dict[str, Json]) -> None:
    assert judged("fetch_url", {"url": URL, **more}).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "line",
    ["DELETE /users/5 HTTP/1.1", "POST https://a.example/x", "delete /users/5", " PURGE /a", "PATCH\t/a"],
)
def test_a_raw_request_that_sends_something_asks(line: str) -> None:
    for name, argument in (("get_api", "request"), ("http_get", "input"), ("fetch_request", "raw")):
        assert judged(name, {argument: line}).verdict is Verdict.CONFIRM
        assert judged(name, {"options": {argument: [line]}}).verdict is Verdict.CONFIRM


def test_a_raw_request_that_only_fetches_or_is_looked_for_runs() -> None:
    for line in ("GET /users/5 HTTP/1.1", "HEAD https://a.example/x", "put in a word"):
        assert judged("get_api", {"request": line}).verdict is Verdict.RUN
    for name in ("search_api_docs", "list_requests", "get_api_reference", "search_requests"):
        assert judged(name, {"query": "DELETE /users/5"}).verdict is Verdict.RUN


def test_a_search_for_requests_by_their_method_runs() -> None:
    assert judged("list_requests", {"method": "DELETE", "data": "x"}).verdict is Verdict.RUN
