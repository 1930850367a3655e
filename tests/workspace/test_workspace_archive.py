"""The messages of the demo over a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

from workspace.state import Message, Seed, State, archived, random_ids, save


def new_state(now: float = 1_800_000_000.0) -> State:
    return State(Seed(), lambda: now, random_ids())


def given_message(state: State, text: str, user: str = "U_ANN", thread_ts: str | None = None) -> Message:
    return state.add(Message("C_OPS", state.next_ts(), user, text, thread_ts, reactions={"eyes": ["U_BEN"]}))


async def test_messages_threads_and_blocks_survive_a_restart(tmp_path: Path) -> None:
    file, before, after = tmp_path / "messages.jsonl", new_state(), new_state()
    async with archived(before, file):
        parent = given_message(before, "a line\nand “another”")
        reply = given_message(before, "an answer", before.app.bot_user, parent.ts)
        reply.blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*x*"}}]
    async with archived(after, file):
        assert after.messages == before.messages
        assert [m.text for m in after.replies(after.messages["C_OPS"][parent.ts])] == ["an answer"]


async def test_timestamps_continue_after_those_of_the_file(tmp_path: Path) -> None:
    before, file = new_state(), tmp_path / "messages.jsonl"
    last = given_message(before, "hello")
    await save(before, file)
    after = new_state(now=1_700_000_000.0)  # the clock went back
    async with archived(after, file):
        assert after.next_ts() > last.ts


async def test_a_change_is_on_disk_before_the_stop(tmp_path: Path) -> None:
    state, file = new_state(), tmp_path / "messages.jsonl"
    async with archived(state, file):
        given_message(state, "written down")
        async with asyncio.timeout(10):
            while not file.exists():  # noqa: ASYNC110 a thread writes it
                await asyncio.sleep(0.05)
        assert "written down" in file.read_text("utf-8")


async def test_an_unreadable_file_is_kept_aside_and_the_workspace_begins_empty(tmp_path: Path) -> None:
    file = tmp_path / "messages.jsonl"
    file.write_text('{"another": "format"}\n')
    state = new_state()
    async with archived(state, file):
        assert not any(state.messages.values())
    assert (tmp_path / "messages.jsonl.unreadable").read_text() == '{"another": "format"}\n'


async def test_messages_of_people_who_are_gone_are_left_out(tmp_path: Path) -> None:
    before, file = new_state(), tmp_path / "messages.jsonl"
    given_message(before, "from before")
    await save(before, file)
    file.write_text(file.read_text().replace("U_ANN", "U_NOBODY"))
    after = new_state()
    async with archived(after, file):
        assert not any(after.messages.values())
