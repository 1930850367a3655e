"""A workspace with little patience, and a real Bolt app in both modes."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.workspace.bolt_apps import INSTALLED, Connected
from workspace.context import Options
from workspace.delivery import Timing
from workspace.server import Workspace


@pytest.fixture
def timing() -> Timing:
    """Slack's own patience, but retries at once. Tests that wait for a missed deadline ask for HASTY."""
    return Timing(retries=(0.0, 0.05, 0.1))


@pytest.fixture
async def ws(timing: Timing) -> AsyncIterator[Workspace]:
    workspace = Workspace(INSTALLED, options=Options(timing=timing))
    await workspace.start()
    yield workspace
    await workspace.stop()


@pytest.fixture(params=["socket", "http"])
async def connected(request: pytest.FixtureRequest, ws: Workspace) -> AsyncIterator[Connected]:
    joined = Connected(ws, request.param)
    yield joined
    await joined.part()
