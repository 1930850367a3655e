"""The Web API methods: each takes the arguments and returns the response body, or raises SlackError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workspace import check, modals, posting, streams
from workspace.context import Context
from workspace.faults import SlackError
from workspace.payloads import channel_json, message_json, person_json
from workspace.posting import channel_for
from workspace.state import Channel, Message, Usergroup

Args = dict[str, Any]
Method = Callable[[Context, Args], Args]
STATUSES = ("active", "processing", "suspended", "closed")


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
    found = [_message_with_metadata(context, m, args) for m in (parent, *context.state.replies(parent))]
    return _page("messages", found, args)


def history(context: Context, args: Args) -> Args:
    """conversations.history: the channel's messages without thread replies, newest first."""
    channel = channel_for(context, args.get("channel"))
    oldest, latest = float(args.get("oldest") or 0), float(args.get("latest") or "inf")
    found = [
        _message_with_metadata(context, m, args)
        for m in reversed(context.state.messages[channel.id].values())
        if m.visible_to is None and m.thread_ts in (None, m.ts) and oldest <= float(m.ts) <= latest
    ]
    return _page("messages", found, args)


def _message_with_metadata(context: Context, message: Message, args: Args) -> Args:
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


def auth_test(context: Context, args: Args) -> Args:
    app = context.state.app
    return {
        "url": f"{context.url}/",
        "team": app.team_domain,
        "user": app.name.lower(),
        "team_id": app.team,
        "user_id": app.bot_user,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


def connections_open(context: Context, args: Args) -> Args:
    ticket = context.sockets.open_ticket()
    return {
        "url": f"{context.url.replace('http', 'ws', 1)}/link?ticket={ticket}&app_id={context.state.app.id}"
    }


def post_message(context: Context, args: Args) -> Args:
    channel = posting.channel_for(context, args.get("channel"))
    message = posting.post(context, "chat.postMessage", args, channel)
    return {"channel": channel.id, "ts": message.ts, "message": message_json(context.state, message)}


def post_ephemeral(context: Context, args: Args) -> Args:
    channel = posting.channel_for(context, args.get("channel"))
    if args.get("user") not in channel.members:
        raise SlackError("user_not_in_channel")
    message = posting.post(context, "chat.postEphemeral", args, channel, visible_to=args["user"])
    return {"message_ts": message.ts}


def update_message(context: Context, args: Args) -> Args:
    before = _app_message(context, args, "cant_update_message")
    if streams.condition(context, before) == "open":
        raise SlackError("streaming_state_conflict")
    message = posting.update(context, "chat.update", args, before)
    body = message_json(context.state, message)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": body}


def delete_message(context: Context, args: Args) -> Args:
    message = _app_message(context, args, "cant_delete_message")
    posting.delete(context, message)
    return {"channel": message.channel, "ts": message.ts}


def _app_message(context: Context, args: Args, refusal: str) -> Message:
    message = _message(context, args.get("channel"), args.get("ts"))
    if message.user != context.state.app.bot_user:
        raise SlackError(refusal)
    return message


def _message(context: Context, channel_id: Any, ts: Any) -> Message:
    """A message that is not ephemeral: the Web API cannot address ephemeral ones."""
    channel = posting.channel_for(context, channel_id)
    message = context.state.message(channel.id, str(ts))
    if message is None or message.visible_to is not None:
        raise SlackError("message_not_found")
    return message


def permalink(context: Context, args: Args) -> Args:
    message = _message(context, args.get("channel"), args.get("message_ts"))
    link = f"{context.url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return {"channel": message.channel, "permalink": link}


def add_reaction(context: Context, args: Args) -> Args:
    message = _message(context, args.get("channel"), args.get("timestamp"))
    users = message.reactions.setdefault(str(args.get("name")), [])
    if context.state.app.bot_user in users:
        raise SlackError("already_reacted")
    users.append(context.state.app.bot_user)
    context.state.changed()
    return {}


def remove_reaction(context: Context, args: Args) -> Args:
    message = _message(context, args.get("channel"), args.get("timestamp"))
    users = message.reactions.get(str(args.get("name")), [])
    if context.state.app.bot_user not in users:
        raise SlackError("no_reaction")
    users.remove(context.state.app.bot_user)
    context.state.changed()
    return {}


def set_status(context: Context, args: Args) -> Args:
    if args.get("status") not in STATUSES:
        problem = f"must be one of {', '.join(STATUSES)} [json-pointer:/status]"
        context.raise_for_problems("agents.sessions.setStatus", args, [problem], "invalid_arguments")
    key = _session(context, args)
    context.state.statuses[key] = args["status"]
    if args.get("title"):
        context.state.titles.setdefault(key, str(args["title"]))
    context.state.changed()
    return {}


def rename_session(context: Context, args: Args) -> Args:
    title = str(args.get("title") or "")
    if not 1 <= len(title) <= 200:
        context.raise_for_problems(
            "agents.sessions.rename", args, ["title must have 1 to 200 characters"], "invalid_arguments"
        )
    context.state.titles[_session(context, args)] = title
    context.state.changed()
    return {}


def set_suggested_prompts(context: Context, args: Args) -> Args:
    prompts = args.get("prompts")
    valid = isinstance(prompts, list) and all(
        isinstance(p, dict) and p.keys() == {"title", "message"} for p in prompts
    )
    if not isinstance(prompts, list) or not valid or not 1 <= len(prompts) <= 4:
        problem = "prompts must be 1 to 4 objects with title and message [json-pointer:/prompts]"
        context.raise_for_problems(
            "assistant.threads.setSuggestedPrompts", args, [problem], "invalid_arguments"
        )
    context.state.prompts[_session(context, args)] = args["prompts"]
    context.state.changed()
    return {}


def _session(context: Context, args: Args) -> tuple[str, str | None]:
    channel = posting.channel_for(context, args.get("channel_id"))
    thread_ts = args.get("thread_ts")
    if thread_ts is not None and context.state.message(channel.id, str(thread_ts)) is None:
        raise SlackError("thread_not_found")
    if thread_ts is None and channel.type != "im":
        raise SlackError("invalid_arguments", ["thread_ts is needed in a channel [json-pointer:/thread_ts]"])
    return channel.id, thread_ts


def validate_blocks(context: Context, args: Args) -> Args:
    """blocks.validate. Its problems are not recorded as refused: the app sends nothing."""
    message = args.get("message") or {}
    problems = check.message_block_problems(args["blocks"]) if "blocks" in args else []
    problems += check.message_block_problems(message["blocks"]) if "blocks" in message else []
    problems += check.view_problems(args["view"]) if "view" in args else []
    if problems:
        raise SlackError("invalid_blocks", problems)
    return {}


METHODS: Mapping[str, Method] = {
    "auth.test": auth_test,
    "apps.connections.open": connections_open,
    "chat.postMessage": post_message,
    "chat.postEphemeral": post_ephemeral,
    "chat.update": update_message,
    "chat.delete": delete_message,
    "chat.getPermalink": permalink,
    "chat.startStream": streams.start,
    "chat.appendStream": streams.append,
    "chat.stopStream": streams.stop,
    "views.open": modals.open_modal,
    "views.push": modals.push_modal,
    "views.update": modals.update_modal,
    "views.publish": modals.publish_home,
    "agents.sessions.setStatus": set_status,
    "agents.sessions.rename": rename_session,
    "assistant.threads.setSuggestedPrompts": set_suggested_prompts,
    "reactions.add": add_reaction,
    "reactions.remove": remove_reaction,
    "blocks.validate": validate_blocks,
    "conversations.info": conversation_info,
    "conversations.open": conversation_open,
    "conversations.replies": replies,
    "conversations.history": history,
    "conversations.members": members,
    "conversations.list": conversation_list,
    "users.info": user_info,
    "users.list": user_list,
    "usergroups.list": usergroup_list,
    "usergroups.users.list": usergroup_users,
}
