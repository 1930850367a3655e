"""What notes say in so many words: when it was, who was there, what was decided, who does what by when."""

# ruff: noqa: E501 - a pattern reads best on one line
from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from servers.days import WEEKDAYS
from servers.meeting.models import ActionItem, Decision, Minutes
from servers.meeting.notes import Line

MOST = 500  # of each kind
_HEADING = re.compile(r"#{1,6} +(.+?)[ #]*")
_LABELLED = {
    "attendees": re.compile(r"(?i)(?:attendees|participants|present|attending|in attendance)(?: ?: *(.*))?"),
    "decisions": re.compile(r"(?i)(?:decisions?|decided|agreed|agreements?|resolved|resolutions?)(?: ?: *(.*))?"),
    "actions": re.compile(
        r"(?i)(?:actions?|action items?|ai|to-?dos?|next steps?|tasks?|follow[ -]ups?)(?: ?: *(.*))?"
    ),
    "": re.compile(r"(?i)(?:agenda|notes?|topics?|summary|background|discussion|questions?|absent|apologies|date|title)(?: ?: *(.*))?"),
}  # fmt: skip
_DECIDED = re.compile(
    r"(?i)(?<!whether )(?<!if )\b(?:we|the (?:team|board|group|committee)|everyone|all) (?:have |has )?(?:all )?(?:decided|agreed|resolved)\b[ ,:]*(?:that |to |on )?(.+)|\bit (?:was|is) (?:decided|agreed|resolved)\b[ ,:]*(?:that |to )?(.+)"
)
_BOX = re.compile(r"^[-*+] +\[( |x|X)\] +(.+)")
_WHO = r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}"
_WILL = re.compile(rf"^({_WHO})(?: (?:will|to|shall|is going to|needs to|has to|must) | ?[:–-] +)(\S.+)$")
_MINE = re.compile(
    r"(?i)^(?:ok(?:ay)?,? |yes,? |sure,? |and |so |then )?(?:I(?:'|’)ll|I will|I am going to|I(?:'|’)m going to) (.+)"
)
_OWNER = re.compile(rf"(?i:\(owner: *)([^)]{{1,60}})\)|(?:^|\s)@({_WHO}|[\w.-]+)|\(({_WHO})\)\s*\.?$")
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS)
_DAY = (
    rf"\d{{4}}-\d\d-\d\d|(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\.? (?:{_MONTH})(?:,? \d{{4}})?"
    rf"|(?:next |this )?(?:{'|'.join(WEEKDAYS)})|today|tomorrow|end of (?:the )?(?:day|week|month|quarter|year)"
    r"|next (?:week|month|quarter)|\d{1,2}[./]\d{1,2}[./]\d{4}"
)
_DUE = re.compile(
    rf"(?i)[,;(\[ –-]*\b(?:by|due(?: on| by)?:?|until|till|before|no later than|on) (?:the )?({_DAY})\b[)\]]*"
)
_HELD = re.compile(rf"(?i)^(?:date|when|held(?: on)?|meeting of|minutes of)\b ?:? *(?:\w+day,? )?({_DAY})\b")
_NONE = re.compile(r"(?i)(?:none|n/?a|nobody|-+|—)\.?")


def minutes(lines: list[Line], title: str) -> Minutes:
    """What these lines say. Nothing is guessed: what has none of the known forms is in no list."""
    held = next(filter(None, (_held(line) for line in lines)), None)
    parts = _parts(lines)
    found = list(_actions(parts, held))
    return Minutes(
        title=title or _title(lines),
        held=held,
        attendees=_attendees(parts, lines),
        decisions=list(_decisions(parts))[:MOST],
        actions=found[:MOST],
    )


def _title(lines: list[Line]) -> str:
    heading = next((_HEADING.fullmatch(line.raw) for line in lines[:5] if line.raw.startswith("#")), None)
    return heading[1][:200] if heading else ""


def _held(line: Line) -> date | None:
    said = _HELD.match(line.text)
    return day(said[1], None) if said else None


def _parts(lines: list[Line]) -> list[tuple[str, Line]]:
    """Each line with the part of the notes that it stands in: attendees, decisions, actions, or none.

    A part begins with its word alone on a line or before a colon, and ends with the next heading.
    """
    part, out = "", []
    for line in lines:
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
        for name in re.split(r"[,;]| and | & ", re.sub(r"\([^)]*\)", "", line.text))
    ]
    found = [name for name in listed if name and len(name) <= 80 and not _NONE.fullmatch(name)]
    return list(dict.fromkeys(found or [line.speaker for line in lines if line.speaker]))[:MOST]


def _decisions(parts: list[tuple[str, Line]]) -> Iterator[Decision]:
    for part, line in parts:
        said = _DECIDED.search(line.text)
        if part == "decisions" and not _NONE.fullmatch(line.text):
            yield Decision(what=_sentence(line.text), line=line.number)
        elif said and not part:
            yield Decision(what=_sentence(said[1] or said[2]), line=line.number)


def _actions(parts: list[tuple[str, Line]], held: date | None) -> Iterator[ActionItem]:
    for part, line in parts:
        box, mine, will = _BOX.match(line.raw), _MINE.match(line.text), _WILL.match(line.text)
        if box or (part == "actions" and not _NONE.fullmatch(line.text)):
            yield _action(_unboxed(line.text), line.speaker, line, held)
        elif mine and line.speaker and not part:
            yield _action(mine[1], line.speaker, line, held)
        elif will and not part and _DUE.search(line.text):
            yield _action(line.text, "", line, held)


def _unboxed(text: str) -> str:
    return re.sub(r"^\[[ xX]\] *", "", text)


def _action(text: str, owner: str, line: Line, held: date | None) -> ActionItem:
    due = _DUE.search(text)
    what = text[: due.start()] + text[due.end() :] if due else text
    named = _OWNER.search(what)
    if named and not owner:
        owner = next(filter(None, named.groups())).strip()
        what = what[: named.start()] + what[named.end() :]
    will = None if owner else _WILL.match(what.strip())
    if will:
        owner, what = will[1], will[2]
    said = due[1] if due else ""
    return ActionItem(
        what=_sentence(what),
        owner=owner,
        due=said,
        due_date=day(said, held) if said else None,
        line=line.number,
    )


def _sentence(text: str) -> str:
    plain = " ".join(text.split()).strip(" ,;:–-.")
    return plain[:1].upper() + plain[1:500]


def day(said: str, held: date | None) -> date | None:
    """The day that is meant, where it is certain: without a year, or a relative one, only with the day of the meeting."""
    words = said.lower().replace(",", "").split()
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", said):
            return date.fromisoformat(said)
        month = next(
            (n for n, name in enumerate(_MONTHS, 1) if any(len(w) > 2 and name.startswith(w) for w in words)),
            0,
        )
        if month:
            return _dated(words, month, held)
    except ValueError:
        return None
    if held is None:
        return None
    if said.lower() in ("today", "end of day", "end of the day"):
        return held
    if said.lower() == "tomorrow":
        return held + timedelta(days=1)
    if (
        words and words[-1] in WEEKDAYS and words[0] != "next"
    ):  # whether “next friday” is this week is not certain
        return held + timedelta(days=(WEEKDAYS.index(words[-1]) - held.weekday() - 1) % 7 + 1)
    return None


def _dated(words: list[str], month: int, held: date | None) -> date | None:
    numbers = [int(found[0]) for word in words if (found := re.match(r"\d+", word))]
    year = next((n for n in numbers if n > 31), None)
    [number] = [n for n in numbers if n <= 31] or [0]
    if year:
        return date(year, month, number)
    if held is None:
        return None
    this_year = date(held.year, month, number)
    return this_year if this_year >= held else date(held.year + 1, month, number)
