"""Runs tests, each time in a process forked from one that has imported the libraries and nothing of this repository.

    python -m tests.forked_pytest

Each line that it reads is a JSON list of arguments for pytest; each line that it writes is a JSON list of the exit code
and what pytest wrote.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile

import pytest

LIBRARIES = (
    "aiohttp.web",
    "alembic.command",
    "anyio._backends._asyncio",
    "cryptography.hazmat.primitives.ciphers.aead",
    "dbos",
    "hypothesis",
    "jsonschema",
    "mcp",
    "psycopg",
    "pydantic",
    "redis.asyncio",
    "slack_sdk.web.async_client",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "sqlalchemy.ext.asyncio",
    "starlette.applications",
    "unittest.mock",
    "uvicorn",
    "xdist.scheduler",
    "yaml",
)
# pytest would rewrite the assertions of those that come with a plugin for it, and warns that it is too late.
PLAIN = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


def main() -> None:
    """Until the end of standard input."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(forked(json.loads(line))) + "\n")
        sys.stdout.flush()


def forked(arguments: list[str]) -> tuple[int, str]:
    """The exit code of pytest with these arguments, and what it wrote."""
    with tempfile.TemporaryFile() as told:
        child = os.fork()
        if not child:
            for number in (sys.stdout.fileno(), sys.stderr.fileno()):
                os.dup2(told.fileno(), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            raise SystemExit(pytest.main([*PLAIN, *arguments]))
        _, status = os.waitpid(child, 0)
        told.seek(0)
        return os.waitstatus_to_exitcode(status), told.read().decode()


if __name__ == "__main__":
    main()
