"""A pull request and a file, with @modelcontextprotocol/server-github: sent exactly once, or not at all."""

from __future__ import annotations

import base64

import pytest

from tests.foreign.rest_fake import Rest, sha
from tests.foreign.thread import Thread
from tests.product import Product

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
ProductAndRest = tuple[Product, Rest]

REPO = {"owner": "acme", "repo": "app"}
PULL = {**REPO, "title": "Add new user interface", "head": "feature/new-ui", "base": "main"}
README = {**REPO, "path": "README.md", "message": "Say three", "branch": "main"}


async def test_a_pull_request_is_shown_and_cancelled_and_nothing_is_sent(github_product: ProductAndRest):
    product, rest = github_product
    thread = await Thread.ask(product, "github.create_pull_request", **PULL)
    for told in ("From: feature/new-ui", "To: main", "Title: Add new user interface", "1f2e3d4c"):
        assert told in thread.shown
    assert "reviewers and who watches acme/app; CI/CD pipelines start" in thread.shown
    assert "high" in thread.shown.lower()
    await thread.press("cancel")
    await thread.becomes("Cancelled")
    assert rest.changes == []


async def test_a_pull_request_is_opened_once_and_can_be_closed_again(github_product: ProductAndRest):
    product, rest = github_product
    thread = await Thread.ask(product, "github.create_pull_request", **PULL)
    assert (
        "can be undone in part: it is closed; who was notified has been, and the pipelines have run"
        in thread.shown
    )
    await thread.confirm()
    (sent,) = rest.changes
    assert (sent.method, sent.path) == ("POST", "/repos/acme/app/pulls")
    assert sent.body == {"title": "Add new user interface", "head": "feature/new-ui", "base": "main"}
    await thread.undo_by_a_card()
    assert [(call.method, call.path, call.body) for call in rest.changes[1:]] == [
        ("PATCH", "/repos/acme/app/issues/7", {"state": "closed"})
    ]


async def test_more_commits_on_the_branch_are_shown_before_it_is_opened(github_product: ProductAndRest):
    product, rest = github_product
    thread = await Thread.ask(product, "github.create_pull_request", **PULL)
    rest.state["head"] = "99999999"
    await thread.press("confirm")
    await thread.becomes("Cancelled")
    assert rest.changes == []


async def test_a_file_is_replaced_exactly_as_it_was_shown_and_put_back(github_product: ProductAndRest):
    product, rest = github_product
    thread = await Thread.ask(product, "github.create_or_update_file", **README, content="one\nthree\n")
    assert "-two" in thread.shown
    assert "+three" in thread.shown
    await thread.confirm()
    (sent,) = rest.changes
    assert sent.body["sha"] == sha("one\ntwo\n")
    assert base64.b64decode(sent.body["content"]) == b"one\nthree\n"
    await thread.undo()
    assert rest.state["files"] == {"README.md": "one\ntwo\n"}


async def test_a_new_file_is_made_and_an_existing_one_is_never_taken_for_new(github_product: ProductAndRest):
    product, rest = github_product
    new = {**README, "path": "NEW.md"}
    thread = await Thread.ask(product, "github.create_or_update_file", **new, content="hello\n")
    assert "cannot be undone" in thread.shown
    rest.state["files"]["NEW.md"] = "somebody else's\n"
    await thread.press("confirm")
    await thread.becomes("Cancelled")
    assert rest.changes == []
    assert rest.state["files"]["NEW.md"] == "somebody else's\n"
