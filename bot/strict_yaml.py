"""YAML read strictly: a value knows its file and line, and everything that is wrong is said at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TypeVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from gate.action import Json

Choice = TypeVar("Choice", bound=StrEnum)
TEXT, NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
KINDS: dict[str, type[str | int | float | bool]] = {
    TEXT: str,
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
}


class BadFile(Exception):
    """What is wrong in a file: one sentence for each mistake, naming file, line and key."""

    def __init__(self, problems: Collection[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a short file stays short, and no value contains itself."""

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not used here: write it out", problem_mark=mark
            )
        return super().compose_node(parent, index)


class File:
    """One file and what was found wrong in it. `top` is None where it is empty or no YAML."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._found: list[tuple[int, str]] = []
        self.top = self._compose(text)

    @classmethod
    def read(cls, path: Path) -> File:
        """The file at `path`. Raises BadFile where it cannot be read."""
        try:
            return cls(path.name, path.read_text("utf-8"))
        except OSError as error:
            raise BadFile([f"{path} cannot be read: {error.strerror}."]) from None
        except UnicodeDecodeError:
            raise BadFile([f"{path} is not UTF-8: save it as UTF-8."]) from None

    def wrong(self, line: int, sentence: str) -> None:
        """Note a mistake; `line` 0: in the file as a whole."""
        where = f"{self.name}, line {line}" if line else self.name
        self._found.append((line, f"{where}: {sentence.rstrip('.?')}."))

    def done(self) -> None:
        """Raise BadFile if anything was wrong."""
        if self._found:
            raise BadFile([sentence for _, sentence in sorted(self._found, key=lambda found: found[0])])

    def _compose(self, text: str) -> Value | None:
        try:
            node = yaml.compose(text, _Loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            why = getattr(error, "problem", None) or "it holds characters that YAML does not allow"
            self.wrong(mark.line + 1 if mark else 0, why)
            return None
        except RecursionError:
            self.wrong(0, "it is nested too deep")
            return None
        return Value(node, "", self, 1) if node is not None else None


@dataclass(frozen=True)
class Value:
    """One value of a file. Reading it wrongly adds to the problems of the file, and the reading goes on."""

    node: Node
    path: str  # "servers.files.trust"; "" for the whole file
    file: File
    line: int  # of its key, where it has one: that is the line that people look for

    def wrong(self, sentence: str) -> None:
        self.file.wrong(self.line, f"“{self.path}” {sentence}" if self.path else f"the file {sentence}")

    def mapping(self, known: Collection[str] | None = None) -> dict[str, Value]:
        """The values by key; an unknown key and a second one of the same name are wrong."""
        found: dict[str, Value] = {}
        for key, value in self._pairs():
            if key in found:
                value.wrong("stands there twice: remove one")
            elif known is not None and key not in known:
                value.wrong(f"is not known{_hint(key, known)}")
            else:
                found[key] = value
        return found

    def _pairs(self) -> Iterator[tuple[str, Value]]:
        if not isinstance(self.node, MappingNode):
            self.wrong("must be a mapping of `key: value` lines")
            return
        for key, value in self.node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode) or key.tag != TEXT:
                replace(self, line=line).wrong("has a key that is no text: put it into quotes")
                continue
            path = f"{self.path}.{key.value}" if self.path else key.value
            yield key.value, Value(value, path, self.file, line)

    def items(self) -> list[Value]:
        """The values of a list."""
        if not isinstance(self.node, SequenceNode):
            self.wrong("must be a list")
            return []
        return [
            Value(node, f"{self.path}[{index}]", self.file, node.start_mark.line + 1)
            for index, node in enumerate(self.node.value)
        ]

    def text(self) -> str:
        """A text that is not empty; "" where it is none."""
        if self.node.tag == TEXT and isinstance(self.node, ScalarNode) and self.node.value.strip():
            return str(self.node.value)
        self.wrong("must be text" + (": put it into quotes" if isinstance(self.node, ScalarNode) else ""))
        return ""

    def texts(self) -> tuple[str, ...]:
        return tuple(item.text() for item in self.items())

    def flag(self) -> bool:
        value = self._scalar()
        if not isinstance(value, bool):
            self.wrong("must be true or false")
        return value is True

    def number(self, least: float, most: float) -> float:
        """A number from `least` to `most`; `least` where it is none."""
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self.wrong(f"must be a number from {least:g} to {most:g}")
            return least
        return value

    def integer(self, least: int, most: int) -> int:
        value = self._scalar()
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.wrong(f"must be a whole number from {least} to {most}")
            return least
        return value

    def choice(self, kind: type[Choice]) -> Choice | None:
        """A member of the enumeration; None where it is none."""
        try:
            return kind(self.text())
        except ValueError:
            self.wrong(f"must be one of {', '.join(kind)}")
            return None

    def json(self) -> Json:
        """The value as JSON; None where YAML has something that JSON has not, such as a date."""
        if isinstance(self.node, MappingNode):
            return {key: value.json() for key, value in self.mapping().items()}
        if isinstance(self.node, SequenceNode):
            return [item.json() for item in self.items()]
        scalar = self._scalar()
        if scalar is None and self.node.tag != NULL:
            self.wrong("must be text, a number, true, false or null: put it into quotes")
        return scalar

    def _scalar(self) -> str | int | float | bool | None:
        """The value of a single word as YAML reads it; None for what is no scalar of JSON."""
        kind = KINDS.get(self.node.tag)
        if kind is None or not isinstance(self.node, ScalarNode):
            return None
        value = self.node.value if kind is str else yaml.safe_load(self.node.value)
        fits = isinstance(value, kind) and not (isinstance(value, float) and not isfinite(value))
        return value if fits else None


def _hint(key: str, known: Collection[str]) -> str:
    close = get_close_matches(key, sorted(known), 1)
    return f"; did you mean “{close[0]}”?" if close else f"; known are {', '.join(sorted(known))}"
