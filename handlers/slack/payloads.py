"""Parses Slack's payloads to values. No other module reads a body. Parsers raise Malformed and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from gate.rules.action import Session
from gate.rules.planner_port import Incoming

Body = Mapping[str, Any]

ID = re.compile(r"[A-Za-z0-9_]{1,64}")
TS = re.compile(r"[0-9]{1,16}\.[0-9]{1,12}")
LINK = re.compile(r"<((?:https?|mailto|tel):[^|<>]*+)(?:\|([^<>]*+))?>")
ADDED = re.compile(
    r"(?:https?://|mailto:|tel:)(.*?)/?"
)  # a link that Slack's composer adds, for example to `notes.md`
# At the end of a window's private_metadata: where it was opened, if not from a card.
FROM_LIST, FROM_HOME = " list", " home"
OTHER_APP = "app"  # in the place of a person
PLAIN_SUBTYPES = (None, "thread_broadcast", "file_share")
OVERHEARD = ("me_message", "slackbot_response")  # nothing is asked for so, but it stands below a card


@dataclass(frozen=True, slots=True)
class Click:
    """A click on a button or an overflow option."""

    team: str
    user: str
    action_id: str
    value: str  # the button's, or the chosen option's
    trigger_id: str
    channel: str = ""
    thread: str = ""
    message_ts: str = ""  # "" in App Home
    in_private_list: bool = False  # in an ephemeral message or App Home, not on the card
    values: Mapping[str, Any] = field(default_factory=dict)  # the person's input in the same message
    response_url: str = field(default="", repr=False)  # where Slack takes what replaces the message

    @property
    def in_app_home(self) -> bool:
        return self.in_private_list and not self.message_ts


@dataclass(frozen=True, slots=True)
class Submission:
    """A submitted modal."""

    team: str
    user: str
    view: str
    callback: str
    metadata: str
    values: Mapping[str, Any] = field(default_factory=dict)
    in_private_list: bool = False  # it was opened from an ephemeral message or App Home
    in_app_home: bool = False


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A slash command. Slack does not allow them in threads, so there is no thread_ts."""

    team: str
    user: str
    channel: str
    command: str
    text: str


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """A person opened App Home."""

    team: str
    user: str


@dataclass(frozen=True, slots=True)
class SessionStopped:
    """A person clicked Slack's Stop button in a thread."""

    session: Session
    user: str


class Malformed(Exception):
    """The payload does not have the structure that Slack sends."""


def is_well_formed(body: Any) -> bool:
    """Whether the body has the structure that Bolt assumes; Bolt raises on others."""
    if not isinstance(body, Mapping) or not isinstance(body.get("type", ""), str):
        return False
    if "event" in body and not isinstance(body["event"], Mapping):
        return False
    if "view" in body and not isinstance(_get(body, "view", "type"), str):
        return False
    needs = "actions" in body or body.get("type") == "block_actions"
    pressed = body.get("actions")
    return not needs or (
        isinstance(pressed, list) and bool(pressed) and isinstance(_get(pressed[0], "action_id"), str)
    )


def is_message(body: Body) -> bool:
    """Whether this is a message event, for the inbox."""
    return _get(body, "event", "type") in ("app_mention", "message")


@cache
def mention_of(bot_user: str) -> re.Pattern[str]:
    """A mention of our own user, with or without a name."""
    return re.compile(rf"<@{re.escape(bot_user)}(?:\|[^<>]*+)?>")


def incoming(body: Body, bot_user: str, listed_bots: frozenset[str] = frozenset()) -> Incoming | None:
    """The message, or None if it is an edit, or of another app (not in `listed_bots`) or our own. Raises Malformed."""
    event = _get(body, "event")
    if not is_message(body) or not _is_instruction(event, bot_user, listed_bots):
        return None
    user, channel, ts = (_id(event, "user"), _id(event, "channel"), _ts(event, "ts"))
    session = Session(_team(body), channel, _ts(event, "thread_ts", ts))
    mention = mention_of(bot_user)
    text = clean(event["text"])
    mentioned = bool(mention.search(text)) or event.get("channel_type") == "im"
    words = as_typed(mention.sub(" ", text)).strip()
    return Incoming(f"{session.team}:{channel}:{ts}", session, user, words, ts, mentioned)


def of_other_app(body: Body, bot_user: str) -> Incoming | None:
    """That another app, Slackbot, or somebody by `/me` posted something new: without what it says, and not as a person.
    None for anything else. Raises Malformed."""
    event = _get(body, "event")
    if not is_message(body) or event.get("user") == bot_user:
        return None
    posted = _is_by_app(event) and event.get("subtype") in (*PLAIN_SUBTYPES, "bot_message")
    if not posted and event.get("subtype") not in OVERHEARD:
        return None
    channel, ts = _id(event, "channel"), _ts(event, "ts")
    session = Session(_team(body), channel, _ts(event, "thread_ts", ts))
    return Incoming(f"{session.team}:{channel}:{ts}", session, OTHER_APP, "", ts, False)


def _is_instruction(event: Body, bot_user: str, listed_bots: frozenset[str]) -> bool:
    """Whether a person or a listed bot posted this as a new message."""
    user = event.get("user")
    if not isinstance(user, str) or not isinstance(event.get("text"), str) or user == bot_user:
        return False
    if user in listed_bots:
        return event.get("subtype") in (*PLAIN_SUBTYPES, "bot_message")
    return not _is_by_app(event) and event.get("subtype") in PLAIN_SUBTYPES


def _is_by_app(event: Body) -> bool:
    is_named = any(event.get(key) for key in ("bot_id", "bot_profile", "app_id"))
    return is_named or event.get("subtype") == "bot_message"


def as_typed(text: str) -> str:
    """The text as its author typed it, without the links and escapes that Slack adds."""
    return unescape(LINK.sub(_typed_link, text))


def _typed_link(link: re.Match[str]) -> str:
    address, label = link[1], link[2]
    added = ADDED.fullmatch(address)
    if not label or label == address:
        return address.removeprefix("mailto:").removeprefix("tel:")
    if added and added[1] == label.rstrip("/"):
        return label
    return f"{label} ({address})"  # the label must not hide the address


def unescape(text: str) -> str:
    """The text without the escapes of &, < and >."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def clean(text: str) -> str:
    """Text that the database stores as it is: NUL, ESC and unpaired surrogates are replaced by U+FFFD."""
    plain = text.replace("\0", "\ufffd").replace("\x1b", "\ufffd")
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def click(body: Body) -> Click:
    """A block_actions payload. Raises Malformed."""
    pressed = _get(body, "actions")
    action = pressed[0] if isinstance(pressed, list) and pressed else None
    container, message = _get(body, "container"), _get(body, "message")
    ts = _ts(message, "ts", _ts(container, "message_ts", ""))
    is_ephemeral = _get(container, "is_ephemeral") is True  # an ephemeral message has no thread
    return Click(
        team=_team(body),
        user=_id(_get(body, "user"), "id"),
        action_id=_text(action, "action_id"),
        value=_text(action, "value") or _text(_get(action, "selected_option"), "value"),
        trigger_id=_text(body, "trigger_id"),
        channel=_text(_get(body, "channel"), "id") or _text(container, "channel_id"),
        thread=_ts(message, "thread_ts", _ts(container, "thread_ts", "" if is_ephemeral else ts)),
        message_ts=ts,
        in_private_list=is_ephemeral or not ts,
        values=_values(_get(body, "state", "values")),
        response_url=_text(body, "response_url"),
    )


def opened_by(click: Click, view: dict[str, Any]) -> dict[str, Any]:
    """The view with where it was opened, for `submission`."""
    metadata = view.get("private_metadata")
    if not metadata or not click.in_private_list:
        return view
    return {**view, "private_metadata": metadata + (FROM_HOME if click.in_app_home else FROM_LIST)}


def submission(body: Body) -> Submission:
    """A view_submission payload. Raises Malformed."""
    view = _get(body, "view")
    metadata = _text(view, "private_metadata")
    return Submission(
        team=_team(body),
        user=_id(_get(body, "user"), "id"),
        view=_id(view, "id"),
        callback=_text(view, "callback_id"),
        metadata=metadata.removesuffix(FROM_HOME).removesuffix(FROM_LIST),
        values=_values(_get(view, "state", "values")),
        in_private_list=metadata.endswith((FROM_HOME, FROM_LIST)),
        in_app_home=metadata.endswith(FROM_HOME),
    )


def slash_command(body: Body) -> SlashCommand:
    """A slash command's form. Raises Malformed."""
    return SlashCommand(
        team=_id(body, "team_id"),
        user=_id(body, "user_id"),
        channel=_id(body, "channel_id"),
        command=_text(body, "command"),
        text=unescape(_text(body, "text")),
    )


def home_opened(body: Body) -> HomeOpened:
    """An app_home_opened event. Raises Malformed."""
    return HomeOpened(_team(body), _id(_get(body, "event"), "user"))


def session_stopped(body: Body) -> SessionStopped:
    """An agent_session_stopped event. Raises Malformed."""
    event = _get(body, "event")
    session = Session(_team(body), _id(event, "channel"), _ts(event, "thread_ts", ""))
    return SessionStopped(session, _id(event, "user"))


def text_value(values: Mapping[str, Any], block: str) -> str:
    """The text of a plain text input, by block_id; "" if it is empty."""
    elements = _get(values, block)
    inputs = elements.values() if isinstance(elements, Mapping) else ()
    return next((_text(element, "value") for element in inputs), "")


def input_values(values: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The inputs by block_id and action_id: the text, or the value of the chosen option; of several, with commas."""
    return {
        str(block): {str(name): _input_value(element) for name, element in elements.items()}
        for block, elements in values.items()
        if isinstance(elements, Mapping)
    }


def _input_value(element: Any) -> str:
    several = _get(element, "selected_options")
    if isinstance(several, list):
        return ",".join(_text(each, "value") for each in several)
    return _text(_get(element, "selected_option"), "value") or _text(element, "value")


def parse_count(text: str, default: int, most: int) -> int | None:
    """The number in `/undo 5`, limited to 1 to `most`; `default` for no text, None for other text."""
    stripped = text.strip()
    if not stripped:
        return default
    if not re.fullmatch(r"[0-9]{1,3}", stripped):
        return None
    return max(1, min(int(stripped), most))


def form_body(raw: str) -> dict[str, str]:
    """The fields of a form body. Bolt's `slack_bolt.request.internals.parse_body` returns an empty body for a command
    whose text has the word `payload`."""
    return dict(parse_qsl(raw, keep_blank_values=True))


def _get(value: Any, *path: str) -> Any:
    """The value at this path, or None."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _values(values: Any) -> Mapping[str, Any]:
    return values if isinstance(values, Mapping) else {}


def _text(value: Any, key: str) -> str:
    found = _get(value, key)
    return clean(found) if isinstance(found, str) else ""


def _id(value: Any, key: str) -> str:
    """A Slack id. Raises Malformed."""
    found = _get(value, key)
    if not isinstance(found, str) or not ID.fullmatch(found):
        raise Malformed(f"no {key}")
    return found


def _ts(value: Any, key: str, default: str | None = None) -> str:
    """A message timestamp, or the default if there is none. Raises Malformed."""
    found = _get(value, key) or default
    if found is None or not isinstance(found, str) or not (found == default or TS.fullmatch(found)):
        raise Malformed(f"no {key}")
    return found


def _team(body: Body) -> str:
    """The id of the workspace that the app is installed in and that this came to, in the order of Bolt's
    `extract_team_id`, which is what it lets in. The `team_id` of an event is another one in a channel that another
    workspace has made and shares with ours. Raises Malformed."""
    view, team, user, installed = (_get(body, name) for name in ("view", "team", "user", "authorizations"))
    first = installed[0] if isinstance(installed, list) and installed else None
    named = (_get(view, "app_installed_team_id"), team if isinstance(team, str) else _get(team, "id"))
    more = (_get(first, "team_id"), _get(body, "team_id"), _get(user, "team_id"), _get(body, "event", "team"))
    return _id({"team": next((one for one in (*named, *more) if one), None)}, "team")
