"""Events API payloads: messages posted, changed and deleted, App Home opened, session stopped."""

from __future__ import annotations

from typing import Any

from workspace.context import Context
from workspace.payloads import channel_json, message_json, view_json
from workspace.state import Message


def emit(context: Context, channel_id: str, event: dict[str, Any]) -> str:
    """Sends an event about a channel; returns its event_id, or "" when the app is not a member."""
    channel = context.state.channels[channel_id]
    if context.state.app.bot_user not in channel.members:
        return ""
    return context.delivery.send_event(
        event, shared=bool(channel_json(channel, context.state)["is_ext_shared"])
    )


def message_posted(context: Context, message: Message) -> None:
    """Sends `message` and, if the app is mentioned in a channel, `app_mention` with the same ts."""
    channel = context.state.channels[message.channel]
    common = {"channel": channel.id, "event_ts": message.ts}
    body = message_json(context.state, message) | common
    for name in ("reply_count", "reply_users"):
        body.pop(name, None)
    if not body.get("bot_id"):
        body["client_msg_id"] = context.state.ids("msg-")
    bot = context.state.app.bot_user
    if channel.type != "im" and f"<@{bot}>" in message.text and message.user != bot:
        mention = {key: value for key, value in body.items() if key != "parent_user_id"}
        emit(context, channel.id, {**mention, "type": "app_mention"})
    emit(context, channel.id, {**body, "channel_type": channel.type})


def message_changed(context: Context, message: Message, before: dict[str, Any]) -> None:
    """Sends `message_changed`. `before` is the message's JSON before the edit."""
    channel = context.state.channels[message.channel]
    ts = context.state.next_ts()
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": channel.id,
        "channel_type": channel.type,
        "message": message_json(context.state, message),
        "previous_message": before,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
    }
    emit(context, channel.id, event)


def message_deleted(context: Context, message: Message) -> None:
    channel = context.state.channels[message.channel]
    ts = context.state.next_ts()
    event = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": channel.id,
        "channel_type": channel.type,
        "previous_message": message_json(context.state, message),
        "deleted_ts": message.ts,
        "hidden": True,
        "ts": ts,
        "event_ts": ts,
    }
    emit(context, channel.id, event)


def app_home_opened(context: Context, user: str) -> None:
    im, home = context.state.im_of(user), context.state.homes.get(user)
    ts = context.state.next_ts()
    event: dict[str, Any] = {
        "type": "app_home_opened",
        "user": user,
        "channel": im.id if im else "",
        "tab": "home",
    }
    event["event_ts"] = ts
    if home:
        context.delivery.send_event({**event, "view": view_json(context.state, home)})
    else:
        context.delivery.send_event(event)


def agent_session_stopped(
    context: Context, user: str, channel: str, thread_ts: str | None, streaming: list[str]
) -> None:
    """Sends `agent_session_stopped`, for Slack's Stop button. The app stops its work and sets the status.
    `streaming`: the ts of the messages that were being streamed.
    """
    event: dict[str, Any] = {
        "type": "agent_session_stopped",
        "channel": channel,
        "user": user,
        "thread_ts": thread_ts,
        "streaming_message_ts": streaming,
        "event_ts": context.state.next_ts(),
    }
    context.delivery.send_event(event)
