"""Rules about ids that a service takes in several forms, alone and together with other arguments."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.arguments.canonical_paths import with_canonical_paths
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.approvers import Approvers
from gate.rules.gated_files import file_readers, gated_files
from gate.rules.policy import Policy, Rule, decide
from gate.rules.result_targets import found_files
from gate.rules.tool import Recipe, ToolSpec, Trust
from tests.cpu_time import seconds
from tools.mcp.schema import problems
from tools.recipes.check import load_recorded_schemas
from tools.recipes.reader import load_recipes

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
FILES, RECORDED = load_recipes(FOLDER), load_recorded_schemas(FOLDER)
UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
BARE = UUID.replace("-", "").upper()
LIMIT = 0.15


def spec(file: str, tool: str) -> ToolSpec:
    schema, known = RECORDED[file].schemas[tool].input_schema, FILES[file]
    recipe = known.recipe(tool) if tool in known.tools else known.with_its_own(Recipe())
    return ToolSpec("s", tool, tool, "", schema, "d", trust=Trust.REVIEWED, reviewed=True, recipe=recipe)


def matches(schema: Any, value: Json) -> bool:
    return not problems(schema, value)


def judged(tool: ToolSpec, args: dict[str, Json], rule: Rule) -> Any:
    args = with_canonical_paths(tool.recipe.targets, args)
    return decide(Policy("p", (rule,)), tool, args, "C1", matches)


def holds(file: str, tool: str, args: dict[str, Json], rule: Rule) -> bool:
    return bool(judged(spec(file, tool), args, rule).rule == rule.name)


def rule(how: dict[str, Any] | None = None, **properties: Json) -> Rule:
    schema = {"required": [*properties], "properties": properties}
    return Rule("r", ("*",), schema=schema, **how or {"deny": True})


def text(*patterns: str) -> Rule:
    return Rule("r", ("*",), deny=True, texts=patterns)


SALARIES: dict[str, Json] = {
    "owner": {"const": "acme"},
    "repo": {"enum": ["Payroll", 1]},
    "path": {"pattern": "^hr/"},
}


@pytest.mark.parametrize("tool", ["get_file_contents", "create_or_update_file"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
@pytest.mark.parametrize(
    "path", ["hr/a.csv", "/hr/a.csv", "hr%2Fa.csv", "%68r/a.csv", "./hr/a.csv", "x/../hr/a"]
)
@pytest.mark.parametrize("owner", ["acme", "Acme", " ACME"])
def test_a_rule_about_a_repository_and_a_path_holds_for_any_form_of_both(
    owner: str, path: str, file: str, tool: str
) -> None:
    args: dict[str, Json] = {"owner": owner, "repo": "payroll", "path": path}
    assert holds(file, tool, args, rule(**SALARIES))
    assert not holds(file, tool, {**args, "owner": "acme2"}, rule(**SALARIES))
    assert not holds(file, tool, {**args, "path": "docs/a.csv"}, rule(**SALARIES))


@pytest.mark.parametrize("how", [{"deny": True}, {"at_least": CallClass.DESTRUCTIVE}, {"private": True}])
def test_a_rule_that_denies_asks_or_keeps_private_holds_for_an_id_and_a_path(how: dict[str, Any]) -> None:
    args: dict[str, Json] = {"owner": "Acme", "repo": "PAYROLL", "path": "/hr/a.csv"}
    tool = spec("server-github", "get_file_contents")
    kept = judged(tool, args, rule(how, **SALARIES))
    assert (kept.verdict is Verdict.DENY, kept.verdict is Verdict.TYPED, kept.private) == (
        "deny" in how,
        "at_least" in how,
        "private" in how,
    )
    open_to_all = judged(tool, {**args, "repo": "docs"}, rule(how, **SALARIES))
    assert (open_to_all.verdict, open_to_all.private) == (Verdict.RUN, False)


@pytest.mark.parametrize(
    "wanted",
    [{"const": "README.md"}, {"enum": ["README.md"]}, {"pattern": "^README"}, {"pattern": "^[^a-z]+[.]md$"}],
)
def test_what_a_rule_says_beside_an_id_keeps_its_case(wanted: Json) -> None:
    args: dict[str, Json] = {"owner": "Acme", "repo": "a", "path": "README.md"}
    of = rule(owner={"const": "acme"}, path=wanted)
    assert holds("server-github", "get_file_contents", args, of)
    spared = rule(owner={"const": "acme"}, path={"not": {"pattern": "^public/"}})
    assert holds("server-github", "get_file_contents", {**args, "path": "PUBLIC/x"}, spared)
    assert not holds("server-github", "get_file_contents", {**args, "path": "public/x"}, spared)


KEYS = ",".join([*(f"web-{number}" for number in range(60)), "pay-1"])


@pytest.mark.parametrize("keys", ["WEB-1,PAY-2", "web-1,pay-2", "Web-1, Pay-2", KEYS])
@pytest.mark.parametrize(
    "of", [text("^PAY-"), text("^PAY-", "[0-9]$"), rule(issue_keys={"pattern": "^PAY-"})]
)
def test_a_rule_about_a_key_holds_for_a_list_of_keys_in_one_text(keys: str, of: Rule) -> None:
    tool = "jira_get_issues_development_info"
    assert holds("mcp-atlassian", tool, {"issue_keys": keys}, of)
    assert not holds("mcp-atlassian", tool, {"issue_keys": "web-1,web-2"}, of)


@pytest.mark.parametrize("keys", [",PAY-2", " ,PAY-2", ";pay-2", "OPS 1,PAY-2", "a=b,pay-2", "WEB-1\n,PAY-2"])
@pytest.mark.parametrize("of", [text("^PAY-"), rule(issue_keys={"pattern": "^PAY-"})])
def test_a_rule_about_a_key_holds_whatever_else_stands_in_a_list(keys: str, of: Rule) -> None:
    for tool in ("jira_get_issues_development_info", "jira_move_issues_to_backlog"):
        assert holds("mcp-atlassian", tool, {"issue_keys": keys}, of)
        assert not holds("mcp-atlassian", tool, {"issue_keys": keys.replace("2", "").lower()[:-4]}, of)


def test_a_list_of_more_keys_than_are_looked_at_is_refused() -> None:
    many = ",".join(f"WEB-{number}" for number in range(701))
    found = judged(spec("mcp-atlassian", "jira_move_issues_to_backlog"), {"issue_keys": many}, text("^PAY-"))
    assert (found.verdict, found.rule) == (Verdict.DENY, "too many names")


@pytest.mark.parametrize("name", ["Payroll-API", "payroll-api", "PAYROLL-API"])
def test_a_pattern_of_a_text_holds_for_an_id_in_any_case(name: str) -> None:
    args: dict[str, Json] = {"owner": "acme", "repo": name, "path": "a"}
    assert holds("server-github", "get_file_contents", args, text("^Payroll-API$"))
    assert not holds("server-github", "get_file_contents", {**args, "repo": "payroll"}, text("^Payroll-API$"))
    jql = " OR ".join(["key = hr-1", *(f"key = web-{number}" for number in range(400))])
    assert holds("mcp-atlassian", "jira_search", {"jql": jql}, text(r"\bHR-\d"))


NUMBERS = [
    ("jira_get_issue", "issue_key", "10001"),
    ("jira_move_issues_to_backlog", "issue_keys", "OPS-1, 10001"),
    ("jira_batch_get_changelogs", "issue_ids_or_keys", "10001,OPS-1"),
    ("jira_batch_get_changelogs", "issue_ids_or_keys", ["OPS-1", "10001"]),
    ("jira_assign_issue", "assignee", "accountid:712020:boss"),
    ("jira_assign_issue", "assignee", '{"accountId": "712020:boss"}'),
    ("jira_assign_issue", "assignee", ' {"account_id": "712020:boss"}'),
]


@pytest.mark.parametrize(("tool", "name", "said"), NUMBERS)
def test_an_issue_by_its_number_is_refused_where_rules_about_keys_want_more_than_a_phrase(
    tool: str, name: str, said: Json
) -> None:
    args: dict[str, Json] = {"issue_key": "OPS-1"} if name == "assignee" else {}
    own, args = spec("mcp-atlassian", tool), {**args, name: said}
    assert judged(own, args, text("^HR-")).rule == "leads elsewhere"
    usual = judged(own, args, Rule("r", ("other.*",), deny=True, texts=("^HR-",)))
    assert usual.verdict is judged(own, {**args, name: "OPS-1"}, text("^HR-")).verdict


@pytest.mark.parametrize("tool", ["read_query", "write_query", "describe_table"])
def test_a_pattern_of_a_text_holds_for_a_table_in_any_case(tool: str) -> None:
    said = {"table_name": "SALARIES"} if tool == "describe_table" else {"query": "SELECT * FROM Salaries"}
    assert holds("server-sqlite", tool, dict(said), text(r"\bsalaries\b"))


@pytest.mark.parametrize("said", [f'["{UUID}"]', f'[["{BARE}"]]', f'{{"a": "{UUID}"}}', f'"{UUID}"'])
def test_an_id_within_json_is_refused_where_a_rule_wants_more_than_a_phrase(said: str) -> None:
    own = spec("notion-mcp-server", "API-retrieve-a-page")
    for wanted in ({"const": UUID}, {"enum": [BARE]}, {"type": "string", "maxLength": 40}):
        assert judged(own, {"page_id": said}, rule(page_id=wanted)).verdict is Verdict.DENY


@pytest.mark.parametrize("branch", ["refs/heads/main", "heads/main", "main/"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_the_whole_name_of_a_branch_is_refused_where_a_rule_names_it_alone(file: str, branch: str) -> None:
    name = "branch" if file == "server-github" else "ref"
    own, args = spec(file, "get_file_contents"), {"owner": "a", "repo": "b", "path": "c", name: branch}
    assert judged(own, dict(args), rule(**{name: {"const": "main"}})).rule == "leads elsewhere"
    assert judged(own, dict(args), Rule("r", ("other.*",), deny=True)).verdict is Verdict.RUN


def test_names_beyond_those_that_have_forms_are_refused_where_a_rule_has_a_schema() -> None:
    keys = ",".join([*(f"x{number}" for number in range(701)), "payroll"])
    own = spec("mcp-atlassian", "jira_update_issue")
    of = rule(attachments={"pattern": "^payroll$"})
    args: dict[str, Json] = {"issue_key": "A-1", "fields": "{}", "attachments": keys}
    assert judged(own, args, of).verdict is Verdict.DENY
    other = ToolSpec("s", "get_issues", "get_issues", "", {}, "d")
    for one in (
        rule(keys={"pattern": "^payroll$"}),
        Rule("r", ("*",), deny=True, schema={"required": ["keys"]}, texts=("^payroll$",)),
    ):
        assert judged(other, {"keys": keys}, one).verdict is Verdict.DENY
    assert judged(other, {"keys": keys}, text("^nothing$")).verdict is Verdict.CONFIRM


OTHER_NAMES = [
    "@{-1}",
    "refs/heads/main",
    "heads/main",
    "main^0",
    "main~0",
    "@",
    "HEAD",
    "tags/main",
    "1f3870be",
]


@pytest.mark.parametrize("name", [*OTHER_NAMES, "v1-3-g1f3870b", "main^{}", "main@{0}", "ma in"])
def test_another_name_of_a_branch_is_refused_where_a_rule_names_it(name: str) -> None:
    own, args = spec("server-git", "git_checkout"), {"repo_path": "/r", "branch_name": name}
    assert judged(own, dict(args), rule(branch_name={"const": "main"})).rule == "leads elsewhere"
    assert judged(own, dict(args), Rule("r", ("other.*",), deny=True)).verdict is Verdict.CONFIRM


@pytest.mark.parametrize(
    "name",
    [
        "feature/x",
        "größe",
        "fix-#12",
        "user@work",
        "release-1.2",
        "ветка",
        "機能",
        "תיקון",
        "إصلاح",
        "फीचर",
        "cafe\u0301",
        "fix(ui)!",
    ],
)
def test_the_usual_name_of_a_branch_is_refused_by_no_rule_about_another(name: str) -> None:
    switched = {"repo_path": "/r", "branch_name": name}
    found = judged(spec("server-git", "git_checkout"), dict(switched), rule(branch_name={"const": "main"}))
    assert found.verdict is Verdict.CONFIRM
    for file, of in (("server-github", "branch"), ("github-mcp-server", "ref")):
        args: dict[str, Json] = {"owner": "a", "repo": ".github", "path": "c", of: name.replace("#", "")}
        assert judged(spec(file, "get_file_contents"), args, rule(**{of: {"const": "main"}})).verdict is (
            Verdict.RUN
        )


@pytest.mark.parametrize(
    "name", ["heads/pay", "refs/heads/pay", "pay@{0}", "pay^{}", "pay^0", "x..heads/pay"]
)
@pytest.mark.parametrize(("tool", "of"), [("git_show", "revision"), ("git_diff", "target")])
def test_another_name_of_a_revision_is_refused_where_a_rule_names_it(tool: str, of: str, name: str) -> None:
    own, args = spec("server-git", tool), {"repo_path": "/r", of: name}
    assert judged(own, dict(args), rule(**{of: {"const": "pay"}})).rule == "leads elsewhere"
    for usual in ("main~1", "main", "v1.2"):
        assert judged(own, {**args, of: usual}, rule(**{of: {"const": "pay"}})).verdict is Verdict.RUN


@pytest.mark.parametrize("path", ["/srv/prod/.git", "/srv/prod/.GIT/", "/srv/prod/.git/worktrees/a"])
def test_the_folder_of_git_is_refused_where_a_rule_names_the_repository(path: str) -> None:
    """`git.Repo(path)` takes it for the repository around it."""
    for tool in ("git_commit", "git_status"):
        args: dict[str, Json] = {"repo_path": path, "message": "m"}
        args = {name: value for name, value in args.items() if tool == "git_commit" or name == "repo_path"}
        assert judged(spec("server-git", tool), args, rule(repo_path={"const": "/srv/prod"})).rule == (
            "leads elsewhere"
        )
    bare: dict[str, Json] = {"repo_path": "/srv/prod.git"}
    assert (
        judged(spec("server-git", "git_status"), bare, rule(repo_path={"const": "/x"})).verdict is Verdict.RUN
    )


@pytest.mark.parametrize("name", ["refs/heads/main", "heads/main", "main/", "ma in", "HEAD", "x//y", "@"])
def test_a_branch_is_made_by_a_usual_name_or_a_phrase(name: str) -> None:
    """`refs/heads/main` moved the branch main where its name is kept in packed refs."""
    own, args = spec("server-git", "git_create_branch"), {"repo_path": "/r", "branch_name": name}
    assert judged(own, dict(args), Rule("r", ("other.*",), deny=True)).verdict is Verdict.TYPED
    assert judged(own, dict(args), rule(branch_name={"const": "main"})).verdict is Verdict.DENY
    for usual in ("feature/x", "größe", "fix-#12", "user@work", "release_1.2"):
        found = judged(own, {**args, "branch_name": usual}, rule(branch_name={"const": "main"}))
        assert found.verdict is Verdict.CONFIRM
    base: dict[str, Json] = {"repo_path": "/r", "branch_name": "a", "base_branch": "heads/main"}
    assert judged(own, base, rule(base_branch={"const": "main"})).verdict is Verdict.DENY


def test_issues_of_a_list_are_refused_where_a_rule_names_a_project() -> None:
    own, said = spec("mcp-atlassian", "jira_batch_create_issues"), '[{"project_key": "HR", "summary": "x"}]'
    assert judged(own, {"issues": said}, rule(project_key={"const": "HR"})).rule == "leads elsewhere"
    assert judged(own, {"issues": said}, Rule("r", ("other.*",), deny=True)).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("path", ["app/[...slug]/page.tsx", "a..b.md", "v1.2/..hidden", "docs/…/a.md"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_a_path_with_dots_in_its_names_is_read_at_once(file: str, path: str) -> None:
    own, args = spec(file, "get_file_contents"), {"owner": "a", "repo": "b", "path": path}
    assert judged(own, dict(args), rule(path={"const": "hr.md"})).verdict is Verdict.RUN


@pytest.mark.parametrize("name", ["[salaries]", "salaries)--", "`salaries`", "salaries\n", "main.salaries"])
def test_a_table_by_another_spelling_is_refused_where_a_rule_names_it(name: str) -> None:
    own = spec("server-sqlite", "describe_table")
    assert judged(own, {"table_name": name}, rule(table_name={"const": "salaries"})).verdict is Verdict.DENY
    assert judged(own, {"table_name": "people_2"}, rule(table_name={"const": "x"})).verdict is Verdict.RUN


@pytest.mark.parametrize(
    "words", ["'del'||'ete-all'", "char(100)", "x'64656c6574652d616c6c'", "Printf ('%s', 'd')"]
)
def test_a_row_whose_words_are_put_together_takes_a_phrase(words: str) -> None:
    """An index for full text takes it for a command: all of the index was gone by one click."""
    query = f"insert into notes(notes) values({words})"
    other = Rule("r", ("other.*",), deny=True)
    assert judged(spec("server-sqlite", "write_query"), {"query": query}, other).verdict is Verdict.TYPED
    plain: dict[str, Json] = {"query": "insert into notes(title, body) values('Formats, A4', 'x')"}
    assert judged(spec("server-sqlite", "write_query"), plain, other).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("path", ["a.md?ref=secret", "a.md?ref=secret#x", "a.md%3Fref=secret"])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_a_path_that_holds_a_branch_is_refused_where_a_rule_names_that(file: str, path: str) -> None:
    own, args = spec(file, "get_file_contents"), {"owner": "a", "repo": "b", "path": path}
    name = "branch" if file == "server-github" else "ref"
    assert judged(own, dict(args), rule(**{name: {"const": "secret"}})).rule == "leads elsewhere"
    assert judged(own, dict(args), Rule("r", ("other.*",), deny=True)).verdict is Verdict.RUN


PROJECTS = [
    ("jira_get_project_issues", "project_key", "10000"),
    ("jira_link_to_epic", "epic_key", "10001"),
    ("jira_create_issue_link", "inward_issue_key", "10001"),
    ("jira_search", "projects_filter", "WEB,10000"),
    ("jira_search", "projects_filter", '["10000"]'),
]


@pytest.mark.parametrize(("tool", "name", "said"), PROJECTS)
def test_a_project_or_an_issue_by_its_number_is_refused_where_a_rule_names_its_key(
    tool: str, name: str, said: str
) -> None:
    own, others = spec("mcp-atlassian", tool), {"jql": "x"} if tool == "jira_search" else {}
    others = {other: "A-1" for other in own.schema["required"] if other != name} | others
    for key, refused in ((said, True), ("WEB-7" if "," not in said else "WEB,DOCS", False)):
        found = judged(own, {**others, name: key}, rule(**{name: {"const": "PAY"}}))
        assert (found.rule == "leads elsewhere") is refused


PLACES: list[tuple[str, str, dict[str, Json]]] = [
    ("server-git", "git_add", {"repo_path": "/r", "files": ["/r/legal/a.md"]}),
    ("server-git", "git_add", {"repo_path": "/r", "files": ["a.md", "../r/legal/a.md"]}),
    ("server-git", "git_add", {"repo_path": "/r", "files": ["a.md", "legal"]}),
    ("server-git", "git_add", {"repo_path": "/r", "files": ["."]}),
    ("server-git", "git_add", {"repo_path": "/r", "files": ["./", "a.md"]}),
    ("server-git", "git_add", {"repo_path": "/r", "files": [".config"]}),
    ("server-git", "git_status", {"repo_path": "/proc/self/root/legal"}),
    ("mcp-atlassian", "jira_update_issue", {"issue_key": "A-1", "attachments": "/a, hr/pay.csv"}),
    ("mcp-atlassian", "jira_update_issue", {"issue_key": "A-1", "attachments": "/proc/self/cwd/hr/pay.csv"}),
]


@pytest.mark.parametrize(("file", "tool", "args"), PLACES)
def test_another_path_of_a_file_is_refused_where_a_rule_names_it(
    file: str, tool: str, args: dict[str, Json]
) -> None:
    assert judged(spec(file, tool), args, text("^(legal|/srv/hr)/")).rule == "leads elsewhere"


def test_a_rule_of_the_operator_is_held_against_every_form_whatever_its_name() -> None:
    own, args = spec("server-github", "get_file_contents"), {"owner": "a", "repo": "b", "path": "%68r/a.csv"}
    named = Rule("leads elsewhere", ("*",), deny=True, schema={"properties": {"path": {"pattern": "^hr/"}}})
    assert judged(own, dict(args), named).verdict is Verdict.DENY
    assert judged(own, dict(args), replace(named, name="hr")).verdict is Verdict.DENY
    for name in ("leads elsewhere", "more than is searched", "more than schemas see"):
        private = replace(named, name=name, deny=False, private=True)
        assert judged(own, {**args, "path": "hr/a.csv"}, private).verdict is Verdict.RUN


def test_lists_of_ids_are_counted_together() -> None:
    own, many = spec("mcp-atlassian", "jira_search"), ",".join(f"O-{number}" for number in range(360))
    found = judged(own, {"issue_keys": many, "projects_filter": many, "jql": "y"}, text("^x$"))
    assert (found.verdict, found.rule) == (Verdict.DENY, "too many names")


@pytest.mark.parametrize("said", [UUID, UUID.upper(), BARE, BARE.lower()])
@pytest.mark.parametrize("wanted", [UUID, BARE, BARE.lower(), BARE[:12]])
def test_a_pattern_of_a_page_holds_for_it_with_and_without_dashes(wanted: str, said: str) -> None:
    args: dict[str, Json] = {"page_id": said}
    assert holds("notion-mcp-server", "API-retrieve-a-page", args, rule(page_id={"pattern": f"^{wanted}"}))
    only = Rule(
        "r", ("*",), deny=True, schema={"not": {"properties": {"page_id": {"pattern": f"^{wanted}"}}}}
    )
    if said.startswith(wanted):  # as it is written there
        assert not holds("notion-mcp-server", "API-retrieve-a-page", args, only)
    assert holds("notion-mcp-server", "API-retrieve-a-page", {"page_id": said[::-1]}, only)


OTHER_PAGE = "9b4e28ba-2fa1-11d2-883f-0016d3cca427"


@pytest.mark.parametrize("before", ["", " ", "\u00a0", "\ufeff", "\u000b", "\u2028", "\n\ufeff "])
def test_a_parent_as_json_is_read_with_all_blanks_that_its_server_leaves_out(before: str) -> None:
    there: Json = {"required": ["page_id"], "properties": {"page_id": {"const": UUID}}}
    only = Rule(
        "r", ("*",), deny=True, schema={"not": {"required": ["parent"], "properties": {"parent": there}}}
    )
    typed = rule(parent={"type": "object", **there})
    for page, spared in ((UUID, True), (OTHER_PAGE, False)):
        said = f"{before}{json.dumps({'page_id': page, 'x': chr(9)})}{before}".replace("\\t", "\t")
        assert holds("notion-mcp-server", "API-post-page", {"parent": said}, only) is not spared
        assert holds("notion-mcp-server", "API-post-page", {"parent": said}, typed) is spared


@pytest.mark.parametrize("wanted", [{"const": "payroll"}, {"pattern": "^PAYROLL$"}])
def test_a_rule_about_another_name_at_github_holds_for_it_in_any_case(wanted: Json) -> None:
    args: dict[str, Json] = {
        "method": "add_project_item",
        "owner": "a",
        "item_owner": "a",
        "item_repo": "Payroll",
    }
    assert holds("github-mcp-server", "projects_write", args, rule(item_repo=wanted))
    org: dict[str, Json] = {"org": "PayRoll"}
    assert holds("github-mcp-server", "list_org_repository_security_advisories", org, rule(org=wanted))
    asked: dict[str, Json] = {"owner": "a", "repo": "b", "pullNumber": 1, "reviewers": ["x", "PayRoll"]}
    of = rule(reviewers={"contains": wanted})
    assert holds("github-mcp-server", "request_pull_request_reviewers", asked, of)


ELSEWHERE: list[tuple[str, str, str]] = [
    ("branch", "push_files", branch)
    for branch in (
        "./main",
        "main#",
        "main?",
        "ma\tin",
        "x/.//../main",
        "x/./main",
        "//main",
        "agent/%2e%2e/main",
        "main ",
        "main\n",
        "ma\u200bin",
        "main.",
        "main%00",
        "main;x",
    )
] + [
    ("repo", "get_file_contents", repo)
    for repo in (
        "./payroll",
        "payroll?",
        "x/../payroll",
        "payroll#",
        "payroll.git",
        "payr\u00f6ll",
    )
]


@pytest.mark.parametrize("how", [{"deny": True}, {"approvers": Approvers(needed=2)}, {"private": True}])
@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
@pytest.mark.parametrize(("name", "tool", "said"), ELSEWHERE)
def test_a_name_that_leads_elsewhere_is_refused_where_a_rule_wants_more_than_a_phrase(
    name: str, tool: str, said: str, file: str, how: dict[str, Any]
) -> None:
    args: dict[str, Json] = {
        "owner": "acme", "repo": "site", "branch": "b", "path": "a.md", "message": "m",
        "files": [{"path": "a.md", "content": "x"}],
    }  # fmt: skip
    own = spec(file, tool)
    args = {key: value for key, value in args.items() if key in own.schema["properties"]} | {name: said}
    ours = rule(how, **{name: {"enum": ["main", "payroll"]}})
    found = judged(own, args, ours)
    assert found.verdict is Verdict.DENY
    assert found.rule == "leads elsewhere" or (found.rule == "r" and said.strip() == "main")
    others = replace(ours, tools=("other.*",))
    assert judged(own, args, others).verdict is Verdict.TYPED
    assert judged(own, args, rule({"at_least": CallClass.WRITE}, **{name: {}})).verdict is Verdict.TYPED


@pytest.mark.parametrize("wanted", [{"const": "PAY"}, {"enum": ["PAY", "HR"]}, {"pattern": "^PAY$"}])
def test_a_rule_about_a_project_holds_for_a_list_of_projects_in_one_text(wanted: Json) -> None:
    of = rule(projects_filter=wanted)
    assert holds("mcp-atlassian", "jira_search", {"jql": "x", "projects_filter": "web,pay"}, of)
    assert not holds("mcp-atlassian", "jira_search", {"jql": "x", "projects_filter": "web,docs"}, of)


@pytest.mark.parametrize(
    "pattern", ["(?s)^PAY-", r"(?a)^PAY-\d", "(?m)^PAY-", "(?x)^PAY- # all", "(?s)(?m)^PAY-"]
)
def test_a_pattern_with_flags_holds_for_an_id_in_any_case(pattern: str) -> None:
    of = rule(issue_key={"pattern": pattern})
    assert all(
        holds("mcp-atlassian", "jira_get_issue", {"issue_key": key}, of)
        for key in ("PAY-1", "pay-1", "Pay-1")
    )
    assert not holds("mcp-atlassian", "jira_get_issue", {"issue_key": "WEB-1"}, of)


@pytest.mark.parametrize("key", ["PAY", "pay"])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_rule_about_a_project_holds_for_each_issue_of_a_batch(key: str, as_text: bool) -> None:
    issues: Json = [{"project_key": "WEB"}, {"project_key": key, "summary": "x"}]
    of = rule(issues={"contains": {"properties": {"project_key": {"const": "PAY"}}}})
    for one in (of, text("^PAY$")):
        args: dict[str, Json] = {"issues": json.dumps(issues) if as_text else issues}
        assert holds("mcp-atlassian", "jira_batch_create_issues", args, one)


@pytest.mark.parametrize("wanted", [UUID, UUID.upper(), BARE, BARE.lower()])
@pytest.mark.parametrize("said", [UUID, UUID.upper(), BARE, BARE.lower()])
def test_a_rule_about_a_page_holds_where_it_is_compared_as_an_object_or_named_in_json(
    said: str, wanted: str
) -> None:
    parent: Json = {"type": "page_id", "page_id": said}
    for whole in ({"const": {**parent, "page_id": wanted}}, {"enum": [1, {**parent, "page_id": wanted}]}):
        assert holds(
            "notion-mcp-server", "API-post-page", {"parent": parent, "properties": {}}, rule(parent=whole)
        )
        for encoded in (json.dumps(parent), json.dumps(json.dumps(parent))):
            assert holds("notion-mcp-server", "API-post-page", {"parent": encoded}, rule(parent=whole))
    an_object: Json = {
        "type": "object",
        "required": ["page_id"],
        "properties": {"page_id": {"const": wanted}},
    }
    unread = f'{{"page_id": "{said}", "x": {"7" * 5_000}}}'  # by Python; others read it
    assert holds("notion-mcp-server", "API-post-page", {"parent": unread}, rule(parent=an_object))
    inside = json.dumps({"a": {"relation": [{"id": said}]}})
    assert holds("notion-mcp-server", "API-patch-page", {"page_id": "x", "properties": inside}, text(wanted))


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{"properties": {"issue_key": {"const": "PAY-1"}}}]},
        {"anyOf": [{"properties": {"issue_key": {"anyOf": [{"const": "PAY-1"}, {"const": "HR-1"}]}}}]},
        {"properties": {"issue_key": {"$ref": "#/$defs/key"}}, "$defs": {"key": {"const": "PAY-1"}}},
        {"patternProperties": {"_key$": {"const": "PAY-1"}}},
        {"additionalProperties": {"enum": ["PAY-1"]}},
        {"properties": {"issue_key": {"const": "PAY-1", "enum": ["PAY-1", "PAY-2"]}}},
        {"not": {"properties": {"issue_key": {"not": {"const": "PAY-1"}}}}},
    ],
)
def test_an_id_is_compared_wherever_a_schema_names_it(schema: Json) -> None:
    assert isinstance(schema, dict)
    of = Rule("r", ("*",), deny=True, schema=schema)
    assert holds("mcp-atlassian", "jira_get_issue", {"issue_key": "pay-1"}, of)
    assert not holds("mcp-atlassian", "jira_get_issue", {"issue_key": "web-1"}, of)


@pytest.mark.parametrize("args", [{"owner": "acme", "path": "hr/a"}, {"owner": "Acme", "path": "hr/a"}])
def test_a_rule_that_spares_an_id_and_a_path_spares_them_as_it_writes_them(args: dict[str, Json]) -> None:
    spared = {"properties": {"owner": {"const": "Acme"}, "path": {"const": "hr/a"}}}
    of = Rule("r", ("*",), deny=True, schema={"not": spared})
    assert holds("server-github", "get_file_contents", {**args, "repo": "x"}, of) is (args["owner"] == "acme")


HOSTILE: dict[str, Json] = {
    "keys in a text": ",".join(f"Web-{number}" for number in range(690)) + "," + "K" * 55_000,
    "keys in a list": [f"Web-{number}" for number in range(5_000)],
    "one long key": "Ab" * 30_000,
    "long keys": ["Ab c/" * 50 + str(number) for number in range(230)],
    "characters of two scripts": ["Aб" * 20 + str(number) for number in range(600)],
}


@pytest.mark.parametrize("given", HOSTILE.values(), ids=HOSTILE)
def test_no_ids_take_long_to_be_held_against_rules(given: Json) -> None:
    policy = Policy("p", (rule(issue_ids_or_keys={"pattern": "^PAY-"}), text("^PAY-")))
    tool = spec("mcp-atlassian", "jira_batch_get_changelogs")
    run = lambda: decide(policy, tool, {"issue_ids_or_keys": given}, "C1", matches)  # noqa: E731
    assert seconds(run, 3, LIMIT) < LIMIT


# Files that a read has found

PAID = "hr/salaries.csv"
WHOLE: dict[str, Json] = {"required": [*SALARIES], "properties": SALARIES}


def kept(file: str, tool: str, args: dict[str, Json], rule: Rule, path: str = PAID) -> bool:
    """Whether the rule keeps what this read has found at the path."""
    every = [spec(file, name) for name in FILES[file].tools if name in RECORDED[file].schemas]
    finder = next(one for one in every if one.name == tool)
    answer = json.dumps([{"filename": path, "patch": "@@ 98000"}])
    paths = found_files(finder.recipe.targets, args, None, answer) if finder.recipe.targets else ()
    assert paths == (path,)
    return any(gated_files(Policy("p", (rule,)), file_readers(finder, every, args), paths, "C1", matches))


@pytest.mark.parametrize("how", [{"deny": True}, {"at_least": CallClass.WRITE}, {"private": True}])
@pytest.mark.parametrize("owner", ["acme", "Acme"])
@pytest.mark.parametrize("tool", ["get_pull_request_files", "get_pull_request_comments"])
def test_a_rule_about_a_repository_and_a_path_keeps_what_a_read_of_that_repository_finds(
    tool: str, owner: str, how: dict[str, Any]
) -> None:
    args: dict[str, Json] = {"owner": owner, "repo": "payroll", "pull_number": 7}
    assert kept("server-github", tool, args, rule(how, **SALARIES))
    assert not kept("server-github", tool, {**args, "repo": "docs"}, rule(how, **SALARIES))
    assert not kept("server-github", tool, args, rule(how, **SALARIES), "docs/a.csv")


def test_a_rule_about_a_repository_and_a_path_keeps_what_a_search_finds_in_any_repository() -> None:
    assert kept("server-github", "search_code", {"q": "salary"}, rule(**SALARIES))
    assert not kept("server-github", "search_code", {"q": "salary"}, rule(**SALARIES), "docs/a.csv")
    parts = [{"required": [name], "properties": {name: wanted}} for name, wanted in SALARIES.items()]
    together = Rule("r", ("*",), deny=True, schema={"allOf": parts})
    assert kept("server-github", "search_code", {"q": "salary"}, together)


WRITTEN: dict[str, dict[str, Json]] = {
    "oneOf": {"oneOf": [WHOLE, {"required": ["x"], "properties": {"x": {"const": 1}}}]},
    "oneOf beside": {
        "required": ["repo"],
        "oneOf": [rule(path={"const": name}).schema for name in (PAID, "b")],
    },
    "reference": {"$ref": "#/$defs/pay", "$defs": {"pay": {"$ref": "#/$defs/a~1b"}, "a/b": WHOLE}},
    "if": {"if": WHOLE, "then": True, "else": False},
    "then": {"if": {"properties": {"path": {"const": PAID}}}, "then": WHOLE, "else": False},
    "else": {"if": {"properties": {"path": {"pattern": "^docs/"}}}, "then": False, "else": WHOLE},
    "dependentSchemas": {"required": ["path"], "dependentSchemas": {"path": WHOLE}},
    "dependentRequired": {
        "required": ["path"],
        "properties": SALARIES,
        "dependentRequired": {"path": ["owner", "repo"]},
    },
}


@pytest.mark.parametrize("schema", WRITTEN.values(), ids=WRITTEN)
def test_a_rule_keeps_what_a_search_finds_in_any_repository_however_its_schema_is_written(
    schema: dict[str, Json],
) -> None:
    of = Rule("r", ("*",), deny=True, schema=schema)
    assert kept("server-github", "search_code", {"q": "salary"}, of)
    assert not kept("server-github", "search_code", {"q": "salary"}, of, "docs/a.csv")


@pytest.mark.parametrize(
    "schema",
    [
        {"if": {"properties": {"path": {"pattern": "^hr/"}}}, "then": False, "else": WHOLE},
        {"oneOf": [WHOLE, {"properties": {"path": {"const": PAID}}, "required": ["x"]}], "required": ["x"]},
        {"oneOf": [{"required": ["x"]}, {"required": ["path"]}], "not": {"required": ["path"]}},
        {"allOf": [{"$ref": "#/$defs/none"}, {"required": ["x"]}], "$defs": {"none": False}},
    ],
)
def test_a_rule_that_spares_a_file_keeps_no_search_that_finds_it_however_its_schema_is_written(
    schema: dict[str, Json],
) -> None:
    of = Rule("r", ("*",), deny=True, schema=schema)
    assert not kept("server-github", "search_code", {"q": "salary"}, of)


@pytest.mark.parametrize(
    "of",
    [
        rule(owner={"const": "acme"}),
        rule(content={"pattern": "x"}, path={"pattern": "^hr/"}),
        Rule(
            "r",
            ("*",),
            deny=True,
            schema={"anyOf": [rule(owner={"const": "acme"}).schema, {"required": ["x"]}]},
        ),
    ],
    ids=["no path", "an argument that no reader has", "a choice"],
)
def test_a_rule_that_no_read_of_a_file_could_meet_keeps_nothing_of_a_search(of: Rule) -> None:
    assert not kept("server-github", "search_code", {"q": "salary"}, of)


@pytest.mark.parametrize("owner", ["acme", "Acme"])
def test_a_rule_that_has_judged_the_call_whatever_its_path_keeps_nothing_that_it_finds(owner: str) -> None:
    args: dict[str, Json] = {"owner": owner, "repo": "payroll", "pull_number": 7}
    of = rule({"at_least": CallClass.WRITE}, owner={"const": "acme"})
    assert not kept("server-github", "get_pull_request_files", args, of)


@pytest.mark.parametrize(
    "query", ["SELECT * FROM salaries", "SELECT * FROM SALARIES", 'select 1 from "Salaries"']
)
@pytest.mark.parametrize("tool", ["read_query", "write_query", "create_table"])
def test_a_schema_about_a_statement_holds_for_a_table_in_any_case(tool: str, query: str) -> None:
    assert holds("server-sqlite", tool, {"query": query}, rule(query={"pattern": r"\bsalaries\b"}))
    assert not holds("server-sqlite", tool, {"query": "SELECT 1"}, rule(query={"pattern": r"\bsalaries\b"}))


def test_a_statement_of_many_rows_is_no_list_of_names() -> None:
    many = "INSERT INTO a VALUES " + ",".join(f"({number}, 'x')" for number in range(2_000))
    for of in (text("^nothing$"), rule(query={"pattern": "nothing"})):
        assert judged(spec("server-sqlite", "write_query"), {"query": many}, of).verdict is Verdict.CONFIRM


SEARCHES = [
    ("server-github", "search_issues", "q"),
    ("server-github", "search_repositories", "query"),
    ("github-mcp-server", "search_code", "query"),
    ("mcp-atlassian", "jira_search", "jql"),
    ("mcp-atlassian", "jira_search_assignable_users", "query"),
    ("mcp-atlassian", "jira_search_fields", "keyword"),
    ("mcp-atlassian", "jira_get_agile_boards", "board_name"),
    ("notion-mcp-server", "API-post-search", "query"),
]


@pytest.mark.parametrize(("file", "tool", "name"), SEARCHES)
def test_a_schema_about_the_words_of_a_search_holds_in_any_letters(file: str, tool: str, name: str) -> None:
    for said in ("salaries", "SALARIES", "our Salaries, all"):
        assert holds(file, tool, {name: said}, rule(**{name: {"pattern": "salaries"}}))
    assert not holds(file, tool, {name: "sugar"}, rule(**{name: {"pattern": "salaries"}}))


NAMED = [
    ("mcp-atlassian", "jira_assign_issue", "assignee", "boss@example.com", "Boss@Example.com"),
    ("mcp-atlassian", "jira_create_issue", "assignee", "Bob Boss", "bob boss"),
    ("mcp-atlassian", "jira_get_user_profile", "user_identifier", "boss@example.com", "BOSS@example.com"),
    ("mcp-atlassian", "jira_remove_watcher", "username", "boss", "Boss"),
    ("mcp-atlassian", "jira_create_customer_request", "raise_on_behalf_of", "a@example.com", "A@example.com"),
    ("mcp-atlassian", "jira_create_issue", "issue_type", "Epic", "epic"),
    ("mcp-atlassian", "jira_create_issue_link", "link_type", "Blocks", "blocks"),
    ("server-github", "create_repository", "name", "payroll", "Payroll"),
    ("github-mcp-server", "create_repository", "name", "payroll", "Payroll"),
    ("github-mcp-server", "list_commits", "author", "octo", "OCTO"),
]


@pytest.mark.parametrize(("file", "tool", "name", "wanted", "said"), NAMED)
def test_a_rule_about_a_person_or_a_name_that_a_service_takes_in_any_letters_holds_in_any(
    file: str, tool: str, name: str, wanted: str, said: str
) -> None:
    assert holds(file, tool, {name: said}, rule(**{name: {"const": wanted}}))
    assert not holds(file, tool, {name: said + "x"}, rule(**{name: {"const": wanted}}))


@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
def test_a_rule_about_a_label_holds_in_any_letters(file: str) -> None:
    tool = "create_issue" if file == "server-github" else "issue_write"
    of = rule(labels={"contains": {"const": "wontfix"}})
    assert holds(file, tool, {"labels": ["bug", "WontFix"]}, of)
    assert not holds(file, tool, {"labels": ["bug"]}, of)


@pytest.mark.parametrize(
    ("tool", "name", "said"),
    [
        ("jira_assign_issue", "assignee", "Böb Boss"),
        ("jira_get_user_profile", "user_identifier", "B\u00f3b Boss"),
        ("jira_get_user_profile", "user_identifier", "accountid:712020:boss"),
        ("jira_add_watcher", "user_identifier", " AccountId:5b10"),
    ],
)
def test_a_person_of_jira_with_marks_or_a_prefix_is_refused_where_a_rule_denies_one(
    tool: str, name: str, said: str
) -> None:
    own = spec("mcp-atlassian", tool)
    args: dict[str, Json] = {"issue_key": "A-1", name: said}
    assert judged(own, args, rule(**{name: {"const": "Bob Boss"}})).verdict is Verdict.DENY
    usual = judged(own, args, Rule("r", ("other.*",), deny=True, texts=("^HR-",)))
    assert usual.verdict is judged(own, {**args, name: "bob"}, text("^HR-")).verdict


@pytest.mark.parametrize("file", ["server-github", "github-mcp-server"])
@pytest.mark.parametrize(("owner", "repo"), [("acme", "payroll"), ("Acme", "payroll"), ("acme", "PAYROLL")])
def test_a_rule_about_a_repository_and_a_path_holds_for_each_of_several_files(
    file: str, owner: str, repo: str
) -> None:
    of = rule(owner={"const": "acme"}, repo={"const": "payroll"}, path={"pattern": "^hr/"})
    pushed: dict[str, Json] = {"owner": owner, "repo": repo, "branch": "main", "message": "m"}
    files = [{"path": "docs/a.md", "content": "x"}, {"path": "hr/pay.csv", "content": "x"}]
    assert holds(file, "push_files", {**pushed, "files": files}, of)
    assert not holds(file, "push_files", {**pushed, "files": files[:1]}, of)


@pytest.mark.parametrize("said", [UUID, UUID.upper(), BARE, BARE.upper()])
@pytest.mark.parametrize("how", [{"const": UUID}, {"enum": [UUID]}, {"pattern": f"^{UUID}$"}])
@pytest.mark.parametrize(
    "more",
    [
        {"not": {"required": ["filter"]}},
        {"if": {"required": ["filter"]}, "then": False},
        {"oneOf": [{"required": ["filter"]}, {"required": ["data_source_id"]}]},
    ],
)
def test_a_rule_about_a_uuid_that_spares_something_else_holds_for_each_form_of_it(
    more: dict[str, Json], how: dict[str, Json], said: str
) -> None:
    schema = {"required": ["data_source_id"], "properties": {"data_source_id": how}, **more}
    asked = Rule("r", ("*",), deny=True, schema=schema)
    assert holds("notion-mcp-server", "API-query-data-source", {"data_source_id": said}, asked)
    filtered: dict[str, Json] = {"data_source_id": said, "filter": {}}
    assert not holds("notion-mcp-server", "API-query-data-source", filtered, asked)


DIFFERENCE = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-1\n+2\n"


def keeps_staged(at: str, path: str, rule: Rule) -> bool:
    every = [
        spec("server-git", name)
        for name in FILES["server-git"].tools
        if name in RECORDED["server-git"].schemas
    ]
    finder, args = next(one for one in every if one.name == "git_diff_staged"), {"repo_path": at}
    assert finder.recipe.targets
    paths = found_files(finder.recipe.targets, args, None, DIFFERENCE.format(path))
    readers = file_readers(finder, every, args)
    return any(gated_files(Policy("p", (rule,)), readers, paths, "C1", matches))


@pytest.mark.parametrize("at", ["/srv/web", "/srv/web/", "/srv/web//", "/srv/x/../web"])
@pytest.mark.parametrize("how", [{"const": "/srv/web"}, {"pattern": "^/srv/web(/|$)"}])
def test_a_rule_about_a_repository_and_a_file_holds_however_its_folder_is_written(
    how: dict[str, Json], at: str
) -> None:
    of = rule(repo_path=how, path={"pattern": "^hr/"})
    for tool, args in (("git_show", {"revision": "v1:hr/pay.csv"}), ("git_add", {"files": ["hr/pay.csv"]})):
        assert holds("server-git", tool, {"repo_path": at, **args}, of)
        assert not holds("server-git", tool, {"repo_path": "/srv/other", **args}, of)
    assert keeps_staged(at, "hr/pay.csv", of)
    assert not keeps_staged(at, "docs/a.md", of)
    assert not keeps_staged("/srv/other", "hr/pay.csv", of)
