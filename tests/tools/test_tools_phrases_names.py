"""Names of files as people say them are looked up first: what is misread does not become something to be confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest

from gate.rules.planner_port import (
    WITHHELD,
    CallReport,
    Clarify,
    Exchange,
    Mode,
    PlannerContext,
    Propose,
    ProposePlan,
    Say,
)
from gate.rules.task import Instruction, SettledPoint
from gate.rules.tool import ToolSpec, Trust
from tests.servers.all_servers import servers
from tests.tasks import step_of
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import (
    AT,
    FILE,
    TREE,
    Listed,
    found_by,
    replied,
    replied_over,
    turn,
    understood,
)
from tools.mcp.server_config import ServerConfig
from tools.phrases.name_lookup import NAMES_WITHHELD
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits
from tools.phrases.runbook_steps import seen


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    """The bundled phrases over the tools of all bundled servers."""

    async def specs() -> Iterable[ToolSpec]:
        made = servers(tmp_path_factory.mktemp("servers"))
        configs = [ServerConfig(name=name, inproc="x", trust=Trust.BUNDLED) for name in made]
        async with hosting(tmp_path_factory.mktemp("host"), *configs, inproc=made) as host:
            return host.specs()

    return Phrases(load_phrases(FILE), Listed({spec.full_name: spec for spec in asyncio.run(specs())}))


def outcome(
    planner: Phrases, text: str, tree: Iterable[str] = TREE, decided: tuple[SettledPoint, ...] = ()
) -> str:
    """In one line, what comes of a sentence: the calls in order, a question with its options, or what is said."""
    reply = understood(planner, text, tuple(tree), decided)
    if isinstance(reply, Propose):
        calls = [call for call in reply.calls]
    elif isinstance(reply, ProposePlan):
        calls = [step.call for step in reply.steps]
    elif isinstance(reply, Clarify):
        return "ask " + "; ".join(", ".join(question.options) for question in reply.questions)
    else:
        assert isinstance(reply, Say), reply
        return f"say {reply.text}"
    shown = " | ".join(f"{call.tool} {dict(call.args)}" for call in calls)
    return f"plan {shown}" if isinstance(reply, ProposePlan) else shown


Q3 = ["reports/q3-figures.csv", "reports/q3-summary.md"]
DRAFTS = ["drafts/meeting-notes.md", "drafts/q3-draft.md"]
MOVED = "move_file {'source': 'drafts/q3-draft.md', 'destination': 'archive'}"
# What people type, and what comes of it: no sentence becomes a call that they did not mean.
SENTENCES = {
    # The sentences of the review of version 1
    "copy reports/q3-figures.csv to the archive": (
        "copy_file {'source': 'reports/q3-figures.csv', 'destination': 'archive'}"
    ),
    'Create a file called todo.md with "buy milk"': "write_file {'path': 'todo.md', 'content': 'buy milk'}",
    "create a note named ideas.md with the text: x": "write_file {'path': 'ideas.md', 'content': 'x'}",
    "move the Q3 reports into archive and delete the drafts": f"ask {', '.join(Q3)}, all of them",
    "remind me to call the bank tomorrow": "create_task {'title': 'call the bank', 'due': 'tomorrow'}",
    "move the summary to archive": "ask archive/q2-summary.md, reports/q3-summary.md",
    "delete everything in drafts": f"delete_file {{'path': {DRAFTS}}}",
    "compare A with B": "say There is no file or folder “A”.",
    "find the file about the revenue": "search_files {'path': '.', 'pattern': '*', 'contains': 'revenue'}",
    "show me whats in the drafts folder": "list_dir {'path': 'drafts'}",
    "find files about revenue": "search_files {'path': '.', 'pattern': '*', 'contains': 'revenue'}",
    "move all files from reports to archive": (
        "move_file {'source': 'reports/q3-figures.csv', 'destination': 'archive'} | "
        "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'}"
    ),
    "schedule Lunch friday at 10": "create_event {'title': 'Lunch', 'start': 'friday at 10'}",
    # Files and folders by name
    "move the Q3 summary to the archive": "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'}",
    "could you put the meeting notes in the archive?": (
        "move_file {'source': 'drafts/meeting-notes.md', 'destination': 'archive'}"
    ),
    "move q3-summary and q3-figures to the archive": (
        "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'} | "
        "move_file {'source': 'reports/q3-figures.csv', 'destination': 'archive'}"
    ),
    "copy minutes (1).txt to archive": "copy_file {'source': 'downloads/minutes (1).txt', 'destination': 'archive'}",
    "delete minutes": "delete_file {'path': 'downloads/minutes.txt'}",
    "throw away q3-draft": "delete_file {'path': 'drafts/q3-draft.md'}",
    "delete all drafts": f"delete_file {{'path': {DRAFTS}}}",
    "delete all the files in the archive": "delete_file {'path': 'archive/q2-summary.md'}",
    "rename the q3 draft to final.md": (
        "move_file {'source': 'drafts/q3-draft.md', 'destination': 'drafts/final.md'}"
    ),
    "compare the lease 2026 with the lease 2027": (
        "diff_documents {'first': 'contracts/lease-2026.md', 'second': 'contracts/lease-2027.md'}"
    ),
    "can you show me the Q3 summary please": "read_file {'path': 'reports/q3-summary.md'}",
    "scan my contracts for personal data": "scan_for_pii {'path': 'contracts'}",
    "what is in the reports folder?": "list_dir {'path': 'reports'}",
    "get rid of the old draft": "say There is no file or folder “old draft”. Did you mean drafts",
    "copy both leases to drafts": "say There is no file or folder “both leases”. Did you mean contracts/lease",
    "delete the budget": "say There is no file or folder “budget”.",
    "move reports/q3-summary.md to the moon": "say There is no folder “moon”.",
    "move drafts/q3-draft.md to old stuff": "say There is no folder “old stuff”.",
    "move a.md to b.md and c.md": "say There is no folder “b.md and c.md”.",
    "delete the first draft then list drafts": "say I took none of the 2 instructions",
    "list the drafts and then delete them": "say I took none of the 2 instructions",
    "delete everything": "say Everything in which folder?",
    "move everything to archive": "say Everything in which folder?",
    # New files
    'save "hello" as greeting': "say I am not sure what the new file is to be called: “greeting”?",
    'save "hello" as greeting.txt': "write_file {'path': 'greeting.txt', 'content': 'hello'}",
    'write "a and b" to list.md and delete downloads/minutes.txt': (
        "write_file {'path': 'list.md', 'content': 'a and b'} | delete_file {'path': 'downloads/minutes.txt'}"
    ),
    "make a note called shopping list.md with milk": "write_file {'path': 'shopping list.md', 'content': 'milk'}",
    "write a short poem to poem.md": "say I did not understand",
    'replace "Bob" with "Robert" in drafts/notes.md': "say I did not understand",
    "replace drafts/q3-draft.md with reports/q3-summary.md": "say I did not understand",
    'replace drafts/q3-draft.md with "new text"': (
        "write_file {'path': 'drafts/q3-draft.md', 'content': 'new text'}"
    ),
    "create archive/q3.md with the contents of drafts/q3-draft.md": (
        "say I am not sure which text you mean: “the contents of drafts/q3-draft.md”?"
    ),
    "create summary.md with a summary of the figures": "say I am not sure which text you mean",
    'create a.md with "x" and b.md with "y"': "say I am not sure which text you mean",
    "create a.md with x and b.md with y": "say I am not sure which text you mean",
    "create a file notes.md with the text: move a.md": (
        "write_file {'path': 'notes.md', 'content': 'move a.md'}"
    ),
    "create todo.md with buy milk and eggs": (
        "write_file {'path': 'todo.md', 'content': 'buy milk and eggs'}"
    ),
    "find all md files": "search_files {'path': '.', 'pattern': '*.md'}",
    "copy the q3 draft to archive as old.md": (
        "copy_file {'source': 'drafts/q3-draft.md', 'destination': 'archive/old.md'}"
    ),
    'create an event called "Retro" on friday at 10': (
        "create_event {'title': 'Retro', 'start': 'friday at 10'}"
    ),
    "schedule Call with Bob at 3pm tomorrow": (
        "create_event {'title': 'Call with Bob', 'start': 'tomorrow at 3pm'}"
    ),
    'add "buy milk" and "call Bob" to my tasks': "say I am not sure what the title is",
    'rename task 1 to "All figures" and delete task 2': "say I am not sure what the title is",
    "add a task buy milk with high priority": "create_task {'title': 'buy milk', 'priority': 'high'}",
    "make task 1 urgent": "update_task {'task_id': 1, 'priority': 'urgent'}",
    "make task 1 about lunch": "say “make task 1 about lunch” cannot be done:",
    "add an urgent task to call the bank": "create_task {'title': 'call the bank', 'priority': 'urgent'}",
    "add a high priority task to call the bank": "create_task {'title': 'call the bank', 'priority': 'high'}",
    "first list drafts, then move the q3 draft to archive": (
        "list_dir {'path': 'drafts'} | move_file {'source': 'drafts/q3-draft.md', 'destination': 'archive'}"
    ),
    "now delete drafts/q3-draft.md": "delete_file {'path': 'drafts/q3-draft.md'}",
    'draft a mail to bob@example.com about "figures" saying "They are late."': (
        "draft_email {'to': 'bob@example.com', 'subject': 'figures', 'body': 'They are late.'}"
    ),
    "replace Lisbon with Porto in the summary": "say I did not understand",
    "empty the drafts folder": f"delete_file {{'path': {DRAFTS}}}",
    "empty q3-draft.md": "write_file {'path': 'drafts/q3-draft.md', 'content': ''}",
    "convert the draft to word": "say I am not sure what the new file is to be called: “word”?",
    "rename drafts/q3-draft.md to final": "say “final” has no ending. Write the whole new name, such as final.md.",
    # Days
    "remind me tomorrow to call the bank": "create_task {'title': 'call the bank', 'due': 'tomorrow'}",
    "remind me to pay the rent on friday at 10": "create_task {'title': 'pay the rent at 10', 'due': 'friday'}",
    "remind me in 2 weeks to renew the passport": "create_task {'title': 'renew the passport', 'due': 'in 2 weeks'}",
    "plan a review next monday at 9am": "create_event {'title': 'review', 'start': 'next monday at 9am'}",
    "book a meeting with Ann on friday at 14:00": (
        "create_event {'title': 'Meeting with Ann', 'start': 'friday at 14:00'}"
    ),
    "add a task to water the plants and feed the cat": (
        "create_task {'title': 'water the plants and feed the cat'}"
    ),
    "remind me to move the car and delete the drafts": (
        "create_task {'title': 'move the car and delete the drafts'}"
    ),
    "book a flight to Rome on friday": "create_event {'title': 'flight to Rome', 'start': 'friday'}",
    'remind me to "plan next week" tomorrow': "create_task {'title': 'plan next week', 'due': 'tomorrow'}",
    "remind me to log in tomorrow": "create_task {'title': 'log in', 'due': 'tomorrow'}",
    "remind me to write the weekly report friday": "create_task {'title': 'write the weekly report', 'due': 'friday'}",
    "remind me to mark 3 exams": "create_task {'title': 'mark 3 exams'}",
    # Moments that no day or time here can hold: none becomes a part of a title
    "remind me to water the plants every monday": "say I am not sure where the title ends: “water the plants every”",
    "schedule standup every monday at 9": "say I am not sure where the title ends: “standup every”",
    "remind me to call the bank next week": "say I am not sure where the title ends",
    "remind me to pay the rent on the 1st": "say I am not sure where the title ends",
    "remind me to submit the form on 3 December": "say I am not sure where the title ends",
    "remind me to stretch in 5 minutes": "say I write down days and times of day. Please write, in place of",
    "remind me to buy milk tonight": "create_task {'title': 'buy milk tonight', 'due': 'today'}",
    "remind me to call mom @ 6pm tmrw": "say I am not sure where the title ends",
    "remind me to ring Bob tomorrow morning": "create_task {'title': 'ring Bob in the morning', 'due': 'tomorrow'}",
    "remind me to ring Bob on monday and tuesday": "say I am not sure where the title ends",
    "remind me to ring Bob, but not on friday": "say I am not sure where the title ends",
    "add a task to back up the disk daily": "say I am not sure where the title ends",
    # Politeness and emoji around a sentence
    "move q3-draft.md to archive, thx!!": MOVED,
    "thanks, move q3-draft.md to archive thx": MOVED,
    ":wave: move q3-draft.md to archive :pray: :tada:": MOVED,
    "bitte move q3-draft.md to archive, danke": MOVED,
    'write "thanks :tada:" to thx.txt': "write_file {'path': 'thx.txt', 'content': 'thanks :tada:'}",
    "create thx.txt with: many thanks": "write_file {'path': 'thx.txt', 'content': 'many thanks'}",
    # Taken for a file's name, and something else may be meant
    "delete the lunch event": "say There is no file or folder “lunch event”. ",
    "delete task number 3": "say There is no file or folder “task number 3”. Write `list all files`",
    "read mail 1": "say “read mail 1” cannot be done: `message_id` must have at least 4 characters",
    # One thing after another
    "move reports/q3-summary.md to documents/ then copy documents/q3-summary.md to archive": (
        "plan move_file {'source': 'reports/q3-summary.md', 'destination': 'documents/'} | "
        "copy_file {'source': 'documents/q3-summary.md', 'destination': 'archive'}"
    ),
    "copy everything in drafts to archive then delete everything in drafts": (
        f"plan copy_file {{'source': '{DRAFTS[0]}', 'destination': 'archive'}} | "
        f"copy_file {{'source': '{DRAFTS[1]}', 'destination': 'archive'}} | delete_file {{'path': {DRAFTS}}}"
    ),
    "move reports/q3-summary.md to archive then move reports/q3-figures.csv to archive": (
        "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'} | "
        "move_file {'source': 'reports/q3-figures.csv', 'destination': 'archive'}"
    ),
    # What nothing here can do
    "please archive the Q3 summary": "say I did not understand",
    "clean up the drafts folder": "say I did not understand",
    "make a backup of the reports folder": "say I did not understand",
    "create a folder called photos": "create_folder {'path': 'photos'}",
    'append "done" to notes.md': "say I did not understand",
    "send the summary to bob@example.com": "say I did not understand",
    "turn the meeting notes into a pdf": "say I did not understand",
    "translate the summary to German": "say I did not understand",
    "who changed the draft?": "say I did not understand",
    "what did I ask you yesterday?": "say I did not understand",
}


@pytest.mark.parametrize(("text", "expected"), SENTENCES.items(), ids=list(SENTENCES))
def test_a_sentence_becomes_what_was_meant_or_a_question_or_words(
    planner: Phrases, text: str, expected: str
) -> None:
    found = outcome(planner, text)
    assert found.startswith(expected) if expected.startswith("say ") else found == expected


def test_the_reads_that_look_names_up_are_taken_by_their_tools(planner: Phrases) -> None:
    assert misfits(planner.book, planner.tools) == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("reports/q3-summary.md", "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'}"),
        (
            "all of them",
            "move_file {'source': 'reports/q3-figures.csv', 'destination': 'archive'} | "
            "move_file {'source': 'reports/q3-summary.md', 'destination': 'archive'}",
        ),
    ],
)
def test_the_answer_to_which_one_is_used(planner: Phrases, answer: str, expected: str) -> None:
    text = "move the Q3 reports to archive"
    reply = understood(planner, text)
    assert isinstance(reply, Clarify)
    [question] = reply.questions
    decided = (SettledPoint(question.id, question.text, answer, "U1"),)
    assert outcome(planner, text, TREE, decided) == expected


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        # An answer in words is no path, and "all" is none of a place that takes one.
        ("move the Q3 reports to archive", "the second one", f"ask {', '.join(Q3)}, all of them"),
        ("rename the summary to new.md", "all of them", "ask archive/q2-summary.md, reports/q3-summary.md"),
        (
            "rename the summary to new.md",
            "drafts/q3-draft.md",
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'drafts/new.md'}",
        ),
    ],
)
def test_an_answer_that_is_none_of_the_names_is_asked_for_again(
    planner: Phrases, text: str, answer: str, expected: str
) -> None:
    reply = understood(planner, text)
    assert isinstance(reply, Clarify)
    decided = (SettledPoint(reply.questions[0].id, reply.questions[0].text, answer, "U1"),)
    assert outcome(planner, text, TREE, decided) == expected


def test_a_quoted_name_that_begins_with_all_is_that_one_thing(planner: Phrases) -> None:
    assert outcome(planner, 'delete "all drafts"') == "delete_file {'path': 'all drafts'}"


def test_all_of_a_folder_further_down_is_what_is_in_it(planner: Phrases) -> None:
    tree = ("quarterly-archive/minutes/a.md", "quarterly-archive/minutes/b.md")
    expected = "delete_file {'path': ['quarterly-archive/minutes/a.md', 'quarterly-archive/minutes/b.md']}"
    assert outcome(planner, "delete all minutes", (*tree, "quarterly-archive/c.md")) == expected


async def test_a_name_is_looked_up_by_a_read_that_shows_nothing(planner: Phrases) -> None:
    reply = await replied(planner, "delete the meeting notes")
    assert isinstance(reply, Propose)
    assert reply.lookup
    assert [call.tool for call in reply.calls] == ["search_files"]


async def test_a_path_and_a_quoted_name_are_not_looked_up(planner: Phrases) -> None:
    for text in ("delete drafts/q3-draft.md", 'delete "the meeting notes"', 'delete "q3-draft.md"'):
        reply = await replied(planner, text)
        assert isinstance(reply, Propose)
        assert not reply.lookup, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "can u move q3-draft.md to reports",
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'reports'}",
        ),
        (
            "pls rename q3-draft.md to q3-final.md",
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'drafts/q3-final.md'}",
        ),
        ("read Q2-Summary.MD", "read_file {'path': 'archive/q2-summary.md'}"),
        (
            "delete nothing-like-it.md",
            "delete_file {'path': 'nothing-like-it.md'}",
        ),  # the server says that there is none
        (
            "delete q3-dreft.md",
            "say There is no file or folder “q3-dreft.md”. Did you mean drafts/q3-draft.md?",
        ),
    ],
)
def test_a_file_name_without_its_folder_is_found_where_it_is(
    planner: Phrases, text: str, expected: str
) -> None:
    assert outcome(planner, text) == expected


def test_a_file_name_that_is_there_twice_is_asked_about(planner: Phrases) -> None:
    tree = ("drafts/notes.md", "reports/notes.md")
    assert outcome(planner, "delete notes.md", tree) == "ask drafts/notes.md, reports/notes.md"
    assert outcome(planner, "delete notes.md", (*tree, "notes.md")) == "delete_file {'path': 'notes.md'}"


async def test_where_something_goes_is_looked_up_but_not_for_the_assessment(planner: Phrases) -> None:
    text = "move drafts/q3-draft.md to archive"
    reply = await replied(planner, text)
    assert isinstance(reply, Propose)
    assert [(call.tool, call.args["pattern"]) for call in reply.calls] == [("search_files", "*archive*")]
    order = "create folder old and move drafts/q3-draft.md to old"
    assert (await planner.assess(turn(order), PlannerContext(order))).assessment.complexity >= 30


async def test_a_folder_that_the_plan_makes_before_is_known_to_a_further_instruction(
    planner: Phrases,
) -> None:
    step = step_of(id="s1", title="Create", server="filesystem", tool="create_folder", args={"path": "old"})
    said = (Instruction("i1", "U1", "then move drafts/q3-draft.md to old", AT),)
    brief = PlannerContext("create the folder old", left=(step,), instructions=said)
    plan = await replied_over(planner, "then move drafts/q3-draft.md to old", Mode.PLAN, brief, TREE)
    assert isinstance(plan, ProposePlan)
    assert [step.call.args.get("destination") for step in plan.steps] == [None, "old"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("drafts/meeting-notes.md", "delete_file {'path': 'drafts/meeting-notes.md'}"),
        ("an event in the calendar", "say I took that for an event in the calendar, and did nothing."),
    ],
)
def test_a_file_or_an_event_is_what_was_answered(planner: Phrases, answer: str, expected: str) -> None:
    text = "delete the meeting"
    reply = understood(planner, text)
    assert isinstance(reply, Clarify)
    decided = (SettledPoint(reply.questions[0].id, reply.questions[0].text, answer, "U1"),)
    assert outcome(planner, text, TREE, decided).startswith(expected)


async def test_names_are_looked_up_for_a_plan_as_well(planner: Phrases) -> None:
    text = "copy the Q3 summary to archive then delete the Q3 summary"
    reply = (await planner.reply(turn(text, Mode.PLAN), PlannerContext(text), ())).reply
    assert isinstance(reply, Propose)
    assert reply.lookup


async def test_a_name_that_is_to_be_looked_up_does_not_make_a_request_a_plan(planner: Phrases) -> None:
    text = "delete the meeting notes"
    assert ((await planner.assess(turn(text), PlannerContext(text))).assessment).complexity < 30


async def test_a_name_in_a_further_instruction_is_looked_up_before_the_plan_is_changed(
    planner: Phrases,
) -> None:
    step = step_of(id="s1", title="List", server="filesystem", tool="list_dir", args={"path": "."})
    said = (Instruction("i1", "U1", "then delete the meeting notes", AT),)
    brief = PlannerContext("list all files", left=(step,), instructions=said)
    asked = turn("then delete the meeting notes", Mode.PLAN)
    reply = (await planner.reply(asked, brief, ())).reply
    assert isinstance(reply, Propose)
    assert reply.lookup
    told = tuple(CallReport(n, "succeeded", found_by(call)) for n, call in enumerate(reply.calls))
    again = replace(asked, exchanges=(Exchange(reply, told),))
    plan = (await planner.reply(again, brief, ())).reply
    assert isinstance(plan, ProposePlan)
    assert [step.call.args["path"] for step in plan.steps] == [".", "drafts/meeting-notes.md"]


def withheld(planner: Phrases, text: str) -> str:
    """The tools that are called, or what is said, where names are for one person alone."""
    reply = planner.understand(text)
    if isinstance(reply, Propose) and reply.lookup:
        told = tuple(CallReport(n, WITHHELD, "") for n, _ in enumerate(reply.calls))
        reply = planner.understand(text, known=seen((Exchange(reply, told),)))
    if isinstance(reply, ProposePlan):
        return "plan " + " | ".join(f"{step.call.tool} {dict(step.call.args)}" for step in reply.steps)
    if isinstance(reply, Propose):
        assert not reply.lookup
        return " | ".join(f"{call.tool} {dict(call.args)}" for call in reply.calls)
    assert isinstance(reply, Say), reply
    return f"say {reply.text}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read the summary", f"say {NAMES_WITHHELD}"),
        ("delete everything in drafts", f"say {NAMES_WITHHELD}"),
        ("move drafts/q3-draft.md to archive", f"say {NAMES_WITHHELD}"),
        (
            "move drafts/q3-draft.md to archive/",
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'archive/'}",
        ),
        ("read q3-draft.md", "read_file {'path': 'q3-draft.md'}"),
        ('delete "the summary"', "delete_file {'path': 'the summary'}"),
        (
            'rename drafts/q3-draft.md to "archive"',
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'drafts/archive'}",
        ),
        (
            "create the folder old and move drafts/q3-draft.md to old",
            "plan create_folder {'path': 'old'} | "
            "move_file {'source': 'drafts/q3-draft.md', 'destination': 'old'}",
        ),
    ],
)
def test_where_names_are_private_only_what_looks_like_a_path_or_is_quoted_is_taken(
    planner: Phrases, text: str, expected: str
) -> None:
    assert withheld(planner, text) == expected


async def test_where_names_are_private_a_further_instruction_changes_no_plan(
    planner: Phrases,
) -> None:
    step = step_of(id="s1", title="List", server="filesystem", tool="list_dir", args={"path": "."})
    said = (Instruction("i1", "U1", "then delete the meeting notes", AT),)
    brief = PlannerContext("list all files", left=(step,), instructions=said)
    asked = turn("then delete the meeting notes", Mode.PLAN)
    reply = (await planner.reply(asked, brief, ())).reply
    assert isinstance(reply, Propose)
    told = tuple(CallReport(n, WITHHELD, "") for n, _ in enumerate(reply.calls))
    again = replace(asked, exchanges=(Exchange(reply, told),))
    answer = (await planner.reply(again, brief, ())).reply
    assert isinstance(answer, Say)
    assert "I kept “then delete the meeting notes”" in answer.text
