"""A plan changed by what people say of it: what an instruction asks for, by rule alone, and what then stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice

from gate.rules.action import Json
from gate.rules.checks_in_a_row import checked_in_a_row
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.task import Question, SettledPoint, Step
from gate.sentences.thread_commands import QUOTES, Assign, Replace, edit
from tools.phrases.doubtful_messages import under_heading
from tools.phrases.interpret import MOST, Understanding, all_cuts
from tools.phrases.plan_draft import Piece, TooMuch, Unclear, renumbered, title
from tools.phrases.sentence_patterns import LONGEST, spoken
from tools.phrases.tokenize import WIDE, Heard, headed, hear, joints, lines
from tools.phrases.typed_calls import unfit
from tools.phrases.typed_values import clipped, fitted

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth last next".split()
NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(ORDINALS)})\b", re.I)
LONGEST_ARGUMENT = 64 * 1024  # characters of one argument after a replacement
MOST_LOOKED = (
    1_000_000  # characters that are looked through for the words of further changes: each takes 0.04 µs
)
FORMS = (
    "“skip step 2”, “first do step 3”, “use new.md instead of old.md”, “ask me before step 2”, or “also …”"
)
KEPT = "I kept “{said}”, but I cannot act on it. I understand {forms} with one of my phrases."
TOO_MANY_AT_ONCE = (
    "I kept “{said}”, but all that you said of this plan has too many parts to be taken in at once. Please write this "
    "again in another reply."
)
TOO_MANY_RULES = (
    f"I took none of that: it is more than {MOST} instructions. Please give me at most {MOST} at once."
)
LOOKS_FIRST = "That runbook looks first, so it cannot join a plan that is there. Ask for it in a new message."
INSTEAD = re.compile(
    r"(?:no[ \t]*+,[ \t]*+|rather[ \t]++|instead(?:[ \t]*+,)?+[ \t]++)(?P<a>\S.*)|"
    r"(?P<b>.*[^\s,])[ \t,]++instead[ \t.!]*",
    re.I | re.S,
)


def _form(text: str) -> re.Pattern[str]:
    """A blank is one or more; `STEPS:name` stands for one step or several under a group of that name."""
    one = rf"(?:steps? #?\d{{1,2}}|#\d{{1,2}}|the (?:{'|'.join(ORDINALS)}) step)"
    more = rf"(?: *+(?:, *+and|,|and|&) *+(?:\d{{1,2}}|{one}))*+"  # “ and” can be read in one way only
    text = re.sub(r"STEPS:(\w+)", lambda name: rf"(?:the )?(?P<{name[1]}>{one}{more})", text)
    text = re.sub(r"STEP:(\w+)", lambda name: rf"(?P<{name[1]}>{one}|\d{{1,2}})", text)
    return re.compile(text.replace(" ", r"[ \t]+").replace(r"[ \t]+*", r"[ \t]*"), re.I | re.S)


DROP = _form(
    r"(?:skip|drop|remove|delete|omit|cancel|forget|leave out|leave off|without|do not do|don['’]?t do) STEPS:steps"
)
FIRST = _form(r"first (?:do )?STEPS:a|(?:do )?STEPS:b first|start with STEPS:c")
MOVE = _form(
    r"(?:move|put|do) STEPS:steps (?:(?:to|at|as) (?:the )?(?P<end>step #?\d{1,2}|\d{1,2}|"
    r"top|front|start|beginning|end|bottom)|(?P<by>before|after) STEP:other)"
)
SWAP = _form(r"(?:swap|exchange) STEPS:steps(?: (?:and|with|for) STEP:with)?")
ASK = _form(r"(?:ask|check with) me (?:again )?(?:before|at|about|for|on) STEPS:steps")
INSIDE = _form(r"(?:in|for|at|on)? *STEPS:steps(?: *+[,:])?+ +(?P<rest>\S.*)")
USE_INSTEAD = _form(
    r"(?:use|take) (?P<new>\S+|\S.*?\S) +instead of (?P<old>\S.*)|"
    r"instead of (?P<old2>\S+?|\S.*?[^\s,])(?: *+,)?+ +(?:use|take) (?P<new2>\S.*)"
)
WORD = _form(r"(?:please )?(?:change|replace) (?P<old>\S+) (?:to|with|by) (?P<new>\S+)")
ADD = _form(
    r"(?:first|before (?:that|all|everything))[\s,:]+(?P<front>\S.*)|"
    r"(?P<by>before|after) STEP:other[\s,:]+(?P<beside>\S.*)|"
    r"(?:also|additionally|and|then|and then|finally|add|afterwards|after that|at the end|in addition)"
    r"[\s,:]+(?P<end>\S.*)"
)


@dataclass(frozen=True, slots=True)
class Drop:
    steps: tuple[str, ...]  # numbers as on the card, or words such as `last`


@dataclass(frozen=True, slots=True)
class Shift:
    """Put these steps before or after another, or at an end: `top`, `end`, or a number."""

    steps: tuple[str, ...]
    where: str  # "to", "before", "after"
    target: str


@dataclass(frozen=True, slots=True)
class Swap:
    one: str
    other: str


@dataclass(frozen=True, slots=True)
class AskAt:
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Other values. `steps` empty: wherever they stand. `whole`: only whole words are replaced."""

    edit: Replace | Assign
    steps: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Add:
    """More to do: `text` is an instruction of its own. `where`: "end", "front", "before" or "after" `target`."""

    text: str
    where: str = "end"
    target: str = ""


Order = Drop | Shift | Swap | AskAt | Change | Add


def order(line: str) -> Order:
    """What one line asks for. What is none of the rules may be an instruction of its own: Add."""
    if len(line) > LONGEST or WIDE.search(line):
        return Add(line.strip())
    for text in spoken(line):
        found = _about_steps(text) or _change(text)
        if found:
            return found
    return _added(line.strip())


def _about_steps(text: str) -> Order | None:
    if found := DROP.fullmatch(text):
        return Drop(_numbers(found["steps"]))
    if found := FIRST.fullmatch(text):
        return Shift(_numbers(found["a"] or found["b"] or found["c"]), "to", "top")
    if found := MOVE.fullmatch(text):
        target = found["end"] or found["other"]
        return Shift(
            _numbers(found["steps"]), found["by"] or "to", (_numbers(target) or (target.lower(),))[0]
        )
    if found := SWAP.fullmatch(text):
        both = (*_numbers(found["steps"]), *_numbers(found["with"] or ""))
        return Swap(both[0], both[1]) if len(both) == 2 else None
    if found := ASK.fullmatch(text):
        return AskAt(_numbers(found["steps"]))
    return None


def _change(text: str) -> Change | None:
    inside = INSIDE.fullmatch(text)
    if inside:
        inner = _edit(inside["rest"])
        return Change(inner.edit, _numbers(inside["steps"]), inner.whole) if inner else None
    return _edit(text)


def _edit(text: str) -> Change | None:
    if found := USE_INSTEAD.fullmatch(text):
        old, new = found["old"] or found["old2"], found["new"] or found["new2"]
        return Change(Replace(_bare(old), _bare(new)), whole=old.strip()[:1] not in QUOTES)
    quoted = edit(text)
    if isinstance(quoted, Replace):
        return Change(quoted)
    if found := WORD.fullmatch(text):
        if isinstance(quoted, Assign):
            return Change(quoted, whole=True)
        return Change(Replace(_bare(found["old"]), _bare(found["new"])), whole=True)
    return Change(quoted) if quoted else None


def _added(text: str) -> Add:
    found = ADD.fullmatch(text)
    if found is None:
        return Add(text)
    if found["front"]:
        return Add(found["front"], "front")
    if found["beside"]:
        return Add(found["beside"], found["by"].lower(), _numbers(found["other"])[0])
    return Add(found["end"])


def _numbers(text: str) -> tuple[str, ...]:
    return tuple(number.lower() for number in NUMBER.findall(text))


def _bare(part: str) -> str:
    heard = hear(part.strip())
    value = heard.value(heard.text)
    return value if isinstance(value, str) else part.strip()


class Refused(Exception):
    """An instruction that was understood and cannot be followed. Its text says why."""


@dataclass
class Changing:
    """A plan while it is changed. `done`: the steps that are over, which come before it on the card."""

    pieces: list[Piece]
    done: Sequence[Step]
    understanding: Understanding
    decided: Sequence[SettledPoint] = ()
    notes: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    lookups: list[Call] = field(default_factory=list)  # reads that are needed before it can be changed
    looked: int = 0  # characters in which words were looked for to replace them
    cuts: Iterator[int] = field(default_factory=all_cuts)  # that are left for all of its texts
    keys: Iterator[str] = field(default_factory=lambda: (f"more-{number}" for number in count(1)))

    def take(self, text: str) -> None:
        """Follow one message, line by line; what cannot be followed is noted and changes nothing. One of too many lines
        is not followed at all."""
        try:
            found = self._lines(text)
        except Unclear as unclear:
            self.notes.append(str(unclear))
            return
        if len(found) > MOST:
            self.notes.append(TOO_MANY_RULES)
            return
        with checked_in_a_row():
            for line in found:
                self._take_line(line)

    def _take_line(self, line: str) -> None:
        before = list(self.pieces)
        try:
            self._follow(order(line))
            self._in_order()
        except Refused as refused:
            self.pieces = before
            self.notes.append(str(refused))
        except TooMuch:
            self.pieces = before
            self.notes.append(TOO_MANY_AT_ONCE.format(said=clipped(line, 80)))
        except Unclear:
            self.pieces = before
            self.notes.append(KEPT.format(said=clipped(line, 80), forms=FORMS))

    def _lines(self, text: str) -> list[str]:
        """One rule at a time. A text under a line that ends with a colon is that line's content, and stays."""
        heard = hear(text)
        content = headed(heard)
        if content and self.understanding.fits(content, heard):
            return [text]
        found = under_heading(lines(heard))
        if len(found) > MOST:  # refused: cutting each up would take seconds
            return found
        return [*islice((part for line in found for part in _rules(line, heard)), MOST + 1)]

    def _follow(self, said: Order) -> None:
        if isinstance(said, Drop):
            self._drop(said)
        elif isinstance(said, Shift):
            self._shift(said)
        elif isinstance(said, Swap):
            one, other = self._at(said.one), self._at(said.other)
            self.pieces[one], self.pieces[other] = self.pieces[other], self.pieces[one]
        elif isinstance(said, AskAt):
            for at in map(self._at, said.steps):
                self.pieces[at] = replace(self.pieces[at], ask=True)
        elif isinstance(said, Change):
            self._change(said)
        else:
            self._add(said)

    def _at(self, number: str) -> int:
        """The place of a step that is still to be done, by its number on the card. Raises Refused."""
        over, last = len(self.done), len(self.done) + len(self.pieces)
        if not self.pieces:
            raise Refused("Nothing is left of this plan; write what else is to be done.")
        wanted = int(number) if number.isdecimal() else self._named(number)
        if wanted <= over and wanted > 0:
            raise Refused(f"Step {wanted} is over already.")
        if not 0 < wanted <= last:
            raise Refused(f"There is no step {wanted}: the last one is {last}.")
        return wanted - over - 1

    def _named(self, word: str) -> int:
        if word in ("last", "next"):
            return len(self.done) + (len(self.pieces) if word == "last" else 1)
        return ORDINALS.index(word) + 1

    def _number(self, piece: Piece) -> int:
        return len(self.done) + self.pieces.index(piece) + 1

    def _drop(self, said: Drop) -> None:
        gone = {self.pieces[self._at(number)].key for number in said.steps}
        numbers = {piece.key: self._number(piece) for piece in self.pieces}
        left = [piece for piece in self.pieces if piece.key not in gone]
        if not left:
            raise Refused("Nothing would be left of the plan. Cancel it instead.")
        for piece in left:
            if lost := piece.needs & gone:
                number = min(numbers[key] for key in lost)
                raise Refused(
                    f"Step {numbers[piece.key]} needs what step {number} gives: skip both, or none of them."
                )
        self.pieces = left

    def _shift(self, said: Shift) -> None:
        moved = [self.pieces[self._at(number)] for number in said.steps]
        if said.where == "to" and not said.target.isdecimal():
            at = len(self.pieces) if said.target in ("end", "bottom", "last") else 0
            rest = [piece for piece in self.pieces if piece not in moved]
        else:
            goal = self.pieces[self._at(said.target)]
            rest = [piece for piece in self.pieces if piece not in moved]
            if goal in moved:
                at = self.pieces.index(goal)
            else:
                down = said.where == "to" and self.pieces.index(moved[0]) < self.pieces.index(goal)
                at = rest.index(goal) + (1 if said.where == "after" or down else 0)
        self.pieces = rest[:at] + moved + rest[at:]

    def _in_order(self) -> None:
        """No step before the one whose result it takes. Raises Refused."""
        known = {step.id for step in self.done}
        ours = {piece.key: self._number(piece) for piece in self.pieces}
        for piece in self.pieces:
            for key in sorted(piece.needs - known):
                raise Refused(
                    f"That order does not work: step {ours[piece.key]} needs what “{self._title(key)}” gives."
                )
            known.add(piece.key)

    def _title(self, key: str) -> str:
        return next((piece.title for piece in self.pieces if piece.key == key), "a step that is not there")

    def _change(self, said: Change) -> None:
        places = [self._at(number) for number in said.steps] or range(len(self.pieces))
        change = said.edit
        if isinstance(change, Assign) and not any(self._takes(at, change.name) for at in places):
            if not said.whole:
                raise Refused(f"No step takes “{clipped(change.name, 40)}”.")
            change = Replace(change.name, change.value)
        if isinstance(change, Assign):
            self._assign(change, [at for at in places if self._takes(at, change.name)])
            return
        if self.looked > MOST_LOOKED:
            raise Refused(
                "That is too much text for more changes at once. Write the others in another reply."
            )
        changed, replacing = False, _replacing(change, said.whole)
        for at in places:
            piece = self.pieces[at]
            args = _replaced(piece.call.args, self._counted(replacing))
            if args != piece.call.args:
                changed = True
                self.pieces[at] = self._with(piece, args, replacing(piece.title))
        if not changed:
            raise Refused(f"I cannot find “{clipped(change.old, 60)}” in what is left of the plan.")

    def _counted(self, replacing: Callable[[str], str]) -> Callable[[str], str]:
        def in_text(text: str) -> str:
            self.looked += len(text)
            return replacing(text)

        return in_text

    def _takes(self, at: int, name: str) -> bool:
        call = self.pieces[at].call
        spec = self.understanding.tools.find(call.server, call.tool)
        return spec is not None and name in spec.schema.get("properties", {}) and name not in spec.recipe.bind

    def _assign(self, change: Assign, places: Sequence[int]) -> None:
        if len(places) > 1:
            numbers = ", ".join(str(len(self.done) + at + 1) for at in places)
            raise Refused(
                f"Several steps take “{change.name}” ({numbers}). Write for example "
                f"“step {len(self.done) + places[0] + 1}: set {change.name} to {clipped(change.value, 40)}”."
            )
        piece = self.pieces[places[0]]
        spec = self.understanding.tools.find(piece.call.server, piece.call.tool)
        value = fitted(change.value, spec.schema["properties"][change.name] if spec else {})
        said = f"{spec.title or spec.full_name} ({change.name}: {change.value})" if spec else piece.title
        refs = {name: ref for name, ref in piece.refs.items() if name != change.name}
        changed = self._with(replace(piece, refs=refs), {**piece.call.args, change.name: value}, said)
        self.pieces[places[0]] = changed

    def _with(self, piece: Piece, args: Mapping[str, Json], said: str) -> Piece:
        """The piece with other arguments, of the step that it was, so that it stays as private. Raises Refused."""
        tools: Tools = self.understanding.tools
        spec = tools.find(piece.call.server, piece.call.tool)
        if spec is None:
            raise Refused(
                f"`{piece.call.server}.{piece.call.tool}` is not there now, so it cannot be changed."
            )
        wrong = unfit(spec, args, tools, piece.refs)
        if wrong:
            raise Refused(wrong.text)
        call = Call(spec.server, spec.name, dict(args))
        return replace(piece, call=call, title=title(spec, args, piece.refs, said))

    def _add(self, said: Add) -> None:
        """A further instruction. Raises Unclear."""
        rather = None if WIDE.search(said.text) else INSTEAD.fullmatch(said.text)
        text = (rather["a"] or rather["b"]) if rather else said.text
        known = replace(self.understanding, before=tuple(self.pieces), hints=False, cuts=self.cuts)
        meant = known.read(hear(text), self.decided)
        if meant.needed:
            self.questions += meant.needed
            return
        if meant.lookups:
            self.lookups += meant.lookups
            return
        if meant.looks:
            raise Refused(LOOKS_FIRST)
        fresh = renumbered(meant.pieces, self.keys)
        if rather:
            self._instead(fresh)
            return
        at = {"end": len(self.pieces), "front": 0}.get(said.where)
        if at is None:
            at = self._at(said.target) + (said.where == "after")
        self.pieces[at:at] = fresh

    def _instead(self, fresh: list[Piece]) -> None:
        """One call in the place of the one step that it is most like. Raises Unclear where that is not clear."""
        alike = [at for at, piece in enumerate(self.pieces) if len(fresh) == 1 and _alike(piece, fresh[0])]
        if len(alike) != 1:
            raise Unclear("several steps, or none, are like this")
        self.pieces[alike[0]] = replace(fresh[0], key=self.pieces[alike[0]].key)


def _rules(line: str, heard: Heard) -> Iterator[str]:
    """Cut at each "then" behind a rule about the plan; what is no such rule may be a sentence with one in it."""
    for before, after in islice(joints(line), MOST):
        if not isinstance(order(heard.typed(before)), Add):
            yield heard.typed(before)
            yield from _rules(after, heard)
            return
    yield heard.typed(line)


def _alike(piece: Piece, other: Piece) -> bool:
    same = (piece.call.server, piece.call.tool) == (other.call.server, other.call.tool)
    return same and any(piece.call.args.get(name) == value for name, value in other.call.args.items())


def _replacing(change: Replace, whole: bool) -> Callable[[str], str]:
    """What replaces the words in one text. Raises Refused where the text would get too long."""
    form = re.compile(rf"(?<!\w){re.escape(change.old)}(?!\w)" if whole else re.escape(change.old))
    new = change.new.replace("\\", r"\\")

    def in_text(text: str) -> str:
        count = text.count(change.old)  # quicker than the form, which finds no more
        if len(text) + count * len(change.new) > LONGEST_ARGUMENT:
            count = len(form.findall(text))
        if len(text) + count * len(change.new) > LONGEST_ARGUMENT:
            raise Refused("With that, an argument would get too long.")
        return form.sub(new, text) if count else text

    return in_text


def _replaced(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _replaced(inner, change) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(inner, change) for inner in value]
    return value
