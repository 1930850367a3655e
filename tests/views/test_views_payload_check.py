"""The validator of outgoing payloads: every planted fault is found, and told where it is."""

import copy
import json

import pytest

from gate.rules.canonical_json import canonical
from tests.views.samples import action, destructive
from views import block_kit, modals, payload_check
from views.block_kit import Message
from views.card import card
from views.form_fields import Form

SCHEMA = {
    "properties": {"n": {"type": "integer"}, "c": {"enum": ["a", "b"]}, "t": {"type": "string"}},
    "required": ["n", "c"],
}
LONG = {"type": "text", "text": "x" * 3000}


def task(**changes):
    return {"task_id": "1", "title": "Look", "status": "pending", **changes}


def plan(*tasks, title="A plan"):
    return {"type": "plan", "title": title, "tasks": list(tasks)}


def good_message():
    made = card(destructive())
    return {"text": made.text, "blocks": copy.deepcopy([*made.blocks, block_kit.sentence("Look *here*.")])}


def good_view():
    args = {"n": 1, "c": "a", "t": "x"}
    return copy.deepcopy(modals.edit(action(args=canonical(args)), Form(SCHEMA, args)))


def at(value, path):
    for step in path[:-1]:
        value = value[step]
    return value, path[-1]


def first(blocks, kind):
    return next(i for i, block in enumerate(blocks) if block["type"] == kind)


def test_the_payloads_that_faults_are_planted_in_are_good():
    made = good_message()
    assert payload_check.message(Message(made["text"], made["blocks"])) == ()
    assert payload_check.view(good_view()) == ()


# kind of block, path inside it, what is planted there (KeyError-free: None deletes)
IN_BLOCKS = [
    ("section", ["text", "text"], "x" * 3001, "1 to 3000"),
    ("section", ["text", "text"], "", "1 to 3000"),
    ("section", ["text", "text"], None, "has no text"),
    ("section", ["text", "text"], "<!channel>", "markup"),
    ("section", ["text", "text"], "a < b", "markup"),
    ("section", ["text", "text"], "<https://evil.example|Confirm>", "markup"),
    ("section", ["text", "text"], "half \ud800", "half of a character"),
    ("section", ["text", "verbatim"], False, "must be true"),
    ("section", ["text", "verbatim"], None, "has no verbatim"),
    ("section", ["text", "type"], "plain_text", "must be one of mrkdwn"),
    ("section", ["text"], "bare", "must be one of mrkdwn"),
    ("section", ["accessory"], {"type": "image"}, "unknown key"),
    ("section", ["type"], "image", "must be one of"),
    ("section", ["type"], "markdown", "must be one of"),
    ("section", ["block_id"], "x" * 256, "1 to 255"),
    ("context", ["elements"], [], "list of 1 to 10"),
    ("context", ["elements"], [block_kit.plain("x", 9)] * 11, "list of 1 to 10"),
    ("context", ["elements", 0, "type"], "image", "must be one of"),
    ("rich_text", ["elements", 0, "elements", 0, "text"], 7, "must be text"),
    ("rich_text", ["elements", 0, "elements", 0, "text"], "", "must be text"),
    (
        "rich_text",
        ["elements", 0, "elements", 0],
        {"type": "link", "url": "https://evil.example", "text": "Open"},
        "must be the address of a message",
    ),
    (
        "rich_text",
        ["elements", 0, "elements", 0],
        {"type": "link", "url": "https://acme.slack.com/archives/C1/p1", "text": "Confirm"},
        "1 to 4 characters",
    ),
    (
        "rich_text",
        ["elements", 0, "elements", 0],
        {"type": "broadcast", "range": "channel"},
        "must be one of",
    ),
    ("rich_text", ["elements", 0, "elements", 0], {"type": "user", "user_id": "u1"}, "Slack id"),
    ("rich_text", ["elements", 0, "elements", 0, "style"], {"bold": 1}, "true or false"),
    ("rich_text", ["elements", 0, "elements", 0, "style"], {"blink": True}, "unknown key"),
    ("rich_text", ["elements", 0, "type"], "rich_text_image", "must be one of"),
    ("rich_text", ["elements"], [{"type": "rich_text_section", "elements": [LONG] * 5}], "rich text"),
    ("actions", ["elements"], [], "list of 1 to 25"),
    ("actions", ["elements"], [block_kit.button("x", str(n), "v") for n in range(26)], "list of 1 to 25"),
    ("actions", ["elements"], [block_kit.button("x", "same", "v")] * 2, "used twice"),
    ("actions", ["elements", 0, "url"], "https://evil.example", "unknown key"),
    ("actions", ["elements", 0, "action_id"], None, "has no action_id"),
    ("actions", ["elements", 0, "value"], "x" * 2001, "1 to 2000"),
    ("actions", ["elements", 0, "value"], None, "has no value"),
    ("actions", ["elements", 0, "style"], "default", "primary, danger"),
    ("actions", ["elements", 0, "text", "text"], "x" * 76, "1 to 75"),
    ("actions", ["elements", 0, "text", "emoji"], True, "must be false"),
    ("actions", ["elements", 0, "text", "type"], "mrkdwn", "must be one of"),
    (
        "actions",
        ["elements", 3, "options"],
        [block_kit.option("x", str(n)) for n in range(6)],
        "list of 1 to 5",
    ),
    ("actions", ["elements", 3, "options"], [block_kit.option("x", "same")] * 2, "one value"),
    ("actions", ["elements", 3, "options", 0, "value"], "x" * 76, "1 to 75"),
    ("actions", ["elements", 3, "options", 0, "type"], "option", "must be one of"),
]


@pytest.mark.parametrize(("kind", "path", "planted", "told"), IN_BLOCKS)
def test_a_fault_in_a_block_of_a_message_is_found(kind, path, planted, told):
    made = good_message()
    where, key = at(made["blocks"][first(made["blocks"], kind)], path)
    if planted is None:
        del where[key]
    else:
        where[key] = planted
    problems = payload_check.message(Message(made["text"], made["blocks"]))
    assert len(problems) == 1
    assert told in problems[0]
    assert problems[0].startswith("message.blocks")


@pytest.mark.parametrize(
    ("text", "blocks", "told"),
    [
        ("", None, "1 to 300"),
        ("x" * 301, None, "1 to 300"),
        ("<!here>", None, "markup"),
        ("a > b", None, "markup"),
        (None, None, "must be text"),
        ("x", [], "list of 1 to 50"),
        ("x", [block_kit.divider()] * 51, "list of 1 to 50"),
        ("x", [None], "must be one of"),
        ("x", "blocks", "list of 1 to 50"),
        ("x", [{**block_kit.divider(), "block_id": "b"}] * 2, "block_id 'b' is used twice"),
        ("x", [block_kit.field("b", "l", {"type": "file_input", "action_id": "a"})], "must be one of"),
        (
            "x",
            [block_kit.field("b", "l", block_kit.text_input("a")) for _ in "ab"],
            "block_id 'b' is used twice",
        ),
        ("x", [plan(task(title="x" * 257))], "1 to 256"),
        ("x", [plan(task(title="a <!channel>"))], "markup"),
        ("x", [plan(task(), title="<@U1>")], "markup"),
        ("x", [plan(task(status="skipped"))], "pending, in_progress, complete, error"),
        ("x", [plan(task(), task())], "two tasks have one task_id"),
        ("x", [plan()], "list of 1 to 50"),
        ("x", [plan(*(task(task_id=str(n)) for n in range(51)))], "list of 1 to 50"),
        ("x", [plan(task(type="task_card"))], "must be one of planned"),
        ("x", [plan(task(details=block_kit.rich(block_kit.line(*[LONG] * 5))))], "rich text"),
        ("x", [block_kit.header("h") | {"text": block_kit.plain("x" * 151, 200)}], "1 to 150"),
        ("x", [block_kit.table([["a"]]), block_kit.table([["a"]])], "more than one table"),
        ("x", [block_kit.table([["a"]] * 101)], "list of 1 to 100"),
        ("x", [block_kit.table([["a"] * 21])], "rows of 1 to 20 cells"),
        ("x", [block_kit.table([["a", "b"], ["c"]])], "as many cells in each row"),
        ("x", [block_kit.table([["x" * 3_001]])], "1 to 3000"),
        ("x", [block_kit.table([["x" * 2_600]] * 4)], "characters in a table"),
        ("x", [{"type": "table", "rows": [[{"type": "rich_text", "elements": []}]]}], "one of raw_text"),
    ],
)
def test_a_fault_of_a_message_is_found(text, blocks, told):
    made = good_message()
    problems = payload_check.message(Message(text, made["blocks"] if blocks is None else blocks))
    assert len(problems) == 1
    assert told in problems[0]


IN_VIEWS = [
    (["title", "text"], "x" * 25, "1 to 24"),
    (["title"], None, "has no title"),
    (["close"], None, "has no close"),
    (["submit", "text"], "x" * 25, "1 to 24"),
    (["submit"], None, "an input needs submit"),
    (["private_metadata"], "x" * 3001, "1 to 3000"),
    (["callback_id"], "x" * 256, "1 to 255"),
    (["callback_id"], None, "has no callback_id"),
    (["type"], "workflow", "must be one of"),
    (["notify_on_close"], True, "unknown key"),
    (["blocks"], [block_kit.divider()] * 101, "list of 1 to 100"),
    (["blocks"], [], "list of 1 to 100"),
    (["blocks", -1, "block_id"], None, "has no block_id"),
    (["blocks", -1, "block_id"], "arg.n", "used twice"),
    (["blocks", -1, "label", "text"], "x" * 2001, "1 to 2000"),
    (["blocks", -1, "hint"], block_kit.plain("x" * 2001, 3000), "1 to 2000"),
    (["blocks", -1, "optional"], "yes", "true or false"),
    (["blocks", -1, "element", "initial_value"], "x" * 3001, "1 to 3000"),
    (["blocks", -1, "element", "max_length"], 3001, "whole number"),
    (["blocks", -1, "element", "max_length"], True, "whole number"),
    (["blocks", -1, "element", "placeholder"], block_kit.plain("delete x", 99), "unknown key"),
    (["blocks", -1, "element", "type"], "file_input", "must be one of"),
    (["blocks", -2, "element", "initial_option"], block_kit.option("c", "9"), "one of the options"),
    (
        ["blocks", -2, "element", "options"],
        [block_kit.option("x", str(n)) for n in range(11)],
        "list of 1 to 10",
    ),
    (["blocks", -3, "element", "is_decimal_allowed"], None, "has no is_decimal_allowed"),
]


@pytest.mark.parametrize(("path", "planted", "told"), IN_VIEWS)
def test_a_fault_of_a_view_is_found(path, planted, told):
    made = good_view()
    where, key = at(made, path)
    if planted is None:
        del where[key]
    else:
        where[key] = planted
    problems = payload_check.view(made)
    assert any(told in problem for problem in problems)


def test_a_view_of_more_than_250_kb_is_found():
    made = modals.message("x")
    big = [block_kit.rich(*block_kit.boxes("x" * 3000)) for _ in range(99)]
    assert payload_check.view({**made, "blocks": big}) == ("view: more than 250,000 bytes",)


def test_a_home_takes_no_input():
    made = {"type": "home", "callback_id": "home", "blocks": good_view()["blocks"]}
    assert "must be one of" in payload_check.view(made)[0]


@pytest.mark.parametrize("junk", [None, [], "x", {}, {"type": None}, {"type": ["modal"]}])
def test_anything_at_all_can_be_checked(junk):
    assert payload_check.view(junk)
    assert payload_check.message(Message("x", junk))
    assert payload_check.message(Message("x", [junk]))


def test_every_kind_of_object_that_we_send_is_known_to_both_validators():
    assert "image" not in payload_check.SHAPES
    assert json.dumps(sorted(payload_check.TYPELESS)) == '["message", "option", "planned", "side", "style"]'
