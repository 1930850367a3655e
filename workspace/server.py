"""The workspace as one thing: start it, point an app at it, act in it, watch it."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from workspace.cast import Cast
from workspace.delivery import Delivery
from workspace.faults import Faults
from workspace.forge import Forge
from workspace.journal import Entry, Refusal
from workspace.parts import Installation, Parts, Rules
from workspace.passes import Passes
from workspace.person import Person
from workspace.signed_http import SignedHttp
from workspace.sockets import Sockets
from workspace.state import Clock, Ids, Message, State, random_ids
from workspace.ui import Ui, only_as
from workspace.web_api import WebApi

PAGE = Path(__file__).parent / "page"
ELSEWHERE_SECONDS = 0.02
MOST_BYTES = 4 * 1024 * 1024
T = TypeVar("T")


class Workspace:
    """A local Slack with one installed app.

    Without request URLs the app connects by Socket Mode; `deliver_to` switches to signed HTTP, to one URL
    per replica. `clock` gives seconds since the epoch, `ids` a fresh id for a prefix; `counted_ids()` makes
    runs repeatable. `rules` shortens Slack's patience in tests.
    """

    def __init__(
        self,
        installed: Installation | None = None,
        cast: Cast | None = None,
        *,
        clock: Clock = time.time,
        ids: Ids | None = None,
        rules: Rules | None = None,
    ) -> None:
        rules, state, faults = rules or Rules(), State(cast or Cast(), clock, ids or random_ids()), Faults()
        sockets = Sockets(state, faults, rules.timing.ack)
        self._parts = Parts(
            installed=installed or Installation(),
            rules=rules,
            state=state,
            delivery=Delivery(sockets, state, faults, rules.timing, random.Random(rules.seed)),
            sockets=sockets,
            passes=Passes(state, rules.timing.trigger, rules.timing.response_url),
            faults=faults,
        )
        self.state, self.faults, self.sockets, self.forge = state, faults, sockets, Forge(self._parts)
        self._api = WebApi(self._parts)
        self._runner: web.AppRunner | None = None
        self._http: SignedHttp | None = None

    # -- running ----------------------------------------------------------------------------------------

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serves on host and port (0: any free one); returns the address, for example http://127.0.0.1:4000."""
        app = web.Application(
            client_max_size=MOST_BYTES, middlewares=[only_as(host, "127.0.0.1", "localhost", "[::1]")]
        )
        self._routes(app, Ui(self._parts, self._api.closing))
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        port = self._runner.addresses[0][1]
        self._parts.url = f"http://{host}:{port}"
        return self._parts.url

    def _routes(self, app: web.Application, ui: Ui) -> None:
        app.router.add_route("*", "/api/{method}", self._api.call)
        app.router.add_post("/response/{key}", self._api.response_url)
        app.router.add_get("/link", self.sockets.connect)
        app.router.add_get("/ui/state", ui.state)
        app.router.add_get("/ui/events", ui.events)
        app.router.add_get("/ui/log", ui.log)
        app.router.add_post("/ui/{deed}", ui.do)
        app.router.add_get("/", _page)
        app.router.add_get("/archives/{channel}/{message}", _page)
        app.router.add_static("/static/", PAGE)

    async def stop(self) -> None:
        """Ends every delivery, stream and connection."""
        self._api.closing.set()
        await self._parts.delivery.stop()
        await self.sockets.hang_up()
        if self._http is not None:
            await self._http.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def deliver_to(self, *urls: str) -> None:
        """Delivers by signed HTTP to one of these request URLs, at random; no URL: by Socket Mode again."""
        before = self._http
        secret, patience = self._parts.installed.signing_secret, self._parts.rules.timing.ack
        self._http = SignedHttp(urls, secret, patience) if urls else None
        self._parts.delivery.transport = self._http or self.sockets
        if before is not None:  # last: what is on its way meanwhile goes by the new one
            await before.stop()

    # -- acting -----------------------------------------------------------------------------------------

    def as_(self, user: str) -> Person:
        """The person with this id, at their keyboard."""
        return Person(self._parts, user)

    def invite(self, channel: str, user: str) -> None:
        self.state.channels[channel].members.add(user)
        self.state.changed()

    def remove(self, channel: str, user: str) -> None:
        self.state.channels[channel].members.discard(user)
        self.state.changed()

    # -- watching ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._parts.url

    @property
    def api_url(self) -> str:
        """The base URL of the Web API, with the slash at its end that the SDK wants."""
        return f"{self._parts.url}/api/"

    @property
    def refused(self) -> list[Refusal]:
        """Every payload that the validator would not take; a test suite asserts that it is empty."""
        return self._parts.refused

    @property
    def log(self) -> list[Entry]:
        """Every call by the app and every delivery to it, oldest first."""
        return list(self._parts.delivery.journal)

    def calls(self, method: str) -> list[Entry]:
        """The calls of one Web API method."""
        return [e for e in self.log if e.side == "call" and e.name == method]

    def deliveries(self, name: str) -> list[Entry]:
        """The deliveries of one kind: an event type, block_actions, view_submission, slash_commands…"""
        return [e for e in self.log if e.side == "delivery" and e.name == name]

    def messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """What stands in a channel, or the replies of one thread, oldest first; ephemeral ones included."""
        found = self.state.messages[channel].values()
        return [m for m in found if thread_ts is None or (m.thread_ts == thread_ts and m.ts != thread_ts)]

    def by_app(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """The app's own messages there."""
        return [m for m in self.messages(channel, thread_ts) if m.user == self.state.app.bot_user]

    async def wait_for(self, predicate: Callable[[], T | None], timeout: float = 20.0) -> T:
        """Waits until the predicate gives something true and returns it. It looks whenever anything changes
        here, and every 20 ms for what changes elsewhere.

        Raises TimeoutError, with the latest messages and deliveries, when it does not come to that.
        """
        bell = self.state.listen()
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(bell.wait(), ELSEWHERE_SECONDS)
                    bell.clear()
                return found
        except TimeoutError:
            raise TimeoutError(f"not within {timeout} s. {self._latest()}") from None
        finally:
            self.state.unlisten(bell)

    async def settled(self, receivers: int = 1, timeout: float = 20.0) -> None:
        """Waits until this many sockets (or URLs) are there to deliver to."""
        transport = self._parts.delivery.transport
        await self.wait_for(lambda: len(transport.receivers()) >= receivers, timeout)

    def _latest(self) -> str:
        said = [f"{m.channel} {m.user}: {m.text!r}" for c in self.state.messages.values() for m in c.values()]
        done = [f"{e.side} {e.name} {e.note}" for e in self.log]
        return f"Messages: {said[-5:]}. Log: {done[-8:]}. Refused: {self.refused[-1:]}"


async def _page(request: web.Request) -> web.StreamResponse:
    """The page; a permalink opens it too, and the page finds the message in its own address."""
    return web.FileResponse(PAGE / "index.html")
