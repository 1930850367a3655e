"""How a message of the app comes to be, changes and goes; shared by the Web API, response_url and acks."""

from __future__ import annotations

from typing import Any

from workspace import check, events
from workspace.errors import SlackError
from workspace.parts import Parts
from workspace.payloads import message_json
from workspace.state import Channel, Message, Values
from workspace.values import initial, named

Args = dict[str, Any]


def channel_for(parts: Parts, channel_id: object) -> Channel:
    """The channel the app may write in. Raises channel_not_found or not_in_channel."""
    state = parts.state
    channel = state.channels.get(str(channel_id)) or state.im_of(str(channel_id))
    if channel is None or (channel.private and state.app.bot_user not in channel.members):
        raise SlackError("channel_not_found")
    if state.app.bot_user not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def content(parts: Parts, method: str, args: Args) -> tuple[str, list[Any] | None]:
    """The checked text and blocks of a call. Raises no_text, invalid_blocks, invalid_arguments."""
    text, blocks = args.get("text") or "", args.get("blocks")
    if args.get("markdown_text"):
        if text or blocks:
            raise SlackError("markdown_text_conflict")
        text = args["markdown_text"]
    if not text and not blocks:
        raise SlackError("no_text")
    if len(text) > check.TEXT_MOST:
        parts.insist(method, args, ["text is longer than 40000 characters"], "msg_too_long")
    parts.insist(method, args, check.text_of_message(text), "invalid_arguments")
    if blocks:
        parts.insist(method, args, check.blocks_of_message(blocks), "invalid_blocks")
    return text, named(blocks, parts.state.ids) if blocks else None


def post(parts: Parts, method: str, args: Args, channel: Channel, visible_to: str | None = None) -> Message:
    """Posts, and tells the app about its own message as Slack does (not when it is ephemeral)."""
    text, blocks = content(parts, method, args)
    thread_ts = args.get("thread_ts")
    if thread_ts is not None:
        parent = parts.state.message(channel.id, str(thread_ts))
        if parent is None:
            raise SlackError("thread_not_found")
        if parent.thread_ts not in (None, parent.ts):
            raise SlackError("cannot_reply_to_message")
    ts, user = parts.state.next_ts(), parts.state.app.bot_user
    message = Message(
        channel.id, ts, user, text, thread_ts, blocks, visible_to, metadata=args.get("metadata")
    )
    message.values = initial(blocks or [])
    parts.state.add(message)
    if visible_to is None:
        events.posted(parts, message)
    return message


def update(parts: Parts, method: str, args: Args, message: Message) -> Message:
    """Replaces text and blocks: text without blocks removes the blocks, blocks without text keep the text."""
    if len(args.get("text") or "") > check.UPDATE_TEXT_MOST:
        parts.insist(method, args, ["text is longer than 4000 characters"], "msg_too_long")
    text, blocks = content(parts, method, args)
    before = message_json(parts.state, message)
    kept: Values = message.values
    message.text = text or message.text
    message.blocks = blocks
    message.values = initial(blocks or [], kept)
    message.typed = {user: initial(blocks or [], typed) for user, typed in message.typed.items()}
    message.edited = not blocks
    if args.get("metadata") is not None:
        message.metadata = args["metadata"]
    parts.state.changed()
    if message.visible_to is None:
        events.changed(parts, message, before)
    return message


def delete(parts: Parts, message: Message) -> None:
    parts.state.remove(message)
    if message.visible_to is None:
        events.deleted(parts, message)


def respond(parts: Parts, key: str, args: Args) -> None:
    """A post to a response_url. Raises SlackError."""
    url = parts.passes.respond(key)
    original = parts.state.message(url.channel, url.ts) if url.ts else None
    if args.get("delete_original") and original:
        return delete(parts, original)
    if args.get("replace_original") and original:
        update(parts, "response_url", args, original)
        return None
    answer(parts, "response_url", args, url.user, parts.state.channels[url.channel])
    return None


def answer(parts: Parts, method: str, args: Args, user: str, channel: Channel) -> Message:
    """A reply to a person where they are: to them alone unless it says in_channel."""
    alone = None if args.get("response_type") == "in_channel" else user
    return post(parts, method, args, channel, visible_to=alone)
