"""Calling Slack: what gets better by itself is raised as Unavailable, what does not is told apart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from slack_sdk.errors import SlackApiError

from gate.rules.ports import Unavailable

log = logging.getLogger(__name__)

# Nobody can post this there, now or later: trying again would only fill the log.
FINAL = frozenset(
    "cannot_reply_to_message cant_delete_message channel_not_found compliance_exports_prevent_deletion "
    "ekm_access_denied is_archived is_inactive messages_tab_disabled missing_scope not_in_channel restricted_action "
    "restricted_action_thread_locked thread_not_found user_disabled user_not_found user_not_in_channel "
    "unknown_method".split()
)
# The message is gone, or is not ours to change.
MESSAGE_GONE = frozenset(["message_not_found", "cant_update_message"])
# The message itself breaks a rule of Slack's.
REFUSED = frozenset(
    "block_mismatch invalid_arguments invalid_blocks invalid_blocks_format markdown_text_conflict metadata_too_large "
    "msg_blocks_too_long msg_blocks_too_many msg_too_long no_text view_too_large".split()
)


# The message is still being streamed; then it cannot be updated.
STREAMED = "streaming_state_conflict"


class SlackError(Exception):
    """Slack will not take this, however often it is tried. `code` is Slack's word for why."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack answered {code}")
        self.code = code


def code_of(error: SlackApiError) -> str:
    """Slack's word for what is wrong; "" when it sent a page of HTML or no JSON at all."""
    data = getattr(error.response, "data", error.response)
    code = data.get("error") if isinstance(data, dict) else None
    return code if isinstance(code, str) else ""


async def call_slack(call: Callable[..., Any], **arguments: Any) -> Any:
    """Call Slack. Raises Refused, or Unavailable: then it may be tried again."""
    try:
        return await call(**arguments)
    except SlackApiError as error:
        code = code_of(error)
        if code in FINAL | MESSAGE_GONE | REFUSED | {STREAMED}:
            raise SlackError(code) from error
        raise Unavailable(f"Slack answered {code or 'something that is no JSON'}") from error
    except Exception as error:  # the SDK lets transport and decoding errors of many kinds through
        raise Unavailable(f"Slack could not be reached: {type(error).__name__}") from error
