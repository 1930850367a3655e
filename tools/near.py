"""What is said where nothing was understood: the closest phrases, or examples of all."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from gate.world import Tools
from tools.book import Phrase, PhraseBook, Runbook
from tools.matching import VALUE
from tools.slots import plain, readable
from tools.speech import Heard
from tools.wording import bullets

CLOSEST = 3


def near(line: str, heard: Heard, book: PhraseBook, tools: Tools) -> str:
    """“I did not understand …”, with the phrases that look most alike."""
    close = _closest(line, book, tools)
    shown = heard.typed(line).strip()
    shown = shown if len(shown) <= 80 else shown[:79] + "…"
    if not close:
        return f"I did not understand “{shown}”.\n{examples(book, tools)}"
    return f"I did not understand “{shown}”. You can write:\n{bullets(close)}"


def examples(book: PhraseBook, tools: Tools) -> str:
    """What can be written, for those who ask."""
    said = [phrase.example for phrase in _usable(book, tools) if phrase.example]
    name = next((spec.full_name for spec in tools.specs()), "server.tool")
    if not said:
        return f"Name a tool and its arguments, for example: `{name} name=value`."
    names = ", ".join(f"`{runbook.name}`" for runbook in book.runbooks if _can_run(runbook, tools))
    more = f"\nSeveral steps have names: {names}; write `runbooks` to see them." if names else ""
    return f"You can write, for example:\n{bullets(said)}\nor any tool by name: `{name} name=value`.{more}"


def _closest(line: str, book: PhraseBook, tools: Tools) -> list[str]:
    """Example sentences of the phrases that look most alike, values left out of the comparison."""
    typed = VALUE.sub("{}", line.lower())[:200]
    scored: list[tuple[float, int, str]] = []
    for place, phrase in enumerate(_usable(book, tools)):
        score = max(SequenceMatcher(None, typed, plain(pattern.say)).ratio() for pattern in phrase.patterns)
        scored.append((-score, place, phrase.example or readable(phrase.patterns[0].say)))
    return [text for score, _, text in sorted(scored)[:CLOSEST] if score <= -0.5]


def _can_run(runbook: Runbook, tools: Tools) -> bool:
    """Whether the tools that it names are there."""
    named = [(look.server, look.tool) for look in runbook.looks]
    named += [(step.server, step.tool) for step in runbook.steps if step.tool]
    return all(tools.find(server, tool) for server, tool in named)


def _usable(book: PhraseBook, tools: Tools) -> Sequence[Phrase]:
    return [phrase for phrase in book.phrases if tools.find(phrase.server, phrase.tool)]
