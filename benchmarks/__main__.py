"""`python -m benchmarks [NAME…] [--quick]`: prints figures and goals. A missed goal does not change the exit code."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.measure import machine
from benchmarks.service import DURABLE, Bench
from benchmarks.slack import Slack
from benchmarks.tools import PARTS
from bot.embedded_redis import embedded_redis
from tests.services import Postgres, find_postgres, start_postgres

RIGGED = ("statements", "ack", "click", "read", "waiting", "stories", "fanout", "gateway", "fair")
ALONE = ("tokens", "tools")  # they need no Slack, no Redis and no database
NAMES = (*ALONE, *RIGGED)
SOME = tuple(f"tools.{part}" for part in PARTS)  # parts of one, which run alone when they are named


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of {', '.join((*NAMES, *SOME))}; without, all"
    )
    parser.add_argument("--quick", action="store_true", help="a short run, to see that everything works")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {*NAMES, *SOME}:
        parser.error(
            f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join((*NAMES, *SOME))}"
        )
    asyncio.run(_run(asked.names or NAMES, asked.quick))


async def _run(names: Sequence[str], quick: bool) -> None:
    for name in names:
        if name in (*ALONE, *SOME):
            await import_module(f"benchmarks.{name}").run(None, quick)
    if rigged := [name for name in names if name in RIGGED]:
        await _rigged(rigged, quick)


async def _rigged(names: Sequence[str], quick: bool) -> None:
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        postgres = stack.enter_context(_postgres())
        slack = Slack()
        api_url = await slack.start()
        print(machine())
        if postgres is None:
            print("There are no PostgreSQL programs here: only SQLite is measured.")
        async with embedded_redis(home / "redis") as redis:
            bench = Bench(home, redis.url, slack, api_url, postgres)
            for name in names:
                await import_module(f"benchmarks.{name}").run(bench, quick)
        await slack.stop()


@contextlib.contextmanager
def _postgres() -> Iterator[Postgres | None]:
    """A PostgreSQL server with fsync on; None if PostgreSQL is not installed."""
    programs = find_postgres()
    server = start_postgres(programs, DURABLE) if programs else None
    try:
        yield server
    finally:
        if server:
            server.stop()


if __name__ == "__main__":
    main()
