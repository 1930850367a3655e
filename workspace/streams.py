"""Streamed messages: chat.startStream, chat.appendStream and chat.stopStream, as methods of the Web API.

The arguments and errors are those of https://docs.slack.dev/reference/methods/chat.startStream. That Slack closes a
stream by itself is only told in https://github.com/slackapi/python-slack-sdk/issues/1859. Of the chunks, those of text
and of blocks are known here; those of tasks and plans are not.
"""

from __future__ import annotations

from typing import Any, Literal

from workspace import check, payloads
from workspace.context import Context
from workspace.faults import SlackError
from workspace.payloads import message_json
from workspace.posting import channel_for, thread_of
from workspace.state import Blocks, Channel, Message
from workspace.values import initial_values, with_ids

Args = dict[str, Any]
Condition = Literal["", "open", "stopped", "expired"]


def start(context: Context, args: Args) -> Args:
    """chat.startStream. Without text and chunks, a stream of text begins."""
    channel = channel_for(context, args.get("channel"))
    _check_recipient(context, channel, args)
    if not args.get("thread_ts"):
        problem = "a streamed message is a reply [json-pointer:/thread_ts]"
        context.raise_for_problems("chat.startStream", args, [problem], "invalid_arguments")
    thread_ts = thread_of(context, channel, args["thread_ts"])
    added = _added(context, "chat.startStream", args)
    now = context.state.clock()
    message = Message(channel.id, context.state.next_ts(), context.state.app.bot_user, "", thread_ts, [])
    message.stream = {"mode": _mode(args), "started": now, "last": now, "stopped": False}
    _append(message, added)
    context.state.add(message)
    payloads.message_posted(context, message)
    return {"channel": channel.id, "ts": message.ts}


def append(context: Context, args: Args) -> Args:
    """chat.appendStream."""
    message = _streaming(context, args)
    added = _added(context, "chat.appendStream", args)
    if not added:
        raise SlackError("no_text")
    _append(message, added)
    if message.stream:
        message.stream["last"] = context.state.clock()
    context.state.changed()
    return {"channel": message.channel, "ts": message.ts}


def stop(context: Context, args: Args) -> Args:
    """chat.stopStream: `blocks` stand below what was streamed, which may be none in the end."""
    message = _streaming(context, args)
    before = message_json(context.state, message)
    blocks = args.get("blocks") or []
    context.raise_for_problems(
        "chat.stopStream", args, check.message_block_problems(blocks), "invalid_blocks"
    )
    _append(message, _added(context, "chat.stopStream", args) + with_ids(blocks, context.state.ids))
    message.values = initial_values(message.blocks or [])
    message.metadata = args.get("metadata") or message.metadata
    message.stream = None
    context.state.changed()
    payloads.message_changed(context, message, before)
    return {
        "channel": message.channel,
        "ts": message.ts,
        "message": message_json(context.state, message),
    }


def condition(context: Context, message: Message) -> Condition:
    """How a stream stands that the app has not stopped; "" for any other message."""
    stream, now, timing = message.stream, context.state.clock(), context.options.timing
    if stream is None:
        return ""
    if stream["stopped"]:
        return "stopped"
    over = now - stream["started"] >= timing.stream or now - stream["last"] >= timing.stream_idle
    return "expired" if over else "open"


def open_in(context: Context, channel: str, thread_ts: str | None) -> list[Message]:
    """The messages of a thread that are being streamed."""
    found = context.state.messages[channel].values()
    return [m for m in found if m.thread_ts == thread_ts and condition(context, m) == "open"]


def _check_recipient(context: Context, channel: Channel, args: Args) -> None:
    """In a channel, one person sees the stream."""
    if channel.type == "im":
        return
    for name in ("recipient_team_id", "recipient_user_id"):
        if not args.get(name):
            raise SlackError(f"missing_{name}")
    if args["recipient_user_id"] not in context.state.people:
        raise SlackError("user_not_found")


def _streaming(context: Context, args: Args) -> Message:
    """The app's own message that is being streamed, in the mode of these arguments. Raises SlackError."""
    channel = channel_for(context, args.get("channel"))
    message = context.state.message(channel.id, str(args.get("ts")))
    if message is None or message.visible_to is not None:
        raise SlackError("message_not_found")
    if message.user != context.state.app.bot_user:
        raise SlackError("message_not_owned_by_app")
    now = condition(context, message)
    if now == "stopped":
        raise SlackError("stopped_by_user")
    if message.stream is None or now == "expired":
        raise SlackError("message_not_in_streaming_state")
    given = args.get("chunks") is not None or args.get("markdown_text") is not None
    if given and _mode(args) != message.stream["mode"]:
        raise SlackError("streaming_mode_mismatch")
    return message


def _mode(args: Args) -> str:
    return "text" if args.get("chunks") is None else "chunks"


def _added(context: Context, method: str, args: Args) -> Blocks:
    """The blocks that a call adds. Raises SlackError."""
    text, chunks = args.get("markdown_text"), args.get("chunks")
    if text is not None and chunks is not None:
        raise SlackError("cannot_provide_both_markdown_text_and_chunks")
    given = chunks if chunks is not None else [{"type": "markdown_text", "text": text}] if text else []
    added: Blocks = []
    for place, chunk in enumerate(given if isinstance(given, list) else [given]):
        match chunk:
            case {"type": "markdown_text", "text": str(words)}:
                if len(words) > check.MAX_MARKDOWN:
                    problem = f"more than {check.MAX_MARKDOWN} characters [json-pointer:/markdown_text]"
                    context.raise_for_problems(method, args, [problem], "msg_too_long")
                added.append({"type": "markdown", "text": words})
            case {"type": "blocks", "blocks": list(blocks)}:
                problems = check.message_block_problems(blocks)
                context.raise_for_problems(method, args, problems, "invalid_blocks")
                added += blocks
            case _:
                problem = f"no chunk that is known here [json-pointer:/chunks/{place}]"
                context.raise_for_problems(method, args, [problem], "invalid_chunks")
    return with_ids(added, context.state.ids)


def _append(message: Message, added: Blocks) -> None:
    """Text goes on where the text before it ended."""
    blocks = list(message.blocks or [])
    for block in added:
        if blocks and block["type"] == blocks[-1]["type"] == "markdown":
            blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"] + block["text"]}
        else:
            blocks.append(block)
    message.blocks = blocks
    message.text = "\n".join(filter(None, map(_words, blocks)))


def _words(value: Any) -> str:
    """All the text in a block."""
    if isinstance(value, list):
        return "".join(map(_words, value))
    if not isinstance(value, dict):
        return ""
    own = value.get("text")
    return own if isinstance(own, str) else "".join(map(_words, value.values()))
