"""Sentences that take themselves back, or say when and whether: without a model they become nothing to confirm.

What is not to be read so stands in quotes.
"""

from __future__ import annotations

import pytest

from tests.handlers.test_sentences import SECONDS, answer_to, buttons, shown
from tests.handlers.test_sentences import product as product
from tests.product import OPS, Product
from workspace.state import Message

pytestmark = pytest.mark.slow

NO_HEADING = "makes of the lines below, so I took none of them. Write the instructions without it."
HEADINGS = (
    "Do not do the following:\n- delete drafts/q3-draft.md",
    "Please don't:\ndelete README.md",
    "Please do not:\n- delete drafts/q3-draft.md\n- delete README.md",
    "Never do this:\n- delete README.md\n- delete drafts",
    "Not these:\n1. delete README.md\n2. delete drafts",
    "We decided against it:\n- delete README.md",
    "We should never do this again:\nmove drafts to archive",
    "only if Bob agrees:\ndelete README.md",
    "If Bob agrees:\n- delete drafts/q3-draft.md",
    "What would happen if I did this:\n- delete README.md",
    "Can you explain this:\ndelete README.md",
    "Bad example:\ndelete README.md and drafts",
    "Old list, already done:\n- delete README.md\n- delete drafts",
    "Things I did yesterday:\n- move q3-draft.md to archive\n- remind me to call Ann",
    "Yesterday I wrote you:\nmove drafts to archive",
    "Ben wrote:\ndelete README.md",
    "Ben suggested:\n- delete drafts/q3-draft.md\n- move README.md to archive",
    "Hi Ben:\ndelete README.md",
    "Tomorrow:\n- delete README.md",
    "- don't do these:\n- delete README.md\n- delete drafts",
)
TITLES = (
    "schedule a meeting with Bob not on friday",
    "schedule a meeting with Bob, but not on friday",
    "schedule no meetings on friday",
    "plan no meetings friday",
    "plan nothing on friday",
    "schedule something for friday",
    "schedule nothing for friday",
    "plan a party if it is sunny on friday",
    "book lunch with Ann if possible on friday",
    "book lunch with Bob, unless he is away, on friday",
    "schedule lunch only if Bob agrees for friday",
    "book lunch with Bob instead of the standup on friday",
    "schedule a meeting with nobody on friday at 10",
    "schedule Review for friday at 10 and Retro for friday at 11",
    "schedule a meeting with Bob from 10 to 11 on friday",
    "schedule Retro every other friday",
    "schedule call with Ann or Bob on friday",
    "make a meeting with Bob or Ann for tomorrow at 4",
    "set up a meeting with whoever is free for tomorrow at 4",
    "book a flight if cheap tomorrow",
    "plan dinner maybe tomorrow",
    "create event Lunch, cancelled, for tomorrow",
    "book me on friday",
    "plan it for friday",
    "remind me to do nothing",
    "remind me to call Ann. no, scratch that",
    "remind me to call Ann, no wait",
    "remind me to call Ann, actually Bob",
    "remind me to call Ann. Delete the draft",
    "remind me to call Ann except on friday",
    "add a task: call Ann. And delete task 1",
    "add a task to the list",
    "add a task to my list",
    "add a task to task 1",
    "add a task like task 1",
    "add nothing to my list",
    "make a task list",
    "make a task to call Ann only if Bob is away",
    "put task 1 on my list",
    "create a task force",
    "book the cheapest room you find for friday",
    "book the cheapress room you find on friday",
    "book a room you like for friday",
    "book us a table at the nearest place for friday",
    "plan the archive for friday",
    "plan my week for monday",
    "schedule standup when Bob is back for friday",
    "schedule a call tomorrow 9am and one friday 10am",
    "remind me to call Ann tomorrow and Bob friday",
    "remind me to call Ann when she is back friday",
    "rename task 1 to something shorter",
    "run publish-note if Ann agrees",
    "run publish-note when it is ready",
    "run publish-note for lisbon once Bob has read it, text=hello",
    "run publish-note for lisbon, text=hello, but don't publish it",
    "run publish-note for lisbon, text=the same as in README.md",
    "run archive-quarter for q3, but not the summary",
    "write a mail to bob@example.com about Lunch: hi, but don't send it",
    "write a mail to bob@example.com about Lunch: don't send it",
    "write a mail to bob@example.com about Lunch: hi. Only if Ann agrees",
    "write a mail to bob@example.com about Lunch: hi, no wait",
    "write a mail to bob@example.com about Lunch: tell him I am late",
    "write a mail to bob@example.com about Lunch: see you at noon and remind me to book a table",
    "write a mail to bob@example.com about Lunch: see you. Then delete task 1",
    "make a folder for the cheapest offers",
)
NAMES = (
    "create a folder invoices, no, bills",
    "create folder not now",
    "mkdir not this",
    "create a folder maybe later",
    "create a folder soon please",
    "make a folder for each quarter",
    "make a folder like reports",
    "make a folder named after Bob",
    "create a folder invoices tomorrow",
    "rename reports to results tomorrow.md",
    "copy reports to archive as backup tomorrow.md",
    "move q3-draft.md to archive as final if ok.md",
)
TEXTS = (
    "create notes.md with today's date",
    "create notes.md with nothing in it",
    "create notes.md with yesterday's mails",
    "make plan.md with Bob's help",
    "create a file called x.md with hello, but only if it is new",
)
QUESTIONS = (
    "task 1 is done?",
    "my task 2 is done??",
    "task 2 is due friday?",
    "mark task 1 done?",
    "make task 2 urgent?",
    "start task 2?",
    "remind me to buy milk?",
    "add milk to my list?",
    "schedule a call for tomorrow at 3pm?",
    "run archive-quarter for q3?",
    "run the runbook archive-quarter for q3??",
    "delete q3-draft.md?",
    "empty drafts?",
    "create a folder x?",
)
# Cards: the first line of each.
CONFIRMABLE = {
    "move `q3-draft.md` to `archive`": "Move drafts/q3-draft.md to archive\n",
    "delete `q3-draft.md` and `q2-summary.md`": "Delete 2 files: drafts/q3-draft.md, archive/q2-summary.md",
    "create a folder `not now`": "Create the folder not now",
    "copy README.md as `backup`": "Copy README.md to backup\n",
    "schedule “no meetings” for friday": "Create the event “no meetings”,",
    "schedule a meeting with Ann and Bob on friday at 10": "Create the event “Meeting with Ann and Bob”,",
    "book a day off on friday": "Create the event “day off”,",
    "can you schedule a meeting with Bob on friday at 10?": "Create the event “Meeting with Bob”,",
    "remind me to tell Bob not to come": "Create the task “tell Bob not to come”",
    "remind me to call Dr. Smith": "Create the task “call Dr. Smith”",
    "remind me to buy milk. Thanks": "Create the task “buy milk”",
    "can you remind me to call Ann?": "Create the task “call Ann”",
    'book "the cheapest room" on friday': "Create the event “the cheapest room”,",
    'write a mail to bob@example.com about Lunch: "hi, but don\'t send it"': "Draft a mail: Lunch,",
    "can you run archive-quarter for q3?": "Plan: can you run archive-quarter for q3?",
    'run publish-note for lisbon, text="If you want"': "Plan: run publish-note for lisbon",
    "make a folder for the invoices": "Create the folder invoices",
    "create a note ideas.md with: buy milk": "Write 8 B to ideas.md",
    'add a task: "call Ann. And delete task 1"': "Create the task “call Ann. And delete task 1”",
    "mark task 1 done": "Update task 1",
    "create a folder receipts/2026/november": "Create the folder receipts/2026/november",
    'create a folder "not now"': "Create the folder not now",
    "make a folder called old in archive": "Create the folder archive/old",
    'mkdir "a b c"': "Create the folder a b c",
    'create notes.md with "nothing in it"': "Write 13 B to notes.md",
    "create notes.md with hello": "Write 5 B to notes.md",
    "Please do this:\n- delete README.md": "Delete README.md",
    "please:\ndelete README.md": "Delete README.md",
    "Please do the following:\ndelete README.md": "Delete README.md",
    "could you please:\ndelete README.md": "Delete README.md",
    "Hi, can you do these things for me:\ndelete README.md": "Delete README.md",
    "TODO:\n- delete README.md": "Delete README.md",
    "my tasks:\n1. delete README.md": "Delete README.md",
    "steps:\n1. delete README.md": "Delete README.md",
    "touch today.md": "Create today.md (empty)",
    "create an empty file called today.md": "Create today.md (empty)",
    "touch archive/README.md": "Create archive/README.md (empty)",
}
# Words with a next step, and nothing to confirm.
TOLD = {
    **dict.fromkeys(HEADINGS, NO_HEADING),
    **dict.fromkeys(TITLES, "quotes"),
    **dict.fromkeys(NAMES, "quotes"),
    **dict.fromkeys(TEXTS, "Put the whole text in quotes"),
    **dict.fromkeys(QUESTIONS, "Write it without the question mark."),
    "create a folder whatever": "I do not know what “whatever” stands for here.",
    "create a folder maybe": "I do not know what “maybe” stands for here.",
    "rename the archive to whatever": "I do not know what “whatever” stands for here.",
    "move `q3-draft.md` to `nowhere`": "I do not know what “nowhere” stands for here.",
    "monitor everything in reports unless Bob objects": "There is no file or folder “reports unless Bob objects”.",
    "watch out": "There is no file or folder “out”.",
    "monitor Bob": "There is no file or folder “Bob”.",
    "keep an eye on things": "There is no file or folder “things”.",
    "stop watching Bob": "There is no file or folder “Bob”.",
    "publish the note if Ann agrees": "run publish-note for lisbon",
    "publish-note when it is ready": "run publish-note for lisbon",
    "send Ann an email saying hi, but don't send it": "I did not understand",
    "rename all drafts to old": "may be several things, and this takes one.",
    "delete everything in archive and reports": "Write “everything in reports”, or “the folder reports”.",
    "mkdir a b c": "One folder at a time",
    "touch README.md": "README.md is there already. To empty it, write: empty README.md.",
    "create an empty file README.md": "README.md is there already. To empty it, write: empty README.md.",
    "touch reports/q3-summary.md": "To empty it, write: empty reports/q3-summary.md.",
    "touch q3-draft.md": "To empty it, write: empty drafts/q3-draft.md.",
    'touch "README.md"': "To empty it, write: empty README.md.",
    "list reports\nDo not:\n- delete README.md": "I took none of the 3 instructions",
    "- move q3-draft.md to archive\nLater, not now:\n- delete README.md": "I took none of the 3 instructions",
    "Should we do this?\n- delete drafts/q3-draft.md\n- delete README.md": "I took none of the 3 instructions",
}
# Answers to a question, and what comes of them: the first line of a card, else words with nothing to confirm.
TYPED = {
    ("copy README.md", "to archive"): ("Copy README.md to archive\n", True),
    ("copy README.md", "into the archive"): ("Copy README.md to archive\n", True),
    ("copy README.md", "archive"): ("Copy README.md to archive\n", True),
    ("copy README.md", "backup.md"): ("Copy README.md to backup.md\n", True),
    ("copy README.md", "“backup”"): ("Copy README.md to backup\n", True),
    ("copy README.md", "backup"): ("There is no folder “backup”.", False),
    ("copy README.md", "nowhere"): ("I did nothing, because you wrote “nowhere”.", False),
    ("copy README.md", "not to archive"): ("“not to archive” does not read like an answer.", False),
    ("copy README.md", "I don't know yet"): ("“I don't know yet” does not read like an answer.", False),
    ("copy README.md", "hang on"): ("It waits for you", False),
    ("copy README.md", "list reports"): ("“list reports” does not read like an answer.", False),
    ("overwrite README.md", "hello all"): ("Replace README.md", True),
    ("overwrite README.md", "“hang on”"): ("Replace README.md", True),
    ("overwrite README.md", "I changed my mind"): ("I did nothing, because you wrote", False),
    ("overwrite README.md", "hang on"): ("It waits for you", False),
    ("overwrite README.md", "wait"): ("It waits for you", False),
    ("overwrite README.md", "not yet"): ("It waits for you", False),
    ("overwrite README.md", "no"): ("Cancelled by", False),
    ("overwrite README.md", "tomorrow"): ("“tomorrow” does not read like an answer.", False),
    ("overwrite README.md", "what does it say now?"): ("does not read like an answer.", False),
    ("overwrite README.md", "delete drafts"): ("“delete drafts” does not read like an answer.", False),
    ("delete the draft", "q3-draft.md"): ("Delete drafts/q3-draft.md", True),
    ("delete the summaries", "none"): ("I did nothing, because you wrote “none”.", False),
    ("delete the draft", "neither"): ("I did nothing, because you wrote “neither”.", False),
    ("delete the draft", "don't delete anything"): ("“don't delete anything” is none of these.", False),
}


async def test_an_answer_to_a_question_is_read_like_a_part_of_the_sentence(product: Product) -> None:
    wrong, ann, deciding = {}, product.ws.as_("U_ANN"), {"confirm", "review", "plan_approve"}
    for (sentence, words), (expected, decides) in TYPED.items():
        said = await ann.say(OPS, f"<@UBOT> {sentence}")

        def answers(at: str = said.ts, text: str = "") -> list[Message]:
            return [one for one in product.ws.by_app(OPS, at) if text in shown(one)]

        def told(at: str = said.ts, text: str = expected) -> list[Message]:
            return answers(at, text)

        (first,) = await product.ws.wait_for(answers, SECONDS)
        if "task_submit" not in buttons(first):
            wrong[sentence, words] = [shown(first)]
            continue
        await ann.say(OPS, f"<@UBOT> {words}", thread_ts=said.ts)
        try:
            await product.ws.wait_for(told, SECONDS)
        except (AssertionError, TimeoutError):
            wrong[sentence, words] = [shown(one) for one in answers()]
            continue
        found = [one for one in answers() if buttons(one) & deciding]
        if bool(found) is not decides or (decides and not shown(found[-1]).startswith(expected)):
            wrong[sentence, words] = [shown(one) for one in answers()]
    assert not wrong


async def test_only_what_was_meant_can_be_confirmed(product: Product) -> None:
    wrong = {}
    for sentence, expected in {**CONFIRMABLE, **TOLD}.items():
        message = await answer_to(product, sentence)
        decides = bool(buttons(message) & {"confirm", "review", "plan_approve"})
        fits = shown(message).startswith(expected) if sentence in CONFIRMABLE else expected in shown(message)
        if not fits or decides is not (sentence in CONFIRMABLE):
            wrong[sentence] = (decides, shown(message))
    assert not wrong
