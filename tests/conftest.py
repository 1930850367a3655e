"""What tests may ask for: a real Redis, a real PostgreSQL, SQLite files, a browser."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import redis
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from bot.embedded_redis import EmbeddedRedis, launch
from bot.watchdog import LIMIT, Stall
from storage.migrate import migrate
from tests.services import MEMORY, Postgres, find_postgres, start_postgres, unavailable
from tests.stalls import SUITE_LIMIT, watched_loops

ROOM = 4 << 30  # bytes that must be free there
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")  # the quickest first
# Files that wait for a clock, a process that starts or one that dies; and files that take long, none of which is begun at
# the very end.
WAITING = (
    "tests/api/test_gateway_end_to_end",
    "tests/bot/test_engine_",
    "tests/bot/test_queue_waker",
    "tests/chaos/",
    "tests/foreign/",
    "tests/handlers/test_deliveries",
    "tests/handlers/test_slack_faults",
    "tests/tools/test_tools_faults",
    "tests/tools/test_tools_http",
)
LONG = "tests/browser/"
PATIENCE = 20.0  # seconds
# An example may take 0.2 s of a machine that others use, too: what is slow is measured in CPU time, elsewhere.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
STALLED = pytest.StashKey[bool]()  # of a test: it failed because the product held up the event loop


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak-seconds", type=float, default=3600, help="how long tests/soak/ attacks: an hour")
    parser.addoption(
        "--slow", choices=("with", "without", "only"), default="with", help="tests that are marked slow"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests' files in memory, where there is room: no test then waits for a disk that others use, too.
    Workers of xdist are told their place by the one that starts them. No garbage is collected until all tests are
    found: it took half of the time for that."""
    gc.disable()
    settings.load_profile("untimed")
    chosen = config.option.basetemp is not None or hasattr(config, "workerinput")
    if not chosen and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        home = tempfile.mkdtemp(prefix="countersign-", dir=MEMORY)
        # At the very end: multiprocessing, at -100, takes its own directory away from there.
        Finalize(None, shutil.rmtree, (home,), {"ignore_errors": True}, exitpriority=-200)
        config.option.basetemp = f"{home}/tests"
        os.environ["TMPDIR"] = tempfile.tempdir = home


class Beside(LoadFileScheduling):
    """A file stays in one worker; and one worker begins with all that waits more than it computes, one after the other,
    while the others keep the processor busy. Let loose on all workers, what waits came together at the end."""

    def _split_scope(self, nodeid: str) -> str:
        return "waiting" if nodeid.startswith(WAITING) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Beside:
    return Beside(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `--slow` says. For several workers: what waits first, then the files in an order that means nothing,
    so that those of a folder, which are alike, do not come together."""
    if (wanted := config.getoption("slow")) != "with":
        slow = _slow(items)
        out = [item for item in items if (item.nodeid in slow) is (wanted == "without")]
        items[:] = [item for item in items if (item.nodeid in slow) is (wanted == "only")]
        config.hook.pytest_deselected(items=out)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _place(item.path.relative_to(config.rootpath).as_posix()))


def _slow(items: list[pytest.Item]) -> set[str]:
    """The ids of those that are marked slow. Of the cases of one test the first few are not, where its mark says so."""
    found, cases = set[str](), Counter[str]()
    for item in items:
        marks = list(item.iter_markers("slow"))
        function = item.nodeid.partition("[")[0]
        cases[function] += 1
        if marks and cases[function] > max(mark.kwargs.get("but", 0) for mark in marks):
            found.add(item.nodeid)
    return found


def _place(file: str) -> float:
    """The same number for a file in each run: 0 to 1, for those that take long to 0.9."""
    share = hashlib.sha256(file.encode()).digest()[0] / 255
    return -1 if file.startswith(WAITING) else share * 0.9 if file.startswith(LONG) else share


def pytest_collection_finish() -> None:
    """Thousands of tests stay until the end: spare the garbage collector the looking at them, for which the bot in the
    same process waits (0.3 s each time)."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def stalls(pytestconfig: pytest.Config) -> Iterator[list[Stall]]:
    """What held up a loop of this process since the last test, by code of the product."""
    found: list[Stall] = []
    soaks = (
        pytestconfig.getoption("markexpr") == "soak"
    )  # its limit is the product's: seconds of this machine
    with watched_loops(found, LIMIT, lambda: 1.0) if soaks else watched_loops(found, SUITE_LIMIT):
        yield found


@pytest.fixture(scope="session", autouse=True)
def patient_reads() -> Iterator[None]:
    """A read of the database does not give up because a machine that others use stands still for two seconds."""
    with patch("storage.ledger.READ_SECONDS", PATIENCE):
        yield


@pytest.fixture(autouse=True)
def no_stalls(request: pytest.FixtureRequest, stalls: list[Stall]) -> Iterator[None]:
    """Fails a test in which the product holds up the event loop for longer than the run allows (`stalls`)."""
    stalls.clear()
    yield
    if stalls and not request.node.get_closest_marker("holds_up"):
        request.node.stash[STALLED] = True
        pytest.fail("\n".join(map(str, stalls)), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test once more whose only fault is a stall: a page that is read from a slow disk, or a virtual machine that
    is not given its core, looks like one. What the program does holds the loop up the second time as well. An hour of
    soak is not run again: it tells of its stalls."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    once = item.get_closest_marker("soak") is not None
    if not once and item.stash.get(STALLED, False) and [r.when for r in reports if r.failed] == ["teardown"]:
        item.stash[STALLED] = False
        item._initrequest()  # type: ignore[attr-defined]  # as pytest-rerunfailures does: fixtures are made anew
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedRedis]:
    """The server that the service embeds, one per test process."""
    server = launch(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def redis_url(redis_server: EmbeddedRedis) -> str:
    """The URL of an empty Redis."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL per test process, started for the first test that asks."""
    programs = find_postgres()
    if programs is None:
        unavailable(
            "there are no PostgreSQL programs: install postgresql, or `make setup` where the wheel exists",
            "REQUIRE_POSTGRES",
        )
    server = start_postgres(programs)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_template() -> str:
    """What a fresh database is a copy of; a room's conftest may name one that has its tables."""
    return "template1"


@pytest.fixture
def postgres_url(postgres: Postgres, postgres_template: str) -> Iterator[str]:
    """The SQLAlchemy URL of a fresh PostgreSQL database."""
    database = postgres.create(postgres_template)
    yield postgres.url(database)
    postgres.drop(database)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The SQLAlchemy URL of a SQLite file that is not there yet."""
    return f"sqlite+aiosqlite:///{tmp_path / 'countersign.db'}"


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy: migrating takes longer than a test."""
    path = tmp_path_factory.mktemp("migrated") / "countersign.db"
    asyncio.run(migrate(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Each test runs on both databases."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser's program, for playwright's `executable_path`."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        unavailable("there is no Chromium on PATH: apt-get install chromium", "REQUIRE_BROWSER")
    return found


@pytest.fixture
def claim(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Says what a test has shown, with its figures, in the summary of the run."""
    return lambda text: record_property("claim", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    said = [
        value
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == "claim"
    ]
    if said:
        terminalreporter.section("shown, with n")
        terminalreporter.write("".join(f"{value}\n" for value in said))
