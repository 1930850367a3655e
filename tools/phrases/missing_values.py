"""What a sentence that ends too early still needs, and the answers that are taken for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from gate.rules.action import Json
from gate.rules.task import Missing, Question
from gate.rules.templates import names
from gate.rules.tool import ToolSpec
from tools.phrases.doubtful_messages import is_no_answer, is_withdrawal
from tools.phrases.phrase_to_calls import Answers, Asked, again
from tools.phrases.phrasebook import Phrase
from tools.phrases.plan_draft import Unclear
from tools.phrases.sentence_patterns import Found
from tools.phrases.tokenize import MARK, Heard, hear
from tools.phrases.typed_values import clipped, words
from tools.phrases.words_not_names import DAY

TOWARDS = re.compile(r"(?:to|into|in|onto|under|as)[ \t]++(?=\S)", re.IGNORECASE)  # “to archive” is archive
WITHDRAWN = "I did nothing, because you wrote “{}”. To go on, write the whole instruction."
NO_ANSWER = "“{}” does not read like an answer. If it is meant just so, put it in quotes."
Known = Callable[[str, Heard], bool]


def open_slots(found: Found, spec: ToolSpec, said: str) -> dict[str, Question]:
    """The question for each slot that is missing."""
    return {name: _question(found.phrase, spec, name, said) for name in found.missing}


def filled(
    found: Found, questions: Mapping[str, Question], heard: Heard, answers: Answers, known: Known
) -> Found:
    """The whole sentence, with the answers to what is missing. `known`: whether a text is an instruction. Raises Asked
    and Unclear."""
    asking = tuple(question for question in questions.values() if answers.to(question) is None)
    if asking:
        raise Asked(asking)
    slots = dict(found.slots)
    for name, question in questions.items():
        answer = answers.to(question)
        if not answer:
            raise Unclear(f"That cannot be done without {_name(name)}.")
        text = found.pattern.slots[name] in (":rest", ":quoted", ":title")
        if text and DAY.fullmatch(answer.strip()):
            raise Asked((again(question, NO_ANSWER.format(answer.strip())),))
        if found.pattern.slots[name] == ":number" and not _is_number(answer):
            raise Asked((again(question, f"“{clipped(answer, 60)}” is no whole number."),))
        slots[name] = _part(found, name, _checked(answer, question, known), heard)
    return replace(found, slots=slots, missing=())


def blamed(found: Found, questions: Mapping[str, Question], unclear: Unclear) -> tuple[Question, ...]:
    """The questions again whose answers the tool does not take."""
    wrong = [q for name, q in questions.items() if _used(found.phrase, name) & {*unclear.blamed}]
    return tuple(again(question, str(unclear)) for question in wrong)


def _checked(answer: str, question: Question, known: Known) -> Heard:
    """What was answered. Raises Unclear for a withdrawal; Asked for what is no answer unless it is quoted."""
    heard = hear(answer)
    if heard.is_quoted(heard.text) or answer in question.options:
        return heard
    if is_withdrawal(answer):
        raise Unclear(WITHDRAWN.format(clipped(answer, 60)))
    if is_no_answer(answer) or known(heard.text, heard):
        raise Asked((again(question, NO_ANSWER.format(clipped(answer, 60))),))
    return heard


def _is_number(answer: str) -> bool:
    heard = hear(answer)
    return heard.typed(heard.text).strip().isdecimal()


def _part(found: Found, name: str, answer: Heard, heard: Heard) -> str:
    """An answer as a part of the sentence that it completes."""
    text = MARK.sub(
        lambda mark: heard.aside(answer.raw[int(mark[1])], answer.values[int(mark[1])]), answer.text
    )
    kind = found.pattern.slots[name]
    if kind in (":rest", ":quoted") and not heard.is_quoted(text):
        return heard.aside(heard.typed(text), heard.typed(text))  # it is the text, whatever stands in it
    return TOWARDS.sub("", text, count=1) if name in found.phrase.names else text


def _used(phrase: Phrase, slot: str) -> set[str]:
    """The arguments that this slot goes into."""
    return {key for key, value in phrase.args.items() if slot in {path[0] for path in names(value)}}


def _question(phrase: Phrase, spec: ToolSpec, slot: str, said: str) -> Question:
    properties: Mapping[str, Json] = spec.schema.get("properties", {})
    schema = next((properties.get(k) for k, v in phrase.args.items() if v == f"{{{slot}}}"), None) or {}
    more = f" {schema['description']}" if spec.believed and isinstance(schema.get("description"), str) else ""
    default = schema.get("default")
    assumption = "" if default is None else words(default)
    text = f"Which {_name(slot)} for “{clipped(said, 80)}”?{more}"
    return Question(f"value:{slot}", text, Missing.VALUE, _options(schema), assumption)


def _options(schema: Mapping[str, Json]) -> tuple[str, ...]:
    if schema.get("type") == "boolean":
        return ("yes", "no")
    return tuple(words(value) for value in schema.get("enum", ()))


def _name(slot: str) -> str:
    return slot.replace("_", " ")
