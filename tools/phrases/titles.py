"""Words in a title or a name that nobody quoted, which likely say more: a condition, a negation, a second sentence."""

from __future__ import annotations

import re

from tools.phrases.days_and_times import CLOCK, TIME, WEEKDAY
from tools.phrases.days_and_times import DAY as ANY_DAY
from tools.phrases.plan_draft import Unclear
from tools.phrases.typed_values import clipped
from tools.phrases.words_not_names import DAY

# In any title
CONDITION = (
    r"\b(?:if|unless|in case|provided|assuming|except|instead of|rather than|depending on|as long as|as soon as|"
    r"(?:when|whenever|once) (?:he|she|it|they|we|you|i|everyone|everybody|nobody))\b"
)
# A moment in the middle, behind which something else follows that is to be done then
TWO_MOMENTS = rf"\b(?:{ANY_DAY}|{CLOCK})[ \t]*(?:,|(?:and|or|but)\b)"
TAKEN_BACK = (
    r"(?:^|[,.;:!?(-])[ \t]*(?:no|actually|wait|never ?mind|nvm|scratch that|forget (?:it|that)|cancel that|kidding|"
    r"just kidding|not really|on second thought|or not|but not|but no|sorry)(?![\w'’-])|"
    r"\b(?:no|oh|but|please) (?:wait|don['’]?t|do not)\b|"
    r"\b(?:scratch that|just kidding|on second thought|never ?mind)\b|"
    r"^(?:no|not|nothing|nobody|none|never|don['’]?t|do not|do nothing|anything|maybe|perhaps|"
    r"something|someone|somebody|whatever|whichever|whoever|the same)\b(?!-)|"
    r"\b(?:not|nothing|nobody|maybe|perhaps|never|cancelled|canceled)[ \t,.!]*$|"
    r"\b(?:every|each)[ \t]+other[ \t]*$"
)
# A sentence ends, and another begins.
SECOND = (
    r"(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bst)(?<!\bno)(?<!\bvs)(?<!\bmrs)(?<!\be\.g)(?<!\bi\.e)[.!?;][ \t]+\S"
)
NOTHING = (
    r"^(?:(?:the|my|a|an|our)[ \t]+)?(?:it|me|us|you|him|her|them|this|that|these|those|something|someone|somebody|"
    r"anything|everything|whatever|list|to-?do list|task list|tasks?|force|events?|meetings?|whoever\b.*|"
    r"(?:like[ \t]+)?(?:the[ \t]+)?task[ \t]+#?\d+)[ \t]*$"
)
# In that of an event, what was to say when, who or which: something that is there, or is still to be found
DEFINITE = r"^(?:me|us|him|them|the|this|that|these|those|all|every|each|any|some|my|our|your|his|her|its|their)\b(?!-)"
TO_BE_FOUND = (
    r"\b(?:cheap\w*|best|nearest|closest|earliest|latest|soonest|quickest|fastest|smallest|largest|biggest|"
    r"(?:most|least)[ \t]+\w+|first (?:free|available|possible)|next (?:free|available)|asap)\b|"
    r"\b(?:you|u|we|i|they|he|she)[ \t]+(?:\w+[ \t]+)?"
    r"(?:find|can|could|get|see|like|want|have|know|think|prefer|need)\b"
)
LATER = r"\b(?:when|whenever|once|wherever|as soon as)\b"
EVENT = (
    rf"{TO_BE_FOUND}|{LATER}|\b(?:today|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|"
    r"\b(?:not|no|nobody|nothing|never|cancelled|canceled|maybe|perhaps|possibly|probably|possible|or|either|"
    rf"whoever|whichever|whatever)\b(?!-)|\b(?:for|on|at)[ \t]+(?:{ANY_DAY}|{WEEKDAY})\b|"
    rf"\bfrom[ \t]+{TIME}[ \t]*(?:to|till|until|-|–)[ \t]*\d|\bbetween[ \t]+{TIME}[ \t]+and[ \t]+\d"
)
TITLE = re.compile("|".join((CONDITION, TWO_MOMENTS, TAKEN_BACK, SECOND, NOTHING)), re.IGNORECASE)
FINDING = re.compile(TO_BE_FOUND, re.IGNORECASE)
THERE = re.compile(DEFINITE, re.IGNORECASE)
EVENT_TITLE = re.compile(EVENT, re.IGNORECASE)
NO_EVENT = (
    "I am not sure that “{}” is only the name of a new event: it may say something else as well, and I find or book "
    "nothing outside of your calendar. Put a name that is meant just so in quotes, such as schedule “{}” for friday."
)
NO_TITLE = (
    "I am not sure that “{}” is only a title: it may say something else as well. Put a title that is meant just so in "
    "quotes; otherwise write it without that."
)
CONDITIONAL = re.compile(CONDITION, re.IGNORECASE)
BEFORE_NAME = frozenset(
    "no not never nothing don't don’t maybe perhaps soon later like after before each every whatever whichever "
    "something somewhere anywhere if unless only just or please instead until".split()
)
BEHIND_NAME = frozenset(
    "please now soon later maybe perhaps not no tomorrow today tonight yet instead".split()
)
ENDING = re.compile(r"\.[A-Za-z0-9]{1,8}$")
NO_NAME = (
    "I am not sure that “{}” is only a name: it may say something else as well. Write the name alone, or put it in "
    "quotes."
)
# How a text ends that says what is to become of it: `hi, but don't send it`
TEXT_TAKEN_BACK = re.compile(
    r"(?:^|[,.;:!?\n]|\b(?:but|and|then|or|so))[ \t]{0,3}(?:please[ \t]++)?(?:"
    r"(?:do not|don['’]?t|never|do)[ \t]++(?:actually[ \t]++|really[ \t]++)?"
    r"(?:send|mail|save|write|draft|create|post|publish|deliver|do)\b[^\n.;:!?,]{0,40}|"
    r"(?:send|save|mail|post|publish)[ \t]++(?:it|this|that|them)\b[^\n.;:!?,]{0,40}|"
    r"(?:never ?mind|nvm|scratch that|forget (?:it|that)|cancel (?:it|that)|no wait|just kidding|not yet|not now|"
    r"wait|actually not)|"
    r"only[ \t]++(?:if|when|after|once)\b[^\n.;:!?,]{0,60}|(?:unless|as soon as)\b[^\n.;:!?,]{0,60}"
    r")[ \t.!\n]{0,20}$",
    re.IGNORECASE,
)
# A text that tells what to write rather than being it: `tell him they are late`
TOLD_WHAT = re.compile(
    r"(?:(?:tell|ask|inform|remind|thank|invite)[ \t]+(?:him|her|them|everyone|everybody)\b[^\n]{0,60}|"
    r"say[ \t]+(?:that|hi|hello|thanks|sorry)[ \t]+(?:to|for)?\b[^\n]{0,60}|"
    r"whatever\b[^\n]{0,60}|(?:you decide|something|anything|as usual|the usual)[ \t.!]{0,20}$)",
    re.IGNORECASE,
)
NO_END = (
    "I am not sure that “{}” belongs to the text: it may say what is to become of it. Put the whole text in quotes, or "
    "write it without that."
)
# A value of a runbook that nobody quoted, which says when or whether it is to be run
WHETHER = re.compile(
    rf"{CONDITION}|{LATER}|{TAKEN_BACK}|^(?:after|before|until|till|later|again|now|soon|tomorrow|today|tonight)\b(?!-)",
    re.IGNORECASE,
)
NO_VALUE = (
    "“{}” may say what is meant, or when or whether to run it, rather than be a value. Put a value that is meant just "
    "so in quotes."
)
TWO_WORDS = re.compile(r"[A-Za-z'’]{1,30}[ \t]")
# Words that tell of a text rather than being it: `a summary of the figures`, `"old" in notes.md`, `drafts/a`.
ABOUT_TEXT = re.compile(
    r"(?:(?:the|a|an|my|our|its|their|his|her|all|every|everything|what|whatever|whichever|this|that|these|"
    r"those|it|them|same|both|of|from|in|nothing|no|something|"
    r"anything)\b|[^ \t\n]{1,60}['’]s\b|\0\d+\0[ \t]*+[^ \t\n]|[^ \t\n]*[/\\])",
    re.IGNORECASE,
)
REQUEST = re.compile(r"\b(?:can|could|would|will) (?:you|u)\b|\bplease\b|\bpls\b", re.IGNORECASE)
NO_QUESTION = (
    "I am not sure whether that asks for something or asks about it. Write it without the question mark."
)


def refuse_doubtful_title(title: str, event: bool, named: bool = False) -> None:
    """Raise Unclear for a title without quotes that may hold more than a title. `named`: it is all that tells of an
    event, so it names nothing that is there."""
    shown = clipped(title, 60)
    if (event and EVENT_TITLE.search(title)) or (named and THERE.match(title)):
        raise Unclear(NO_EVENT.format(shown, shown))
    if (
        TITLE.search(title) or title.strip().isdigit()
    ):  # “make task 3 due friday” is about a task that is there
        raise Unclear(NO_TITLE.format(shown))


def refuse_doubtful_name(name: str) -> None:
    """Raise Unclear for a new name without quotes that may hold more than a name."""
    *first, last = name.lower().split()
    last = ENDING.sub("", last)
    if FINDING.search(name):
        raise Unclear(NO_NAME.format(clipped(name, 60)))
    several = bool(first) and (first[0] in BEFORE_NAME or last in BEHIND_NAME or DAY.fullmatch(last))
    if (
        several
        or "," in name
        or ";" in name
        or name.endswith("?")
        or last in BEFORE_NAME - {"like", "just", "only"}
    ):
        raise Unclear(NO_NAME.format(clipped(name, 60)))


def refuse_doubtful_text(text: str) -> None:
    """Raise Unclear for a text without quotes that is, or ends in, words about it."""
    found = TEXT_TAKEN_BACK.search(text) or TOLD_WHAT.match(text.lstrip())
    if found:
        raise Unclear(NO_END.format(clipped(found[0].strip(" \t\n,.;:"), 60)))


def refuse_doubtful_value(value: str) -> None:
    """Raise Unclear for a value of a runbook without quotes that may say when or whether to run it."""
    about = ABOUT_TEXT.match(value) if TWO_WORDS.match(value) else None
    if about or WHETHER.search(value):
        raise Unclear(NO_VALUE.format(clipped(value, 60)))
    refuse_doubtful_text(value)


def refuse_question(said: str) -> None:
    """Raise Unclear for a statement with a question mark: it may ask whether it is so."""
    if "?" in said[len(said.rstrip("?!. \t")) :] and not REQUEST.search(said):
        raise Unclear(NO_QUESTION)
