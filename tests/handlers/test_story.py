"""The story of one action, through Slack as people see it, in both modes."""

from __future__ import annotations

import pytest

from gate.rules.tool import ToolSpec
from tests.gate.fake_tools import TEXT, schema
from tests.slack_app import ANN, OPS, TEAM, Card, Edge, said_in, says
from tests.views.samples import shown


@pytest.fixture
def edge(both_modes: Edge) -> Edge:
    """The whole story in both modes."""
    return both_modes


async def opened(card: Card, callback: str, user: str = ANN):
    """Press the button that opens this modal, and wait for its content."""
    press = {"typed": "review", "edit": "edit", "full": "full"}.get(callback)
    outcome = await (card.click(press, user) if press else card.more(callback, user))
    assert outcome.ok
    return await card.modal(user, callback)


def phrase(text: str) -> dict[str, dict[str, str]]:
    return {"phrase": {"phrase": text}}


async def test_a_write_is_confirmed_done_and_taken_back(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    assert card.text == "Prepared: Write a.md"
    assert card.buttons == ["confirm", "edit", "cancel", "more"]
    assert edge.desk.calls == []

    assert (await card.click("confirm")).ok
    assert card.text == "Wrote a.md"
    assert card.buttons == ["task_satisfied", "undo", "task_start_over", "full"]
    assert edge.desk.notes == {"a.md": "hello"}

    assert (await card.click("undo")).ok
    assert card.text == "Undone: Write a.md"
    assert edge.desk.notes == {}
    assert card.buttons == ["full"]
    assert edge.hints() == []


# promise: ACT-16
async def test_undo_stays_on_the_result_and_an_expired_one_is_answered_to_its_presser(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    await card.click("confirm")
    edge.travel(31 * 24 * 3600)
    assert "undo" in card.buttons
    await card.click("undo")
    await edge.told(ANN, "its time is over")
    assert card.text == "Wrote a.md"
    assert edge.desk.notes == {"a.md": "hello"}


async def test_what_destroys_wants_its_phrase_typed(edge: Edge) -> None:
    edge.desk.notes["a.md"] = "hello"
    card = await edge.propose("shred", path="a.md")
    assert card.buttons == ["review", "edit", "cancel", "more"]
    right = (await card.action()).phrase

    modal = await opened(card, "typed")
    assert right in said_in(modal)
    assert modal.body["submit"]["text"] == "Shred"
    wrong = await edge.ann.submit(modal, phrase(right.upper()))
    assert wrong.fields == {
        "phrase": "That is not the phrase. Type it exactly as shown, with the same capitals."
    }
    assert edge.desk.notes == {"a.md": "hello"}

    assert (await edge.ann.submit(modal, phrase(f" {right} "))).ok
    await edge.settled()
    assert edge.ann.modal is None
    assert card.text == "Shredded a.md"
    assert edge.desk.notes == {}


async def test_the_arguments_of_a_tool_without_a_recipe_are_named_in_words_and_exactly_in_show_everything(
    http: Edge,
) -> None:
    given = {name: TEXT for name in ("path", "expected_top", "in_it", "in it")}
    spec = ToolSpec("desk", "make_folder", "Make folder", "", schema([], **given), definition="d-f")
    http.desk.specs_now["make_folder"] = spec
    card = await http.propose("make_folder", path="a", expected_top="b", **{"in_it": "c", "in it": "d"})
    told = shown(card.message.blocks)
    assert "expected top  b" in told
    assert "expected_top" not in told
    assert "in_it" in told  # another argument has the name in words
    await card.more("full")
    assert "expected_top  b" in said_in(await card.modal(ANN, "full"))


async def test_a_modal_shows_a_placeholder_before_its_content(edge: Edge) -> None:
    card = await edge.propose("shred", path="a.md")
    await opened(card, "typed")
    (open_call,), (update,) = edge.ws.calls("views.open"), edge.ws.calls("views.update")
    assert open_call.sent["view"]["callback_id"] == "loading"
    assert update.sent["view"]["callback_id"] == "typed"
    assert update.sent["hash"] == open_call.answer["view"]["hash"]


async def test_three_wrong_phrases_end_it(edge: Edge) -> None:
    card = await edge.propose("shred", path="a.md")
    modal = await opened(card, "typed")
    for _ in range(2):
        assert (await edge.ann.submit(modal, phrase("shred it"))).fields
    assert (await edge.ann.submit(modal, phrase("shred it"))).ok
    await edge.settled()
    assert edge.ann.modal
    assert "Three wrong phrases" in said_in(edge.ann.modal)
    assert card.text == "Cancelled: Shred a.md"
    assert edge.desk.calls == []


# promise: ACT-05
async def test_an_edit_makes_a_new_version_with_a_new_preview(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="could you please come")
    before = await card.action()
    modal = await opened(card, "edit")
    fields = {b["label"]["text"]: b for b in modal.blocks if b["type"] == "input"}
    content = fields["content"]
    assert list(fields) == ["path", "content"]

    given = {content["block_id"]: {content["element"]["action_id"]: "please come"}}
    assert (await edge.ann.submit(modal, given)).ok
    await edge.settled()
    after = await card.action()
    assert after.version > before.version
    assert after.edited_by == ANN
    assert edge.ann.modal is None
    assert "Edited by <@U_ANN>" in said_in(card.message)

    await card.click("confirm")
    assert edge.desk.notes == {"a.md": "please come"}


async def test_a_form_says_beside_the_field_what_is_wrong(edge: Edge) -> None:
    card = await edge.propose("poke", at="a.md")
    edge.desk.redefine("poke", schema={"type": "object", "properties": {"at": {"type": "integer"}}})
    modal = await opened(card, "edit")
    (field,) = [b for b in modal.blocks if b["type"] == "input"]
    given = {field["block_id"]: {field["element"]["action_id"]: "twelve"}}
    outcome = await edge.ann.submit(modal, given)
    assert list(outcome.fields) == [field["block_id"]]
    assert edge.ann.modal is not None
    assert (await card.action()).version == 1


async def test_nothing_edited_changes_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    modal = await opened(card, "edit")
    assert (await edge.ann.submit(modal)).ok
    await edge.settled()
    assert edge.ann.modal
    assert "Nothing was changed." in said_in(edge.ann.modal)
    assert (await card.action()).version == 1


async def test_a_rejection_carries_its_reason_to_the_card(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    modal = await opened(card, "reject")
    assert (await edge.ann.submit(modal, {"reason": {"reason": "not on a Friday <!channel>"}})).ok
    await edge.settled()
    assert card.text == "Rejected: Write a.md"
    assert "“not on a Friday <!channel>”" in said_in(card.message)
    assert edge.desk.calls == []


async def test_everything_can_be_shown_before_and_after(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    before = await opened(card, "reject")
    await edge.ann.close(before)
    assert (await card.more("full")).ok
    assert "hello" in said_in(await card.modal(ANN, "full"))
    await edge.ann.close()
    await card.click("confirm")
    assert "<@U_ANN>, <!date^" in said_in(await opened(card, "full"))


# promise: ACT-04
async def test_cancel_ends_it_and_nothing_runs(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    assert (await card.click("cancel")).ok
    assert card.text == "Cancelled: Write a.md"
    assert edge.desk.calls == []
    assert edge.hints() == []


@pytest.mark.slow
async def test_what_expired_can_be_asked_again(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    edge.travel(301)
    await edge.sweep()
    assert card.text == "Expired: Write a.md"
    assert card.buttons == ["renew", "full"]
    await card.click("renew")
    fresh = [m for m in edge.ws.by_app(OPS, card.said.ts) if m.text == "Prepared: Write a.md"]
    assert len(fresh) == 1
    await card.click("renew")
    assert len(edge.ws.by_app(OPS, card.said.ts)) == 2
    await edge.ann.click(fresh[0], "confirm")
    await edge.settled()
    assert edge.desk.notes == {"a.md": "hello"}


async def test_a_confirm_that_comes_too_late_says_so_and_redraws(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    edge.travel(301)
    await card.click("confirm")
    await edge.told(ANN, "expired before it was confirmed")
    assert card.text == "Expired: Write a.md"
    assert edge.desk.calls == []


async def test_what_nobody_knows_is_settled_by_a_person(edge: Edge) -> None:
    for answer, title in (("settle_happened", "Done"), ("settle_not", "Failed")):
        edge.desk.behave = "breaks the line"
        card = await edge.propose("write", path=f"{answer}.md", content="hello")
        await card.click("confirm")
        assert card.text.startswith("Not known whether it happened:")
        assert card.buttons == ["settle_happened", "settle_not", "settle_check", "full"]
        await card.click("settle_check")
        await edge.told(ANN, "I am reading how it stands now…")
        await edge.told(ANN, "How it stands now: Write")
        await card.click(answer)
        assert says(card.text, title)
    assert len(edge.desk.calls) == 2


async def test_a_plain_yes_and_no_in_the_thread_are_answers(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    await edge.ann.say(OPS, "yes", thread_ts=card.said.ts)
    await card.shows("Done")
    other = await edge.propose("write", path="b.md", content="hello")
    await edge.ann.say(OPS, "no", thread_ts=other.said.ts)
    await other.shows("Cancelled")
    await edge.settled()
    assert edge.desk.notes == {"a.md": "hello"}


async def test_slacks_own_stop_cancels_what_waits_in_the_thread(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    elsewhere = await edge.propose("write", path="b.md", content="hello")
    assert edge.ws.state.statuses[(OPS, card.said.ts)] == "suspended"
    edge.ws.state.statuses[(OPS, card.said.ts)] = "processing"
    await edge.ann.stop(OPS, card.said.ts)
    await card.shows("Cancelled")
    await edge.settled()
    assert (await edge.ledger.pending(TEAM)) == (await elsewhere.action(),)
    assert edge.ws.state.statuses[(OPS, card.said.ts)] == "active"


async def test_the_status_follows_the_action(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    await card.click("confirm")
    statuses = [c.sent["status"] for c in edge.ws.calls("agents.sessions.setStatus")]
    assert "suspended" in statuses
    assert statuses[-1] == "active"


async def test_a_direct_message_needs_no_mention(edge: Edge) -> None:
    card = await edge.propose("write", channel=edge.ann.im, path="a.md", content="hello")
    await card.click("confirm")
    assert card.text == "Wrote a.md"


async def test_the_card_of_a_new_empty_file_says_so_in_words(http: Edge) -> None:
    card = await http.propose("write", path="a.md", content="")
    told = shown(card.message.blocks)
    assert "It will be empty." in told
    assert "content" not in told
