"""What stands in the way of a start is one sentence that says what to do, and an exit code that is not zero."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.forks import bot
from tests.services import Postgres
from workspace.context import Installation
from workspace.server import Workspace


@dataclass
class Place:
    """Where everything is as it should be: each case spoils one thing."""

    folder: Path
    environ: dict[str, str]
    config: dict[str, object]
    postgres: Callable[[], str]
    taken: int  # a port that somebody listens on

    async def started(self, *command: str) -> tuple[int, str]:
        """Start it in a process of its own; its exit code, and what it said."""
        (self.folder / "countersign.yaml").write_text(json.dumps(self.config))
        done = await asyncio.to_thread(bot, *command, cwd=self.folder, env=self.environ)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
async def place(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    installed = Installation()
    workspace = Workspace(installed)
    url = await workspace.start()
    (tmp_path / "shared").mkdir()
    server = {"inproc": "servers.filesystem:server", "args": [str(tmp_path / "shared")], "trust": "declared"}

    def database() -> str:
        postgres: Postgres = request.getfixturevalue("postgres")
        return postgres.url(postgres.create())

    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        line.listen()
        environ = {
            "PATH": os.environ["PATH"],
            "COUNTERSIGN_HOME": str(tmp_path / "home"),
            "SLACK_BOT_TOKEN": installed.bot_token,
            "SLACK_APP_TOKEN": installed.app_token,
            "SLACK_API_URL": f"{url}/api",
            "HOST": "127.0.0.1",
            "PORT": "0",
        }
        yield Place(tmp_path, environ, {"mcpServers": {"files": server}}, database, line.getsockname()[1])
    await workspace.stop()


def wrong_app_token(place: Place) -> None:
    place.environ["SLACK_APP_TOKEN"] = "xapp-of-another-app"


def wrong_bot_token(place: Place) -> None:
    place.environ["SLACK_BOT_TOKEN"] = "xoxb-of-another-app"


def no_token(place: Place) -> None:
    del place.environ["SLACK_BOT_TOKEN"]


def silent_slack(place: Place) -> None:
    place.environ["SLACK_API_URL"] = "http://127.0.0.1:1/api"


def no_tables(place: Place) -> None:
    place.environ |= {"DATABASE_URL": place.postgres(), "COUNTERSIGN_AUDIT_KEY": "k" * 40}


def no_postgres(place: Place) -> None:
    place.environ |= {"DATABASE_URL": "postgresql://x:y@127.0.0.1:1/x", "COUNTERSIGN_AUDIT_KEY": "k" * 40}


def no_redis(place: Place) -> None:
    place.environ["REDIS_URL"] = "redis://:hidden@127.0.0.1:1"


def no_servers(place: Place) -> None:
    place.config["mcpServers"] = {}


def port_in_use(place: Place) -> None:
    place.environ["PORT"] = str(place.taken)


def home_that_is_a_file(place: Place) -> None:
    (place.folder / "home").write_text("")


def full_disk(place: Place) -> None:
    place.environ["COUNTERSIGN_HOME"] = "/dev/full/home"


def read_only_home(place: Place) -> None:
    place.environ["COUNTERSIGN_HOME"] = "/proc/home"  # nobody can write there, root included


def unknown_key(place: Place) -> None:
    place.config["planer"] = "model"


def another_key(place: Place) -> None:
    place.environ["COUNTERSIGN_AUDIT_KEY"] = "short"


def no_database(place: Place) -> None:
    place.environ["DATABASE_URL"] = f"sqlite:///{place.folder / 'shared'}"  # a folder


CASES: list[tuple[Callable[[Place], None], str]] = [
    (
        wrong_app_token,
        "Slack refuses SLACK_APP_TOKEN (invalid_auth): install the app, and copy its token from",
    ),
    (wrong_bot_token, "Slack refuses SLACK_BOT_TOKEN (invalid_auth): install the app"),
    (no_token, "SLACK_BOT_TOKEN is not set: copy"),
    (silent_slack, "Slack does not answer ("),
    (no_tables, "The database does not have the tables of this version: run `python -m bot migrate` first."),
    (no_postgres, "The database cannot be used (connection failed"),
    (no_redis, "Redis does not answer ("),
    (no_servers, "No MCP servers are configured: name some under mcpServers"),
    (port_in_use, "cannot be listened on (address already in use): stop what uses it, or set PORT"),
    (home_that_is_a_file, "cannot be used (file exists): give this user the right"),
    (full_disk, "cannot be used (not a directory): give this user the right"),
    (read_only_home, "cannot be used (no such file or directory): give this user the right"),
    (unknown_key, "planer"),
    (another_key, "COUNTERSIGN_AUDIT_KEY must have 32 characters or more"),
    (no_database, "cannot be used ("),
]


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "told"), CASES, ids=[case.__name__ for case, _ in CASES])
async def test_a_start_that_cannot_be_is_one_sentence(
    place: Place, spoil: Callable[[Place], None], told: str
) -> None:
    spoil(place)
    code, said = await place.started()
    assert told.lower() in said.lower()
    assert code == 1
    assert "Traceback" not in said
    assert "hidden" not in said
    sentences = [line for line in said.splitlines() if " WARNING " not in line and " INFO " not in line]
    assert len(sentences) == 1, said


@pytest.mark.slow
async def test_doctor_tells_of_an_app_token_that_slack_refuses(place: Place) -> None:
    wrong_app_token(place)
    code, said = await place.started("doctor")
    assert code == 1
    assert "MEND Slack: Slack refuses SLACK_APP_TOKEN (invalid_auth)" in said
