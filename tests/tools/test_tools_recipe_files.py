"""Every reviewed recipe file, against the schemas that were kept of its server, and drafts of new ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.action import Class, Json, Risk
from gate.policy import Policy, decide
from gate.tool import Hints, Recipe, ToolSpec, Trust
from tools.fitting import Shape
from tools.recipe_check import Kept, check, kept, load_kept, shapes_of, unreviewed
from tools.recipe_draft import draft
from tools.recipes import BadRecipe, RecipeFile, load_recipes, read_recipe
from tools.schema import problems

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
FILES, KEPT = load_recipes(FOLDER), load_kept(FOLDER)
NAMES = sorted(FILES)


def recipe(file: str, tool: str) -> Recipe:
    return read_recipe(FILES[file].tools[tool])


@pytest.mark.parametrize("name", NAMES)
def test_each_file_fits_its_server_and_says_all_that_people_are_told(name: str) -> None:
    assert list(check(FILES[name], KEPT[name])) == []


@pytest.mark.parametrize("name", [name for name in NAMES if not FILES[name].partial] + ["mcp-atlassian"])
def test_each_tool_of_a_server_is_reviewed(name: str) -> None:
    assert unreviewed(FILES[name], KEPT[name]) == []


def test_the_servers_that_people_use_are_covered() -> None:
    wanted = "filesystem memory git github sqlite".split()
    assert set(NAMES) == {f"server-{name}" for name in wanted} | {
        "mcp-atlassian",
        "github-mcp-server",
        "notion-mcp-server",
    }


def test_the_two_servers_of_github_agree_where_their_tools_have_one_name() -> None:
    old, new = FILES["server-github"].tools, FILES["github-mcp-server"].tools
    both = old.keys() & new.keys()
    assert {"create_pull_request", "create_or_update_file", "create_branch", "add_issue_comment"} <= both
    for tool in both:
        ours, theirs = recipe("server-github", tool), recipe("github-mcp-server", tool)
        assert (tool, ours.cls, ours.risk) == (tool, theirs.cls, theirs.risk)


# promise: VERB-08
@pytest.mark.parametrize(
    ("file", "tool", "risk"),
    [
        ("server-github", "create_pull_request", Risk.HIGH),
        ("server-github", "create_or_update_file", Risk.HIGH),
        ("server-github", "push_files", Risk.HIGH),
        ("server-github", "create_issue", Risk.HIGH),
        ("server-github", "create_branch", Risk.MEDIUM),
        ("server-github", "add_issue_comment", Risk.MEDIUM),
        ("server-github", "update_issue", Risk.MEDIUM),
        ("github-mcp-server", "issue_write", Risk.HIGH),
        ("github-mcp-server", "delete_file", Risk.HIGH),
        ("mcp-atlassian", "jira_create_issue", Risk.HIGH),
        ("mcp-atlassian", "jira_delete_issue", Risk.HIGH),
        ("mcp-atlassian", "jira_add_comment", Risk.MEDIUM),
        ("mcp-atlassian", "jira_transition_issue", Risk.MEDIUM),
    ],
)
def test_risks_are_those_of_the_spec(file: str, tool: str, risk: Risk) -> None:
    assert recipe(file, tool).risk is risk


def decided(file: str, tool: str, **args: Json) -> Class:
    spec = ToolSpec("s", tool, tool, "", {}, "d", trust=Trust.REVIEWED, recipe=recipe(file, tool))
    policy = Policy("p")
    return decide(policy, spec, args, "C1", lambda schema, value: not problems(schema, value)).cls


@pytest.mark.parametrize(
    ("file", "tool", "args", "cls"),
    [
        ("server-github", "create_or_update_file", {"path": "a.md"}, Class.WRITE),
        ("server-github", "create_or_update_file", {"path": ".github/workflows/x.yml"}, Class.DESTRUCTIVE),
        ("server-github", "create_pull_request_review", {"event": "COMMENT"}, Class.WRITE),
        ("server-github", "create_pull_request_review", {"event": "APPROVE"}, Class.DESTRUCTIVE),
        ("github-mcp-server", "pull_request_review_write", {"method": "delete_pending"}, Class.DESTRUCTIVE),
        ("github-mcp-server", "create_or_update_file", {"allow_symlink_write": True}, Class.DESTRUCTIVE),
        ("mcp-atlassian", "jira_add_comment", {"body": "x"}, Class.WRITE),
        ("mcp-atlassian", "jira_add_comment", {"public": True}, Class.DESTRUCTIVE),
        ("mcp-atlassian", "jira_download_attachments", {}, Class.WRITE),
        ("server-sqlite", "write_query", {"query": "INSERT INTO a VALUES (1)"}, Class.WRITE),
        ("server-sqlite", "write_query", {"query": "delete from a"}, Class.DESTRUCTIVE),
        ("server-sqlite", "write_query", {"query": "UPDATE a SET b = 1"}, Class.DESTRUCTIVE),
        ("server-sqlite", "write_query", {"query": "ATTACH 'x' AS y"}, Class.DESTRUCTIVE),
        ("server-sqlite", "describe_table", {"table_name": "people"}, Class.READ),
        ("server-sqlite", "describe_table", {"table_name": "a); SELECT 1 --"}, Class.UNKNOWN),
        ("notion-mcp-server", "API-post-search", {"query": "x"}, Class.READ),
        ("notion-mcp-server", "API-patch-page", {"properties": {}}, Class.WRITE),
        ("notion-mcp-server", "API-patch-page", {"in_trash": True}, Class.DESTRUCTIVE),
        ("notion-mcp-server", "API-update-page-markdown", {"type": "insert_content"}, Class.WRITE),
        ("notion-mcp-server", "API-update-page-markdown", {"type": "replace_content"}, Class.DESTRUCTIVE),
    ],
)
def test_what_the_arguments_make_of_a_tool(file: str, tool: str, args: dict[str, Any], cls: Class) -> None:
    assert decided(file, tool, **args) is cls


TOOL = {"class": "write", "risk": "low", "summary": "Do it", "verb": "Do", "noun": "it"}
WHOLE = {**TOOL, "recoverable": "yes", "notifies": "nobody"}
TAKES = Shape({"properties": {"a": {}}, "required": ["a"]}, None)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (RecipeFile("s", {"do": {**TOOL, "recoverable": "yes"}}), "do: `notifies` is not said."),
        (RecipeFile("s", {"do": WHOLE, "gone": WHOLE}), "gone: the server has no such tool."),
        (RecipeFile("t", {"do": WHOLE}), "It is for t, but S 1 calls itself s."),
        (RecipeFile("s", {"do": WHOLE}, draft=True), "It is a draft and not used"),
        (RecipeFile("s", {"do": {**WHOLE, "notifies": "REVIEW: who?"}}), "do: a word REVIEW is left"),
        (RecipeFile("s", {"do": {**WHOLE, "summary": "{args.b}"}}), "do: `summary` names {args.b}"),
        (RecipeFile("s", {"do": {**WHOLE, "class": "wirte"}}), "do: `class` must be one of"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_in_a_sentence(file: RecipeFile, said: str) -> None:
    (told,) = check(file, Kept("S 1", "s", {"do": TAKES}))
    assert told.startswith(said)


def test_a_server_that_may_lack_tools_is_not_blamed_for_it() -> None:
    assert list(check(RecipeFile("s", {"gone": WHOLE}, partial=True), Kept("S 1", "s", {}))) == []


def test_schemas_come_back_as_they_were_kept(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    text = kept("S 1", "s", {"do": TAKES, "see": Shape(TAKES.takes, TAKES.takes)})
    (tmp_path / "schemas" / "s.json").write_text(text)
    found = load_kept(tmp_path)["s"]
    assert (found.source, found.server, found.shapes["do"].gives) == ("S 1", "s", None)
    assert found.shapes["see"].gives == {"properties": {"a": {}}, "required": ["a"]}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": "a", "server": "b", "tools": {"c": {}}}'])
def test_a_schema_file_that_is_none_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "s.json").write_text(text)
    with pytest.raises(BadRecipe, match=r"s\.json does not hold what"):
        load_kept(tmp_path)


def tool(name: str, description: str = "", **hints: bool | None) -> ToolSpec:
    schema = {"properties": {"key": {"type": "string"}, "more": {}}, "required": ["key"]}
    return ToolSpec("s", name, name, description, schema, "d", hints=Hints(**hints))


CLAIMS = {
    "get_note": Hints(read_only=True),
    "wipe_note": Hints(read_only=True),
    "update_note": Hints(False, False),
    "change_note": Hints(False),
    "make_note": Hints(),
    "break_note": Hints(None, True),
}


def test_a_draft_errs_to_the_safe_side_and_is_not_ready() -> None:
    specs = {name: replace(tool(name), hints=hints) for name, hints in CLAIMS.items()}
    drafted = yaml.safe_load(draft("s", specs))
    file = RecipeFile(drafted["server"], drafted["tools"], draft=drafted["draft"])
    classes = {name: read_recipe(data).cls for name, data in file.tools.items()}
    assert classes == {
        "get_note": Class.UNKNOWN,
        "wipe_note": Class.DESTRUCTIVE,
        "update_note": Class.UNKNOWN,
        "change_note": Class.DESTRUCTIVE,
        "make_note": Class.UNKNOWN,
        "break_note": Class.DESTRUCTIVE,
    }
    told = list(check(file, Kept("S 1", "s", shapes_of(specs))))
    assert len(told) == 1 + len(specs)  # it is a draft, and each tool is to be decided on
    assert all("draft" in one or "REVIEW" in one for one in told)


def test_a_draft_names_the_read_that_could_show_what_is_there() -> None:
    specs = {name: tool(name) for name in ("get_note", "update_note", "get_weather")}
    lines = draft("s", specs).splitlines()
    assert [line.strip() for line in lines if "capture" in line] == [
        '# capture: {before: {tool: "get_note", args: {"key": "{args.key}"}}}'
    ]


@pytest.mark.parametrize(
    "text", ["a\n  evil:\n    class: read", "\u202e", "# x", "{args.key}", "'\"", "\x00"]
)
def test_what_a_server_says_cannot_break_out_of_its_draft(text: str) -> None:
    specs = {"get_note": tool("get_note", text)}
    found = draft(text, specs)
    drafted = yaml.safe_load(found)
    assert (drafted["server"], list(drafted["tools"])) == (text, ["get_note"])
    assert found.isascii()
