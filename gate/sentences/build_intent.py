"""Whether a sentence, said in a conversation, asks to build it now. In doubt it is talk: there is a button too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gate.arguments.unicode_safety import is_deceptive, quoted
from gate.sentences import build_intent_vocabulary as words
from gate.sentences.tokenize import DOUBT, LISTED, OPEN, SOMEBODY, Piece, Sentence, sentences, visible_text

# Characters: who asks to build it does so in fewer, and reading more would hold up everybody else
MAX_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Intent:
    kind: Literal["implement", "talk"]
    because: str  # the words that decided, fit to be shown: because you wrote “go ahead”


def intent(text: str) -> Intent:
    """Whether the text asks to build now what was talked about, and the words that say so. Never raises."""
    if len(text) > MAX_TEXT:
        return _talk(f"because it is longer than {MAX_TEXT:,} characters")
    seen = visible_text(text)
    if is_deceptive(seen):
        return _talk("because it holds characters that may not be what they look like")
    said = sentences(seen)
    objection = next((why for sentence in said for why in _always_talk(sentence)), "")
    asked = [_asked(sentence) for sentence in said] + [_one_word(said)]
    if not objection and any(kind == "implement" for kind, _ in asked):
        return next(Intent("implement", why) for kind, why in asked if kind == "implement")
    reasons = [objection, *(why for _, why in asked)]
    return _talk(next(filter(None, reasons), "because nothing in it asks to build it now"))


@dataclass(frozen=True, slots=True)
class _Command:
    """A piece that asks to build: the words that do, and what follows them."""

    said: str
    tail: str = ""
    asked: bool = False  # in the form of a polite question
    hindered: str = ""  # the word in it that makes it no command for now


def _talk(because: str) -> Intent:
    return Intent("talk", because)


def _wrote(words: str) -> str:
    return f"because you wrote “{quoted(words, 40)}”"


def _opened(text: str) -> tuple[str, str]:
    """What people say before the point (“yes please, ”), and the rest."""
    at = 0
    while (found := words.OPENING.match(text, at)) and found.end() > at:
        at = found.end()
    return text[:at], text[at:]


def _commands(sentence: Sentence) -> list[_Command | None]:
    """For each piece the command that it is, if it is one."""
    whole = " ".join(piece.text for piece in sentence.pieces)
    manner = frozenset(name for name, pattern in words.MANNERS.items() if pattern.search(whole))
    return [_command(piece.text, manner) for piece in sentence.pieces]


def _command(piece: str, manner: frozenset[str]) -> _Command | None:
    opening, text = _opened(piece)
    if polite := words.POLITE.match(text):
        return _politely(polite["who"], text[polite.end() :], manner)
    if lets := words.LETS.match(text):
        return _imperative(text[lets.end() :], named=False)
    frame = words.FRAME.match(text)
    return _imperative(
        text[frame.end() if frame else 0 :], framed=bool(frame or words.MANNERS["pleases"].search(opening))
    )


def _politely(who: str, rest: str, manner: frozenset[str]) -> _Command | None:
    """“Could you please build it?” A bare “can you build it with X?” may ask whether that is possible."""
    command = _imperative(rest, framed=True)
    if command is None or command.hindered or "chooses" in manner:
        return None
    hurries = who in ("can", "could") and "hurries" in manner
    plain = who == "could" and not command.tail.strip() and command.said != "do it"
    return replace(command, asked=True) if "pleases" in manner or hurries or plain else None


def _imperative(text: str, *, framed: bool = False, named: bool = True) -> _Command | None:
    """`framed`: asked of us in so many words. `named`: the thing may be named instead of “it”."""
    if whole := words.WHOLE.fullmatch(text):
        return _Command(whole["said"])
    patterns = [
        words.AHEAD_WITH,
        words.OBJECT,
        *((words.NAMED, words.BARE) if named else ()),
        *((words.FRAMED_BARE,) if framed else ()),
    ]
    found = next((found for pattern in patterns if (found := pattern.fullmatch(text))), None)
    if found is None or words.STATES.match(found["tail"]):
        return None
    names = found.re in words.NAMING or found["said"].endswith(("this", "that", "these", "those"))
    if names and (words.OPEN.search(found["tail"]) or words.ON_PAPER.fullmatch(found["tail"].strip())):
        return None
    hinder = words.HINDERS.search(words.DEADLINE.sub("", found["tail"]))
    return _Command(found["said"], found["tail"], hindered=hinder["said"] if hinder else "")


def _asked(sentence: Sentence) -> tuple[str, str]:
    """Whether this sentence asks to build, as (kind, why); a kind of "" where it is about something else."""
    pieces = sentence.pieces
    if not pieces or pieces[0].text.startswith(LISTED):
        return "", ""
    commands = _commands(sentence)
    others = [piece for piece, command in zip(pieces, commands, strict=True) if not command]
    turned = next((why for piece in others for why in _negation(piece)), "")
    at = next((index for index, command in enumerate(commands) if command), None)
    command = None if at is None else commands[at]
    if at is None or command is None:
        return "", turned if any(words.MENTIONS.search(piece.text) for piece in pieces) else ""
    if command.hindered or turned:
        return "talk", _wrote(command.hindered) if command.hindered else turned
    return ("implement", _wrote(command.said)) if _is_own_clause(pieces, commands, at) else ("", "")


def _one_word(said: Sequence[Sentence]) -> tuple[str, str]:
    """“Implement!”, where the whole message says no more than that."""
    left = [_opened(piece.text)[1] for sentence in said for piece in sentence.pieces]
    told = [text for text in left if text and not words.ALONE.fullmatch(text)]
    return ("implement", _wrote(told[0])) if len(told) == 1 and told[0] in words.ONE_WORD else ("", "")


def _negation(piece: Piece) -> Iterator[str]:
    """Why a command beside this piece of the same sentence is none."""
    _, text = _opened(piece.text)
    talks = None if words.NOTIFIES.match(text) else words.TALKS.match(text)
    for found in (
        words.SUPPOSES.match(text),
        words.REPORTS.search(text),
        words.HEDGED.search(text),
        words.OR.match(text),
        talks,
    ):
        if found:
            yield _wrote(found["said"])


def _is_own_clause(pieces: Sequence[Piece], commands: Sequence[_Command | None], at: int) -> bool:
    """Whether the command is a clause of its own, not one verb of a longer statement or story."""
    told = [piece for piece in pieces[:at] if not _adds_nothing(piece)]
    rest = [
        (piece.joint, bool(command) or _adds_nothing(piece) or bool(words.NOTIFIES.match(piece.text)))
        for piece, command in zip(pieces[at + 1 :], commands[at + 1 :], strict=True)
    ]
    if told:
        listed = any("and" in joint and not belongs for joint, belongs in rest)
        supposed = any(words.SUBJUNCTIVE.search(piece.text) for piece in told)
        return pieces[at].joint in words.LOOSE and not listed and not supposed
    first = commands[at]
    if first and first.said == "go ahead" and rest and rest[0][0] in ("and", "and then", "then"):
        return rest[0][1]
    return pieces[at].joint != "("


def _adds_nothing(piece: Piece) -> bool:
    """Whether it says nothing of its own: yes, thanks, no questions, or once more “implement”."""
    left = _opened(piece.text)[1]
    return left in ("", *words.ONE_WORD) or bool(words.ALONE.fullmatch(left))


def _always_talk(sentence: Sentence) -> Iterator[str]:
    """What makes the whole message talk, whatever else it says."""
    for piece in sentence.pieces:
        _, text = _opened(piece.text)
        if DOUBT in text:
            yield "because of an emoji that doubts or refuses"
        if OPEN in text:
            yield "because a quotation in it does not end"
        if text == SOMEBODY:
            yield "because it speaks to somebody else"
        talks = None if words.NOTIFIES.match(text) else words.TALKS_TO_US.match(text)
        refused = (
            words.NEGATES.search(text),
            words.NOT_NOW.search(text),
            words.WAITS.match(text),
            words.POSTPONES.fullmatch(text),
        )
        for found in (*refused, words.HEDGED.fullmatch(text), talks):
            if found:
                yield _wrote(found["said"])
    yield from _questions(sentence)


def _questions(sentence: Sentence) -> Iterator[str]:
    texts = [text for piece in sentence.pieces if (text := _opened(piece.text)[1])]
    if any(command and command.asked for command in _commands(sentence)):
        texts = [text for text in texts if not words.POLITE.match(text)]
    elif sentence.asks:
        yield "because it is a question"
    for index, text in enumerate(texts):
        if found := (words.ASKS_AGAIN if index else words.QUESTION).match(text):
            yield f"because it begins like a question, with “{found['said']}”"
