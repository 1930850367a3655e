"""The messages of a workspace as a file, so that a restart shows what was there before."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from workspace.state import Message, State

log = logging.getLogger(__name__)

NEWEST = 500  # messages of each channel that are kept
SAVE_SECONDS = 1.0  # between a change and its being on disk


@asynccontextmanager
async def archived(state: State, file: Path) -> AsyncIterator[None]:
    """Restores the messages from the file, and keeps the file up to date for as long as this context lasts."""
    restore(state, file)
    changed = state.listen()
    saving = asyncio.create_task(_save_changes(state, changed, file))
    try:
        yield
    finally:
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        state.unlisten(changed)
        await save(state, file)


def restore(state: State, file: Path) -> None:
    """Adds the messages of the file, if there is one.

    A file in another format is kept aside as `NAME.unreadable`, and the workspace begins empty.
    """
    if not file.exists():
        return
    try:
        messages = [Message(**json.loads(line)) for line in file.read_text("utf-8").splitlines()]
    except (ValueError, TypeError) as broken:
        aside = file.with_name(f"{file.name}.unreadable")
        log.warning("The messages in %s cannot be read (%s); they are kept in %s.", file, broken, aside)
        file.replace(aside)
        return
    for message in messages:
        if message.channel in state.channels and message.user in state.people:
            state.add(message)
    state.continue_after(max((message.ts for message in messages), default="0.0"))


async def save(state: State, file: Path) -> None:
    """Writes the newest messages of each channel, one line of JSON each; a crash leaves the previous file or the new
    one."""
    messages = [message for found in state.messages.values() for message in list(found.values())[-NEWEST:]]
    lines = []
    for message in messages:
        lines.append(json.dumps(vars(message)))
        await asyncio.sleep(0)  # other work of the loop goes on between two messages
    await asyncio.to_thread(_replace, file, "\n".join(lines))


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f"{file.name}.new")
    with beside.open("w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    beside.replace(file)


async def _save_changes(state: State, changed: asyncio.Event, file: Path) -> None:
    while await changed.wait():
        await asyncio.sleep(SAVE_SECONDS)  # the changes of one second share one write
        changed.clear()
        await save(state, file)
