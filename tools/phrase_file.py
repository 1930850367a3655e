"""The phrase file, read strictly: sentences, the calls they mean, and how a sentence is recognised."""

from __future__ import annotations

import re
from pathlib import Path

from gate.action import Json
from gate.template import TemplateError, names
from tools.book import TOOL, BadPhrases, Pattern, Phrase, PhraseBook
from tools.runbook_file import read_runbooks
from tools.slots import SLOT, compiled
from tools.yaml_file import NotYaml, read_yaml

__all__ = ["BadPhrases", "PhraseBook", "load_phrases", "read_phrases"]

GROUP = re.compile(r"[(\[][^)\]]*[)\]]")
KEYS = {"say", "call", "args", "each", "example"}
WAITING = "pending"  # instead of a tool: show what waits


def load_phrases(path: Path) -> PhraseBook:
    """Read the file. Raises BadPhrases with everything that is wrong in it."""
    try:
        data = read_yaml(path)
    except NotYaml as error:
        raise BadPhrases([f"{path.name} is not YAML: {' '.join(str(error).split())}"]) from error
    return read_phrases(data, path.name)


def read_phrases(data: Json, file: str = "phrases") -> PhraseBook:
    """The loaded YAML to phrases. Raises BadPhrases."""
    problems: list[str] = []
    fits = isinstance(data, dict) and {"phrases"} <= data.keys() <= {"phrases", "runbooks"}
    entries, books = (data.get("phrases"), data.get("runbooks", [])) if fits else (None, None)
    if not isinstance(entries, list) or not isinstance(books, list):
        raise BadPhrases([f"{file} must have the key `phrases`, a list, and may have `runbooks`, another"])
    readers = [_Reader(entry, f"{file}, phrase {i + 1}", problems) for i, entry in enumerate(entries)]
    phrases = [phrase for reader in readers if (phrase := reader.read())]
    _twins([p for phrase in phrases for p in phrase.patterns], file, problems)
    said = tuple(phrase for phrase in phrases if phrase.server != WAITING)
    runbooks = read_runbooks(books, file, said, problems)
    if problems:
        raise BadPhrases(problems)
    waiting = [p for phrase in phrases if phrase.server == WAITING for p in phrase.patterns]
    return PhraseBook(said, tuple(waiting), runbooks)


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
        slots = [name for name, _ in SLOT.findall(say)]
        if len(set(slots)) != len(slots):
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
                return compiled(say)
            except re.error as error:
                self._wrong(f"“{say}” cannot be read: {error}")
        return None
