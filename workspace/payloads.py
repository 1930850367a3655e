"""Slack's JSON for people, channels, messages and views, and the payloads of interactions and commands."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from workspace.context import Context
from workspace.seed import Person
from workspace.state import Channel, Message, State, View

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
        "is_stranger": person.kind == "stranger",
        "is_bot": person.kind == "bot",
        "is_app_user": False,
        "tz": "Etc/UTC",
        "tz_offset": 0,
    }


def channel_json(channel: Channel, state: State) -> Json:
    """As in conversations.info."""
    has_strangers = any(state.people[m].kind == "stranger" for m in channel.members)
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
