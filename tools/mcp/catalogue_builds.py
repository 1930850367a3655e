"""Builds catalogues beside the loop: one at a time for each server, and in threads that nothing else waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tools.mcp.catalogue import Catalogue, Pins
from tools.mcp.connection import Listing
from tools.mcp.server_config import ServerConfig
from tools.recipes.reader import RecipeFiles

Build = Callable[[ServerConfig, Listing, RecipeFiles, Pins | None], Catalogue]
THREADS = 2  # of all servers, beside those that the loop has for other work


class CatalogueBuilder:
    """A foreign server's schemas may take seconds, and a thread cannot be stopped: where a listing is given up, or its
    connection ends, the server's next one waits for what is still being built."""

    def __init__(self, recipes: RecipeFiles, build: Build = Catalogue.of) -> None:
        self._recipes, self._build = recipes, build
        self._threads = ThreadPoolExecutor(THREADS, "catalogue")
        self._building: dict[str, asyncio.Future[Catalogue]] = {}

    async def built(self, config: ServerConfig, listing: Listing, pins: Pins | None) -> Catalogue:
        """The catalogue of this listing."""
        while (last := self._building.get(config.name)) is not None and not last.done():
            await asyncio.wait({last})
        loop = asyncio.get_running_loop()
        this = loop.run_in_executor(self._threads, self._build, config, listing, self._recipes, pins)
        self._building[config.name] = this
        this.add_done_callback(_read)
        return await asyncio.shield(this)

    def close(self) -> None:
        """Begin nothing more. What is being built is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for building in self._building.values():
            building.cancel()


def _read(built: asyncio.Future[Catalogue]) -> None:
    """Read an error that nobody may wait for any more, so that asyncio does not log it."""
    if not built.cancelled():
        built.exception()
