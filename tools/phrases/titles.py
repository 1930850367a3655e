"""Words in a title or a name that nobody quoted, which likely say more: a condition, a negation, a second sentence."""

from __future__ import annotations

import re

from tools.phrases.no_names import DAY
from tools.phrases.plan_draft import Unclear
from tools.phrases.sentence_patterns import DAY as ANY_DAY
from tools.phrases.sentence_patterns import TIME, WEEKDAY
from tools.phrases.typed_values import clipped

# In any title
CONDITION = (
    r"\b(?:if|unless|in case|provided|assuming|except|instead of|rather than|depending on|as long as)\b"
)
TAKEN_BACK = (
    r"(?:^|[,.;:!?(-])[ \t]*(?:no|actually|wait|never ?mind|nvm|scratch that|forget (?:it|that)|cancel that|kidding|"
    r"just kidding|not really|on second thought|or not|but not|but no|sorry)(?![\w'’-])|"
    r"\b(?:no|oh|but|please) (?:wait|don['’]?t|do not)\b|"
    r"\b(?:scratch that|just kidding|on second thought|never ?mind)\b|"
    r"^(?:no|not|nothing|nobody|none|never|don['’]?t|do not|do nothing|anything|maybe|perhaps)\b(?!-)|"
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
# In that of an event, what was to say when, or who
EVENT = (
    r"\b(?:not|no|nobody|nothing|never|cancelled|canceled|maybe|perhaps|possibly|probably|possible|or|either|"
    rf"whoever|whichever|whatever)\b(?!-)|\b(?:for|on|at)[ \t]+(?:{ANY_DAY}|{WEEKDAY})\b|"
    rf"\bfrom[ \t]+{TIME}[ \t]*(?:to|till|until|-|–)[ \t]*\d|\bbetween[ \t]+{TIME}[ \t]+and[ \t]+\d"
)
TITLE = re.compile("|".join((CONDITION, TAKEN_BACK, SECOND, NOTHING)), re.IGNORECASE)
EVENT_TITLE = re.compile(EVENT, re.IGNORECASE)
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
REQUEST = re.compile(r"\b(?:can|could|would|will) (?:you|u)\b|\bplease\b|\bpls\b", re.IGNORECASE)
NO_QUESTION = (
    "I am not sure whether that asks for something or asks about it. Write it without the question mark."
)


def refuse_doubtful_title(title: str, event: bool) -> None:
    """Raise Unclear for a title without quotes that may hold more than a title."""
    if TITLE.search(title) or (event and EVENT_TITLE.search(title)):
        raise Unclear(NO_TITLE.format(clipped(title, 60)))


def refuse_doubtful_name(name: str) -> None:
    """Raise Unclear for a new name without quotes that may hold more than a name."""
    *first, last = name.lower().split()
    last = ENDING.sub("", last)
    several = bool(first) and (first[0] in BEFORE_NAME or last in BEHIND_NAME or DAY.fullmatch(last))
    if (
        several
        or "," in name
        or ";" in name
        or name.endswith("?")
        or last in BEFORE_NAME - {"like", "just", "only"}
    ):
        raise Unclear(NO_NAME.format(clipped(name, 60)))


def refuse_question(said: str) -> None:
    """Raise Unclear for a statement with a question mark: it may ask whether it is so."""
    if "?" in said[len(said.rstrip("?!. \t")) :] and not REQUEST.search(said):
        raise Unclear(NO_QUESTION)
