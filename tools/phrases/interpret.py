"""A message to what it means: calls in their order, questions about what is missing, or why it is neither."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice

from gate.rules.action import CallClass, Json
from gate.rules.checks_in_a_row import checked_in_a_row
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.task import Question, SettledPoint
from gate.sentences.thread_commands import help_topic
from tools.phrases.doubtful_messages import under_heading
from tools.phrases.help import guide, servers, welcome
from tools.phrases.listing import Memo
from tools.phrases.missing_values import blamed, filled, open_slots
from tools.phrases.name_lookup import NameLookup, Names, Said
from tools.phrases.phrase_to_calls import Answers, Asked, makes, meant, sentence_of, slots_of
from tools.phrases.phrasebook import PhraseBook
from tools.phrases.plan_draft import NotThere, Piece, TooMuch, Unclear, class_of, not_there, renumbered, title
from tools.phrases.runbook_steps import Looking, Seen
from tools.phrases.runbook_targets import refuse_missing
from tools.phrases.runbooks import At, is_list, listed, misnamed, named, open_questions, wanted
from tools.phrases.sentence_patterns import LONGEST, Found, begun, best, match
from tools.phrases.suggestions import away, elsewhere, missed, near
from tools.phrases.titles import refuse_question
from tools.phrases.tokenize import Heard, conjunctions, headed, hear, is_letter, joints, lines, sentences
from tools.phrases.typed_calls import direct, is_call
from tools.phrases.typed_values import clipped, items

CALLED = re.compile(r"\b(?:called|named|titled|rename)\b")
MOST = 12  # instructions in one message
MOST_CALLS = 100  # of one message: no setting lets a turn have more
TOO_MANY = "That names {count:,} things, and one message can have 100: name a folder, or fewer at a time."
# "then" and "and" of one message at which it may be cut; one of a line of so many characters, which takes up to 0.6 ms,
# counts as one
MOST_JOINTS, SHORT_LINE = 120, 400
TOO_MANY_PARTS = "That has too many parts. Please give me less at once, and put text in quotes."
EACH_LINE = "Each line is an instruction of its own. Put text of several lines in quotes or between ```.\n"
SECOND = (
    "Is “{}” a part of the text, or something else to be done? Put the whole text in quotes, or write one "
    "instruction on each line."
)
LETTER = (
    "That reads like a mail. Write first who it is for, and what it is about, such as write a mail to bob@example.com "
    "about Figures: and then your text. I draft it, and send nothing before you ask for that."
)
HELP = re.compile(
    r"(?:hi|hello|hey|howdy|greetings|good[ \t]++(?:morning|afternoon|evening|day))?[ \t,]*+"
    r"(?:there|all|everyone|everybody|team|bot|countersign)?[ \t,.!?]*+"
    r"(?:what (?:can|do) (?:you|i) (?:do|say|write|ask)|what are you|who are you|how (?:does this|do you) work|"
    r"commands|examples)?[ \t.!?]*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Meant:
    """What a message means. `questions` without an assumption have to be answered first: then there are no calls
    yet; nor where there are `looks`, reads of a runbook, or `lookups`, reads that tell what a name stands for: they
    have to be done first. `said`: its instructions, each as it was typed. `runbook`: one was asked for by name."""

    pieces: tuple[Piece, ...] = ()
    questions: tuple[Question, ...] = ()
    said: tuple[str, ...] = ()
    runbook: bool = False
    looks: tuple[Call, ...] = ()
    lookups: tuple[Call, ...] = ()

    @property
    def needed(self) -> tuple[Question, ...]:
        return tuple(question for question in self.questions if not question.assumption)


@dataclass(frozen=True, slots=True)
class Understanding:
    """Reads messages with a phrase book and the tools that are there. The same words mean the same. `seen`: what
    was read for them so far."""

    book: PhraseBook
    tools: Tools
    seen: Seen = field(default_factory=dict)
    files: bool = True  # the name of a file without its folder is looked up
    before: tuple[Piece, ...] = ()  # what stands before it in the plan
    told: tuple[str, ...] = ()  # the files that were read or changed before in the thread
    # What is said beside “I did not understand”, where a card waits; "" for what can be written
    waits: str = ""
    hints: bool = True  # what comes closest is said of what is not understood, which takes time
    # The cuts that are left for several texts together; without it, each message has as many as one may have
    cuts: Iterator[int] | None = field(default=None, compare=False, repr=False)
    fitting: dict[str, Found | None] = field(default_factory=dict, compare=False, repr=False)  # by line
    # What was checked, by line and by what its marks stand for
    calls: dict[tuple[str, str], Call | str | None] = field(default_factory=dict, compare=False, repr=False)
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)

    def answer(self, heard: Heard) -> str:
        """What to say to a question about this planner itself; "" for anything else."""
        if HELP.fullmatch(heard.text):
            return welcome(self.book, self.tools)
        about = help_topic(heard.text)
        if about is not None:
            return guide(about, self.tools, self.book) if about else welcome(self.book, self.tools)
        return listed(self.book) if is_list(heard.text, self.book) else ""

    def asks_what_waits(self, heard: Heard) -> bool:
        return any(match(pattern, heard.text) is not None for pattern in self.book.pending)

    async def several(self, texts: Sequence[str], decided: Sequence[SettledPoint] = ()) -> Meant:
        """Several texts as one, in their order, of no more instructions than one request may have calls. Others are
        served between two of them. Raises Unclear."""
        place, found, together = 1, list[Meant](), replace(self, cuts=all_cuts())
        for text in texts:
            found.append(together.read(hear(text), decided, place))
            place += max(1, len(found[-1].said))
            _refuse_many(place - 1)
            await asyncio.sleep(0)
        keys = (f"new-{number}" for number in count(1))
        return Meant(
            tuple(piece for one in found for piece in renumbered(one.pieces, keys)),
            tuple(question for one in found for question in one.questions),
            tuple(line for one in found for line in one.said),
            any(one.runbook for one in found),
            tuple(call for one in found for call in one.looks),
            tuple(call for one in found for call in one.lookups),
        )

    def read(self, heard: Heard, decided: Sequence[SettledPoint] = (), place: int = 1) -> Meant:
        """One message. `place`: of its first instruction, where others came before. Raises Unclear, and TooMuch where
        it cannot all be checked at once."""
        found = self.instructions(heard)
        if len(found) > MOST:
            raise Unclear(f"That is more than {MOST} instructions. Please give me at most {MOST} at once.")
        _refuse_many(sum(self._named_in(line) for line in found))
        try:
            with checked_in_a_row():
                return self._read(found, heard, decided, place)
        except TooMuch:
            raise
        except Unclear as unclear:
            several = f"I took none of the {len(found)} instructions, because one is not clear.\n"
            apart = f"{several}{EACH_LINE if len(lines(heard)) > 1 else ''}"
            raise Unclear(f"{apart if len(found) > 1 else ''}{unclear}") from None

    def _read(self, found: list[str], heard: Heard, decided: Sequence[SettledPoint], place: int) -> Meant:
        pieces, asking, looks, lookups = list[Piece](), list[Question](), list[Call](), list[Call]()
        missing, runbook = False, False
        keys = (f"new-{number}" for number in count(1))
        for at, line in enumerate(found, place):
            answers = Answers(decided, at)
            here = Said(
                "",
                answers,
                made=self._made(pieces),
                folders=[f for one in pieces for f in one.folders],
                told=() if pieces else self.told,
            )
            run = named(line, heard, self.book) if len(line) <= LONGEST else None
            if run:
                runbook = True
                asking += [
                    q for q in map(answers.mine, open_questions(run, heard)) if answers_not(q, decided)
                ]
            try:
                pieces += renumbered(self._pieces(line, heard, here), keys)
                _refuse_many(0 if runbook else len(pieces))
            except NameLookup as lookup:
                lookups += lookup.calls
            except NotThere:
                if not lookups:  # else what makes it may not be known yet
                    raise
            except Looking as looking:
                looks += looking.calls
            except Asked as asked:
                missing, new = True, [answers.mine(question) for question in asked.questions]
                ids = {question.id for question in new}
                asking = [q for q in asking if q.id not in ids] + new
        said = tuple(self.typed(line, heard) for line in found)
        known = () if missing or looks or lookups else tuple(pieces)
        return Meant(known, tuple(asking), said, runbook, tuple(looks), tuple(lookups))

    def _named_in(self, line: str) -> int:
        """How many things a line names that each become a call."""
        found = self._best(line)
        return len(items(found.slots[found.phrase.each])) if found and found.phrase.each else 0

    def typed(self, line: str, heard: Heard) -> str:
        """An instruction as it was typed, line breaks and all, so that it means the same when it is read again."""
        here, whole = heard.typed(line), heard.typed(heard.text)
        return (whole if here.split() == whole.split() else here).strip()

    def instructions(self, heard: Heard) -> list[str]:
        """The message cut into its instructions; of more than are read, the first of them. Raises Unclear where there
        are too many places to cut it at, or where a heading is more than a request."""
        content = headed(heard)
        if content and self.fits(content, heard):
            return [content]
        if is_letter(heard):
            raise Unclear(LETTER)
        found = lines(heard)
        if len(found) > 1 and not self.fits(found[0], heard):
            found = under_heading(found)  # "Please do this:"
        if len(found) > MOST:  # refused by who reads them: cutting each up would take seconds
            return found
        cuts = self.cuts or all_cuts()
        return [*islice((part for line in found for part in self._parts(line, heard, cuts)), MOST + 1)]

    def _parts(self, line: str, heard: Heard, cuts: Iterator[int]) -> Iterator[str]:
        """Cut at each "then", unless what stands before it takes everything to the end of the line."""
        if len(line) > LONGEST or is_call(line, self.tools):
            yield line
            return
        for before, after in _few(joints(line), cuts):
            found = self._best(before)
            if found and found.pattern.to_the_end:
                yield line
                return
            if self.fits(before, heard):
                yield from self._at_and(before, heard, cuts)
                yield from self._parts(after, heard, cuts)
                return
        yield from self._at_and(line, heard, cuts)

    def _at_and(self, line: str, heard: Heard, cuts: Iterator[int]) -> Iterator[str]:
        """Cut at an "and" between two instructions: what stands before it ends in a name, and what follows is an
        instruction as well. Free text, such as the title of a task, may hold an "and"."""
        for before, after in _few(conjunctions(line), cuts):
            found = self._best(before)
            if found and _ends_in_name(found) and self.fits(after, heard):
                yield before
                yield from self._at_and(after, heard, cuts)
                return
        yield line

    def _best(self, line: str) -> Found | None:
        """The phrase that a line is. It is asked for where a message is cut, counted and understood."""
        if line not in self.fitting:
            self.fitting[line] = best(self.book.phrases, line)
        return self.fitting[line]

    def _called(self, line: str, heard: Heard) -> Call | str | None:
        """The call that a line spells out, as `direct` gives it. Raises TooMuch."""
        key = line, heard.typed(line)
        if key not in self.calls:
            self.calls[key] = direct(line, heard, self.tools)
        return self.calls[key]

    def fits(self, line: str, heard: Heard) -> bool:
        """Whether this is an instruction, whole as it stands; of a call that it spells out, by its form."""
        return len(line) <= LONGEST and (is_call(line, self.tools) or self._is_said(line, heard))

    def _is_said(self, line: str, heard: Heard) -> bool:
        return self._best(line) is not None or named(line, heard, self.book) is not None

    def known(self, line: str, heard: Heard) -> bool:
        """Whether this is an instruction that can be done, or one that only lacks its last values. Raises TooMuch."""
        if len(line) <= LONGEST and (
            isinstance(self._called(line, heard), Call) or self._is_said(line, heard)
        ):
            return True
        return begun(self.book.phrases, line) is not None

    def _pieces(self, line: str, heard: Heard, said: Said) -> list[Piece]:
        """The calls of one instruction. Raises Asked, Unclear."""
        if len(line) > LONGEST:
            raise Unclear("That is too long for one instruction. Put long text in quotes or between ```.")
        run = named(line, heard, self.book)
        if run:
            refuse_question(heard.typed(line))
            pieces = wanted(run, heard, said.answers, At(self.book, self.tools, self.seen))
            if self.files:
                refuse_missing(Names(self.book.lookup, self.seen, self.files, self.memo), pieces, said.made)
            return pieces
        typed = heard.typed(line).strip()
        call = self._called(line.strip(), heard)
        if isinstance(call, Call):
            return [self._direct(call, typed)]
        found = self._best(line)
        if found:
            return self._meant(found, heard, replace(said, text=typed))
        found = None if call else begun(self.book.phrases, line)
        if found:
            return self._completed(found, heard, replace(said, text=typed))
        wrong = call or misnamed(line, heard, self.book)
        if not wrong and (self.waits or not self.hints):
            wrong = f"{missed(line, heard)} {self.waits}"
        raise Unclear(wrong or near(line, heard, self.book, self.tools))

    def _completed(self, found: Found, heard: Heard, said: Said) -> list[Piece]:
        """The calls of a line that ends too early, with the answers to what is missing. Raises as `_meant` does."""
        spec = self.tools.find(found.phrase.server, found.phrase.tool)
        if spec is None:
            raise Unclear(not_there(found.phrase.server))
        questions = open_slots(found, spec, said.text)
        whole = filled(found, questions, heard, said.answers, self.known)
        typed = {name: heard.typed(part) for name, part in whole.slots.items()}
        try:
            return self._meant(whole, heard, replace(said, text=sentence_of(found.phrase, typed)))
        except TooMuch:
            raise
        except Unclear as unclear:
            again = blamed(found, questions, unclear)
            if again:
                raise Asked(again) from None
            raise

    def _meant(self, found: Found, heard: Heard, said: Said) -> list[Piece]:
        """The calls of a phrase, with paths in the place of names. Raises NameLookup, Asked and Unclear."""
        phrase = found.phrase
        spec = self.tools.find(phrase.server, phrase.tool)
        source = found.slots.get("source", "")
        said = replace(
            said,
            named=CALLED.search(found.pattern.say) is not None,
            changes=spec is not None and class_of(spec) is not CallClass.READ,
            servers=servers(self.tools).keys(),
            source=heard.typed(source) if len(items(source)) == 1 else "",
        )
        # “move a.md to archive?” asks for it, and a text may end like that
        if said.changes and "place" not in phrase.names.values() and not found.pattern.to_the_end:
            refuse_question(said.text)
        if found.pattern.to_the_end and phrase.server == "email":  # a file may list what is to be done
            self._refuse_second(found, heard)
        names = Names(self.book.lookup, self.seen, self.files, self.memo)
        slots = self._named(found, heard, said, names)
        if spec is None:
            there = [slots[slot] for slot, kind in phrase.names.items() if kind == "there"]
            raise Unclear(away(phrase, there, self.tools))
        paths = _several(slots.get("path"))
        folders = [path for path in paths if names.is_folder(path)] if phrase.of_folder else []
        _refuse_many(max(len(folders), len(_several(slots[phrase.each])) if phrase.each else 0))
        rest = [path for path in paths if path not in folders]
        pieces = [] if folders and not rest else [*meant(phrase, _but(slots, folders), said.text, self.tools)]
        for folder in folders:
            line = phrase.of_folder.replace("{path}", str(folder))
            pieces += self._pieces(line, hear(line), said)
        keys = (f"in-{number}" for number in count(1))
        return renumbered(pieces, keys) if not folders else [replace(p, key=next(keys)) for p in pieces]

    def _refuse_second(self, found: Found, heard: Heard) -> None:
        """Raise Unclear for a text without quotes in which another instruction follows that changes something."""
        text = found.slots[next(name for name, kind in found.pattern.slots.items() if kind == ":rest")]
        for _, after in islice(chain(joints(text), conjunctions(text), sentences(text)), MOST):
            second = self._best(after) if len(after) <= LONGEST else None
            spec = self.tools.find(second.phrase.server, second.phrase.tool) if second else None
            if spec and class_of(spec) is not CallClass.READ:
                raise Unclear(SECOND.format(clipped(heard.typed(after), 60)))

    def _named(self, found: Found, heard: Heard, said: Said, names: Names) -> dict[str, Json]:
        """What the slots hold, with paths in the place of names. Raises NameLookup, Asked and Unclear."""
        slots = slots_of(found, heard)
        try:
            return names.resolved(found.phrase.names, slots, heard, said)
        except NotThere as missing:
            more = self.waits
            if not more and not missing.told and self.hints:
                more = elsewhere(said.text, found.phrase.server, self.book, self.tools)
            raise NotThere(f"{missing} {more}".strip()) from None

    def _made(self, pieces: Sequence[Piece]) -> tuple[str, ...]:
        """The paths that these, and what stands before them in the plan, make."""
        every = (*self.before, *pieces)
        return tuple(path for one in every for path in makes(one, self.book.phrases))

    def _direct(self, call: Call, typed: str) -> Piece:
        spec = self.tools.find(call.server, call.tool)
        return Piece("0", call, title(spec, call.args, {}, typed) if spec else typed)


def all_cuts() -> Iterator[int]:
    """The cuts of one message, or of several texts that are understood at once."""
    return iter(range(MOST_JOINTS))


def _few(found: Iterator[tuple[str, str]], cuts: Iterator[int]) -> Iterator[tuple[str, str]]:
    """The first ways to cut a line, as long as there are `cuts` left for its message. Raises TooMuch."""
    for way in islice(found, MOST):
        cost = 1 + sum(map(len, way)) // SHORT_LINE
        if len([*islice(cuts, cost)]) < cost:
            raise TooMuch(TOO_MANY_PARTS)
        yield way


def _refuse_many(count: int) -> None:
    """Raise Unclear before calls are made that no reply can have."""
    if count > MOST_CALLS:
        raise Unclear(TOO_MANY.format(count=count))


def _several(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _but(slots: Mapping[str, Json], folders: Sequence[Json]) -> dict[str, Json]:
    """The slots without these paths."""
    path = slots.get("path")
    left = [one for one in path if one not in folders] if isinstance(path, list) else path
    return {**slots, "path": left} if folders else dict(slots)


def _ends_in_name(found: Found) -> bool:
    """Whether the last slot of a sentence names a file or a folder."""
    *_, last = "", *found.pattern.slots
    return last in found.phrase.names


def answers_not(question: Question, decided: Sequence[SettledPoint]) -> bool:
    """Whether nobody has answered this question yet."""
    return all(one.id != question.id for one in decided)
