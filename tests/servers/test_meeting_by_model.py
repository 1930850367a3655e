"""What a model adds to minutes: only lines with a true quotation, and no names or days that the notes do not have."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

from gate.rules.sampling import SamplingRecord, recorded_by
from servers.meeting import by_model, server
from tests.model_stub import fails, says
from tests.servers.gate_around_server import Gate
from tests.servers.model_hosts import sampling

NOTES = """Weekly, 20 November 2026
Ann and Bob were there, Cleo came later.
Decision: we keep the old printer.
We talked long about the offer of Miller and in the end everybody was for taking it.
Bob takes care of the contract until Wednesday.
Maybe we move to Kiel one day.
"""
TOLD = """- Attendee: Cleo [2: "Cleo came later"]
- Attendee: Dora [2: "Ann and Bob were there"]
- Decision: the offer of Miller is taken [4: "everybody was for taking it"]
- Decision: the printer stays as it is [3: "we keep the old printer"]
- Decision: the office moves to Kiel [6: "the office moves to Kiel"]
- Action: Bob: the contract, until Wednesday [5: "Bob takes care of the contract"]
- Action: Zoe: the party, by Friday [5: "until Wednesday"]
- Remark: all were glad [4: "We talked long"]
"""


async def test_lines_of_a_model_are_added_where_they_quote_the_notes(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(NOTES)
    call = {"source": "notes.txt", "destination": "minutes.md"}
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [says(TOLD)]) as asked:
        seen = await asked("preview_minutes", call=call)
        made = await asked("generate_minutes", **call, expected_made=seen["expected_made"])
        assert len(asked.stub.requests) == 1  # an equal request gets the same answer
    found = seen["minutes"]
    assert "Cleo" in found["attendees"]
    assert "Dora" not in found["attendees"]
    assert [(one["what"], one["line"], one["by_model"]) for one in found["decisions"]] == [
        ("We keep the old printer", 3, False),
        ("The offer of Miller is taken", 4, True),
    ]
    assert [(one["owner"], one["due"], one["line"]) for one in found["actions"]] == [("Bob", "Wednesday", 5)]
    written = (tmp_path / "minutes.md").read_text()
    assert "- The offer of Miller is taken (line 4, by a model)" in written
    assert "Kiel" not in written
    assert seen["note"] == made["note"]
    assert seen["note"].startswith("By rules and a model. 4 of its lines were dropped")
    assert seen["note"] in written


async def test_minutes_with_lines_of_a_model_are_shown_and_then_written_as_they_were_shown(
    tmp_path: Path,
) -> None:
    (tmp_path / "notes.txt").write_text(NOTES)
    call = {"source": "notes.txt", "destination": "minutes.md"}
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [says(TOLD)]) as asked:
        with recorded_by(SamplingRecord(asked.keep)):
            done = await Gate(asked.host, "meeting").do("generate_minutes", **call)
    assert "The offer of Miller is taken (line 4, by a model)" in done.preview.diff
    assert "by a model" in (tmp_path / "minutes.md").read_text()
    assert {one.tool for one in asked.record} == {"preview_minutes", "generate_minutes"}


async def test_where_no_model_answers_the_rules_are_used_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(NOTES)
    call = {"source": "notes.txt", "destination": "minutes.md"}
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [fails(500)]) as asked:
        seen = await asked("preview_minutes", call=call)
    assert seen["note"] == "By rules: no model answered (the model cannot be reached now)."
    assert [one["line"] for one in seen["minutes"]["decisions"]] == [3]


async def test_without_sampling_no_model_is_asked(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(NOTES)
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [], on=False) as asked:
        seen = await asked("preview_minutes", call={"source": "notes.txt", "destination": "minutes.md"})
        assert (asked.stub.requests, asked.record, seen["note"]) == ([], [], "")


async def test_notes_in_which_the_rules_find_nothing_can_have_minutes_of_a_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("It was long. In the end all were for the blue one.\n")
    told = '- Decision: the blue one is taken [1: "all were for the blue one"]'
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [says(told)]) as asked:
        seen = await asked("preview_minutes", call={"source": "notes.txt", "destination": "minutes.md"})
    assert [one["what"] for one in seen["minutes"]["decisions"]] == ["The blue one is taken"]


def test_notes_too_long_for_a_question_are_left_to_the_rules() -> None:
    assert by_model.question("a line of notes\n" * 5_000) is None
    assert by_model.question(NOTES) is not None


async def test_what_a_model_adds_to_full_minutes_is_counted_with_what_they_leave_out(tmp_path: Path) -> None:
    notes = "Decisions\n" + "- ab\n" * 502 + "\n## Talk\nIn the end everybody was for taking it.\n"
    (tmp_path / "notes.txt").write_text(notes)
    told = '- Decision: the offer is taken [506: "everybody was for taking it"]'
    async with sampling(tmp_path / "logs", "meeting", server([tmp_path]), [says(told)]) as asked:
        seen = await asked("preview_minutes", call={"source": "notes.txt", "destination": "minutes.md"})
    assert seen["minutes"]["left_out"] == {"decisions": 3}
    assert seen["note"] == (
        "By rules and a model. Minutes hold 500 of a kind, so some are left out: 3 decisions."
    )


def test_notes_that_are_too_long_to_be_asked_about_are_not_divided_into_lines() -> None:
    long = "ab\n" * (2 << 20)
    tracemalloc.start()
    try:
        assert by_model.question(long) is None
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
