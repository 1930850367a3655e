"""The local Slack: its HTTP server with access control, and the interface for tests and the demo."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import random
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from workspace.context import Context, Installation, Options, Refusal, Triggers
from workspace.delivery import Delivery, Entry, SignedHttp, Sockets
from workspace.faults import Faults
from workspace.payloads import Forge
from workspace.person import Person
from workspace.state import Clock, Ids, Message, Seed, State, random_ids
from workspace.ui import Ui
from workspace.web_api import WebApi

COOKIE = "workspace"
PAGES = ("/", "/archives/", "/static/")  # without data: the page loads its data from /ui/
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
WRONG_HOST = "This workspace answers on its own address only."
NO_KEY = "Open the address, with its key, that this workspace printed when it started."
PAGE = Path(__file__).parent / "page"
POLL_SECONDS = 0.02
MAX_BODY_BYTES = 4 * 1024 * 1024
KEEPALIVE_SECONDS = 75.0  # for which a connection stays open without a request
T = TypeVar("T")


def access_control(hosts: Collection[str], key: str = "") -> Middleware:
    """A middleware that answers 403 to requests with another Host (DNS rebinding) or from another origin, WebSockets
    included. With a `key`, also to /ui/ requests without the cookie that opening the page with the key sets."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if not _is_own_host(request.host, hosts) or _is_cross_site(request):
            raise web.HTTPForbidden(text=WRONG_HOST)
        if key and request.path == "/" and _equal(request.query.get("key", ""), key):
            redirect = web.HTTPSeeOther("/")
            redirect.set_cookie(COOKIE, key, httponly=True, samesite="Strict")
            raise redirect
        if key and request.path.startswith("/ui/") and not _equal(request.cookies.get(COOKIE, ""), key):
            raise web.HTTPForbidden(text=NO_KEY)
        return await handler(request)

    return middleware


async def add_security_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Adds the security headers to a response; a handler of `on_response_prepare`."""
    response.headers.update(HEADERS)


def _is_own_host(host: str, hosts: Collection[str]) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in hosts
    except ValueError:
        return False


def _is_cross_site(request: web.Request) -> bool:
    """Whether a page of another site sent this, by the browser's headers. Following a link to a page is allowed."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"http://{request.host}":
        return True
    fetch_site = request.headers.get("Sec-Fetch-Site", "none")
    is_page = request.method == "GET" and (request.path == "/" or request.path.startswith(PAGES[1:]))
    return fetch_site not in ("same-origin", "none") and not is_page


def _equal(given: str, key: str) -> bool:
    return hmac.compare_digest(given.encode(), key.encode())


class Workspace:
    """A local Slack with one installed app.

    The app connects by Socket Mode; `deliver_to` switches to signed HTTP, with one URL per replica. `clock`: seconds
    since the epoch. `ids`: a new id for a prefix; `counted_ids()` makes runs repeatable. `options`: for example
    shorter time limits in tests. `key`: the page works only for a browser that opened it with this key.
    """

    def __init__(
        self,
        installation: Installation | None = None,
        seed: Seed | None = None,
        *,
        clock: Clock = time.time,
        ids: Ids | None = None,
        options: Options | None = None,
        key: str = "",
    ) -> None:
        options, state, faults = (
            options or Options(),
            State(seed or Seed(), clock, ids or random_ids()),
            Faults(),
        )
        sockets = Sockets(state, faults, options.timing.ack)
        self._key = key
        self._context = Context(
            installation=installation or Installation(),
            options=options,
            state=state,
            delivery=Delivery(sockets, state, faults, options.timing, random.Random(options.random_seed)),
            sockets=sockets,
            triggers=Triggers(state, options.timing.trigger, options.timing.response_url),
            faults=faults,
        )
        self.state, self.faults, self.sockets, self.forge = state, faults, sockets, Forge(self._context)
        self._api = WebApi(self._context)
        self._runner: web.AppRunner | None = None
        self._http: SignedHttp | None = None

    # -- running ----------------------------------------------------------------------------------------

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serves on host and port (0: any free port); returns the URL, for example http://127.0.0.1:4000."""
        hosts = {host, "127.0.0.1", "localhost", "::1"}
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[access_control(hosts, self._key)])
        app.on_response_prepare.append(add_security_headers)
        self._routes(app, Ui(self._context, self._api.closing))
        # The keep-alive timeout is also the time limit for the headers of a request.
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=2, keepalive_timeout=KEEPALIVE_SECONDS
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        port = self._runner.addresses[0][1]
        self._context.url = f"http://{host}:{port}"
        return self._context.url

    def _routes(self, app: web.Application, ui: Ui) -> None:
        app.router.add_route("*", "/api/{method}", self._api.call)
        app.router.add_post("/response/{key}", self._api.response_url)
        app.router.add_get("/link", self.sockets.connect)
        app.router.add_get("/ui/state", ui.state)
        app.router.add_get("/ui/events", ui.events)
        app.router.add_get("/ui/log", ui.log)
        app.router.add_post("/ui/{action}", ui.act)
        app.router.add_get("/", _page)
        app.router.add_get("/archives/{channel}/{message}", _page)
        app.router.add_static("/static/", PAGE)

    async def stop(self) -> None:
        """Cancels deliveries, and closes streams and connections."""
        self._api.closing.set()
        await self._context.delivery.stop()
        await self.sockets.close()
        if self._http is not None:
            await self._http.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def deliver_to(self, *urls: str) -> None:
        """Switches to signed HTTP, each delivery to one of these URLs at random; without URLs, to Socket Mode."""
        previous = self._http
        secret, ack_seconds = self._context.installation.signing_secret, self._context.options.timing.ack
        self._http = SignedHttp(urls, secret, ack_seconds) if urls else None
        self._context.delivery.transport = self._http or self.sockets
        if previous is not None:  # last: deliveries that start meanwhile use the new transport
            await previous.stop()

    # -- acting -----------------------------------------------------------------------------------------

    def as_(self, user: str) -> Person:
        """The client of the person with this user id."""
        return Person(self._context, user)

    def invite(self, channel: str, user: str) -> None:
        self.state.channels[channel].members.add(user)
        self.state.changed()

    def remove(self, channel: str, user: str) -> None:
        self.state.channels[channel].members.discard(user)
        self.state.changed()

    # -- watching ---------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return self._context.url

    @property
    def page_url(self) -> str:
        """The URL of the page, with the key if there is one."""
        return f"{self._context.url}/?key={self._key}" if self._key else self._context.url

    @property
    def installation(self) -> Installation:
        return self._context.installation

    @property
    def api_url(self) -> str:
        """The base URL of the Web API, with the final slash that the SDK needs."""
        return f"{self._context.url}/api/"

    @property
    def refused(self) -> list[Refusal]:
        """The payloads that failed validation; tests assert that there are none."""
        return self._context.refused

    def forget(self, newest: int) -> None:
        """Removes all but the newest messages of each channel, entries of the log, trigger_ids and response_urls."""
        self._context.delivery.call_log.trim(newest)
        self._context.triggers.forget(newest)
        for messages in self.state.messages.values():
            for message in list(messages.values())[:-newest]:
                self.state.remove(message)

    @property
    def log(self) -> list[Entry]:
        """The calls by the app and the deliveries to it, oldest first."""
        return list(self._context.delivery.call_log)

    def calls(self, method: str) -> list[Entry]:
        """The calls of one Web API method."""
        return [e for e in self.log if e.side == "call" and e.name == method]

    def deliveries(self, name: str) -> list[Entry]:
        """The deliveries of one type: an event type, block_actions, view_submission, slash_commands…"""
        return [e for e in self.log if e.side == "delivery" and e.name == name]

    def messages(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """The messages of a channel, or the replies of one thread, oldest first; with ephemeral ones."""
        found = self.state.messages[channel].values()
        return [m for m in found if thread_ts is None or (m.thread_ts == thread_ts and m.ts != thread_ts)]

    def by_app(self, channel: str, thread_ts: str | None = None) -> list[Message]:
        """Those of `messages` that the app posted."""
        return [m for m in self.messages(channel, thread_ts) if m.user == self.state.app.bot_user]

    async def wait_for(self, predicate: Callable[[], T | None], timeout: float = 20.0) -> T:
        """Waits until the predicate returns a true value, and returns it. It is evaluated after each change of the
        workspace, and every 20 ms for changes elsewhere.

        Raises TimeoutError, with the latest messages and deliveries, after `timeout` seconds.
        """
        listener = self.state.listen()
        try:
            async with asyncio.timeout(timeout):
                while not (found := predicate()):
                    # Not asyncio.wait_for: before Python 3.12 it may lose a cancellation.
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(POLL_SECONDS):
                            await listener.wait()
                    listener.clear()
                return found
        except TimeoutError:
            raise TimeoutError(f"not within {timeout} s. {self._latest()}") from None
        finally:
            self.state.unlisten(listener)

    async def settled(self, receivers: int = 1, timeout: float = 20.0) -> None:
        """Waits until the app has this many sockets (or URLs). Raises TimeoutError."""
        transport = self._context.delivery.transport
        await self.wait_for(lambda: len(transport.receivers()) >= receivers, timeout)

    def _latest(self) -> str:
        newest = [message for channel in self.state.messages.values() for message in channel.values()][-5:]
        messages = [f"{m.channel} {m.user}: {m.text[:500]!r}" for m in newest]
        calls = [f"{e.side} {e.name} {e.note}" for e in self.log[-8:]]
        return f"Messages: {messages}. Log: {calls}. Refused: {self.refused[-1:]}"


async def _page(request: web.Request) -> web.StreamResponse:
    """The page. A permalink serves it too: the page finds the message by its URL."""
    return web.FileResponse(PAGE / "index.html")
