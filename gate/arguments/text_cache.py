"""What functions of a text gave for the texts of the last calls: each is asked for several times for one call."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, Generic, TypeVar

# Characters of the texts that are kept, at least, and those that a text counts for beside its own: as many as eight
# calls have, so that none works out a text of its own twice.
KEPT, COST_OF_A_TEXT = 1 << 19, 32

_T = TypeVar("_T")


class _Kept(Enum):
    NOTHING = 0  # it takes half as long to be told from what is kept as by `isinstance`


_NOTHING: Final = _Kept.NOTHING


class Remembered(Generic[_T]):
    """A function of a text that keeps what it gave, bounded by characters: however a call cuts them into texts, all of
    its own are kept. What was not asked for since as much again was kept is let go."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make, self.__doc__ = make, make.__doc__
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        self._room, self.made = KEPT, 0
        self._new: dict[str, _T] = {}
        self._old: dict[str, _T] = {}

    def __call__(self, text: str) -> _T:
        found = self._new.get(text, _NOTHING)
        if found is not _NOTHING:
            return found
        made = self._old.get(text, _NOTHING)
        if made is _NOTHING:
            self.made += 1
            made = self._make(text)
        cost = len(text) + COST_OF_A_TEXT
        if self._room < cost:
            self._old, self._new, self._room = self._new, {}, KEPT
        self._room -= cost
        self._new[text] = made
        return made
