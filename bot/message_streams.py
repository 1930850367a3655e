"""Long answers grow in Slack while they are read: a recorded message is sent part by part into one stream.

Nothing here knows what is yet to come: the message is whole before its first part is sent, so whatever breaks off is
mended by the update of the same message (ADR 27). Slack's limits: a stream lives five minutes, and 30 seconds without a
new part (https://github.com/slackapi/python-slack-sdk/issues/1859).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.slack_retry import code_of
from gate.rules.ports import Unavailable
from handlers.slack.listener import To
from views.block_kit import Block, Message, weight

log = logging.getLogger(__name__)

SHORT = 300  # characters of an answer that is posted in one piece
PARTS = 8  # pieces of about the same length
BEAT = 0.4  # seconds between two of them
LONGEST = 60.0  # seconds that all of them may take
# Slack shows no streams to this app, or not there: https://docs.slack.dev/reference/methods/chat.startStream
NONE_HERE = frozenset(
    "access_denied channel_type_not_supported deprecated_endpoint feature_not_enabled invalid_arguments invalid_blocks "
    "invalid_chunks method_deprecated missing_scope no_permission not_allowed not_allowed_token_type "
    "unknown_method".split()
)
# After these the stream may have begun.
UNSURE = frozenset(["", "fatal_error", "internal_error", "request_timeout", "service_unavailable"])


class Streams:
    """`client` does not wait out rate limits: an answer that cannot be streamed at once is posted. `beat`: seconds
    between two parts."""

    def __init__(self, client: AsyncWebClient, beat: float = BEAT) -> None:
        self._client = client
        self._beat = beat
        self._known = True  # to Slack, for this app

    async def begin(self, to: To, first: Sequence[Block]) -> str:
        """Start a message with these blocks. Its ts; "" where there will be no stream, and nothing was posted.

        Raises Unavailable where one may have begun.
        """
        if not self._known:
            return ""
        try:
            begun = await self._client.chat_startStream(
                channel=to.channel, thread_ts=to.thread, chunks=_chunks(first)
            )
        except SlackApiError as error:
            code = code_of(error)
            if code in UNSURE:
                raise Unavailable(f"Slack answered {code or 'something that is no JSON'}") from error
            self._known = code not in NONE_HERE
            log.info("an answer is posted in one piece, as Slack did not begin a stream: %s", code)
            return ""
        except Exception as error:  # the SDK lets transport and decoding errors of many kinds through
            raise Unavailable(f"Slack could not be reached: {type(error).__name__}") from error
        return str(begun["ts"])

    async def end(
        self, channel: str, ts: str, rest: Sequence[Sequence[Block]], metadata: Mapping[str, Any]
    ) -> bool:
        """Add the rest, and end the stream with the last part. False where the message is not known to be whole: Slack
        or a person has closed the stream, or a call has failed."""
        *middle, last = rest
        try:
            async with asyncio.timeout(LONGEST):
                for part in middle:
                    await asyncio.sleep(self._beat)
                    await self._client.chat_appendStream(channel=channel, ts=ts, chunks=_chunks(part))
                await asyncio.sleep(self._beat)
                await self._client.chat_stopStream(
                    channel=channel, ts=ts, blocks=list(last), metadata=dict(metadata)
                )
        except SlackApiError as error:
            log.info("a stream broke off, and its message is updated: %s", code_of(error))
            return False
        except Exception as error:
            log.info("a stream broke off, and its message is updated: %s", type(error).__name__)
            return False
        return True


def in_parts(blocks: Sequence[Block]) -> list[list[Block]]:
    """The blocks in groups of about the same length, in order, buttons in the last one; a short message is a single
    group."""
    whole = sum(map(weight, blocks))
    if whole < SHORT:
        return [list(blocks)]
    groups: list[list[Block]] = [[]]
    for block in blocks:
        if weight(block) and sum(map(weight, groups[-1])) >= whole / PARTS:
            groups.append([])
        groups[-1].append(block)
    return groups


def begins(found: Mapping[str, Any], message: Message) -> bool:
    """Whether a message in Slack is the beginning of this one. Only a stream that broke off has no metadata."""
    said = _said(found.get("blocks"))
    ours = bool(found.get("bot_id")) and not found.get("metadata")
    return ours and bool(said) and _said(message.blocks).startswith(said)


def _chunks(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Blocks, not Markdown: in rich text nothing is parsed, so that no label can hide where a link leads."""
    return [{"type": "blocks", "blocks": list(blocks)}]


def _said(value: Any) -> str:
    """All the text of rich text, in order."""
    if isinstance(value, list):
        return "".join(map(_said, value))
    if not isinstance(value, dict):
        return ""
    own = value.get("text")
    return own if isinstance(own, str) else _said(value.get("elements"))
