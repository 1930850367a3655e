"""Names of files and folders as people say them, looked up before anything is proposed.

“the Q3 summary” is not a path. Where a slot of a phrase stands for something that exists, or for a place to put
something, what was typed is taken as it is only when it looks like a path or was quoted. Anything else, and the name of
a file without its folder, is looked up by reads, through the gate, whose results nobody but the planner sees: one match
is taken, several become a question, none becomes a sentence with what comes closest. So a sentence that was misread
does not become something to be confirmed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gate.rules.action import Json
from gate.rules.close_names import close_matches
from gate.rules.planner_port import Call
from gate.rules.task import Missing, Question
from gate.rules.templates import expand
from tools.mcp.schema import either
from tools.phrases.phrase_to_calls import Answers, Asked, again
from tools.phrases.phrasebook import Lookup, NameKind
from tools.phrases.plan_draft import NotThere, Unclear
from tools.phrases.runbook_steps import Looking, Seen, key_of, result_of
from tools.phrases.tokenize import Heard
from tools.phrases.typed_values import clipped

BLANK = re.compile(r"[\s\0]")
PATH = re.compile(r"[/*]|\.[A-Za-z0-9]{1,8}$|^\.{1,2}$")  # a slash, a pattern, an ending
ARTICLE = re.compile(
    r"(?:(?:the|my|our|your|this|that|these|those|a|an|all|of|new)[ \t]+)*"
    r"(?:(?:files?|folders?|director(?:y|ies)|documents?)[ \t]+)?(?:(?:called|named)[ \t]+)?",
    re.IGNORECASE,
)
NOUN = re.compile(r"(?<![ \t])[ \t]++(?:files?|folders?|director(?:y|ies)|documents?)$", re.IGNORECASE)
ALL_IN = re.compile(
    r"(?:everything|all|(?:all|every)[ \t]+(?:of[ \t]+)?(?:the[ \t]+|my[ \t]+)?(?:files?|documents?))[ \t]+"
    r"(?:in|inside|from|of|under)[ \t]+(?P<folder>\S.*)",
    re.IGNORECASE,
)
ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")
FILE_NAME = re.compile(r"[^\s\0/*?]+\.[A-Za-z0-9]{1,8}")  # without its folder
ALL = re.compile(r"(?:all|every)\b", re.IGNORECASE)
WORD = re.compile(r"\w+")
MAIL_ADDRESS = re.compile(r"[^\s@/]+@[A-Za-z][^\s@/]*\.[A-Za-z]{2,}")
SHORT = 3  # letters: a shorter word is no plural
NO_NAME = frozenset("and or to in into with as from then".split())
EVERYTHING = ("everything", "all", "it all", "them all", "all of it", "all of them")
WHICH_FOLDER = "Everything in which folder? Write, for example, “everything in drafts”."
NEW = ("new", "beside", "place")  # slots whose name may become that of something new
NAME_WORDS = 3  # of a new name that was typed without quotes
OPTIONS = 8  # of a question
ALL_OF_THEM = "all of them"
FEW = 3  # suggestions in a sentence


class NameLookup(Looking):
    """These reads are needed to know what a name stands for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that exists, by its path."""

    path: str
    folder: bool

    @property
    def name(self) -> str:
        return _name_of(self.path)


@dataclass(frozen=True, slots=True)
class Names:
    """Looks names up with the two reads of the phrase file. `seen`: what was read so far in this turn. `files`: the
    name of a file without its folder is looked up, too; else it is taken as it was typed."""

    lookup: Lookup | None
    seen: Seen
    files: bool = True

    def resolved(
        self, kinds: Mapping[str, NameKind], slots: Mapping[str, Json], heard: Heard, said: Said
    ) -> dict[str, Json]:
        """The slots with paths in the place of names. Raises NameLookup, Asked and Unclear."""
        found, missing = dict(slots), list[Call]()
        for slot, kind in kinds.items() if self.lookup else ():
            try:
                found[slot] = self._slot(_Slot(slot, kind, said), slots[slot], heard)
            except NameLookup as lookup:
                missing += lookup.calls
        if missing:
            raise NameLookup(missing)
        beside = {
            slot: _beside(found[slot], found["source"]) for slot, kind in kinds.items() if kind == "beside"
        }
        return found | beside

    def _slot(self, slot: _Slot, value: Json, heard: Heard) -> Json:
        if isinstance(value, list):
            return [path for one in value for path in self._several(slot, one, heard)]
        return self._paths(slot, value, heard)[0]

    def _several(self, slot: _Slot, value: Json, heard: Heard) -> list[Json]:
        """One item of a list, which may stand for all that is in a folder."""
        if not isinstance(value, str) or self._is_typed(value, heard):
            return [value]
        inside = ALL_IN.fullmatch(value)
        if inside is not None:
            return self._files_in(self._paths(slot, inside["folder"], heard)[0])
        paths = self._paths(replace(slot, several=True), value, heard)
        if ALL.match(value) and len(paths) == 1 and self._is_folder(paths[0]):
            return self._files_in(paths[0])
        return paths

    def _files_in(self, folder: Json) -> list[Json]:
        files: list[Json] = [
            entry.path for entry in self._entries("inside", folder=folder) if not entry.folder
        ]
        if not files:
            raise Unclear(f"There is no file in “{folder}”.")
        return files

    def _is_folder(self, path: Json) -> bool:
        found = self._candidates(_words(_name_of(str(path))))
        return any(entry.folder and entry.path == path for entry in found)

    def _paths(self, slot: _Slot, value: Json, heard: Heard) -> list[Json]:
        """What a name stands for: one path, unless somebody has answered that all of several are meant."""
        if isinstance(value, str) and slot.kind in NEW and value not in heard.values:
            _refuse_mail_address(value)
        if not isinstance(value, str) or self._is_typed(value, heard):
            return [value]
        words = _bare(value)
        if slot.kind == "folder":
            return [_new_folder(value)]
        if slot.kind in ("known", "place") and not BLANK.search(value):
            return [self._folder_in_other_case(value) if slot.kind == "place" else value]
        if slot.kind in ("new", "beside") or (
            slot.kind == "place" and words == value and _is_file_name(words)
        ):
            return [_new_name(words, value, alone=slot.kind == "beside")]
        if words.lower() in EVERYTHING:
            raise Unclear(WHICH_FOLDER)
        fitting = self._fitting(value, words, folders=slot.kind == "place")
        if not fitting and FILE_NAME.fullmatch(value):  # an earlier step may make it
            return [value]
        if not fitting:
            raise NotThere(self._missing(slot, words))
        return _chosen(slot.question(value, fitting), [entry.path for entry in fitting], slot)

    def _folder_in_other_case(self, value: str) -> str:
        """The one folder of this name in other capitals; else the name as it was typed. Asks only about a name with
        capitals, so that a name in small letters costs no read."""
        if value == value.lower():
            return value
        found = {
            entry.path
            for entry in self._candidates(_words(value))
            if entry.folder and _is_name(entry, value.casefold())
        }
        return found.pop() if len(found) == 1 else value

    def _is_typed(self, value: str, heard: Heard) -> bool:
        """Whether it is taken as it is: it was quoted, or looks like a path."""
        found = self.files and FILE_NAME.fullmatch(value)
        return value in heard.values or (_looks_like_path(value) and not found)

    def _fitting(self, value: str, words: str, folders: bool) -> list[Entry]:
        """What this may stand for: of all that holds its words, what is called just so comes before the rest."""
        wanted = _words(words)
        if not wanted:
            return []
        if FILE_NAME.fullmatch(words):
            wanted = [words]
        found = [e for e in self._candidates(wanted) if e.folder or not folders]
        for exact in (_is_path, _is_name, _is_stem):
            for text in dict.fromkeys((value.casefold(), words.casefold())):
                best = [entry for entry in found if exact(entry, text)]
                if best:
                    return best
        if ENDING.search(words):  # a file's whole name, and there is none of that name
            return []
        named = [entry for entry in found if _holds(entry.name, wanted)]
        return named or [e for e in found if _holds(e.path, wanted) and not e.folder]

    def _candidates(self, wanted: Sequence[str]) -> list[Entry]:
        """All whose path may hold these words: found by the longest of them, and by what is in folders called so."""
        found = self._entries("find", word=max(wanted, key=len))
        if len(wanted) > 1:
            for folder in [e.path for e in found if e.folder][:FEW]:
                found += self._entries("inside", folder=folder)
        return list({entry.path: entry for entry in found}.values())

    def _entries(self, which: Literal["find", "inside"], **scope: Json) -> list[Entry]:
        """The result of one read. Raises NameLookup where it was not read yet, Unclear where it did not work."""
        assert self.lookup is not None
        read = self.lookup.find if which == "find" else self.lookup.inside
        call = Call(read.server, read.tool, expand(dict(read.args), scope))
        if key_of(call) not in self.seen:
            raise NameLookup([call])
        rows = result_of(call, self.seen[key_of(call)]).get(read.rows)
        return [
            Entry(str(row[read.path]), row.get("kind") == "folder")
            for row in (rows if isinstance(rows, list) else ())
            if isinstance(row, Mapping) and read.path in row
        ]

    def _missing(self, slot: _Slot, words: str) -> str:
        wanted = _words(words)
        what = "folder" if slot.kind == "place" else "file or folder"
        text = f"There is no {what} “{clipped(words, 60)}”."
        near = self._candidates(wanted) if wanted else []
        near = [e for e in near if e.folder] if slot.kind == "place" else near
        paths = sorted({e.path for e in near}, key=lambda path: (path.count("/"), path))
        close = close_matches(words, paths, FEW, 0.3) or (paths[:FEW] if len(words) > SHORT else [])
        if close:
            return f"{text} Did you mean {either(close)}?"
        if slot.kind == "place":
            return f"{text} Name one that is there, or put a new name in quotes."
        return f"{text} Write `list all files` to see what is there."


@dataclass(frozen=True, slots=True)
class Said:
    """The instruction that a name stands in, and what was answered about it so far."""

    text: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    kind: NameKind
    said: Said
    several: bool = False  # it takes a list

    def question(self, value: str, entries: Sequence[Entry]) -> Question:
        """Which of these a name stands for. Each name of an instruction has a question of its own."""
        text = f"Which one is “{clipped(value, 60)}” in “{clipped(self.said.text, 80)}”?"
        options = tuple(entry.path for entry in entries[:OPTIONS])
        every = self.several and _is_plural(value) and len(entries) == len(options)
        options += (ALL_OF_THEM,) if every else ()
        of = hashlib.sha256(value.encode()).hexdigest()[:6]
        return Question(f"value:{self.name}-{of}", text, Missing.VALUE, options)


def _chosen(question: Question, paths: list[Json], slot: _Slot) -> list[Json]:
    """The one path there is, or what was answered to the question. Raises Asked."""
    answer = slot.said.answers.to(question)
    if len(paths) == 1 or (slot.several and answer == ALL_OF_THEM):
        return paths
    if not answer:
        raise Asked((question,))
    if answer not in paths and not _looks_like_path(answer):
        raise Asked((again(question, f"“{clipped(answer, 60)}” is none of these."),))
    return [answer]


def _looks_like_path(value: str) -> bool:
    return not BLANK.search(value) and PATH.search(value) is not None


def _refuse_mail_address(value: str) -> None:
    """Raise Unclear for a mail address in the place of a name for something new."""
    if MAIL_ADDRESS.fullmatch(value):
        raise Unclear(
            f"“{clipped(value, 60)}” is a mail address. For a file of that name, put it in quotes; for a mail, write "
            "`write a mail to bob@example.com about Figures: Here they are.`"
        )


def _beside(name: Json, source: Json) -> Json:
    """A new name, in the folder of what is renamed. Raises Unclear where a file would lose its ending."""
    folder, slash, old = str(source).rpartition("/")
    if ENDING.search(old) and not PATH.search(str(name)):
        shown, ending = clipped(str(name), 60), ENDING.findall(old)[0]
        raise Unclear(f"“{shown}” has no ending. Write the whole new name, such as {shown}{ending}.")
    return name if "/" in str(name) else f"{folder}{slash}{name}"


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _bare(value: str) -> str:
    """A name without its article and without the word for what it names: `the archive folder` is `archive`."""
    return NOUN.sub("", ARTICLE.sub("", value, count=1)) or value


def _new_name(words: str, value: str, alone: bool) -> str:
    """The name of a new file. `alone`: one word without an ending will do. Raises Unclear for what may be a part of a
    sentence."""
    if _is_file_name(words) or (alone and not BLANK.search(words)):
        return words
    raise Unclear(
        f"I am not sure what the new file is to be called: “{clipped(value, 60)}”? Write its name with an ending, such "
        "as notes.md, or put it in quotes."
    )


def _new_folder(value: str) -> str:
    """The name of a new folder, of a few words. Raises Unclear for what may be a part of a sentence."""
    parts = value.lower().split()
    if len(parts) <= NAME_WORDS and not NO_NAME & {*parts}:
        return value
    raise Unclear(
        f"I am not sure what the new folder is to be called: “{clipped(value, 60)}”? Write its name alone, or put "
        "it in quotes."
    )


def _is_file_name(words: str) -> bool:
    parts = words.lower().split()
    return bool(ENDING.search(words)) and len(parts) <= NAME_WORDS and not NO_NAME & {*parts}


def _words(text: str) -> list[str]:
    """The words of a name in small letters, without the ending of the plural."""
    return [_singular(word) for word in WORD.findall(text.casefold().replace("_", " "))]


def _is_plural(name: str) -> bool:
    last = WORD.findall(name.casefold())[-1:]
    return any(_singular(word) != word for word in last)


def _singular(word: str) -> str:
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > SHORT else word


def _is_path(entry: Entry, words: str) -> bool:
    return entry.path.casefold() == words


def _is_name(entry: Entry, words: str) -> bool:
    return entry.name.casefold() == words


def _is_stem(entry: Entry, words: str) -> bool:
    """Whether the name without its ending is just these words, however they are joined."""
    stem = entry.name.rpartition(".")[0] or entry.name
    return not entry.folder and _words(stem) == _words(words)


def _holds(text: str, wanted: Sequence[str]) -> bool:
    return set(wanted) <= set(_words(text))
