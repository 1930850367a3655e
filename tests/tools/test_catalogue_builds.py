"""However many listings of a server are given up, one catalogue of it is built at a time."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest
from mcp_types import Tool

from gate.rules.tool import Trust
from tools.mcp import catalogue
from tools.mcp.catalogue import Catalogue, Pins
from tools.mcp.catalogue_builds import THREADS, CatalogueBuilder
from tools.mcp.connection import Listing
from tools.mcp.schema import judged
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import RecipeFiles


class Workshop:
    """Builds a catalogue once it is let go on, and counts those that it builds at once."""

    def __init__(self) -> None:
        self.begun, self.at_once, self.most = threading.Semaphore(0), 0, 0
        self.go_on = threading.Event()

    def build(
        self, config: ServerConfig, listing: Listing, files: RecipeFiles, pins: Pins | None
    ) -> Catalogue:
        if config.name != "slow":
            return Catalogue()
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.begun.release()
        assert self.go_on.wait(20)
        self.at_once -= 1
        return Catalogue(reported_name=listing.reported_name)


def server(name: str) -> ServerConfig:
    return ServerConfig(name=name, inproc="x", trust=Trust.DECLARED)


async def test_a_listing_that_is_given_up_leaves_one_thread_and_the_next_ones_wait_for_it() -> None:
    shop = Workshop()
    builder = CatalogueBuilder({}, shop.build)
    try:
        for number in range(2 * THREADS):
            task = asyncio.create_task(builder.built(server("slow"), Listing((), {}, str(number)), {}))
            if not number:
                await asyncio.to_thread(shop.begun.acquire, timeout=20)
            await asyncio.wait({task}, timeout=0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await builder.built(server("other"), Listing((), {}), {}) == Catalogue()
        last = asyncio.create_task(builder.built(server("slow"), Listing((), {}, "last"), {}))
        shop.go_on.set()
        assert (await last).reported_name == "last"
        assert shop.most == 1
    finally:
        shop.go_on.set()
        builder.close()


def test_the_schemas_of_one_server_may_take_so_much_work_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "LISTING_STEPS", 20_000)
    schemas = [{"allOf": [{"minLength": 1}] * 100, "title": str(n)} for n in range(20)]
    tools = tuple(Tool(name=f"t{n}", input_schema=schema) for n, schema in enumerate(schemas))
    made = Catalogue.of(server("wide"), Listing(tools, {}), {}, {})
    steps = judged(json.dumps(schemas[0], sort_keys=True))[1]
    assert len(made.specs) == -(-20_000 // steps) < len(tools)
    assert any("too complicated together" in problem for problem in made.problems)
