"""A test in which the product holds up the event loop fails; one that was held up once, by the machine, does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[1]
TESTS = """
from contextlib import suppress
from gate.rules.canonical_json import BadArguments, canonical

runs = []
large = {{"rows": [{{"name": str(n), "size": n}} for n in range(150_000)]}}

async def test_the_loop_is_held_up():
    runs.append(1)
    if len(runs) <= {times}:
        for _ in range(4):
            with suppress(BadArguments):  # it is far too large, which is found out at the end
                canonical(large)
"""


@pytest.fixture
def outcomes_of(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int], dict[str, int]]:
    """What comes of a test whose product code holds up the loop so many times."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyprojecttoml(
        "[tool.pytest.ini_options]\nasyncio_mode = 'auto'\nasyncio_default_fixture_loop_scope = 'function'"
    )

    def run(times: int) -> dict[str, int]:
        pytester.makepyfile(TESTS.format(times=times))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider").parseoutcomes()

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("times", "outcomes"), [(1, {"passed": 1}), (2, {"passed": 1, "errors": 1})])
def test_a_stall_counts_when_it_comes_again(
    outcomes_of: Callable[[int], dict[str, int]], times: int, outcomes: dict[str, int]
) -> None:
    assert outcomes_of(times) == outcomes
