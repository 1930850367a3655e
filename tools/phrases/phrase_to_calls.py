"""A phrase that was said to its calls; and what is still to be asked for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gate.rules.action import Json
from gate.rules.planner_port import Call
from gate.rules.ports import Tools
from gate.rules.task import Question, SettledPoint
from gate.rules.templates import expand
from gate.rules.tool import ToolSpec
from tools.phrases.days_and_times import NO_END, counted_from_now, spoken_moment, title_end, without_time
from tools.phrases.phrasebook import NameKind, Phrase
from tools.phrases.plan_draft import Later, Piece, Unclear, not_there, separated, title
from tools.phrases.sentence_patterns import SLOT, Found, bare, number
from tools.phrases.titles import ABOUT_TEXT, CONDITIONAL, refuse_doubtful_text, refuse_doubtful_title
from tools.phrases.tokenize import Heard
from tools.phrases.typed_calls import unfit
from tools.phrases.typed_values import clipped, fitted, items, words

TWO_PARTS = re.compile(r"\0\d+\0[ \t]*+[^ \t]")  # a quoted title, and words that are no part of it
NO_SINGLE_TITLE = (
    "I am not sure what the title is: “{}”? Write one instruction for each title, or put the whole title in "
    "quotes."
)
NO_TEXT = (
    "I am not sure which text you mean: “{}”? Put the whole text in quotes, or write it behind a colon, such as "
    "create notes.md with: Buy milk."
)
ABOUT_TITLE = re.compile(r"(?:for|about|with|from|of|by)\b", re.IGNORECASE)
NO_TITLE_YET = (
    "“{}” does not say what is to be done. Write it behind a colon, such as add a task: call Bob. What I write down "
    "is yours: I cannot give it to somebody else."
)
FILE_IN = re.compile(r"\.[a-z][a-z0-9]{1,4}(?!\S)", re.IGNORECASE)
NEW_NAMES: tuple[NameKind, ...] = ("place", "new", "fresh", "folder", "beside")


class Answers:
    """What was decided so far, by the id of its question. An answer counts only for the very question that it was
    given to: the same name in another request is another value."""

    def __init__(self, decided: Sequence[SettledPoint] = (), place: int = 1) -> None:
        """`place`: of the instruction that they are for, from 1."""
        self._decided = {one.id: one for one in decided}
        self._ending = f":{place}" if place > 1 else ""

    def mine(self, question: Question) -> Question:
        """The question with an id that no other instruction of the same text uses."""
        return replace(question, id=f"{question.id}{self._ending}")

    def to(self, question: Question) -> str | None:
        """None where it was not asked yet; "" where it was passed over."""
        found = self._decided.get(self.mine(question).id)
        return found.answer if found and found.question.endswith(question.text) else None


class Asked(Exception):
    """These values are needed before anything can be proposed."""

    def __init__(self, questions: tuple[Question, ...]) -> None:
        super().__init__(" ".join(question.text for question in questions))
        self.questions = questions


def slot_value(kind: str, part: str, heard: Heard) -> Json:
    """What a slot holds. Raises Unclear for a title whose end no slot for a day or a time could take."""
    if kind == ":number":
        return number(part)
    if kind == ":when":
        if told := counted_from_now(part):
            raise Unclear(told)
        return spoken_moment(part).fields()
    if kind == "...":
        return [heard.value(item) for item in items(part)]
    value = heard.value(part)
    if kind == ":title" and not heard.is_quoted(part):
        _refuse_no_title(part, heard.typed(part))
    return value if isinstance(value, str) else heard.typed(part)


def _refuse_no_title(part: str, typed: str) -> None:
    """Raise Unclear for a title of which words are something else, or none are what is to be done."""
    if TWO_PARTS.match(part):
        raise Unclear(NO_SINGLE_TITLE.format(clipped(typed, 60)))
    if ABOUT_TITLE.match(part):
        raise Unclear(NO_TITLE_YET.format(clipped(typed, 60)))
    end = title_end(part)
    if end:
        raise Unclear(NO_END.format(clipped(typed, 60), end))


def slots_of(found: Found, heard: Heard) -> dict[str, Json]:
    """What the slots hold. Raises Unclear."""
    rest = next((name for name, kind in found.pattern.slots.items() if kind == ":rest"), "")
    if rest in found.slots and f": {{{rest}" not in found.pattern.say:
        text = found.slots[rest]
        told = ABOUT_TEXT.match(text.lstrip()) or FILE_IN.search(text) or CONDITIONAL.search(text)
        if told and not heard.is_quoted(text):
            raise Unclear(NO_TEXT.format(clipped(heard.typed(text), 60)))
    if rest in found.slots and not heard.is_quoted(found.slots[rest]):
        refuse_doubtful_text(found.slots[rest])
    values = {name: slot_value(found.pattern.slots[name], part, heard) for name, part in found.slots.items()}
    event, named = found.phrase.server == "calendar", found.phrase.tool == "create_event"
    for name, part in found.slots.items():
        kind = found.pattern.slots[name]
        if kind == ":when" and event and (instead := without_time(spoken_moment(part))):
            raise Unclear(instead)
        if kind == ":title" and not heard.is_quoted(part):
            refuse_doubtful_title(heard.typed(part), event, named)
    return values


def meant(phrase: Phrase, slots: Mapping[str, Json], said: str, tools: Tools) -> Iterator[Piece]:
    """The calls of one phrase, keyed from 0. `said`: the sentence, for titles. Raises Unclear."""
    spec = tools.find(phrase.server, phrase.tool)
    if spec is None:
        raise Unclear(not_there(phrase.server))
    values = slots[phrase.each] if phrase.each else (None,)
    assert isinstance(values, list | tuple)
    for place, value in enumerate(values):
        scope = {**slots, phrase.each: value}
        args = expand(dict(phrase.args), scope)
        sentence = said if len(values) == 1 else sentence_of(phrase, scope)
        piece = made(spec, args, sentence, str(place), tools)
        placed, new = _paths(phrase, args, "place"), _paths(phrase, args, *NEW_NAMES)
        yield replace(
            piece,
            takes=_paths(phrase, args, "there"),
            gives=new,
            into=(*placed, *(path.rpartition("/")[0] for path in new if "/" in path)),
            folders=_paths(phrase, args, "folder"),
        )


def _paths(phrase: Phrase, args: Mapping[str, Json], *kinds: NameKind) -> tuple[str, ...]:
    """The paths among the arguments that are slots of these kinds."""
    slots = {f"{{{slot}}}" for slot, kind in phrase.names.items() if kind in kinds}
    values = [args[name] for name, value in phrase.args.items() if isinstance(value, str) and value in slots]
    return tuple(str(path) for value in values for path in (value if isinstance(value, list) else [value]))


def makes(piece: Piece, phrases: Sequence[Phrase]) -> tuple[str, ...]:
    """The paths that a call makes, also one of an earlier plan, of which only its arguments are known."""
    call = piece.call
    same = [
        p
        for p in phrases
        if (p.server, p.tool) == (call.server, call.tool) and p.args.keys() <= call.args.keys()
    ]
    paths = [path for phrase in same for path in _paths(phrase, call.args, *NEW_NAMES)]
    return (*piece.gives, *piece.folders, *paths)


def made(spec: ToolSpec, args: Mapping[str, Json], said: str, key: str, tools: Tools) -> Piece:
    """One call as the tool wants it. Raises Unclear."""
    properties = spec.schema.get("properties", {})
    fit = {k: v if isinstance(v, Later) else fitted(v, properties.get(k)) for k, v in args.items()}
    known, refs = separated(fit)
    wrong = unfit(spec, known, tools, refs)
    if wrong:
        cannot = f"“{clipped(said, 80)}” cannot be done: {wrong.reason} `help {spec.server}` shows examples."
        raise Unclear(cannot if wrong.reason else wrong.text, wrong.blamed)
    return Piece(key, Call(spec.server, spec.name, known), title(spec, known, refs, said), refs)


def sentence_of(phrase: Phrase, slots: Mapping[str, Json]) -> str:
    """The phrase as somebody would say it with these values."""
    return SLOT.sub(lambda slot: _shown(slots.get(slot[1])), bare(phrase.patterns[0].say))


def _shown(value: Json) -> str:
    return (
        "…"
        if value is None
        else "the result of an earlier step"
        if isinstance(value, Later)
        else words(value["said"] if isinstance(value, Mapping) else value)
    )


def again(question: Question, reason: str) -> Question:
    """The same question, with what was wrong with the answer. Nothing is assumed any more."""
    return Question(question.id, f"{reason} {question.text}", question.missing, question.options)
