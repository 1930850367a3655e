"""Servers whose definitions, listings and results are made to take time: other servers are not delayed."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gate.rules.message_size import MAX_MESSAGE_BYTES
from gate.rules.tool import OutcomeUnknown, ServerUnavailable
from tests.cpu_time import seconds
from tests.soak import hostile_server
from tests.tools.mcp_hosts import QUICK, hosting, raw, state, trace_count, until
from tools.mcp import limits
from tools.mcp.limits import (
    LISTING_SHARE,
    MAX_RELIST_GAP,
    MIN_RELIST_GAP,
    TOO_LONG,
    ListingSize,
    RelistBackoff,
)
from tools.mcp.schema import problems
from tools.mcp.schema_fast_path import certainly_valid
from tools.mcp.server_config import ServerConfig

SERVER = Path(hostile_server.__file__)


def hostile(tool_count: int = 0) -> ServerConfig:
    return ServerConfig(
        name="hostile", command=sys.executable, args=("-S", str(SERVER), str(tool_count)), mode="legacy"
    )


async def test_a_hostile_server_loses_its_worst_tools_and_delays_no_other_server(tmp_path: Path) -> None:
    """The stall check of the suite fails this test where the loop blocks."""
    async with hosting(tmp_path, hostile(), raw()) as host:
        for _ in range(5):
            assert (await host.call("raw", "echo", b'{"a":1}', 20)).text == '{"a": 1}'
            assert (await host.call("hostile", "plain", b"{}", 20)).text.startswith("called")
        assert host.find("hostile", "wide") is None
        assert host.find("hostile", "long") is None
        assert host.find("hostile", "doubled_all") is not None
        assert any("more than 10,000 parts" in text for text in host.problems_found)
        assert any("longer than 100,000 bytes" in text for text in host.problems_found)


async def test_the_number_of_tools_of_a_server_is_bounded(tmp_path: Path) -> None:
    async with hosting(tmp_path, hostile(limits.MAX_TOOLS + 50), raw()) as host:
        assert len([spec for spec in host.specs() if spec.server == "hostile"]) <= limits.MAX_TOOLS
        assert any(
            f"only {limits.MAX_TOOLS} tools of a server are used" in text for text in host.problems_found
        )
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"


async def test_a_result_is_checked_against_a_hostile_output_schema_in_bounded_time(tmp_path: Path) -> None:
    """The SDK's own check takes minutes for 2 ** 24 references."""
    async with hosting(tmp_path, hostile()) as host:
        with pytest.raises(OutcomeUnknown, match="not what hostile promised"):
            await asyncio.wait_for(host.call("hostile", "promise", b"{}", 20), 20)


async def test_a_result_that_breaks_its_output_schema_is_detected(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        with pytest.raises(OutcomeUnknown, match="not what raw promised"):
            await host.call("raw", "broken_promise", b"{}", 20)


async def test_constant_change_notifications_are_listed_at_a_limited_rate(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace), notify=True)) as host:
        for _ in range(50):
            await host.call("raw", "echo", b"{}", 20)
        listings = trace_count(trace, "list")
        assert listings <= 5, listings
        await until(lambda: trace_count(trace, "list") > listings)  # the last change is listed too


def test_the_relist_backoff_grows_while_changes_continue_and_recovers() -> None:
    backoff, now = RelistBackoff(), 100.0
    delays = []
    for _ in range(12):
        delays.append(backoff.delay(now))
        now += delays[-1] + 0.01
        backoff.record(now, 0.01)
    assert delays[0] == 0
    assert all(later >= earlier - 0.001 for earlier, later in pairwise(delays))
    assert delays[-1] == pytest.approx(MAX_RELIST_GAP)
    assert backoff.delay(now + 1000) == 0
    backoff.record(now + 1000, 0.01)
    assert backoff.delay(now + 1000) <= max(MIN_RELIST_GAP, LISTING_SHARE * 0.01) * 1.01


def test_a_slow_listing_delays_the_next_one() -> None:
    backoff = RelistBackoff()
    backoff.record(100.0, 2.0)
    assert backoff.delay(100.0) == min(LISTING_SHARE * 2.0, MAX_RELIST_GAP)


def test_the_size_check_of_a_definition_takes_bounded_time() -> None:
    for name, schema in hostile_server.schemas().items():
        assert bool(ListingSize().too_large_with(schema)) == (name in ("wide", "long")), name
    wide = {"properties": {str(n): {} for n in range(1_000_000)}}
    assert seconds(lambda: ListingSize().too_large_with(wide), 3, 0.05) < 0.05


@pytest.mark.parametrize("schema", [{"x": [{"k": 1}] * 2_400}, {"x": "x" * 98_000}])
def test_definitions_that_are_small_enough_one_by_one_are_bounded_together(schema: dict[str, Any]) -> None:
    listed = ListingSize()
    told = [listed.too_large_with({"name": f"list_{number}", "inputSchema": schema}) for number in range(500)]
    assert told[0] == ""
    assert 20 < told.count("") < 200
    assert "together" in told[-1]
    assert listed.too_large_with({"name": "small"}) == ""


@pytest.mark.slow
def test_no_hostile_schema_makes_validation_slow() -> None:
    values: list[dict[str, Any]] = [
        {},
        {"a": "a" * 60_000},
        {"a": list(range(5000))},
        {f"ab{n}": n for n in range(2000)},
        {"a": {"a": {"a": [[{"a": 1}] * 50] * 20}}},
    ]
    for name, schema in hostile_server.schemas().items():
        if not ListingSize().too_large_with(schema) and name != "no_schema":
            for value in values:
                assert seconds(lambda s=schema, v=value: problems(s, v)) < 0.25, name  # type: ignore[misc]


NAMES, NUMBERS = {f"{n:x}": 0 for n in range(49_000)}, [0] * 90_000  # within the bounds of one message
WIDE: dict[str, tuple[Any, Any]] = {
    "closed": ({"anyOf": [{"additionalProperties": False}] * 2_490}, NAMES),
    "open": ({"oneOf": [{"additionalProperties": True}] * 60}, NAMES),
    "known": ({"allOf": [{"properties": {"zz": True}}] * 1_650}, NAMES),
    "names": ({"allOf": [{"propertyNames": {}}] * 20}, NAMES),
    "items": ({"oneOf": [{"items": {}}] * 20}, NUMBERS),
    "contained": ({"allOf": [{"contains": True}] * 100}, NUMBERS),
    "unique": ({"allOf": [{"uniqueItems": True}] * 100}, [NUMBERS]),
    "long": ({"allOf": [{"uniqueItems": True}] * 200}, ["x" * 3_900_000]),
    "constant": (
        {
            "$defs": {"c": {"const": [[0.5] * 4_500]}, "d": {"allOf": [{"$ref": "#/$defs/c"}] * 25}},
            "allOf": [{"$ref": "#/$defs/d"}] * 19,
        },
        [[0.5] * 4_500],
    ),
    "unevaluated items": ({"contains": True, "unevaluatedItems": False}, [0] * 20_000),
    "unevaluated names": (
        {"allOf": [{"additionalProperties": True}] * 3, "unevaluatedProperties": False},
        NAMES,
    ),
    "anchors": (
        {
            "$defs": {**{f"d{n}": {"type": "string"} for n in range(1_200)}, "x": {"$anchor": "x"}},
            "allOf": [{"$ref": "#x"}] * 600,
        },
        1,
    ),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", WIDE)
def test_no_schema_makes_validation_of_a_large_value_slow(kind: str) -> None:
    schema, value = json.loads(json.dumps(WIDE[kind]))
    assert not ListingSize().too_large_with(schema)
    assert seconds(lambda: problems(schema, value), 2, 0.2) < 0.2


def test_a_large_object_with_names_of_its_own_is_validated_completely() -> None:
    schema = {"properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "integer"}}
    value: dict[str, Any] = {f"{n:x}": n for n in range(0x100, 0x1F00)}
    assert certainly_valid(schema, {**value, "a": ""})
    assert not certainly_valid(schema, {**value, "a": 1})


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {},
            True,
            {"type": "string"},
            {"type": "integer", "minimum": 2},
            {"type": ["number", "null"]},
            {"enum": ["a", "b"]},
            {"const": "a"},
            {"type": "string", "minLength": 1, "maxLength": 2},
            {"pattern": "^(a|[0-9a-f]{3})$"},
            {"anyOf": [{"type": "string", "pattern": "^b+$"}, {"type": "null"}]},
            {"$ref": "#/$defs/x"},
            {"pattern": "^a"},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one, other: {"anyOf": [one, other]}, inner, inner),
        st.builds(lambda one, other: {"allOf": [one, other]}, inner, inner),
        st.builds(lambda one: {"type": "array", "items": one, "minItems": 1}, inner),
        st.builds(
            lambda one, more: {
                "type": "object",
                "properties": {"a": one},
                "required": ["a"],
                "additionalProperties": more,
            },
            inner,
            st.one_of(st.booleans(), inner),
        ),
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(0, 4), st.floats(0, 4), st.sampled_from(["", "a", "b", "abc"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_the_fast_path_accepts_only_valid_values(inner: Any, value: Any) -> None:
    schema = {"allOf": [inner], "$defs": {"x": {"type": "object", "properties": {"a": {"type": "boolean"}}}}}
    if certainly_valid(schema, value):
        assert list(Draft202012Validator(schema).iter_errors(value)) == []


def test_a_large_table_is_validated_completely() -> None:
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": row}}}
    rows: list[dict[str, Any]] = [{"id": n, "name": f"row {random.random()}"} for n in range(1500)]
    assert problems(schema, {"rows": rows}) == ()
    hashed = {"anyOf": [{"pattern": "^(absent|[0-9a-f]{64})$", "type": "string"}, {"type": "null"}]}
    bound = {**schema, "properties": {**schema["properties"], "expected": hashed}}
    assert problems(bound, {"rows": rows, "expected": "absent"}) == ()
    assert problems(bound, {"rows": rows, "expected": "other"}) != ()
    rows[700]["id"] = "x"
    (problem,) = problems(schema, {"rows": rows})
    assert problem.unsure or problem.path == ("rows", 700, "id")


@pytest.mark.slow
async def test_a_list_of_tools_that_is_too_long_costs_that_server_its_tools_alone(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("short")
    grows = raw("grows", description_file=str(text))
    timeouts = replace(QUICK, listing=2)
    async with hosting(tmp_path, grows, raw("other"), timeouts=timeouts) as host:
        assert (await host.call("grows", "echo", b"{}", 20)).text == "{}"
        text.write_text("x" * (MAX_MESSAGE_BYTES // 9))
        with pytest.raises(ServerUnavailable):
            await host.refresh("grows")
        for _ in range(2):  # it is tried again, and ends like this each time
            await until(lambda: state(host, "grows") == "backoff")
            (detail,) = (status.detail for status in host.servers() if status.name == "grows")
            assert detail == f"it does not list its tools: {TOO_LONG}"
            with pytest.raises(
                ServerUnavailable,
                match="grows is not connected: it does not list its tools: a message can have 4 MiB",
            ):
                await host.call("grows", "echo", b"{}", 1)
            assert (await host.call("other", "echo", b"{}", 20)).text == "{}"
        assert state(host, "other") == "ready"
        text.write_text("short")
        await until(lambda: state(host, "grows") == "ready")
        assert (await host.call("grows", "echo", b"{}", 20)).text == "{}"
