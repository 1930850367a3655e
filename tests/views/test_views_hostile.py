"""Text of others calls nobody, links nowhere and hides nothing, wherever it turns up."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.arguments.unicode_safety import deceptive_positions, is_deceptive
from gate.rules import spelled_out
from gate.rules.action import Affected, Fact, Outcome, Preview, Verdict
from gate.rules.action_states import State
from gate.rules.audit import Entry, Line
from gate.rules.ports import Note, UndoEntry
from gate.rules.task import Flow, Missing, PauseReason, Question
from gate.rules.task_states import TaskState
from gate.rules.tool import Problem
from gate.tasks.pending import PendingItem
from tests.actions import but
from tests.tasks import having
from tests.views.samples import INVERSE, NOW, action, opened, parts, sent
from tests.views.task_samples import plan, step, task
from views import lists, modals, notices, rendering
from views.block_kit import clip, escape, escaped, fits_line, inline, mention, mrkdwn, shortened, visible
from views.card import card
from views.edit_form import blocks, field_errors, shown
from views.form_fields import Form

MARK = "Zq"  # stands in no sentence of ours
CORPUS = [
    "<!channel>",
    "<!here|here>",
    "<!everyone>",
    "<@U1>",
    "<@W1|boss>",
    "<!subteam^S1>",
    "<#C1>",
    "<https://evil.example|Confirm>",
    "<!date^0^{date}|now>",
    "```\n*Done*\n```",
    "`code` *bold* _it_ ~no~ > quote",
    "https://evil.example/?q=secret",
    "[Confirm](https://evil.example)",
    ":tada: :warning:",
    "&lt;!channel&gt; &amp;",
    "safe\u202egnp.exe",
    "a\u2066b\u2069c",
    "zero\u200bwidth\u2060\ufeff",
    "tag\U000e0041\U000e007f",
    "variant\ufe0f\U000e0100",
    "p\u0430ypal",  # a Cyrillic a
    "\ue000\U000f0000",
    "\x00\x07\x1b[31m\x7f\x85",
    "line\r\nbreak\u2028and\u2029more\x0b",
    "hangul\u3164filler\u115f",
    "\\u{202e}",
    "half \ud800 of a character",
    "",
    " ",
    "\n" * 50,
    "x" * 10_000,
    "<!channel>" * 1_000,
    "é" * 3_001,
    "👩‍👩‍👧" * 500,
]
NAMES = [ascii(text)[1:30] for text in CORPUS]


def marked(text):
    return f"{MARK}{text}{MARK}"


def hostile_action(text, state, **changes):
    told = Preview(
        summary=text,
        verb=text,
        facts=(
            Fact(text, text),
            Fact("short", text),
            Fact("changed", text, old=text),
            Fact("b", text, added=True),
        ),
        diff=text,
        affected=(Affected(text, 1, text, text),),
        notifies=text,
        undo=text,
        recoverable=text,
        notes=(text,),
        problem=changes.pop("problem", ""),
    )
    return action(
        told,
        state=state,
        server=text,
        tool=text,
        reason=text,
        rule=text,
        prose=text,
        decision=text,
        edited_by=text,
        requester=text,
        always_gated=True,
        outcome=Outcome("error", text),
        inverse=INVERSE,
        **changes,
    )


def payloads(text):
    """Everything that we can send, with this text in every place where text of others can be."""
    for state in State:
        for verdict in [Verdict.TYPED, Verdict.CONFIRM][: 1 + (state is State.PREPARED)]:
            of = hostile_action(text, state, verdict=verdict, phrase="move 7F3K", decided_by="UBEN")
            yield sent(card(of))
            for view in (modals.review(of), modals.full(of), modals.reject(of)):
                yield opened(view)
    of = hostile_action(text, State.PREPARED, problem=text)
    yield sent(card(of))
    schema = {"properties": {text: {"type": "string", "description": text}, "e": {"enum": [text, "b"]}}}
    yield opened(modals.edit(but(of, args=b"{}"), Form(schema, {})))
    yield sent(lists.pending([PendingItem(of)] * 20, of.requester))
    asked = task(text=text, questions=(Question("q", text, Missing.INPUTS, (), text),), asked=1, reason=text)
    hostile = step(preview=of.preview, title=text)
    for one in (
        replace(asked, state=TaskState.CLARIFYING),
        having(asked, plan=plan(hostile)),
        having(asked, state=TaskState.PAUSED, plan=plan(hostile), why=PauseReason.WISH, pauses=1),
    ):
        yield sent(lists.pending([PendingItem(one)] * 20, one.requester))
    yield sent(lists.undo([UndoEntry(of, NOW, text, False)] * 20))
    yield opened(lists.home([PendingItem(of)] * 20, of.requester, [UndoEntry(of, NOW, text, True)] * 20))
    entry = Entry(event=text, session=text, actor=text, tool=text, outcome=text, reason=text, arguments=text)
    yield sent(lists.audit([Line(1, NOW, entry, "", "")] * 30))
    read = {"name": text, "arguments": {text: text}, "text": text, "clipped": True, "open_world": True}
    yield sent(notices.message(Note("n", of.session, "read", {**read, "error": False})))
    yield sent(notices.message(Note("n", of.session, "refused", {"name": text, "reasons": [text] * 20})))
    yield sent(notices.message(Note("n", of.session, "text", {"text": text})))


@pytest.mark.slow(but=7)
@pytest.mark.parametrize("text", CORPUS, ids=NAMES)
def test_text_of_others_calls_nobody_links_nowhere_and_hides_nothing(text):
    for payload in payloads(marked(text)):
        made = payload if isinstance(payload, dict) else payload.blocks
        assert MARK not in "".join(part["text"] for part in parts(made, "mrkdwn"))
        assert not parts(made, "link") + parts(made, "image")
        assert {user["user_id"] for user in parts(made, "user")} <= {"UBEN"}
        for part in [*parts(made, "text"), *parts(made, "plain_text")]:
            assert visible(part["text"]).replace("\\u{5c}", "\\") == part["text"]
        if not isinstance(payload, dict):
            assert "<" not in payload.text
            assert len(payload.text) <= 300


@pytest.mark.slow
def test_every_invisible_character_is_spelled_out():
    kinds = {chr(n): unicodedata.category(chr(n)) for n in range(sys.maxunicode + 1) if chr(n) not in "\n\t"}
    hidden = [char for char, kind in kinds.items() if kind in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    # The unassigned and the private ones are blocks of up to 65,534: in so large a one each hundredth will do.
    hidden += [
        char
        for char, kind in kinds.items()
        if kind in ("Cn", "Co") and (char < "\U00020000" or not ord(char) % 101)
    ]
    hidden.sort()
    assert len(hidden) > 60_000
    assert visible("".join(hidden)) == "".join(f"\\u{{{ord(char):x}}}" for char in hidden)


def test_variation_selectors_fillers_and_odd_spaces_are_spelled_out():
    odd = "\ufe00\ufe0f\U000e0100\U000e01ef\u034f\u115f\u3164\uffa0\u2800\u180b\u00a0\u2003"
    assert visible(odd) == "".join(f"\\u{{{ord(char):x}}}" for char in odd)


@pytest.mark.slow
def test_every_character_that_is_no_click_is_spelled_out_on_the_card():
    """Of those that stand for no character, one in a hundred: each is spelled out in the test of invisible ones."""
    tried = (
        n
        for n in range(sys.maxunicode + 1)
        if n % 100 == 0 or unicodedata.category(chr(n)) not in ("Cn", "Co", "Cs")
    )
    shown = [
        hex(n)
        for n in tried
        if (text := f"a{chr(n)}b") and is_deceptive(text) and f"\\u{{{n:x}}}" not in visible(text)
    ]
    assert shown == []


def test_a_letter_of_another_script_in_a_latin_word_is_spelled_out():
    assert (
        visible("p\u0430ypal.com/\u043f\u0440\u0438\u0432\u0435\u0442")
        == "p\\u{430}ypal.com/\u043f\u0440\u0438\u0432\u0435\u0442"
    )


def test_ordinary_text_of_any_language_stays_as_it_is():
    for text in (
        "Grüße, naïve café",
        "日本語　テキスト",
        "العربية",
        "हिन्दी",
        "Ελληνικά",
        "👍🏽 ok",
        "tab\tand\nline",
        "C:\\users",
    ):
        assert visible(text) == text


def test_on_one_line_newlines_are_spelled_out_too():
    assert inline("a\nb\tc") == "a\\u{a}b\\u{9}c"


@given(st.text(alphabet=st.characters() | st.sampled_from("\\u{}\u202e\n")))
def test_what_is_spelled_out_can_be_read_back(text):
    assert re.sub(r"\\u\{([0-9a-f]+)\}", lambda m: chr(int(m[1], 16)), visible(text)) == text


@pytest.mark.slow
@given(st.text(max_size=400), st.integers(2, 300))
def test_a_clipped_text_keeps_its_length_and_says_what_is_missing(text, most):
    short = clip(text, most)
    assert len(short) <= most
    if short != text:
        assert "…" in short


def test_clip_counts_what_it_cut():
    assert clip("x" * 1000, 20) == "x" * 10 + "… (+990)"


@given(st.text(alphabet="<>&ab\u202e", max_size=400))
def test_an_escaped_line_has_no_bracket_and_is_never_too_long(text):
    assert len(escaped(text, 250)) <= 250
    assert not set("<>") & set(escaped(text, 250))


def test_escaping_is_done_once_and_in_the_right_order():
    assert escape("<&lt;>") == "&lt;&amp;lt;&gt;"


@pytest.mark.parametrize(
    "text", ["<!channel>", "<!here>", "<https://evil.example|x>", "<@U1|x>", "<@u1>", "a < b"]
)
def test_our_own_sentences_can_hold_no_markup_but_mentions_and_dates(text):
    assert "<" not in mrkdwn(text)["text"]


def test_a_sentence_keeps_its_mentions_and_loses_everything_else():
    told = mrkdwn("<!channel> & <@U1> or <!subteam^S1> by <!date^1^{time}|2026-11-20> in <#C1>, <#Cx>\u202e")
    assert told["text"] == (
        "&lt;!channel&gt; &amp; <@U1> or <!subteam^S1> by <!date^1^{time}|2026-11-20> in <#C1>, &lt;#Cx&gt;\\u{202e}"
    )


def test_only_a_slack_id_becomes_a_mention():
    assert mention("U0AB_9") == "<@U0AB_9>"
    assert mention("<!channel>") == mention("u1") == mention("U1|x") == "an unknown account"


def test_errors_of_a_form_go_to_fields_only():
    schema = {"properties": {"a": {"type": "string"}}}
    problems = [Problem(("a",), "too short"), Problem((), "odd"), Problem(("zz", 0), "no")]
    assert field_errors(shown(Form(schema, {})), problems) == {"arg.a": "too short"}
    assert {b["block_id"] for b in blocks(Form(schema, {}))} == {"arg.a"}


def longest(seen: list[int], text: str) -> Iterator[int]:
    seen.append(len(text))
    return deceptive_positions(text)


@pytest.mark.parametrize(
    "pump", ["\u202e", "a\u0301", "\u2764\ufe0f", "\u0430\u0301", "a\u202e\u0431\u0301\u200b "]
)
def test_of_a_long_text_no_more_is_gone_through_than_is_shown(pump: str, monkeypatch: pytest.MonkeyPatch):
    seen: list[int] = []
    monkeypatch.setattr(spelled_out, "deceptive_positions", partial(longest, seen))
    talked = having(task(TaskState.TALKING), flow=Flow.TALK, requirements=(pump * 20_000,) * 30, attempts=1)
    rendering.cards(talked)
    assert max(seen) <= 1_000
    assert sum(seen) <= 60_000


@given(st.text(alphabet="a\u0430\u202e\\u{}12 \n\uff0f", max_size=700), st.integers(20, 300))
def test_a_text_is_cut_as_it_is_once_it_is_visible(text: str, most: int):
    assert (
        shortened(text, most)[: most - 12] == clip(inline(text), most)[: most - 12]
    )  # before what counts the rest
    assert fits_line(text, most) == (len(inline(text)) <= most)


def test_what_is_cut_of_a_long_text_is_counted_to_its_end():
    assert shortened("x" * 40_000, 300) == "x" * 289 + "… (+39,711)"
