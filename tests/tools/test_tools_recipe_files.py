"""The reviewed recipe files against the recorded schemas of their servers, and drafts of new files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gate.arguments.declared_targets import with_resolved_paths
from gate.rules.action import CallClass, Json, Risk, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.git_status import staged_files, to_be_committed
from gate.rules.policy import Policy, Rule, decide
from gate.rules.result_targets import found_files
from gate.rules.tool import Hints, Recipe, ToolSpec, Trust
from tools.mcp.schema import problems
from tools.recipes.check import (
    RecordedSchemas,
    check,
    draft,
    load_recorded_schemas,
    schema_file_text,
    schemas_of,
    unreviewed,
)
from tools.recipes.reader import RecipeFile, load_recipes, read_recipe
from tools.recipes.validation import ToolSchemas
from tools.strict_config import ConfigError

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
FILES, RECORDED = load_recipes(FOLDER), load_recorded_schemas(FOLDER)
NAMES = sorted(FILES)


def recipe(file: str, tool: str) -> Recipe:
    return FILES[file].recipe(tool)


@pytest.mark.parametrize("name", NAMES)
def test_each_file_matches_its_server_and_has_all_required_keys(name: str) -> None:
    assert list(check(FILES[name], RECORDED[name])) == []


@pytest.mark.parametrize("name", [name for name in NAMES if not FILES[name].partial] + ["mcp-atlassian"])
def test_each_tool_of_a_server_is_reviewed(name: str) -> None:
    assert unreviewed(FILES[name], RECORDED[name]) == []


def test_the_common_servers_have_recipes() -> None:
    wanted = "filesystem memory git github sqlite".split()
    assert set(NAMES) == {f"server-{name}" for name in wanted} | {
        "mcp-atlassian",
        "github-mcp-server",
        "notion-mcp-server",
    }


def test_the_two_github_servers_have_equal_recipes_for_equal_tool_names() -> None:
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


def keeps(schema: Mapping[str, Json], value: Json) -> bool:
    return not problems(schema, value)


def decided(file: str, tool: str, **args: Json) -> CallClass:
    spec = ToolSpec(
        "s", tool, tool, "", {}, "d", trust=Trust.REVIEWED, reviewed=True, recipe=recipe(file, tool)
    )
    policy = Policy("p")
    return decide(policy, spec, args, "C1", keeps).cls


@pytest.mark.parametrize(
    ("file", "tool", "args", "cls"),
    [
        ("server-github", "create_or_update_file", {"path": "a.md"}, CallClass.WRITE),
        (
            "server-github",
            "create_or_update_file",
            {"path": ".github/workflows/x.yml"},
            CallClass.DESTRUCTIVE,
        ),
        ("server-github", "create_pull_request_review", {"event": "COMMENT"}, CallClass.WRITE),
        ("server-github", "create_pull_request_review", {"event": "APPROVE"}, CallClass.DESTRUCTIVE),
        (
            "github-mcp-server",
            "pull_request_review_write",
            {"method": "delete_pending"},
            CallClass.DESTRUCTIVE,
        ),
        ("github-mcp-server", "create_or_update_file", {"allow_symlink_write": True}, CallClass.DESTRUCTIVE),
        ("mcp-atlassian", "jira_add_comment", {"body": "x"}, CallClass.WRITE),
        ("mcp-atlassian", "jira_add_comment", {"public": True}, CallClass.DESTRUCTIVE),
        ("mcp-atlassian", "jira_download_attachments", {}, CallClass.WRITE),
        ("server-sqlite", "write_query", {"query": "INSERT INTO a VALUES (1)"}, CallClass.WRITE),
        ("server-sqlite", "write_query", {"query": "delete from a"}, CallClass.DESTRUCTIVE),
        ("server-sqlite", "write_query", {"query": "INSERT INTO a(b) SELECT c FROM d"}, CallClass.WRITE),
        (
            "server-sqlite",
            "write_query",
            {"query": "INSERT INTO f(f) SELECT c FROM d"},
            CallClass.DESTRUCTIVE,
        ),
        ("server-sqlite", "write_query", {"query": "UPDATE a SET b = 1"}, CallClass.DESTRUCTIVE),
        ("server-sqlite", "write_query", {"query": "ATTACH 'x' AS y"}, CallClass.DESTRUCTIVE),
        ("server-sqlite", "describe_table", {"table_name": "people"}, CallClass.READ),
        ("server-sqlite", "describe_table", {"table_name": "a); SELECT 1 --"}, CallClass.UNKNOWN),
        ("notion-mcp-server", "API-post-search", {"query": "x"}, CallClass.READ),
        ("notion-mcp-server", "API-patch-page", {"properties": {}}, CallClass.WRITE),
        ("notion-mcp-server", "API-patch-page", {"in_trash": True}, CallClass.DESTRUCTIVE),
        ("notion-mcp-server", "API-update-page-markdown", {"type": "insert_content"}, CallClass.WRITE),
        ("notion-mcp-server", "API-update-page-markdown", {"type": "replace_content"}, CallClass.DESTRUCTIVE),
    ],
)
def test_the_arguments_decide_the_class_of_a_call(
    file: str, tool: str, args: dict[str, Any], cls: CallClass
) -> None:
    assert decided(file, tool, **args) is cls


@pytest.mark.parametrize(
    "entry",
    ":(top).env|:(top,icase)x|:!x|:^x|:/|:/conf/prod.yaml|:|-A|--all|-u|*|a/*.md|?env|.e\\nv|./:(top)x|./-A|"
    "lega[l]/a.md|[l]egal/a.md|le[g]al|a/b[!x]|x[[:lower:]]y|[[:alpha:]]|[^a]|a/[-a]|[lL]egal/[a].md".split(
        "|"
    ),
)
def test_git_is_given_no_pathspec_by_one_click_whose_words_do_not_name_the_files(entry: str) -> None:
    for files in ([entry], ["a.md", entry]):
        assert decided("server-git", "git_add", repo_path="/r", files=files) is CallClass.DESTRUCTIVE


STAGED = (
    "Staged changes:\ndiff --git a/{0} b/{0}\nnew file mode 100644\n+++ b/{0}\n@@ -0,0 +1 @@\n+TOKEN=hush\n"
)


@pytest.mark.parametrize(("path", "secret"), [(".env", True), ("deploy/id_rsa", True), ("notes.md", False)])
def test_a_secret_file_that_is_staged_is_typed_for_and_its_content_is_given_by_no_read(
    path: str, secret: bool
) -> None:
    told = STAGED.format(path)
    for name, plain in (("git_commit", CallClass.WRITE), ("git_reset", CallClass.DESTRUCTIVE)):
        known = recipe("server-git", name)
        capture = {"staged": {"text": told, "error": False}, "status": {"text": "On branch main\n"}}
        targets = with_resolved_paths(known.targets, {}, capture)
        spec = ToolSpec(
            "s",
            name,
            name,
            "",
            {},
            "d",
            trust=Trust.REVIEWED,
            reviewed=True,
            recipe=replace(known, targets=targets),
        )
        found = decide(Policy("p", rules=ALWAYS), spec, {"repo_path": "/r", "message": "m"}, "C", keeps)
        assert found.secret is secret
        assert found.cls is (CallClass.DESTRUCTIVE if secret else plain)
    commit = f"commit {'0' * 40}\nAuthor: Ann <a@b>\nDate:   2026-10-19\n\n"
    for name in ("git_diff_staged", "git_diff_unstaged", "git_diff", "git_show"):
        targets = recipe("server-git", name).targets
        assert targets
        assert found_files(targets, {}, None, commit + told if name == "git_show" else told) == (path,)


STATUS = """Repository status:
On branch main
Changes to be committed:
  (use "git restore --staged <file>..." to unstage)
\tnew file:   a b.md
\tmodified:   vendor/lib
\trenamed:    old.md -> "hr/\\303\\244.md"

Changes not staged for commit:
\tmodified:   other.md
"""


def test_what_a_difference_leaves_out_of_what_is_staged_is_known_by_the_status() -> None:
    assert staged_files(STATUS) == (
        "a b.md",
        "vendor/lib",
        'old.md -> "hr/\\303\\244.md"',
        "old.md",
        "hr/ä.md",
    )
    assert "other.md" not in to_be_committed(STATUS)
    assert to_be_committed("Repository status:\nOn branch main\nnothing to commit\n") == ""
    for name in ("git_commit", "git_reset"):
        capture = {"staged": {"text": "Staged changes:\n"}, "status": {"text": STATUS}}
        targets = with_resolved_paths(recipe("server-git", name).targets, {"repo_path": "/r"}, capture)
        assert targets
        assert "r/vendor/lib" in targets.resolved_to or "vendor/lib" in targets.resolved_to


@pytest.mark.parametrize(
    "entry", "./|.|src|src/|a.md|app/[id]/page.tsx|[id].ts|[...a]/[[...b]]|a-b.md|a b.md".split("|")
)
def test_files_folders_and_the_whole_tree_are_staged_by_one_click(entry: str) -> None:
    assert decided("server-git", "git_add", repo_path="/r", files=[entry]) is CallClass.WRITE
    assert "{capture.before.text}" in recipe("server-git", "git_add").show.after


@pytest.mark.parametrize(
    ("name", "cls"), [("main", CallClass.WRITE), (".", CallClass.DESTRUCTIVE), ("--", CallClass.DESTRUCTIVE)]
)
def test_what_is_no_branch_is_not_switched_to_by_one_click(name: str, cls: CallClass) -> None:
    assert decided("server-git", "git_checkout", repo_path="/r", branch_name=name) is cls


ELSEWHERE = ["../srv/prod", "~/../srv/prod", "~root/prod", "./srv/prod", ".", "", "srv/prod", "C:/srv/prod"]


@pytest.mark.parametrize(
    "path",
    [
        *ELSEWHERE,
        "$HOME/../srv/prod",
        "/srv/${EMPTY}prod",
        "/srv/$X/prod",
        "/%X%",
        "/srv/../proc/self/root/srv/web",
        "/./proc/self/root/srv/web",
        f"{'/' * 30}proc/self/root/srv/web",
    ],
)
def test_git_is_given_a_repository_by_a_phrase_where_its_path_leads_elsewhere(path: str) -> None:
    others: dict[str, Json] = {"files": ["a.md"], "branch_name": "b"}
    for name in RECORDED["server-git"].schemas:
        assert decided("server-git", name, repo_path=path, **others) is CallClass.DESTRUCTIVE
    assert decided("server-git", "git_commit", repo_path=path, message="m") is CallClass.DESTRUCTIVE


@pytest.mark.parametrize("path", ["/srv/prod", "/srv/My Repo", "/srv/a~b", "/srv/.config", "/srv/a (1)", "/"])
def test_git_is_given_a_repository_at_an_absolute_path_as_usual(path: str) -> None:
    assert decided("server-git", "git_status", repo_path=path) is CallClass.READ
    assert decided("server-git", "git_commit", repo_path=path, message="m") is CallClass.WRITE


@pytest.mark.parametrize("path", ELSEWHERE)
def test_a_file_is_named_from_the_root_of_the_disk_or_takes_a_phrase(path: str) -> None:
    for name, known in RECORDED["server-filesystem"].schemas.items():
        for argument in known.input_schema["properties"].keys() & {"path", "paths", "source", "destination"}:
            given: dict[str, Json] = {"path": "/a", "source": "/a", "destination": "/b"}
            given[argument] = ["/a", path] if argument == "paths" else path
            assert decided("server-filesystem", name, **given) is CallClass.DESTRUCTIVE


@pytest.mark.parametrize(
    "path",
    [
        "/srv/docs/a.md",
        "/srv/a, b",
        "/srv/Report: final.md",
        "/srv/My Docs/a (1).md",
        "/srv/a~b",
        "/srv/.config",
        "/",
    ],
)
def test_a_file_at_an_absolute_path_is_read_at_once(path: str) -> None:
    assert decided("server-filesystem", "read_text_file", path=path) is CallClass.READ
    assert decided("server-filesystem", "read_multiple_files", paths=[path, "/srv/x"]) is CallClass.READ


@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
@pytest.mark.parametrize("before", ["/", "//", "./", "/./", "\\", ".\\", " /", "x/../", "/x/../"])
def test_a_workflow_of_github_is_typed_for_whatever_slashes_stand_before_it(file: str, before: str) -> None:
    for path in (".github/workflows/x.yml", ".github\\workflows\\x.yml", ".GitHub/Actions/x/action.yml"):
        assert decided(file, "create_or_update_file", path=before + path) is CallClass.DESTRUCTIVE
    for path in ("docs/.github.md", "docs/workflows/x.md", "github/workflows.md"):
        usual = CallClass.DESTRUCTIVE if ".." in before else CallClass.WRITE
        assert decided(file, "create_or_update_file", path=before + path) is usual


TOOL = {"class": "write", "risk": "low", "summary": "Do it", "verb": "Do", "noun": "it"}
COMPLETE = {**TOOL, "recoverable": "yes", "notifies": "nobody"}
WHEN = [{"class": "destructive", "when": "{capture.a.text}"}]
REPORTED = {"branch": "{capture.a.text}"}
SCHEMAS = ToolSchemas({"properties": {"a": {}}, "required": ["a"]}, None)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (RecipeFile("s", {"do": {**TOOL, "recoverable": "yes"}}), "do: `notifies` is not said."),
        (RecipeFile("s", {"do": COMPLETE, "gone": COMPLETE}), "gone: the server has no such tool."),
        (RecipeFile("t", {"do": COMPLETE}), "It is for t, but S 1 calls itself s."),
        (RecipeFile("s", {"do": COMPLETE}, draft=True), "It is a draft and not used"),
        (RecipeFile("s", {"do": {**COMPLETE, "notifies": "REVIEW: who?"}}), "do: a word REVIEW is left"),
        (RecipeFile("s", {"do": {**COMPLETE, "summary": "{args.b}"}}), "do: `summary` names {args.b}"),
        (RecipeFile("s", {"do": {**COMPLETE, "raise_if": WHEN}}), "do: `raise_if[0]` names {capture.a.text}"),
        (RecipeFile("s", {"do": {**COMPLETE, "reported_as": REPORTED}}), "do: `reported_as.branch` names"),
        (RecipeFile("s", {"do": {**COMPLETE, "class": "wirte"}}), "do: “class” must be one of"),
    ],
)
def test_a_problem_of_a_recipe_file_is_a_sentence(file: RecipeFile, expected: str) -> None:
    (problems,) = check(file, RecordedSchemas("S 1", "s", {"do": SCHEMAS}))
    assert problems.startswith(expected)


NAMES_IN_AN_ADDRESS: list[dict[str, Json]] = [
    {"repo": "r/contents/.env?x="},
    {"repo": "r/contents/.github/workflows/ci.yml?"},
    {"repo": "r#"},
    {"repo": ".."},
    {"repo": "."},
    {"repo": "r%2fcontents%2f.env"},
    {"repo": "r\\contents"},
    {"owner": "o/x"},
    {"owner": "o\tp"},
    {"branch": "main/../../contents"},
    {"branch": "main#"},
    {"branch": "main?x"},
    {"branch": "ma\nin"},
    {"path": "../collaborators/mallory"},
    {"path": "a/.%2e/x"},
    {"path": ".e\tnv"},
    {"path": ".git\thub/workflows/ci.yml"},
]


@pytest.mark.parametrize("given", NAMES_IN_AN_ADDRESS)
@pytest.mark.parametrize(
    "tool", ["get_file_contents", "create_or_update_file", "create_branch", "list_commits"]
)
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_a_name_that_leads_elsewhere_in_an_address_of_github_takes_a_typed_phrase(
    file: str, tool: str, given: dict[str, Json]
) -> None:
    args: dict[str, Json] = {"owner": "o", "repo": "r", "branch": "main", "path": "README.md", **given}
    assert decided(file, tool, **args) is CallClass.DESTRUCTIVE


@pytest.mark.parametrize("tool", ["create_pull_request_review", "submit_pending_pull_request_review"])
def test_an_approval_takes_a_typed_phrase_by_the_granular_tools_of_github_as_well(tool: str) -> None:
    """The file names them not; their hints say that they destroy nothing."""
    hints, said = Hints(read_only=False, destructive=False), FILES["github-mcp-server"].with_its_own(Recipe())
    spec = ToolSpec(
        "s", tool, tool, "", {}, "d", trust=Trust.REVIEWED, reviewed=True, recipe=said, hints=hints
    )
    for event, cls in (("APPROVE", CallClass.DESTRUCTIVE), ("COMMENT", CallClass.WRITE)):
        found = decide(
            Policy("p"), spec, {"event": event}, "C1", lambda schema, value: not problems(schema, value)
        )
        assert found.cls is cls


@pytest.mark.parametrize(
    "organization", ["acme/../../repos/acme/app/actions/runs/1/rerun?", "acme&name=x", ".."]
)
@pytest.mark.parametrize("tool", ["fork_repository", "create_repository"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_an_organization_that_leads_elsewhere_at_github_takes_a_typed_phrase(
    file: str, tool: str, organization: str
) -> None:
    """GitHub's own server asks for `orgs/{organization}/repos`, with dot segments resolved."""
    usual: dict[str, Json] = {"owner": "o", "repo": "r", "name": "r"}
    assert decided(file, tool, **usual, organization=organization) is CallClass.DESTRUCTIVE
    assert decided(file, tool, **usual, organization="acme-2") is CallClass.WRITE


@pytest.mark.parametrize("path", ["CODEOWNERS?/docs/a.md", "CODEOWNERS#/docs/a.md", "a.md?", "%52EADME.md"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_a_path_that_names_another_file_at_github_than_it_shows_takes_a_typed_phrase(
    file: str, path: str
) -> None:
    """Both write to an address that ends at these signs or is decoded, and the card names the path as it is given."""
    usual: dict[str, Json] = {"owner": "o", "repo": "r", "branch": "main"}
    assert decided(file, "create_or_update_file", **usual, path=path) is CallClass.DESTRUCTIVE
    assert decided(file, "get_file_contents", **usual, path=path) is CallClass.READ


@pytest.mark.parametrize(
    "sprint", ["../../../api/3/project/OPS/delete?", "7/../8", "7?", "7#", "%2e%2e", "..", "7\\8"]
)
def test_an_id_that_leads_elsewhere_in_an_address_of_jira_takes_a_typed_phrase(sprint: str) -> None:
    """What is in front of `/issue` is a part of the address as it is: one click deleted the project OPS."""
    keys: Json = "PROJ-1,PROJ-2"
    assert (
        decided("mcp-atlassian", "jira_add_issues_to_sprint", sprint_id=sprint, issue_keys=keys)
        is CallClass.DESTRUCTIVE
    )
    assert decided("mcp-atlassian", "jira_get_sprint_issues", sprint_id=sprint) is CallClass.DESTRUCTIVE
    assert (
        decided("mcp-atlassian", "jira_get_proforma_form_details", issue_key="PROJ-1", form_id=sprint)
        is CallClass.DESTRUCTIVE
    )


@pytest.mark.parametrize("page", ["..", "../databases/8", "8?archived=true"])
def test_an_id_that_leads_elsewhere_in_an_address_of_notion_takes_a_typed_phrase(page: str) -> None:
    usual = "1946b8b7-8f03-4dc0-ac2d-5fac0d960c6a"
    for tool, cls in (("API-patch-page", CallClass.WRITE), ("API-retrieve-a-page", CallClass.READ)):
        assert decided("notion-mcp-server", tool, page_id=page) is CallClass.DESTRUCTIVE
        assert decided("notion-mcp-server", tool, page_id=usual) is cls


def test_usual_ids_at_jira_are_no_worse_for_it() -> None:
    keys: Json = "PROJ-1,PROJ-2"
    form = "1946b8b7-8f03-4dc0-ac2d-5fac0d960c6a"
    assert (
        decided("mcp-atlassian", "jira_add_issues_to_sprint", sprint_id="10001", issue_keys=keys)
        is CallClass.WRITE
    )
    assert (
        decided("mcp-atlassian", "jira_get_proforma_form_details", issue_key="PROJ-1", form_id=form)
        is CallClass.READ
    )
    assert (
        decided("mcp-atlassian", "jira_get_field_options", field_id="customfield_10001", project_key=None)
        is CallClass.READ
    )


@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_usual_names_at_github_are_no_worse_for_it(file: str) -> None:
    usual: dict[str, Json] = {
        "owner": "acme-2",
        "repo": ".github",
        "branch": "feat/a.b-1@x",
        "path": "a b/ç&=+d.md",
    }
    assert decided(file, "get_file_contents", **usual) is CallClass.READ
    assert decided(file, "create_or_update_file", **usual) is CallClass.WRITE


def test_a_partial_file_may_name_tools_that_the_server_lacks() -> None:
    assert (
        list(check(RecipeFile("s", {"gone": COMPLETE}, partial=True), RecordedSchemas("S 1", "s", {}))) == []
    )


def test_recorded_schemas_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    text = schema_file_text(
        "S 1", "s", {"do": SCHEMAS, "see": ToolSchemas(SCHEMAS.input_schema, SCHEMAS.input_schema)}
    )
    (tmp_path / "schemas" / "s.json").write_text(text)
    recorded = load_recorded_schemas(tmp_path)["s"]
    assert (recorded.source, recorded.server, recorded.schemas["do"].output_schema) == ("S 1", "s", None)
    assert recorded.schemas["see"].output_schema == {"properties": {"a": {}}, "required": ["a"]}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"source": "a", "server": "b", "tools": {"c": {}}}'])
def test_an_invalid_schema_file_is_reported(text: str, tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "s.json").write_text(text)
    with pytest.raises(ConfigError, match=r"s\.json does not hold what"):
        load_recorded_schemas(tmp_path)


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


def test_a_draft_has_safe_classes_and_is_not_accepted() -> None:
    specs = {name: replace(tool(name), hints=hints) for name, hints in CLAIMS.items()}
    drafted = yaml.safe_load(draft("s", specs))
    file = RecipeFile(drafted["server"], drafted["tools"], draft=drafted["draft"])
    classes = {name: read_recipe(data).cls for name, data in file.tools.items()}
    assert classes == {
        "get_note": CallClass.UNKNOWN,
        "wipe_note": CallClass.DESTRUCTIVE,
        "update_note": CallClass.UNKNOWN,
        "change_note": CallClass.DESTRUCTIVE,
        "make_note": CallClass.UNKNOWN,
        "break_note": CallClass.DESTRUCTIVE,
    }
    problems = list(check(file, RecordedSchemas("S 1", "s", schemas_of(specs))))
    assert len(problems) == 1 + len(specs)  # it is a draft, and each tool is to be decided on
    assert all("draft" in one or "REVIEW" in one for one in problems)


def test_a_draft_suggests_the_read_for_a_preview() -> None:
    specs = {name: tool(name) for name in ("get_note", "update_note", "get_weather")}
    lines = draft("s", specs).splitlines()
    assert [line.strip() for line in lines if "capture" in line] == [
        '# capture: {before: {tool: "get_note", args: {"key": "{args.key}"}}}'
    ]


@pytest.mark.parametrize(
    "text", ["a\n  evil:\n    class: read", "\u202e", "# x", "{args.key}", "'\"", "\x00"]
)
def test_the_text_of_a_server_cannot_break_the_yaml_of_its_draft(text: str) -> None:
    specs = {"get_note": tool("get_note", text)}
    recorded = draft(text, specs)
    drafted = yaml.safe_load(recorded)
    assert (drafted["server"], list(drafted["tools"])) == (text, ["get_note"])
    assert recorded.isascii()


def judged(file: str, tool: str, args: Json, *rules: Rule) -> Verdict:
    """With the arguments that the schema of the tool names."""
    schema = RECORDED[file].schemas[tool].input_schema
    spec = ToolSpec(
        "s", tool, tool, "", schema, "d", trust=Trust.REVIEWED, reviewed=True, recipe=recipe(file, tool)
    )
    policy = Policy("p", rules)
    return decide(policy, spec, args, "C1", keeps).verdict


UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"


@pytest.mark.parametrize(
    ("tool", "args", "verdict"),
    [
        ("API-update-a-block", {"block_id": "b", "type": {}}, Verdict.CONFIRM),
        ("API-update-a-block", {"block_id": "b", "in_trash": True}, Verdict.TYPED),
        ("API-update-a-data-source", {"data_source_id": "d", "properties": {"a": {}}}, Verdict.CONFIRM),
        ("API-update-a-data-source", {"data_source_id": "d", "properties": {"a": None}}, Verdict.TYPED),
        ("API-update-a-data-source", {"data_source_id": "d", "properties": '{"a": null}'}, Verdict.TYPED),
        ("API-update-a-data-source", {"data_source_id": "d", "in_trash": True}, Verdict.TYPED),
        ("API-patch-page", {"page_id": "p", "icon": {}}, Verdict.CONFIRM),
        ("API-patch-page", {"page_id": "p", "erase_content": True}, Verdict.TYPED),
        ("API-retrieve-a-page", {"page_id": "p"}, Verdict.RUN),
        ("API-retrieve-a-page", {"page_id": "p", "in_trash": True}, Verdict.TYPED),
        ("API-update-page-markdown", {"type": "update_content", "update_content": {}}, Verdict.CONFIRM),
        (
            "API-update-page-markdown",
            {"type": "update_content", "update_content": {"allow_deleting_content": True}},
            Verdict.TYPED,
        ),
    ],
)
def test_an_argument_that_throws_away_takes_a_phrase_whether_or_not_the_schema_names_it(
    tool: str, args: Json, verdict: Verdict
) -> None:
    assert judged("notion-mcp-server", tool, args) is verdict


def test_fields_that_are_written_over_those_of_a_new_issue_take_a_phrase() -> None:
    issue: dict[str, Json] = {"project_key": "PROJ", "summary": "Fix a typo", "issue_type": "Task"}
    for more in ({}, {"additional_fields": "{}"}, {"additional_fields": {}}, {"additional_fields": None}):
        assert judged("mcp-atlassian", "jira_create_issue", {**issue, **more}) is Verdict.CONFIRM
    for fields in ({"Project": {"key": "PAY"}}, {"reporter": "x"}, {"priority": {"name": "High"}}):
        for given in (fields, json.dumps(fields)):
            more = {"additional_fields": given}
            assert judged("mcp-atlassian", "jira_create_issue", {**issue, **more}) is Verdict.TYPED
    for batch, verdict in (([issue], Verdict.CONFIRM), ([issue, {**issue, "project": {}}], Verdict.TYPED)):
        for given in (batch, json.dumps(batch)):
            assert judged("mcp-atlassian", "jira_batch_create_issues", {"issues": given}) is verdict


@pytest.mark.parametrize(
    ("tool", "more"),
    [("jira_create_issue_link", {"comment": "x"}), ("jira_add_worklog", {"original_estimate": "4w"})],
)
def test_what_a_call_of_jira_changes_beside_what_its_card_says_takes_a_phrase(
    tool: str, more: dict[str, Json]
) -> None:
    name = "outward_issue_key" if "link" in tool else "issue_key"
    assert judged("mcp-atlassian", tool, {name: "A-1"}) is Verdict.CONFIRM
    assert judged("mcp-atlassian", tool, {name: "A-1", **more}) is Verdict.TYPED


def test_a_transition_that_changes_fields_or_tells_customers_something_takes_a_phrase() -> None:
    args = {"issue_key": "A-1", "transition_id": "3"}
    for more in ({}, {"fields": {}}, {"fields": None, "comment": ""}):
        assert judged("mcp-atlassian", "jira_transition_issue", {**args, **more}) is Verdict.CONFIRM
    for more in ({"fields": {"description": "x"}}, {"fields": '{"a": 1}'}, {"comment": "x"}):
        assert judged("mcp-atlassian", "jira_transition_issue", {**args, **more}) is Verdict.TYPED


def rule(**properties: Json) -> Rule:
    return Rule("r", ("*",), deny=True, schema={"required": [*properties], "properties": properties})


@pytest.mark.parametrize("file", ["github-mcp-server", "server-github"])
@pytest.mark.parametrize("said", ["acme", "Acme", "ACME", " Acme"])
@pytest.mark.parametrize(
    "of",
    [
        rule(owner={"const": "acme"}),
        rule(owner={"enum": ["Acme", 1]}),
        Rule("t", ("*",), deny=True, texts=("^acme$",)),
    ],
)
def test_a_rule_on_a_repository_holds_in_whatever_case_a_call_names_it(
    file: str, said: str, of: Rule
) -> None:
    args = {"owner": said, "repo": "a", "path": "b", "branch": "c"}
    assert judged(file, "get_file_contents", args, of) is Verdict.DENY
    assert judged(file, "create_or_update_file", args, of) is Verdict.DENY
    assert judged(file, "get_file_contents", {**args, "owner": "acme2"}, of) is not Verdict.DENY


@pytest.mark.parametrize("said", [UUID, UUID.replace("-", ""), UUID.upper(), UUID.replace("-", "").upper()])
@pytest.mark.parametrize("wanted", [UUID, UUID.replace("-", ""), UUID.upper()])
def test_a_rule_on_a_page_of_notion_holds_with_and_without_dashes(said: str, wanted: str) -> None:
    page, parent = (
        rule(page_id={"const": wanted}),
        rule(parent={"properties": {"page_id": {"const": wanted}}}),
    )
    text = Rule("t", ("*",), deny=True, texts=(wanted.lower(),))
    for of in (page, text):
        assert judged("notion-mcp-server", "API-retrieve-a-page", {"page_id": said}, of) is Verdict.DENY
    for of in (parent, text):
        assert judged("notion-mcp-server", "API-post-page", {"parent": {"page_id": said}}, of) is Verdict.DENY


@pytest.mark.parametrize("said", ["PAY-1", "pay-1", "Pay-1"])
@pytest.mark.parametrize(
    "of",
    [
        rule(issue_key={"pattern": "^PAY-"}),
        rule(issue_key={"pattern": "(?i)^pay-"}),
        Rule("t", ("*",), deny=True, texts=("^PAY-",)),
        Rule("t", ("*",), deny=True, texts=("^pay-", "1$")),
    ],
)
def test_a_rule_on_a_project_of_jira_holds_in_whatever_case_a_call_names_it(said: str, of: Rule) -> None:
    assert judged("mcp-atlassian", "jira_get_issue", {"issue_key": said}, of) is Verdict.DENY
    assert judged("mcp-atlassian", "jira_get_issue", {"issue_key": "WEB-1"}, of) is Verdict.RUN


def test_a_rule_on_a_page_holds_where_it_is_named_in_json_or_deep_inside() -> None:
    bare = UUID.replace("-", "")
    parent = rule(parent={"type": "object", "properties": {"page_id": {"const": UUID}}})
    text = Rule("t", ("*",), deny=True, texts=(UUID,))
    for of in (parent, text):
        given = {"parent": f'{{"page_id": "{bare}"}}'}
        assert judged("notion-mcp-server", "API-post-page", given, of) is Verdict.DENY
    deep = {"page_id": "x", "properties": {"a": {"relation": [{"id": bare.upper()}]}}}
    assert judged("notion-mcp-server", "API-patch-page", deep, text) is Verdict.DENY


@pytest.mark.parametrize(
    ("file", "tool", "wanted", "own", "other"),
    [
        ("server-github", "get_file_contents", {"owner": {"const": "Acme"}}, "Acme", "evil"),
        ("server-github", "get_file_contents", {"owner": {"enum": ["Acme", "Docs"]}}, "acme", "evil"),
        ("mcp-atlassian", "jira_get_issue", {"issue_key": {"pattern": "^WEB-"}}, "WEB-1", "PAY-1"),
        ("notion-mcp-server", "API-retrieve-a-page", {"page_id": {"const": UUID}}, UUID, UUID[::-1]),
    ],
)
def test_a_rule_that_spares_one_id_spares_it(
    file: str, tool: str, wanted: Json, own: str, other: str
) -> None:
    assert isinstance(wanted, dict)
    [name] = wanted
    of = Rule("only", ("*",), deny=True, schema={"not": {"required": [name], "properties": wanted}})
    spared = judged(
        file, tool, {name: own, "repo": "a", "path": "b"} if file == "server-github" else {name: own}, of
    )
    # What is written otherwise than in the rule may be refused, and never is what the rule names.
    assert spared is (Verdict.RUN if own in str(wanted) or name == "issue_key" else Verdict.DENY)
    assert judged(file, tool, {name: other}, of) is Verdict.DENY
