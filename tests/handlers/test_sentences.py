"""What a new user types at the demo's files, tasks, calendar and mail, and what comes of it without a model.

No sentence becomes a card for something that was not meant: whatever can be confirmed is listed here word for word.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo_servers import demo_servers, sample_desk
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
    "make a folder for invoices": "Create the folder invoices",
    'create a new folder named "travel 2027"': "Create the folder travel 2027",
    "put the meeting notes into the archive please": "Move drafts/meeting-notes.md to archive",
    "can u move q3-draft.md to reports": "Move drafts/q3-draft.md to reports",
    "pls rename q3-draft.md to q3-final.md": "Move drafts/q3-draft.md to drafts/q3-final.md",
    "delete the q3 draft": "Delete drafts/q3-draft.md",
    "get rid of everything in archive": "Delete archive/q2-summary.md",
    "throw away q2-summary.md": "Delete archive/q2-summary.md",
    "remind me tomorrow to send the invoice": "Create the task “send the invoice”",
    "move reports to archive and then delete drafts": "2 changes prepared",
    "Move drafts/q3-draft.md to archive 🙏": "Move drafts/q3-draft.md to archive",
    "move the q3 summary to archive :pray:": "Move reports/q3-summary.md to archive",
    "thanks, move drafts/q3-draft.md to archive thx": "Move drafts/q3-draft.md to archive",
    "- move drafts/q3-draft.md to archive\n- delete archive/q2-summary.md": (
        "Plan: - move drafts/q3-draft.md to archive / - delete archive/q2-summary.md"
    ),
    "remind me to call Ann, Bob and Dora": "Create the task “call Ann, Bob and Dora”",
    "schedule Lunch with Bob for friday at 12:30": "Create the event “Lunch with Bob”,",
    "book a flight to Rome on friday": "Create the event “flight to Rome”,",
    "book a table for two tomorrow at 8pm": "Create the event “table for two”,",
    'delete "drafts/q3-draft.md"': "Delete drafts/q3-draft.md",
    "delete ‘drafts/q3-draft.md’": "Delete drafts/q3-draft.md",
    "MOVE Q3-DRAFT.MD TO ARCHIVE": "Move drafts/q3-draft.md to archive\n",
    "Move the meeting notes to Archive": "Move drafts/meeting-notes.md to archive\n",
    "move q3-draft.md to trash": "Delete drafts/q3-draft.md",
    "remove task 1": "Delete task 1: Send the Q3 figures to Bob\n This deletes 1 task.",
    "rename the drafts folder to wip": "Move the folder drafts to wip",
    "delete q3-draft.md and q2-summary.md": "Delete 2 files: drafts/q3-draft.md, archive/q2-summary.md",
    "copy all of reports into archive": "2 changes prepared",
    "delete all the csv files": "Delete reports/q3-figures.csv",
    "remind me on 2026-12-24 to buy a tree": "Create the task “buy a tree”",
    'add "water plants" to my list': "Create the task “water plants”",
    'save "milk, eggs" as shopping list.md': "Write 10 B to shopping list.md",
    "move q3-draft.md to archive?": "Move drafts/q3-draft.md to archive\n",
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
    ":eyes: what's in archive": "archive/q2-summary.md",
    "• list reports\n• list drafts": "Modified",  # two answers, which may come in either order
    "where is it now?": "No files match it now.",
    "[auto] list reports": "reports/q3-figures.csv",
}
# Words with a next step, and nothing to confirm.
TOLD = {
    "hi there": "You can write, for example",
    "is there anything about the board in my files": "With files you can write",
    "I'd like a copy of q3-summary.md called q3-backup.md": "copy reports/q3-figures.csv to archive",
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
    "who approved that?": "n the record",
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
    "forward the posters mail to Dora": "With mail you can write",
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
    "hey, quick one: whats the newest file in reports?": "I did not understand",
    "could u pls move the july figures into archive": "Did you mean reports/q3-figures.csv?",
    "lösch bitte q3-draft.md, danke": "Without a model I understand English sentences only.",
    "Kannst du mir bitte die Q3 summary zeigen?": "Without a model I understand English sentences only.",
    "please delete q2-summary.md from archive, but keep a copy": "Did you mean archive/q2-summary.md",
    "delete q2-summary.md but not yet": "Did you mean archive/q2-summary.md",
    "delete drafts/q3-draft.md tomorrow": "There is no file or folder",
    "if q3-draft.md exists, delete it": "I did not understand",
    "unless somebody objects, delete drafts/q3-draft.md": "I did not understand",
    "delete drafts/q3-draft.md after lunch": "Did you mean drafts/q3-draft.md",
    "pls delte drafts/q3-draft.md": "delete drafts/q3-draft.md",
    "> delete drafts/q3-draft.md\nwhy would we do that?": "I took none of the 2 instructions",
    'Bob said "delete drafts/q3-draft.md"': "I did not understand",
    "is it ok to delete drafts/q3-draft.md?": "I did not understand",
    "I think we should delete drafts/q3-draft.md": "I did not understand",
    "did you delete drafts/q3-draft.md?": "I did not understand",
    "never delete drafts/q3-draft.md": "I did not understand",
    "stop deleting drafts/q3-draft.md": "Nothing of yours is waiting",
    "do not remind me to call the bank": "I did not understand",
    "remind Bob to call the bank tomorrow": "I did not understand",
    "remind me to call mom @ 6pm tmrw": "I am not sure where the title ends",
    "remind me to water the plants every monday": "I am not sure where the title ends",
    "remind me to pay the rent on the 1st": "I am not sure where the title ends",
    "remind me to stretch in 5 minutes": "in place of “in 5 minutes”, for example: today at 15:00",
    "remind me to file taxes before end of month": "I am not sure where the title ends",
    "schedule standup every monday at 9": "I am not sure where the title ends",
    "schedule standup for every monday at 9": "is no day I know",
    "add a task: ship it by 2026-13-45": "is no day I know",
    "remind me tmrw to buy milk": "I did not understand",
    'pls add "buy cake" & "order flowers" to my todos': "I did not understand",
    "tasks 1 and 2 are done": "task 1 is done",
    "delete task 1 and 2": "There is no file or folder “task 1”",
    "plan a party": "I did not understand",
    "schedule Call for 25:99": "names no day",
    "schedule Retro for yesterday at 10": "is no day I know",
    "invite bob@example.com to Lunch on friday": "I did not understand",
    "move the standup to friday": "“friday” names a day or a time, and no folder.",
    "delete the lunch event": "There is no file or folder “lunch event”",
    "what meetings do i have tmrw?": "is no day I know",
    "read the latest mail": "do I have new mail",
    "read mail 1": "must have at least 4 characters",
    "reply to mail 1: sounds good": "I did not understand",
    "write a mail to bob about lunch: shall we eat at noon?": "which is not all addresses",
    "send it": "I did not understand",
    "open the attachment": "There is no file or folder “attachment”",
    "see attached, please file it under archive": "I did not understand",
    "how many rows does q3-figures.csv have?": "I did not understand",
    "cp reports/q3-figures.csv archive/": "copy reports/q3-figures.csv to archive",
    "rm -rf drafts": "There is no file or folder “-rf drafts”",
    "cat reports/q3-summary.md | grep revenue": "There is no file or folder",
    "/srv/data/reports/q3-summary.md löschen": "I did not understand",
    "delete C:\\Users\\ann\\Desktop\\old.txt": "cannot be part of a path here",
    "delete ../plans.txt": "cannot be part of a path here",
    "delete ../secrets.txt": "check the names that you gave",
    "delete *drafts/q3-draft.md*": "does not exist",
    "delete <https://example.com/a.md>": "does not exist",
    "and in archive?": "I did not understand",
    "and the other one too": "I did not understand",
    "show me the first one": "There is no file or folder “first one”",
    "what did you just do?": "n the record",
    "put it back": "nothing that I could take back",
    "undo pls": "nothing that I could take back",
    "undo all": "nothing that I could take back",
    "nvm": "Nothing of yours is waiting",
    "[banana] list reports": "I do not know [banana]",
    "[confidence=2] list reports": "must be a number from 0.5 to 1",
    "help banana": "I know nothing called “banana”",
    "mode auto": "Nothing is under way in this thread",
    "write to bob@example.com: running late": "is a mail address",
    "copy q3-summary.md to bob@example.com": "is a mail address",
    "move q3-summary.md out of reports": "I did not understand",
    "make two folders, one for 2026 and one for 2027": "I did not understand",
    "create folders a, b and c": "I did not understand",
    "move everything except q3-draft.md from drafts to archive": "There is no file or folder",
    "move all drafts but the meeting notes to archive": "Did you mean drafts/meeting-notes.md?",
    "delete the older of the two summaries": "There is no file or folder",
    "delete drafts/q3-draft.md, no wait, don't": "There is no file or folder",
    "move q3-draft.md to archive or reports": "Did you mean archive or reports?",
    "swap q3-draft.md and q3-summary.md": "I did not understand",
    "replace q3-draft.md with q3-summary.md": "I did not understand",
    'overwrite the readme with "hello"': "I am not sure what the new file is to be called",
    "create hello.md saying hi": "I did not understand",
    "move reports/q3-summary.md to /archive": "outside the allowed folders",
    "copy the q3 summary into drafts and call it q3-copy.md": "Did you mean drafts?",
    "delete reports/*.csv": "does not exist",
    "delete files older than a month": "There is no file or folder",
    "delete the second file in drafts": "There is no file or folder",
    "todo: call the landlord": "I did not understand",
    "schedule a call with Ann on monday from 10 to 11": "is no day I know",
    "block friday morning for writing": "is no day I know",
    'put "Dentist" in my calendar on thursday at 3': "There is no folder",
    "move lunch to 1pm": "“1pm” names a day or a time, and no folder.",
    "email ann@example.com the q3 summary": "I did not understand",
    "tell Bob I'm late": "I did not understand",
    "delete that mail": "There is no file or folder",
    "ok delete it then": "There is no file or folder",
    "Ann asked me to delete q2-summary.md": "I did not understand",
    "we could move q3-draft.md to archive": "I did not understand",
    "let's not move q3-draft.md to archive": "I did not understand",
    "move q3-draft.md to archive instead of reports": "Did you mean archive or reports?",
    "move q3-draft.md to archive unless it is there": "Did you mean archive?",
    "move q3-draft.md to archive by friday": "Did you mean archive?",
    "before you delete anything, list archive": "I did not understand",
    "move drafts/q3-draft.md to archive and tell Bob": "Did you mean archive?",
    "delete drafts/q3-draft.md and say it was Ann": "There is no file or folder",
    'create a folder "archive/../../etc"': "cannot be part of a path here",
    "create a folder called drafts": "is there already",
    "move q3-draft.md to reports/q3-summary.md": "nothing is overwritten",
    "move q3-draft.md to the bin": "There is no folder “bin”",
}


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    """The demo's files, tasks, calendar and mail."""
    postbox = MailServer(tmp_path / "mails")
    servers = demo_servers(sample_desk(tmp_path / "desk", datetime.now(UTC)), await postbox.start())
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


async def misread(
    product: Product, confirmable: Mapping[str, str], told: Mapping[str, str]
) -> dict[str, tuple[bool, str]]:
    """What is not answered as expected, with whether it can be confirmed: `confirmable` sentences by the beginning of
    their card, `told` ones by something that stands in the answer."""
    wrong = {}
    for sentence, expected in {**confirmable, **told}.items():
        message = await answer_to(product, sentence)
        decides = bool(buttons(message) & {"confirm", "review", "plan_approve"})
        fits = shown(message).startswith(expected) if sentence in confirmable else expected in shown(message)
        if not fits or decides is not (sentence in confirmable):
            wrong[sentence] = (decides, shown(message))
    return wrong


def buttons(message: Message) -> set[str]:
    rows = [block for block in message.blocks or [] if block["type"] == "actions"]
    return {element["action_id"] for row in rows for element in row["elements"]}


def shown(message: Message) -> str:
    return "\n".join(map(text_in, message.blocks or [])) or message.text


def test_there_are_two_hundred_sentences() -> None:
    assert len({**CONFIRMABLE, **ANSWERED, **TOLD}) >= 200


# What people write beside a card that waits, and that is neither a yes, a no nor an edit.
BESIDE = (
    "use drafts instead",
    "not that one, the q2 summary",
    "hold on",
    "rename it to old.md",
    "is this safe?",
)


async def test_words_beside_a_waiting_card_tell_that_it_waits(product: Product) -> None:
    for words in BESIDE:
        said = await product.ws.as_("U_ANN").say(OPS, "<@UBOT> move the q3 summary to archive")
        (card,) = await product.ws.wait_for(lambda said=said: product.ws.by_app(OPS, said.ts), SECONDS)
        await product.ws.as_("U_ANN").say(OPS, f"<@UBOT> {words}", thread_ts=said.ts)
        await product.ws.wait_for(lambda said=said: len(product.ws.by_app(OPS, said.ts)) > 1, SECONDS)
        *_, answer = product.ws.by_app(OPS, said.ts)
        assert "Your card above still waits, as it was" in shown(answer), words
        assert "set destination to …" in shown(answer), words
        assert {"confirm", "cancel"} <= buttons(card), words
        assert not buttons(answer), words


async def test_words_beside_a_waiting_card_name_no_argument_that_its_preview_puts_in(
    product: Product,
) -> None:
    said = await product.ws.as_("U_ANN").say(OPS, "<@UBOT> create a folder invoices")
    await product.ws.wait_for(lambda: product.ws.by_app(OPS, said.ts), SECONDS)
    await product.ws.as_("U_ANN").say(OPS, "<@UBOT> is this safe?", thread_ts=said.ts)
    await product.ws.wait_for(lambda: len(product.ws.by_app(OPS, said.ts)) > 1, SECONDS)
    told = shown(product.ws.by_app(OPS, said.ts)[-1])
    assert "set path to …" in told
    assert "expected" not in told


RENAMED = {
    "make a folder for invoices": ("call it bills instead", "Create the folder bills"),
    "move the q3 summary to archive": ("name it q3-old", "Move reports/q3-summary.md to archive/q3-old.md"),
    "move q3-draft.md to drafts/one.md": ("call it two instead", "Move drafts/q3-draft.md to drafts/two.md"),
    "remind me to call the bank": ("call it Phone the bank please", "Create the task “Phone the bank”"),
}


async def test_a_new_name_beside_a_waiting_card_makes_another_version_of_it(product: Product) -> None:
    before, ann = product.names(), product.ws.as_("U_ANN")
    for asked, (words, expected) in RENAMED.items():
        said = await ann.say(OPS, f"<@UBOT> {asked}")
        (card,) = await product.ws.wait_for(lambda said=said: product.ws.by_app(OPS, said.ts), SECONDS)
        await ann.say(OPS, f"<@UBOT> {words}", thread_ts=said.ts)

        def edited(card: Message = card, expected: str = expected) -> bool | None:
            return (shown(card).startswith(expected) and "confirm" in buttons(card)) or None

        await product.ws.wait_for(edited, SECONDS)
        assert "Edited by <@U_ANN>" in shown(card), asked
    assert product.names() == before


async def test_a_new_name_beside_a_deletion_or_by_somebody_else_changes_nothing(product: Product) -> None:
    said = await product.ws.as_("U_ANN").say(OPS, "<@UBOT> delete the q3 draft")
    (card,) = await product.ws.wait_for(lambda: product.ws.by_app(OPS, said.ts), SECONDS)
    first = shown(card)
    await product.ws.as_("U_ANN").say(OPS, "<@UBOT> call it two instead", thread_ts=said.ts)
    await product.ws.wait_for(lambda: len(product.ws.by_app(OPS, said.ts)) > 1, SECONDS)
    assert "Your card above still waits, as it was" in shown(product.ws.by_app(OPS, said.ts)[-1])
    await product.ws.as_("U_BEN").say(OPS, "<@UBOT> name it README.md", thread_ts=said.ts)
    await product.ws.settled()
    assert shown(card) == first


async def test_only_what_was_meant_can_be_confirmed(product: Product) -> None:
    assert not await misread(product, CONFIRMABLE, {**ANSWERED, **TOLD})
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
