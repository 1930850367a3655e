"""Rules about what a tool of another server is told by an argument of another name, or what only its reads tell."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gate.rules.action import CallClass, Decision, Json, Verdict
from gate.rules.policy import Rule
from gate.rules.resolved_recipes import with_reads
from tests.tools.test_tools_recipe_ids import BARE, UUID, holds, judged, rule, spec, text

OTHER = "9b4e28ba-2fa1-11d2-883f-0016d3cca427"
SAME_ID: list[tuple[str, dict[str, Any]]] = [
    ("API-get-block-children", {"block_id": UUID}),
    ("API-retrieve-a-comment", {"block_id": BARE}),
    ("API-update-a-block", {"block_id": UUID, "type": {}}),
    ("API-patch-block-children", {"block_id": UUID, "children": []}),
    ("API-delete-a-block", {"block_id": UUID}),
    ("API-retrieve-page-markdown", {"page_id": UUID}),
    ("API-post-page", {"parent": {"page_id": UUID}, "properties": {}}),
    ("API-post-page", {"parent": f' {{"page_id": "{UUID}"}}', "properties": {}}),
    ("API-move-page", {"page_id": OTHER, "parent": {"page_id": UUID}}),
    ("API-move-page", {"page_id": UUID, "parent": {"page_id": OTHER}}),
    ("API-create-a-comment", {"parent": {"block_id": BARE}, "rich_text": []}),
    ("API-create-a-comment", {"parent": {"page_id": OTHER, "block_id": UUID}, "rich_text": []}),
]


@pytest.mark.parametrize("name", ["page_id", "block_id", "database_id"])
@pytest.mark.parametrize(("tool", "args"), SAME_ID)
def test_a_rule_about_a_page_of_notion_holds_for_it_under_any_argument(
    tool: str, args: dict[str, Json], name: str
) -> None:
    assert holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID}}))
    assert not holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID[::-1]}}))


@pytest.mark.parametrize("name", ["page_id", "block_id", "database_id"])
@pytest.mark.parametrize(("tool", "args"), SAME_ID)
def test_a_rule_about_a_parent_of_notion_holds_for_it_under_any_argument(
    tool: str, args: dict[str, Json], name: str
) -> None:
    for said, yes in ((UUID, True), (UUID[::-1], False)):
        about: Json = {"type": "object", "required": [name], "properties": {name: {"const": said}}}
        assert holds("notion-mcp-server", tool, args, rule(parent=about)) is yes


@pytest.mark.parametrize(
    ("tool", "args", "name"),
    [
        ("API-delete-a-block", {"block_id": UUID}, "database_id"),
        ("API-retrieve-a-database", {"database_id": UUID}, "page_id"),
        ("API-post-page", {"parent": {"database_id": BARE}, "properties": {}}, "page_id"),
        ("API-post-page", {"parent": {"database_id": BARE}, "properties": {}}, "database_id"),
        ("API-post-page", {"parent": {"data_source_id": UUID}, "properties": {}}, "data_source_id"),
    ],
)
def test_a_rule_about_a_database_of_notion_holds_for_it_as_a_block_and_as_a_parent(
    tool: str, args: dict[str, Json], name: str
) -> None:
    assert holds("notion-mcp-server", tool, args, rule(**{name: {"const": UUID}}))


@pytest.mark.parametrize(("tool", "args"), SAME_ID)
def test_another_page_of_notion_is_judged_as_usual(tool: str, args: dict[str, Json]) -> None:
    own = spec("notion-mcp-server", tool)
    usual = judged(own, args, text("^nothing$")).verdict
    assert judged(own, args, rule(page_id={"const": UUID[::-1]})).verdict is usual
    assert usual is not Verdict.DENY


def pull(head: str, base: str, repo: str = "acme/app") -> dict[str, Json]:
    """What both servers tell of a pull request, in JSON as text."""
    owner, _, name = repo.partition("/")
    ends: list[Json] = [
        {
            "ref": branch,
            "sha": "1f2e3d4c",
            "repo": {"full_name": full, "name": name, "owner": {"login": owner}},
        }
        for branch, full in ((head, repo), (base, "acme/app"))
    ]
    return {"pull": {"error": False, "text": json.dumps({"title": "Sync", "head": ends[0], "base": ends[1]})}}


def judged_after(file: str, tool: str, args: dict[str, Json], capture: dict[str, Json], of: Rule) -> Decision:
    """What becomes of a call once the reads for it have told this."""
    own = spec(file, tool)
    found: Decision = judged(replace(own, recipe=with_reads(own.recipe, args, capture)), args, of)
    return found


PULLS = [("server-github", "pull_number"), ("github-mcp-server", "pullNumber")]


@pytest.mark.parametrize(("file", "number"), PULLS)
@pytest.mark.parametrize(
    ("tool", "head", "base"),
    [("update_pull_request_branch", "prod", "x"), ("merge_pull_request", "x", "prod")],
)
def test_a_rule_about_a_branch_holds_for_a_pull_request_that_changes_it(
    tool: str, head: str, base: str, file: str, number: str
) -> None:
    args: dict[str, Json] = {"owner": "acme", "repo": "app", number: 7}
    for of in (rule(branch={"const": "prod"}), text("^prod$")):
        assert judged_after(file, tool, args, pull(head, base), of).verdict is Verdict.DENY
        assert judged_after(file, tool, args, pull("y", "z"), of).verdict is not Verdict.DENY
        assert judged_after(file, tool, args, pull(base, head), of).verdict is not Verdict.DENY
    phrase = rule({"at_least": CallClass.DESTRUCTIVE}, branch={"const": "prod"})
    assert judged_after(file, tool, args, pull(head, base), phrase).verdict is Verdict.TYPED


@pytest.mark.parametrize(("file", "number"), PULLS)
def test_a_rule_about_a_repository_and_its_branch_holds_for_a_pull_request_that_comes_from_there(
    file: str, number: str
) -> None:
    args: dict[str, Json] = {"owner": "me", "repo": "app-fork", number: 7}
    of = rule(owner={"const": "acme"}, repo={"const": "app"}, branch={"const": "prod"})
    for repo, verdict in (("Acme/App", Verdict.DENY), ("acme/other", Verdict.CONFIRM)):
        found = judged_after(file, "update_pull_request_branch", args, pull("prod", "x", repo), of)
        assert found.verdict is verdict


@pytest.mark.parametrize(("file", "number"), PULLS)
def test_a_branch_of_a_pull_request_whose_repository_is_gone_counts_as_one_of_the_repository_asked_for(
    file: str, number: str
) -> None:
    args: dict[str, Json] = {"owner": "acme", "repo": "app", number: 7}
    gone: dict[str, Json] = {"pull": {"text": json.dumps({"head": {"ref": "prod", "repo": None}})}}
    of = rule(repo={"const": "app"}, branch={"const": "prod"})
    assert judged_after(file, "update_pull_request_branch", args, gone, of).verdict is Verdict.DENY


STATUS = "Repository status:\n{}\nChanges to be committed:\n\tnew file:   d.md\n"
UNDER_WAY = [
    "On branch main\nAll conflicts fixed but you are still merging.",
    "On branch main\nYou have unmerged paths.",
    "On branch main\nYou are currently cherry-picking commit f87b979.",
    "On branch main\nCherry-pick currently in progress.",
    "On branch main\nYou are currently reverting commit 0506374.",
    "interactive rebase in progress; onto f87b979\nLast command done (1 command done):",
    "HEAD detached at f87b979\nYou are currently editing a commit while rebasing branch 'x' on 'y'.",
    "On branch main\nYou are in the middle of an am session.",
    "## main",
    "A  d.md",
]
FINISHED = [
    "On branch main\n",
    "HEAD detached at f87b979\nnothing to commit",
    "On branch You are currently merging\n\tAll conflicts fixed",
    "On branch main\nYou are currently bisecting, started from branch 'main'.",
]
IN_FOLDER = {"git_commit": {"message": "Add d"}, "git_checkout": {"branch_name": "dev"}}


def status(said: str) -> dict[str, Json]:
    return {name: {"text": STATUS.format(said), "error": False} for name in ("before", "staged", "status")}


@pytest.mark.parametrize("tool", IN_FOLDER)
@pytest.mark.parametrize("said", UNDER_WAY)
def test_a_commit_while_a_merge_is_under_way_wants_a_phrase_and_is_refused_where_rules_are_about_files(
    said: str, tool: str
) -> None:
    args: dict[str, Json] = {"repo_path": "/r", **IN_FOLDER[tool]}
    usual = Rule("r", ("other.*",), deny=True)
    assert judged_after("server-git", tool, args, status(said), usual).verdict is Verdict.TYPED
    found = judged_after("server-git", tool, args, status(said), text("^hr/"))
    assert (found.verdict, found.rule) == (Verdict.DENY, "leads elsewhere")


@pytest.mark.parametrize("tool", IN_FOLDER)
@pytest.mark.parametrize("said", FINISHED)
def test_a_commit_while_nothing_is_under_way_is_confirmed_by_a_click(said: str, tool: str) -> None:
    args: dict[str, Json] = {"repo_path": "/r", **IN_FOLDER[tool]}
    assert judged_after("server-git", tool, args, status(said), text("^hr/")).verdict is Verdict.CONFIRM


def test_a_commit_whose_status_was_not_read_wants_a_phrase_once_the_reads_were_made() -> None:
    args: dict[str, Json] = {"repo_path": "/r", "message": "m"}
    usual = Rule("r", ("other.*",), deny=True)
    assert judged(spec("server-git", "git_commit"), args, usual).verdict is Verdict.CONFIRM
    assert judged_after("server-git", "git_commit", args, {}, usual).verdict is Verdict.TYPED


FILE: dict[str, Json] = {"owner": "acme", "repo": "app", "path": "a.md"}
DEFAULT_BRANCH: list[tuple[str, str, str, list[Json]]] = [
    ("github-mcp-server", "get_file_contents", "ref", [None, "", "main"]),
    ("github-mcp-server", "get_file_blame", "ref", [None, ""]),
    ("github-mcp-server", "list_commits", "sha", [None, ""]),
    ("server-github", "list_commits", "sha", [None, ""]),
    ("server-github", "get_file_contents", "branch", [None, ""]),
    ("github-mcp-server", "create_branch", "from_branch", [None, ""]),
    ("server-github", "create_branch", "from_branch", [None, ""]),
]


@pytest.mark.parametrize(("file", "tool", "name", "said"), DEFAULT_BRANCH)
def test_the_default_branch_is_refused_where_a_rule_is_about_branches_and_as_usual_where_none_is(
    file: str, tool: str, name: str, said: list[Json]
) -> None:
    own = spec(file, tool)
    given = {key: value for key, value in (FILE | {"branch": "new"}).items() if key in own.required}
    usual = judged(own, dict(given), Rule("r", ("other.*",), deny=True)).verdict
    assert usual is (Verdict.CONFIRM if tool == "create_branch" else Verdict.RUN)
    for one in said:
        args = given if one is None else {**given, name: one}
        for of in (rule(**{name: {"const": "prod"}}), rule(**{name: {"not": {"const": "dev"}}})):
            assert judged(own, dict(args), of).verdict is Verdict.DENY
        for of in (text("^hr/"), rule(path={"pattern": "^hr/"}), rule(owner={"const": "other"})):
            assert judged(own, dict(args), of).verdict is usual
    named = judged(own, {**given, name: "dev"}, rule(**{name: {"const": "prod"}}))
    assert named.verdict is usual


@pytest.mark.parametrize("tool", ["get_file_contents", "get_commit", "list_commits"])
def test_a_rule_about_a_ref_holds_for_one_that_is_asked_for_as_a_commit(tool: str) -> None:
    own = spec("github-mcp-server", tool)
    args: dict[str, Json] = {key: value for key, value in FILE.items() if key in own.schema["properties"]}
    of = rule(ref={"const": "prod"})
    assert holds("github-mcp-server", tool, {**args, "sha": "prod"}, of)
    for usual in ("dev", "1f2e3d4c" * 5, "1f2e3d4c"):
        assert judged(own, {**args, "sha": usual}, of).verdict is Verdict.RUN


REMOTES = [
    ("git_show", "revision"), ("git_diff", "target"), ("git_checkout", "branch_name"),
    ("git_create_branch", "base_branch"),
]  # fmt: skip


@pytest.mark.parametrize("said", ["origin/pay", "upstream/pay", "remotes/origin/pay"])
@pytest.mark.parametrize(("tool", "name"), REMOTES)
def test_a_branch_of_a_remote_is_refused_where_a_rule_names_branches(tool: str, name: str, said: str) -> None:
    own = spec("server-git", tool)
    args: dict[str, Json] = {"repo_path": "/r", name: said}
    args |= {"branch_name": "new"} if tool == "git_create_branch" else {}
    assert judged(own, dict(args), rule(**{name: {"const": "pay"}})).rule == "leads elsewhere"
    usual = judged(own, {**args, name: "feature/pay"}, rule(**{name: {"const": "pay"}}))
    assert usual.verdict is (Verdict.RUN if tool in ("git_show", "git_diff") else Verdict.CONFIRM)
    if not said.startswith("remotes/"):
        assert judged(own, dict(args), text("^hr/")).verdict is usual.verdict


@pytest.mark.parametrize(
    ("file", "tool", "args", "of", "plain"),
    [
        (
            "server-github",
            "create_or_update_file",
            {"branch": "refs/heads/main"},
            {"branch": {"const": "main"}},
            "x",
        ),
        ("server-git", "git_show", {"revision": "heads/pay"}, {"revision": {"const": "pay"}}, "x"),
        ("server-git", "git_checkout", {"branch_name": "heads/pay"}, {"branch_name": {"const": "pay"}}, "x"),
        (
            "mcp-atlassian",
            "jira_assign_issue",
            {"issue_key": "10001"},
            {"issue_key": {"pattern": "^PAY-"}},
            "OPS-1",
        ),
    ],
)
def test_one_more_name_of_the_same_takes_the_phrase_that_a_rule_wants_for_what_it_may_be(
    file: str, tool: str, args: dict[str, Json], of: dict[str, Json], plain: str
) -> None:
    """It was read at once, or done by one click."""
    own, phrase = spec(file, tool), {"at_least": CallClass.DESTRUCTIVE}
    (name,) = args
    about_other = {f"not_{name}": {"const": "z"}}
    assert judged(own, dict(args), rule(phrase, **of)).verdict is Verdict.TYPED
    assert judged(own, {name: plain}, rule(phrase, **of)).verdict is not Verdict.TYPED
    assert judged(own, dict(args), Rule("r", ("s.*",), **phrase)).verdict is Verdict.TYPED
    elsewhere = Rule("r", ("other.*",), at_least=CallClass.DESTRUCTIVE, schema={"properties": about_other})
    assert judged(own, dict(args), elsewhere).verdict is not Verdict.TYPED


def test_a_folder_that_is_staged_takes_the_phrase_that_a_rule_wants_for_a_file_in_it() -> None:
    own = spec("server-git", "git_add")
    hr = Rule("r", ("*",), at_least=CallClass.DESTRUCTIVE, texts=("^hr/",))
    for files in (["hr/pay.md"], ["hr"], ["."]):
        assert judged(own, {"repo_path": "/r", "files": files}, hr).verdict is Verdict.TYPED
    assert judged(own, {"repo_path": "/r", "files": ["a.md"]}, hr).verdict is Verdict.CONFIRM


OF_BRANCHES = [
    ("github-mcp-server", "get_file_contents", "ref"),
    ("github-mcp-server", "get_file_contents", "sha"),
    ("github-mcp-server", "get_file_blame", "ref"),
    ("github-mcp-server", "get_commit", "sha"),
    ("github-mcp-server", "list_commits", "sha"),
    ("github-mcp-server", "get_repository_tree", "tree_sha"),
    ("github-mcp-server", "actions_run_trigger", "ref"),
    ("github-mcp-server", "assign_copilot_to_issue", "base_ref"),
    ("github-mcp-server", "create_branch", "from_branch"),
    ("github-mcp-server", "create_pull_request", "head"),
    ("github-mcp-server", "update_pull_request", "base"),
    ("server-github", "get_file_contents", "branch"),
    ("server-github", "list_commits", "sha"),
    ("server-github", "create_branch", "from_branch"),
    ("server-github", "create_pull_request", "head"),
    ("server-github", "create_pull_request", "base"),
]


@pytest.mark.parametrize(
    "said", ["refs/pull/7/head", "pull/7/merge", "refs/tags/prod", "tags/prod", "remotes/a/prod"]
)
@pytest.mark.parametrize(("file", "tool", "name"), OF_BRANCHES)
def test_a_qualified_name_at_github_is_refused_where_a_rule_names_a_branch_or_a_tag(
    file: str, tool: str, name: str, said: str
) -> None:
    own = spec(file, tool)
    known = FILE | {"branch": "new", "title": "t", "head": "x", "base": "dev"}
    given = {key: known.get(key, "1") for key in own.required}
    for of in (rule(**{name: {"const": "prod"}}), text("^prod$")):
        found = judged(own, {**given, name: said}, of)
        assert (found.verdict, found.rule) == (Verdict.DENY, "leads elsewhere")
        assert judged(own, {**given, name: "feature/pull"}, of).verdict is not Verdict.DENY
    other = Rule("r", ("other.*",), deny=True)
    usual = judged(own, {**given, name: "feature/pull"}, other).verdict
    assert judged(own, {**given, name: said}, other).verdict is usual


def of_git(tool: str, name: str, said: Json) -> dict[str, Json]:
    made = {"branch_name": "new"} if tool == "git_create_branch" else {}
    return {"repo_path": "/r", **made, name: said}


@pytest.mark.parametrize("said", [":/raise", ":/!-first", ":/", "main^{/raise}", "main^!", "main^-1"])
@pytest.mark.parametrize(("tool", "name"), REMOTES[:3])
def test_a_commit_that_git_looks_for_by_its_message_is_refused_where_a_rule_names_branches(
    tool: str, name: str, said: str
) -> None:
    own = spec("server-git", tool)
    for of in (rule(**{name: {"pattern": "^pay"}}), text("^pay")):
        assert judged(own, of_git(tool, name, said), of).rule == "leads elsewhere"
        assert judged(own, of_git(tool, name, "main"), of).verdict is not Verdict.DENY
    other = Rule("r", ("other.*",), deny=True)
    assert judged(own, of_git(tool, name, said), other).verdict is not Verdict.DENY


@pytest.mark.parametrize(
    "said", ["HEAD", "HEAD~1", "HEAD:a.md", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "head", "stash", ":a.md"]
)
@pytest.mark.parametrize(("tool", "name"), REMOTES[:3])
def test_the_branch_that_is_checked_out_is_refused_as_head_where_a_rule_names_branches(
    tool: str, name: str, said: str
) -> None:
    own = spec("server-git", tool)
    assert (
        judged(own, of_git(tool, name, said), rule(**{name: {"pattern": "^pay"}})).rule == "leads elsewhere"
    )
    usual = judged(own, of_git(tool, name, said), Rule("r", ("other.*",), deny=True)).verdict
    assert usual is not Verdict.DENY
    if tool != "git_checkout":
        assert judged(own, of_git(tool, name, said), text("^hr/")).verdict is usual
    for plain in ("overhead", "feature/HEAD-count", "stash-page", "main"):
        found = judged(own, of_git(tool, name, plain), rule(**{name: {"pattern": "^pay"}}))
        assert found.verdict is (Verdict.CONFIRM if tool == "git_checkout" else Verdict.RUN)


@pytest.mark.parametrize(
    "said",
    [
        "original/refs/heads/pay",
        "prefetch/remotes/origin/pay",
        "pull/7/head",
        "worktrees/pay/HEAD",
        "main-worktree/HEAD",
        "logs/refs/heads/pay",
        "rebase-merge/onto",
        "bisect/bad",
        "Heads/pay",
    ],
)
@pytest.mark.parametrize(("tool", "name"), REMOTES)
def test_what_git_keeps_beside_branches_is_refused_where_a_rule_names_branches(
    tool: str, name: str, said: str
) -> None:
    own = spec("server-git", tool)
    for of in (rule(**{name: {"pattern": "^pay"}}), text("^pay")):
        assert judged(own, of_git(tool, name, said), of).rule == "leads elsewhere"
    usual = judged(own, of_git(tool, name, said), Rule("r", ("other.*",), deny=True)).verdict
    assert usual is (Verdict.RUN if tool in ("git_show", "git_diff") else Verdict.CONFIRM)


@pytest.mark.parametrize("base", [None, "", "HEAD", "7/head"])
def test_a_branch_made_of_the_one_that_is_checked_out_is_refused_where_a_rule_names_its_base(
    base: str | None,
) -> None:
    own = spec("server-git", "git_create_branch")
    args: dict[str, Json] = {"repo_path": "/r", "branch_name": "new", "base_branch": base}
    left_out: dict[str, Json] = {"repo_path": "/r", "branch_name": "new"}
    for given in (args, left_out):
        assert judged(own, dict(given), rule(base_branch={"const": "pay"})).rule == "leads elsewhere"
        for of in (rule(branch_name={"const": "pay"}), text("^hr/"), Rule("r", ("other.*",), deny=True)):
            assert judged(own, dict(given), of).verdict is Verdict.CONFIRM


@pytest.mark.parametrize("said", ["origin", "upstream", "Origin", "origin:a.md", "origin~1", "origin^"])
@pytest.mark.parametrize(("tool", "name"), REMOTES)
def test_a_remote_alone_is_refused_where_a_rule_names_branches(tool: str, name: str, said: str) -> None:
    own = spec("server-git", tool)
    of = rule(**{name: {"pattern": "^main"}})
    assert judged(own, of_git(tool, name, said), of).rule == "leads elsewhere"
    usual = Verdict.RUN if tool in ("git_show", "git_diff") else Verdict.CONFIRM
    assert judged(own, of_git(tool, name, "origins"), of).verdict is usual
    assert judged(own, of_git(tool, name, "origin"), text("^hr/")).verdict is usual
