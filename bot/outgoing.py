"""The last look at what goes out: what breaks Slack's rules is replaced by a plain sentence, never sent or dropped."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from typing import Any

from bot.patience import REFUSED, Refused, patiently
from gate.world import Unavailable
from handlers.door import Opening
from views import check, modals, notes
from views.kit import Message

log = logging.getLogger(__name__)

PLAIN = "I have something to show here that Slack did not take. Nothing can be confirmed from this message."
EMPTY = "I could not fetch this just now. Nothing changed: close this and press again."


async def content(opening: Opening, view_id: str) -> dict[str, Any]:
    """What belongs into an opened modal, or a sentence that says why it is not there."""
    try:
        view = await opening.then(view_id)
    except Unavailable as error:
        log.warning("a modal could not be filled: %s", error)
        return modals.message(EMPTY)
    except Exception:
        log.exception("a modal could not be filled")
        return modals.message(EMPTY)
    problems = check.view(view)
    if not problems:
        return view
    log.error("a modal broke the rules: %s", problems[:3])
    return modals.message(PLAIN)


def checked(message: Message) -> Message:
    """The message, or a plain one without buttons when it breaks Slack's rules: fail closed, never silent."""
    problems: Sequence[str] = check.message(message)
    if not problems:
        return message
    log.error("a message broke the rules: %s", problems[:3])
    return notes.answer(PLAIN)


def digest(message: Message) -> str:
    """Of all that people see of a message: equal ones need not be sent again."""
    seen = json.dumps([message.text, message.blocks], sort_keys=True)
    return hashlib.sha256(seen.encode("ascii")).hexdigest()[:32]


async def shown(call: Any, message: Message, strict: bool = False, **arguments: Any) -> Any:
    """Post or update a message; where Slack refuses it, a plain one, or Refused is raised when `strict`.

    chat.update forgets `parse` each time.
    """
    try:
        return await patiently(call, text=message.text, blocks=message.blocks, parse="none", **arguments)
    except Refused as error:
        if strict or error.code not in REFUSED:
            raise
        log.error("Slack refused a message of ours: %s", error)
        plain = notes.answer(PLAIN)
        return await patiently(call, text=plain.text, blocks=plain.blocks, parse="none", **arguments)
