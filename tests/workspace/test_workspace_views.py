"""Modals and App Home: triggers, the stack, hashes, field errors, and what a submission's answer does."""

from __future__ import annotations

from typing import Any

import pytest
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.workspace.bolt_apps import INSTALLED, Connected, bolt_for
from workspace.faults import NotPossible
from workspace.person import Person
from workspace.server import Workspace
from workspace.state import View

Body = dict[str, Any]


def plain(text: str) -> Body:
    return {"type": "plain_text", "text": text}


def modal(title: str = "Form", *blocks: Body, **more: Any) -> Body:
    shown = blocks or (field("name"),)
    return {
        "type": "modal",
        "callback_id": "form",
        "title": plain(title),
        "submit": plain("Save"),
        "blocks": list(shown),
        **more,
    }


def field(block_id: str, **more: Any) -> Body:
    element = {"type": "plain_text_input", "action_id": "typed", **more.pop("element", {})}
    return {"type": "input", "block_id": block_id, "label": plain(block_id), "element": element, **more}


def button(action_id: str) -> Body:
    element = {"type": "button", "action_id": action_id, "text": plain(action_id), "value": "1"}
    return {"type": "actions", "block_id": action_id, "elements": [element]}


@pytest.fixture
def client(ws: Workspace) -> AsyncWebClient:
    return AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])


@pytest.fixture
def ann(ws: Workspace) -> Person:
    return ws.as_("U_ANN")


def trigger(ws: Workspace) -> str:
    """A fresh trigger of Ann's, as a click would carry it."""
    payload = ws.forge.command("U_ANN", "C_OPS", "/pending")
    found: str = payload["trigger_id"]
    return found


async def opened(ws: Workspace, client: AsyncWebClient, view: Body) -> View:
    answer = await client.views_open(trigger_id=trigger(ws), view=view)
    found = ws.state.view(answer["view"]["id"])
    assert found is not None
    return found


async def refusal(call: Any) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call
    return str(caught.value.response["error"])


async def test_a_trigger_opens_one_modal(ws: Workspace, client: AsyncWebClient) -> None:
    once = trigger(ws)
    await client.views_open(trigger_id=once, view=modal())
    assert await refusal(client.views_open(trigger_id=once, view=modal())) == "exchanged_trigger_id"
    assert await refusal(client.views_open(trigger_id="made.up", view=modal())) == "invalid_trigger_id"


async def test_a_trigger_lives_three_seconds(client: AsyncWebClient) -> None:
    now = [1000.0]
    ws = Workspace(INSTALLED, clock=lambda: now[0])
    await ws.start()
    client.base_url = ws.api_url
    in_time, late = trigger(ws), trigger(ws)
    now[0] += 3.0
    await client.views_open(trigger_id=in_time, view=modal())
    now[0] += 0.1
    assert await refusal(client.views_open(trigger_id=late, view=modal())) == "expired_trigger_id"
    now[0] += 3.0
    fresh = trigger(ws)
    assert await refusal(client.views_open(trigger_id=late, view=modal())) == "invalid_trigger_id", (
        "it is kept"
    )
    await client.views_open(trigger_id=fresh, view=modal())
    await ws.stop()


async def test_a_workspace_forgets_all_but_the_newest_triggers(ws: Workspace, client: AsyncWebClient) -> None:
    older, newer = trigger(ws), trigger(ws)
    ws.forget(1)
    assert await refusal(client.views_open(trigger_id=older, view=modal())) == "invalid_trigger_id"
    await client.views_open(trigger_id=newer, view=modal())


async def test_a_refused_view_leaves_the_trigger_unused(ws: Workspace, client: AsyncWebClient) -> None:
    once = trigger(ws)
    bad = modal(title="x" * 25)
    assert await refusal(client.views_open(trigger_id=once, view=bad)) == "invalid_arguments"
    await client.views_open(trigger_id=once, view=modal())
    assert [r.method for r in ws.refused] == ["views.open"]


async def test_a_view_larger_than_250_kb_is_too_large(ws: Workspace, client: AsyncWebClient) -> None:
    blocks = [{"type": "section", "text": plain("x" * 3000)}] * 90
    view = modal("Big", *blocks)
    assert await refusal(client.views_open(trigger_id=trigger(ws), view=view)) == "view_too_large"


async def test_modals_stack_three_deep(ws: Workspace, client: AsyncWebClient, ann: Person) -> None:
    first = await opened(ws, client, modal("1"))
    for title in ("2", "3"):
        await client.views_push(trigger_id=trigger(ws), view=modal(title))
    assert await refusal(client.views_push(trigger_id=trigger(ws), view=modal("4"))) == "push_limit_reached"
    top = ann.modal
    assert top is not None
    assert (top.body["title"]["text"], top.root) == ("3", first.id)
    await ann.close()
    await ann.close()
    assert ann.modal is first


async def test_an_update_with_an_old_hash_is_refused(ws: Workspace, client: AsyncWebClient) -> None:
    view = await opened(ws, client, modal("1"))
    old = view.hash
    await client.views_update(view_id=view.id, hash=old, view=modal("2"))
    stale = client.views_update(view_id=view.id, hash=old, view=modal("3"))
    assert await refusal(stale) == "hash_conflict"
    assert view.body["title"]["text"] == "2"
    assert await refusal(client.views_update(view_id="V_NONE", view=modal())) == "not_found"


async def test_a_closed_modal_cannot_be_updated(ws: Workspace, client: AsyncWebClient, ann: Person) -> None:
    view = await opened(ws, client, modal())
    await ann.close()
    assert await refusal(client.views_update(view_id=view.id, view=modal())) == "not_found"
    with pytest.raises(NotPossible, match="closed"):
        await ann.submit(view)


async def test_an_update_keeps_what_was_typed_in_the_same_field(
    ws: Workspace, client: AsyncWebClient
) -> None:
    view = await opened(ws, client, modal("1", field("name"), field("size")))
    view.values["name"]["typed"]["value"] = "typed already"
    await client.views_update(view_id=view.id, view=modal("2", field("name"), field("other")))
    assert view.values["name"]["typed"]["value"] == "typed already"
    assert view.values.keys() == {"name", "other"}


async def test_external_ids_name_one_open_view(ws: Workspace, client: AsyncWebClient) -> None:
    view = await opened(ws, client, modal(external_id="mine"))
    await client.views_update(external_id="mine", view=modal("2", external_id="mine"))
    assert view.body["title"]["text"] == "2"
    again = client.views_push(trigger_id=trigger(ws), view=modal(external_id="mine"))
    assert await refusal(again) == "duplicate_external_id"


@pytest.mark.parametrize(
    ("block", "typed", "sentence"),
    [
        (field("name"), "", "Please complete this required field."),
        (field("name", element={"min_length": 3}), "ab", "Please enter at least 3 characters."),
        (field("name", element={"max_length": 3}), "abcd", "Please enter at most 3 characters."),
        (
            field("name", element={"type": "number_input", "is_decimal_allowed": False}),
            "1.5",
            "Please enter a whole number.",
        ),
        (
            field("name", element={"type": "number_input", "is_decimal_allowed": True, "max_value": "2"}),
            "2.5",
            "Please enter a number no more than 2.",
        ),
    ],
)
async def test_slack_itself_checks_a_form_before_it_sends_it(
    ws: Workspace, client: AsyncWebClient, ann: Person, block: Body, typed: str, sentence: str
) -> None:
    view = await opened(ws, client, modal("Form", block))
    outcome = await ann.submit(view, {"name": {"typed": typed}})
    assert outcome.fields == {"name": sentence}
    assert ws.deliveries("view_submission") == []


@pytest.fixture
async def answering(ws: Workspace, connected: Connected) -> list[Body]:
    """An app that answers a submission with what the test puts in the list, and notes closings there."""
    answers: list[Body] = []
    app: AsyncApp = bolt_for(ws)

    async def submitted(ack: Any) -> None:
        await ack(**answers.pop(0)) if answers else await ack()

    async def closed(ack: Any, body: Body) -> None:
        answers.append({"closed": body["view"]["id"], "cleared": body["is_cleared"]})
        await ack()

    app.view_submission("form")(submitted)
    app.view_closed("form")(closed)
    await connected.join(app)
    return answers


async def test_a_submission_answered_with_nothing_closes_the_view(
    ws: Workspace, client: AsyncWebClient, ann: Person, answering: list[Body]
) -> None:
    below = await opened(ws, client, modal("1"))
    await client.views_push(trigger_id=trigger(ws), view=modal("2"))
    assert (await ann.submit(None, {"name": {"typed": "x"}})).ok
    assert ann.modal is below


async def test_a_submission_can_update_push_or_clear(
    ws: Workspace, client: AsyncWebClient, ann: Person, answering: list[Body]
) -> None:
    view = await opened(ws, client, modal("1"))
    filled = {"name": {"typed": "x"}}
    answering.append({"response_action": "update", "view": modal("2")})
    await ann.submit(view, filled)
    assert view.body["title"]["text"] == "2"

    answering.append({"response_action": "push", "view": modal("3")})
    await ann.submit(view, filled)
    assert ann.modal is not None
    assert ann.modal.previous == view.id

    answering.append({"response_action": "clear"})
    await ann.submit(None, filled)
    assert ann.modal is None


async def test_errors_for_a_block_that_is_no_input_are_refused(
    ws: Workspace, client: AsyncWebClient, ann: Person, answering: list[Body]
) -> None:
    view = await opened(ws, client, modal())
    answering.append({"response_action": "errors", "errors": {"elsewhere": "no"}})
    outcome = await ann.submit(view, {"name": {"typed": "x"}})
    assert outcome.error == "Countersign answered something Slack refuses (invalid_arguments)."
    assert ws.refused[0].problems == ["elsewhere is no input block of the view"]
    assert ann.modal is view


async def test_the_app_hears_of_a_closing_only_if_it_asked(
    ws: Workspace, client: AsyncWebClient, ann: Person, answering: list[Body]
) -> None:
    await opened(ws, client, modal("quiet"))
    await ann.close()
    assert answering == []
    first = await opened(ws, client, modal("1", notify_on_close=True))
    second = (await client.views_push(trigger_id=trigger(ws), view=modal("2", notify_on_close=True)))["view"]
    await ann.close(all_of_them=True)
    assert answering == [
        {"closed": first.id, "cleared": True},
        {"closed": second["id"], "cleared": True},
    ]


async def test_home_is_opened_published_and_clicked(ws: Workspace, connected: Connected, ann: Person) -> None:
    app = bolt_for(ws)
    clicked: list[Body] = []

    async def home(event: Body, client: Any) -> None:
        view = {"type": "home", "blocks": [button("undo")]}
        await client.views_publish(user_id=event["user"], view=view)

    async def undo(ack: Any, body: Body) -> None:
        clicked.append(body)
        await ack()

    app.event("app_home_opened")(home)
    app.action("undo")(undo)
    await connected.join(app)
    await ann.open_home()
    view = await ws.wait_for(lambda: ann.home)
    assert (await ann.click(view, "undo")).ok
    (body,) = clicked
    assert body["container"] == {"type": "view", "view_id": view.id}
    assert "response_url" not in body
    assert ws.as_("U_BEN").home is None


async def test_only_the_owner_can_use_a_window(ws: Workspace, client: AsyncWebClient) -> None:
    view = await opened(ws, client, modal("1", button("go")))
    with pytest.raises(NotPossible):
        await ws.as_("U_BEN").click(view, "go")
    with pytest.raises(NotPossible):
        await ws.as_("U_BEN").submit(view)


async def test_an_input_speaks_up_by_itself_only_where_the_app_asked(
    ws: Workspace, client: AsyncWebClient, ann: Person
) -> None:
    view = await opened(ws, client, modal("1", field("quiet"), field("loud", dispatch_action=True)))
    with pytest.raises(NotPossible, match="travels with the form"):
        await ann.click(view, "typed", block_id="quiet", value="x")
    await ann.click(view, "typed", block_id="loud", value="x")
    (entry,) = ws.deliveries("block_actions") or [None]
    assert entry is not None
    assert entry.sent["actions"][0]["value"] == "x"
    assert entry.sent["view"]["state"]["values"]["loud"]["typed"]["value"] == "x"
