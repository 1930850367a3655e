"""Posting, updating and deleting the app's messages; for the Web API, response_url and responses to commands."""

from __future__ import annotations

from typing import Any

from workspace import check, payloads
from workspace.context import Context
from workspace.faults import SlackError
from workspace.payloads import message_json
from workspace.state import Channel, Message, Values
from workspace.values import initial_values, with_ids

Args = dict[str, Any]


def channel_for(context: Context, channel_id: object) -> Channel:
    """The channel, by its id or a user id. Raises SlackError channel_not_found or not_in_channel."""
    state = context.state
    channel = state.channels.get(str(channel_id)) or state.im_of(str(channel_id))
    if channel is None or (channel.private and state.app.bot_user not in channel.members):
        raise SlackError("channel_not_found")
    if state.app.bot_user not in channel.members:
        raise SlackError("not_in_channel")
    return channel


def checked_content(context: Context, method: str, args: Args) -> tuple[str, list[Any] | None]:
    """The validated text and blocks of a call. Raises SlackError no_text, invalid_blocks, invalid_arguments."""
    text, blocks = args.get("text") or "", args.get("blocks")
    if args.get("markdown_text"):
        if text or blocks:
            raise SlackError("markdown_text_conflict")
        text = args["markdown_text"]
    if not text and not blocks:
        raise SlackError("no_text")
    if len(text) > check.MAX_TEXT:
        context.raise_for_problems(method, args, ["text is longer than 40000 characters"], "msg_too_long")
    context.raise_for_problems(method, args, check.message_text_problems(text), "invalid_arguments")
    if blocks:
        context.raise_for_problems(method, args, check.message_block_problems(blocks), "invalid_blocks")
    return text, with_ids(blocks, context.state.ids) if blocks else None


def post(
    context: Context, method: str, args: Args, channel: Channel, visible_to: str | None = None
) -> Message:
    """Posts a message and, unless it is ephemeral, sends the app the event about it. Raises SlackError."""
    text, blocks = checked_content(context, method, args)
    thread_ts = thread_of(context, channel, args.get("thread_ts"))
    ts, user = context.state.next_ts(), context.state.app.bot_user
    message = Message(
        channel.id, ts, user, text, thread_ts, blocks, visible_to, metadata=args.get("metadata")
    )
    message.values = initial_values(blocks or [])
    context.state.add(message)
    if visible_to is None:
        payloads.message_posted(context, message)
    return message


def thread_of(context: Context, channel: Channel, thread_ts: Any) -> str | None:
    """The thread that is replied in, None for none. Raises SlackError thread_not_found, cannot_reply_to_message."""
    if thread_ts is None:
        return None
    parent = context.state.message(channel.id, str(thread_ts))
    if parent is None:
        raise SlackError("thread_not_found")
    if parent.thread_ts not in (None, parent.ts):
        raise SlackError("cannot_reply_to_message")
    return str(thread_ts)


def update(context: Context, method: str, args: Args, message: Message) -> Message:
    """Replaces text and blocks: text without blocks removes the blocks, blocks without text keep the text.
    Raises SlackError.
    """
    if len(args.get("text") or "") > check.MAX_UPDATE_TEXT:
        context.raise_for_problems(method, args, ["text is longer than 4000 characters"], "msg_too_long")
    text, blocks = checked_content(context, method, args)
    before = message_json(context.state, message)
    previous_values: Values = message.values
    message.text = text or message.text
    message.blocks = blocks
    message.values = initial_values(blocks or [], previous_values)
    message.typed = {user: initial_values(blocks or [], typed) for user, typed in message.typed.items()}
    message.edited = not blocks
    message.stream = None
    if args.get("metadata") is not None:
        message.metadata = args["metadata"]
    context.state.changed()
    if message.visible_to is None:
        payloads.message_changed(context, message, before)
    return message


def delete(context: Context, message: Message) -> None:
    context.state.remove(message)
    if message.visible_to is None:
        payloads.message_deleted(context, message)


def respond(context: Context, key: str, args: Args) -> None:
    """A post to a response_url. Raises SlackError."""
    url = context.triggers.use_response_url(key)
    original = context.state.message(url.channel, url.ts) if url.ts else None
    if args.get("delete_original") and original:
        return delete(context, original)
    if args.get("replace_original") and original:
        update(context, "response_url", args, original)
        return None
    respond_to_user(context, "response_url", args, url.user, context.state.channels[url.channel])
    return None


def respond_to_user(context: Context, method: str, args: Args, user: str, channel: Channel) -> Message:
    """Posts a response to a person's command or click: ephemeral unless response_type is in_channel."""
    visible_to = None if args.get("response_type") == "in_channel" else user
    return post(context, method, args, channel, visible_to=visible_to)
