"""A message to what it means: calls in their order, questions about what is missing, or why it is neither."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

from gate.rules.action import Json
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.task import Question, SettledPoint
from gate.rules.thread_commands import help_topic
from tools.phrases.help import guide, welcome
from tools.phrases.name_lookup import NameLookup, Names, Said
from tools.phrases.phrase_to_calls import Answers, Asked, completed, meant, slots_of
from tools.phrases.phrasebook import PhraseBook
from tools.phrases.plan_draft import NotThere, Piece, Unclear, renumbered, title
from tools.phrases.runbook_steps import Looking, Seen
from tools.phrases.runbooks import At, is_list, listed, misnamed, named, open_questions, wanted
from tools.phrases.sentence_patterns import LONGEST, Found, begun, best, match
from tools.phrases.suggestions import elsewhere, missed, near
from tools.phrases.tokenize import Heard, conjunctions, headed, hear, joints, lines
from tools.phrases.typed_values import direct

MOST = 12  # instructions in one message
EACH_LINE = "Each line is an instruction of its own. Put text of several lines in quotes or between ```.\n"
HELP = re.compile(
    r"(?:hi|hello|hey)?[ \t,]*+(?:there|countersign)?[ \t,.!?]*+"
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
    # What is said beside “I did not understand”, where a card waits; "" for what can be written
    waits: str = ""

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

    def several(self, texts: Sequence[str], decided: Sequence[SettledPoint] = ()) -> Meant:
        """Several texts as one, in their order. Raises Unclear."""
        place, found = 1, list[Meant]()
        for text in texts:
            found.append(self.read(hear(text), decided, place))
            place += max(1, len(found[-1].said))
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
        """One message. `place`: of its first instruction, where others came before. Raises Unclear."""
        found = self.instructions(heard)
        if len(found) > MOST:
            raise Unclear(f"That is more than {MOST} instructions. Please give me at most {MOST} at once.")
        try:
            return self._read(found, heard, decided, place)
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
            run = named(line, heard, self.book) if len(line) <= LONGEST else None
            if run:
                runbook = True
                asking += [
                    q for q in map(answers.mine, open_questions(run, heard)) if answers_not(q, decided)
                ]
            try:
                pieces += renumbered(self._pieces(line, heard, answers), keys)
            except NameLookup as lookup:
                lookups += lookup.calls
            except Looking as looking:
                looks += looking.calls
            except Asked as asked:
                missing, new = True, [answers.mine(question) for question in asked.questions]
                ids = {question.id for question in new}
                asking = [q for q in asking if q.id not in ids] + new
        said = tuple(self.typed(line, heard) for line in found)
        known = () if missing or looks or lookups else tuple(pieces)
        return Meant(known, tuple(asking), said, runbook, tuple(looks), tuple(lookups))

    def typed(self, line: str, heard: Heard) -> str:
        """An instruction as it was typed, line breaks and all, so that it means the same when it is read again."""
        here, whole = heard.typed(line), heard.typed(heard.text)
        return (whole if here.split() == whole.split() else here).strip()

    def instructions(self, heard: Heard) -> list[str]:
        """The message cut into its instructions; of more than are read, the first of them."""
        content = headed(heard)
        if content and self.fits(content, heard):
            return [content]
        found = lines(heard)
        if len(found) > 1 and found[0].rstrip().endswith(":") and not self.fits(found[0], heard):
            del found[0]  # "Please do this:"
        if len(found) > MOST:  # refused by who reads them: cutting each up would take seconds
            return found
        return [*islice((part for line in found for part in self._parts(line, heard)), MOST + 1)]

    def _parts(self, line: str, heard: Heard) -> Iterator[str]:
        """Cut at each "then", unless what stands before it takes everything to the end of the line."""
        if len(line) > LONGEST or isinstance(direct(line, heard, self.tools), Call):
            yield line
            return
        for before, after in islice(joints(line), MOST):
            found = best(self.book.phrases, before)
            if found and found.pattern.to_the_end:
                yield line
                return
            if self.fits(before, heard):
                yield from self._at_and(before, heard)
                yield from self._parts(after, heard)
                return
        yield from self._at_and(line, heard)

    def _at_and(self, line: str, heard: Heard) -> Iterator[str]:
        """Cut at an "and" between two instructions: what stands before it ends in a name, and what follows is an
        instruction as well. Free text, such as the title of a task, may hold an "and"."""
        for before, after in islice(conjunctions(line), MOST):
            found = best(self.book.phrases, before)
            if found and _ends_in_name(found) and self.fits(after, heard):
                yield before
                yield from self._at_and(after, heard)
                return
        yield line

    def fits(self, line: str, heard: Heard) -> bool:
        """Whether this is an instruction, whole as it stands."""
        if len(line) > LONGEST:
            return False
        return (
            isinstance(direct(line, heard, self.tools), Call)
            or best(self.book.phrases, line) is not None
            or named(line, heard, self.book) is not None
        )

    def known(self, line: str, heard: Heard) -> bool:
        """Whether this is an instruction, or one that only lacks its last values."""
        return self.fits(line, heard) or begun(self.book.phrases, line) is not None

    def _pieces(self, line: str, heard: Heard, answers: Answers) -> list[Piece]:
        """The calls of one instruction. Raises Asked, Unclear."""
        if len(line) > LONGEST:
            raise Unclear("That is too long for one instruction. Put long text in quotes or between ```.")
        run = named(line, heard, self.book)
        if run:
            return wanted(run, heard, answers, At(self.book, self.tools, self.seen))
        typed = heard.typed(line).strip()
        said = direct(line.strip(), heard, self.tools)
        if isinstance(said, Call):
            return [self._direct(said, typed)]
        found = best(self.book.phrases, line)
        if found:
            slots = self._named(found, heard, Said(typed, answers))
            return [*meant(found.phrase, slots, typed, self.tools)]
        found = None if said else begun(self.book.phrases, line)
        if found:
            return completed(found, heard, typed, answers, self.tools)
        wrong = said or misnamed(line, heard, self.book)
        if not wrong and self.waits:
            wrong = f"{missed(line, heard)} {self.waits}"
        raise Unclear(wrong or near(line, heard, self.book, self.tools))

    def _named(self, found: Found, heard: Heard, said: Said) -> dict[str, Json]:
        """What the slots hold, with paths in the place of names. Raises NameLookup, Asked and Unclear."""
        slots = slots_of(found, heard)
        names = Names(self.book.lookup, self.seen, self.files)
        try:
            return names.resolved(found.phrase.names, slots, heard, said)
        except NotThere as missing:
            more = self.waits or elsewhere(heard.typed(said.text), found.phrase.server, self.book, self.tools)
            raise Unclear(f"{missing} {more}".strip()) from None

    def _direct(self, call: Call, typed: str) -> Piece:
        spec = self.tools.find(call.server, call.tool)
        return Piece("0", call, title(spec, call.args, {}, typed) if spec else typed)


def _ends_in_name(found: Found) -> bool:
    """Whether the last slot of a sentence names a file or a folder."""
    *_, last = "", *found.pattern.slots
    return last in found.phrase.names


def answers_not(question: Question, decided: Sequence[SettledPoint]) -> bool:
    """Whether nobody has answered this question yet."""
    return all(one.id != question.id for one in decided)
