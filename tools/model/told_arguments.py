"""The arguments of calls as text for a model, written out no further than they are told."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping

from gate.rules.action import Json
from gate.rules.planner_port import MAX_TOLD

WRITER = json.JSONEncoder(ensure_ascii=False)
SHORT = MAX_TOLD // 20  # characters that are told in any case
CUT = "\n(cut here: more than {count} characters in all)"
LEFT_OUT = f"(left out to save room: more than {SHORT} characters)"


def beginning(args: Mapping[str, Json], most: int) -> str:
    """The arguments as JSON; of what is longer than `most` characters, one more."""
    pieces, length = [], 0
    for piece in WRITER.iterencode(dict(args)):
        pieces.append(piece)
        length += len(piece)
        if length > most:
            break
    return "".join(pieces)[: most + 1]


class ToldArguments:
    """What is told of the arguments of each call, written once. Beyond `room` characters of those that are not short
    nothing is told of others that are not: for all of them there is none in a request, and the oldest are left out."""

    def __init__(self) -> None:
        self.room = sys.maxsize
        self._told: dict[int, tuple[Mapping[str, Json], str]] = {}  # by the id of arguments, which are kept

    def of(self, args: Mapping[str, Json]) -> str:
        """What is told of these arguments."""
        if id(args) not in self._told:
            self._told[id(args)] = args, self._written(args)
        return self._told[id(args)][1]

    def write(self, newest_first: Iterable[Mapping[str, Json]], room: int) -> None:
        """Write out these, as long as there is room."""
        self.room = room - sum(len(text) for _, text in self._told.values() if len(text) > SHORT)
        for args in newest_first:
            self.of(args)

    def _written(self, args: Mapping[str, Json]) -> str:
        text = beginning(args, SHORT)
        if len(text) <= SHORT:
            return text
        if self.room <= 0:
            return LEFT_OUT
        text = beginning(args, MAX_TOLD)
        self.room -= len(text)
        note = CUT.format(count=MAX_TOLD)
        return text if len(text) <= MAX_TOLD else text[: MAX_TOLD - len(note)] + note
