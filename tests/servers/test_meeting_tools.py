"""Minutes: only what the notes say in so many words, shown whole before, written as shown, taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path

import pytest

from servers.formats import captions
from servers.meeting import server
from servers.meeting.minutes import Minutes, day, lines, minutes
from servers.sandbox import calling
from servers.sandbox.calling import Job, Result
from tests.servers import papers
from tests.servers.files import Clock
from tests.servers.gate_around_server import Gate, gated

NOTES = """# Budget review
Date: Monday, 2026-11-23
Attendees: Ann Lee, Bob (remote) and Cyd

## Discussion
Ann showed the figures. Costs are up 5%.
We agreed to keep the office until May.
Bob will call the landlord by Friday.
Dogs will bark.

## Decisions
- Raise the travel budget to 900 | 1000 EUR

## Action items
- [ ] Send the figures to the board (owner: Ann Lee), due 2026-12-01
- [x] @Cyd book a room
- Cyd: ask for quotes by Dec 3
- Clean up the drive
"""
TRANSCRIPT = """WEBVTT

1
00:00:01.000 --> 00:00:04.000
<v Ann Lee>Good morning. Shall we start?</v>

2
00:00:05.000 --> 00:00:08.000
<v Bob>I'll send the figures by 2026-12-01.</v>

3
00:00:09.000 --> 00:00:12.000
<v Ann Lee>So it was decided that we move in May.</v>
"""


def of(text: str) -> Minutes:
    return minutes(lines(text), "")


def test_notes_give_what_they_say() -> None:
    found = of(NOTES)
    assert (found.title, found.held) == ("Budget review", date(2026, 11, 23))
    assert found.attendees == ["Ann Lee", "Bob", "Cyd"]
    assert [(one.what, one.line) for one in found.decisions] == [
        ("Keep the office until May", 7),
        ("Raise the travel budget to 900 | 1000 EUR", 12),
    ]
    assert [(one.what, one.owner, one.due, one.due_date) for one in found.actions] == [
        ("Call the landlord", "Bob", "Friday", date(2026, 11, 27)),
        ("Send the figures to the board", "Ann Lee", "2026-12-01", date(2026, 12, 1)),
        ("Book a room", "Cyd", "", None),
        ("Ask for quotes", "Cyd", "Dec 3", date(2026, 12, 3)),
        ("Clean up the drive", "", "", None),
    ]


def test_a_transcript_gives_who_spoke_and_what_they_took_on() -> None:
    found = minutes(lines(captions.read(TRANSCRIPT, ".vtt")[0], spoken=True), "")
    assert found.attendees == ["Ann Lee", "Bob"]
    assert [one.what for one in found.decisions] == ["We move in May"]
    assert [(one.what, one.owner, one.due_date) for one in found.actions] == [
        ("Send the figures", "Bob", date(2026, 12, 1))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[10:02] Ann: I think we could move.",
        "Maybe somebody should call the landlord.",
        "We discussed whether we decided too early.",
        "Date: 2026-11-23",
        "Decisions:\nnone",
        "Agenda:\n- budget\n- rent",
    ],
)
def test_what_is_not_said_is_not_found(text: str) -> None:
    found = of(text)
    assert (found.decisions, found.actions) == ([], [])


@pytest.mark.parametrize(
    ("said", "held", "meant"),
    [
        ("2026-02-30", None, None),
        ("Friday", None, None),
        ("Friday", date(2026, 11, 20), date(2026, 11, 27)),
        ("next Friday", date(2026, 11, 20), None),
        ("tomorrow", date(2026, 12, 31), date(2027, 1, 1)),
        ("3rd January", date(2026, 12, 31), date(2027, 1, 3)),
        ("May 4, 2027", None, date(2027, 5, 4)),
        ("May 4", None, None),
        ("03/04/2026", date(2026, 1, 1), None),
        ("end of month", date(2026, 1, 1), None),
    ],
)
def test_a_day_is_only_told_where_it_is_certain(said: str, held: date | None, meant: date | None) -> None:
    assert day(said, held) == meant


@asynccontextmanager
async def gate_over(folder: Path, **files: bytes) -> AsyncIterator[Gate]:
    root = folder / "notes"
    root.mkdir()
    for name, data in files.items():
        (root / name.replace("_", ".")).write_bytes(data)
    async with gated(folder / "logs", "meeting", server([root], Clock())) as gate:
        yield gate


@pytest.mark.slow
async def test_minutes_are_shown_whole_and_written_as_shown(tmp_path: Path) -> None:
    async with gate_over(tmp_path, a_md=NOTES.encode()) as gate:
        done = await gate.do("generate_minutes", source="a.md", destination="minutes.md")
        text = (tmp_path / "notes" / "minutes.md").read_text()
        shown = [line[1:] for line in done.preview.diff.splitlines() if line[:1] == "+" and line[:3] != "+++"]
        assert "\n".join(shown) + "\n" == text
        assert "| Call the landlord | Bob | 2026-11-27 (Friday) | 8 |" in text
        assert (done.result["attendees"], done.result["decisions"], done.result["actions"]) == (3, 2, 5)
        again = await gate.do("generate_minutes", source="a.md", destination="minutes.md", title="Other")
        assert "-# Budget review\n+# Other\n" in again.preview.diff
        assert " ## Attendees\n" in again.preview.diff, "what stays is shown too"
        await gate.undo(again)
        assert (tmp_path / "notes" / "minutes.md").read_text() == text


@pytest.mark.slow
async def test_word_files_are_read_and_written(tmp_path: Path) -> None:
    async with gate_over(tmp_path, a_docx=papers.docx(NOTES)) as gate:
        done = await gate.do("generate_minutes", source="a.docx", destination="b.docx")
        assert done.result["attendees"] == 3
        assert "+- Keep the office until May" in done.preview.diff


@pytest.mark.slow
async def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    async with gate_over(tmp_path, a_md=b"nothing at all", b_txt=NOTES.encode(), c_docx=b"PK") as gate:
        for source, destination, why in (
            ("a.md", "b.md", "names no attendees, decisions or actions"),
            ("b.txt", "b.pdf", "must end in .md or .docx"),
            ("b.txt", "../b.md", "cannot be part of a path"),
            ("b.mp3", "b.md", "must end in .txt or .md or .docx"),
            ("c.docx", "b.md", "c.docx is"),
        ):
            assert why in await gate.blind("generate_minutes", source=source, destination=destination)
        seen = await gate.look("generate_minutes", source="b.txt", destination="b.md")
        (tmp_path / "notes" / "b.txt").write_text(NOTES.replace("Friday", "Thursday"))
        assert "has changed since it was shown" in await gate.refused("generate_minutes", **seen.args)


class Refusing:
    """A sandbox that refuses one task, and leaves the others to the real one."""

    def __init__(self, task: str) -> None:
        self._task, self._others = task, calling.SANDBOX

    def call(self, job: Job) -> Result:
        return calling.STOPPED if job.task == self._task else self._others.call(job)


async def test_the_rules_run_in_the_sandbox_and_are_stopped_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "SANDBOX", Refusing("meeting.minutes"))
    async with gate_over(tmp_path, a_md=NOTES.encode()) as gate:
        why = await gate.blind("generate_minutes", source="a.md", destination="b.md")
    assert "a.md is broken, or too much to open: it was stopped" in why


@pytest.mark.slow
async def test_minutes_say_how_much_they_leave_out(tmp_path: Path) -> None:
    some = "".join(f"- a{n}\n" for n in range(507))
    names = ", ".join(f"N{n}" for n in range(502))
    notes = f"Attendees: {names}\nDecisions\n{some}Actions\n- Call Bob\n"
    call = {"source": "n.txt", "destination": "minutes.md"}
    async with gate_over(tmp_path, n_txt=notes.encode()) as gate:
        seen = await gate("preview_minutes", call=call)
        made = await gate("generate_minutes", **call)
    said = "Minutes hold 500 of a kind, so some are left out: 2 attendees, 7 decisions."
    assert seen["note"] == made["note"] == said
    assert seen["minutes"]["left_out"] == {"attendees": 2, "decisions": 7}
    assert (made["attendees"], made["decisions"], made["actions"]) == (500, 500, 1)
    assert said in (tmp_path / "notes" / "minutes.md").read_text()
