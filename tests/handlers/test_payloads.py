"""Payloads become values or Malformed, and nothing else, whatever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_bolt.request.internals import extract_team_id

from gate.rules.action import Session
from gate.rules.planner_port import Incoming
from handlers.slack import payloads
from tests.slack_app import ANN

KEYS = (
    "type team team_id id user user_id event text channel channel_id ts thread_ts message message_ts container view "
    "actions action_id value selected_option trigger_id callback_id private_metadata state values command subtype "
    "bot_id channel_type is_ephemeral"
).split()
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=6)
    | st.sampled_from([*KEYS, "app_mention", "T1", ANN, "1.5", "<@UBOT> hi", "<http://a.md|a.md>"])
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=9),
    max_leaves=20,
)
BODIES = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=12)
PARSERS: list[Callable[[Any], Any]] = [
    payloads.click, payloads.submission, payloads.slash_command, payloads.home_opened, payloads.session_stopped, payloads.is_message, payloads.is_well_formed,
    lambda body: payloads.incoming(body, "UBOT"), lambda body: payloads.of_other_app(body, "UBOT"), lambda body: payloads.incoming(body, "UBOT", frozenset({ANN})),
]  # fmt: skip


@pytest.mark.slow
@given(BODIES)
def test_nothing_but_malformed_is_ever_raised(body: dict[str, Any]) -> None:
    for read in PARSERS:
        try:
            found = read(body)
        except payloads.Malformed:
            continue
        str(found).encode()  # what came out can be stored: no half surrogate pairs


@given(ANYTHING)
def test_what_is_typed_is_read_from_anything(values: Any) -> None:
    assert isinstance(payloads.text_value({"phrase": values}, "phrase"), str)
    assert payloads.is_well_formed(values) in (True, False)
    for inputs in payloads.input_values({"block": values}).values():
        assert all(isinstance(each, str) for each in inputs.values())


def message(text: str, **more: Any) -> dict[str, Any]:
    event = {"type": "message", "user": ANN, "text": text, "channel": "C_OPS", "ts": "1.5", **more}
    return {"type": "event_callback", "team_id": "T1", "event": event}


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("move <http://notes.md|notes.md> to b", "move notes.md to b"),
        ("read <https://example.org/a|https://example.org/a>", "read https://example.org/a"),
        ("read <https://example.org/a>", "read https://example.org/a"),
        ("read <http://example.org/|example.org>", "read example.org"),
        ("write to <mailto:ann@example.org|ann@example.org>", "write to ann@example.org"),
        ("call <tel:+4930123|+4930123>", "call +4930123"),
        ("see <https://evil.example|our wiki>", "see our wiki (https://evil.example)"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
        ("ask <@U_BEN> in <#C_OPS|ops>", "ask <@U_BEN> in <#C_OPS|ops>"),
        ("<https://a.example/?a=1&amp;b=2>", "https://a.example/?a=1&b=2"),
        ("a\nb", "a\nb"),
        ("half \ud800 a pair\0", "half \ufffd a pair\ufffd"),
        ("\x1b[31mred", "\ufffd[31mred"),
    ],
)
def test_a_message_is_read_as_it_was_typed(sent: str, typed: str) -> None:
    found = payloads.incoming(message(sent), "UBOT")
    assert found is not None
    assert found.text == typed


@pytest.mark.parametrize(
    ("text", "more", "mentioned", "words"),
    [
        ("<@UBOT> hello", {}, True, "hello"),
        ("<@UBOT|countersign> hello", {}, True, "hello"),
        ("hello <@UBOT>, please", {}, True, "hello  , please"),
        ("hello", {"channel_type": "im"}, True, "hello"),
        ("hello", {"channel_type": "channel"}, False, "hello"),
        ("<@UBOTHER> hello", {}, False, "<@UBOTHER> hello"),
    ],
)
def test_a_mention_is_seen_and_taken_out(
    text: str, more: dict[str, Any], mentioned: bool, words: str
) -> None:
    found = payloads.incoming(message(text, **more), "UBOT")
    assert found is not None
    assert (found.mentioned, found.text) == (mentioned, words)


def test_a_message_and_its_twin_have_one_key() -> None:
    twin = message("<@UBOT> hi", type="app_mention")
    first, second = payloads.incoming(message("<@UBOT> hi"), "UBOT"), payloads.incoming(twin, "UBOT")
    assert first
    assert second
    assert first.key == second.key == "T1:C_OPS:1.5"


@pytest.mark.parametrize(
    "body",
    [
        {"team_id": "T2", "context_team_id": "T1", "authorizations": [{"team_id": "T1"}]},
        {"team_id": "T1", "authorizations": []},
        {"team": {"id": "T1"}, "user": {"id": ANN, "team_id": "T2"}},
        {"team": "T1", "authorizations": [{"team_id": "T2"}]},
        {"team": {"id": "T2"}, "view": {"id": "V1", "app_installed_team_id": "T1"}},
        {"team": None, "user": {"id": ANN, "team_id": "T1"}},
    ],
)
def test_the_workspace_is_the_one_that_bolt_lets_in(body: dict[str, Any]) -> None:
    given = {"user": {"id": ANN}, "view": {"id": "V1"}, **body}
    assert extract_team_id(given) == "T1"
    assert payloads.submission(given).team == "T1"


def test_a_listed_bot_is_heard_and_others_are_not() -> None:
    body = message("<@UBOT> hi", user="U_ROBOT", bot_id="B1", subtype="bot_message")
    assert payloads.incoming(body, "UBOT") is None
    assert payloads.incoming(body, "UBOT", frozenset({"U_ROBOT"})) is not None


def test_what_was_filled_in_around_a_button_comes_with_the_click() -> None:
    chosen = {"type": "static_select", "selected_option": {"text": {}, "value": "1"}}
    state = {
        "words": {"words": {"type": "plain_text_input", "value": "take b.md"}},
        "q": {"given": chosen, "other": {"type": "static_select", "selected_option": None}},
        "empty": {"given": {"type": "plain_text_input", "value": None}},
        "odd": 7,
    }
    body = {
        "team": {"id": "T1"},
        "user": {"id": ANN},
        "actions": [{"action_id": "go", "value": "v"}],
        "message": {"ts": "1.5"},
        "state": {"values": state},
    }
    assert payloads.input_values(payloads.click(body).values) == {
        "words": {"words": "take b.md"},
        "q": {"given": "1", "other": ""},
        "empty": {"given": ""},
    }
    assert payloads.click({**body, "state": "odd"}).values == {}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 5),
        (" ", 5),
        ("7", 7),
        (" 7 ", 7),
        ("0", 1),
        ("999", 20),
        ("1000", None),
        ("٣", None),
        ("-1", None),
        ("x", None),
    ],
)
def test_a_number_after_a_command_is_bounded(text: str, number: int | None) -> None:
    assert payloads.parse_count(text, 5, 20) == number


@pytest.mark.parametrize(
    "more",
    [
        {"user": "U_ROBOT", "bot_id": "B1"},
        {"user": None, "bot_id": "B1", "subtype": "bot_message"},
        {"user": "USLACKBOT", "subtype": "slackbot_response"},
        {"subtype": "me_message"},
        {"user": ANN, "app_id": "A1", "bot_profile": {"id": "B1"}},
    ],
    ids=["an account", "none", "Slackbot", "by /me", "a person's"],
)
def test_what_another_app_posts_is_known_of_without_its_words(more: dict[str, Any]) -> None:
    body = message("Deploy now?", thread_ts="1.1", **more)
    assert payloads.incoming(body, "UBOT") is None
    found = payloads.of_other_app(body, "UBOT")
    assert found == Incoming("T1:C_OPS:1.5", Session("T1", "C_OPS", "1.1"), "app", "", "1.5", False)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"user": "UBOT", "bot_id": "B1"},
        {"bot_id": "B1", "subtype": "message_changed"},
        {"subtype": "channel_join"},
    ],
    ids=["a person", "ourselves", "an edit", "a join"],
)
def test_what_no_other_app_posted_is_not_taken_for_that(more: dict[str, Any]) -> None:
    assert payloads.of_other_app(message("Deploy now?", **more), "UBOT") is None
