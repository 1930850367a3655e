"""The last look at what goes out: what breaks Slack's rules is replaced by a plain sentence, never sent or dropped."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from bot.slack_retry import REFUSED, SlackError, call_slack
from gate.rules.ports import Unavailable
from handlers.slack.listener import Opening
from views import modals, notices, payload_check
from views.block_kit import Message

log = logging.getLogger(__name__)

PLAIN = "I have something to show here that Slack did not take. Nothing can be confirmed from this message."
STAND_IN = notices.answer(PLAIN)
EMPTY = "I could not fetch this just now. Nothing changed: close this and press again."


async def modal_content(opening: Opening, view_id: str) -> dict[str, Any]:
    """What belongs into an opened modal, or a sentence that says why it is not there."""
    try:
        view = await opening.then(view_id)
    except Unavailable as error:
        log.warning("a modal could not be filled: %s", error)
        return modals.message(EMPTY)
    except Exception:
        log.exception("a modal could not be filled")
        return modals.message(EMPTY)
    problems = payload_check.view(view)
    if not problems:
        return view
    log.error("a modal broke the rules: %s", problems[:3])
    return modals.message(PLAIN)


def checked_message(message: Message) -> Message:
    """The message, or STAND_IN without buttons when it breaks Slack's rules: fail closed, never silent."""
    problems: Sequence[str] = payload_check.message(message)
    if not problems:
        return message
    log.error("a message broke the rules: %s", problems[:3])
    return STAND_IN


async def shown(
    call: Any, message: Message, strict: bool = False, **arguments: Any
) -> tuple[Mapping[str, Any], bool]:
    """Post or update a message; where Slack refuses it, STAND_IN, or Refused is raised when `strict`. Slack's answer,
    and whether the message itself is there: people have not seen what STAND_IN stands for.

    chat.update forgets `parse` each time.
    """

    async def send(one: Message) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await call_slack(
            call, text=one.text, blocks=one.blocks, parse="none", **arguments
        )
        return answer

    try:
        return await send(message), message is not STAND_IN
    except SlackError as error:
        if strict or error.code not in REFUSED:
            raise
        log.error("Slack refused a message of ours: %s", error)
        return await send(STAND_IN), False
