"""Commands, App Home and the answers in a thread: everyone's own lists, with buttons that work."""

from __future__ import annotations

import pytest

from tests.slack_app import ANN, BEN, CLEO, OPS, Card, Edge, said_in
from workspace.state import Message


@pytest.fixture
def edge(both_modes: Edge) -> Edge:
    """Commands and App Home by both ways."""
    return both_modes


async def done(edge: Edge, path: str = "a.md") -> Card:
    card = await edge.propose("write", path=path, content="hello")
    await card.click("confirm")
    return card


def newest(edge: Edge, user: str = ANN) -> Message:
    """What this person alone was shown last."""
    return [m for m in edge.ws.messages(OPS) if m.visible_to == user][-1]


async def listed(edge: Edge, command: str, text: str = "", user: str = ANN) -> Message:
    outcome = await edge.ws.as_(user).command(command, text, channel=OPS)
    assert outcome.ok, outcome.error
    return newest(edge, user)


async def test_pending_lists_what_waits_and_cancels_it(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    message = await listed(edge, "/pending")
    assert message.text == "1 waiting"
    await edge.ann.click(message, "cancel")
    await edge.settled()
    await edge.told(ANN, "Cancelled. Nothing ran.")
    assert card.text == "Cancelled: Write a.md"
    assert (await listed(edge, "/pending")).text == "Nothing waits for a decision."


async def test_pending_shows_all_of_an_action(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    await edge.ann.click(await listed(edge, "/pending"), "full")
    assert "hello" in said_in(await card.modal(ANN, "full"))


async def test_undo_lists_the_newest_and_takes_one_back(edge: Edge) -> None:
    first, second = await done(edge, "a.md"), await done(edge, "b.md")
    message = await listed(edge, "/undo", "1")
    assert "b.md" in said_in(message)
    assert "a.md" not in said_in(message)
    await edge.ann.click(message, "undo")
    await edge.settled()
    await edge.told(ANN, "I am taking it back.")
    assert second.text == "Undone: Write b.md"
    assert first.text == "Wrote a.md"
    assert edge.desk.notes == {"a.md": "hello"}
    await edge.ann.click(message, "undo")
    await edge.told(ANN, "and undone since")


async def test_undoing_what_changed_since_asks_first(edge: Edge) -> None:
    card = await done(edge)
    edge.desk.notes["a.md"] = "somebody wrote this later"
    await card.click("undo")
    (asked,) = [m for m in edge.ws.by_app(OPS, card.said.ts) if m.text.startswith("Prepared to undo:")]
    assert "Changed since" in said_in(asked)
    assert edge.desk.notes == {"a.md": "somebody wrote this later"}
    await edge.ann.click(asked, "cancel")
    await edge.settled()
    assert card.text == "Wrote a.md"


async def test_the_record_tells_the_story(edge: Edge) -> None:
    await done(edge)
    told = said_in(await listed(edge, "/audit", "20"))
    for event in ("proposed", "shown", "confirmed", "started", "succeeded"):
        assert event in told, told


@pytest.mark.parametrize("command", ["/undo", "/audit"])
@pytest.mark.parametrize("text", ["five", "-1", "1.5", "٣", "5 please", "9999"])
async def test_what_is_no_number_is_explained(http: Edge, command: str, text: str) -> None:
    assert (await listed(http, command, text)).text.startswith(f"After {command} comes a number up to 20")


@pytest.mark.parametrize("text", ["", "help", "anything else", "payload"])
async def test_help_is_always_the_same(edge: Edge, text: str) -> None:
    assert (await listed(edge, "/countersign", text)).text == "How to work with me"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("pending", "1 waiting"),
        ("undo", "1 that can be undone"),
        ("audit", "entries of the record"),
        ("help", "How to"),
    ],
)
async def test_mentioning_the_command_in_a_thread_answers_its_writer(
    edge: Edge, word: str, says: str
) -> None:
    await done(edge, "b.md")
    card = await edge.propose("write", path="a.md", content="hello")
    await edge.ann.say(OPS, f"<@UBOT> {word}", thread_ts=card.said.ts)
    await edge.told(ANN, says)
    assert newest(edge).thread_ts == card.said.ts
    assert edge.hints(BEN) == []


async def test_home_shows_what_waits_and_what_can_be_taken_back(edge: Edge) -> None:
    card = await done(edge, "a.md")
    waiting = await edge.propose("write", path="b.md", content="hello")
    await edge.ann.open_home()
    home = await edge.ws.wait_for(lambda: edge.ann.home)
    assert "Write b.md" in said_in(home)
    assert "Wrote a.md" in said_in(home)
    rows = [b for b in home.blocks if b["type"] == "actions"]
    assert [[e["action_id"] for e in row["elements"]] for row in rows] == [
        ["review", "cancel", "full"],
        ["undo", "full"],
    ]

    await edge.ann.click("home", "cancel", rows[0]["block_id"])
    await edge.settled()
    assert waiting.text == "Cancelled: Write b.md"
    await edge.ws.wait_for(lambda: "Nothing waits for a decision." in said_in(edge.ann.home))

    (row,) = [b for b in edge.ann.home.blocks if b["type"] == "actions"]
    await edge.ann.click("home", "undo", row["block_id"])
    await edge.settled()
    assert card.text == "Undone: Write a.md"
    assert [m.text for m in edge.ws.by_app(edge.ann.im)] == [
        "Cancelled. Nothing ran.",
        "I am taking it back. The card in its thread shows how it went.",
    ]


async def test_home_opens_everything_in_a_modal_of_its_own(edge: Edge) -> None:
    card = await edge.propose("write", path="b.md", content="hello")
    await edge.ann.open_home()
    await edge.ws.wait_for(lambda: edge.ann.home)
    assert (await edge.ann.click("home", "full")).ok
    assert "hello" in said_in(await card.modal(ANN, "full"))


async def test_app_home_shows_only_the_persons_own_actions(edge: Edge) -> None:
    await edge.propose("write", path="b.md", content="hello")
    for user in (BEN, CLEO):
        await edge.ws.as_(user).open_home()
        home = await edge.ws.wait_for(lambda user=user: edge.ws.as_(user).home)
        assert "b.md" not in said_in(home)


async def test_a_click_in_somebody_elses_home_or_list_changes_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="b.md", content="hello")
    await edge.ann.open_home()
    home = await edge.ws.wait_for(lambda: edge.ann.home)
    payload = edge.ws.forge.view_click(BEN, home, action_id="cancel", value=card.value)
    await edge.send("interactive", payload)
    await edge.ws.wait_for(lambda: edge.ws.by_app(edge.ws.as_(BEN).im))
    assert "Only <@U_ANN>" in edge.ws.by_app(edge.ws.as_(BEN).im)[0].text
    assert (await card.action()).state == "prepared"
