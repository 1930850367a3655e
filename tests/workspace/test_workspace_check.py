"""The validator refuses what Slack refuses and takes what Slack takes: tables of both."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace import check

Block = dict[str, Any]


def plain(text: str, **more: Any) -> Block:
    return {"type": "plain_text", "text": text, **more}


def mrkdwn(text: str, **more: Any) -> Block:
    return {"type": "mrkdwn", "text": text, **more}


def section(text: str = "hello", **more: Any) -> Block:
    return {"type": "section", "text": mrkdwn(text), **more}


def button(name: str = "go", **more: Any) -> Block:
    return {"type": "button", "action_id": name, "text": plain("Go"), **more}


def actions(*elements: Block, **more: Any) -> Block:
    return {"type": "actions", "elements": list(elements), **more}


def options(count: int) -> list[Block]:
    return [{"text": plain(f"Option {n}"), "value": str(n)} for n in range(count)]


def menu(kind: str, count: int = 2, **more: Any) -> Block:
    return {"type": kind, "action_id": "menu", "options": options(count), **more}


def input_of(element: Block, **more: Any) -> Block:
    return {"type": "input", "label": plain("Label"), "element": element, **more}


def text_input(**more: Any) -> Block:
    return {"type": "plain_text_input", "action_id": "typed", **more}


def rich(*elements: Block) -> Block:
    return {"type": "rich_text", "elements": list(elements)}


def words(text: str = "words") -> Block:
    return {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}


def task(name: str = "1", **more: Any) -> Block:
    return {"task_id": name, "title": "Move", "status": "pending", **more}


def plan(*tasks: Block) -> Block:
    return {"type": "plan", "title": "Plan", "tasks": list(tasks)}


def table(rows: int, columns: int) -> Block:
    return {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * columns] * rows}


def modal(*blocks: Block, **more: Any) -> Block:
    return {"type": "modal", "title": plain("Title"), "blocks": list(blocks), **more}


def feedback(**more: Any) -> Block:
    side = {"text": plain("Good"), "value": "good"}
    return {"type": "feedback_buttons", "positive_button": side, "negative_button": side, **more}


CONFIRM = {"title": plain("Sure?"), "text": mrkdwn("Really?"), "confirm": plain("Yes"), "deny": plain("No")}

GOOD_MESSAGES = {
    "nothing": [],
    "a section at its limit": [section("x" * 3000)],
    "fields at their limit": [{"type": "section", "fields": [mrkdwn("x" * 2000)] * 10}],
    "a header": [{"type": "header", "text": plain("x" * 150)}],
    "a divider": [{"type": "divider"}],
    "a context of text and picture": [
        {
            "type": "context",
            "elements": [
                mrkdwn("by <@U_ANN>"),
                {"type": "image", "image_url": "https://x.test/a.png", "alt_text": "a"},
            ],
        }
    ],
    "a button with all it may have": [
        actions(button(value="x" * 2000, style="danger", confirm=CONFIRM, visible_to_user_ids=["U_ANN"]))
    ],
    "25 buttons": [actions(*(button(f"b{n}") for n in range(25)))],
    "one action_id in two blocks": [actions(button("same")), actions(button("same"))],
    "an overflow": [section(accessory=menu("overflow", 5))],
    "a menu": [actions(menu("static_select", 100))],
    "grouped options": [
        actions(
            {
                "type": "static_select",
                "action_id": "m",
                "option_groups": [{"label": plain("G"), "options": options(2)}],
            }
        )
    ],
    "checkboxes": [section(accessory=menu("checkboxes", 10, initial_options=options(1)))],
    "radio buttons": [actions(menu("radio_buttons", 10))],
    "a date picker": [actions({"type": "datepicker", "action_id": "d", "initial_date": "2026-11-20"})],
    "rich text of every kind": [
        rich(
            words(),
            {
                "type": "rich_text_list",
                "style": "bullet",
                "elements": [words()],
            },
            {
                "type": "rich_text_preformatted",
                "elements": [{"type": "text", "text": "code"}],
            },
            {
                "type": "rich_text_quote",
                "elements": [
                    {"type": "user", "user_id": "U_ANN"},
                    {"type": "link", "url": "https://x.test", "text": "x"},
                    {"type": "emoji", "name": "wave"},
                    {"type": "text", "text": "b", "style": {"bold": True}},
                ],
            },
        )
    ],
    "a plan": [plan(task("1", status="complete", details=rich(words())), task("2", status="error"))],
    "a form in a message": [
        {**input_of(text_input(multiline=True)), "optional": True},
        {**input_of({**menu("static_select", 2), "action_id": "chosen"}), "hint": plain("x")},
        actions(button()),
    ],
    "a task card": [{"type": "task_card", **task(output=rich(words()))}],
    "feedback": [{"type": "context_actions", "elements": [feedback(action_id="f")]}],
    "a table": [table(100, 20)],
    "markdown": [{"type": "markdown", "text": "x" * 12_000}],
    "a carousel": [{"type": "carousel", "elements": [{"type": "card", "title": plain("Card")}]}],
    "escaped angle brackets": [section("a &lt;b&gt; &amp; c")],
    "every kind of mention": [
        section(
            "<@U_ANN> <#C_OPS|ops> <!subteam^S_OPS> <!here> <https://x.test|x> <!date^1700000000^{time}|then>"
        )
    ],
    "angle brackets in plain text": [{"type": "header", "text": plain("a <b>")}],
    "a quote": [section("> quoted")],
    "50 blocks": [section()] * 50,
}
BAD_MESSAGES = {
    "51 blocks": ([section()] * 51, "no more than 50 items allowed"),
    "no list": ({"type": "divider"}, "must be an array"),
    "a block that is none": (["section"], "unsupported block"),
    "an unknown type": ([{"type": "sections"}], "unsupported block"),
    "an unknown property": ([section(colour="red")], "invalid additional property: colour"),
    "a section with nothing": ([{"type": "section"}], "must have one of text, fields"),
    "a section too long": ([section("x" * 3001)], "must be less than 3001"),
    "an empty text": ([section("")], "must be more than 0"),
    "a text that is a number": ([{"type": "section", "text": {"type": "mrkdwn", "text": 5}}], "string"),
    "a text as bare string": ([{"type": "section", "text": "hello"}], "unsupported text"),
    "emoji on mrkdwn": ([{"type": "section", "text": mrkdwn("x", emoji=True)}], "property: emoji"),
    "verbatim on plain text": ([{"type": "header", "text": plain("x", verbatim=True)}], "verbatim"),
    "11 fields": ([{"type": "section", "fields": [mrkdwn("x")] * 11}], "no more than 10"),
    "a field too long": ([{"type": "section", "fields": [mrkdwn("x" * 2001)]}], "less than 2001"),
    "a header in mrkdwn": ([{"type": "header", "text": mrkdwn("x")}], "unsupported text: 'mrkdwn'"),
    "a header too long": ([{"type": "header", "text": plain("x" * 151)}], "less than 151"),
    "an unescaped bracket": ([section("a < b")], "neither escaped"),
    "an unknown command": ([section("<!all>")], "neither escaped"),
    "a link without http": ([section("<javascript:alert(1)|x>")], "neither escaped"),
    "11 context elements": (
        [{"type": "context", "elements": [mrkdwn("x")] * 11}],
        "no more than 10",
    ),
    "a button in a context": ([{"type": "context", "elements": [button()]}], "unsupported element"),
    "no buttons": ([actions()], "at least 1"),
    "26 buttons": ([actions(*(button(f"b{n}") for n in range(26)))], "no more than 25"),
    "one action_id twice in a block": ([actions(button("a"), button("a"))], "action_id a is used twice"),
    "one block_id twice": ([section(block_id="b"), section(block_id="b")], "block_id b is used twice"),
    "a block_id too long": ([section(block_id="b" * 256)], "less than 256"),
    "a button without text": ([actions({"type": "button", "action_id": "a"})], "missing required field"),
    "a button text too long": ([actions(button(text=plain("x" * 76)))], "less than 76"),
    "a button text in mrkdwn": ([actions(button(text=mrkdwn("x")))], "unsupported text"),
    "a button value too long": ([actions(button(value="x" * 2001))], "less than 2001"),
    "a button value that is a number": ([actions(button(value=1))], "must be a string"),
    "an unknown button style": ([actions(button(style="default"))], "one of primary, danger"),
    "a button url of another kind": ([actions(button(url="file:///etc/passwd"))], "must match"),
    "a confirm without deny": (
        [actions(button(confirm={k: v for k, v in CONFIRM.items() if k != "deny"}))],
        "missing required field: deny",
    ),
    "a confirm title too long": (
        [actions(button(confirm={**CONFIRM, "title": plain("x" * 101)}))],
        "less than 101",
    ),
    "six overflow options": ([section(accessory=menu("overflow", 6))], "no more than 5"),
    "101 options": ([actions(menu("static_select", 101))], "no more than 100"),
    "an option text too long": (
        [actions(menu("static_select", options=[{"text": plain("x" * 76), "value": "1"}]))],
        "less than 76",
    ),
    "an option value too long": (
        [actions(menu("static_select", options=[{"text": plain("x"), "value": "1" * 151}]))],
        "less than 151",
    ),
    "two options of one value": (
        [actions(menu("static_select", options=options(1) * 2))],
        "option values must be unique",
    ),
    "an initial option that is none": (
        [actions(menu("static_select", initial_option={"text": plain("y"), "value": "y"}))],
        "an initial option must be one of the options",
    ),
    "options and groups": (
        [actions(menu("static_select", option_groups=[{"label": plain("G"), "options": options(1)}]))],
        "exactly one of options, option_groups",
    ),
    "11 checkboxes": ([section(accessory=menu("checkboxes", 11))], "no more than 10"),
    "a date that is none": ([actions({"type": "datepicker", "initial_date": "20.11.2026"})], "must match"),
    "a text input in actions": ([actions(text_input())], "unsupported element"),
    "a button as input in a message": ([input_of(button())], "unsupported element"),
    "an alert in a message": ([{"type": "alert", "text": plain("x")}], "unsupported block in a message"),
    "rich text with an empty text": ([rich(words(""))], "more than 0"),
    "rich text inside out": ([rich({"type": "text", "text": "x"})], "unsupported rich text block"),
    "a bare string in rich text": (
        [rich({"type": "rich_text_section", "elements": ["x"]})],
        "unsupported rich text element",
    ),
    "a list of another style": (
        [rich({"type": "rich_text_list", "style": "check", "elements": [words()]})],
        "one of bullet, ordered",
    ),
    "a plan title as object": ([{"type": "plan", "title": plain("x"), "tasks": []}], "must be a string"),
    "51 tasks": ([plan(*(task(str(n)) for n in range(51)))], "no more than 50"),
    "two tasks of one id": ([plan(task("1"), task("1"))], "task_id must be unique"),
    "a planned task with a type": ([plan(task(type="task_card"))], "additional property: type"),
    "a task skipped": ([plan(task(status="skipped"))], "one of pending, in_progress"),
    "task details as text": ([plan(task(details="x"))], "unsupported rich text"),
    "six context actions": (
        [{"type": "context_actions", "elements": [feedback(action_id=str(n)) for n in range(6)]}],
        "no more than 5",
    ),
    "a button among context actions": (
        [{"type": "context_actions", "elements": [button()]}],
        "unsupported element",
    ),
    "a table too wide": ([table(1, 21)], "no more than 20"),
    "two tables": ([table(1, 1), table(1, 1)], "only one table"),
    "a ragged table": (
        [{"type": "table", "rows": [*table(1, 1)["rows"], *table(1, 2)["rows"]]}],
        "as many cells",
    ),
    "too much markdown": (
        [{"type": "markdown", "text": "x" * 7000}] * 2,
        "more than 12000",
    ),
    "an image without alt text": (
        [{"type": "image", "image_url": "https://x.test/a.png"}],
        "missing required field: alt_text",
    ),
}
GOOD_VIEWS = {
    "a modal with only a title": modal(),
    "a form": modal(input_of(text_input(min_length=1, max_length=3000)), submit=plain("Save")),
    "every input": modal(
        *(
            input_of(element, optional=True)
            for element in (
                text_input(multiline=True),
                {"type": "number_input", "is_decimal_allowed": False, "min_value": "0"},
                {"type": "email_text_input"},
                {"type": "url_text_input"},
                menu("static_select"),
                menu("multi_static_select"),
                menu("checkboxes"),
                menu("radio_buttons"),
                {"type": "users_select"},
                {"type": "datepicker"},
                {"type": "timepicker"},
                {"type": "datetimepicker"},
            )
        ),
        submit=plain("Save"),
        close=plain("Cancel"),
        notify_on_close=True,
        private_metadata="x" * 3000,
        callback_id="form",
    ),
    "an alert": modal({"type": "alert", "text": mrkdwn("Careful"), "level": "warning"}),
    "a home": {"type": "home", "blocks": [section(), actions(button())]},
    "100 blocks": modal(*[section()] * 100),
}
BAD_VIEWS = {
    "no view": (None, "unsupported view"),
    "a message as view": ({"type": "message", "blocks": []}, "unsupported view"),
    "a modal without title": ({"type": "modal", "blocks": []}, "missing required field: title"),
    "a title too long": (modal(title=plain("x" * 25)), "less than 25"),
    "a title in mrkdwn": (modal(title=mrkdwn("x")), "unsupported text"),
    "an input without submit": (modal(input_of(text_input())), "submit is required"),
    "a submit too long": (modal(submit=plain("x" * 25)), "less than 25"),
    "101 blocks": (modal(*[section()] * 101), "no more than 100"),
    "metadata too long": (modal(private_metadata="x" * 3001), "less than 3001"),
    "metadata that is an object": (modal(private_metadata={"id": 1}), "must be a string"),
    "a callback_id too long": (modal(callback_id="x" * 256), "less than 256"),
    "markdown in a modal": (modal({"type": "markdown", "text": "x"}), "unsupported block in a modal"),
    "feedback in a modal": (
        modal({"type": "context_actions", "elements": [feedback()]}),
        "unsupported block in a modal",
    ),
    "a plan in a modal": (modal(plan()), "unsupported block in a modal"),
    "an alert of another level": (
        modal({"type": "alert", "text": plain("x"), "level": "fatal"}),
        "one of default",
    ),
    "an alert in a home": (
        {"type": "home", "blocks": [{"type": "alert", "text": plain("x")}]},
        "unsupported block in a home",
    ),
    "a home with a title": ({"type": "home", "title": plain("x"), "blocks": []}, "property: title"),
    "an input without label": (
        modal({"type": "input", "element": text_input()}, submit=plain("Save")),
        "missing required field: label",
    ),
    "a label in mrkdwn": (
        modal(input_of(text_input(), label=mrkdwn("x")), submit=plain("Save")),
        "unsupported text",
    ),
    "a button as input": (modal(input_of(button()), submit=plain("Save")), "unsupported element"),
    "a max_length too large": (
        modal(input_of(text_input(max_length=3001)), submit=plain("Save")),
        "from 1 to 3000",
    ),
    "an initial value longer than allowed": (
        modal(input_of(text_input(max_length=2, initial_value="abc")), submit=plain("Save")),
        "longer than max_length",
    ),
    "a number input that does not say which numbers": (
        modal(input_of({"type": "number_input"}), submit=plain("Save")),
        "missing required field: is_decimal_allowed",
    ),
    "two with the focus": (
        modal(
            input_of(text_input(focus_on_load=True)),
            input_of(text_input(focus_on_load=True)),
            submit=plain("Save"),
        ),
        "only one element",
    ),
    "a true that is a text": (modal(notify_on_close="true"), "one of True, False"),
}


@pytest.mark.parametrize("name", GOOD_MESSAGES)
def test_a_good_message_has_no_problem(name: str) -> None:
    assert check.message_block_problems(GOOD_MESSAGES[name]) == []


@pytest.mark.parametrize("name", BAD_MESSAGES)
def test_a_bad_message_is_refused_with_a_reason(name: str) -> None:
    blocks, reason = BAD_MESSAGES[name]
    assert any(reason in found for found in check.message_block_problems(blocks))


@pytest.mark.parametrize("name", GOOD_VIEWS)
def test_a_good_view_has_no_problem(name: str) -> None:
    assert check.view_problems(GOOD_VIEWS[name]) == []


@pytest.mark.parametrize("name", BAD_VIEWS)
def test_a_bad_view_is_refused_with_a_reason(name: str) -> None:
    body, reason = BAD_VIEWS[name]
    assert any(reason in found for found in check.view_problems(body))


def test_a_problem_says_where_it_is() -> None:
    (found,) = check.message_block_problems([section(), actions(button(value="x" * 2001))])
    assert found.endswith("[json-pointer:/blocks/1/elements/0/value]")


@pytest.mark.parametrize("text", ["<!channel", "a <b", "<@>", "<http://a|b"])
def test_the_text_itself_must_be_escaped(text: str) -> None:
    assert check.message_text_problems(text)
    assert not check.message_text_problems(text.replace("<", "&lt;"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["mrkdwn", "button"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text"]), inner),
    max_leaves=5,
)


def places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside a payload."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [at, *(place for key, value in inside for place in places(value, (*at, key)))]


def broken(payload: Any, place: tuple[Any, ...], value: Any) -> Any:
    """The payload with one value exchanged."""
    if not place:
        return value
    copy = deepcopy(payload)
    node = copy
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return copy


SMALL = [payload for payload in (*GOOD_MESSAGES.values(), *GOOD_VIEWS.values()) if len(places(payload)) < 200]


@given(st.data())
def test_no_payload_however_broken_breaks_the_validator(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from(SMALL))
    payload = broken(whole, data.draw(st.sampled_from(places(whole))), data.draw(JSON))
    found = check.view_problems(payload) if isinstance(whole, dict) else check.message_block_problems(payload)
    assert all(isinstance(sentence, str) for sentence in found)
