"""Templates: strict, typed, and readable before anything runs."""

import pytest

from gate.template import TemplateError, expand, holds, human_size, names

SCOPE = {
    "args": {"path": "a/b.md", "n": 3, "list": [1, 2]},
    "capture": {"before": {"sha": "x", "items": [{"id": 7}]}},
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{args.path}", "a/b.md"),
        ("{args.n}", 3),
        ("{args.list}", [1, 2]),
        ("{capture.before.items[0].id}", 7),
        ("Move {args.path|name} ({args.list|count})", "Move b.md (2)"),
        ("{args.n} of {args.n}", "3 of 3"),
        ({"a": ["{args.n}", {"b": "{args.path|size}"}]}, {"a": [3, {"b": "6 B"}]}),
        ("no placeholder {} { }", "no placeholder {} { }"),
        ("{args.list|json}", "[1, 2]"),
        (5, 5),
    ],
)
def test_templates_are_filled_and_lone_placeholders_keep_their_type(template, value):
    assert expand(template, SCOPE) == value


@pytest.mark.parametrize(
    "template", ["{args.gone}", "{result.x}", "{args.path.deeper}", "{args.list[9]}", "x {args.n|frob}"]
)
def test_what_is_missing_is_an_error(template):
    with pytest.raises(TemplateError):
        expand(template, SCOPE)


def test_names_are_known_before_anything_runs():
    assert names({"a": "{args.path} {capture.before.sha|name}"}) == {
        ("args", "path"),
        ("capture", "before", "sha"),
    }
    with pytest.raises(TemplateError):
        names("{args.path|frob}")


def test_a_condition_on_something_missing_does_not_hold():
    assert holds("{args.n}", SCOPE)
    assert not holds("{result.replaced}", SCOPE)


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 KB"), (1_234_567, "1.2 MB")]
)
def test_sizes_are_for_people(count, words):
    assert human_size(count) == words
