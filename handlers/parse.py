"""Slack's payloads as values: the only module that looks into a body."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from gate.action import Session
from gate.talk import Incoming

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Click:
    """A press on a button or an overflow option."""

    team: str
    user: str
    action_id: str
    value: str  # the button's, or the chosen option's
    trigger: str
    channel: str = ""
    thread: str = ""
    message_ts: str = ""  # "" when it stood in a modal or in App Home
    view: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted modal."""

    team: str
    user: str
    view: str
    callback: str
    metadata: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Slash:
    """A slash command. Slack refuses them inside threads, so there is a channel only."""

    team: str
    user: str
    channel: str
    command: str
    text: str


@dataclass(frozen=True, slots=True)
class Opened:
    """Somebody opened App Home."""

    team: str
    user: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody pressed Slack's own Stop in a thread."""

    session: Session
    user: str


class Malformed(Exception):
    """A payload of a shape that Slack does not send."""


def incoming(body: Body, bot_user: str, listed_bots: frozenset[str] = frozenset()) -> Incoming | None:
    """A message for us to keep, or None: edits, other apps' and our own messages are not instructions."""
    event = body.get("event")
    if not isinstance(event, Mapping) or event.get("type") not in ("app_mention", "message"):
        return None
    user, text, channel, ts = (event.get(k) for k in ("user", "text", "channel", "ts"))
    if not (
        isinstance(user, str) and isinstance(text, str) and isinstance(channel, str) and isinstance(ts, str)
    ):
        return None
    by_app = any(event.get(key) for key in ("bot_id", "bot_profile", "app_id"))
    if user == bot_user or (by_app and user not in listed_bots):
        return None
    if event.get("subtype") not in (None, "thread_broadcast", "file_share") and user not in listed_bots:
        return None
    team = _team(body)
    mention = f"<@{bot_user}>"
    session = Session(team, channel, str(event.get("thread_ts") or ts))
    mentioned = mention in text or event.get("channel_type") == "im"
    words = as_typed(text.replace(mention, " ")).strip()
    return Incoming(f"{team}:{channel}:{ts}", session, user, words, ts, mentioned)


LINK = re.compile(r"<((?:https?|mailto):[^|>]*)(?:\|([^>]*))?>")


def as_typed(text: str) -> str:
    """A message as its writer typed it: Slack makes links of `notes.md` and escapes three characters."""
    return html_unescape(LINK.sub(lambda link: link[2] or link[1].removeprefix("mailto:"), text))


def html_unescape(text: str) -> str:
    """Slack escapes exactly three characters."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def click(body: Body) -> Click:
    """A block_actions payload. Raises Malformed."""
    try:
        action = body["actions"][0]
        container = body.get("container") or {}
        message = body.get("message") or {}
        chosen = action.get("selected_option") or {}
        ts = str(message.get("ts") or container.get("message_ts") or "")
        return Click(
            team=_team(body),
            user=str(body["user"]["id"]),
            action_id=str(action["action_id"]),
            value=str(action.get("value") or chosen.get("value") or ""),
            trigger=str(body.get("trigger_id") or ""),
            channel=str((body.get("channel") or {}).get("id") or container.get("channel_id") or ""),
            thread=str(message.get("thread_ts") or container.get("thread_ts") or ts),
            message_ts=ts,
            view=str((body.get("view") or {}).get("id") or ""),
        )
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise Malformed("block_actions") from error


def submission(body: Body) -> Submission:
    """A view_submission payload. Raises Malformed."""
    try:
        view = body["view"]
        return Submission(
            team=_team(body),
            user=str(body["user"]["id"]),
            view=str(view["id"]),
            callback=str(view["callback_id"]),
            metadata=str(view.get("private_metadata") or ""),
            values=view.get("state", {}).get("values", {}),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise Malformed("view_submission") from error


def slash(body: Body) -> Slash:
    """A slash command's form. Raises Malformed."""
    try:
        return Slash(
            team=str(body["team_id"]),
            user=str(body["user_id"]),
            channel=str(body["channel_id"]),
            command=str(body["command"]),
            text=html_unescape(str(body.get("text") or "")),
        )
    except (KeyError, TypeError) as error:
        raise Malformed("command") from error


def opened(body: Body) -> Opened:
    """An app_home_opened event. Raises Malformed."""
    try:
        return Opened(_team(body), str(body["event"]["user"]))
    except (KeyError, TypeError) as error:
        raise Malformed("app_home_opened") from error


def stopped(body: Body) -> Stopped:
    """An agent_session_stopped event. Raises Malformed."""
    try:
        event = body["event"]
        session = Session(_team(body), str(event["channel"]), str(event.get("thread_ts") or ""))
        return Stopped(session, str(event["user"]))
    except (KeyError, TypeError) as error:
        raise Malformed("agent_session_stopped") from error


def typed(given: Mapping[str, Any], block: str) -> str:
    """What was typed into a plain text input; "" when nothing was."""
    for element in (given.get(block) or {}).values():
        return str(element.get("value") or "")
    return ""


def is_message(body: Body) -> bool:
    """Whether this is an event that the inbox is for."""
    event = body.get("event") if isinstance(body, Mapping) else None
    return isinstance(event, Mapping) and event.get("type") in ("app_mention", "message")


def count(text: str, default: int, most: int) -> int | None:
    """The number in `/undo 5`; None when it is something else."""
    stripped = text.strip()
    if not stripped:
        return default
    if not re.fullmatch(r"[0-9]{1,3}", stripped):
        return None
    return max(1, min(int(stripped), most))


def _team(body: Body) -> str:
    team = body.get("team_id") or (body.get("team") or {}).get("id")
    if not team:
        team = (body.get("user") or {}).get("team_id") or (body.get("event") or {}).get("team")
    if not isinstance(team, str) or not team:
        raise Malformed("no team")
    return team


def form_body(raw: str) -> dict[str, str]:
    """A form as Bolt should have parsed it (slack.md 1.3: the word `payload` in a command empties its body)."""
    return dict(parse_qsl(raw, keep_blank_values=True))
