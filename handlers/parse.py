"""Slack's payloads as values: the only module that looks into a body. Nothing but Malformed is ever raised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from gate.action import Session
from gate.talk import Incoming

Body = Mapping[str, Any]

ID = re.compile(r"[A-Za-z0-9_]{1,64}")
TS = re.compile(r"[0-9]{1,16}\.[0-9]{1,12}")
LINK = re.compile(r"<((?:https?|mailto|tel):[^|>]*)(?:\|([^>]*))?>")
ADDED = re.compile(r"(?:https?://|mailto:|tel:)(.*?)/?")  # what Slack's composer makes of `notes.md`
PLAIN_SUBTYPES = (None, "thread_broadcast", "file_share")


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
    message_ts: str = ""  # "" when it stood in App Home
    listed: bool = False  # it stood in a list of one's own (ephemeral, or App Home), not on the card
    values: Mapping[str, Any] = field(default_factory=dict)  # what this person has filled in around it

    @property
    def at_home(self) -> bool:
        return self.listed and not self.message_ts


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


def shaped(body: Any) -> bool:
    """Whether a body is as Bolt believes every body to be; it fails over another."""
    if not isinstance(body, Mapping) or not isinstance(body.get("type", ""), str):
        return False
    if not all(isinstance(body[key], Mapping) for key in ("event", "view") if key in body):
        return False
    needs = "actions" in body or body.get("type") == "block_actions"
    pressed = body.get("actions")
    return not needs or (isinstance(pressed, list) and bool(pressed) and isinstance(pressed[0], Mapping))


def is_message(body: Body) -> bool:
    """Whether this is an event that the inbox is for."""
    return _at(body, "event", "type") in ("app_mention", "message")


def incoming(body: Body, bot_user: str, listed_bots: frozenset[str] = frozenset()) -> Incoming | None:
    """A message for us to keep, or None: edits, other apps' and our own messages are not instructions."""
    event = _at(body, "event")
    if not is_message(body) or not _instructs(event, bot_user, listed_bots):
        return None
    user, channel, ts = (_id(event, "user"), _id(event, "channel"), _ts(event, "ts"))
    session = Session(_team(body), channel, _ts(event, "thread_ts", ts))
    mention = re.compile(rf"<@{re.escape(bot_user)}(?:\|[^>]*)?>")
    text = clean(event["text"])
    mentioned = bool(mention.search(text)) or event.get("channel_type") == "im"
    words = as_typed(mention.sub(" ", text)).strip()
    return Incoming(f"{session.team}:{channel}:{ts}", session, user, words, ts, mentioned)


def _instructs(event: Body, bot_user: str, listed_bots: frozenset[str]) -> bool:
    """Whether somebody wrote this themselves, just now."""
    user = event.get("user")
    if not isinstance(user, str) or not isinstance(event.get("text"), str) or user == bot_user:
        return False
    if user in listed_bots:
        return event.get("subtype") in (*PLAIN_SUBTYPES, "bot_message")
    by_app = any(event.get(key) for key in ("bot_id", "bot_profile", "app_id"))
    return not by_app and event.get("subtype") in PLAIN_SUBTYPES


def as_typed(text: str) -> str:
    """A message as its writer typed it: Slack makes links of `notes.md` and escapes three characters."""
    return unescape(LINK.sub(_typed_link, text))


def _typed_link(link: re.Match[str]) -> str:
    address, label = link[1], link[2]
    added = ADDED.fullmatch(address)
    if not label or label == address:
        return address.removeprefix("mailto:").removeprefix("tel:")
    if added and added[1] == label.rstrip("/"):
        return label
    return f"{label} ({address})"  # a label that says something else must not hide where it leads


def unescape(text: str) -> str:
    """Slack escapes exactly three characters."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def clean(text: str) -> str:
    """Text that can be stored: NUL and half surrogate pairs, which no keyboard makes, become U+FFFD."""
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def click(body: Body) -> Click:
    """A block_actions payload. Raises Malformed."""
    pressed = _at(body, "actions")
    action = pressed[0] if isinstance(pressed, list) and pressed else None
    container, message = _at(body, "container"), _at(body, "message")
    ts = _ts(message, "ts", _ts(container, "message_ts", ""))
    alone = _at(container, "is_ephemeral") is True  # there is no thread under what one person alone sees
    return Click(
        team=_team(body),
        user=_id(_at(body, "user"), "id"),
        action_id=_text(action, "action_id"),
        value=_text(action, "value") or _text(_at(action, "selected_option"), "value"),
        trigger=_text(body, "trigger_id"),
        channel=_text(_at(body, "channel"), "id") or _text(container, "channel_id"),
        thread=_ts(message, "thread_ts", _ts(container, "thread_ts", "" if alone else ts)),
        message_ts=ts,
        listed=alone or not ts,
        values=_values(_at(body, "state", "values")),
    )


def submission(body: Body) -> Submission:
    """A view_submission payload. Raises Malformed."""
    view = _at(body, "view")
    return Submission(
        team=_team(body),
        user=_id(_at(body, "user"), "id"),
        view=_id(view, "id"),
        callback=_text(view, "callback_id"),
        metadata=_text(view, "private_metadata"),
        values=_values(_at(view, "state", "values")),
    )


def slash(body: Body) -> Slash:
    """A slash command's form. Raises Malformed."""
    return Slash(
        team=_id(body, "team_id"),
        user=_id(body, "user_id"),
        channel=_id(body, "channel_id"),
        command=_text(body, "command"),
        text=unescape(_text(body, "text")),
    )


def opened(body: Body) -> Opened:
    """An app_home_opened event. Raises Malformed."""
    return Opened(_team(body), _id(_at(body, "event"), "user"))


def stopped(body: Body) -> Stopped:
    """An agent_session_stopped event. Raises Malformed."""
    event = _at(body, "event")
    session = Session(_team(body), _id(event, "channel"), _ts(event, "thread_ts", ""))
    return Stopped(session, _id(event, "user"))


def typed(given: Mapping[str, Any], block: str) -> str:
    """What was typed into a plain text input; "" when nothing was."""
    elements = _at(given, block)
    values = elements.values() if isinstance(elements, Mapping) else ()
    return next((_text(element, "value") for element in values), "")


def filled(given: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """What stands in each input, by block and action id: the text, or the value of the chosen option."""
    return {
        str(block): {str(name): _entered(element) for name, element in elements.items()}
        for block, elements in given.items()
        if isinstance(elements, Mapping)
    }


def _entered(element: Any) -> str:
    return _text(_at(element, "selected_option"), "value") or _text(element, "value")


def count(text: str, default: int, most: int) -> int | None:
    """The number in `/undo 5`; None when it is something else."""
    stripped = text.strip()
    if not stripped:
        return default
    if not re.fullmatch(r"[0-9]{1,3}", stripped):
        return None
    return max(1, min(int(stripped), most))


def form_body(raw: str) -> dict[str, str]:
    """A form as Bolt should have parsed it (slack.md 1.3: the word `payload` in a command empties its body)."""
    return dict(parse_qsl(raw, keep_blank_values=True))


def _at(value: Any, *path: str) -> Any:
    """What stands there, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _values(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _text(value: Any, key: str) -> str:
    found = _at(value, key)
    return clean(found) if isinstance(found, str) else ""


def _id(value: Any, key: str) -> str:
    """One of Slack's ids. Raises Malformed."""
    found = _at(value, key)
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise Malformed(f"no {key}")
    return found


def _ts(value: Any, key: str, default: str | None = None) -> str:
    """A message's timestamp, or the default where there is none. Raises Malformed."""
    found = _at(value, key) or default
    if found is None or not isinstance(found, str) or not (found == default or TS.fullmatch(found)):
        raise Malformed(f"no {key}")
    return found


def _team(body: Body) -> str:
    """The workspace that the app is installed in. Raises Malformed."""
    for holder, key in ((body, "team_id"), (_at(body, "team"), "id"), (_at(body, "user"), "team_id")):
        if _at(holder, key):
            return _id(holder, key)
    return _id(_at(body, "event"), "team")
