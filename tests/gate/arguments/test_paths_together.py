"""A rule about two paths of one call holds for each file of a folder that is moved or copied."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.arguments.declared_targets import Root, Targets
from gate.arguments.forms_apart import MOST_TOGETHER
from gate.arguments.named_paths import TextsApart
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.policy import Policy, Rule, decide
from gate.rules.tool import Recipe, ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems

LIMIT = 0.3  # seconds of processor time, as in tests/test_hostile_sizes.py
ROOTS = (Root("files", ("/srv/files",)),)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def about(**said: Json) -> Rule:
    properties = {name: {"pattern": one} if isinstance(one, str) else one for name, one in said.items()}
    return Rule("two", ("files.*",), deny=True, schema={"required": [*said], "properties": properties})


def copying(*told: str) -> ToolSpec:
    targets = Targets(
        paths=("source", "destination"), reported=("{capture.plan.touched}",), resolved_to=told, roots=ROOTS
    )
    recipe = Recipe(cls=CallClass.WRITE, targets=targets)
    return ToolSpec("files", "copy", "Copy", "", {}, "d", trust=Trust.BUNDLED, recipe=recipe)


def denied(rule: Rule, source: str, destination: str, *told: str) -> bool:
    args = {"source": source, "destination": destination}
    return decide(Policy("p", (rule,)), copying(*told), args, "C", matches).verdict is Verdict.DENY


OUT = about(source="^hr/", destination="^public/")
INSIDE = ("hr", "hr/pay.md", "public/hr", "public/hr/pay.md")
ANYWHERE = about(source="(^|/)hr/", destination="(^|/)public/")


@pytest.mark.parametrize("rule", [OUT, ANYWHERE])
@pytest.mark.parametrize(("source", "destination"), [("hr", "public"), ("hr/", "public/"), (".", "public")])
def test_a_rule_about_two_paths_holds_for_a_whole_folder(rule: Rule, source: str, destination: str) -> None:
    assert denied(rule, source, destination, *INSIDE)


@pytest.mark.parametrize("rule", [OUT, ANYWHERE])
def test_it_holds_in_one_direction(rule: Rule) -> None:
    assert not denied(rule, "public", "hr/new", "public", "public/a.md", "hr/new", "hr/new/a.md")
    assert not denied(rule, "hr", "old", "hr", "hr/pay.md", "old/hr", "old/hr/pay.md")
    assert not denied(rule, "a", "public", "a", "a/b.md", "public/a", "public/a/b.md")


@pytest.mark.parametrize("rule", [OUT, ANYWHERE])
def test_what_lies_below_neither_may_belong_to_each(rule: Rule) -> None:
    """A link leads there, or the place of a new file is chosen by the tool."""
    assert denied(rule, "link", "public", "hr/pay.md", "public/pay.md")
    assert denied(rule, "hr", "link", "hr", "hr/pay.md", "public/hr/pay.md")


def test_a_rule_about_all_fields_sees_two_paths() -> None:
    schema = {"required": ["source", "destination"], "patternProperties": {"^source$": {"pattern": "^hr/"}}}
    rule = Rule(
        "x", ("files.*",), deny=True, schema={**schema, "additionalProperties": {"pattern": "^public/"}}
    )
    assert denied(rule, "hr", "public", *INSIDE)
    assert not denied(rule, "hr", "old", "hr/pay.md", "old/pay.md")


def test_a_rule_that_tells_more_paths_apart_than_are_held_against_it_holds() -> None:
    names = [f"hr/{number}" for number in range(MOST_TOGETHER)]
    rule = about(source={"enum": names}, destination={"enum": ["closed"]})
    assert denied(rule, "hr", "public", *names)
    assert not denied(rule, "old", "public", "old/a", "public/a")


def test_a_folder_of_thousands_of_files_is_held_against_rules_about_two_paths_in_time() -> None:
    rules = tuple(about(source=f"^hr{number}/.{{0,9}}x", destination="^public") for number in range(5))
    told = [f"{top}/2026/a folder/file {number}.md" for number in range(1_000) for top in ("notes", "old")]
    tool, args = copying(*told), {"source": "notes", "destination": "old"}
    assert decide(Policy("p", rules), tool, args, "C", matches).verdict is Verdict.CONFIRM
    assert seconds(lambda: decide(Policy("p", rules), tool, args, "C", matches), 3, LIMIT) < LIMIT


def test_rules_that_tell_many_kinds_of_paths_apart_are_held_against_them_in_time() -> None:
    names = [f"hr/{number}" for number in range(13)]
    rules = tuple(
        about(source={"enum": [*names, str(number)]}, destination={"const": "x"}) for number in range(5)
    )
    told = [*names, *(f"hr/more {number}" for number in range(1_000))]
    tool, args = copying(*told), {"source": "hr", "destination": "old"}
    run = lambda: decide(Policy("p", rules), tool, args, "C", matches)  # noqa: E731
    assert run().verdict is Verdict.CONFIRM
    assert seconds(run, 3, LIMIT) < LIMIT


def test_of_more_paths_than_are_put_in_the_place_of_others_a_rule_counts_as_holding() -> None:
    """Each was put beside all of them, so that a rule with `uniqueItems` took minutes for 6,000."""
    targets = Targets(looks=("paths",))
    look = ToolSpec(
        "files", "describe", "Look", "", {}, "d", trust=Trust.BUNDLED, recipe=Recipe(targets=targets)
    )
    twice = {"required": ["paths"], "not": {"properties": {"paths": {"uniqueItems": True}}}}
    policy, checks = Policy("p", (Rule("twice", ("files.*",), deny=True, schema=twice),)), [0]

    def counted(schema: Any, value: Json) -> bool:
        checks[0] += 1
        return not problems(schema, value)

    few = {"paths": [f"a{number}" for number in range(40)]}
    assert decide(policy, look, few, "C", counted).verdict is not Verdict.DENY
    many = {"paths": [f"a{number}" for number in range(1_500)]}
    assert decide(policy, look, many, "C", counted).verdict is Verdict.DENY
    assert checks[0] < MOST_TOGETHER


def test_each_text_is_looked_at_once_for_a_rule() -> None:
    seen: list[str] = []

    def kind(text: str) -> bool:
        seen.append(text)
        return text.startswith("a")

    apart = TextsApart(None, ())
    apart._kind = kind
    assert apart.firsts(["a1", "a2", "b1"]) == ["a1", "b1"]
    assert apart.firsts(["b2", "b1", "a2"]) == ["b2", "a2"]
    assert seen == ["a1", "a2", "b1", "b2"]


@pytest.mark.parametrize("destination", ["public", "public/"])
def test_a_rule_about_a_path_and_another_argument_holds_whatever_the_tool_calls_the_path(
    destination: str,
) -> None:
    both = about(path="^hr/", destination="^public/")
    assert denied(both, "hr", destination, *INSIDE)
    assert denied(both, "hr/pay.md", "public/n.md", "hr/pay.md", "public/n.md")
    assert not denied(both, "open", destination, "open", "open/a.md", "public/open", "public/open/a.md")


def test_a_rule_that_tells_all_texts_apart_says_nothing_of_many_paths_by_what_it_says_of_labels() -> None:
    twice = {"required": ["labels"], "not": {"properties": {"labels": {"uniqueItems": True}}}}
    rule = Rule("twice", ("files.*",), deny=True, schema=twice)
    told = [f"notes/f{number}.md" for number in range(1_500)]
    tool = replace(copying(*told), schema={"properties": {"labels": {"type": "array"}}})
    for labels, verdict in ((["a", "b"], False), (["a", "a"], True)):
        args: Json = {"source": "notes", "destination": "old", "labels": labels}
        found = decide(Policy("p", (rule,)), tool, args, "C", matches)
        assert (found.verdict is Verdict.DENY) == verdict


def declaring(roots: tuple[Root, ...], *paths: str, **more: Any) -> ToolSpec:
    targets = Targets(paths=paths, roots=roots, **more)
    recipe = Recipe(cls=CallClass.WRITE, targets=targets)
    return ToolSpec("files", "convert", "Convert", "", {}, "d", trust=Trust.BUNDLED, recipe=recipe)


def holds(rule: Rule, spec: ToolSpec, **args: Json) -> bool:
    return decide(Policy("p", (rule,)), spec, args, "C", matches).verdict is Verdict.DENY


TWO_ROOTS = (Root("shared", ("/srv/shared",)), Root("out", ("/srv/out",)))
OUTSIDE = about(source="^/srv/files/hr/", destination="^/srv/files/public/")


@pytest.mark.parametrize("source", ["hr/pay.csv", "x/../hr/pay.csv", "hr//pay.csv"])
@pytest.mark.parametrize(
    "destination", ["p.csv", "a.zip!b", "../public/p", "$X", "a%2F..%2Fx.csv", "a\\..\\x"]
)
@pytest.mark.parametrize(
    "spec",
    [declaring((), "source", "destination"), ToolSpec("files", "copy_thing", "", "", {}, "d")],
    ids=["declared", "undeclared"],
)
def test_each_of_two_paths_is_seen_in_a_form_of_its_own(
    spec: ToolSpec, source: str, destination: str
) -> None:
    there = f"/srv/files/public/{destination}"
    assert holds(OUTSIDE, spec, source=f"/srv/files/{source}", destination=there)
    assert not holds(OUTSIDE, spec, source=there, destination=f"/srv/files/{source}")


def test_one_path_is_seen_without_its_folder_beside_another_with_it() -> None:
    spec, rule = declaring(TWO_ROOTS, "source", "destination"), about(source="^hr/", destination="^out/")
    assert holds(rule, spec, source="shared/hr/notes.md", destination="out/n.html")
    assert holds(rule, spec, source="shared/x/../hr/notes.md", destination="out/b/../n.html")
    assert not holds(rule, spec, source="out/n.html", destination="shared/hr/notes.md")


def test_slashes_are_left_out_of_one_argument_alone() -> None:
    spec = ToolSpec("files", "read_page", "", "", {}, "d")
    rule = about(root={"const": "/srv/web"}, path="^hr/")
    assert holds(rule, spec, root="/srv/web", path="/hr/a.csv")
    assert not holds(rule, spec, root="/srv/web", path="/public/a.csv")


def test_what_the_content_lies_in_is_seen_beside_a_path_without_its_folder() -> None:
    rule = about(path="^reports/", table={"const": "salaries"})
    spec = declaring(TWO_ROOTS, "path", inside=("table",), found_in=("x",), resolved_in=("salaries",))
    assert holds(rule, spec, path="shared/reports/db.sqlite", changes=[])
    assert not holds(rule, spec, path="shared/public/db.sqlite", changes=[])


def test_what_a_read_says_an_argument_to_be_is_seen_beside_others_as_they_are_given() -> None:
    """GitHub answers under the old name of a repository that was renamed."""
    rule = about(owner={"const": "acme"}, repo={"const": "web"}, branch={"const": "main"})
    for told in ({"owner": "acme", "repo": "website"}, {"owner": "acme-inc", "repo": "web"}, {}):
        recipe = Recipe(cls=CallClass.WRITE, resolved_as={"branch": "main", **told})
        spec = ToolSpec("files", "merge", "", "", {}, "d", trust=Trust.REVIEWED, recipe=recipe)
        assert holds(rule, spec, owner="acme", repo="web", pull_number=7)
        assert not holds(rule, spec, owner="zenith", repo="blog", pull_number=7)


def test_more_mixtures_than_are_held_against_a_rule_count_as_holding_in_time() -> None:
    spec = ToolSpec("files", "copy_thing", "", "", {}, "d")
    kinds = [{"pattern": f"^{'x/' * n}a"} for n in range(30)]
    rules = tuple(about(source={"allOf": kinds}, destination={"allOf": kinds}, more={}) for _ in range(20))
    args = {name: "/" + "x/" * 30 + "../" * 29 + "a b%20c" for name in ("source", "destination", "more")}

    def decided() -> None:
        decide(Policy("p", rules), spec, args, "C", matches)

    assert seconds(decided, 3, LIMIT) < LIMIT


NESTED = {"root": "/srv/web", "path": "/hr/a.csv"}, {"root": "/srv//web/x/..", "path": "x/../hr/a.csv"}


@pytest.mark.parametrize("inner", NESTED)
def test_each_part_of_one_argument_is_seen_in_a_form_of_its_own(inner: Json) -> None:
    spec = ToolSpec("files", "read_page", "", "", {}, "d")
    said = about(root={"const": "/srv/web"}, path="^hr/").schema
    there = {"root": "/srv/web", "path": "/public/a.csv"}
    for rule, args, others in (
        (about(at=said), {"at": inner}, {"at": there}),
        (about(files={"contains": said}), {"files": [there, inner]}, {"files": [there, there]}),
    ):
        assert holds(rule, spec, **args)
        assert not holds(rule, spec, **others)


def test_two_paths_of_one_list_are_seen_in_forms_of_their_own() -> None:
    spec = ToolSpec("files", "merge", "", "", {}, "d")
    rule = about(paths={"allOf": [{"contains": {"pattern": "^hr/"}}, {"contains": {"pattern": "^legal/"}}]})
    for paths in (["hr/a", "legal/b"], ["/hr/a", "x/../legal/b"], ["b", "x/../hr/a", "/legal/b"]):
        assert holds(rule, spec, paths=paths), paths
    assert not holds(rule, spec, paths=["/hr/a", "x/../public/b"])


@pytest.mark.parametrize("properties", [{}, {"sheet": {"type": "array"}}, {"path": {"type": "string"}}])
def test_rules_about_two_arguments_see_a_long_list_in_time(properties: Json) -> None:
    """Each rule told 7,000 texts apart several times: 40 of them held the loop up for 1.1 s."""
    spec = ToolSpec("files", "read_page", "", "", {"properties": properties}, "d")
    rules = tuple(about(path=f"^hr{n}/", sheet={"enum": [f"Salaries{n}", f"Bonus{n}"]}) for n in range(60))
    args = {"path": "hr/notes.md", "sheet": [f"{n}" for n in range(7_000)]}
    unsure = lambda schema, value: all(one.unsure for one in problems(schema, value))  # noqa: E731
    assert seconds(lambda: decide(Policy("p", rules), spec, args, "C", unsure), 3, LIMIT) < LIMIT
