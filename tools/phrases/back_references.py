"""What “it”, “them” and “that file” stand for: the files of the last thing that was read or done in the thread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.planner_port import Call, CallReport, Propose, Turn
from tools.phrases.phrasebook import NameKind, Phrase

ONE = frozenset(
    ("it", "this", "that", "this one", "that one", "the file", "this file", "that file", "that folder")
)
SEVERAL = frozenset(
    (
        "them",
        "these",
        "those",
        "both",
        "both of them",
        "all of them",
        "the files",
        "these files",
        "those files",
    )
)
MADE: tuple[NameKind, ...] = ("place", "new", "fresh", "folder", "beside")
THERE: tuple[NameKind, ...] = ("there", "known")
SHOWN = ("destination", "path")  # fields of an answer that say where something is now


def told_of(earlier: Sequence[Turn], phrases: Sequence[Phrase]) -> tuple[str, ...]:
    """The paths of what the last turn before has read or done; none where it did nothing with files, or has taken
    them away."""
    done = [pair for turn in earlier[-1:] for pair in _done(turn)]
    return tuple(dict.fromkeys(path for call, told in done for path in _paths(call, told, phrases)))


def _done(turn: Turn) -> Iterator[tuple[Call, CallReport]]:
    for exchange in turn.exchanges:
        reply = exchange.reply
        if isinstance(reply, Propose) and not reply.lookup:
            yield from ((reply.calls[told.call], told) for told in exchange.reports)


def _paths(call: Call, told: CallReport, phrases: Sequence[Phrase]) -> Iterator[str]:
    if told.status != "succeeded":
        return
    args = call.args if told.args is None else told.args
    slots = {slot: kind for phrase in phrases for slot, kind in _kinds(phrase, call).items()}
    made = [args[name] for name, kind in slots.items() if kind in MADE and name in args]
    there = [args[name] for name, kind in slots.items() if kind in THERE and name in args]
    if call.tool.startswith(("delete_", "purge_")) or not (made or there):
        return
    answered = _fields(told.text)
    now = [answered[name] for name in SHOWN if isinstance(answered.get(name), str)][:1]
    for value in (now or made or there) if made else there:
        yield from map(str, value if isinstance(value, list) else [value])


def _kinds(phrase: Phrase, call: Call) -> dict[str, NameKind]:
    """The arguments of a call that name files or folders, as this phrase for it has them."""
    if (phrase.server, phrase.tool) != (call.server, call.tool):
        return {}
    return {
        name: phrase.names[value[1:-1]]
        for name, value in phrase.args.items()
        if isinstance(value, str) and value[1:-1] in phrase.names
    }


def _fields(text: str) -> Mapping[str, Json]:
    try:
        fields = json.loads(text)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
