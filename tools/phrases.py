"""The planner without a model: sentences from a file, or `server.tool key=value`, to proposed calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice

from gate.action import Action, Json
from gate.talk import Call, Done, ListPending, Propose, Reply, Say, Turn
from gate.template import expand
from gate.world import Tools
from tools.direct import direct, misfit
from tools.phrase_file import SLOT, BadPhrases, Pattern, Phrase, PhraseBook, load_phrases
from tools.speech import Heard, headed, hear, joints, lines
from tools.wording import coerced, items, kinds

__all__ = ["BadPhrases", "PhraseBook", "Phrases", "load_phrases"]

LONGEST = 2000  # characters of one instruction, quoted values not counted
MOST = 12  # instructions in one message
CLOSEST = 3
POLITE = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|please|pls|and|can you|could you|would you|will you)\b[ \t,]*)+", re.I
)
THANKS = re.compile(r"[ \t,]*\b(?:please|pls|thanks|thank you)[ \t]*$", re.IGNORECASE)
FULL_STOP = re.compile(r"(?<=[\w\0)])[ \t]*[.!?]+[ \t]*$")
HELP = re.compile(
    r"(?:help|hi|hello|hey|what can (?:you|i) (?:do|say)|how does this work|commands|examples)?[ \t.!?]*",
    re.I,
)
VALUE = re.compile(r"\0\d+\0|\S*[./*\d]\S*")


@dataclass(frozen=True, slots=True)
class Found:
    """A phrase that fits, and what its slots hold."""

    phrase: Phrase
    pattern: Pattern
    slots: dict[str, str]

    @property
    def held(self) -> int:
        """Characters inside of slots: the fewer, the more exactly the phrase fits."""
        return sum(map(len, self.slots.values()))


class Unclear(Exception):
    """An instruction that is no call. Its text says why, and what to write instead."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Implements gate.talk.Planner. Keeps nothing: the same words give the same answer."""

    book: PhraseBook
    tools: Tools

    follows = False  # phrases say all they have to say at once

    async def reply(self, turn: Turn, pending: tuple[Action, ...]) -> Reply:
        """Propose what the words mean, or say what was not understood. Never half of it."""
        if turn.exchanges:
            return Done()
        return self.understand(turn.text)

    def understand(self, text: str) -> Reply:
        """One message to one reply."""
        heard = hear(text)
        if HELP.fullmatch(heard.text):
            return Say(self._examples())
        if any(_match(pattern, heard.text) is not None for pattern in self.book.pending):
            return ListPending()
        instructions = self._instructions(heard)
        if len(instructions) > MOST:
            return Say(f"That is {len(instructions)} instructions. Please give me at most {MOST} at once.")
        try:
            return Propose(tuple(call for line in instructions for call in self._calls(line, heard)))
        except Unclear as unclear:
            several = f"I took none of the {len(instructions)} instructions, because one is not clear.\n"
            return Say(f"{several if len(instructions) > 1 else ''}{unclear}")

    def _instructions(self, heard: Heard) -> list[str]:
        content = headed(heard)
        if content and self._fits(content, heard):
            return [content]
        found = lines(heard)
        if len(found) > 1 and found[0].rstrip().endswith(":") and not self._fits(found[0], heard):
            del found[0]  # "Please do this:"
        return [part for line in found for part in self._parts(line, heard)]

    def _parts(self, line: str, heard: Heard) -> list[str]:
        """Cut at each "then", unless what stands before it takes everything to the end of the line."""
        if len(line) > LONGEST or isinstance(direct(line, heard, self.tools), Call):
            return [line]
        for before, after in islice(joints(line), MOST):
            found = self._best(before, heard)
            if found and found.pattern.to_the_end:
                return [line]
            if self._fits(before, heard):
                return [before, *self._parts(after, heard)]
        return [line]

    def _fits(self, line: str, heard: Heard) -> bool:
        return isinstance(direct(line, heard, self.tools), Call) or self._best(line, heard) is not None

    def _calls(self, line: str, heard: Heard) -> Iterator[Call]:
        """The calls of one instruction. Raises Unclear."""
        if len(line) > LONGEST:
            raise Unclear("That is too long for one instruction. Put long text in quotes or between ```.")
        said = direct(line.strip(), heard, self.tools)
        if isinstance(said, Call):
            yield said
            return
        found = self._best(line, heard)
        if found is None:
            raise Unclear(said or self._near(line, heard))
        yield from self._meant(found, heard)

    def _best(self, line: str, heard: Heard) -> Found | None:
        """The phrase that leaves least to its slots; the first in the file among equals."""
        if len(line) > LONGEST:
            return None
        fits = [
            Found(phrase, pattern, slots)
            for phrase in self.book.phrases
            for pattern in phrase.patterns
            if (slots := _match(pattern, line)) is not None
        ]
        return min(fits, key=lambda found: found.held, default=None)

    def _meant(self, found: Found, heard: Heard) -> Iterator[Call]:
        phrase = found.phrase
        spec = self.tools.find(phrase.server, phrase.tool)
        if spec is None:
            raise Unclear(f"I would use `{phrase.full_name}` for that, but that tool is not there now.")
        slots = {
            name: self._slot(found.pattern.slots[name], part, heard) for name, part in found.slots.items()
        }
        for value in slots[phrase.each] if phrase.each else (None,):
            args = expand(dict(phrase.args), {**slots, phrase.each: value})
            args = {
                key: _fitted(value, spec.schema.get("properties", {}).get(key)) for key, value in args.items()
            }
            wrong = misfit(spec, args, self.tools)
            if wrong:
                raise Unclear(wrong)
            yield Call(phrase.server, phrase.tool, args)

    def _slot(self, kind: str, part: str, heard: Heard) -> Json:
        if kind == ":number":
            return int(part)
        if kind == "...":
            return [heard.value(item) for item in items(part)]
        value = heard.value(part)
        return value if isinstance(value, str) else heard.typed(part)

    def _near(self, line: str, heard: Heard) -> str:
        close = self._closest(line)
        shown = heard.typed(line).strip()
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        if not close:
            return f"I did not understand “{shown}”.\n{self._examples()}"
        return f"I did not understand “{shown}”. You can write:\n{_bullets(close)}"

    def _closest(self, line: str) -> list[str]:
        """Example sentences of the phrases that look most alike, values left out of the comparison."""
        typed = VALUE.sub("{}", line.lower())[:200]
        scored: list[tuple[float, int, str]] = []
        for place, phrase in enumerate(self._usable()):
            score = max(
                SequenceMatcher(None, typed, plain(pattern.say)).ratio() for pattern in phrase.patterns
            )
            scored.append((-score, place, phrase.example or readable(phrase.patterns[0].say)))
        return [text for score, _, text in sorted(scored)[:CLOSEST] if score <= -0.5]

    def _usable(self) -> Sequence[Phrase]:
        return [p for p in self.book.phrases if self.tools.find(p.server, p.tool)]

    def _examples(self) -> str:
        examples = [phrase.example for phrase in self._usable() if phrase.example]
        name = next((spec.full_name for spec in self.tools.specs()), "server.tool")
        if not examples:
            return f"Name a tool and its arguments, for example: `{name} name=value`."
        return f"You can write, for example:\n{_bullets(examples)}\nor any tool by name: `{name} name=value`."


def misfits(book: PhraseBook, tools: Tools) -> list[str]:
    """Phrases whose arguments their tool does not take, for a check after the servers have connected."""
    wrong = []
    for phrase in book.phrases:
        spec = tools.find(phrase.server, phrase.tool)
        properties = spec.schema.get("properties", {}) if spec else {}
        for key in phrase.args.keys() - properties.keys() if spec else ():
            wrong.append(
                f"The phrase “{phrase.patterns[0].say}” gives {phrase.full_name} an unknown argument `{key}`."
            )
    return wrong


def plain(say: str) -> str:
    """A phrase with its slots emptied and its choices made, to compare sentences with."""
    say = re.sub(r"\[[^\]]*\] ", "", SLOT.sub("{}", say))
    return re.sub(r"\(([^|)]*)[^)]*\)", r"\1", say)


def readable(say: str) -> str:
    """A phrase to show: `restore TRASH ID`."""
    return plain(SLOT.sub(lambda slot: str(slot[1]).replace("_", " ").upper(), say))


def _bullets(texts: Sequence[str]) -> str:
    return "\n".join(f"• {text}" for text in texts)


def _match(pattern: Pattern, line: str) -> dict[str, str] | None:
    """What the slots hold when the line is this phrase, politeness and punctuation aside."""
    line = line.strip()
    polite = POLITE.match(line)
    for start in dict.fromkeys((0, polite.end() if polite else 0)):
        for bare in _barer(line[start:], pattern.to_the_end):
            found = pattern.regex.fullmatch(bare)
            if found:
                return found.groupdict()
    return None


def _barer(line: str, to_the_end: bool) -> Iterator[str]:
    """The line, and without its closing punctuation and thanks; text to the end of the line keeps its own."""
    if to_the_end:
        yield line
        return
    yield FULL_STOP.sub("", THANKS.sub("", FULL_STOP.sub("", line)))


def _fitted(value: Json, schema: Json) -> Json:
    """A slot's value as the tool wants it: one path alone where it may be, words as numbers where they must be."""
    allowed = kinds(schema)
    if isinstance(value, list) and len(value) == 1 and "string" in allowed:
        return value[0]
    return coerced(value, schema) if isinstance(value, str) else value
