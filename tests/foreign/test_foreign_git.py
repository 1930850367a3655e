"""The story with mcp-server-git: look, stage, commit what was shown, and unstage by typing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.foreign.conftest import git
from tests.foreign.thread import Thread, text_in
from tests.product import OPS, Product
from workspace.state import Message

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ProductAndFolder = tuple[Product, Path]


def two(found: list[Message]) -> list[Message]:
    return found if len(found) == 2 else []


async def test_a_status_is_answered_at_once(git_product: ProductAndFolder):
    product, repo = git_product
    thread = await Thread.ask(product, "git.git_status", repo_path=str(repo))
    assert "modified:   a.md" in thread.shown
    assert thread.buttons == []


async def test_a_commit_shows_what_is_committed(git_product: ProductAndFolder):
    product, repo = git_product
    staged = await Thread.ask(product, "git.git_add", repo_path=str(repo), files=["a.md"])
    await staged.confirm()
    assert git(repo, "diff", "--cached", "--name-only") == "a.md\n"

    thread = await Thread.ask(product, "git.git_commit", repo_path=str(repo), message="second")
    assert "-one" in thread.shown
    assert "+two" in thread.shown
    assert "cannot be undone" in thread.shown
    assert git(repo, "log", "--format=%s") == "first\n"
    await thread.confirm()
    assert git(repo, "log", "--format=%s") == "second\nfirst\n"


async def test_a_commit_names_a_submodule_that_gitmodules_hides(
    git_product: ProductAndFolder, tmp_path: Path
):
    product, repo = git_product
    library, local = tmp_path / "library", ("-c", "protocol.file.allow=always")
    library.mkdir()
    git(library, "init", "-q", "-b", "main")
    for name in ("user.name", "user.email"):
        git(library, "config", name, "a@example.com")
    git(library, "commit", "-q", "--allow-empty", "-m", "one")
    git(repo, *local, "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(repo, "config", "-f", ".gitmodules", "submodule.vendor/lib.ignore", "all")
    git(repo, "add", ".gitmodules")
    git(repo, "commit", "-q", "-m", "quiet")
    git(library, "commit", "-q", "--allow-empty", "-m", "two")
    git(repo / "vendor/lib", *local, "pull", "-q")
    git(repo, "add", "-f", "vendor/lib")
    git(repo, "add", "a.md")
    thread = await Thread.ask(product, "git.git_commit", repo_path=str(repo), message="second")
    assert "modified:   vendor/lib" in thread.shown


async def test_a_commit_whose_content_changed_after_the_card_is_shown_again(git_product: ProductAndFolder):
    product, repo = git_product
    git(repo, "add", "a.md")
    thread = await Thread.ask(product, "git.git_commit", repo_path=str(repo), message="second")
    (repo / "b.md").write_text("secret\n")
    git(repo, "add", "b.md")
    await thread.press("confirm")
    await thread.becomes("Cancelled")
    _, fresh = await product.ws.wait_for(lambda: two(product.ws.by_app(OPS, thread.ts)), 20)
    assert "secret" in text_in(fresh.blocks)
    assert git(repo, "log", "--format=%s") == "first\n"


async def test_a_commit_in_the_middle_of_a_merge_says_so_and_wants_a_phrase(git_product: ProductAndFolder):
    product, repo = git_product
    git(repo, "checkout", "--", "a.md")
    git(repo, "checkout", "-q", "-b", "other")
    (repo / "b.md").write_text("b\n")
    git(repo, "add", "b.md")
    git(repo, "commit", "-q", "-m", "hidden")
    git(repo, "checkout", "-q", "main")
    (repo / "a.md").write_text("put aside\n")
    git(repo, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "--autostash", "other")
    (repo / "d.md").write_text("d\n")
    git(repo, "add", "d.md")
    thread = await Thread.ask(product, "git.git_checkout", repo_path=str(repo), branch_name="other")
    assert "you are still merging" in thread.shown
    assert "confirm" not in thread.buttons
    thread = await Thread.ask(product, "git.git_commit", repo_path=str(repo), message="Add d")
    assert "Conclude what is under way" in thread.shown
    assert "All conflicts fixed but you are still merging." in thread.shown
    assert "confirm" not in thread.buttons
    assert (repo / "a.md").read_text() == "one\n"
    await thread.type_phrase()
    assert (repo / "a.md").read_text() == "put aside\n"
    assert git(repo, "log", "-1", "--format=%s").startswith("Add d")


async def test_unstaging_wants_a_phrase(git_product: ProductAndFolder):
    product, repo = git_product
    git(repo, "add", "a.md")
    thread = await Thread.ask(product, "git.git_reset", repo_path=str(repo))
    assert thread.buttons == ["review", "edit", "cancel", "more"]
    await thread.type_phrase()
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert (repo / "a.md").read_text() == "two\n"


async def test_a_file_is_shown_by_its_path_and_never_by_its_id_or_a_tag(git_product: ProductAndFolder):
    product, repo = git_product
    (repo / ".env").write_text("PASSWORD=hunter2\n")
    git(repo, "add", ".env", "a.md")
    git(repo, "commit", "-m", "second")
    blob, tree = git(repo, "rev-parse", "HEAD:.env").strip(), git(repo, "rev-parse", "HEAD^{tree}").strip()
    git(repo, "tag", "aside", blob)
    for revision in (blob, blob[:7], "aside", f"{blob}^{{blob}}", "HEAD", "HEAD:.env", f"{tree}:.env"):
        thread = await Thread.ask(product, "git.git_show", repo_path=str(repo), revision=revision)
        assert "hunter2" not in thread.shown, revision
    for revision in (f"{tree}:a.md", f"{tree[:7]}:a.md"):  # whatever the folder is called, the server refuses
        thread = await Thread.ask(product, "git.git_show", repo_path=str(repo), revision=revision)
        assert "two" not in thread.shown
    commit = git(repo, "rev-parse", "HEAD").strip()
    whole = (("HEAD:a.md", "two"), (f"{commit[:7]}:a.md", "two"), ("HEAD~1", "first"), ("HEAD:", "a.md"))
    for revision, told in whole:
        thread = await Thread.ask(product, "git.git_show", repo_path=str(repo), revision=revision)
        assert told in thread.shown
        assert thread.buttons == []
    for target in (blob, "aside", f"HEAD~1..{blob}", "HEAD:.env"):
        thread = await Thread.ask(product, "git.git_diff", repo_path=str(repo), target=target)
        assert "hunter2" not in thread.shown, target


async def test_a_difference_to_what_may_be_an_id_of_a_folder_or_a_file_is_asked_about(
    git_product: ProductAndFolder,
):
    product, repo = git_product
    (repo / ".ssh").mkdir()
    (repo / ".ssh" / "config").write_text("PASSWORD=hunter2\n")
    git(repo, "add", "-f", ".ssh", "a.md")
    git(repo, "commit", "-m", "second")
    tree, blob = (git(repo, "rev-parse", f"HEAD:.ssh{rest}").strip() for rest in ("", "/config"))
    git(repo, "rm", "-rq", ".ssh")
    git(repo, "commit", "-m", "third")
    other, root = git(repo, "rev-parse", "HEAD:a.md").strip(), git(repo, "rev-parse", "HEAD~2^{tree}").strip()
    asked = (
        tree,
        tree[:7],
        f"{tree}^{{tree}}",
        f"x-g{tree[:4]}",
        f"{blob}..x-g{other[:7]}",
        f"{tree}..x-g{root}",
    )
    for target in asked:
        thread = await Thread.ask(product, "git.git_diff", repo_path=str(repo), target=target)
        assert "hunter2" not in thread.shown, target
        assert "confirm" in thread.buttons, target


async def test_a_difference_to_a_branch_or_a_tag_is_answered_at_once(git_product: ProductAndFolder):
    product, repo = git_product
    git(repo, "branch", "fix/one")
    git(repo, "add", "a.md")
    git(repo, "commit", "-m", "second")
    git(repo, "tag", "v1.2", "HEAD~1")
    for target in ("HEAD~1", "fix/one", "v1.2", "HEAD^"):
        thread = await Thread.ask(product, "git.git_diff", repo_path=str(repo), target=target)
        assert "+two" in thread.shown, target
        assert thread.buttons == []
    thread = await Thread.ask(product, "git.git_diff", repo_path=str(repo), target="fix/one..main")
    assert "did not resolve" in thread.shown  # the reviewed server takes no range
    assert thread.buttons == []


async def test_a_branch_is_made(git_product: ProductAndFolder):
    product, repo = git_product
    thread = await Thread.ask(product, "git.git_create_branch", repo_path=str(repo), branch_name="draft")
    await thread.confirm()
    assert "draft" in git(repo, "branch")


async def test_a_repository_as_plain_files_of_a_commit_names_no_program(
    git_product: ProductAndFolder, tmp_path: Path
):
    product, repo = git_product
    mark = tmp_path / "ran"
    place = repo / "docs" / "vendor"
    git(repo, "clone", "--quiet", "--bare", str(repo), str(place))
    with (place / "config").open("a") as config:
        config.write(f'[diff]\n\texternal = "touch {mark}; true"\n')
    for tool in ("git_status", "git_diff_unstaged", "git_diff_staged"):
        thread = await Thread.ask(product, f"git.{tool}", repo_path=str(place))
        assert "Failed" in thread.shown, tool
        assert not mark.exists(), tool


async def test_a_difference_by_a_program_of_the_user_is_not_given(
    git_product: ProductAndFolder, tmp_path: Path
):
    """`diff.external`, as people set it who read differences side by side, names no file as rules know it."""
    product, repo = git_product
    program = tmp_path / "side-by-side"
    program.write_text('#!/bin/sh\necho "$1 --- Text"\ncat "$5"\n')
    program.chmod(0o755)
    git(repo, "config", "diff.external", str(program))
    (repo / "a.md").write_text("hunter2\n")
    for tool, args in (("git_diff_unstaged", {}), ("git_diff", {"target": "HEAD"})):
        thread = await Thread.ask(product, f"git.{tool}", repo_path=str(repo), **args)
        assert "hunter2" not in thread.shown, tool
        assert "Ask for less at a time" in thread.shown, tool
    git(repo, "add", "a.md")
    thread = await Thread.ask(product, "git.git_commit", repo_path=str(repo), message="second")
    assert "hunter2" not in thread.shown
    assert "Not done" in thread.shown
    assert "diff.external" in thread.shown
    assert "confirm" not in thread.buttons
