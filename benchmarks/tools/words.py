"""Minutes, summaries of mail and answers from files, without a model, held against what a reader notes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.measure import heading, line
from benchmarks.tools.measuring import asking, share, too_much
from servers.decision_sentences import decided
from servers.email import messages
from servers.knowledge import embeddings, server
from tests.servers.test_email_threads import DECIDED, OPEN, OWN, QUOTING
from tests.servers.test_knowledge_answers import ASKED, TEXTS
from tests.servers.test_knowledge_embeddings import REWORDED, made, quotes
from tests.servers.test_meeting_minutes import NOTED, of


async def run(_: object = None, __: bool = False) -> None:
    print(heading("Minutes, mail and knowledge, by rules alone (no model is asked)"))
    _minutes()
    _mail()
    await _knowledge()


def _minutes() -> None:
    """Attendees, decisions and actions with their owners."""
    for name, (_, attendees, decisions, actions) in NOTED.items():
        found = of(name)
        people = [one for one in attendees if one in found.attendees]
        kept = [one for one in decisions if any(one.lower() in each.what.lower() for each in found.decisions)]
        told = [(each.what.lower(), each.owner) for each in found.actions]
        done = [one for one in actions if any(one[0].lower() in what and one[1] == who for what, who in told)]
        right, wanted = (
            sum(map(len, each)) for each in ((people, kept, done), (attendees, decisions, actions))
        )
        all_told = len(found.attendees) + len(found.decisions) + len(found.actions)
        print(line(share(f"generate_minutes: {name}", right, wanted, 80)))
        print(line(too_much(f"generate_minutes: {name}, too much", all_told - right, all_told, 20)))


def _mail() -> None:
    wrong = [program for program, text in QUOTING.items() if messages.own_words(text) != OWN]
    print(line(share("summarize_thread: whose words", len(QUOTING) - len(wrong), len(QUOTING), 90, wrong)))
    missed = [text for text in DECIDED if not decided(text)]
    taken = [text for text in OPEN if decided(text)]
    print(line(share("summarize_thread: decisions", len(DECIDED) - len(missed), len(DECIDED), 80, missed)))
    print(line(too_much("summarize_thread: no decisions", len(taken), len(OPEN), 20, taken)))


async def _knowledge() -> None:
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in TEXTS.items():
            (Path(folder) / name).write_text(text, "utf-8")
        async with asking(server([Path(folder)])) as ask:
            await ask("index_folder", path=".")
            for question, (path, answer) in ASKED.items():
                found = (await ask("ask_about_files", question=question, limit=1))["sources"]
                if [(one["path"], answer and one["quote"]) for one in found] != [(path, answer)]:
                    wrong.append(question)
    print(line(share("ask_about_files: answers", len(ASKED) - len(wrong), len(ASKED), 90, wrong)))
    if embeddings.installed():
        index = made()
        missed = [one for one, begins in REWORDED.items() if not quotes(index, one).startswith(begins)]
        right = len(REWORDED) - len(missed)
        print(line(share("ask_about_files: questions in other words", right, len(REWORDED), 50, missed)))
