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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from gate.rules.action import Json
from gate.rules.close_names import close_matches
from gate.rules.planner_port import WITHHELD, Call
from gate.rules.task import Missing, Question
from gate.rules.templates import expand
from tools.mcp.schema import either
from tools.phrases.back_references import ONE, SEVERAL
from tools.phrases.doubtful_messages import is_withdrawal
from tools.phrases.listing import SHORT, WORD, Entry, Listing, Memo, name_of, singular
from tools.phrases.listing import words as _words
from tools.phrases.new_names import BLANK, ENDING, is_file_name, new_folder, new_name, pattern_of, refuse_mail
from tools.phrases.phrase_to_calls import Answers, Asked, again
from tools.phrases.phrasebook import Lookup, NameKind
from tools.phrases.plan_draft import NotThere, Unclear
from tools.phrases.runbook_steps import Looking, Seen, key_of, result_of
from tools.phrases.titles import refuse_doubtful_name
from tools.phrases.tokenize import Heard
from tools.phrases.typed_values import clipped
from tools.phrases.words_not_names import (
    FOLDER_BEFORE,
    NO_WORD,
    WHOSE,
    Kind,
    no_folder,
    other_kind,
    refuse_no_name,
)

PATH = re.compile(r"[/*]|\.[A-Za-z0-9]{1,8}$|^\.{1,2}$")  # a slash, a pattern, an ending
ARTICLE = re.compile(
    r"(?:(?:the|my|our|your|this|that|these|those|a|an|all|of|new)[ \t]++)*+"
    r"(?:(?:files?|folders?|director(?:y|ies)|documents?|note)[ \t]++)?+(?:(?:called|named)[ \t]++)?+",
    re.IGNORECASE,
)
NOUN = re.compile(r"(?<![ \t])[ \t]++(?:files?|folders?|director(?:y|ies)|documents?)$", re.IGNORECASE)
ALL_IN = re.compile(
    r"(?:everything|all|(?:all|every)[ \t]+(?:of[ \t]+)?(?:the[ \t]+|my[ \t]+)?(?:files?|documents?))[ \t]+"
    r"(?:in|inside|from|of|under)[ \t]+(?P<folder>\S.*)",
    re.IGNORECASE,
)
OF_MINE = re.compile(r"(?:all[ \t]+)?(?:of[ \t]+)?(?:my|our)\b", re.IGNORECASE)
FILE_NAME = re.compile(r"[^\s\0/*?]+\.[A-Za-z0-9]{1,8}")  # without its folder
ALL = re.compile(r"(?:all|every)\b", re.IGNORECASE)
EVERYTHING = ("everything", "all", "it all", "them all", "all of it", "all of them")
ONE_ONLY = "“{}” may be several things, and this takes one. Name one of them."
ALL_OF_EACH = (
    "Is “{0}” the folder itself, or everything in it? Write “everything in {0}”, or “the folder {0}”."
)
WHICH_FOLDER = "Everything in which folder? Write, for example, “everything in drafts”."
# Slots whose name may become that of something new
NEW: tuple[NameKind, ...] = ("new", "fresh", "beside", "place")
OPTIONS = 8  # of a question
ALL_OF_THEM = "all of them"
FEW = 3  # suggestions in a sentence
CLOSE = 0.6  # of a name that is suggested
NAMES_WITHHELD = "Write its whole path, such as drafts/notes.md or archive/: names are private here."
COPY = re.compile(r"[^\n]{0,60}?\b(?:copy|cp|duplicate)\b", re.IGNORECASE)


class NameLookup(Looking):
    """These reads are needed to know what a name stands for."""


class NamesWithheld(NotThere):
    """What names there are may be told to one person alone."""

    def __init__(self) -> None:
        super().__init__(NAMES_WITHHELD, told=True)


@dataclass(frozen=True, slots=True)
class Names:
    """Looks names up with the two reads of the phrase file. `seen`: what was read so far in this turn. `files`: the
    name of a file without its folder is looked up, too; else it is taken as it was typed."""

    lookup: Lookup | None
    seen: Seen
    files: bool = True
    memo: Memo = field(default_factory=Memo)

    def resolved(
        self, kinds: Mapping[str, NameKind], slots: Mapping[str, Json], heard: Heard, said: Said
    ) -> dict[str, Json]:
        """The slots with paths in the place of names. Raises NameLookup, Asked and Unclear."""
        found, missing = dict(slots), list[Call]()
        for slot, kind in sorted(kinds.items(), key=_places_first) if self.lookup else ():
            try:
                found[slot] = self._slot(_Slot(slot, kind, said), slots[slot], heard)
            except NameLookup as lookup:
                missing += lookup.calls
        if missing:
            raise NameLookup(missing)
        beside = {
            slot: self._beside(found[slot], found["source"], slots[slot] in heard.values)
            for slot, kind in kinds.items()
            if kind == "beside"
        }
        for slot, kind in kinds.items():
            if kind == "fresh":
                self._refuse_present(str(found[slot]), slots[slot] in heard.values)
        return found | beside

    def _refuse_present(self, path: str, quoted: bool) -> None:
        """Raise Unclear for a file that is there, also in another folder unless it was quoted."""
        name = name_of(path)
        for entry in self._known("find", name) if self.files and self.lookup else ():
            same = entry.path.casefold() == path.casefold()
            if same or (path == name and not quoted and entry.name.casefold() == name.casefold()):
                raise Unclear(f"{entry.path} is there already. To empty it, write: empty {entry.path}.")

    def is_folder(self, path: Json) -> bool:
        """Whether this is a folder, as far as it was read."""
        try:
            return str(path).endswith("/") or self._is_folder(path)
        except (NameLookup, NamesWithheld):
            return False

    def _slot(self, slot: _Slot, value: Json, heard: Heard) -> Json:
        if isinstance(value, list):
            return self._listed(slot, value, heard)
        return self._paths(slot, value, heard)[0]

    def _listed(self, slot: _Slot, value: Sequence[Json], heard: Heard) -> list[Json]:
        """The paths of a list, each item looked up once. What stands for several brings no path a second time."""
        paths, known, there = list[Json](), dict[str, list[Json]](), set[Json]()
        after_all = False  # “everything in archive and reports” may mean all that is in both
        for one in value:
            again = isinstance(one, str) and one in known
            found = known[str(one)] if again else self._several(slot, one, heard)
            if after_all and str(found[0]) == str(one) and self.is_folder(found[0]):
                raise Unclear(ALL_OF_EACH.format(clipped(str(one), 60)))
            after_all = after_all or (isinstance(one, str) and ALL_IN.match(one) is not None)
            if isinstance(one, str):
                known[one] = found
            if len(found) == 1:
                paths += found
            elif not again:
                paths += [path for path in found if path not in there]
                there.update(found)
        return paths

    def _several(self, slot: _Slot, value: Json, heard: Heard) -> list[Json]:
        """One item of a list, which may stand for all that is in a folder."""
        if not isinstance(value, str) or self._is_typed(slot, value, heard):
            return [value]
        inside = ALL_IN.fullmatch(value)
        if inside is not None:
            return self._files_in(self._paths(slot, inside["folder"], heard)[0])
        paths = self._paths(replace(slot, several=True), value, heard)
        if ALL.match(value) and len(paths) == 1 and self._is_folder(paths[0]):
            return self._files_in(paths[0])
        return paths

    def _files_in(self, folder: Json) -> list[Json]:
        files: list[Json] = [entry.path for entry in self._known("inside", str(folder)) if not entry.folder]
        if not files:
            raise Unclear(f"There is no file in “{folder}”.")
        return files

    def _is_folder(self, path: Json) -> bool:
        return path in self._candidates(_words(name_of(str(path)))).folders

    def _paths(self, slot: _Slot, value: Json, heard: Heard) -> list[Json]:
        """What a name stands for: one path, unless somebody has answered that all of several are meant."""
        quoted = value in heard.values
        if isinstance(value, str) and slot.kind in NEW and not quoted:
            refuse_mail(value)
        if not isinstance(value, str) or self._is_typed(slot, value, heard):
            return [value]
        words = _bare(value)
        if slot.kind in ("there", "known") and slot.said.told and value.lower() in ONE | SEVERAL:
            return self._told(slot, value)
        if slot.kind == "part":
            return [pattern_of(value, words)]
        if slot.kind == "folder":
            return [new_folder(WHOSE.sub("", value), slot.said.text, slot.said.named)]
        if slot.kind == "place":
            return [self._place(slot, value, words)]
        if slot.kind in ("new", "fresh", "beside"):
            refuse_no_name(value)
            refuse_doubtful_name(value)
            return [new_name(words, value, alone=slot.kind == "beside")]
        if slot.kind == "known" and not BLANK.search(value) and not FILE_NAME.fullmatch(value):
            return [value]
        return self._existing(slot, value, words)

    def _existing(self, slot: _Slot, value: str, words: str) -> list[Json]:
        """What is there of this name."""
        if slot.said.changes and not slot.several and ALL.match(value):
            raise Unclear(ONE_ONLY.format(clipped(value, 60)))
        if words.lower() in EVERYTHING:
            raise Unclear(WHICH_FOLDER)
        try:
            fitting, exact = self._fitting(value, words)
        except NamesWithheld:
            known = slot.said.made_as(words) or (value if FILE_NAME.fullmatch(value) else "")
            if not known:
                raise
            return [known]
        if not fitting:
            return [slot.said.made_as(words) or self._unknown(slot, value, words)]
        last = _words(words)[-1:]
        kind = other_kind(last[0], slot.said.servers) if last and slot.said.changes else None
        if exact:
            mine = slot.said.changes and OF_MINE.match(value) and not NOUN.search(value) and _is_plural(words)
            if mine and len(fitting) == 1 and fitting[0].folder:
                return self._of_mine(slot, value, fitting[0], kind)
            kind = None
        question = slot.question(value, fitting, kind)
        return _chosen(question, [entry.path for entry in fitting], slot, kind)

    def _told(self, slot: _Slot, value: str) -> list[Json]:
        """The paths that a word for what came before stands for. One that is a folder is no “them”. Raises Asked."""
        paths = slot.said.told[:OPTIONS]
        if value.lower() in SEVERAL and len(paths) == 1:
            raise Unclear(NO_WORD.format(clipped(value, 60)))
        if value.lower() in SEVERAL and slot.several and len(paths) == len(slot.said.told):
            return [*paths]
        return _chosen(slot.question(value, [Entry(path, folder=False) for path in paths]), paths, slot)

    def _of_mine(self, slot: _Slot, value: str, folder: Entry, kind: Kind | None) -> list[Json]:
        """What “my drafts” is where a folder is called so: the folder, what is in it, or things that are no files."""
        inside = f"everything in {folder.path}"
        paths = [folder.path, inside] if slot.several else [folder.path]
        question = slot.question(value, [folder], kind)
        question = replace(question, options=(*paths, *((kind.label,) if kind else ())))
        chosen = _chosen(question, paths, slot, kind)
        return self._files_in(folder.path) if chosen == [inside] else chosen

    def _place(self, slot: _Slot, value: str, words: str) -> Json:
        """Where something goes: a folder that is there or is made before. A new name has an ending, or is quoted."""
        if value.lower() in FOLDER_BEFORE and slot.said.folders:
            return slot.said.folders[-1]
        if FILE_NAME.fullmatch(value) or (words == value and is_file_name(words)):
            return value
        if not self.files and not BLANK.search(value):
            return value
        made = slot.said.made_as(words)
        try:
            fitting = self._fitting(value, words, folders=True)[0]
        except NamesWithheld:
            if not made:
                raise
            return made
        if not fitting and made:
            return made
        if not fitting:
            raise no_folder(value, slot.said.servers) or NotThere(self._no_folder(slot, words), told=True)
        return _chosen(slot.question(value, fitting), [entry.path for entry in fitting], slot)[0]

    def _beside(self, name: Json, source: Json, quoted: bool) -> Json:
        """A new name, in the folder of what is renamed. Raises Unclear where a file would lose its ending, and where
        a folder is called so."""
        folder, slash, old = str(source).rpartition("/")
        typed = str(name)
        if not quoted and ENDING.search(old) and not PATH.search(typed):
            shown, ending = clipped(typed, 60), ENDING.findall(old)[0]
            raise Unclear(f"“{shown}” has no ending. Write the whole new name, such as {shown}{ending}.")
        path = typed if "/" in typed else f"{folder}{slash}{typed}"
        if self.files and not PATH.search(name_of(typed)):
            try:
                there = self._entries("find", word=name_of(typed))
            except NamesWithheld:
                there = []
            if any(entry.folder and entry.path.casefold() == path.casefold() for entry in there):
                raise Unclear(
                    f"There is a folder “{path}” already, so nothing else can be called that. To move it in there, "
                    f"write: move {source} to {path}. Otherwise write another name."
                )
        return path

    def _is_typed(self, slot: _Slot, value: str, heard: Heard) -> bool:
        """Whether it is taken as it is: it was quoted, or looks like a path. What is there is looked up in the quotes
        of code, too, in which people put every name."""
        found = self.files and FILE_NAME.fullmatch(value)
        code = slot.kind in ("there", "known", "place") and f"`{value}`" in heard.raw
        return (value in heard.values and not code) or (_looks_like_path(value) and not found)

    def _fitting(self, value: str, words: str, folders: bool = False) -> tuple[list[Entry], bool]:
        """What this may stand for, and whether it is called just so: that comes before what only holds its words.
        A `folders` of one word has to be called so."""
        key = (value, words, folders)
        if key not in self.memo.fitting:
            self.memo.fitting[key] = self._found(value, words, folders)
        return self.memo.fitting[key]

    def _found(self, value: str, words: str, folders: bool) -> tuple[list[Entry], bool]:
        wanted = [words] if FILE_NAME.fullmatch(words) else _words(words)
        if not wanted:
            return [], False
        there = self._candidates(wanted)
        best = there.called((value.casefold(), words.casefold()), folders)
        if best:
            return best, True
        if ENDING.search(words) or (folders and not BLANK.search(words)):
            return [], False
        named = [entry for entry in there.named(wanted) if entry.folder or not folders]
        inside = [] if folders else there.inside(wanted)
        if folders or not named or _is_plural(words) or not all(entry.folder for entry in named):
            return named or inside, False
        return (named + inside if inside else []), False  # `the report` may be one in the folder `reports`

    def _candidates(self, wanted: Sequence[str]) -> Listing:
        """All whose path may hold these words: found by the longest of them, and by what is in folders called so."""
        if not wanted:
            return Listing(())
        key = (max(wanted, key=len), len(wanted) > 1)
        if key not in self.memo.listings:
            found = [*self._known("find", key[0])]
            if key[1] or all(entry.folder for entry in found):
                for folder in [e.path for e in found if e.folder][:FEW]:
                    found += self._known("inside", folder)
            self.memo.listings[key] = Listing({entry.path: entry for entry in found}.values())
        return self.memo.listings[key]

    def _known(self, which: Literal["find", "inside"], what: str) -> list[Entry]:
        """The same as `_entries`, read once for a message."""
        if (which, what) not in self.memo.entries:
            scope = {"word" if which == "find" else "folder": what}
            self.memo.entries[which, what] = self._entries(which, **scope)
        return self.memo.entries[which, what]

    def called(self, name: str) -> list[Entry]:
        return self._known("find", name)

    def _entries(self, which: Literal["find", "inside"], **scope: Json) -> list[Entry]:
        """The result of one read. Raises NameLookup where it was not read yet, NamesWithheld where it may not be,
        Unclear where it did not work."""
        assert self.lookup is not None
        read = self.lookup.find if which == "find" else self.lookup.inside
        call = Call(read.server, read.tool, expand(dict(read.args), scope))
        if key_of(call) not in self.seen:
            raise NameLookup([call])
        told = self.seen[key_of(call)]
        if told.status == WITHHELD:
            raise NamesWithheld
        rows = result_of(call, told).get(read.rows)
        return [
            Entry(str(row[read.path]), row.get("kind") == "folder")
            for row in (rows if isinstance(rows, list) else ())
            if isinstance(row, Mapping) and read.path in row
        ]

    def _unknown(self, slot: _Slot, value: str, words: str) -> str:
        """The name of a file as it was typed, where nothing comes close: its server says that there is none. Raises
        NotThere."""
        if FILE_NAME.fullmatch(value) and (slot.kind == "known" or not self._close(words, folders=False)):
            return value
        raise self.missing(words)

    def missing(self, words: str) -> NotThere:
        text = f"There is no file or folder “{clipped(words, 60)}”."
        close = self._close(words, folders=False)
        if close:
            return NotThere(f"{text} Did you mean {either(close)}?", told=ENDING.search(words) is not None)
        return NotThere(f"{text} Write `list all files` to see what is there.")

    def _no_folder(self, slot: _Slot, words: str) -> str:
        """What to do where something was to go to a folder that is not there."""
        shown = clipped(words, 60)
        close = self._close(words, folders=True)
        text = f"There is no folder “{shown}”."
        if close:
            text = f"{text} Did you mean {either(close)}?"
        if BLANK.search(words):  # likely more of the sentence than a name
            return text if close else f"{text} Name one that is there, or put a new name in quotes."
        text = f"{text} To make that folder first, write: create the folder {shown}."
        if slot.said.source:
            verb = ("copy", "as") if COPY.match(slot.said.text) else ("rename", "to")
            text = f"{text} To give it a new name, write: {verb[0]} {slot.said.source} {verb[1]} “{shown}”."
        return text

    def _close(self, words: str, folders: bool) -> list[str]:
        """The paths whose name is nearly this, else those with a word of it."""
        if (words, folders) not in self.memo.close:
            self.memo.close[words, folders] = self._compared(words, *self._there(folders))
        return self.memo.close[words, folders]

    def _compared(self, words: str, there: Listing, named: Mapping[str, str]) -> list[str]:
        near = close_matches(words.casefold(), named, FEW, CLOSE)
        if near or FILE_NAME.fullmatch(words):
            return list(dict.fromkeys(named[name] for name in near))[:FEW]
        wanted = {word for word in _words(words) if len(word) >= SHORT or not word.isalpha()}
        return [entry.path for entry in there.with_some(wanted)[:FEW]]

    def _there(self, folders: bool) -> tuple[Listing, Mapping[str, str]]:
        """All that is there, the nearest first, and the path of each by what it may be called."""
        if folders not in self.memo.there:
            there = [entry for entry in self._known("find", "") if entry.folder or not folders]
            there.sort(key=lambda entry: (entry.path.count("/"), entry.path))
            named: dict[str, str] = {}
            for entry in there:
                for name in (entry.path, entry.name, entry.stem):
                    named.setdefault(name.casefold(), entry.path)
            self.memo.there[folders] = Listing(there), named
        return self.memo.there[folders]


@dataclass(frozen=True, slots=True)
class Said:
    """The instruction that a name stands in, and what was answered about it so far. `named`: it says what is called
    how; `changes`: it is no read. `made` and `folders`: paths, and folders, that earlier instructions make. `servers`:
    those that are there. `source`: what is moved or copied, as it was typed, where that is one thing."""

    text: str
    answers: Answers
    named: bool = False
    changes: bool = False
    made: Sequence[str] = ()
    folders: Sequence[str] = ()
    servers: Collection[str] = field(default_factory=frozenset)
    source: str = ""
    told: Sequence[str] = ()  # what was read or done before in the thread

    def made_as(self, words: str) -> str:
        """The path of this name that an earlier instruction makes; "" where none does."""
        name = words.casefold()
        made = [path for path in self.made if name in (path.casefold(), name_of(path).casefold())]
        return made[-1] if made else ""


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    kind: NameKind
    said: Said
    several: bool = False  # it takes a list

    def question(self, value: str, entries: Sequence[Entry], kind: Kind | None = None) -> Question:
        """Which of these a name stands for. Each name of an instruction has a question of its own."""
        text = f"Which one is “{clipped(value, 60)}” in “{clipped(self.said.text, 80)}”?"
        options = tuple(entry.path for entry in entries[:OPTIONS])
        every = self.several and _is_plural(value) and len(entries) == len(options)
        options += (ALL_OF_THEM,) if every else ()
        options += (kind.label,) if kind else ()
        of = hashlib.sha256(value.encode()).hexdigest()[:6]
        return Question(f"value:{self.name}-{of}", text, Missing.VALUE, options)


def _places_first(slot: tuple[str, NameKind]) -> bool:
    """What goes to no place is not asked about."""
    return slot[1] != "place"


def _chosen(question: Question, paths: Sequence[Json], slot: _Slot, kind: Kind | None = None) -> list[Json]:
    """The one path there is, or what was answered to the question. Raises Asked; Unclear for what is no file."""
    answer = slot.said.answers.to(question)
    if (len(paths) == 1 and not kind) or (slot.several and answer == ALL_OF_THEM):
        return [*paths]
    if not answer:
        raise Asked((question,))
    if kind and answer == kind.label:
        raise Unclear(kind.instead)
    called = [path for path in paths if answer.casefold() in _names_of(str(path))]
    if answer not in paths and len(called) == 1:
        return called
    if is_withdrawal(answer):
        raise Unclear(f"I did nothing, because you wrote “{clipped(answer, 60)}”.")
    if answer not in paths and not _looks_like_path(answer):
        raise Asked((again(question, f"“{clipped(answer, 60)}” is none of these."),))
    return [answer]


def _names_of(path: str) -> tuple[str, str]:
    """What a path may be called in an answer: its name, with its ending and without."""
    name = name_of(path).casefold()
    return name, name.rpartition(".")[0]


def _looks_like_path(value: str) -> bool:
    return not BLANK.search(value) and PATH.search(value) is not None


def _bare(value: str) -> str:
    """A name without its article and without the word for what it names: `the archive folder` is `archive`."""
    return NOUN.sub("", ARTICLE.sub("", value, count=1)) or value


def _is_plural(name: str) -> bool:
    last = WORD.findall(name.casefold())[-1:]
    return any(singular(word) != word for word in last)
