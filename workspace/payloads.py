"""Slack's JSON for people, channels, messages and views; payloads of interactions and events, also forged ones."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

from workspace.context import Context
from workspace.delivery import AppResponse, Kind, Payload, encode, sign
from workspace.state import Blocks, Channel, Message, Person, State, Values, View

Json = dict[str, Any]


def person_json(person: Person) -> Json:
    """As in users.info."""
    return {
        "id": person.id,
        "team_id": person.team,
        "name": person.name.lower(),
        "real_name": person.name,
        "deleted": person.kind == "deleted",
        "profile": {"real_name": person.name, "display_name": person.name, "team": person.team},
        "is_admin": False,
        "is_owner": False,
        "is_restricted": person.kind == "guest",
        "is_ultra_restricted": False,
        # Only who shares no channel with the app is one: https://docs.slack.dev/reference/objects/user-object
        "is_stranger": False,
        "is_bot": person.kind == "bot",
        "is_app_user": False,
        "tz": "Etc/UTC",
        "tz_offset": 0,
    }


def channel_json(channel: Channel, state: State) -> Json:
    """As in conversations.info."""
    has_strangers = bool(channel.made_by) or any(state.people[m].kind == "stranger" for m in channel.members)
    body = {
        "id": channel.id,
        "name": channel.name,
        "is_channel": channel.type == "channel",
        "is_group": channel.type == "group",
        "is_im": channel.type == "im",
        "is_private": channel.private or channel.type == "im",
        "is_member": state.app.bot_user in channel.members,
        "is_archived": False,
        "is_ext_shared": has_strangers,
        "num_members": len(channel.members),
    }
    return body | ({"user": channel.im_with} if channel.im_with else {})


def author_json(state: State, user: str) -> Json:
    """The author fields of a message; those of a bot include its bot_id and app_id."""
    person = state.people[user]
    if user == state.app.bot_user:
        return {"user": user, "bot_id": state.app.bot_id, "app_id": state.app.id, "team": state.app.team}
    if person.bot_id:
        return {"user": user, "bot_id": person.bot_id, "app_id": "A" + user[1:], "team": person.team}
    home = {} if person.team == state.app.team else {"user_team": person.team, "source_team": person.team}
    return {"user": user, "team": person.team, **home}


def message_json(state: State, message: Message) -> Json:
    """As in conversations.history and in the `message` of block_actions."""
    body = {"type": "message", **author_json(state, message.user), "text": message.text, "ts": message.ts}
    if message.blocks:
        body["blocks"] = message.blocks
    if message.edited:
        body["edited"] = {"user": message.user, "ts": message.ts}
    if message.reactions:
        body["reactions"] = [
            {"name": name, "users": users, "count": len(users)} for name, users in message.reactions.items()
        ]
    replies = state.replies(message)
    if replies:
        users = sorted({reply.user for reply in replies})
        body |= {"thread_ts": message.ts, "reply_count": len(replies), "reply_users": users}
    if message.thread_ts and message.thread_ts != message.ts:
        parent = state.message(message.channel, message.thread_ts)
        body |= {"thread_ts": message.thread_ts, "parent_user_id": parent.user if parent else None}
    return body


def view_json(state: State, view: View) -> Json:
    """As in the response of views.open and in the `view` of an interaction."""
    defaults = {"private_metadata": "", "callback_id": "", "external_id": "", "submit": None, "close": None}
    return {
        **defaults,
        **view.body,
        "id": view.id,
        "team_id": state.app.team,
        "state": {"values": deepcopy(view.values)},
        "hash": view.hash,
        "root_view_id": view.root,
        "previous_view_id": view.previous,
        "app_id": state.app.id,
        "app_installed_team_id": state.app.team,
        "bot_id": state.app.bot_id,
    }


def interaction(context: Context, kind: str, user: str) -> Json:
    """The fields that every interaction has. `user` may be unknown, for forged payloads."""
    app, person = context.state.app, context.state.people.get(user)
    name = person.name.lower() if person else user.lower()
    team = person.team if person else app.team
    return {
        "type": kind,
        "user": {"id": user, "username": name, "name": name, "team_id": team},
        "api_app_id": app.id,
        "token": "legacy",
        "team": {"id": app.team, "domain": app.team_domain},
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": context.triggers.issue_trigger(user),
    }


def _channel_name(channel: Channel | None) -> str:
    if channel is None:
        return "unknown"
    return "directmessage" if channel.im_with else channel.name


def message_click(context: Context, user: str, message: Message, action: Json) -> Json:
    """block_actions from a message. As in Slack, an ephemeral message is not included."""
    channel = context.state.channels.get(message.channel)
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": message.channel,
        "is_ephemeral": message.visible_to is not None,
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    response = context.triggers.issue_response_url(user, message.channel, message.ts)
    payload = {
        **interaction(context, "block_actions", user),
        "container": container,
        "channel": {"id": message.channel, "name": _channel_name(channel)},
        "state": {"values": deepcopy(message.values_of(user))},
        "response_url": f"{context.url}/response/{response}",
        "actions": [action],
    }
    if message.visible_to is None:
        payload["message"] = message_json(context.state, message)
    return payload


def view_click(context: Context, user: str, view: View, action: Json) -> Json:
    """block_actions from a modal or App Home."""
    return {
        **interaction(context, "block_actions", user),
        "container": {"type": "view", "view_id": view.id},
        "view": view_json(context.state, view),
        "actions": [action],
    }


def view_submission(context: Context, user: str, view: View) -> Json:
    body = interaction(context, "view_submission", user)
    return {**body, "view": view_json(context.state, view), "response_urls": []}


def view_closed(context: Context, user: str, view: View, cleared: bool) -> Json:
    body = interaction(context, "view_closed", user)
    del body["trigger_id"]
    return {**body, "view": view_json(context.state, view), "is_cleared": cleared}


def slash_command(context: Context, user: str, channel: str, command: str, text: str) -> Json:
    """The form of a slash command. `text` has its mentions as `<@U123|name>`."""
    app, person = context.state.app, context.state.people.get(user)
    found = context.state.channels.get(channel)
    response = context.triggers.issue_response_url(user, channel, None)
    return {
        "token": "legacy",
        "team_id": app.team,
        "team_domain": app.team_domain,
        "channel_id": channel,
        "channel_name": _channel_name(found),
        "user_id": user,
        "user_name": person.name.lower() if person else user.lower(),
        "command": command,
        "text": text,
        "api_app_id": app.id,
        "is_enterprise_install": "false",
        "response_url": f"{context.url}/response/{response}",
        "trigger_id": context.triggers.issue_trigger(user),
    }


def emit(context: Context, channel_id: str, event: dict[str, Any]) -> str:
    """Sends an event about a channel; returns its event_id, or "" when the app is not a member."""
    channel = context.state.channels[channel_id]
    if context.state.app.bot_user not in channel.members:
        return ""
    shared = bool(channel_json(channel, context.state)["is_ext_shared"])
    return context.delivery.send_event(event, shared, channel.made_by)


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


class Forge:
    """`ws.forge`: builds forged payloads, and delivers them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def send(self, kind: Kind, payload: Payload) -> AppResponse:
        """Delivers a payload once; returns the app's response."""
        return await self._context.delivery.send_interaction(kind, payload)

    def event(self, event: Payload) -> str:
        """Sends an event with a new event_id and the usual retries; returns the event_id."""
        return self._context.delivery.send_event(event)

    def signed(
        self, kind: Kind, payload: Payload, timestamp: int | None = None
    ) -> tuple[str, dict[str, str]]:
        """The body and headers of this delivery over HTTP, for tests that alter them before they post."""
        content_type, body = encode(kind, payload)
        return body, {
            "Content-Type": content_type,
            **sign(self._context.installation.signing_secret, body, timestamp),
        }

    def click(self, user: str, message: Message, **action: Any) -> Payload:
        """block_actions from a message that need not exist; `action` are the fields of actions[0]."""
        return message_click(self._context, user, message, self._action(action))

    def view_click(self, user: str, view: View, **action: Any) -> Payload:
        return view_click(self._context, user, view, self._action(action))

    def submission(self, user: str, view: View) -> Payload:
        return view_submission(self._context, user, view)

    def closing(self, user: str, view: View) -> Payload:
        return view_closed(self._context, user, view, cleared=False)

    def command(self, user: str, channel: str, command: str, text: str = "") -> Payload:
        return slash_command(self._context, user, channel, command, text)

    def message(self, channel: str, ts: str, blocks: Blocks | None = None, **fields: Any) -> Message:
        """A message of the app that was never posted."""
        shape = {"user": self._context.state.app.bot_user, "text": "forged", **fields}
        return Message(channel, ts, blocks=blocks, **shape)

    def view(
        self, like: View | None = None, view_id: str | None = None, values: Values | None = None, **body: Any
    ) -> View:
        """A view that was never opened, or a copy of `like` with another id, values or body fields."""
        empty = {"type": "modal", "blocks": [], "title": {"type": "plain_text", "text": "forged"}}
        base = like or View("V_FORGED", "U_NOBODY", empty, "hash.forged", "V_FORGED")
        changed = replace(base, body={**base.body, **body}, id=view_id or base.id)
        changed.values = values if values is not None else base.values
        return changed

    def _action(self, action: dict[str, Any]) -> dict[str, Any]:
        return {"type": "button", "block_id": "forged", "action_ts": self._context.state.next_ts(), **action}
