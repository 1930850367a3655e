"""What notes and transcripts say in so many words: when, who was there, what was decided, who does what by when."""

# ruff: noqa: E501 - a pattern reads best on one line
from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field

from servers.days import WEEKDAYS
from servers.decision_sentences import decided
from servers.filesystem.models import Given, GivenMap, Item, Sha256, Strict, Written
from servers.meeting import transcripts
from servers.meeting.transcripts import Row
from servers.sentences import TURN, sentences

SourceArg = Annotated[
    str, Field(description="Notes or a transcript in the allowed folders: .txt, .md, .docx, .vtt or .srt.")
]
NewArg = Annotated[
    str, Field(description="Where the minutes go: .md or .docx; one that is there goes to the trash.")
]
TitleArg = Annotated[
    str, Field(max_length=200, description="Their title. Empty: the first heading, or the file's name.")
]


MOST = 500  # of each kind


class ActionItem(BaseModel):
    what: str
    owner: str = Field(description="empty where nobody is named")
    due: str = Field(description="in the words of the notes; empty where no day is named")
    due_date: date | None = Field(description="where the words mean one day for certain")
    line: int = Field(description="where it stands in the notes: line or caption, from 1")
    by_model: bool = Field(default=False, description="in a model's words, which quoted that line")


class Decision(BaseModel):
    what: str
    line: int
    by_model: bool = Field(default=False, description="in a model's words, which quoted that line")


class Minutes(BaseModel):
    """What the notes say of a meeting."""

    title: str
    held: date | None = Field(description="where the notes say it")
    attendees: Given[str]
    decisions: Given[Decision]
    actions: Given[ActionItem]
    left_out: GivenMap[int] = Field(
        default={}, description=f"how many attendees, decisions and actions are more than {MOST} of a kind"
    )

    @property
    def bounded(self) -> Minutes:
        """The same with no more of each kind than minutes hold."""
        every = {name: getattr(self, name) for name in ("attendees", "decisions", "actions")}
        over = {name: self.left_out.get(name, 0) + max(0, len(each) - MOST) for name, each in every.items()}
        kept: dict[str, object] = {name: each[:MOST] for name, each in every.items()}
        return self.model_copy(update=kept | {"left_out": {name: n for name, n in over.items() if n}})

    @property
    def unsaid(self) -> str:
        """What is to be said of those; "" where there are none."""
        named = ", ".join(f"{number:,} {name}" for name, number in self.left_out.items())
        return f"Minutes hold {MOST} of a kind, so some are left out: {named}." if named else ""


class Call(Strict):
    """The arguments of generate_minutes, as a preview is given them."""

    source: SourceArg
    destination: NewArg
    title: TitleArg = ""


class Plan(BaseModel):
    """The minutes that would be written."""

    path: str
    items: list[Item]
    difference: str = Field(description="the whole text, against what is there now")
    expected_target: Sha256
    expected_made: Sha256
    minutes: Minutes
    gives_way: str = Field(default="", description="what is said of a file that gives way")
    note: str = Field(default="", description="what was used, where a model was asked; and left out")


class Made(Written):
    attendees: int
    decisions: int
    actions: int
    note: str = ""


_PEOPLE = re.compile(r"[,;]| and | und | & ")
_STAMP = re.compile(r"^[\[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?[\])]?\s*[-–]?\s*")
_WORD = r"[A-ZÄÖÜÀ-ÞŁŚŻČŠŽ][\w'’.-]*"
_NAME = rf"{_WORD}(?: (?:(?:von|van|de|der|den|da|di|la|zu)\b|{_WORD})){{0,3}}"
_SPEAKER = re.compile(rf"^({_NAME})(?: ?\([^)]{{1,40}}\))? ?: +(\S.*)$")


class Line(NamedTuple):
    """One line or sentence: the number of its line or caption, from 1, who says it if anybody, and what."""

    number: int
    speaker: str
    text: str
    raw: str  # with the marks of a list or a heading
    row: Row | None = None  # of a table of actions


def lines(text: str, spoken: bool = False) -> list[Line]:
    """The lines that say something; of what somebody says, the sentences. `spoken`: every line is said by somebody."""
    every = text.splitlines()
    plain = [(number, *_plain(raw)) for number, line in enumerate(every, 1) for raw in line.split(TURN)]
    names = _names(plain, spoken)
    above = {} if spoken else transcripts.speakers(every)
    rows, taken = ([], set()) if spoken else transcripts.actions(every)
    tables = {row.number: row for row in rows} | {
        number: None for number in taken - {row.number for row in rows}
    }
    return [line for one in plain if one[1] for line in _each(one, names, above, tables)]


def _each(
    plain: tuple[int, str, str, bool], names: set[str], above: dict[int, str], tables: dict[int, Row | None]
) -> Iterator[Line]:
    """The lines of one line. `above`: who says it, by a name above; `tables`: rows of actions, None for heads."""
    number, text, raw, _ = plain
    if number in tables:
        row = tables[number]
        yield from [Line(number, "", row.what, raw, row)] if row else []
    elif number in above:
        yield from (Line(number, above[number], one, raw) for one in sentences(text) if above[number])
    else:
        yield from _said(*plain, names)


def _plain(raw: str) -> tuple[str, str, bool]:
    """A line without marks, the line with them, and whether it begins with a time."""
    said = raw.strip()
    timed = _STAMP.sub("", said)
    plain = re.sub(r"^(?:#{1,6}|[-*+•]|\d{1,3}[.)]) +", "", timed).replace("**", "").replace("__", "").strip()
    return plain, timed, timed != said


def _names(plain: list[tuple[int, str, str, bool]], spoken: bool) -> set[str]:
    """Who speaks: before a colon behind a time, more than once, or listed as being there. No label of a part is one."""
    counts: Counter[str] = Counter()
    for _, text, _, timed in plain:
        if (found := _SPEAKER.match(text)) and not any(
            form.fullmatch(f"{found[1]}:") for form in _LABELLED.values()
        ):
            counts[found[1]] += 2 if timed or spoken else 1
    heads = (_LABELLED["attendees"].fullmatch(text) for _, text, _, _ in plain)
    listed = (each.strip() for head in heads if head and head[1] for each in _PEOPLE.split(head[1]))
    there = {" ".join(words[:end]) for words in map(_first_words, listed) for end in range(1, len(words) + 1)}
    return {name for name, count in counts.items() if count > 1 or name in there}


def _first_words(listed: str) -> list[str]:
    """As many words of somebody who is listed as the name of a speaker can have."""
    return listed.split(" ", 4)[:4]


def _said(number: int, plain: str, raw: str, timed: bool, names: set[str]) -> Iterator[Line]:
    speaker = _SPEAKER.match(plain)
    if speaker and speaker[1] in names:
        for sentence in sentences(speaker[2]):
            yield Line(number, speaker[1], sentence, raw)
    else:
        yield Line(number, "", plain, raw)


LONGEST_NAME = 80  # characters
_HEADING = re.compile(r"#{1,6} ++(.*[^ #])[ #]*")
_LABELLED = {
    "attendees": re.compile(
        r"(?i)(?:attendees|participants|present|attending|in attendance|teilnehm(?:er|ende)(?:[:*]?innen)?|anwesend|anwesende|dabei)(?: ?: *(.*))?"
    ),
    "decisions": re.compile(
        r"(?i)(?:decisions?|decided|agreed|agreements?|resolved|resolutions?|beschluss|beschlüsse|beschlossen|entscheidung(?:en)?|vereinbarung(?:en)?)(?: ?: *(.*))?"
    ),
    "actions": re.compile(
        r"(?i)(?:actions?|action items?|ai|to-?dos?|next steps?|tasks?|follow[ -]ups?|aufgaben?|maßnahmen?|nächste schritte|offene punkte|wer macht was)(?: ?: *(.*))?"
    ),
    "": re.compile(
        r"(?i)(?:agenda|notes?|topics?|summary|background|discussion|questions?|absent|apologies|regrets|date|when|time|where|place|location|title|subject|status|goals?|purpose|risks?|issues?|updates?|links?|re|from|to|cc|due|owner|chair|minutes|"
        r"tagesordnung|tops?|themen|thema|notizen|zusammenfassung|diskussion|besprochen|abwesend|entschuldigt|datum|ort|zeit|titel|protokoll(?:führung)?|moderation|fragen?|risiken|stand|ziele?|nächster termin|next meeting)(?: ?: *(.*))?"
    ),
}
_DECIDED = re.compile(
    r"(?i)\b(?:we|the (?:team|board|group|committee)|everyone|all) (?:have |has )?(?:all )?(?:decided|agreed|resolved)\b[ ,:]*(?:that |to |on )?(.+)|\bit (?:was|is) (?:decided|agreed|resolved)\b[ ,:]*(?:that |to )?(.+)"
    r"|^(?:agreed|decided|decision|beschluss|beschlossen|entschieden|vereinbart) ?[:,–-] *(.+)"
)
_BOX = re.compile(r"^[-*+] +\[( |x|X)\] +(.+)")
_WHO = rf"{_WORD}(?: {_WORD}){{0,2}}"
_DOES = r"wird|soll|muss|übernimmt|kümmert sich um|macht|erstellt|schreibt|schickt|sendet|prüft|klärt|ruft|bestellt|bucht|organisiert|bereitet|fragt|holt|meldet|aktualisiert|lädt"
_WILL = re.compile(
    rf"^({_WHO})(?: (?:will|to|shall|is going to|needs to|has to|must)| (?=(?:{_DOES})\b)| ?[:–-]) +(\S.+)$|^({_WHO}) ((?:{_DOES})\b.+)$"
)
_MINE = re.compile(
    r"(?i)^(?:ok(?:ay)?|yes|sure|and|so|then|fine|right|good|gut|ja|dann|also)?[,.]? ?(?:(?:I(?:'|’)ll|I will|I am going to|I(?:'|’)m going to|I can|let me|I take(?: care of)?) |ich (?=(?:werde|kann|übernehme|kümmere|schicke|schreibe|mache|prüfe|kläre|buche|bestelle|rufe|frage|sende|erstelle)\b))(.+)"
)
_ASKED = re.compile(
    rf"^({_WHO}), (?:(?:can|could|would|will) you (?:please )?|please |(?:kannst|könntest|würdest) du (?:bitte )?|bitte )(.+)"
)
_OWNER = re.compile(
    rf"(?i:\((?:owner|verantwortlich): *)([^)]{{1,60}})\)|(?:^|\s)@({_WHO}|[\w.-]+)|\(({_WHO})\)\s*\.?$"
)
_MONTHS = "january february march april may june july august september october november december".split()
_MONATE = "januar februar märz april mai juni juli august september oktober november dezember".split()
_TAGE = "montag dienstag mittwoch donnerstag freitag samstag sonntag".split()
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in [*_MONTHS, *_MONATE])
_DAY = (
    rf"\d{{4}}-\d\d-\d\d|(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:{_MONTH})(?:,? \d{{4}})?"
    rf"|(?:next |this |nächsten |diesen )?(?:{'|'.join([*WEEKDAYS, *_TAGE])})|today|tomorrow|heute|morgen|end of (?:the )?(?:day|week|month|quarter|year)"
    r"|next (?:week|month|quarter)|(?:ende (?:der|dieser|nächster) )woche|ende des monats|monatsende|nächste woche|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2}\.\d{1,2}\."
)
_DUE = re.compile(
    rf"(?i)(?<![,;(\[ –-])[,;(\[ –-]*+\b(?:by|due(?: on| by)?:?|until|till|before|no later than|on|bis(?: zum| spätestens)?|spätestens(?: am| bis)?|fällig(?: am)?:?|am|zum) (?:the )?({_DAY})(?!\w)[)\]]*"
)
_HELD = re.compile(
    rf"(?i)^(?:date|when|held(?: on)?|meeting of|minutes of|datum|protokoll vom|sitzung (?:vom|am)|besprechung (?:vom|am))\b ?:? *(?:\w+(?:day|tag|woch),? )?(?:den )?({_DAY})(?!\w)"
)
_WORD_BEGINS = re.compile(r"\b\w")
_NONE = re.compile(r"(?i)(?:none|n/?a|nobody|keine?r?|niemand|[-–—]+)\.?")


def minutes(lines: list[Line], title: str) -> Minutes:
    """What these lines say. Nothing is guessed: what has none of the known forms is in no list."""
    held = next(filter(None, (_held(line) for line in lines)), None)
    parts = _parts(lines)
    found = list(_actions(parts, held))
    return Minutes(
        title=title or _title(lines),
        held=held,
        attendees=_attendees(parts, lines),
        decisions=list(_decisions(parts)),
        actions=found,
    ).bounded


def _title(lines: list[Line]) -> str:
    heading = next((_HEADING.fullmatch(line.raw) for line in lines[:5] if line.raw.startswith("#")), None)
    return heading[1][:200] if heading else ""


def _held(line: Line) -> date | None:
    said = _HELD.match(line.text)
    return day(said[1], None) if said else None


def _parts(lines: list[Line]) -> list[tuple[str, Line]]:
    """Each line with the part of the notes that it stands in: attendees, decisions, actions, or none.

    A part begins with its word alone on a line or before a colon, and ends with the next heading."""
    part, out = "", []
    for line in lines:
        if line.row:
            part = part if part == "actions" else ""
            out.append(("row", line))
            continue
        name, rest = _label(line)
        if name is not None and not line.speaker:
            part = name if not rest else part
            if rest:
                out.append((name, line._replace(text=rest)))
            continue
        if line.raw.startswith("#"):
            part = ""
        listed = re.match(r"[-*+•]|\d{1,3}[.)]", line.raw)
        out.append((part if listed or not line.speaker else "", line))
    return out


def _label(line: Line) -> tuple[str | None, str]:
    for name, form in _LABELLED.items():
        if match := form.fullmatch(line.text):
            return name, (match[1] or "").strip()
    return None, ""


def _attendees(parts: list[tuple[str, Line]], lines: list[Line]) -> list[str]:
    """Who is listed; where nobody is, who speaks."""
    listed = [
        name.strip(" .")
        for part, line in parts
        if part == "attendees"
        for name in _PEOPLE.split(re.sub(r"\([^()]*\)", "", line.text))
    ]
    found = [name for name in listed if name and len(name) <= LONGEST_NAME and not _NONE.fullmatch(name)]
    return list(dict.fromkeys(found or [line.speaker for line in lines if line.speaker]))


def _decisions(parts: list[tuple[str, Line]]) -> Iterator[Decision]:
    for part, line in parts:
        if part == "decisions" and not _NONE.fullmatch(line.text):
            yield Decision(what=sentence(line.text), line=line.number)
        elif not part and decided(line.text):
            said = _DECIDED.search(line.text)
            what = next(filter(None, said.groups()), line.text) if said else line.text
            yield Decision(what=sentence(what), line=line.number)


def _actions(parts: list[tuple[str, Line]], held: date | None) -> Iterator[ActionItem]:
    people = _Names({line.speaker for _, line in parts} | {name for name in _attendees(parts, [])})
    for part, line in parts:
        box, mine, will = _BOX.match(line.raw), _MINE.match(line.text), _WILL.match(line.text)
        asked = _ASKED.match(line.text)
        if line.row:
            yield _of_row(line.row, held)
        elif box or (part == "actions" and not _NONE.fullmatch(line.text)):
            yield action_item(_unboxed(line.text), line.speaker, line, held)
        elif mine and line.speaker and not part and not line.text.endswith("?"):
            yield action_item(mine[1], line.speaker, line, held)
        elif asked and not part and asked[1] in people:
            yield action_item(asked[2].rstrip("?"), asked[1], line, held)
        elif will and not part and _DUE.search(line.text):
            yield action_item(line.text, "", line, held)


class _Names:
    """The names of people, by what each of their words begins with. `in`: whether somebody may be called so."""

    def __init__(self, people: Iterable[str]) -> None:
        names = (name[:LONGEST_NAME] for name in people)
        self._endings = sorted({name[at.start() :] for name in names for at in _WORD_BEGINS.finditer(name)})

    def __contains__(self, called: str) -> bool:
        at = bisect_left(self._endings, called)
        return at < len(self._endings) and self._endings[at].startswith(called)


def _of_row(row: Row, held: date | None) -> ActionItem:
    nobody = _NONE.fullmatch(row.owner)
    return ActionItem(
        what=sentence(row.what),
        owner="" if nobody else row.owner,
        due=row.due,
        due_date=day(row.due, held) if row.due else None,
        line=row.number,
    )


def _unboxed(text: str) -> str:
    return re.sub(r"^\[[ xX]\] *", "", text)


def action_item(text: str, owner: str, line: Line, held: date | None) -> ActionItem:
    """An action in these words; who and by when are taken out of them."""
    due = _DUE.search(text)
    what = text[: due.start()] + text[due.end() :] if due else text
    named = _OWNER.search(what)
    if named and not owner:
        owner = next(filter(None, named.groups())).strip()
        what = what[: named.start()] + what[named.end() :]
    will = None if owner else _WILL.match(what.strip())
    if will:
        owner, what = will[1] or will[3], will[2] or will[4]
    said = due[1] if due else ""
    return ActionItem(
        what=sentence(what),
        owner=owner,
        due=said,
        due_date=day(said, held) if said else None,
        line=line.number,
    )


def sentence(text: str) -> str:
    """The words as a sentence of the minutes: without marks around them, and with a capital."""
    plain = " ".join(text.split()).strip(" ,;:–-.")
    return plain[:1].upper() + plain[1:500]


def day(said: str, held: date | None) -> date | None:
    """The day that is meant, where it is certain: without a year, or a relative one, only with the day of the meeting."""
    words = said.lower().replace(",", "").split()
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", said):
            return date.fromisoformat(said)
        if numbers := re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})?", said):
            return _nearest(int(numbers[1]), int(numbers[2]), int(numbers[3] or 0), held)
        if month := next(filter(None, map(_month, words)), 0):
            figures = [int(found[0]) for word in words if (found := re.match(r"\d+", word))]
            [number] = [n for n in figures if n <= 31] or [0]
            return _nearest(number, month, next((n for n in figures if n > 31), 0), held)
    except ValueError:
        return None
    return _relative(words, held) if held else None


def _month(word: str) -> int:
    names = (names for names in (_MONTHS, _MONATE))
    found = (
        n
        for each in names
        for n, name in enumerate(each, 1)
        if len(word) > 2 and name.startswith(word.rstrip("."))
    )
    return next(found, 0)


def _nearest(number: int, month: int, year: int, held: date | None) -> date | None:
    """That day; without a year, the first one from the meeting on."""
    if year or held is None:
        return date(year, month, number) if year else None
    this_year = date(held.year, month, number)
    return this_year if this_year >= held else date(held.year + 1, month, number)


def _relative(words: list[str], held: date) -> date | None:
    """Whether “next Friday” is this week is not certain."""
    if " ".join(words) in ("today", "heute", "end of day", "end of the day"):
        return held
    if words in (["tomorrow"], ["morgen"]):
        return held + timedelta(days=1)
    for names in (WEEKDAYS, _TAGE):
        if words and words[-1] in names and words[0] not in ("next", "nächsten"):
            return held + timedelta(days=(list(names).index(words[-1]) - held.weekday() - 1) % 7 + 1)
    return None
