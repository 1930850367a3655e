"""HTTP mode: requests signed as Slack signs them, to one or several request URLs."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from urllib.parse import urlencode

import aiohttp

from workspace.delivery import Answer, Attempt, Kind, Payload


def signed(secret: str, body: str, timestamp: int | None = None) -> dict[str, str]:
    """The two headers that prove who sends this body.

    The time is the machine's: the receiver checks it against its own clock, whatever this workspace's says.
    """
    stamp = str(int(time.time()) if timestamp is None else timestamp)
    digest = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


def encoded(kind: Kind, payload: Payload) -> tuple[str, str]:
    """The content type and body in which this kind travels."""
    if kind == "events_api":
        return "application/json", json.dumps(payload)
    form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    return "application/x-www-form-urlencoded", urlencode(form)


class SignedHttp:
    """The transport of HTTP mode."""

    def __init__(self, urls: Sequence[str], secret: str, patience: float) -> None:
        self._urls, self._secret, self._patience = list(urls), secret, patience
        self._session: aiohttp.ClientSession | None = None

    def receivers(self) -> Sequence[str]:
        return self._urls

    async def send(self, to: str, kind: Kind, payload: Payload, attempt: Attempt) -> Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        if self._session.closed:  # stopped since it was chosen
            return Answer(False, "connection_failed")
        content_type, body = encoded(kind, payload)
        headers = {"Content-Type": content_type, **signed(self._secret, body)}
        if attempt.number:
            headers |= {"X-Slack-Retry-Num": str(attempt.number)}
            headers |= {"X-Slack-Retry-Reason": attempt.reason or "unknown_error"}
        patience = aiohttp.ClientTimeout(total=self._patience)
        try:
            async with self._session.post(
                to, data=body.encode(), headers=headers, timeout=patience, allow_redirects=False
            ) as response:
                return await _answer(response)
        except TimeoutError:
            return Answer(False, "http_timeout")
        except aiohttp.ClientError:
            return Answer(False, "connection_failed")

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _answer(response: aiohttp.ClientResponse) -> Answer:
    text = await response.text()
    ok = response.status == 200
    body = text
    if response.content_type == "application/json" and text:
        body = json.loads(text)
    no_retry = response.headers.get("x-slack-no-retry") == "1"
    return Answer(ok, "ok" if ok else "http_error", body or None, response.status, no_retry)
