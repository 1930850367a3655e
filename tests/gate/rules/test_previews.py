"""Previews: what people see of a call is made from the call, and says whether there is a way back."""

from dataclasses import replace

import pytest

from gate.arguments.declared_targets import Targets
from gate.rules.action import Preview
from gate.rules.previews import (
    DECEPTIVE_TEXT,
    MAX_FACTS,
    build,
    covered_by_facts,
    facts,
    has_deceptive_text,
    plainly,
    undo_words,
)
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


@pytest.mark.parametrize("name", ["create_directory", "createDirectory", "create-directory"])
def test_a_tool_without_a_title_is_told_in_the_words_of_its_name(name):
    for title in ("", name):
        assert plainly(ToolSpec("s", name, title, "", {}, "d"), {}) == "Create directory"


def test_a_value_that_the_first_line_names_is_marked_and_one_that_could_end_early_is_not():
    recipe = Recipe(summary="Move {args.source} to {args.destination}, {args.mode|name}")
    spec = ToolSpec("s", "move", "", "", {}, "d", recipe=recipe)
    args = {"source": "a b.md", "destination": "archive", "mode": "for/all", "overwrite": "archive"}
    marked = [fact.label for fact in build(spec, args, {}).facts if fact.named]
    assert marked == ["destination"]
    whole = build(spec, {**args, "mode": "all"}, {})  # of which the filter leaves all
    assert [fact.label for fact in whole.facts if fact.named] == ["destination", "mode"]


def test_a_declared_path_that_is_the_whole_name_of_an_affected_thing_is_marked_and_nothing_else_is():
    recipe = Recipe(
        summary="Encrypt {args.path|name}",
        show=Show("items", items="{capture.before.files}"),
        targets=Targets(paths=("path", "more[]")),
    )
    spec = ToolSpec("s", "encrypt", "", "", {}, "d", recipe=recipe)
    args = {"path": "my report.txt", "more": ["b.txt", "c.txt"], "to": ["key1"], "cc": "a@b.c"}
    names = ["my report.txt → my report.txt.age", "b.txt", "key1", "a@b.c", "c.txt of key1"]
    capture = {"before": {"files": [{"name": name} for name in names]}}
    marked = [fact.label for fact in build(spec, args, capture).facts if fact.named]
    assert marked == ["path", "more[0]"]
    twice = {**args, "to": ["my report.txt"]}
    assert [fact.label for fact in build(spec, twice, capture).facts if fact.named] == ["more[0]"]


def test_of_a_tool_without_a_recipe_the_line_tells_an_argument_only_where_there_is_one():
    """Of several it does not say which is which: “Set x, true”."""
    schema = {"properties": {"path": {}, "force": {}}, "required": ["path"]}
    spec = ToolSpec("s", "create_directory", "Create directory", "", schema, "d")
    assert [fact.named for fact in build(spec, {"path": "/srv/new"}, {}).facts] == [True]
    assert [fact.named for fact in build(spec, {"path": "with a space"}, {}).facts] == [False]
    assert [fact.named for fact in build(spec, {"path": "x", "force": "true"}, {}).facts] == [False, False]


def test_a_value_in_quotes_of_the_first_line_is_told_unless_a_quote_could_end_it_early():
    spec = ToolSpec("s", "add", "", "", {}, "d", recipe=Recipe(summary="Add “{args.title}” to {args.list}"))

    def told(title: str, to: str = "home") -> list[str]:
        return [fact.label for fact in build(spec, {"title": title, "list": to}, {}).facts if fact.named]

    assert told("buy milk, due tomorrow") == ["title", "list"]
    assert told("Bob's list") == ["title", "list"]
    for one in ("milk” to “work", 'milk" to "work', "milk″ to", "milk\nstatus: done", "milk\u202e"):
        assert told(one) == ["list"], one
    assert told("buy milk", "home” and “work") == []
    other = replace(spec, recipe=replace(spec.recipe, summary="Add {args.title} to “{args.list}”"))
    assert [fact.label for fact in build(other, {"title": "a b", "list": "c d"}, {}).facts if fact.named] == [
        "list"
    ]


def test_an_argument_that_has_a_line_of_its_own_is_told_where_no_argument_can_bring_in_a_line():
    show = Show("text", after="{capture.plan.change}", says=["status", "notes"])
    spec = ToolSpec("s", "update", "", "", {}, "d", recipe=Recipe(summary="Update it", show=show))

    def told(change: str, **args: str) -> list[str]:
        return [fact.label for fact in build(spec, args, {"plan": {"change": change}}).facts if fact.named]

    assert told("- status: open\n+ status: done", status="done") == ["status"]
    assert told("+ status: done, not open", status="done") == []
    assert told("+ notes: status: done", status="done") == []
    assert told("+ status: done\n+ status: done", status="done") == []
    assert told("+ mode: force", mode="force") == []  # of which the recipe says nothing
    assert told("+ notes: a\n+ status: done", status="done", notes="a\n+ status: done") == []
    assert told("+ notes: a\u2028+ status: done", status="done", notes="a\u2028+ status: done") == []


def test_what_a_text_is_the_whole_effect_of_is_named():
    show = Show("text", after="{capture.plan.rows}", of=["changes"])
    spec = ToolSpec("s", "write", "", "", {}, "d", recipe=Recipe(summary="Add", show=show))
    assert build(spec, {"changes": [{"op": "insert"}]}, {"plan": {"rows": "+a: 1"}}).compared == "changes"


def test_more_arguments_than_any_card_can_show_are_a_problem_and_none_is_hidden_by_that():
    most = build(SPEC, {**ARGS, "more": [1] * (MAX_FACTS - 3)}, {"before": {"text": "a", "sha": "x"}})
    assert (len(most.facts), most.problem) == (MAX_FACTS, "")
    more = build(SPEC, {**ARGS, "more": [1] * (MAX_FACTS - 2)}, {"before": {"text": "a", "sha": "x"}})
    assert len(more.facts) == MAX_FACTS
    assert more.problem == "This has more than 10,000 arguments, and no more can be shown."
    assert not more.is_complete


def test_an_edit_that_takes_out_very_many_values_is_a_problem_too():
    before = {f"ids[{i}]": "1" for i in range(MAX_FACTS)}
    assert not build(SPEC, ARGS, {"before": {"text": "a", "sha": "x"}}, before).is_complete


def test_what_a_server_tells_beside_the_name_of_a_thing_is_clipped_and_counted():
    recipe = Recipe(summary="Delete", show=Show("items", items="{capture.before.files}"))
    told = {"name": "n" * 100, "kind": "k" * 20_000, "modified": ["m"] * 100, "size": 10**400}
    spec = ToolSpec("s", "delete", "", "", {}, "d", recipe=recipe)
    (thing,) = build(spec, {}, {"before": {"files": [told]}}).affected
    assert thing.name == "n" * 100
    assert thing.kind == "k" * 60 + "… (+19,940)"
    assert thing.modified.endswith("… (+440)")
    assert thing.size is None


def test_what_covered_lines_told_of_the_arguments_stands_among_the_facts_again():
    show = Show("text", after="{capture.plan.change}", says=("where",))
    spec = replace(SPEC, recipe=Recipe(summary="Write {args.path}", show=show))
    capture = {"plan": {"change": "+ where: Room 9\n! at the same time: Interview"}}
    whole = build(spec, {"path": "a.md", "where": "Room 9"}, capture)
    kept = covered_by_facts(whole)
    assert [(fact.label, fact.named) for fact in whole.facts] == [("path", True), ("where", True)]
    assert [(fact.label, fact.named) for fact in kept.facts] == [("path", True), ("where", False)]
    assert "Interview" not in str(kept)
