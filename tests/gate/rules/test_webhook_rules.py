"""Webhooks: signed as Standard Webhooks says, with an id that stays, by two secrets while one is changed."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gate.rules.access import StreamEvent, Subject
from gate.rules.action import Session
from gate.rules.events import KINDS, payload
from gate.rules.webhooks import BACKOFF, Webhook, headers, is_subscribed, retry_delay, signature
from tests.views.samples import action

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# The example that Standard Webhooks and its reference libraries are tested with.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, STAMP, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}'
HOOK = Webhook("h", "https://example.com/", SECRET, "", "T1", (), (), 0, NOW)


def event(**more: Any) -> StreamEvent:
    session = Session("T1", "C_OPS", "1.0")
    return replace(StreamEvent(7, NOW, "task_changed", session, "t", {}, Subject()), **more)


# promise: API-14
def test_it_is_signed_as_the_reference_signs() -> None:
    assert signature(SECRET, ID, STAMP, BODY) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_try_has_the_same_id_and_its_own_time() -> None:
    first = headers(HOOK, 7, NOW, BODY)
    later = headers(HOOK, 7, NOW.replace(hour=5), BODY)
    assert first["webhook-id"] == later["webhook-id"]
    assert first["webhook-timestamp"] != later["webhook-timestamp"]
    assert headers(HOOK, 8, NOW, BODY)["webhook-id"] != first["webhook-id"]
    assert headers(replace(HOOK, id="other"), 7, NOW, BODY)["webhook-id"] != first["webhook-id"]


def test_while_a_secret_is_changed_both_sign() -> None:
    former = "whsec_" + base64.b64encode(b"x" * 24).decode()
    made = headers(replace(HOOK, former=former), 7, NOW, BODY)["webhook-signature"].split(" ")
    stamp, message = str(int(NOW.timestamp())), headers(HOOK, 7, NOW, BODY)["webhook-id"]
    assert made == [signature(secret, message, stamp, BODY) for secret in (SECRET, former)]


def test_it_is_told_what_it_asked_for_and_nothing_private() -> None:
    assert is_subscribed(HOOK, event())
    assert not is_subscribed(replace(HOOK, team="T2"), event())
    assert not is_subscribed(replace(HOOK, channels=("C_ELSE",)), event())
    assert not is_subscribed(replace(HOOK, kinds=("workflow_paused",)), event())
    assert not is_subscribed(replace(HOOK, disabled_at=NOW), event())
    assert is_subscribed(HOOK, event(subject=Subject(action())))
    assert not is_subscribed(HOOK, event(subject=Subject(action(private=True))))


def test_it_is_tried_again_for_as_long_as_events_are_kept() -> None:
    assert [retry_delay(n) for n in range(len(BACKOFF))] == [float(wait) for wait in BACKOFF]
    assert retry_delay(len(BACKOFF)) is None
    assert sum(BACKOFF) < 24 * 3600


def test_the_fields_of_spec_004_come_alone() -> None:
    told = payload("workflow_resumed", "t", {"executionId": "t"}, NOW)
    assert told == {"type": "workflow_resumed", "executionId": "t", "timestamp": 1767225600000}
    assert "task_id" in payload("task_changed", "t", {}, NOW)
    assert len(set(KINDS)) == len(KINDS)
