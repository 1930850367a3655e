"""The phrase file, read strictly: sentences, the calls they mean, and how a sentence is recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from gate.action import Json
from gate.template import TemplateError, names

TOOL = re.compile(r"([A-Za-z0-9_-]{1,40})\.([A-Za-z0-9_./-]{1,128})")
SLOT = re.compile(r"\{([a-z_]+)(\.\.\.|:rest|:number|:quoted)?\}")
TOKEN = re.compile(r"\{[^}]*\}|\] |[()\[\]|]|[ \t]+|[^{}()\[\]| \t]+")
GROUP = re.compile(r"[(\[][^)\]]*[)\]]")
BLANK = r"[ \t]+"
PATTERNS = {
    "": r"(?P<{}>\S.*?)",
    "...": r"(?P<{}>\S.*?)",
    ":rest": r"(?P<{}>.+)",
    ":number": r"(?P<{}>\d{{1,9}})",
    ":quoted": "(?P<{}>\0\\d+\0)",
}
KEYS = {"say", "call", "args", "each", "example"}
WAITING = "pending"  # instead of a tool: show what waits


class BadPhrases(Exception):
    """What is wrong in the phrase file: one sentence for each mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something. Slots: "" text, ":rest" to the end, ":quoted", ":number", "..." a list."""

    say: str
    regex: re.Pattern[str]
    slots: Mapping[str, str]

    @property
    def to_the_end(self) -> bool:
        return ":rest" in self.slots.values()


@dataclass(frozen=True, slots=True)
class Phrase:
    """What can be said, and the call that it means."""

    patterns: tuple[Pattern, ...]
    server: str
    tool: str
    args: Mapping[str, Json]
    each: str = ""  # the list slot that gives one call for each of its items
    example: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.server}.{self.tool}"


@dataclass(frozen=True, slots=True)
class PhraseBook:
    """All phrases, in the order of the file."""

    phrases: tuple[Phrase, ...] = ()
    pending: tuple[Pattern, ...] = field(default=())  # sentences that ask what waits


def load_phrases(path: Path) -> PhraseBook:
    """Read the file. Raises BadPhrases with everything that is wrong in it."""
    try:
        data = yaml.safe_load(path.read_text("utf-8"))
    except yaml.YAMLError as error:
        raise BadPhrases([f"{path.name} is not YAML: {' '.join(str(error).split())}"]) from error
    return read_phrases(data, path.name)


def read_phrases(data: Json, file: str = "phrases") -> PhraseBook:
    """The loaded YAML to phrases. Raises BadPhrases."""
    problems: list[str] = []
    entries = data.get("phrases") if isinstance(data, dict) and data.keys() == {"phrases"} else None
    if not isinstance(entries, list):
        raise BadPhrases([f"{file} must have the one key `phrases`, a list"])
    readers = [_Reader(entry, f"{file}, phrase {i + 1}", problems) for i, entry in enumerate(entries)]
    phrases = [phrase for reader in readers if (phrase := reader.read())]
    _twins([p for phrase in phrases for p in phrase.patterns], file, problems)
    if problems:
        raise BadPhrases(problems)
    waiting = [p for phrase in phrases if phrase.server == WAITING for p in phrase.patterns]
    return PhraseBook(tuple(p for p in phrases if p.server != WAITING), tuple(waiting))


def _twins(patterns: list[Pattern], file: str, problems: list[str]) -> None:
    seen: set[str] = set()
    for pattern in patterns:
        shape = SLOT.sub("{}", pattern.say).lower()
        if shape in seen:
            problems.append(f"{file}: “{pattern.say}” is there twice")
        seen.add(shape)


class _Reader:
    """Reads one entry; what is wrong goes to `problems`."""

    def __init__(self, entry: Json, where: str, problems: list[str]) -> None:
        self.where, self.problems = where, problems
        self.entry: dict[str, Json] = entry if isinstance(entry, dict) else {}

    def read(self) -> Phrase | None:
        count = len(self.problems)
        for key in self.entry.keys() - KEYS:
            self._wrong(f"the key `{key}` is not known")
        says = self.entry.get("say", [])
        says = [says] if isinstance(says, str) else says
        if not isinstance(says, list) or not says or not all(isinstance(say, str) and say for say in says):
            self._wrong("`say` must be a sentence or a list of sentences")
            return None
        patterns = tuple(pattern for say in says if (pattern := self._pattern(say)))
        call, args = self.entry.get("call"), self.entry.get("args", {})
        if call == WAITING:
            return Phrase(patterns, WAITING, "", {})
        tool = TOOL.fullmatch(call) if isinstance(call, str) else None
        if tool is None or not isinstance(args, dict):
            self._wrong("`call` must be server.tool, and `args` a mapping")
            return None
        each, example = self.entry.get("each", ""), self.entry.get("example", "")
        self._slots_fit(patterns, args, each)
        if not isinstance(example, str):
            self._wrong("`example` must be a sentence")
        return (
            Phrase(patterns, tool[1], tool[2], args, each, example) if count == len(self.problems) else None
        )

    def _wrong(self, what: str) -> None:
        self.problems.append(f"{self.where}: {what}")

    def _slots_fit(self, patterns: tuple[Pattern, ...], args: Json, each: Json) -> None:
        try:
            wanted = {path[0] for path in names(args)}
        except TemplateError as error:
            self._wrong(str(error))
            return
        for pattern in patterns:
            for name in sorted(wanted ^ pattern.slots.keys()):
                self._wrong(f"“{pattern.say}” and `args` do not have the same slots: {name}")
            if each and pattern.slots.get(each) != "...":
                self._wrong(f"`each` must be a list slot of “{pattern.say}”")

    def _pattern(self, say: str) -> Pattern | None:
        slots = {name: kind or "" for name, kind in SLOT.findall(say)}
        if len(slots) != len(SLOT.findall(say)):
            self._wrong(f"“{say}” has a slot twice")
        elif set("{}") & set(SLOT.sub("", say)):
            self._wrong(
                f"“{say}” has a slot that cannot be read; a slot is {{name}}, {{name...}}, "
                "{name:rest}, {name:quoted} or {name:number}"
            )
        elif re.search(r"\}\s*\{(?!\w+:quoted)", say) or re.search(r":rest\}.", say):
            self._wrong(f"“{say}”: between two slots there must be a word, and nothing follows a rest")
        elif say.endswith("]") or any("{" in group for group in GROUP.findall(say)):
            self._wrong(f"“{say}”: no slot inside of brackets, and no word to leave out at the end")
        else:
            try:
                return Pattern(say, re.compile(_regex(say), re.IGNORECASE | re.DOTALL), slots)
            except re.error as error:
                self._wrong(f"“{say}” cannot be read: {error}")
        return None


def _regex(say: str) -> str:
    """`(show|read) [the file] {path}`: brackets hold what may be left out, with the blank that follows it."""
    out, fixed = [], {"(": "(?:", ")": ")", "|": "|", "[": "(?:(?:", "] ": ")" + BLANK + ")?"}
    for token in TOKEN.findall(say.strip()):
        slot = SLOT.fullmatch(token)
        if slot:
            out.append(PATTERNS[slot[2] or ""].format(slot[1]))
        elif token in fixed:
            out.append(fixed[token])
        else:
            out.append(BLANK if token.isspace() else re.escape(token))
    return "".join(out)
