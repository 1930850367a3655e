"""Runbooks by name: `run tidy-drafts for notes.md`, what their parameters are given, and the list of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from gate.rules.action import Json
from gate.rules.close_names import close_matches
from gate.rules.ports import Tools
from gate.rules.task import Missing, Question
from gate.rules.templates import TemplateError
from tools.mcp.schema import either, unknown
from tools.phrases.phrase_file import plain_name
from tools.phrases.phrase_to_calls import Answers, Asked, again
from tools.phrases.phrasebook import LOOKS, Parameter, PhraseBook, Runbook
from tools.phrases.plan_draft import Piece, TooMuch, Unclear
from tools.phrases.runbook_steps import Seen, looked, pieces
from tools.phrases.sentence_patterns import spoken
from tools.phrases.titles import refuse_doubtful_value
from tools.phrases.tokenize import Heard, hear
from tools.phrases.typed_values import bullets, clipped, coerced, items, words

RUN = re.compile(
    r"(?:run|start|execute)[ \t]+(?:the[ \t]+)?(?P<runbook>runbook[ \t]+)?(?P<rest>\S.*)", re.I | re.S
)
LIST = re.compile(
    r"(?:(?:list|show|show me)[ \t]+)?(?:all[ \t]+)?(?:the[ \t]+|my[ \t]+)?runbooks|"
    r"(?:what|which)[ \t]+runbooks[ \t]+(?:are[ \t]+there|do[ \t]+you[ \t]+have|can[ \t]+(?:i|you)[ \t]+run)",
    re.I,
)
BEFORE = re.compile(r"(?:for|with|on|using)(?=[ \t:\0]|$)", re.I)
BEHIND = re.compile(r"(?<=[ \t,\0])(?:and|with)$|^(?:and|with)$", re.I)
STRANGE = re.compile(r"(?<![\w-])[\d-]*+([A-Za-z_][\w-]*+)[ \t]*+=")
BLANKS = " \t,:"
NUMBER = {"type": "number"}


@dataclass(frozen=True, slots=True)
class At:
    """What a run is worked out with: the phrases, the tools that are there, and what was read so far."""

    book: PhraseBook
    tools: Tools
    seen: Seen


@dataclass(frozen=True, slots=True)
class Run:
    """A runbook that was named, and what stands behind its name."""

    runbook: Runbook
    rest: str


def named(line: str, heard: Heard, book: PhraseBook) -> Run | None:
    """The runbook that the line asks to run."""
    for text in spoken(line) if book.runbooks else ():
        asked = RUN.fullmatch(text)
        for label, runbook in _labels(book) if asked else ():
            rest = _after(asked["rest"], label, heard) if asked else None
            if rest is not None:
                return Run(runbook, rest)
    return None


def _labels(book: PhraseBook) -> list[tuple[str, Runbook]]:
    """Names and titles, the longest first."""
    found = {plain_name(label): r for r in book.runbooks for label in (r.name, r.title)}
    return sorted(found.items(), key=lambda pair: -len(pair[0]))


def _after(text: str, label: str, heard: Heard) -> str | None:
    """What follows this name; None where the text begins otherwise."""
    quoted = re.match(r"\0\d+\0", text)
    if quoted:
        value = heard.value(quoted[0])
        return text[quoted.end() :] if isinstance(value, str) and plain_name(value) == label else None
    form = r"[-_ \t]+".join(map(re.escape, label.split()))
    found = re.match(rf"{form}(?:[ \t]+runbook)?(?=[ \t,:]|$)", text, re.I)
    return text[found.end() :] if found else None


def misnamed(line: str, heard: Heard, book: PhraseBook) -> str:
    """What to say where somebody seems to mean a runbook that is not there; "" where they do not."""
    for text in spoken(line) if book.runbooks else ():
        asked = RUN.fullmatch(text)
        if asked:
            name = heard.typed(asked["rest"]).strip()
            close = close_matches(
                plain_name(name.split()[0]), [plain_name(r.name) for r in book.runbooks], 3, 0.6
            )
            names = [f"`{r.name}`" for r in book.runbooks if plain_name(r.name) in close]
            if names or asked["runbook"]:
                hint = f" Did you mean {either(names)}?" if names else f"\n{listed(book)}"
                return f"There is no runbook “{clipped(name, 60)}”.{hint}"
    return ""


def is_list(text: str, book: PhraseBook) -> bool:
    """Whether somebody asks which runbooks there are."""
    return bool(book.runbooks) and any(LIST.fullmatch(part) for part in spoken(text))


def listed(book: PhraseBook) -> str:
    """All runbooks, with what each takes and how to run it."""
    return f"Runbooks:\n{bullets([_line(runbook) for runbook in book.runbooks])}"


def _line(runbook: Runbook) -> str:
    takes = [p.name if p.default is None else f"{p.name} ({words(p.default)})" for p in runbook.parameters]
    example = runbook.example or f"run {runbook.name}"
    more = f" Takes {', '.join(takes)}." if takes else ""
    return (
        f"{runbook.title}: {runbook.description or f'{len(runbook.steps)} steps.'}{more} Write: `{example}`"
    )


def wanted(run: Run, heard: Heard, answers: Answers, at: At) -> list[Piece]:
    """The calls of this run. Raises Asked with what it still needs, Looking with what it reads first, Unclear."""
    given = _given(run, heard)
    values: dict[str, Json] = {}
    asking: list[Question] = []
    for parameter in run.runbook.parameters:
        try:
            values[parameter.name] = _value(parameter, given.get(parameter.name), answers)
        except Asked as asked:
            asking += asked.questions
    if asking:
        raise Asked(tuple(asking))
    try:
        looks = looked(run.runbook, values, at.seen, at.tools)
        found = pieces(run.runbook, {**values, LOOKS: looks}, at.book.phrases, at.tools)
    except TooMuch:
        raise
    except Unclear as unclear:
        raise Unclear(f"The runbook {run.runbook.name} cannot be run like this. {unclear}") from None
    except TemplateError as error:
        raise Unclear(
            f"The runbook {run.runbook.name} looked, and what it found lacks this: {error}."
        ) from None
    if not found:
        raise Unclear(f"{run.runbook.title}: nothing was found, so there is nothing to do.")
    return found


def open_questions(run: Run, heard: Heard) -> list[Question]:
    """What is not said, but can be assumed: the parameters with defaults."""
    given = _given(run, heard)
    return [_question(p) for p in run.runbook.parameters if p.default is not None and p.name not in given]


def _question(parameter: Parameter) -> Question:
    assumption = "" if parameter.default is None else words(parameter.default)
    told = parameter.assumed.replace("{value}", clipped(assumption, 60)) if assumption else ""
    return Question(
        f"value:{parameter.name}", parameter.question, Missing.VALUE, parameter.options, assumption, told
    )


def _value(parameter: Parameter, part: tuple[str, Heard] | None, answers: Answers) -> Json:
    """What was written, or answered, or the default. Raises Asked."""
    question = _question(parameter)
    answer = answers.to(question)
    if answer:
        heard = hear(answer)
        part = heard.text, heard
    if part is None and answer is None and parameter.default is not None:
        return parameter.default
    if part is None and answer == "":
        raise Unclear(f"This runbook cannot be run without an answer to this: {parameter.question}")
    if part is None:
        raise Asked((question,))
    return _read(parameter, *part)


def _read(parameter: Parameter, text: str, heard: Heard) -> Json:
    question = _question(parameter)
    if parameter.kind == "list":
        found: list[Json] = [heard.value(item) for item in items(text)]
        if not found:
            raise Asked((question,))
        return found
    value = heard.value(text)
    said = value if isinstance(value, str) else heard.typed(text).strip()
    if parameter.kind == "number":
        number = coerced(said, NUMBER)
        if isinstance(number, str):
            raise Asked((again(question, f"“{clipped(said, 60)}” is no number."),))
        return number
    if parameter.kind == "enum":
        fits = [option for option in parameter.options if option.casefold() == said.casefold()]
        if not fits:
            raise Asked((again(question, f"“{clipped(said, 60)}” is not {either([*parameter.options])}."),))
        return fits[0]
    return said


def _given(run: Run, heard: Heard) -> dict[str, tuple[str, Heard]]:
    """`for a.md, folder=archive` to parts by parameter: what stands before any name is for the first one that is
    not named. Raises Unclear."""
    known = [p.name for p in run.runbook.parameters]
    pairs = [*_pairs(run.rest, known)]
    given: dict[str, tuple[str, Heard]] = {}
    for name, part in pairs:
        if name in given:
            raise Unclear(f"The runbook {run.runbook.name}: `{name}` is there twice.")
        if name:
            given[name] = (part, heard)
    lone = next((part for name, part in pairs if not name), "")
    for part in (lone, *(part for part, _ in given.values())):
        if not heard.is_quoted(part):
            refuse_doubtful_value(heard.typed(part))
    strange = STRANGE.match(lone)
    if strange:
        raise Unclear(f"The runbook {run.runbook.name}: {unknown((strange[1],), strange[1], known)}")
    free = next((name for name in known if name not in given), "")
    if lone and not free:
        raise Unclear(
            f"The runbook {run.runbook.name} does not take “{clipped(heard.typed(lone), 60)}”. "
            f"Write: `{run.runbook.example or f'run {run.runbook.name}'}`"
        )
    return {**given, free: (lone, heard)} if lone else given


def _pairs(rest: str, known: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names with what follows each up to the next name; "" for what stands before the first."""
    names = "|".join(map(re.escape, known)) or "(?!)"
    found = [*re.finditer(rf"(?:^|(?<=[ \t,:]))({names})[ \t]*=[ \t]*", rest, re.I)]
    lone = _bare(rest[: found[0].start() if found else len(rest)])
    if lone:
        yield "", lone
    for here, following in zip_longest(found, found[1:]):
        part = rest[here.end() : following.start() if following else len(rest)]
        yield here[1].lower(), _bare(part, before=False) if following else part.strip(BLANKS)


def _bare(part: str, *, before: bool = True) -> str:
    """The value itself: `for a.md with` is `a.md`."""
    part = part.strip(BLANKS)
    part = BEFORE.sub("", part, count=1).strip(BLANKS) if before and BEFORE.match(part) else part
    return BEHIND.sub("", part).strip(BLANKS)
