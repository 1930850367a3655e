"""A worker steps back for whoever answers people; nothing else does, and a refusal is no failure."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

import pytest

from bot import wiring
from bot.cli.serve import serve_as
from bot.process_priority import TURN, step_back, take_turns
from bot.settings import Settings
from tests.forks import FORKS


def served(roles: Sequence[str], environ: Mapping[str, str], line: Connection) -> None:
    """In a process of its own, since who has stepped back cannot step forward again: serve, and tell its priority."""

    async def serve(settings: Settings, roles: frozenset[str]) -> None:
        thread = threading.Thread(target=lambda: line.send(os.getpriority(os.PRIO_PROCESS, 0)))
        thread.start()
        thread.join()

    with patch.object(wiring, "serve", serve):
        asyncio.run(serve_as(Settings.load(environ, Path.cwd()), frozenset(roles)))


def went_back(*roles: str, **environ: str) -> int:
    """How many steps a process that serves in these roles goes back, seen in a thread that it has started."""
    ours, theirs = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=served, args=(roles, environ, theirs))
    process.start()
    theirs.close()
    found = int(ours.recv())
    process.join()
    return found - os.getpriority(os.PRIO_PROCESS, 0)


def left(steps: int) -> int:
    """How many of these steps there are, below the priority that the tests have."""
    return min(steps, 19 - os.getpriority(os.PRIO_PROCESS, 0))


@pytest.mark.slow
def test_a_worker_leaves_the_processor_to_the_web_process() -> None:
    assert went_back("worker") == left(10)
    assert went_back("worker", WORKER_NICE="3") == left(3)


@pytest.mark.slow
def test_a_worker_that_is_told_to_stays_where_it_is() -> None:
    assert went_back("worker", WORKER_NICE="0") == 0


@pytest.mark.parametrize("roles", [("web",), ("web", "worker")])
def test_whoever_acknowledges_keeps_its_priority(roles: Sequence[str]) -> None:
    assert went_back(*roles) == 0


def test_where_it_is_refused_the_worker_works_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(by: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "nice", refuse)
    step_back(10)
    assert "The priority of this worker stays as it is: Operation not permitted." in caplog.text


def test_a_thread_that_computes_has_short_turns() -> None:
    before = sys.getswitchinterval()
    try:
        take_turns()
        assert sys.getswitchinterval() == pytest.approx(TURN)
    finally:
        sys.setswitchinterval(before)
