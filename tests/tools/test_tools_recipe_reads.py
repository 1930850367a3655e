"""Reads of reviewed servers: whatever gives the content of files says of which, so that none gives a secret file's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from gate.arguments.canonical_paths import with_canonical_paths
from gate.arguments.declared_targets import Targets, with_resolved_paths
from gate.arguments.tool_names import only_reads
from gate.rules.action import CallClass, Json, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.gated_files import file_readers, gated_files
from gate.rules.policy import Policy, Rule, decide
from gate.rules.result_targets import found_files
from gate.rules.templates import TemplateError
from gate.rules.tool import ToolSpec, Trust
from servers.tool_metadata import META
from tests.servers.all_servers import tools as bundled_tools
from tools.mcp.schema import problems
from tools.recipes.check import load_recorded_schemas
from tools.recipes.reader import load_recipes, read_recipe

FOLDER = Path(__file__).parents[2] / "manifests" / "tools"
FILES, RECORDED = load_recipes(FOLDER), load_recorded_schemas(FOLDER)
OWN = Rule("finance is asked about", ("*",), at_least=CallClass.DESTRUCTIVE, texts=(r"(^|/)finance/",))
POLICY, BUILT_IN = Policy("p", rules=(*ALWAYS, OWN)), Policy("p", rules=ALWAYS)
PULL: dict[str, Json] = {"owner": "o", "repo": "r", "pull_number": 1}
PULL_READ: dict[str, Json] = {"owner": "o", "repo": "r", "pullNumber": 1}
PATCH = "@@ -0,0 +1 @@\n+TOKEN=hush"


def matches(schema: Json, value: Json) -> bool:
    return not problems(schema, value)


@cache
def specs(file: str) -> list[ToolSpec]:
    known = RECORDED[file].schemas
    return [
        ToolSpec(
            file,
            name,
            name,
            "",
            known[name].input_schema,
            "d",
            trust=Trust.REVIEWED,
            reviewed=True,
            recipe=FILES[file].recipe(name),
        )
        for name in FILES[file].tools
    ]


def kept(file: str, tool: str, args: dict[str, Json], text: str, policy: Policy = POLICY) -> bool:
    """Whether this read is asked about first, or its answer is not given."""
    every = specs(file)
    spec = next(one for one in every if one.name == tool)
    targets = spec.recipe.targets or Targets()
    args = with_canonical_paths(targets, args)
    if decide(policy, spec, args, "C1", matches).verdict is not Verdict.RUN:
        return True
    try:
        paths = found_files(targets, args, None, text)
    except TemplateError:
        return True
    return any(gated_files(policy, file_readers(spec, every, args), paths, "C1", matches))


# GitHub


def diff(path: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- /dev/null\n+++ b/{path}\n{PATCH}"


def patched(path: str) -> list[Json]:
    return [
        {"filename": "README.md", "status": "modified", "patch": "@@"},
        {"filename": path, "patch": PATCH},
    ]


def renamed(path: str) -> list[Json]:
    return [{"filename": "notes.md", "status": "renamed", "previous_filename": path, "patch": PATCH}]


def commented(path: str) -> list[Json]:
    return [{"id": 7, "diff_hunk": PATCH, "path": path, "body": "Why?"}]


def hit(path: str) -> Json:
    fragments: list[Json] = [{"property": "content", "fragment": "TOKEN=hush"}]
    return {"total_count": 1, "items": [{"name": "x", "path": path, "text_matches": fragments}]}


def gist(path: str) -> Json:
    return {"id": "1", "files": {path: {"size": 10, "filename": path, "content": "TOKEN=hush"}}}


GITHUB = {
    "files": ("server-github", "get_pull_request_files", PULL, patched),
    "renamed": ("server-github", "get_pull_request_files", PULL, renamed),
    "comments": ("server-github", "get_pull_request_comments", PULL, commented),
    "code": ("server-github", "search_code", {"q": "TOKEN"}, hit),
    "commit": ("github-mcp-server", "get_commit", {"sha": "main"}, lambda path: {"files": patched(path)}),
    "pull files": ("github-mcp-server", "pull_request_read", {**PULL_READ, "method": "get_files"}, patched),
    "pull diff": ("github-mcp-server", "pull_request_read", {**PULL_READ, "method": "get_diff"}, diff),
    "own code": ("github-mcp-server", "search_code", {"query": "TOKEN"}, hit),
    "gist": ("github-mcp-server", "get_gist", {"gist_id": "1"}, gist),
    "gists": ("github-mcp-server", "list_gists", {}, lambda path: [gist(path)]),
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("case", GITHUB.values(), ids=GITHUB)
def test_no_read_of_github_gives_what_is_in_a_secret_file(case, indent: int | None) -> None:
    file, tool, args, answer = case
    for path, is_kept in ((".env", True), ("finance/pay.csv", True), ("src/app.py", False)):
        told = answer(path)
        text = told if isinstance(told, str) else json.dumps(told, indent=indent)
        assert kept(file, tool, args, text) is is_kept


@pytest.mark.parametrize(
    ("tool", "args", "answer"),
    [
        ("get_commit", {"sha": "main"}, {"files": [{"filename": ".env", "additions": 1}]}),
        ("search_code", {"query": "x"}, {"items": [{"path": ".env", "text_matches": []}]}),
        ("list_gists", {}, [{"files": {".env": {"filename": ".env", "size": 7}}}]),
        (
            "pull_request_read",
            {**PULL_READ, "method": "get_review_comments"},
            [{"path": ".env", "body": "Out!"}],
        ),
    ],
)
def test_a_read_of_github_that_only_names_a_secret_file_is_answered(
    tool: str, args: dict[str, Json], answer: Json
) -> None:
    assert not kept("github-mcp-server", tool, args, json.dumps(answer))


@pytest.mark.parametrize("case", [case for name, case in GITHUB.items() if name != "pull diff"])
def test_an_answer_of_github_that_is_cut_off_before_a_name_is_not_given(case) -> None:
    file, tool, args, answer = case
    text = json.dumps(answer("src/app.py"))
    assert kept(file, tool, args, text[: text.index("hush") + 4])


@pytest.mark.parametrize("tool", ["get_secret_scanning_alert", "list_secret_scanning_alerts"])
def test_the_secrets_that_github_has_found_take_a_typed_phrase(tool: str) -> None:
    spec = next(one for one in specs("github-mcp-server") if one.name == tool)
    args: dict[str, Json] = {"owner": "o", "repo": "r", "alertNumber": 1}
    assert decide(POLICY, spec, args, "C1", matches).verdict is Verdict.TYPED


# Git


def git(repo: Path, *args: str) -> str:
    command = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@example.com", *args]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


FOLDERS = (".kube/config", ".docker/config.json", ".ssh/config", "finance/pay.csv", "docs/a.md")


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which somebody has committed secrets, and removed them since."""
    repo = tmp_path_factory.mktemp("repo")
    git(repo, "init", "-q")
    for name in FOLDERS:
        (repo / name).parent.mkdir()
        (repo / name).write_text("token: hush\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "Keep all")
    git(repo, "rm", "-rq", *FOLDERS)
    git(repo, "commit", "-qm", "Remove all")
    return repo


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("target", ["HEAD~1:{}", "HEAD~1:{}/", "HEAD~1:./{}", "HEAD~1^{{tree}}:docs/../{}"])
def test_a_difference_to_a_folder_of_a_revision_is_not_given_at_once(
    repo: Path, name: str, target: str
) -> None:
    folder = name.partition("/")[0]
    told = git(repo, "diff", f"HEAD~1:{folder}")
    assert "hush" in told
    args: dict[str, Json] = {"repo_path": str(repo), "target": target.format(folder)}
    assert kept("server-git", "git_diff", args, f"Diff:\n{told}")


BLOB = "7cf4b3e6b0d63a74c95c60e4a7a995934133cb1c"
COMMIT = f"commit {BLOB}\nAuthor: Ann <ann@example.com>\nDate:   2026-10-19 10:00:00 +0000\n\n    Keep\n"


@pytest.mark.parametrize(
    "revision", [BLOB, BLOB[:7], BLOB.upper(), "a-tag", f"{BLOB}^{{}}", f"{BLOB}^{{blob}}", "HEAD^{tree}"]
)
@pytest.mark.parametrize("text", ["TOKEN=hush", "commit TOKEN=hush", f"commit {BLOB}\nTOKEN=hush", ""])
def test_what_is_no_commit_and_was_asked_for_by_no_path_is_not_given(revision: str, text: str) -> None:
    assert kept("server-git", "git_show", {"repo_path": "/home/ann/app", "revision": revision}, text)


@pytest.mark.parametrize("revision", [BLOB, BLOB[:7], "HEAD", "HEAD~2", "main", "a-tag", "HEAD^{/fix: it}"])
def test_a_commit_is_given_by_any_of_its_names(revision: str) -> None:
    args: dict[str, Json] = {"repo_path": "/home/ann/app", "revision": revision}
    policy = BUILT_IN if "^{" in revision else POLICY  # what it names may be what a rule is about
    assert not kept("server-git", "git_show", args, COMMIT + "\n" + diff("a.md"), policy)
    assert not kept("server-git", "git_show", args, COMMIT, policy)
    assert kept("server-git", "git_show", args, COMMIT + "\n" + diff(".env"))


@pytest.mark.parametrize(
    ("path", "secret"), [("a.md", False), ("docs", False), ("", False), (".env", True), ("docs/.env", True)]
)
@pytest.mark.parametrize("tree", ["HEAD", "main", "HEAD~1", "HEAD^{tree}", ":0"])
def test_a_file_of_a_revision_is_given_by_its_path(tree: str, path: str, secret: bool) -> None:
    args: dict[str, Json] = {"repo_path": "/home/ann/app", "revision": f"{tree}:{path}"}
    policy = BUILT_IN if "^{" in tree else POLICY
    assert kept("server-git", "git_show", args, "what is in it", policy) is secret


READS: list[tuple[str, dict[str, Json]]] = [
    ("git_diff_unstaged", {}),
    ("git_diff_staged", {}),
    ("git_diff", {"target": "HEAD"}),
    ("git_show", {"revision": "HEAD"}),
]
HELD = [
    ("home/.kube", "config"),
    (".ssh", "config"),
    (".docker", "config.json"),
    ("finance", "pay.csv"),
    ("x/.config/gh", "hosts.yml"),
]


@pytest.mark.parametrize("end", ["", "/", "/.", "/.git", "/.git/", "/sub/.."])
@pytest.mark.parametrize(("folder", "name"), HELD)
def test_a_repository_that_is_a_secret_folder_gives_nothing_of_the_files_in_it(
    folder: str, name: str, end: str
) -> None:
    for tool, more in READS:
        head = COMMIT + "\n" if tool == "git_show" else ""
        args: dict[str, Json] = {"repo_path": f"/home/ann/{folder}{end}", **more}
        assert kept("server-git", tool, args, head + diff(name))
        policy = BUILT_IN if ".git" in end else POLICY  # the repository around it has another name
        other = {**args, "repo_path": f"/home/ann/app{end}"}
        assert not kept("server-git", tool, other, head + diff(name), policy)
        assert not kept("server-git", tool, args, head + diff("README.md"), policy) or folder in (
            "finance",
            ".ssh",
        )  # all of it


@pytest.mark.parametrize("branch", ["finance/2026", "origin/finance/2026", "HEAD"])
def test_the_name_of_a_branch_is_not_taken_for_a_folder(branch: str) -> None:
    spec = next(one for one in specs("server-git") if one.name == "git_diff")
    args: dict[str, Json] = {"repo_path": "/home/ann/app", "target": branch}
    assert spec.recipe.targets
    found = found_files(spec.recipe.targets, args, None, diff("a.md"))
    assert found == ("a.md", "ann/app/a.md")


@pytest.mark.parametrize(("folder", "name"), [one for one in HELD if one[0] != "finance"])
@pytest.mark.parametrize("tool", ["git_commit", "git_reset"])
def test_what_is_staged_in_a_secret_folder_is_not_on_a_card(tool: str, folder: str, name: str) -> None:
    spec = next(one for one in specs("server-git") if one.name == tool)
    for path, secret in ((f"/home/ann/{folder}", True), ("/home/ann/app", False)):
        args: dict[str, Json] = {"repo_path": path, "message": "m"}
        capture = {"staged": {"text": diff(name)}, "status": {"text": "On branch main\n"}}
        told = with_resolved_paths(spec.recipe.targets, args, capture)
        assert told
        looked = replace(spec, recipe=replace(spec.recipe, targets=told))
        assert decide(POLICY, looked, args, "C1", matches).secret is secret


# All of them

# Reads that give nothing of what is in a file, by what they give.
REVIEWED = {
    "issues, pages, people and projects; of what is attached the names": "mcp-atlassian.* notion-mcp-server.*",
    "what was told to be remembered, or rows of one database": "server-memory.* server-sqlite.*",
    "names, sizes and dates of files": """server-filesystem.list_* server-filesystem.directory_tree
        server-filesystem.search_files server-filesystem.get_file_info server-git.git_status
        github-mcp-server.get_repository_tree""",
    "names and messages of branches, commits and releases": """server-git.git_branch server-git.git_log
        *.list_branches *.list_commits *.search_commits *.list_tags *.get_tag *.list_releases *.get_latest_release
        *.get_release_by_tag""",
    "issues, pull requests, discussions and projects, without their files": """*.list_issues *.get_issue *.issue_read
        *.search_issues *.list_pull_requests *.search_pull_requests *.get_pull_request *.get_pull_request_status
        *.get_pull_request_reviews *.list_issue_* *.get_label *.list_label *.get_discussion* *.list_discussion*
        *.projects_*""",
    "repositories, people and what they are told": """*.search_repositories *.list_starred_repositories *.search_users
        *.search_orgs *.get_me *.get_team* *.list_repository_collaborators *.ui_get *.get_notification_details
        *.list_notifications""",
    "runs and what they print": "*.actions_* *.get_job_logs",
    "where something is found to be wrong, and what": """*.get_code_quality_finding *.get_code_scanning_alert
        *.list_code_scanning_alerts *.get_dependabot_alert *.list_dependabot_alerts *_security_advisor*""",
}
BUNDLED = {
    "names, sizes and hashes of files": """*.get_metadata *.describe_paths *.preview_restore filesystem.list_*
        filesystem.preview_* audit.preview_export system.preview_open security.find_duplicates
        security.propose_cleanup security.preview_* knowledge.check_index knowledge.preview_*""",
    "where secrets and personal data are, without them": "security.scan_for_*",
    "events, mails, tasks, copied texts, recorded calls": "calendar.* email.* task.* clipboard.* audit.*",
    "rows that a call gave, or its own": "data.preview_restore_rows data.check_rows",
    "the machine, its screen, and whom something is encrypted for": """system.get_system_info system.list_processes
        system.take_screenshot security.show_recipient""",
}


def silent(reads: Iterable[tuple[str, Targets | None]], spared: dict[str, str]) -> list[str]:
    """Those that do not say of which files they give the content, by argument or in their answer."""
    patterns = [pattern for listed in spared.values() for pattern in listed.split()]
    return [
        name
        for name, targets in reads
        if not (targets and (targets.paths or targets.found))
        and not any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def reviewed_reads() -> Iterator[tuple[str, Targets | None]]:
    """What a reviewed server answers at once, and what is declared of it. A tool without a recipe counts as it says."""
    for file, recorded in RECORDED.items():
        covered = {spec.name: spec for spec in specs(file)}
        for name, schemas in recorded.schemas.items():
            spec = covered.get(name)
            args: dict[str, Json] = dict.fromkeys(schemas.input_schema.get("required", ()), "x")
            if spec and decide(POLICY, spec, args, "C1", matches).verdict is Verdict.RUN:
                yield f"{file}.{name}", spec.recipe.targets
            if spec is None and only_reads(name):
                yield f"{file}.{name}", None


def test_each_read_of_a_reviewed_server_says_of_which_files_it_gives_the_content() -> None:
    assert silent(reviewed_reads(), REVIEWED) == []


async def test_each_read_of_a_bundled_server_says_of_which_files_it_gives_the_content(tmp_path: Path) -> None:
    recipes = {
        f"{server}.{tool.name}": read_recipe((tool.meta or {}).get(META, {}))
        for server, tools in (await bundled_tools(tmp_path)).items()
        for tool in tools
    }
    reads = [(name, recipe.targets) for name, recipe in recipes.items() if recipe.cls is CallClass.READ]
    assert len(reads) > len(recipes) / 3
    assert silent(reads, BUNDLED) == []


def test_a_read_that_says_nothing_of_its_files_is_named() -> None:
    reads = [("server-github.get_patch", None), ("server-github.get_patches", Targets(looks=("path",)))]
    assert silent(reads, REVIEWED) == [name for name, _ in reads]
    assert silent([("server-github.get_patch", Targets(found=("path",)))], REVIEWED) == []
