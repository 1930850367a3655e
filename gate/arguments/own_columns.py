"""Statements of SQLite that insert into a column with the name of its table: commands for an index for full text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gate.arguments.forms_apart import texts_of
from gate.rules.action import Json

# Comments, names and texts in any quotes, words, and any other sign; what does not end goes on to the end
TOKEN = re.compile(
    r"--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|\"(?:[^\"]|\"\")*+(?:\"|\Z)|'(?:[^']|'')*+(?:'|\Z)|`(?:[^`]|``)*+(?:`|\Z)"
    r"|\[[^\]]*+(?:\]|\Z)|[A-Za-z0-9_$\x80-\U0010ffff]++|[^\s]"
)
ENDS = frozenset({")", "(", ";", "into"})  # of a list of columns, of which none is called so without quotes
QUOTES = {'"': '"', "'": "'", "`": "`", "[": "]"}


def inserts_into_own_column(_: str, args: Json) -> bool:
    """Whether some text among the arguments has a statement that inserts into a column with the name of its table,
    whatever the value: there SQLite's indexes for full text take commands, such as to delete all."""
    return any(_inserts(text) for text in texts_of(args))


def _inserts(text: str) -> bool:
    tokens = list(_tokens(text)) if "into" in text.lower() else []
    return any(token == "into" and _names_itself(tokens, at + 1) for at, token in enumerate(tokens))


def _names_itself(tokens: list[str], at: int) -> bool:
    """Whether the columns after the name of a table, which begins here, have its name."""
    table, at = _name(tokens, at), at + 1
    if tokens[at : at + 1] == ["."]:
        table, at = _name(tokens, at + 1), at + 2
    if tokens[at : at + 1] == ["as"]:
        at += 2
    if not table or tokens[at : at + 1] != ["("]:
        return False
    for place in range(at + 1, len(tokens)):
        if tokens[place] in ENDS:
            break
        if _name(tokens, place) == table:
            return True
    return False


def _name(tokens: list[str], at: int) -> str:
    """The name that stands there, without its quotes; "" after the end."""
    token = tokens[at] if at < len(tokens) else ""
    closing = QUOTES.get(token[:1])
    return token[1:].removesuffix(closing).replace(closing * 2, closing) if closing else token


def _tokens(text: str) -> Iterator[str]:
    """The tokens of a text in small letters, without its comments."""
    for found in TOKEN.finditer(text):
        token = found[0].lstrip("\ufeff").casefold()
        if token and not token.startswith(("--", "/*")):
            yield token
