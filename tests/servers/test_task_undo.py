"""Tasks: the preview shows the true change, and undo gives back the row as it was, or gives way to a later change."""

from __future__ import annotations

from pathlib import Path

from gate.rules.action import CallClass
from tests.servers.gate_around_server import Gate
from tests.servers.test_task_tools import Now, database, rows, tasks
from views.preview import unsaid


async def two(gate: Gate) -> None:
    await gate("create_task", title="Call the printer", due="2026-11-24", notes="one\ntwo")
    await gate("create_task", title="Write the report", priority="high")


async def test_a_new_task_is_shown_as_it_will_be(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        seen = await gate.look("create_task", title=" Call ", due="tomorrow", notes="a\nb", priority="high")
        assert seen.preview.summary == "Create the task “ Call ”"
        assert seen.preview.diff == "+ priority: high\n+ due: 2026-11-22\n+ notes: a\n+ notes: b"
        plain = await gate.look("create_task", title="Call Bob, due tomorrow")
        assert (plain.preview.summary, plain.preview.diff) == ("Create the task “Call Bob, due tomorrow”", "")
        assert unsaid(plain.preview, CallClass.WRITE) == []
        other = await gate.look("create_task", title="Call” and “more", due="2026-11-30")
        assert [fact.label for fact in unsaid(other.preview, CallClass.WRITE)] == ["title"]
        assert seen.preview.undo == "yes"
        done = await gate.do("create_task", title=" Call ", due="tomorrow", notes="a\nb", priority="high")
        assert done.result["title"] == "Call"
        await gate.undo(done)
    assert rows(tmp_path) == []


async def test_a_change_shows_only_what_changes(tmp_path: Path) -> None:
    clock = Now()
    async with tasks(tmp_path, clock) as gate:
        await two(gate)
        before = rows(tmp_path)
        clock.move(hours=1)
        done = await gate.do("update_task", task_id=1, due="none", notes="one", status="done")
        assert done.preview.summary == "Update task 1: Call the printer"
        assert unsaid(done.preview, CallClass.WRITE) == []  # the lines say that its day goes
        assert done.preview.diff == (
            "- status: open\n+ status: done\n- due: 2026-11-24\n- notes: one\n- notes: two\n+ notes: one"
        )
        assert done.result["completed_at"] == "2026-11-21T10:30:00Z"
        await gate.undo(done)
        assert rows(tmp_path) == before
        assert "changed since" in await gate.undo_refused(done)
        assert rows(tmp_path) == before


async def test_a_change_back_is_a_change_too(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await two(gate)
        done = await gate.do("update_task", task_id=1, status="done")
        task = (await gate("get_task", task_id=1))["task"]
        restored = await gate.do("restore_task", task=task | {"status": "open", "completed_at": None})
        assert not await gate.unchanged(done)
        await gate.undo(restored)
        assert await gate.unchanged(done)
        await gate.undo(done)


async def test_a_deleted_task_comes_back_under_its_number(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await two(gate)
        before = rows(tmp_path)
        done = await gate.do("delete_task", task_id=1)
        assert done.preview.summary == "Delete task 1: Call the printer"
        assert [thing.name for thing in done.preview.affected] == ["1: Call the printer"]
        assert rows(tmp_path) == before[1:]
        await gate("create_task", title="third")
        await gate.undo(done)
        assert rows(tmp_path)[:2] == before


async def test_no_undo_overwrites_what_came_after(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await two(gate)
        changed = await gate.do("update_task", task_id=1, title="Call")
        created = await gate.do("create_task", title="third")
        deleted = await gate.do("delete_task", task_id=2)
        with database(tmp_path) as db:
            db.execute("UPDATE task SET notes = 'later'")
        await gate.undo(deleted)
        with database(tmp_path) as db:
            db.execute("UPDATE task SET notes = 'later'")
        before = rows(tmp_path)
        for done in (changed, created, deleted):
            assert not await gate.unchanged(done)
            assert "changed since" in await gate.undo_refused(done)
        assert rows(tmp_path) == before


async def test_a_task_that_changed_since_it_was_shown_is_left_alone(tmp_path: Path) -> None:
    async with tasks(tmp_path) as gate:
        await two(gate)
        update = await gate.look("update_task", task_id=1, title="Call")
        delete = await gate.look("delete_task", task_id=1)
        await gate("update_task", task_id=1, priority="urgent")
        before = rows(tmp_path)
        assert "not as it was shown" in await gate.refused("update_task", **update.args)
        assert "not as it was shown" in await gate.refused("delete_task", **delete.args)
        assert rows(tmp_path) == before
