"""A worker steps back for whoever answers people; nothing else does, and a refusal is no failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.priority import step_back

ROOT = Path(__file__).parents[2]
# In a process of its own: who has stepped back cannot step forward again.
SERVED = """
import asyncio, os, sys, threading
from pathlib import Path
from bot import wiring as app
from bot.settings import Settings
from bot.cli.serve import serve_as

def note():
    print(os.getpriority(os.PRIO_PROCESS, 0))

async def serve(settings, roles):
    thread = threading.Thread(target=note)
    thread.start()
    thread.join()

app.serve = serve
roles, environ = sys.argv[1].split(","), dict(pair.split("=") for pair in sys.argv[2:])
asyncio.run(serve_as(Settings.load(environ, Path.cwd()), frozenset(roles)))
"""


def went_back(roles: str, *environ: str) -> int:
    """How many steps a process that serves in these roles goes back, seen in a thread that it has started."""
    command = [sys.executable, "-c", SERVED, roles, *environ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout) - os.getpriority(os.PRIO_PROCESS, 0)


def left(steps: int) -> int:
    """How many of these steps there are, below the priority that the tests have."""
    return min(steps, 19 - os.getpriority(os.PRIO_PROCESS, 0))


def test_a_worker_leaves_the_processor_to_the_web_process() -> None:
    assert went_back("worker") == left(10)
    assert went_back("worker", "WORKER_NICE=3") == left(3)


def test_a_worker_that_is_told_to_stays_where_it_is() -> None:
    assert went_back("worker", "WORKER_NICE=0") == 0


@pytest.mark.parametrize("roles", ["web", "web,worker"])
def test_whoever_acknowledges_keeps_its_priority(roles: str) -> None:
    assert went_back(roles) == 0


def test_where_it_is_refused_the_worker_works_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(by: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "nice", refuse)
    step_back(10)
    assert "The priority of this worker stays as it is: Operation not permitted." in caplog.text
