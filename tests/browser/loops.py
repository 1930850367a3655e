"""The browser is started once for all tests of a process, so these share one event loop with it."""

from __future__ import annotations

from functools import partial

import pytest_asyncio

on_one_loop = partial(pytest_asyncio.fixture, loop_scope="session")()
