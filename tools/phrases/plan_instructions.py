"""What an instruction about a plan says: drop a step, another order, ask there, other values. By rule alone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gate.rules.thread_commands import QUOTES, Assign, Replace, edit
from tools.phrases.matching import LONGEST, spoken
from tools.phrases.tokenize import WIDE, hear

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth last next".split()
NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(ORDINALS)})\b", re.I)


def _form(text: str) -> re.Pattern[str]:
    """A blank is one or more; `STEPS:name` stands for one step or several under a group of that name."""
    one = rf"(?:steps? #?\d{{1,2}}|#\d{{1,2}}|the (?:{'|'.join(ORDINALS)}) step)"
    more = rf"(?: *(?:,|,? *and|&) *(?:\d{{1,2}}|{one}))*"
    text = re.sub(r"STEPS:(\w+)", lambda name: rf"(?:the )?(?P<{name[1]}>{one}{more})", text)
    text = re.sub(r"STEP:(\w+)", lambda name: rf"(?P<{name[1]}>{one}|\d{{1,2}})", text)
    return re.compile(text.replace(" ", r"[ \t]+").replace(r"[ \t]+*", r"[ \t]*"), re.I | re.S)


DROP = _form(
    r"(?:skip|drop|remove|delete|omit|cancel|forget|leave out|leave off|without|do not do|don't do) STEPS:steps"
)
FIRST = _form(r"first (?:do )?STEPS:a|(?:do )?STEPS:b first|start with STEPS:c")
MOVE = _form(
    r"(?:move|put|do) STEPS:steps (?:(?:to|at|as) (?:the )?(?P<end>step #?\d{1,2}|\d{1,2}|"
    r"top|front|start|beginning|end|bottom)|(?P<by>before|after) STEP:other)"
)
SWAP = _form(r"(?:swap|exchange) STEPS:steps(?: (?:and|with|for) STEP:with)?")
ASK = _form(r"(?:ask|check with) me (?:again )?(?:before|at|about|for|on) STEPS:steps")
INSIDE = _form(r"(?:in|for|at|on)? *STEPS:steps *[,:]? (?P<rest>\S.*)")
INSTEAD = _form(
    r"(?:use|take) (?P<new>\S+|\S.*?) instead of (?P<old>\S.*)|"
    r"instead of (?P<old2>\S+|\S.*?) *,? (?:use|take) (?P<new2>\S.*)"
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
    if found := INSTEAD.fullmatch(text):
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
