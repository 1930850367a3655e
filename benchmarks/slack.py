"""A fake Slack that answers at once without checks. It records when cards are updated, and signs deliveries."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from aiohttp import ClientResponseError, ClientSession, web

from workspace.context import Installation
from workspace.delivery import Kind, encode, sign

INSTALLED = Installation("xoxb-bench", "xapp-bench", "the signing secret of the benchmarks")
TEAM, CHANNEL, BOT = "T1", "C_OPS", "UBOT"
SECONDS = 120.0  # for any card to come
PEOPLE = [f"U{number:04}" for number in range(1000)]  # so many that nobody has too much waiting


@dataclass
class Card:
    """The card of one thread. Times are of time.monotonic, which all processes share."""

    ts: str = ""
    value: str = ""  # of its Confirm
    drawn: list[tuple[float, str]] = field(default_factory=list)  # when, and its text
    statuses: list[str] = field(default_factory=list)
    told: list[str] = field(
        default_factory=list
    )  # to one person alone, as that a press could not be recorded
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def until(self, true: Callable[[Card], Any]) -> Any:
        """Waits until `true` returns a true value, and returns it. Raises TimeoutError."""
        async with asyncio.timeout(SECONDS):
            while not (found := true(self)):
                self.changed.clear()
                await self.changed.wait()
            return found

    async def ready(self) -> None:
        """Whether the card is posted and recorded by the bot, which sets the session status last."""
        await self.until(lambda card: "suspended" in card.statuses)

    def at(self, *starts: str, after: float = 0.0) -> float | None:
        """The time when the text of the card first began with one of these words."""
        return next((at for at, text in self.drawn if text.startswith(starts) and at > after), None)


class Slack:
    """The Web API methods that the bot uses. `cards` by thread_ts; each thread has one."""

    def __init__(self) -> None:
        self.cards: defaultdict[str, Card] = defaultdict(Card)
        self.calls: Counter[str] = Counter()  # by method
        self.messages: dict[str, tuple[str, str, list[Any]]] = {}  # ts -> thread, text, blocks, as they stand
        self._threads: dict[str, str] = {}  # of each message
        self._stamps = itertools.count(1)
        self._runner: web.AppRunner | None = None

    async def start(self) -> str:
        """Starts serving; returns the base URL of the Web API."""
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/api/"

    async def stop(self) -> None:
        if self._runner:
            await self._runner.cleanup()

    @property
    def shown(self) -> int:
        """The number of posted cards."""
        return sum(1 for card in self.cards.values() if card.ts)

    async def _answer(self, request: web.Request) -> web.Response:
        at = time.monotonic()
        args: dict[str, Any] = dict(request.query)
        args |= await request.json() if request.content_type == "application/json" else await request.post()
        self.calls[request.match_info["method"]] += 1
        method = request.match_info["method"].replace(".", "_").lower()
        found = getattr(self, f"_{method}", None)
        return web.json_response({"ok": True, **(found(args, at) if found else {})})

    def _auth_test(self, args: Any, at: float) -> dict[str, Any]:
        return {"team_id": TEAM, "user_id": BOT, "bot_id": "BBOT", "team": "local", "user": "countersign"}

    def _users_info(self, args: Any, at: float) -> dict[str, Any]:
        return {"user": {"id": args["user"], "team_id": TEAM, "name": args["user"], "profile": {}}}

    def _chat_postmessage(self, args: Any, at: float) -> dict[str, Any]:
        ts = f"{1_800_000_000 + next(self._stamps)}.000000"
        thread = args.get("thread_ts") or ts
        card = self.cards[thread]
        card.ts, self._threads[ts] = ts, thread
        self._draw(card, ts, args, at)
        return {"channel": args["channel"], "ts": ts}

    def _chat_update(self, args: Any, at: float) -> dict[str, Any]:
        self._draw(self.cards[self._threads[args["ts"]]], args["ts"], args, at)
        return {"channel": args["channel"], "ts": args["ts"]}

    def _chat_postephemeral(self, args: Any, at: float) -> dict[str, Any]:
        card = self.cards[args.get("thread_ts", "")]
        card.told.append(args["text"])
        card.changed.set()
        return {}

    def _draw(self, card: Card, ts: str, args: Any, at: float) -> None:
        given = args.get("blocks") or []
        blocks = json.loads(given) if isinstance(given, str) else given
        self.messages[ts] = (self._threads[ts], args["text"], blocks)
        buttons = [e for block in blocks if block["type"] == "actions" for e in block["elements"]]
        card.value = next((e["value"] for e in buttons if e["action_id"] == "confirm"), "")
        card.drawn.append((at, args["text"]))
        card.changed.set()

    def button(self, thread: str, action_id: str) -> tuple[str, str] | None:
        """The ts of the newest message in the thread that has this button, and the button's value."""
        for ts, (in_thread, _, blocks) in reversed(self.messages.items()):
            rows = (
                [block["elements"] for block in blocks if block["type"] == "actions"]
                if in_thread == thread
                else []
            )
            for element in (one for row in rows for one in row):
                if element["action_id"] == action_id:
                    return ts, element["value"]
        return None

    def _agents_sessions_setstatus(self, args: Any, at: float) -> dict[str, Any]:
        card = self.cards[args.get("thread_ts", "")]
        card.statuses.append(args["status"])
        card.changed.set()
        return {}


def mention(number: int, text: str) -> tuple[str, dict[str, Any]]:
    """The mention with this number: its ts, which is also its thread_ts, and its event payload."""
    ts, user = f"{1_700_000_000 + number}.000100", PEOPLE[number % len(PEOPLE)]
    event = {"type": "app_mention", "user": user, "text": f"<@{BOT}> {text}", "channel": CHANNEL, "ts": ts}
    return ts, {
        "type": "event_callback",
        "team_id": TEAM,
        "api_app_id": "A_COUNTERSIGN",
        "event_id": f"Ev{number}",
        "event_time": int(time.time()),
        "event": {**event, "event_ts": ts, "team": TEAM},
    }


def confirm(number: int, thread: str, card: Card) -> dict[str, Any]:
    """The payload of a click on Confirm by the author of this mention."""
    return press(number, thread, card.ts, "confirm", card.value)


def press(number: int, thread: str, ts: str, action_id: str, value: str) -> dict[str, Any]:
    """The payload of a click on a button of the message `ts` by the author of this mention."""
    pressed = {"type": "button", "action_id": action_id, "block_id": "b", "value": value}
    return {
        "type": "block_actions",
        "api_app_id": "A_COUNTERSIGN",
        "team": {"id": TEAM, "domain": "local"},
        "user": {"id": PEOPLE[number % len(PEOPLE)], "team_id": TEAM},
        "trigger_id": "1.1.1",
        "channel": {"id": CHANNEL, "name": "ops"},
        "container": {"type": "message", "message_ts": ts, "channel_id": CHANNEL, "thread_ts": thread},
        "message": {"type": "message", "ts": ts, "thread_ts": thread, "text": "", "user": BOT},
        "actions": [{**pressed, "action_ts": ts}],
    }


def request(kind: Kind, payload: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    """The signed body and headers."""
    content_type, body = encode(kind, payload)
    return body.encode(), {"Content-Type": content_type, **sign(INSTALLED.signing_secret, body)}


async def send(session: ClientSession, url: str, kind: Kind, payload: dict[str, Any]) -> None:
    """Sends a payload and waits for the acknowledgement. Raises unless it is 200."""
    body, headers = request(kind, payload)
    async with session.post(url, data=body, headers=headers) as response:
        response.raise_for_status()
        await response.read()


async def accepted(session: ClientSession, url: str, kind: Kind, payload: dict[str, Any]) -> bool:
    """The same; whether it was acknowledged rather than refused with 503, which asks Slack to send it again."""
    try:
        await send(session, url, kind, payload)
    except ClientResponseError as error:
        if error.status != HTTPStatus.SERVICE_UNAVAILABLE:
            raise
        return False
    return True
