"""The Web API methods: arguments in, the body of Slack's answer out; SlackError for what it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workspace import check, lookups, modals, posting
from workspace.errors import SlackError
from workspace.parts import Parts
from workspace.payloads import message_json
from workspace.state import Message

Args = dict[str, Any]
Method = Callable[[Parts, Args], Args]
STATUSES = ("active", "processing", "suspended", "closed")


def auth_test(parts: Parts, args: Args) -> Args:
    app = parts.state.app
    return {
        "url": f"{parts.url}/",
        "team": app.team_domain,
        "user": app.name.lower(),
        "team_id": app.team,
        "user_id": app.bot_user,
        "bot_id": app.bot_id,
        "is_enterprise_install": False,
    }


def connections_open(parts: Parts, args: Args) -> Args:
    ticket = parts.sockets.open_ticket()
    return {"url": f"{parts.url.replace('http', 'ws', 1)}/link?ticket={ticket}&app_id={parts.state.app.id}"}


def post_message(parts: Parts, args: Args) -> Args:
    channel = posting.channel_for(parts, args.get("channel"))
    message = posting.post(parts, "chat.postMessage", args, channel)
    return {"channel": channel.id, "ts": message.ts, "message": message_json(parts.state, message)}


def post_ephemeral(parts: Parts, args: Args) -> Args:
    channel = posting.channel_for(parts, args.get("channel"))
    if args.get("user") not in channel.members:
        raise SlackError("user_not_in_channel")
    message = posting.post(parts, "chat.postEphemeral", args, channel, visible_to=args["user"])
    return {"message_ts": message.ts}


def update_message(parts: Parts, args: Args) -> Args:
    message = posting.update(parts, "chat.update", args, _own(parts, args, "cant_update_message"))
    shape = message_json(parts.state, message)
    return {"channel": message.channel, "ts": message.ts, "text": message.text, "message": shape}


def delete_message(parts: Parts, args: Args) -> Args:
    message = _own(parts, args, "cant_delete_message")
    posting.delete(parts, message)
    return {"channel": message.channel, "ts": message.ts}


def _own(parts: Parts, args: Args, refusal: str) -> Message:
    message = _any(parts, args.get("channel"), args.get("ts"))
    if message.user != parts.state.app.bot_user:
        raise SlackError(refusal)
    return message


def _any(parts: Parts, channel_id: Any, ts: Any) -> Message:
    """A message that others see too: an ephemeral one cannot be named through the Web API."""
    channel = posting.channel_for(parts, channel_id)
    message = parts.state.message(channel.id, str(ts))
    if message is None or message.visible_to is not None:
        raise SlackError("message_not_found")
    return message


def permalink(parts: Parts, args: Args) -> Args:
    message = _any(parts, args.get("channel"), args.get("message_ts"))
    link = f"{parts.url}/archives/{message.channel}/p{message.ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={message.channel}"
    return {"channel": message.channel, "permalink": link}


def react(parts: Parts, args: Args) -> Args:
    message = _any(parts, args.get("channel"), args.get("timestamp"))
    users = message.reactions.setdefault(str(args.get("name")), [])
    if parts.state.app.bot_user in users:
        raise SlackError("already_reacted")
    users.append(parts.state.app.bot_user)
    parts.state.changed()
    return {}


def unreact(parts: Parts, args: Args) -> Args:
    message = _any(parts, args.get("channel"), args.get("timestamp"))
    users = message.reactions.get(str(args.get("name")), [])
    if parts.state.app.bot_user not in users:
        raise SlackError("no_reaction")
    users.remove(parts.state.app.bot_user)
    parts.state.changed()
    return {}


def set_status(parts: Parts, args: Args) -> Args:
    if args.get("status") not in STATUSES:
        problem = f"must be one of {', '.join(STATUSES)} [json-pointer:/status]"
        parts.insist("agents.sessions.setStatus", args, [problem], "invalid_arguments")
    key = _session(parts, args)
    parts.state.statuses[key] = args["status"]
    if args.get("title"):
        parts.state.titles.setdefault(key, str(args["title"]))
    parts.state.changed()
    return {}


def rename_session(parts: Parts, args: Args) -> Args:
    title = str(args.get("title") or "")
    if not 1 <= len(title) <= 200:
        parts.insist(
            "agents.sessions.rename", args, ["title must have 1 to 200 characters"], "invalid_arguments"
        )
    parts.state.titles[_session(parts, args)] = title
    parts.state.changed()
    return {}


def suggest_prompts(parts: Parts, args: Args) -> Args:
    prompts = args.get("prompts")
    whole = isinstance(prompts, list) and all(
        isinstance(p, dict) and p.keys() == {"title", "message"} for p in prompts
    )
    if not isinstance(prompts, list) or not whole or not 1 <= len(prompts) <= 4:
        problem = "prompts must be 1 to 4 objects with title and message [json-pointer:/prompts]"
        parts.insist("assistant.threads.setSuggestedPrompts", args, [problem], "invalid_arguments")
    parts.state.prompts[_session(parts, args)] = args["prompts"]
    parts.state.changed()
    return {}


def _session(parts: Parts, args: Args) -> tuple[str, str | None]:
    channel = posting.channel_for(parts, args.get("channel_id"))
    thread_ts = args.get("thread_ts")
    if thread_ts is not None and parts.state.message(channel.id, str(thread_ts)) is None:
        raise SlackError("thread_not_found")
    if thread_ts is None and channel.type != "im":
        raise SlackError("invalid_arguments", ["thread_ts is needed in a channel [json-pointer:/thread_ts]"])
    return channel.id, thread_ts


def validate_blocks(parts: Parts, args: Args) -> Args:
    """blocks.validate: nothing is sent, so nothing counts as refused."""
    message = args.get("message") or {}
    problems = check.blocks_of_message(args["blocks"]) if "blocks" in args else []
    problems += check.blocks_of_message(message["blocks"]) if "blocks" in message else []
    problems += check.view(args["view"]) if "view" in args else []
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
    "views.open": modals.open_modal,
    "views.push": modals.push_modal,
    "views.update": modals.update_modal,
    "views.publish": modals.publish_home,
    "agents.sessions.setStatus": set_status,
    "agents.sessions.rename": rename_session,
    "assistant.threads.setSuggestedPrompts": suggest_prompts,
    "reactions.add": react,
    "reactions.remove": unreact,
    "blocks.validate": validate_blocks,
    "conversations.info": lookups.conversation_info,
    "conversations.open": lookups.conversation_open,
    "conversations.replies": lookups.replies,
    "conversations.history": lookups.history,
    "conversations.members": lookups.members,
    "conversations.list": lookups.conversation_list,
    "users.info": lookups.user_info,
    "users.list": lookups.user_list,
    "usergroups.list": lookups.usergroup_list,
    "usergroups.users.list": lookups.usergroup_users,
}
