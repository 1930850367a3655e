"""What two reads have found, by what it is called: set in order once, however many names are held against it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

WORD = re.compile(r"\w+")
SHORT = 3  # letters: a shorter word is no plural


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that exists, by its path."""

    path: str
    folder: bool

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def stem(self) -> str:
        """The name without its ending."""
        return self.name.rpartition(".")[0] or self.name


class Listing:
    """Entries by their names and by the words of them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self.folders = [entry.path for entry in self.entries if entry.folder]
        paths, names = defaultdict[object, list[Entry]](list), defaultdict[object, list[Entry]](list)
        stems = defaultdict[object, list[Entry]](list)
        self._in_name, self._in_path = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
        for place, entry in enumerate(self.entries):
            paths[entry.path.casefold()].append(entry)
            names[entry.name.casefold()].append(entry)
            if not entry.folder:
                stems[tuple(words(entry.stem))].append(entry)
            for word in words(entry.name):
                self._in_name[word].add(place)
            for word in words(entry.path):
                self._in_path[word].add(place)
        self._paths, self._names, self._stems = paths, names, stems

    def called(self, texts: Sequence[str], folders: bool) -> list[Entry]:
        """What is called just so: by its path, else by its name, else by its name without the ending, however its
        words are joined."""
        stems = [tuple(words(text)) for text in texts]
        for index, keys in ((self._paths, texts), (self._names, texts), (self._stems, stems)):
            for key in keys:
                best = [entry for entry in index.get(key, ()) if entry.folder or not folders]
                if best:
                    return best
        return []

    def named(self, wanted: Sequence[str]) -> list[Entry]:
        """Whose name holds all of these words."""
        return self._at(set.intersection(*(self._in_name.get(word, set()) for word in wanted)))

    def inside(self, wanted: Sequence[str]) -> list[Entry]:
        """The files whose path holds all of these words."""
        found = self._at(set.intersection(*(self._in_path.get(word, set()) for word in wanted)))
        return [entry for entry in found if not entry.folder]

    def with_some(self, wanted: Iterable[str]) -> list[Entry]:
        """Whose name holds one of these words."""
        return self._at(set[int]().union(*(self._in_name.get(word, ()) for word in wanted)))

    def _at(self, places: set[int]) -> list[Entry]:
        return [self.entries[place] for place in sorted(places)]


@dataclass(frozen=True, slots=True)
class Memo:
    """What was made of the reads of one message so far: a name may be in it hundreds of times. Kept no longer."""

    entries: dict[tuple[str, str], list[Entry]] = field(default_factory=dict)
    listings: dict[tuple[str, bool], Listing] = field(default_factory=dict)
    fitting: dict[tuple[str, str, bool], tuple[list[Entry], bool]] = field(default_factory=dict)
    there: dict[bool, tuple[Listing, dict[str, str]]] = field(default_factory=dict)
    close: dict[tuple[str, bool], list[str]] = field(default_factory=dict)


def name_of(path: str) -> str:
    return path.rpartition("/")[2]


def words(text: str) -> list[str]:
    """The words of a name in small letters, without the ending of the plural."""
    return [singular(word) for word in WORD.findall(text.casefold().replace("_", " "))]


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > SHORT + 1:
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > SHORT else word
