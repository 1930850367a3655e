"""Sentences that were once misread, or whose answer was no help, and what comes of them without a model.

A word becomes the name of something new only where the sentence says so: in quotes, with an ending or a slash, or behind
“rename”, “as”, “called”. Whatever can be confirmed is listed here word for word, and so is every question.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.handlers.test_sentences import answer_to, buttons, misread, shown
from tests.handlers.test_sentences import product as product
from tests.product import Product

pytestmark = pytest.mark.slow

MANIFESTS = Path(__file__).parents[2] / "manifests" / "slack"

NO_DAY = "names a day or a time, and no folder."
NO_PERSON = "and files do not go to people."
MOVE_CARD = "Move drafts/q3-draft.md to archive\n"
# Cards: the first line of each.
CONFIRMABLE = {
    "copy reports/q3-figures.csv to the archive": "Copy reports/q3-figures.csv to archive\n",
    'Create a file called todo.md with "buy milk"': "Write 8 B to todo.md\ncontent  buy milk\n",
    "Create a file named ideas.md with the text: x": "Write 1 B to ideas.md\ncontent  x\n",
    "remind me to call the bank tomorrow": "Create the task “call the bank”\n+ due: 2",
    "delete everything in drafts": "Delete 2 files: drafts/meeting-notes.md, drafts/q3-draft.md\n",
    "move all files from reports to archive": "2 changes prepared",
    "I'd like you to move q3-draft.md to archive": MOVE_CARD,
    "I need you to move q3-draft.md to archive": MOVE_CARD,
    "I'd like to copy README.md to archive": "Copy README.md to archive\n",
    "put q3-draft.md into Archive": MOVE_CARD,
    "make the folder invoices and move q3-figures.csv into it": "Plan: make the folder invoices",
    "create a folder old and move q3-draft.md there": "Plan: create a folder old",
    "create folder expenses then move the figures there": "Plan: create folder expenses",
    "create the folder 2027 and move the q3 draft to 2027": "Plan: create the folder 2027",
    "create a folder x and copy README.md and the q3 draft into it": "Plan: create a folder x",
    "rename q3-draft.md to “archiv”": "Move drafts/q3-draft.md to drafts/archiv\n",
    "move the drafts to archive": "Move the folder drafts to archive/drafts\n",
    "copy the drafts to archive": "Copy the folder drafts to archive/drafts\n",
    "rename reports to results": "Move the folder reports to results\n",
    'rename the archive to "old stuff"': "Move the folder archive to old stuff\n",
    "copy q3-draft.md as q4-draft.md": "Copy drafts/q3-draft.md to drafts/q4-draft.md\n",
    "copy README.md as “backup”": "Copy README.md to backup\n",
    "copy README.md to backup.md": "Copy README.md to backup.md\n",
    'move q3-draft.md to "done"': "Move drafts/q3-draft.md to done\n",
    "create a folder called Dora": "Create the folder Dora",
    "create a folder called friday": "Create the folder friday",
    "empty the archive": "Delete archive/q2-summary.md",
    "clear the drafts": "Delete 2 files: drafts/meeting-notes.md, drafts/q3-draft.md",
    "empty README.md": "Empty README.md, all 71 B of it",
    "delete the readme": "Delete README.md",
    'write "x" to README.md': "Replace README.md",
    'write "x" to new-notes.md': "Write 1 B to new-notes.md",
    "add a task: call Bob": "Create the task “call Bob”",
    "remind me to write to Bob": "Create the task “write to Bob”",
    "delete task 1": "Delete task 1",
    "move task 1 to friday": "Update task 1",
    "remind me to call Ann friday 10:30": "Create the task “call Ann at 10:30”\n+ due: ",
    "remind me to call Ann 10:30 friday": "Create the task “call Ann at 10:30”\n+ due: ",
    "remind me mon at noon to call Ann": "Create the task “call Ann at 12:00”\n+ due: ",
    "remind me to call Ann tomorrow 9am": "Create the task “call Ann at 9am”\n+ due: ",
    "remind me to call the bank tonight": "Create the task “call the bank tonight”\n+ due: ",
    "remind me tonight to call the bank": "Create the task “call the bank tonight”\n+ due: ",
    "remind me to call the bank this evening": "Create the task “call the bank this evening”\n+ due: ",
    "remind me to call the bank tonight at 8pm": "Create the task “call the bank at 8pm”\n+ due: ",
    "remind me tomorrow morning to call the bank": "Create the task “call the bank in the morning”\n+ due: ",
    "add a task: call the bank tomorrow evening": "Create the task “call the bank in the evening”\n+ due: ",
    "schedule Dinner tonight at 19:30": "Create the event “Dinner”,",
    "remind me to pay the rent by the end of the month": "Create the task “pay the rent”\n+ due: ",
    "schedule Retro next monday 10:30": "Create the event “Retro”,",
    "schedule Retro 10:30 friday": "Create the event “Retro”,",
    "schedule a call with Bob thurs at noon for 20 minutes": "Create the event “call with Bob”,",
    "watch reports": "Start watching reports:",
    "delete task one": "Delete task 1",
    "delete task #1": "Delete task 1",
    "complete #2": "Update task 2",
    "task three is done": "Update task 3",
    "cancel the event standup": "Delete the event Standup,",
    "delete my drafts folder": "Delete drafts (a folder",
    "write a mail to bob@example.com about Lunch\nHi Bob,\nlet's eat.\nBest, Ann": "Draft a mail: Lunch,",
    "write a mail to bob@example.com about Lunch: Hi Bob,\nlet's eat.\nBest, Ann": "Draft a mail: Lunch,",
}
# Questions: what can be chosen.
ASKED = {
    "move the Q3 reports into archive and delete the drafts": (
        "Which one is “the Q3 reports” in “move the Q3 reports into archive”?",
        "reports/q3-figures.csv",
        "reports/q3-summary.md",
        "all of them",
    ),
    "move the summary to archive": ("archive/q2-summary.md", "reports/q3-summary.md"),
    "delete the meeting": ("drafts/meeting-notes.md", "an event in the calendar"),
    "remove my meeting": ("drafts/meeting-notes.md", "an event in the calendar"),
    "rename the meeting to sync.md": ("drafts/meeting-notes.md", "an event in the calendar"),
    "move the meeting to archive": ("drafts/meeting-notes.md", "an event in the calendar"),
    "delete the report": ("reports", "reports/q3-figures.csv", "reports/q3-summary.md"),
    "move the report to archive": ("reports", "reports/q3-figures.csv", "reports/q3-summary.md"),
    "read the report": ("reports/q3-figures.csv", "reports/q3-summary.md"),
    "delete the draft": ("drafts", "drafts/q3-draft.md", "a mail"),
    "delete the summaries": ("archive/q2-summary.md", "reports/q3-summary.md", "all of them"),
    "copy README.md": ("Which destination",),
    "delete my drafts": ("drafts", "everything in drafts", "a mail"),
    "delete all my drafts": ("drafts", "everything in drafts", "a mail"),
    "move my reports to archive": ("reports", "everything in reports"),
    "clear our drafts": ("drafts", "a mail"),
}
# Answers at once: something that stands in each.
ANSWERED = {
    "check my mail": "Your posters",
    "show my inbox": "Your posters",
    "show tasks": "Pick up the posters",
    "show me the drafts": "drafts/q3-draft.md",
    "open reports": "reports/q3-figures.csv",
    "show me the archive": "archive/q2-summary.md",
    "find everything that mentions Lisbon": "reports/q3-summary.md",
    "find everything about revenue": "reports/q3-summary.md",
    "find files about revenue": "Search all files for “revenue”",
    "how big is q3-summary.md": "131 B",
    "how large is the q3 summary": "131 B",
    "when was q3-summary.md changed": "reports/q3-summary.md",
    "how old is meeting-notes.md": "drafts/meeting-notes.md",
    "does q3-summary.md exist": "reports/q3-summary.md",
    "does q9-summary.md exist": "no",
    "find q3": "reports/q3-summary.md",
    "find the q3 summary": "reports/q3-summary.md",
    "find draft in drafts": "drafts/q3-draft.md",
    "where is the figures": "reports/q3-figures.csv",
    "show mails from Bob": "The Q3 figures",
    "read the mail from Bob": "The Q3 figures",
    "what did Bob write me": "The Q3 figures",
}
# Words with a next step, and nothing to confirm.
TOLD = {
    "move q3-draft.md to archiv": (
        "There is no folder “archiv”. Did you mean archive? To make that folder first, write: create the folder "
        "archiv. To give it a new name, write: rename q3-draft.md to “archiv”."
    ),
    "move q3-draft.md to archives": "There is no folder “archives”. Did you mean archive?",
    "move q3-draft.md to report": "There is no folder “report”. Did you mean reports?",
    "move q3-draft.md to reports-old": "There is no folder “reports-old”. Did you mean reports?",
    "move the q3 draft to the archives": "There is no folder “archives”. Did you mean archive?",
    "move the notes to old": "There is no folder “old”.",
    "put README.md in box": "There is no folder “box”.",
    "copy q3-figures.csv to finance": "write: copy q3-figures.csv as “finance”.",
    "copy reports to dropbox": "There is no folder “dropbox”.",
    "copy the q3 summary to desktop": "There is no folder “desktop”.",
    "move README.md to mars": "There is no folder “mars”.",
    "move q3-draft.md to done": "write: rename q3-draft.md to “done”.",
    "move README.md to docs": "There is no folder “docs”.",
    "move README.md to docs/": "does not exist. Create it first",
    "move q3-draft.md and README.md to stuff": "write: create the folder stuff.",
    "copy drafts to reports and archive": "Did you mean archive or reports?",
    "move my meeting to friday": NO_DAY,
    "move meeting to tomorrow": NO_DAY,
    "move the q3 summary to monday": NO_DAY,
    "move the report to monday": NO_DAY,
    "move the figures to saturday": NO_DAY,
    "move the figures to march": NO_DAY,
    "copy q3-summary.md to next month": NO_DAY,
    "rename reports to monday": NO_DAY,
    "create a folder friday": NO_DAY,
    "move the figures to Bob": NO_PERSON,
    "copy README.md to Bob": NO_PERSON,
    "move the notes to Ann": NO_PERSON,
    "copy the meeting notes to Dora": NO_PERSON,
    "copy the readme to everyone": NO_PERSON,
    "move meeting-notes.md to them": NO_PERSON,
    "copy q3-draft.md to <@U_BEN>": NO_PERSON,
    "create a folder for me": "is a person",
    "create a folder for the team": "is a person",
    "rename reports to me": "is a person",
    "create a folder for Dora": "create a folder called Dora",
    "create a folder called it": "I do not know what “it” stands for",
    "move README.md to here": "I do not know what “here” stands for",
    "put the meeting notes there": "I do not know what “there” stands for",
    "move q3-figures.csv into it": "I do not know what “it” stands for",
    'write "x" to it': "I do not know what “it” stands for",
    "create a task for Bob": "does not say what is to be done",
    "create a task for me": "does not say what is to be done",
    "add a task about the printer": "does not say what is to be done",
    "rename drafts to archive": "There is a folder “archive” already",
    "rename reports to drafts": "write: move reports to drafts",
    "rename q3-draft.md to final": "Write the whole new name, such as final.md.",
    "move q3-dreft.md to archive": "Did you mean drafts/q3-draft.md?",
    "delete redme.md": "Did you mean README.md?",
    "read q3-sumary.md": "Did you mean reports/q3-summary.md",
    "how big is q9-summary.md": "There is no file or folder “q9-summary.md”. Did you mean",
    "remind me to call Ann in 2 hours": "in place of “in 2 hours”, for example: today at 15:00",
    "remind me in 2 hours to call Ann": "in place of “in 2 hours”, for example: today at 15:00",
    "remind me to stretch in half an hour": "in place of “in half an hour”, for example: today at 15:00",
    "schedule Retro in 2 hours": "in place of “in 2 hours”, for example: today at 15:00",
    "schedule Dinner tonight": "in place of “tonight”, for example: today at 19:00",
    "schedule Standup tomorrow morning": "in place of “tomorrow morning”, for example: tomorrow at 10:00",
    "remind me to call the bank tonight at 8": "I am not sure where the title ends",
    "remind me to call Ann next week": "write for example: next monday",
    "remind me to call Ann at 10:30": "write for example: tomorrow at 10:00",
    "remind me to call Ann friday 10": "I am not sure where the title ends",
    "delete the standup event": "• delete event standup",
    "cancel the standup on friday": "• delete event standup",
    "Hi Ann,\nlet's eat at noon.\nBest, Bob": "That reads like a mail.",
    "Dear Bob,\nplease delete README.md\nBest, Ann": "That reads like a mail.",
    "send a mail to bob@example.com:\nHi Bob,\nlet's eat.": "That reads like a mail.",
    "write a mail to bob@example.com: hi": "A mail needs a subject.",
    "send mail draft 0a1b2c3d4e": "There is no draft 0a1b2c3d4e. List the drafts to see their ids.",
    "good morning!": "I can help with: files, calendar, mail, tasks.",
    "good evening": "I can help with: files, calendar, mail, tasks.",
    "mvoe q3-draft.md to archive": "• move q3-draft.md to archive\n",
    "cpoy README.md to archive": "• copy README.md to archive\n",
    "renmae q3-draft.md to q3.md": "• rename q3-draft.md to q3.md\n",
    "craete a folder invoices": "• create a folder invoices\n",
    "lst reports": "• list reports\n",
    "remoev task 1": "• remove task 1\n",
    'append "the end" to README.md': '• write "Call the printer." to notes.md\n',
    "file away the q3 draft": "• move reports/q3-summary.md to archive/q3-summary.md\n",
    "archive the q3 draft": "• move reports/q3-summary.md to archive/q3-summary.md\n",
    "back up the reports": "• copy reports/q3-figures.csv to archive\n",
    "bin the q3 draft": "• delete drafts/q3-draft.md\n",
    "delete all my tasks": "• delete task 1",
    "delete the appointment": "• delete event standup",
    "delete all my mails": "With mail you can write",
    "compare q3-draft.md with q3-summary.md": "You can write: read drafts/q3-draft.md and reports/q3-summary.md.",
    "compare A with B": "There is no file or folder “A”",
    "help banana": "I can help with these: calendar, mail, files, tasks.",
}
# Nobody hears of these who did not ask for something to go.
DESTROYING = ("delete ", "purge ", "remove ", "tidy-drafts")
UNASKED = (
    "file away the q3 draft",
    'append "the end" to README.md',
    "call the q3 draft q3-final.md",
    "store the meeting notes",
    "delay the meeting",
    "sing a song",
    "bring the q2 summary back",
)


def test_there_are_more_than_a_hundred_sentences() -> None:
    assert len({**CONFIRMABLE, **ASKED, **ANSWERED, **TOLD}) >= 100


async def test_only_what_was_meant_can_be_confirmed(product: Product) -> None:
    assert not await misread(product, CONFIRMABLE, {**ANSWERED, **TOLD})


async def test_what_may_be_two_things_is_asked_about(product: Product) -> None:
    wrong = {}
    for sentence, options in ASKED.items():
        message = await answer_to(product, sentence)
        asks = "task_submit" in buttons(message) and all(option in shown(message) for option in options)
        if not asks or buttons(message) & {"confirm", "review", "plan_approve"}:
            wrong[sentence] = shown(message)
    assert not wrong


async def test_nobody_is_told_of_deletions_who_did_not_ask(product: Product) -> None:
    for sentence in UNASKED:
        told = shown(await answer_to(product, sentence)).partition("”")[2]
        assert not [word for word in DESTROYING if word in told], sentence


async def test_what_is_suggested_works_as_it_stands(product: Product) -> None:
    """Every line of a suggestion is a sentence that is understood in this workspace."""
    suggested = set()
    for sentence in (*UNASKED, "delete all my tasks", "mark it", "calendar please", "mails", "find stuff"):
        told = shown(await answer_to(product, sentence)).splitlines()
        suggested |= {line[2:] for line in told if line.startswith("• ") and " several steps" not in line}
    assert len(suggested) > 10
    for line in sorted(suggested):
        answer = shown(await answer_to(product, line))
        assert "I did not understand" not in answer, line
        assert "There is no" not in answer, line
        assert "cannot be done" not in answer, line


async def test_each_prompt_that_slack_suggests_is_answered(product: Product) -> None:
    answers = {"pending": "wait", "undo": "take back", "help": "I can help with"}
    for name in ("socket", "http"):
        features = yaml.safe_load((MANIFESTS / f"{name}.yaml").read_text("utf-8"))["features"]
        assert {one["message"] for one in features["agent_view"]["suggested_prompts"]} == set(answers)
    for message, expected in answers.items():
        assert expected in shown(await answer_to(product, message)), message
