"""Every seeded fault of the gate is found by a test: each named test is run in a process that has the fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.mutants import MUTANTS, ROOT, Mutant

NAMES = [mutant.name for mutant in MUTANTS]


def test_each_fault_has_its_place_in_the_source() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 10
    for mutant in MUTANTS:
        for change in mutant.changes:
            assert change.applied((ROOT / change.path).read_text("utf-8"))


Run = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs tests in a process of their own, which has nothing of the product yet: its exit code, and what it wrote."""
    command = [sys.executable, "-m", "tests.forked_pytest"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        asked, answers = server.stdin, server.stdout

        def ask(*arguments: str) -> tuple[int, str]:
            asked.write(
                json.dumps(["-p", "tests.mutants", "-p", "no:cacheprovider", "-q", "-x", *arguments]) + "\n"
            )
            asked.flush()
            code, told = json.loads(answers.readline())
            return code, told

        yield ask


# The others say no more of the gate's core than these do, and each takes a process of its own: they are left to soak.
CORE = NAMES[: NAMES.index("thanks_are_feedback")]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(
    "mutant", [pytest.param(m, id=m.name, marks=[] if m.name in CORE else pytest.mark.soak) for m in MUTANTS]
)
def test_a_seeded_fault_of_the_gate_is_found(mutant: Mutant, run: Run) -> None:
    code, told = run("--mutant", mutant.name, mutant.killer)
    assert code == 1, told[-3000:]  # tests failed; anything else is a mistake of ours
    assert f"FAILED {mutant.killer.split('::')[0]}" in told, told[-3000:]
