"""The message that opens a thread for what is proposed over the API."""

from __future__ import annotations

from gate.rules.access import Kind, Token
from views.block_kit import Message, escaped, line, person, quote, rich, words

TEXT = 300
ASKED = 2000


def opened(token: Token, text: str) -> Message:
    """`text`: what was asked for in words; "" for single calls."""
    if token.kind is Kind.AGENT:
        first = line(
            words("The agent "), words(token.name, "bold", most=80), words(" works for "), person(token.user),
            words(" here. What it proposes is asked in this thread; it decides nothing."),
        )  # fmt: skip
        told = f"The agent {token.name} asks in this thread."
    else:
        first = line(
            person(token.user), words(" asks over the API. What has to be decided stands in this thread.")
        )
        told = "Something was asked for over the API."
    said = [quote(text, ASKED)] if text else []
    return Message(escaped(told, TEXT), [rich(first, *said)])
