"""Days and times as people type them: “friday 10:30”, “9am tomorrow”, “mon at noon”, and words that say less."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gate.rules.action import Json

WEEKDAY = r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?s?"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAY = (
    r"(?:today|tomorrow|(?:next[ \t]+)?(?:mon|tues?|wed(?:nes)?|thu(?:r?s)?|fri|sat(?:ur)?|sun)(?:day)?|"
    r"in[ \t]+\d{1,4}[ \t]+(?:day|week)s?|\d{4}-\d\d-\d\d)"
)
TIME = r"\d{1,2}(?::\d\d)?(?:[ \t]?[ap]m)?"
MONTH_END = r"(?:the[ \t]+)?end[ \t]+of[ \t]+(?:the[ \t]+|this[ \t]+)?month"
# A number alone is a time only behind “at”.
CLOCK = rf"(?:(?:at|@)[ \t]*{TIME}|\d{{1,2}}:\d\d(?:[ \t]?[ap]m)?|\d{{1,2}}[ \t]?[ap]m|(?:at[ \t]+)?noon)"
PART_OF_DAY = r"(?:morning|noon|afternoon|evening|night)"
PART = (
    r"(?:tonight|this[ \t]+(?:morning|afternoon|evening)|tomorrow[ \t]+(?:morning|afternoon|evening|night))"
)
# An hour alone may be meant in the evening, so it is none of these.
EVENING = (
    r"(?:tonight|this[ \t]+evening)(?:[ \t]*,)?[ \t]+(?:(?:at|@)[ \t]*)?"
    r"(?:(?:[5-9]|1[01])(?::\d\d)?[ \t]?pm|(?:1[7-9]|2[0-3]):\d\d)"
)
FROM_NOW = r"in[ \t]+(?:half[ \t]+an|an?|\d{1,4}|one|two|three|four|five|ten)[ \t]+(?:min(?:ute)?|hr|hour)s?"
WHEN = (
    rf"(?:{EVENING}|{PART}|{FROM_NOW}|"
    rf"{DAY}(?:[ \t]*,)?[ \t]+{CLOCK}|{CLOCK}(?:[ \t]*,)?[ \t]+(?:on[ \t]+)?{DAY}|{DAY}|{MONTH_END})"
    r"(?![\w:.-])"
)
SPOKEN = re.compile(
    rf"(?P<day>{DAY}|{MONTH_END})(?:(?:[ \t]*,)?[ \t]+(?P<time>{CLOCK}))?|"
    rf"(?P<first>{CLOCK})(?:[ \t]*,)?[ \t]+(?:on[ \t]+)?(?P<then>{DAY})",
    re.IGNORECASE,
)
IN_PARTS = re.compile(rf"(?P<part>{PART})(?:(?:[ \t]*,)?[ \t]+(?P<time>\S.*))?", re.IGNORECASE)
COUNTED = re.compile(FROM_NOW, re.IGNORECASE)
AT = re.compile(r"(?:at|@)[ \t]*+", re.IGNORECASE)
GERMAN_DAY = (
    r"(?:(?:am|bis)[ \t]+)?(?:heute|morgen|übermorgen|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch)"
)
# A title that ends like this holds a moment that no slot took, or the half of one: `water the plants every`.
MOMENT = re.compile(
    r"(?:^|[ \t])(?P<moment>"
    r"(?:every|each)(?:[ \t]+(?:other|second|\d+))?"
    rf"[ \t]+(?:hour|day|weekday|week|month|quarter|year|morning|evening|night|{WEEKDAY})s?"
    rf"(?:[ \t]+at[ \t]+{TIME})?|daily|weekly|monthly|yearly|"
    r"(?:next|this|coming|end of(?:[ \t]+the)?)[ \t]+(?:week|weekend|month|quarter|year|morning|afternoon|evening)|"
    r"tonight|tmrw?|tomm?or+ow|2morrow|yesterday|eod|eow|eom|later|soon|"
    rf"(?:{DAY}|{WEEKDAY})[ \t]+(?:{PART_OF_DAY}|\d{{1,2}})|{GERMAN_DAY}|"
    rf"{CLOCK}|in[ \t]+the[ \t]+{PART_OF_DAY}|"
    r"in[ \t]+(?:an?|\d+|one|two|three|half an)[ \t]+(?:min|minute|hr|hour|day|week|month|year)s?|"
    rf"(?:the[ \t]+)?\d{{1,2}}(?:st|nd|rd|th)(?:[ \t]+of)?(?:[ \t]+{MONTH})?(?:[ \t]+\d{{4}})?|"
    rf"\d{{1,2}}\.?[ \t]+{MONTH}(?:[ \t]+\d{{4}})?|{MONTH}[ \t]+\d{{1,2}}(?:st|nd|rd|th)?|"
    r"(?:on|by|until|till|before)[ \t]+\d{1,2}[./]\d{1,2}(?:[./](?:\d{2,4})?)?|"
    r"(?:every|next|last|this|until|till|before|after|since|by|on|from|at|@|for|to|and|or|not|the)"
    r")[ \t]*$",
    re.IGNORECASE,
)
# What can be written for words that say less than a day, or more than one. The first that fits.
INSTEAD = (
    (re.compile(r"every|each|daily|weekly|monthly|yearly", re.I), "friday, once: nothing here repeats"),
    (re.compile(r"tonight|this evening|in the evening|eod", re.I), "today at 19:00"),
    (re.compile(r"this morning|this afternoon|in the (?:morning|afternoon)", re.I), "today at 15:00"),
    (re.compile(r"in (?:half )?\w{1,4} (?:min|hr|hour)", re.I), "today at 15:00"),
    (re.compile(r"next week|in (?:a|one) week", re.I), "next monday"),
    (re.compile(r"eom|end of", re.I), "end of month"),
    (re.compile(r"(?!tomorrow$)[t2][mo]", re.I), "tomorrow"),
    (re.compile(rf"(?:\w{{1,9}} ){{0,2}}{PART_OF_DAY}", re.I), "friday at 10:00"),
    (re.compile(r"(?:at |@ ?)?\d{1,2}(?::\d\d)? ?(?:[ap]m)?$|(?:at )?noon$", re.I), "tomorrow at 10:00"),
)
INSTEAD_OF = "I write down days and times of day. Please write, in place of “{}”, for example: {}."
HOURS = {"morning": "10:00", "afternoon": "15:00", "evening": "19:00", "night": "19:00"}
NO_END = "I am not sure where the title ends: “{}”? {} Put a title that is meant to end like that in quotes."
HOW = (
    "A day is written like tomorrow, next monday, in 3 days, end of month or 2026-12-03, and a time of it like at "
    "14:00; I set one of each."
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A day, and a time of it if one was said, each as words that the tools know."""

    said: str
    day: str
    time: str = ""
    part: str = ""  # of the day, where no time was said: this evening

    def fields(self) -> dict[str, Json]:
        """For the arguments of a phrase: `{when.start}`, `{when.day}`, and `{when.at}` with a blank before it."""
        at = f" at {self.time}" if self.time else f" {self.part}" if self.part else ""
        return {"said": self.said, "start": self.said, "day": self.day, "at": at}


def spoken_moment(part: str) -> Spoken:
    """What a part that fits WHEN says, but one that counts from now."""
    said = " ".join(part.split())
    if in_parts := IN_PARTS.fullmatch(said):
        return _part_of_day(said, in_parts["part"].lower(), AT.sub("", in_parts["time"] or ""))
    found = SPOKEN.fullmatch(said)
    assert found, part
    day = _day(found["day"] or found["then"])
    clock = AT.sub("", found["time"] or found["first"] or "")
    at = "12:00" if clock.lower() == "noon" else clock
    plain = found["day"] == day and clock == at and "@" not in found[0] and "," not in found[0]
    return Spoken(found[0] if plain else f"{day} at {at}" if at else day, day, at)


def _part_of_day(said: str, part: str, at: str) -> Spoken:
    day, _, rest = part.partition(" ")
    if day != "tomorrow":
        return Spoken(f"today at {at}" if at else said, "today", at, part)
    return Spoken(said, day, part=f"at {rest}" if rest == "night" else f"in the {rest}")


def counted_from_now(part: str) -> str:
    """What to write for a part that counts hours or minutes from now, which is another moment once somebody confirms;
    "" for any other."""
    said = " ".join(part.split())
    return INSTEAD_OF.format(said, "today at 15:00") if COUNTED.fullmatch(said) else ""


def without_time(moment: Spoken) -> str:
    """What to write for a part of a day where a time is needed; "" for a moment that says enough."""
    if not moment.part or moment.time:
        return ""
    hour = next(hour for part, hour in HOURS.items() if part in moment.said.lower())
    return INSTEAD_OF.format(moment.said, f"{moment.day} at {hour}")


def _day(said: str) -> str:
    """A weekday in the three letters that the servers know, where it was shortened otherwise."""
    *before, last = said.split()
    short = last.lower() in ("tues", "wednes", "thur", "thurs", "satur")
    return " ".join([*before, last[:3]]) if short else said


def title_end(title: str) -> str:
    """What can be written for a title that says when; "" for any other."""
    found = MOMENT.search(title)
    if not found:
        return ""
    instead = next((text for form, text in INSTEAD if form.match(found["moment"])), "")
    return f"“{found['moment']}” is no day I know; write for example: {instead}." if instead else HOW
