"""Events: a deletion takes out one event and no other byte; undo gives back the file, or gives way to a later change."""

from __future__ import annotations

from pathlib import Path

import pytest

from servers.calendar.tasks import parsed, without
from tests.servers.files import tree
from tests.servers.test_calendar_tools import LUNCH, calendar, event, sample


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("uid", ["lunch@example.com", "standup@example.com", "holiday@example.com"])
async def test_one_event_is_taken_out_and_every_other_byte_stays(
    tmp_path: Path, uid: str, line_break: str
) -> None:
    root = sample(tmp_path)
    (root / "team.ics").write_bytes(LUNCH.replace("\n", line_break).encode())
    before = tree(root)
    async with calendar(root) as gate:
        done = await gate.do("delete_event", event_id=uid)
        after = (root / "team.ics").read_text()
        gone = [block for block in LUNCH.split("BEGIN:VEVENT") if f"\nUID:{uid}\nDTSTAMP" in block]
        gone += [block for block in LUNCH.split("BEGIN:VEVENT") if f"\nUID:{uid}\nREC" in block]
        expected = LUNCH
        for block in gone:
            expected = expected.replace("BEGIN:VEVENT" + block.removesuffix("END:VCALENDAR\n"), "")
        assert after == expected
        assert done.preview.undo == "yes, for 30 days"
        await gate.undo(done)
    assert tree(root) == before


@pytest.mark.slow
async def test_an_event_alone_in_its_file_takes_the_file_along(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "one.ics").write_text(event("DTSTART:20261124T120000Z", uid="odd,id"))
    before = tree(root)
    async with calendar(root) as gate:
        done = await gate.do("delete_event", event_id="odd,id")
        assert not (root / "one.ics").exists()
        assert done.preview.summary == (
            "Delete the event X, Tuesday 2026-11-24 13:00 to 13:00 (Europe/Berlin, UTC+01:00)"
        )
        await gate.undo(done)
    assert tree(root) == before


async def test_a_deletion_names_the_event_its_repetitions_and_its_file(tmp_path: Path) -> None:
    async with calendar(sample(tmp_path)) as gate:
        seen = await gate.look("delete_event", event_id="lunch@example.com")
        assert [thing.name for thing in seen.preview.affected] == [
            "Team lunch, Tuesday 2026-11-24 12:00 to 13:00 (Europe/Berlin, UTC+01:00), all repetitions, in team.ics",
            "Team lunch, late, Tuesday 2026-12-08 13:30 to 14:30 (Europe/Berlin, UTC+01:00), in team.ics",
        ]


@pytest.mark.slow
async def test_no_undo_overwrites_what_came_after(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with calendar(root) as gate:
        created = await gate.do("create_event", title="X", start="2026-11-30 10:00")
        deleted = await gate.do("delete_event", event_id="standup@example.com")
        file = root / created.result["file"]
        file.write_bytes(file.read_bytes().replace(b"SUMMARY:X", b"SUMMARY:Y"))
        (root / "team.ics").write_bytes((root / "team.ics").read_bytes() + b"\n")
        before = tree(root)
        for done in (created, deleted):
            assert not await gate.unchanged(done)
            assert "changed since" in await gate.undo_refused(done)
    assert tree(root) == before


@pytest.mark.slow
async def test_an_event_that_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with calendar(root) as gate:
        seen = await gate.look("delete_event", event_id="standup@example.com")
        (root / "team.ics").write_text(LUNCH.replace("Standup", "Stand-up"))
        before = tree(root)
        assert "changed since" in await gate.refused("delete_event", **seen.args)
    assert tree(root) == before


async def test_a_new_event_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "2026-11-30-new1.ics").write_text("mine")
    async with calendar(root) as gate:
        assert "exists now" in await gate.refused("create_event", title="X", start="2026-11-30")
    assert (root / "2026-11-30-new1.ics").read_text() == "mine"


def test_an_id_that_is_folded_or_only_an_alarms_is_told_apart() -> None:
    folded = event("DTSTART:20261124T120000Z", uid="a-long-\r\n id").encode()
    rest, others = without(folded, parsed(folded), "a-long-id")
    assert others == 0
    assert b"VEVENT" not in rest
    assert without(LUNCH.encode(), parsed(LUNCH.encode()), "long-id") == (LUNCH.encode(), 4)


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("end", ["\r\n ", "\n ", "\r\n\t", "\r\n\r\n ", "\r"])
@pytest.mark.parametrize(
    "word", ["BEGIN:X", "END:VEVENT", "BEGIN:VEVENT", "END:VCALENDAR", "UID:standup@example.com"]
)
async def test_words_in_a_description_take_no_other_event_along(tmp_path: Path, word: str, end: str) -> None:
    root = sample(tmp_path)
    hostile = LUNCH.replace("LOCATION:Canteen", f"DESCRIPTION:Bring{end}{word}")
    (root / "team.ics").write_bytes(hostile.encode())
    async with calendar(root) as gate:
        shown = await gate("get_event", event_id="lunch@example.com")
        assert shown["others"] == 2
        await gate.do("delete_event", event_id="lunch@example.com")
        left = await gate("list_events", start="2026-11-24", days=3)
    assert [each["title"] for each in left["events"]] == ["Standup", "Fair"]
    assert left["note"] == ""


async def test_an_event_that_only_the_parser_tells_apart_is_left_to_a_person(tmp_path: Path) -> None:
    root = sample(tmp_path)
    hostile = LUNCH.replace("BEGIN:VEVENT\nUID:lunch", "BEGIN:VEV\n ENT\nUID:lunch", 1)
    (root / "team.ics").write_bytes(hostile.encode())
    before = tree(root)
    async with calendar(root) as gate:
        assert "cannot be taken apart" in await gate.refused("delete_event", event_id="lunch@example.com")
    assert tree(root) == before


BESIDE = [
    "BEGIN:VAVAILABILITY\r\nUID:a\r\nDTSTAMP:20260101T000000Z\r\nEND:VAVAILABILITY\r\n",
    "BEGIN:X-NOTES\r\nSUMMARY:All my notes\r\nEND:X-NOTES\r\n",
]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("beside", BESIDE)
async def test_an_event_takes_nothing_along_that_stands_beside_it_in_its_file(
    tmp_path: Path, beside: str
) -> None:
    root = sample(tmp_path)
    alone = event("DTSTART:20261124T120000Z", uid="mine").removesuffix("END:VCALENDAR\r\n")
    (root / "one.ics").write_bytes(f"{alone}{beside}END:VCALENDAR\r\n".encode())
    before = tree(root)
    async with calendar(root) as gate:
        done = await gate.do("delete_event", event_id="mine")
        head = alone[: alone.index("BEGIN:VEVENT")]
        assert (root / "one.ics").read_bytes() == f"{head}{beside}END:VCALENDAR\r\n".encode()
        await gate.undo(done)
    assert tree(root) == before


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("within", ["", "VALARM", "X-NOTES"])
async def test_an_event_with_another_one_within_it_is_left_to_a_person(tmp_path: Path, within: str) -> None:
    root = sample(tmp_path)
    inner = (
        event("DTSTART:20261124T150000Z", uid="inner").split("\r\n", 3)[3].removesuffix("END:VCALENDAR\r\n")
    )
    inner = f"BEGIN:{within}\r\n{inner}END:{within}\r\n" if within else inner
    outer = event("DTSTART:20261124T120000Z", uid="outer")
    (root / "one.ics").write_bytes(outer.replace("END:VEVENT", f"{inner}END:VEVENT").encode())
    before = tree(root)
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-24", days=1)
        assert {"inner", "outer"} <= {each["event_id"] for each in listed["events"]}
        assert "has other entries within it" in await gate.blind("delete_event", event_id="outer")
        assert "cannot be taken apart" in await gate.refused("delete_event", event_id="inner")
    assert tree(root) == before


CUT = event("DTSTART:20261124T150000Z", uid="other").removesuffix("END:VCALENDAR\r\n")


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "behind", [CUT, CUT.removesuffix("END:VEVENT\r\n"), CUT + "END:VEVENT\r\nEND:VCALENDAR\r\n"]
)
async def test_a_file_that_is_cut_off_in_a_second_calendar_is_named_and_not_changed(
    tmp_path: Path, behind: str
) -> None:
    root = sample(tmp_path)
    (root / "two.ics").write_bytes((event("DTSTART:20261124T120000Z", uid="mine") + behind).encode())
    before = tree(root)
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-24", days=1)
        assert "two.ics is no calendar that can be read" in listed["note"]
        assert "list the events to see why" in await gate.blind("delete_event", event_id="mine")
        assert "list the events to see why" in await gate.refused("delete_event", event_id="mine")
    assert tree(root) == before


DATE = "BEGIN:VEVENT\r\nUID:mine\r\nDTSTART:2026120{0}T150000Z\r\nSUMMARY:Board\r\nRECURRENCE-ID:2026120{0}T120000Z\r\nEND:VEVENT\r\n"


def with_dates(first: str, dates: range) -> bytes:
    head = event("DTSTART:20261124T120000Z", *([first] if first else []), uid="mine")
    return head.replace("END:VCALENDAR", "".join(map(DATE.format, dates)) + "END:VCALENDAR").encode()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("", ", 2 other dates"),
        ("RECURRENCE-ID:20261124T120000Z", ", 2 other dates"),
        ("RRULE:FREQ=WEEKLY;COUNT=5", ", all repetitions"),
    ],
)
async def test_a_deletion_names_the_dates_of_an_event_that_are_no_repetitions(
    tmp_path: Path, first: str, says: str
) -> None:
    root = sample(tmp_path)
    (root / "one.ics").write_bytes(with_dates(first, range(1, 3)))
    async with calendar(root) as gate:
        done = await gate.do("delete_event", event_id="mine")
    assert done.preview.summary.endswith(says)
    one, *dates = (thing.name for thing in done.preview.affected)
    assert one.endswith(f"{says}, in one.ics")
    assert dates == [
        f"Board, {day} 16:00 to 16:00 (Europe/Berlin, UTC+01:00), in one.ics"
        for day in ("Tuesday 2026-12-01", "Wednesday 2026-12-02")
    ]


@pytest.mark.slow
async def test_an_event_with_more_dates_than_are_shown_is_left_to_a_person(
    tmp_path: Path,
) -> None:
    root = sample(tmp_path)
    many = with_dates("", range(1, 10)).replace(b"END:VCALENDAR", b"")
    for month in range(10, 16):
        many += "".join(DATE.format(day) for day in range(1, 10)).replace("202612", f"20{month}12").encode()
    (root / "one.ics").write_bytes(many + b"END:VCALENDAR\r\n")
    before = tree(root)
    async with calendar(root) as gate:
        assert "too many to be shown" in await gate.blind("delete_event", event_id="mine")
        assert "too many to be shown" in await gate.refused("delete_event", event_id="mine")
    assert tree(root) == before
