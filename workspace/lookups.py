"""The Web API methods that only read: conversations, people, user groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workspace.cast import Usergroup
from workspace.errors import SlackError
from workspace.parts import Parts
from workspace.payloads import channel_json, message_json, person_json
from workspace.posting import channel_for
from workspace.state import Channel, Message

Args = dict[str, Any]


def _page(name: str, entries: Sequence[Any], args: Args, most: int = 100) -> Args:
    """One page; the cursor is the place where the next one starts."""
    start, limit = int(args.get("cursor") or 0), min(int(args.get("limit") or most), 1000)
    after = start + limit
    more = after < len(entries)
    cursor = str(after) if more else ""
    return {name: list(entries[start:after]), "has_more": more, "response_metadata": {"next_cursor": cursor}}


def _channel(parts: Parts, args: Args) -> Channel:
    """A channel the app can see: public, or one it is in."""
    channel = parts.state.channels.get(str(args.get("channel")))
    bot = parts.state.app.bot_user
    if channel is None or (channel.type != "channel" and bot not in channel.members):
        raise SlackError("channel_not_found")
    return channel


def conversation_info(parts: Parts, args: Args) -> Args:
    return {"channel": channel_json(_channel(parts, args), parts.state)}


def conversation_list(parts: Parts, args: Args) -> Args:
    kinds = {"public_channel": "channel", "private_channel": "group", "im": "im"}
    wanted = {kinds.get(k.strip()) for k in str(args.get("types") or "public_channel").split(",")}
    bot = parts.state.app.bot_user
    seen = [c for c in parts.state.channels.values() if c.type == "channel" or bot in c.members]
    shapes = [channel_json(c, parts.state) for c in seen if c.type in wanted]
    return _page("channels", shapes, args)


def conversation_open(parts: Parts, args: Args) -> Args:
    im = parts.state.im_of(str(args.get("users") or ""))
    if im is None:
        raise SlackError("user_not_found")
    return {"channel": {"id": im.id}}


def members(parts: Parts, args: Args) -> Args:
    return _page("members", sorted(_channel(parts, args).members), args)


def replies(parts: Parts, args: Args) -> Args:
    """The parent and its replies, oldest first; asked for a reply's ts, that one alone."""
    channel = channel_for(parts, args.get("channel"))
    parent = parts.state.message(channel.id, str(args.get("ts")))
    if parent is None or parent.visible_to is not None:
        raise SlackError("thread_not_found")
    found = [_message(parts, m, args) for m in (parent, *parts.state.replies(parent))]
    return _page("messages", found, args)


def history(parts: Parts, args: Args) -> Args:
    """What stands in the channel itself, newest first."""
    channel = channel_for(parts, args.get("channel"))
    oldest, latest = float(args.get("oldest") or 0), float(args.get("latest") or "inf")
    found = [
        _message(parts, m, args)
        for m in reversed(parts.state.messages[channel.id].values())
        if m.visible_to is None and m.thread_ts in (None, m.ts) and oldest <= float(m.ts) <= latest
    ]
    return _page("messages", found, args)


def _message(parts: Parts, message: Message, args: Args) -> Args:
    """The metadata comes only when asked for."""
    asked = str(args.get("include_all_metadata", "")).lower() in ("1", "true")
    extra = {"metadata": message.metadata} if asked and message.metadata else {}
    return {**message_json(parts.state, message), **extra}


def user_info(parts: Parts, args: Args) -> Args:
    person = parts.state.people.get(str(args.get("user")))
    if person is None:
        raise SlackError("user_not_found")
    return {"user": person_json(person)}


def user_list(parts: Parts, args: Args) -> Args:
    return _page("members", [person_json(p) for p in parts.state.people.values()], args)


def _usergroup_json(parts: Parts, group: Usergroup) -> Args:
    count = len(group.members)
    return {
        "id": group.id,
        "team_id": parts.state.app.team,
        "handle": group.handle,
        "name": group.handle,
        "is_usergroup": True,
        "date_delete": 0,
        "user_count": count,
    }


def usergroup_list(parts: Parts, args: Args) -> Args:
    return {"usergroups": [_usergroup_json(parts, g) for g in parts.state.usergroups.values()]}


def usergroup_users(parts: Parts, args: Args) -> Args:
    group = parts.state.usergroups.get(str(args.get("usergroup")))
    if group is None:
        raise SlackError("no_such_subteam")
    return {"users": list(group.members)}
