"""The signed way in: late, forged, replayed, malformed and huge requests are turned away quickly and in silence."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from aiohttp import ClientSession
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncBoltRequest

from bot.slack_app import BODY_SECONDS, LARGE_BYTES, Guard
from bot.unfinished_bodies import UnfinishedBodies
from tests.bot.test_connections import gone, opened
from tests.cpu_time import within
from tests.slack_app import ANN, INSTALLED, OPS, Edge
from workspace.delivery import sign

SECRET = INSTALLED.signing_secret
MARK = "the-body-nobody-may-log"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DEEP = "[" * 100_000
FAST = 2.0  # seconds of processor time of this process, in which the app runs: a busy machine takes longer
BODY = json.dumps({"type": "event_callback", "team_id": "T1", "mark": MARK})


@pytest.fixture
async def line() -> AsyncIterator[ClientSession]:
    async with ClientSession() as session:
        yield session


@pytest.fixture(autouse=True)
def silent(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever comes in: no traceback, and nothing of the body in the log."""
    caplog.set_level(logging.DEBUG, "slack_bolt")
    yield
    for record in caplog.get_records("call"):
        assert MARK not in record.getMessage()
        assert not record.exc_info, record.getMessage()


async def post(
    line: ClientSession, edge: Edge, body: str | bytes, headers: dict[str, str]
) -> tuple[int, str]:
    """The answer to one request, which has to cost little."""
    data = io.BytesIO(body if isinstance(body, bytes) else body.encode())
    with within(FAST, time.process_time):
        async with line.post(edge.url, data=data, headers=headers) as answer:
            return answer.status, await answer.text()


def late(seconds: int) -> int:
    return int(time.time()) + seconds


HEADERS: dict[str, dict[str, str]] = {
    "none at all": {},
    "no signature": {"X-Slack-Request-Timestamp": str(late(0))},
    "no timestamp": {"X-Slack-Signature": sign(SECRET, BODY)["X-Slack-Signature"]},
    "an empty signature": {**sign(SECRET, BODY), "X-Slack-Signature": ""},
    "a garbled signature": {**sign(SECRET, BODY), "X-Slack-Signature": "v0=" + "0" * 64},
    "a signature in other letters": {**sign(SECRET, BODY), "X-Slack-Signature": "v0=ünïcödé"},
    "another secret": sign("another", BODY),
    "the signature of another body": sign(SECRET, BODY + " "),
    "a word for a timestamp": {**sign(SECRET, BODY), "X-Slack-Request-Timestamp": "abc"},
    "a timestamp of 5,000 digits": {**sign(SECRET, BODY), "X-Slack-Request-Timestamp": "1" * 5_000},
    "Arabic digits": {**sign(SECRET, BODY), "X-Slack-Request-Timestamp": "١٧٠٠٠٠٠٠٠٠"},
    "a negative timestamp": {**sign(SECRET, BODY), "X-Slack-Request-Timestamp": "-1"},
    "a fraction": {**sign(SECRET, BODY), "X-Slack-Request-Timestamp": f"{late(0)}.5"},
    "an hour ago": sign(SECRET, BODY, late(-3600)),
    "an hour ahead": sign(SECRET, BODY, late(3600)),
}


@pytest.mark.parametrize("case", HEADERS)
async def test_what_is_not_signed_is_refused_unread(http: Edge, line: ClientSession, case: str) -> None:
    for body in (BODY, "{", DEEP, "ssl_check=1", "payload=" + MARK, ""):
        status, _ = await post(line, http, body, {**JSON, **HEADERS[case]})
        assert status == 401, body[:100]


@pytest.mark.parametrize("seconds", [-310, 310])
async def test_more_than_five_minutes_are_too_many(http: Edge, line: ClientSession, seconds: int) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc"})
    status, _ = await post(line, http, body, {**JSON, **sign(SECRET, body, late(seconds))})
    assert status == 401


@pytest.mark.parametrize("seconds", [-290, 290])
async def test_five_minutes_of_difference_are_forgiven(http: Edge, line: ClientSession, seconds: int) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc"})
    status, _ = await post(line, http, body, {**JSON, **sign(SECRET, body, late(seconds))})
    assert status == 200


async def test_unfinished_requests_do_not_keep_a_signed_one_from_its_answer(
    http: Edge, line: ClientSession
) -> None:
    port = int(http.url.split(":")[2].partition("/")[0])
    async with opened(port, 600) as lines:
        body = json.dumps({"type": "url_verification", "challenge": "abc"})
        status, _ = await post(line, http, body, {**JSON, **sign(SECRET, body)})
        assert status == 200
        await gone(lines[0])  # they do not add up


async def test_an_address_is_verified(http: Edge, line: ClientSession) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc", "token": "x"})
    status, text = await post(line, http, body, {**JSON, **sign(SECRET, body)})
    assert (status, json.loads(text)) == (200, {"challenge": "abc"})


async def test_a_huge_body_is_refused_unread(http: Edge, line: ClientSession) -> None:
    try:
        status, _ = await post(line, http, b"x" * 5_000_000, JSON)
        assert status == 413
    except OSError:
        pass  # answered and closed while it was still being sent


async def test_a_body_without_a_length_is_refused_before_it_has_come(http: Edge, line: ClientSession) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b"x" * 100_000

    try:
        async with line.post(http.url, data=chunks(), headers=JSON) as answer:
            assert answer.status == 411
    except OSError:
        pass  # the connection was closed in the middle of it: refused as well


async def test_a_body_that_never_ends_is_given_up(
    http: Edge, line: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack_app.BODY_SECONDS", 0.1)
    never = asyncio.Event()

    async def trickle() -> AsyncIterator[bytes]:
        yield b"x"
        await never.wait()

    async with line.post(http.url, data=trickle(), headers={**JSON, "Content-Length": "10"}) as answer:
        assert answer.status == 408


async def test_bodies_that_are_announced_and_do_not_come_keep_no_large_one_from_its_answer(
    http: Edge, line: ClientSession
) -> None:
    port = int(http.url.split(":")[2].partition("/")[0])
    head = b"POST /slack/events HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"
    large = json.dumps({"type": "url_verification", "challenge": "a" * 700_000})
    async with opened(port, 90, head + b"a" * 100):
        begun = asyncio.get_running_loop().time()
        assert (await post(line, http, large, {**JSON, **sign(SECRET, large)}))[0] == 200
        assert (
            asyncio.get_running_loop().time() - begun < BODY_SECONDS / 2
        )  # nobody's place had to become free


async def test_where_bodies_hold_too_much_the_largest_of_the_largest_crowd_comes_to_its_end() -> None:
    bodies, ended = UnfinishedBodies(most=155), list[str]()

    async def body(address: str, name: str, pieces: int) -> None:
        try:
            async with asyncio.timeout(60) as limit:
                with bodies.one(address, limit) as one:
                    for _ in range(pieces):
                        bodies.add(one, 10)
                        await asyncio.sleep(0)
                    await asyncio.sleep(0)
        except TimeoutError:
            ended.append(name)

    strangers = [("10.0.0.1", "a", 5), ("10.0.0.1", "b", 4), ("10.0.0.2", "c", 4)]
    await asyncio.gather(*(body(*one) for one in strangers), body("10.0.0.9", "click", 4))
    assert ended == ["a"]
    with bodies.one("10.0.0.1", asyncio.timeout(None)) as over:  # whose time is not to be changed any more
        bodies.add(over, 150)
        await body("10.0.0.9", "click", 1)
    await body("10.0.0.9", "alone", 15)
    assert ended == ["a"]
    await body("10.0.0.9", "too large", 16)
    assert ended == ["a", "too large"]


NONSENSE = (
    "{", DEEP, '{"a":' * 100_000, "[]", "null", "1", '"x"', "NaN", "1" * 5_000, "\ud7ff", "payload={", "payload=[]",
    "payload=null", "payload=" + DEEP, "payload", "a=b&payload", "", " ", "[1,2]",
    '{"type":"event_callback","event":5}', '{"type":"event_callback","event":{"type":5}}',
    '{"type":"event_callback","event":[]}', '{"type":"block_actions","actions":5}',
    '{"type":"block_actions","actions":[]}', '{"type":"block_actions","actions":[null]}',
    '{"type":"view_submission","view":5}', '{"type":"view_submission"}', '{"type":[]}',
    '{"team":5}', '{"team":[]}', '{"authorizations":5}', '{"authorizations":[5]}', '{"user":5,"view":5}',
    '{"command":5}', '{"type":"event_callback","team_id":"T1","event":{"type":"message","text":"\\ud800"}}',
)  # fmt: skip


@pytest.mark.parametrize("kind", [JSON, FORM], ids=["json", "form"])
async def test_signed_nonsense_is_no_fault_of_ours(
    http: Edge, line: ClientSession, kind: dict[str, str]
) -> None:
    for body in NONSENSE:
        status, _ = await post(line, http, body, {**kind, **sign(SECRET, body)})
        assert status in (200, 400, 404), body[:100]


KEYS = "type team team_id user event view actions container message channel callback_id command action_id id".split()
WORDS = (
    "event_callback block_actions view_submission view_closed shortcut message_action block_suggestion app_mention "
    "message function_executed message_changed T1 U_ANN confirm typed url_verification"
).split()
SCRAPS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(WORDS) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=8,
)


@pytest.mark.slow
async def test_no_signed_json_at_all_is_a_fault_of_ours(http: Edge, line: ClientSession) -> None:
    @settings(max_examples=150, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from(KEYS), SCRAPS, max_size=8))
    def draw(body: dict[str, Any]) -> None:
        drawn.append(json.dumps(body))

    drawn: list[str] = []
    draw()
    for body in drawn:
        status, _ = await post(line, http, body, {**JSON, **sign(SECRET, body)})
        assert status in (200, 400, 404), body


async def test_bytes_that_are_no_text_are_refused(http: Edge, line: ClientSession) -> None:
    status, _ = await post(line, http, b"\xff\xfe\x00", {**JSON, **sign(SECRET, "x")})
    assert status == 401


async def test_an_ssl_check_opens_no_side_door(http: Edge, line: ClientSession) -> None:
    body = urlencode({"ssl_check": "1", "token": MARK})
    assert (await post(line, http, body, FORM))[0] == 401
    assert (await post(line, http, body, {**FORM, **sign(SECRET, body)}))[0] < 500


async def test_bolts_own_headers_from_outside_are_not_believed(http: Edge, line: ClientSession) -> None:
    payload = http.ws.forge.command(ANN, OPS, "/pending")
    body, headers = http.ws.forge.signed("slash_commands", payload)
    inside = {"X-Slack-Bolt-Lazy-Only": "1", "x-slack-bolt-lazy-function-name": "pending"}
    status, text = await post(line, http, body, {**headers, **inside})
    assert status == 200
    assert "Nothing waits" in text


async def test_the_word_payload_in_a_command_is_only_a_word(http: Edge, line: ClientSession) -> None:
    payload = http.ws.forge.command(ANN, OPS, "/pending", "show payload")
    body, headers = http.ws.forge.signed("slash_commands", payload)
    status, text = await post(line, http, body, headers)
    assert status == 200
    assert "Nothing waits" in text


async def test_the_same_signed_request_counts_once(http: Edge, line: ClientSession) -> None:
    card = await http.propose("poke", at="a.md")
    payload = http.ws.forge.click("U_BEN", card.message, action_id="confirm", value=card.value)
    body, headers = http.ws.forge.signed("interactive", payload)
    answers = await asyncio.gather(*[post(line, http, body, headers) for _ in range(3)])
    assert [status for status, _ in answers] == [200] * 3
    await http.settled()
    assert len(http.desk.calls) == 1
    assert http.hints("U_BEN") == []


async def test_a_request_that_failed_here_may_come_again_unchanged(http: Edge, line: ClientSession) -> None:
    event = {
        "type": "app_mention",
        "user": ANN,
        "text": "<@UBOT> hi",
        "channel": OPS,
        "ts": "1700000000.000100",
    }
    body = json.dumps({"type": "event_callback", "team_id": "T1", "event_id": "E1", "event": event})
    headers = {**JSON, **sign(SECRET, body)}
    http.ledger.away = True
    assert (await post(line, http, body, headers))[0] == 503
    http.ledger.away = False
    assert (await post(line, http, body, headers))[0] == 200
    await http.settled()
    assert len(http.planner.seen) == 1


async def test_other_addresses_and_methods_are_not_there(http: Edge, line: ClientSession) -> None:
    async with line.get(http.url) as answer:
        assert answer.status == 405
    async with line.post(http.url + "/more", data=BODY) as answer:
        assert answer.status == 404


async def test_bolts_own_check_logs_no_body_either(http: Edge, caplog: pytest.LogCaptureFixture) -> None:
    headers: dict[str, Any] = {"x-slack-signature": "v0=0", "x-slack-request-timestamp": str(late(0))}
    answer = await http.bolt.async_dispatch(AsyncBoltRequest(body=BODY, headers=headers))
    assert answer.status == 401
    assert "a request with a bad signature was refused" in caplog.text


async def test_large_bodies_are_checked_one_at_a_time_beside_the_loop(
    http: Edge, line: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, at_work, seen = Guard._signature, set[int](), list[tuple[bool, int]]()

    def noted(self: Guard, raw: bytes, stamp: str) -> str:
        at_work.add(threading.get_ident())
        seen.append((threading.current_thread() is threading.main_thread(), len(at_work)))
        made = real(self, raw, stamp)
        at_work.discard(threading.get_ident())
        return made

    monkeypatch.setattr(Guard, "_signature", noted)
    body = "ä" * LARGE_BYTES
    wrong = post(line, http, body, {**JSON, **sign("another", body)})
    answers = await asyncio.gather(
        wrong, *(post(line, http, body, {**JSON, **sign(SECRET, body)}) for _ in range(9))
    )
    assert [status for status, _ in answers] == [401] + [400] + [200] * 8  # malformed, and repeated
    assert seen == [(False, 1)] * 10


@pytest.mark.parametrize(("seconds", "status"), [(0.0, 503), (60.0, 404)])
async def test_what_was_not_acknowledged_in_time_is_no_missing_page(
    http: Edge, line: ClientSession, monkeypatch: pytest.MonkeyPatch, seconds: float, status: int
) -> None:
    async def dispatch(_: AsyncBoltRequest) -> BoltResponse:
        return BoltResponse(status=404)

    monkeypatch.setattr(http.bolt, "async_dispatch", dispatch)
    monkeypatch.setattr("bot.slack_app.ACK_SECONDS", seconds)
    body = json.dumps({"type": "url_verification", "challenge": "abc"})
    for _ in range(2):  # and it may come again
        assert (await post(line, http, body, {**JSON, **sign(SECRET, body)}))[0] == status
