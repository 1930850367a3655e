"""What a new user types at the demo's files, tasks, calendar and mail, and what comes of it without a model.

No sentence becomes a card for something that was not meant: whatever can be confirmed is listed here word for word.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo_servers import desk_servers, sample_desk
from gate.rules.ports import Limits
from tests.foreign.thread import text_in
from tests.product import OPS, Product, running_product
from workspace.faults import Refused
from workspace.mail_server import MailServer
from workspace.state import Message

pytestmark = pytest.mark.slow
SECONDS = 20.0
LIMITS = Limits(decision=30, pending_per_user=100)

# Cards: the first line of each.
CONFIRMABLE = {
    "put the meeting notes into the archive please": "Move drafts/meeting-notes.md to archive",
    "can u move q3-draft.md to reports": "Move drafts/q3-draft.md to reports",
    "pls rename q3-draft.md to q3-final.md": "Move drafts/q3-draft.md to drafts/q3-final.md",
    "delete the q3 draft": "Delete drafts/q3-draft.md",
    "get rid of everything in archive": "Delete archive/q2-summary.md",
    "throw away q2-summary.md": "Delete archive/q2-summary.md",
    "remind me tomorrow to send the invoice": "Create a task: send the invoice",
    "move reports to archive and then delete drafts": "2 changes prepared",
}
# Answers at once: something that stands in each.
ANSWERED = {
    "could you please show me what's in the reports folder": "reports/q3-figures.csv",
    "whats in drafts": "drafts/meeting-notes.md",
    "can you open the meeting notes": "Notes from the planning meeting",
    "read me the readme pls": "This folder is yours to play in.",
    "how big is the q3 figures file": "78 B",
    "which files mention revenue?": "Search all files for “revenue”",
    "where is the lease for 2027": "No files match the lease for 2027.",
    "what's due today": "Pick up the posters",
    "do I have new mail?": "Your posters",
}
# Words with a next step, and nothing to confirm.
TOLD = {
    "hi there": "You can write, for example",
    "is there anything about the board in my files": "With filesystem you can write",
    "I'd like a copy of q3-summary.md called q3-backup.md": "copy reports/q3-figures.csv to archive",
    "make a folder for invoices": "You can write",
    'create a new folder named "travel 2027"': "put it in quotes",
    "write a note saying hello to everyone in notes.txt": 'write "Call the printer." to notes.md',
    'jot down "call Bob back" in todo.txt': "You can write",
    'add a line "- bring cake" to the meeting notes': "You can write",
    "change Bob to Robert in the meeting notes": "You can write",
    "I don't need the drafts any more": "You can write",
    "remove all files": "Write list all files to see what is there",
    "clean up my drafts folder": "tidy-drafts",
    "don't delete the q2 summary": "Nothing of yours is waiting",
    "should I delete the old summary?": "I did not understand",
    "what would happen if I deleted reports?": "I did not understand",
    "please do not move anything": "I did not understand",
    "never mind": "Nothing of yours is waiting",
    "no thanks": "Nothing of yours is waiting",
    "sure, go ahead": "I did not understand",
    "what did you do today?": "I did not understand",
    "who approved that?": "I did not understand",
    "what do I have to do this week": "show me my tasks",
    "remind me about the dentist on friday at 9": "I did not understand",
    "mark the posters as done": "task 1 is done",
    "I picked up the posters": "I did not understand",
    "cancel the standup": "I did not understand",
    "set up lunch with Ann next tuesday": "I did not understand",
    "when do I have time tomorrow": "when am I free",
    "am I free on friday afternoon?": "I did not understand",
    "any mail from Bob?": "find mail from",
    "reply to Bob that I agree": "I did not understand",
    "send Bob the q3 summary": "I did not understand",
    "write an email to bob@example.com saying the figures are late": "write a mail to bob@example.com",
    "forward the posters mail to Dora": "With email you can write",
    "summarize the q3 summary": "I did not understand",
    "compare the lease of 2026 with the one of 2027": "There is no file or folder",
    "translate the readme into German": "I did not understand",
    "convert q3-figures.csv to json": "put it in quotes",
    "sort q3-figures.csv by revenue": "I did not understand",
    "what is the total of q3-figures.csv": "I did not understand",
    "take a screenshot": "that tool is not there now",
    "show me the biggest files": "Write list all files",
    "list everything you can reach": "Write list all files",
    "move it to archive": "There is no file or folder “it”",
    "delete it": "There is no file or folder “it”",
    "copy that to reports": "There is no file or folder “that”",
    "verschiebe q3-draft.md nach archive": "Without a model I understand English sentences only.",
    "lösche den Entwurf": "Without a model I understand English sentences only.",
    "Was liegt in reports?": "Without a model I understand English sentences only.",
    "supprime les brouillons": "Without a model I understand English sentences only.",
    "покажи файлы": "Without a model I understand English sentences only.",
    "what's the weather like tomorrow?": "I did not understand",
    "run rm -rf /": "I did not understand",
}


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    """The demo's files, tasks, calendar and mail."""
    postbox = MailServer(tmp_path / "mails")
    servers = desk_servers(sample_desk(tmp_path / "desk", datetime.now(UTC)), await postbox.start())
    try:
        async with running_product(tmp_path / "home", limits=LIMITS, servers=servers) as running:
            yield running
    finally:
        await postbox.stop()


async def answer_to(product: Product, sentence: str) -> Message:
    """What the bot writes under a mention of it with these words, or to its author alone."""
    said = await product.ws.as_("U_ANN").say(OPS, f"<@UBOT> {sentence}")

    def answers() -> list[Message]:
        alone = [one for one in product.ws.by_app(OPS) if one.visible_to and one.ts > said.ts]
        return product.ws.by_app(OPS, said.ts) or alone

    found: list[Message] = await product.ws.wait_for(answers, SECONDS)
    return found[0]


def buttons(message: Message) -> set[str]:
    rows = [block for block in message.blocks or [] if block["type"] == "actions"]
    return {element["action_id"] for row in rows for element in row["elements"]}


def shown(message: Message) -> str:
    return "\n".join(map(text_in, message.blocks or [])) or message.text


def test_there_are_sixty_sentences() -> None:
    assert len({**CONFIRMABLE, **ANSWERED, **TOLD}) >= 60


async def test_only_what_was_meant_can_be_confirmed(product: Product) -> None:
    wrong = {}
    for sentence, expected in {**CONFIRMABLE, **ANSWERED, **TOLD}.items():
        message = await answer_to(product, sentence)
        decides = bool(buttons(message) & {"confirm", "review"})
        fits = shown(message).startswith(expected) if sentence in CONFIRMABLE else expected in shown(message)
        if not fits or decides is not (sentence in CONFIRMABLE):
            wrong[sentence] = (decides, shown(message))
    assert not wrong
    assert product.names() == {
        "README.md",
        "archive/q2-summary.md",
        "drafts/meeting-notes.md",
        "drafts/q3-draft.md",
        "reports/q3-figures.csv",
        "reports/q3-summary.md",
    }


def kinds(message: Message) -> list[str]:
    return [block["type"] for block in message.blocks or []]


async def test_a_listing_is_a_table_block_where_slack_takes_one(product: Product) -> None:
    listing = await answer_to(product, "what is in reports")
    (table,) = [block for block in listing.blocks or [] if block["type"] == "table"]
    assert [row[0]["text"] for row in table["rows"]] == [
        "Name",
        "reports/q3-figures.csv",
        "reports/q3-summary.md",
    ]


async def test_a_listing_is_text_in_a_box_where_slack_takes_no_table(product: Product) -> None:
    product.ws.faults.on("chat.postMessage", Refused("invalid_blocks"))
    listing = await answer_to(product, "what is in reports")
    assert "table" not in kinds(listing)
    assert "reports/q3-figures.csv" in shown(listing)
    assert "table" not in kinds(await answer_to(product, "what is in archive"))  # and it does not try again
