"""The transport of HTTP mode: signed requests to one or more request URLs."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Sequence
from urllib.parse import urlencode

import aiohttp

from workspace.delivery import AppResponse, Attempt, Kind, Payload


def sign(secret: str, body: str, timestamp: int | None = None) -> dict[str, str]:
    """The signature headers of a body.

    `timestamp`: seconds since the epoch; by default the system time, not the workspace's clock, as the receiver
    compares it with its own.
    """
    stamp = str(int(time.time()) if timestamp is None else timestamp)
    digest = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


def encode(kind: Kind, payload: Payload) -> tuple[str, str]:
    """The content type and the body of this kind of delivery."""
    if kind == "events_api":
        return "application/json", json.dumps(payload)
    form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    return "application/x-www-form-urlencoded", urlencode(form)


class SignedHttp:
    """Delivers to `urls`; each request times out after `ack_seconds`."""

    def __init__(self, urls: Sequence[str], secret: str, ack_seconds: float) -> None:
        self._urls, self._secret, self._ack_seconds = list(urls), secret, ack_seconds
        self._session: aiohttp.ClientSession | None = None

    def receivers(self) -> Sequence[str]:
        return self._urls

    async def send(self, url: str, kind: Kind, payload: Payload, attempt: Attempt) -> AppResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        if self._session.closed:  # `stop` was called since Delivery chose this transport
            return AppResponse(False, "connection_failed")
        content_type, body = encode(kind, payload)
        headers = {"Content-Type": content_type, **sign(self._secret, body)}
        if attempt.number:
            headers |= {"X-Slack-Retry-Num": str(attempt.number)}
            headers |= {"X-Slack-Retry-Reason": attempt.reason or "unknown_error"}
        timeout = aiohttp.ClientTimeout(total=self._ack_seconds)
        try:
            async with self._session.post(
                url, data=body.encode(), headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return await _read_response(response)
        except TimeoutError:
            return AppResponse(False, "http_timeout")
        except aiohttp.ClientError:
            return AppResponse(False, "connection_failed")

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _read_response(response: aiohttp.ClientResponse) -> AppResponse:
    text = await response.text()
    ok = response.status == 200
    body = text
    if response.content_type == "application/json" and text:
        body = json.loads(text)
    no_retry = response.headers.get("x-slack-no-retry") == "1"
    return AppResponse(ok, "ok" if ok else "http_error", body or None, response.status, no_retry)
