"""The events that follow from what happens: a message is posted, changed, deleted; a home is opened."""

from __future__ import annotations

from typing import Any

from workspace.parts import Parts
from workspace.payloads import channel_json, message_json, view_json
from workspace.state import Message


def emit(parts: Parts, channel_id: str, event: dict[str, Any]) -> str:
    """Sends one event about a channel the app is in; returns its event_id, empty when the app is not."""
    channel = parts.state.channels[channel_id]
    if parts.state.app.bot_user not in channel.members:
        return ""
    return parts.delivery.event(event, shared=bool(channel_json(channel, parts.state)["is_ext_shared"]))


def posted(parts: Parts, message: Message) -> None:
    """A message event; and, where the app is mentioned in a channel, the app_mention that is its twin."""
    channel = parts.state.channels[message.channel]
    place = {"channel": channel.id, "event_ts": message.ts}
    shape = message_json(parts.state, message) | place
    for name in ("reply_count", "reply_users"):
        shape.pop(name, None)
    if not shape.get("bot_id"):
        shape["client_msg_id"] = parts.state.ids("msg-")
    bot = parts.state.app.bot_user
    if channel.type != "im" and f"<@{bot}>" in message.text and message.user != bot:
        mention = {key: value for key, value in shape.items() if key != "parent_user_id"}
        emit(parts, channel.id, {**mention, "type": "app_mention"})
    emit(parts, channel.id, {**shape, "channel_type": channel.type})


def changed(parts: Parts, message: Message, before: dict[str, Any]) -> None:
    """A message was edited: its new and its former shape."""
    channel = parts.state.channels[message.channel]
    stamp = parts.state.next_ts()
    event = {
        "type": "message",
        "subtype": "message_changed",
        "channel": channel.id,
        "channel_type": channel.type,
        "message": message_json(parts.state, message),
        "previous_message": before,
        "hidden": True,
        "ts": stamp,
        "event_ts": stamp,
    }
    emit(parts, channel.id, event)


def deleted(parts: Parts, message: Message) -> None:
    channel = parts.state.channels[message.channel]
    stamp = parts.state.next_ts()
    event = {
        "type": "message",
        "subtype": "message_deleted",
        "channel": channel.id,
        "channel_type": channel.type,
        "previous_message": message_json(parts.state, message),
        "deleted_ts": message.ts,
        "hidden": True,
        "ts": stamp,
        "event_ts": stamp,
    }
    emit(parts, channel.id, event)


def home_opened(parts: Parts, user: str) -> None:
    im, home = parts.state.im_of(user), parts.state.homes.get(user)
    stamp = parts.state.next_ts()
    event: dict[str, Any] = {
        "type": "app_home_opened",
        "user": user,
        "channel": im.id if im else "",
        "tab": "home",
    }
    event["event_ts"] = stamp
    if home:
        parts.delivery.event({**event, "view": view_json(parts.state, home)})
    else:
        parts.delivery.event(event)


def session_stopped(parts: Parts, user: str, channel: str, thread_ts: str | None) -> None:
    """The native Stop: the app itself must stop its work and set the status."""
    event: dict[str, Any] = {
        "type": "agent_session_stopped",
        "channel": channel,
        "user": user,
        "thread_ts": thread_ts,
        "streaming_message_ts": [],
        "event_ts": parts.state.next_ts(),
    }
    parts.delivery.event(event)
