"""Sending webhooks: to addresses of the open internet only, looked up once, without following anybody elsewhere."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar
from aiohttp.abc import AbstractResolver, ResolveResult

from bot.engine import Job
from bot.webhook_answers import BoundedConnector, EndlessAnswer
from gate.rules import jobs as runs
from gate.rules.access import StreamEvent
from gate.rules.events import payload
from gate.rules.ports import Unavailable
from gate.rules.url_guard import Network, Target, address_refusal, is_allowed, needs_allow_list, parse_target
from gate.rules.webhooks import GONE, Webhook, headers, retry_delay
from storage.ledger import SqlLedger
from storage.webhooks import HookStore, Receivable, wanted_by_operator
from tools.name_lookups import NameLookups, TooManyLookups

log = logging.getLogger(__name__)

SECONDS = 5.0  # for one try, all in all
THREAD_SECONDS = 3.0  # of them for a thread that looks up the name
LOOK, LOOK_ALONE = 1.0, 5.0  # seconds between two looks for what is to be sent, and where there is no webhook
NOT_REACHED = "It could not be reached over the open internet."


class Forbidden(Exception):
    """Nothing may be sent there. Its text is a sentence."""


class InternalAddress(Forbidden):
    """A name leads to where nothing may be sent. Its text names the address."""


class GuardedResolver(AbstractResolver):
    """Looks a host up once, and gives out its addresses only when every one of them may be reached."""

    def __init__(self, lookups: NameLookups, owner: str, allowed: Sequence[Network], strict: bool) -> None:
        self._lookups, self._owner = lookups, owner
        self._allowed, self._strict = allowed, strict

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._lookups.addresses(self._owner, host, port)
        addresses = [str(entry[4][0]) for entry in found]
        try:
            for address in addresses:
                judge(address, self._allowed, self._strict)
        except Forbidden as error:
            raise InternalAddress(str(error)) from None
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": entry[0],
                "proto": entry[2],
                "flags": socket.AI_NUMERICHOST,
            }
            for address, entry in zip(addresses, found, strict=True)
        ]

    async def close(self) -> None:
        """It holds nothing."""


def judge(address: str, allowed: Sequence[Network], strict: bool) -> None:
    """Raise Forbidden unless this address may be reached. `strict`: only where the operator allows it by name."""
    why = address_refusal(address, allowed)
    if not why and strict and not is_allowed(address, allowed):
        why = "Only https to port 443 leaves the networks that the operator allows."
    if why:
        raise Forbidden(why)


class Sender:
    """One POST after the other, each with a line of its own. `allowed`: networks of the operator's own."""

    def __init__(
        self,
        allowed: Sequence[Network] = (),
        seconds: float = SECONDS,
        ssl: Any = True,
        lookups: NameLookups | None = None,
    ) -> None:
        self._allowed, self._seconds, self._ssl = tuple(allowed), seconds, ssl
        self._lookups = lookups or NameLookups(wait=THREAD_SECONDS)

    async def post(self, url: str, body: bytes, sent: dict[str, str], owner: str = "") -> int:
        """The status of the answer. `owner`: whose names wait for each other. Raises Forbidden and TooManyLookups, or
        OSError, TimeoutError and ClientError as they come."""
        found = parse_target(url, self._allowed)
        if isinstance(found, str):
            raise Forbidden(found)
        strict = needs_allow_list(found)
        self._literal(found, strict)
        connector = BoundedConnector(
            resolver=GuardedResolver(self._lookups, owner, self._allowed, strict),
            use_dns_cache=False,
            force_close=True,
            ssl=self._ssl,
        )
        limit = ClientTimeout(total=self._seconds)
        async with ClientSession(
            connector=connector,
            timeout=limit,
            trust_env=False,
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
        ) as session:
            async with session.post(url, data=body, headers=sent, allow_redirects=False) as answer:
                return answer.status  # nobody reads the body

    def _literal(self, found: Target, strict: bool) -> None:
        """An address in the URL itself is not looked up, so it is judged here."""
        try:
            ip_address(found.host)
        except ValueError:
            return
        judge(found.host, self._allowed, strict)


class Deliveries:
    """Takes events to webhooks, as durable runs with a stable id each.

    `sender` serves the operator's own webhooks; `abroad`, which knows no network of the operator's, those that were
    made over HTTP. `receivable` picks what each may get.
    """

    def __init__(
        self,
        hooks: HookStore,
        ledger: SqlLedger,
        sender: Sender,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        *,
        receivable: Receivable = wanted_by_operator,
        abroad: Sender | None = None,
    ) -> None:
        self._hooks, self._ledger, self._sender, self._now = hooks, ledger, sender, now
        self._receivable, self._abroad = receivable, abroad or Sender()

    def jobs(self) -> dict[str, Job]:
        return {"deliver": Job("hooks", self.deliver)}

    async def look(self) -> None:
        """Ask for the deliveries of what happens, for ever."""
        while True:
            pause = LOOK
            try:
                asked = await self._hooks.fan_out(self._ledger, self._receivable)
                pause = LOOK_ALONE if asked is None else LOOK
            except Unavailable as error:
                log.warning("webhooks will be looked at again: %s", error)
            except Exception:
                log.exception("webhooks will be looked at again")
            await asyncio.sleep(pause)

    async def deliver(self, hook_id: str, seq: str, attempt: str) -> None:
        """One try. What fails is asked for again later; who is gone is asked no more."""
        hook = await self._hooks.get(hook_id)
        event = await self._hooks.event(int(seq))
        if hook is None or event is None or not await self._receivable(hook, [event]):
            return
        problem, status = await self._try(hook, event)
        if not problem:
            return await self._hooks.noted(hook.id, "")
        log.warning("webhook %s, event %s, try %s: %s", hook.id, seq, int(attempt) + 1, problem)
        await self._hooks.noted(hook.id, problem, disable=status == GONE)
        wait = retry_delay(int(attempt))
        if wait is None or status == GONE:
            return
        async with self._ledger.begin() as tx:
            tx.enqueue(runs.deliver(hook.id, event.seq, hook.owner, int(attempt) + 1, wait))

    async def _try(self, hook: Webhook, event: StreamEvent) -> tuple[str, int]:
        """What went wrong, "" when nothing did; and the status of the answer, 0 without one. Who made it over HTTP is
        not told whether there is such a name inside, nor its address."""
        content = payload(event.kind, event.task, event.body, event.at)
        body = json.dumps(content, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode("ascii")
        try:
            sender = self._abroad if hook.token else self._sender
            status = await sender.post(
                hook.url, body, headers(hook, event.seq, self._now(), body), hook.owner
            )
        except InternalAddress as error:
            log.info("webhook %s: %s", hook.id, error)
            return (NOT_REACHED if hook.token else str(error)), 0
        except (Forbidden, TooManyLookups, EndlessAnswer) as error:
            return str(error), 0
        except TimeoutError:
            return f"It did not answer within {SECONDS:.0f} s.", 0
        except (ClientError, OSError, ValueError) as error:
            log.info("webhook %s: %s", hook.id, error)
            return (NOT_REACHED if hook.token else f"It could not be reached ({type(error).__name__})."), 0
        return ("" if 200 <= status < 300 else f"It answered {status}."), status
