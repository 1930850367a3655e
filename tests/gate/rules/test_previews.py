"""Previews: what people see of a call is made from the call, and says whether there is a way back."""

from dataclasses import replace

import pytest

from gate.rules.action import Preview
from gate.rules.previews import DECEPTIVE_TEXT, build, facts, has_deceptive_text, plainly, undo_words
from gate.rules.tool import Hints, Recipe, Show, ToolSpec, Trust, Undo

SPEC = ToolSpec(
    "s", "write", "Write", "", {"properties": {"path": {}, "content": {}}}, "d", Hints(), Trust.BUNDLED,
    recipe=Recipe(
        summary="Write {args.path}",
        bind={"expected": "{capture.before.sha}"},
        show=Show("diff", "{capture.before.text}", "{args.content}", "{args.path}"),
        undo=[Undo("put", {"path": "{args.path}", "content": "{capture.before.text}", "expected": "{result.sha}"})],
        keeps_days=7,
    ),
)  # fmt: skip
ARGS = {"content": "b\n", "path": "a.md", "expected": "x"}


def made(before: str = "a\n", spec: ToolSpec = SPEC, **args: str):
    return build(spec, {**ARGS, **args}, {"before": {"text": before, "sha": "x"}})


def test_facts_keep_the_order_of_the_schema_and_mark_what_was_added():
    assert [(f.label, f.added) for f in made().facts] == [
        ("path", False),
        ("content", False),
        ("expected", True),
    ]


def test_the_diff_is_the_change():
    assert made().diff == "--- a.md (now)\n+++ a.md (after)\n@@ -1 +1 @@\n-a\n+b\n"


def test_a_way_back_is_promised_only_where_there_is_one():
    assert made().undo == "yes, for 7 days"
    assert made("x" * 70_000).undo.startswith("no: what is there now is too long")
    assert made(spec=replace(SPEC, recipe=Recipe())).undo.startswith("no: I know no way")


def test_a_way_back_that_brings_back_a_part_says_which():
    spec = ToolSpec(
        "s", "t", "t", "", {}, "d", recipe=Recipe(undo=[Undo("u", {}, partly="the mail has gone out")])
    )
    assert undo_words(spec, {}, {}) == "partly: the mail has gone out"


def test_strange_characters_are_noticed():
    assert DECEPTIVE_TEXT in made(path="a\u202e.md").notes
    assert made().notes == ()


def test_an_edit_marks_what_changed_what_came_and_what_went():
    changed = facts({"a": "1", "b": "2"}, before={"a": "0", "c": "3"})
    assert [(f.label, f.value, f.old) for f in changed] == [("a", "1", "0"), ("b", "2", ""), ("c", "", "3")]


def test_no_arguments_are_said_to_be_none():
    assert [(f.label, f.value) for f in facts({})] == [("", "{}")]


@pytest.mark.parametrize("part", ["summary", "verb", "diff", "notifies", "undo", "recoverable"])
def test_a_blank_in_any_part_of_the_card_is_noticed(part):
    told = Preview(summary="a", verb="Write", facts=())
    assert not has_deceptive_text(told)
    assert has_deceptive_text(replace(told, **{part: "a\u2800b"}))


def test_the_argument_that_the_difference_is_of_is_named():
    assert made().compared == "content"
    told = replace(SPEC, recipe=replace(SPEC.recipe, show=Show("text", after="{capture.before.text}")))
    assert made(spec=told).compared == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"path": "/srv/new"}, "Create directory /srv/new"),
        ({"mode": "7", "path": "/srv/new"}, "Create directory /srv/new, 7"),
        ({"path": "a b", "deep": True, "tags": ["x"]}, "Create directory “a b”"),
        ({"path": "x" * 61}, "Create directory"),
        ({"path": "a\nb"}, "Create directory"),
        ({}, "Create directory"),
    ],
)
def test_a_call_without_a_recipe_is_told_by_its_title_and_what_tells_most(args, said):
    schema = {"properties": {"mode": {}, "path": {}, "deep": {}, "tags": {}}, "required": ["path"]}
    assert plainly(ToolSpec("s", "create_directory", "Create directory", "", schema, "d"), args) == said


def test_a_value_that_the_first_line_names_is_marked_and_one_that_could_end_early_is_not():
    recipe = Recipe(summary="Move {args.source} to {args.destination}, {args.mode|name}")
    spec = ToolSpec("s", "move", "", "", {}, "d", recipe=recipe)
    args = {"source": "a b.md", "destination": "archive", "mode": "all", "overwrite": "archive"}
    marked = [fact.label for fact in build(spec, args, {}).facts if fact.named]
    assert marked == ["destination"]
