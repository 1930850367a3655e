"""What Slack's composer makes of what a person types: escaped text, mentions, links, rich text blocks."""

from __future__ import annotations

import re
from typing import Any

from workspace.state import State

# Bare host names become links. Note `.md`, `.py` and `.sh`: a file name may be a host name too,
# and then the event says <http://notes.md|notes.md>.
TOP_LEVEL = "com|org|net|io|dev|app|edu|gov|ai|co|de|uk|info|md|me|py|sh"
CODE = r"(?P<code>```.*?```|`[^`\n]+`)"
MENTION = r"|<@(?P<id>\w+)(?:\|[^>]*)?>|(?<!\w)@(?P<name>\w+)"
ROOM = r"|(?<!\w)#(?P<room>[\w-]+)"
URL = r"|(?P<url>https?://[^\s<>|]+[^\s<>|.,;:!?)'\"])"
HOST = rf"|(?<![\w@/.\-])(?P<host>(?:[\w-]+\.)+(?:{TOP_LEVEL})(?![\w-])(?:/[^\s<>|]*[\w/])?)"
TOKEN = re.compile(CODE + MENTION + ROOM + URL + HOST, re.DOTALL | re.IGNORECASE)

Element = dict[str, Any]


def escaped(text: str) -> str:
    """The three characters that Slack escapes."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def composed(state: State, typed: str, autolink: bool = True) -> tuple[str, list[Element]]:
    """What was typed, as the `text` and the `blocks` of a message event.

    `@Ann` and `<@U_ANN>` become mentions where such a person exists, `#ops` a channel; all else is escaped.
    """
    text, elements, done = "", [], 0
    for token in TOKEN.finditer(typed):
        found = _entity(state, token, autolink)
        if found is None:
            continue
        plain = typed[done : token.start()]
        text += escaped(plain) + found[0]
        elements += [{"type": "text", "text": plain}] if plain else []
        elements.append(found[1])
        done = token.end()
    rest = typed[done:]
    text += escaped(rest)
    elements += [{"type": "text", "text": rest}] if rest else []
    section = {"type": "rich_text_section", "elements": elements}
    return text, [{"type": "rich_text", "block_id": state.ids("b"), "elements": [section]}]


def commanded(state: State, typed: str) -> str:
    """The text of a slash command with `should_escape`: mentions carry the name, nothing is linked."""
    text, done = "", 0
    for token in TOKEN.finditer(typed):
        user = _person(state, token)
        if user is not None:
            name = state.people[user].name.lower()
            text += escaped(typed[done : token.start()]) + f"<@{user}|{name}>"
            done = token.end()
    return text + escaped(typed[done:])


def _person(state: State, token: re.Match[str]) -> str | None:
    if token["id"]:
        return token["id"] if token["id"] in state.people else None
    name = (token["name"] or "").lower()
    return next((p.id for p in state.people.values() if p.name.lower() == name), None)


def _entity(state: State, token: re.Match[str], autolink: bool) -> tuple[str, Element] | None:
    """The token's text and its rich text element, or None where it is just text."""
    if token["room"]:
        found = next((c for c in state.channels.values() if c.name == token["room"] and not c.im_with), None)
        return (f"<#{found.id}|>", {"type": "channel", "channel_id": found.id}) if found else None
    if token["url"] and autolink:
        return f"<{escaped(token['url'])}>", {"type": "link", "url": token["url"]}
    if token["host"] and autolink:
        link = {"type": "link", "url": f"http://{token['host']}", "text": token["host"]}
        return f"<http://{escaped(token['host'])}|{escaped(token['host'])}>", link
    user = _person(state, token)
    return (f"<@{user}>", {"type": "user", "user_id": user}) if user else None
