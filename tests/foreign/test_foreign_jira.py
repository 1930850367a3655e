"""A Jira ticket with mcp-atlassian: shown as it will be, confirmed, and sent exactly once."""

from __future__ import annotations

import pytest

from tests.foreign.rest_fake import PEOPLE, Rest
from tests.foreign.thread import Thread
from tests.product import Product

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
ProductAndRest = tuple[Product, Rest]

BUG = {
    "project_key": "PROJ",
    "summary": "Login page crashes on mobile Safari",
    "issue_type": "Bug",
    "description": "Users report crashes when accessing login...",
}
SAID = (
    " - Could you please provide more user stories for this sprint? We need detailed acceptance criteria and "
    "example scenarios to properly scope the work."
)


async def test_an_issue_is_created_once_and_only_after_the_yes(jira_product: ProductAndRest):
    product, rest = jira_product
    thread = await Thread.ask(product, "jira.jira_create_issue", **BUG)
    assert "Create a Bug in PROJ: Login page crashes on mobile Safari" in thread.shown
    assert "Users report crashes when accessing login..." in thread.shown
    assert "the project team of PROJ" in thread.shown
    assert "can be undone in part: the issue is deleted; who was notified has been" in thread.shown
    assert "high" in thread.shown.lower()
    assert rest.changes == []

    assert "PROJ-456" in await thread.confirm()
    (sent,) = rest.changes
    assert sent.path == "/rest/api/3/issue"
    fields = sent.body["fields"]
    assert (fields["project"], fields["issuetype"]) == ({"key": "PROJ"}, {"name": "Bug"})
    assert fields["summary"] == BUG["summary"]

    await thread.undo_by_a_card()
    assert [(call.method, call.path) for call in rest.changes[1:]] == [
        ("DELETE", "/rest/api/2/issue/PROJ-456")
    ]


@pytest.mark.parametrize("form", ["[~accountid:123abc]", "@[The boss](accountid:123abc)"])
async def test_a_comment_names_who_is_behind_its_mentions(form: str, jira_product: ProductAndRest):
    product, rest = jira_product
    thread = await Thread.ask(product, "jira.jira_add_comment", issue_key="SCRUM-2", body=form + SAID)
    assert "Ahmad Asiyanbola (mentioned), Ann Lee (watching)" in thread.shown
    assert "Status now: To Do" in thread.shown
    assert SAID.strip() in thread.shown
    assert "cannot be undone" in thread.shown
    assert rest.changes == []

    await thread.confirm()
    (sent,) = rest.changes
    assert sent.path == "/rest/api/3/issue/SCRUM-2/comment"
    first, rest_of_it = sent.body["body"]["content"][0]["content"]
    assert (first["type"], first["attrs"]["id"]) == ("mention", "123abc")
    assert rest_of_it == {"type": "text", "text": SAID}


async def test_a_mention_of_nobody_cannot_be_confirmed(jira_product: ProductAndRest):
    product, rest = jira_product
    body = "@[Ahmad Asiyanbola](accountid:nobody) please"
    thread = await Thread.ask(product, "jira.jira_add_comment", issue_key="SCRUM-2", body=body)
    assert "does not know “nobody”" in thread.shown
    assert "confirm" not in thread.buttons
    assert rest.changes == []


async def test_who_watches_meanwhile_is_shown_before_they_are_told(jira_product: ProductAndRest):
    product, rest = jira_product
    thread = await Thread.ask(product, "jira.jira_add_comment", issue_key="SCRUM-2", body="Ready?")
    rest.state["watchers"] = [*rest.state["watchers"], PEOPLE["123abc"]]
    await thread.press("confirm")
    await thread.becomes("Cancelled")
    assert rest.changes == []


async def test_a_transition_shows_where_the_issue_stands(jira_product: ProductAndRest):
    product, rest = jira_product
    thread = await Thread.ask(product, "jira.jira_transition_issue", issue_key="SCRUM-2", transition_id="31")
    assert "Status now: To Do" in thread.shown
    assert "id 31, name Done" in thread.shown
    await thread.confirm()
    assert [(call.path, call.body) for call in rest.changes] == [
        ("/rest/api/3/issue/SCRUM-2/transitions", {"transition": {"id": "31"}})
    ]
