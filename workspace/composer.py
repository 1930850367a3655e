"""Slack's composer: converts typed text to escaped text and rich text blocks, with mentions and links."""

from __future__ import annotations

import re
from typing import Any

from workspace.state import State

# Bare host names become links. `.md`, `.py` and `.sh` are top-level domains, so a file name may become a link:
# the event then has <http://notes.md|notes.md>.
TOP_LEVEL = "com|org|net|io|dev|app|edu|gov|ai|co|de|uk|info|md|me|py|sh"
CODE = r"(?P<code>```.*?```|`[^`\n]+`)"
MENTION = r"|<@(?P<id>\w+)(?:\|[^<>]*)?>|(?<!\w)@(?P<name>\w+)"
CHANNEL = r"|(?<!\w)#(?P<channel>[\w-]+)"
URL = r"|(?P<url>https?://[^\s<>|]+[^\s<>|.,;:!?)'\"])"
HOST = rf"|(?<![\w@/.\-])(?P<host>(?:[\w-]+\.)+(?:{TOP_LEVEL})(?![\w-])(?:/[^\s<>|]*[\w/])?)"
TOKEN = re.compile(CODE + MENTION + CHANNEL + URL + HOST, re.DOTALL | re.IGNORECASE)

Element = dict[str, Any]


def escape(text: str) -> str:
    """The text with &, < and > escaped, as Slack does."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def compose(state: State, typed: str, autolink: bool = True) -> tuple[str, list[Element]]:
    """The `text` and the `blocks` of a message event for this input.

    `@Ann` and `<@U_ANN>` become mentions if the person exists, `#ops` a channel link; everything else is escaped.
    `autolink`: turn URLs and host names into links.
    """
    text, elements, done = "", [], 0
    for token in TOKEN.finditer(typed):
        found = _entity(state, token, autolink)
        if found is None:
            continue
        plain = typed[done : token.start()]
        text += escape(plain) + found[0]
        elements += [{"type": "text", "text": plain}] if plain else []
        elements.append(found[1])
        done = token.end()
    rest = typed[done:]
    text += escape(rest)
    elements += [{"type": "text", "text": rest}] if rest else []
    section = {"type": "rich_text_section", "elements": elements}
    return text, [{"type": "rich_text", "block_id": state.ids("b"), "elements": [section]}]


def escape_command(state: State, typed: str) -> str:
    """The text of a slash command with `should_escape`: mentions include the name, URLs are not linked."""
    text, done = "", 0
    for token in TOKEN.finditer(typed):
        user = _person(state, token)
        if user is not None:
            name = state.people[user].name.lower()
            text += escape(typed[done : token.start()]) + f"<@{user}|{name}>"
            done = token.end()
    return text + escape(typed[done:])


def _person(state: State, token: re.Match[str]) -> str | None:
    if token["id"]:
        return token["id"] if token["id"] in state.people else None
    name = (token["name"] or "").lower()
    return next((p.id for p in state.people.values() if p.name.lower() == name), None)


def _entity(state: State, token: re.Match[str], autolink: bool) -> tuple[str, Element] | None:
    """The token's text and rich text element, or None for plain text."""
    if token["channel"]:
        found = next(
            (c for c in state.channels.values() if c.name == token["channel"] and not c.im_with), None
        )
        return (f"<#{found.id}|>", {"type": "channel", "channel_id": found.id}) if found else None
    if token["url"] and autolink:
        return f"<{escape(token['url'])}>", {"type": "link", "url": token["url"]}
    if token["host"] and autolink:
        link = {"type": "link", "url": f"http://{token['host']}", "text": token["host"]}
        return f"<http://{escape(token['host'])}|{escape(token['host'])}>", link
    user = _person(state, token)
    return (f"<@{user}>", {"type": "user", "user_id": user}) if user else None
