"""What functions of a text gave for the texts of the last calls: each is asked for several times for one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

# Characters of the texts that are kept, at least, and those that a text counts for beside its own: as many as eight
# calls have, so that none works out a text of its own twice.
KEPT, COST_OF_A_TEXT = 1 << 19, 32

_T = TypeVar("_T")


class _Nothing:
    pass


_NOTHING: Final = _Nothing()


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
        if not isinstance(found, _Nothing):
            return found
        kept = self._old.get(text, _NOTHING)
        made = self._made(text) if isinstance(kept, _Nothing) else kept
        if self._room < len(text) + COST_OF_A_TEXT:
            self._old, self._new, self._room = self._new, {}, KEPT
        self._room -= len(text) + COST_OF_A_TEXT
        self._new[text] = made
        return made

    def _made(self, text: str) -> _T:
        self.made += 1
        return self._make(text)
