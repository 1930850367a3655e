"""The read-only Web API methods: conversations, users, user groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workspace.context import Context
from workspace.errors import SlackError
from workspace.payloads import channel_json, message_json, person_json
from workspace.posting import channel_for
from workspace.seed import Usergroup
from workspace.state import Channel, Message

Args = dict[str, Any]


def _page(name: str, entries: Sequence[Any], args: Args, most: int = 100) -> Args:
    """One page of a list; the cursor is the index at which the next page starts."""
    start, limit = int(args.get("cursor") or 0), min(int(args.get("limit") or most), 1000)
    after = start + limit
    more = after < len(entries)
    cursor = str(after) if more else ""
    return {name: list(entries[start:after]), "has_more": more, "response_metadata": {"next_cursor": cursor}}


def _channel(context: Context, args: Args) -> Channel:
    """A public channel, or one that the app is a member of. Raises SlackError channel_not_found."""
    channel = context.state.channels.get(str(args.get("channel")))
    bot = context.state.app.bot_user
    if channel is None or (channel.type != "channel" and bot not in channel.members):
        raise SlackError("channel_not_found")
    return channel


def conversation_info(context: Context, args: Args) -> Args:
    return {"channel": channel_json(_channel(context, args), context.state)}


def conversation_list(context: Context, args: Args) -> Args:
    kinds = {"public_channel": "channel", "private_channel": "group", "im": "im"}
    wanted = {kinds.get(k.strip()) for k in str(args.get("types") or "public_channel").split(",")}
    bot = context.state.app.bot_user
    seen = [c for c in context.state.channels.values() if c.type == "channel" or bot in c.members]
    pages = [channel_json(c, context.state) for c in seen if c.type in wanted]
    return _page("channels", pages, args)


def conversation_open(context: Context, args: Args) -> Args:
    im = context.state.im_of(str(args.get("users") or ""))
    if im is None:
        raise SlackError("user_not_found")
    return {"channel": {"id": im.id}}


def members(context: Context, args: Args) -> Args:
    return _page("members", sorted(_channel(context, args).members), args)


def replies(context: Context, args: Args) -> Args:
    """conversations.replies: the parent and its replies, oldest first; for a reply's ts, only that reply."""
    channel = channel_for(context, args.get("channel"))
    parent = context.state.message(channel.id, str(args.get("ts")))
    if parent is None or parent.visible_to is not None:
        raise SlackError("thread_not_found")
    found = [_message(context, m, args) for m in (parent, *context.state.replies(parent))]
    return _page("messages", found, args)


def history(context: Context, args: Args) -> Args:
    """conversations.history: the channel's messages without thread replies, newest first."""
    channel = channel_for(context, args.get("channel"))
    oldest, latest = float(args.get("oldest") or 0), float(args.get("latest") or "inf")
    found = [
        _message(context, m, args)
        for m in reversed(context.state.messages[channel.id].values())
        if m.visible_to is None and m.thread_ts in (None, m.ts) and oldest <= float(m.ts) <= latest
    ]
    return _page("messages", found, args)


def _message(context: Context, message: Message, args: Args) -> Args:
    """The message, with its metadata if `include_all_metadata` is set."""
    asked = str(args.get("include_all_metadata", "")).lower() in ("1", "true")
    extra = {"metadata": message.metadata} if asked and message.metadata else {}
    return {**message_json(context.state, message), **extra}


def user_info(context: Context, args: Args) -> Args:
    person = context.state.people.get(str(args.get("user")))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person_json(person)}


def user_list(context: Context, args: Args) -> Args:
    return _page("members", [person_json(p) for p in context.state.people.values()], args)


def _usergroup_json(context: Context, group: Usergroup) -> Args:
    count = len(group.members)
    return {
        "id": group.id,
        "team_id": context.state.app.team,
        "handle": group.handle,
        "name": group.handle,
        "is_usergroup": True,
        "date_delete": 0,
        "user_count": count,
    }


def usergroup_list(context: Context, args: Args) -> Args:
    return {"usergroups": [_usergroup_json(context, g) for g in context.state.usergroups.values()]}


def usergroup_users(context: Context, args: Args) -> Args:
    group = context.state.usergroups.get(str(args.get("usergroup")))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.members)}
