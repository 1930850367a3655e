"""The way in from Slack: Bolt behind our own guard, over signed HTTP or over Socket Mode."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, web
from slack_bolt import BoltResponse
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_internals import build_async_context
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_async_handlers import AsyncRateLimitErrorRetryHandler
from slack_sdk.web.async_client import AsyncWebClient

from bot.http_limits import network_of
from bot.settings import Secret
from bot.slack_retry import code_of
from bot.unfinished_bodies import UnfinishedBodies
from handlers.api.request import SLACK, identify
from handlers.slack import payloads

log = logging.getLogger(__name__)

MOST_BYTES = 1024 * 1024
LARGE_BYTES = 64 * 1024  # more than these take long enough that a crowd of them would hold up the loop
BODY_SECONDS = 5.0
ACK_SECONDS = 2.9  # Bolt answers 404 where no listener has acknowledged after 3 s, as where there is none
WINDOW = 300  # seconds for which Slack's signatures are good
REPLAYS = 20_000  # signatures remembered: more than a minute of the most that Slack sends
WAKE = 30.0  # seconds without a socket before the watchdog asks for a fresh address


REFUSED = "Slack refuses {name} ({why}): install the app, and copy {what} again."
SILENT = "Slack does not answer ({why}): check the network, and SLACK_API_URL if it is set."
APP_TOKEN = "its token from “Basic Information”, with the scope connections:write,"


class SlackRefused(Exception):
    """Slack takes a token not, or does not answer, as we start. Its text is a sentence that says what to do."""


class _NoBodies(logging.Filter):
    """Bolt logs whole bodies of requests that it refuses; we never do (slack_bolt.middleware.request_verification)."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if "signature" in said:
            record.msg, record.args = "a request with a bad signature was refused", ()
        if said.startswith("Unhandled request"):
            record.msg, record.args = said.partition("\n")[0], ()  # the rest is advice for programmers
        return "`token`" not in said  # it ignores the token, as it should: we authorize


def clients(session: ClientSession, token: str, base_url: str) -> tuple[AsyncWebClient, AsyncWebClient]:
    """A fast client for answers to clicks, and a patient one for runs, which waits out rate limits.

    Neither sends a request twice after a dropped connection, as the SDK's default would
    (slack_sdk.http_retry.builtin_async_handlers).
    """
    fast = AsyncWebClient(token=token, base_url=base_url, session=session, retry_handlers=[])
    patient = AsyncWebClient(
        token=token,
        base_url=base_url,
        session=session,
        retry_handlers=[AsyncRateLimitErrorRetryHandler(max_retry_count=3)],
    )
    return fast, patient


def http_session(seconds: float = 10) -> ClientSession:
    """The session of every call to Slack; `seconds` is the time that one call has, answer included."""
    return ClientSession(timeout=ClientTimeout(total=seconds, connect=3))


async def identity(client: AsyncWebClient, token: str) -> AuthorizeResult:
    """Who we are, asked once. Bolt's own authorize asks at the first event, and answers 200 where auth.test fails:
    that event is lost (slack_bolt.middleware.authorization.async_single_team_authorization).

    Raises SlackRefused."""
    with _errors_of_slack("SLACK_BOT_TOKEN", "its token"):
        who = await client.auth_test()
    return AuthorizeResult(
        enterprise_id=who.get("enterprise_id"),
        team_id=who["team_id"],
        url=who.get("url"),
        bot_user_id=who["user_id"],
        bot_id=who.get("bot_id"),
        bot_token=token,
    )


async def may_connect(client: AsyncWebClient, app_token: Secret | None) -> None:
    """Ask Slack once whether Socket Mode works with this token, if there is one: the SDK would ask for ever, and say
    nothing. Raises SlackRefused."""
    if app_token is not None:
        with _errors_of_slack("SLACK_APP_TOKEN", APP_TOKEN):
            await client.apps_connections_open(app_token=app_token.reveal())


@contextmanager
def _errors_of_slack(name: str, what: str) -> Iterator[None]:
    try:
        yield
    except SlackApiError as error:
        raise SlackRefused(REFUSED.format(name=name, why=code_of(error), what=what)) from error
    except (ClientError, OSError, TimeoutError) as error:
        raise SlackRefused(SILENT.format(why=str(error) or type(error).__name__)) from error


def bolt(client: AsyncWebClient, signing_secret: str, me: AuthorizeResult) -> AsyncApp:
    """The Bolt app, without its magic."""

    async def authorize(team_id: str | None) -> Any:
        return me if team_id == me.team_id else None  # None: another workspace, and never ours

    logger = logging.getLogger("slack_bolt.countersign")
    logger.addFilter(_NoBodies())
    return AsyncApp(
        name="countersign",  # else Bolt looks for one through the whole stack
        client=client,
        signing_secret=signing_secret,
        authorize=authorize,
        attaching_conversation_kwargs_enabled=False,
        ssl_check_enabled=False,
        logger=logger,
    )


class Guard:
    """Our own look at a raw request, before anything parses it: size, signature, replay, headers.

    Answers 400, 401, 408 or 413 without logging the body; a replay of a signed request is acknowledged and dropped.
    """

    def __init__(self, app: AsyncApp, signing_secret: str, clock: Callable[[], float] = time.time) -> None:
        self._app = app
        self._secret = signing_secret.encode()
        self._large = asyncio.Lock()  # of the thread that looks at large bodies
        self._unfinished = UnfinishedBodies()
        self._clock = clock
        self._seen: OrderedDict[str, float] = OrderedDict()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """POST /slack/events: events, interactivity and commands alike."""
        raw = await self._body(request)
        if isinstance(raw, web.Response):
            return raw
        stamp = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        if not await self._signed(raw, stamp, signature):
            return web.Response(status=401, text="not signed by Slack")
        identify(request, SLACK)
        if self._replayed(signature):
            return web.Response(status=200, text="")
        try:
            made = _bolt_request(request, raw)
        except Exception:  # Bolt reads and searches the body as it makes the request
            return web.Response(status=400, text="malformed")
        if not payloads.is_well_formed(made.body):
            return web.Response(status=400, text="malformed")
        began = asyncio.get_running_loop().time()
        response = await self._app.async_dispatch(made)
        if response.status == 404 and asyncio.get_running_loop().time() - began >= ACK_SECONDS:
            response = BoltResponse(status=503)
        if response.status >= 500 or response.status == 404:
            self._seen.pop(signature, None)  # Slack has to send it again, and may do so unchanged
        return await to_aiohttp_response(response)

    async def _body(self, request: web.Request) -> bytes | web.Response:
        """The raw body, or the answer to one that is too large or too slow."""
        if (request.content_length or 0) > MOST_BYTES:
            return web.Response(status=413, text="too large")
        try:
            async with asyncio.timeout(BODY_SECONDS) as limit:
                with self._unfinished.one(network_of(request.remote or ""), limit) as body:
                    return await _read(request, partial(self._unfinished.add, body))
        except TimeoutError:
            return web.Response(status=408, text="too slow")

    async def _signed(self, raw: bytes, stamp: str, signature: str) -> bool:
        """Whether the body is Slack's. Nothing of it is decoded before; of large ones one is looked at at a time."""
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12) or not signature.isascii():
            return False
        if abs(self._clock() - int(stamp)) > WINDOW:
            return False
        if len(raw) <= LARGE_BYTES:
            return hmac.compare_digest(self._signature(raw, stamp), signature)
        async with self._large:
            made = await asyncio.to_thread(self._signature, raw, stamp)
        return hmac.compare_digest(made, signature)

    def _signature(self, raw: bytes, stamp: str) -> str:
        made = hmac.new(self._secret, f"v0:{stamp}:".encode(), hashlib.sha256)
        made.update(raw)
        return f"v0={made.hexdigest()}"

    def _replayed(self, signature: str) -> bool:
        """Whether this very request was here before. Slack signs each retry anew."""
        now = self._clock()
        while self._seen and (
            len(self._seen) > REPLAYS or next(iter(self._seen.values())) < now - 2 * WINDOW
        ):
            self._seen.popitem(last=False)
        known = signature in self._seen
        self._seen[signature] = now
        return known


async def _read(request: web.Request, came: Callable[[int], None]) -> bytes:
    """The body; `came` is told how many bytes of it have come. Where it does not come to its end, nothing of it is
    kept: the error would keep it with this frame until the garbage collector comes by, which strangers' unfinished
    bodies of a megabyte do not make come sooner."""
    found = bytearray()
    try:
        async for piece in request.content.iter_any():
            found += piece
            came(len(piece))
        return bytes(found)
    finally:
        piece = b""
        found.clear()


def _bolt_request(request: web.Request, raw: bytes) -> AsyncBoltRequest:
    """Bolt's request, without the headers that it would trust unsigned, and with the body that it may lose."""
    headers: dict[str, str | Sequence[str]] = {}
    headers.update({k: v for k, v in request.headers.items() if not k.lower().startswith("x-slack-bolt-")})
    text = raw.decode("utf-8")
    made = AsyncBoltRequest(body=text, query=request.query_string, headers=headers)
    form = payloads.form_body(text) if not made.body and "payload" in text else {}
    if form and "payload" not in form:
        made.body = form
        made.context = build_async_context(made.context, form)
    return made


class Sockets:
    """Socket Mode with a watchdog: the SDK tries a dead single-use address for ever.

    `slack_sdk.socket_mode.aiohttp` asks for an address only while it has none.
    """

    def __init__(self, app: AsyncApp, app_token: str, wake: float = WAKE) -> None:
        self._wake = wake
        self._handler: Any = AsyncSocketModeHandler(app, app_token)  # its methods are not typed
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect in the background: with a bad token the SDK never returns."""
        self._tasks = [
            asyncio.create_task(self._handler.connect_async(), name="socket mode"),
            asyncio.create_task(self._watch(), name="socket watchdog"),
        ]

    async def connected(self) -> bool:
        return bool(await self._handler.client.is_connected())

    async def _watch(self) -> None:
        away = 0.0
        while True:
            await asyncio.sleep(1)
            away = 0.0 if await self.connected() else away + 1
            if away >= self._wake:
                log.warning("no socket for %s s: asking Slack for a fresh address", away)
                self._handler.client.wss_uri = None
                away = 0.0

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._handler.close_async()
