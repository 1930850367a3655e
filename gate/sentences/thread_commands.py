"""Plain words in a thread: what is a yes, a no, a command, an edit. Code decides, never a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

YES = frozenset("yes|y|yep|yeah|ok|okay|yes please|confirm|confirmed|go ahead|do it|proceed".split("|"))
ACKNOWLEDGEMENTS = frozenset({"ok", "okay", "y", "yep", "yeah"})
NO = frozenset(
    {
        "no",
        "n",
        "nope",
        "cancel",
        "cancel it",
        "abort it",
        "quit",
        "quit it",
        "forget it",
        "stop",
        "don't",
        "dont",
        "do not",
        "never mind",
        "nevermind",
        "nvm",
    }
)
STOP = frozenset({"stop", "stop it", "please stop", "stop please"})
# “Hold on”, “please wait a moment”, “no, wait”.
HOLD_FORM = (
    r"(?:(?:no|oh|ok|okay|please|pls|just|actually|can you|could you),? )*+"
    r"(?:hold(?: on| it| off| that)?|wait(?: up| for me)?|hang on|pause(?: it| this| that| here)?|stay paused|not yet"
    r"|(?:just )?(?:a|one) (?:moment|minute|second|sec))"
)
HOLD = re.compile(
    HOLD_FORM
    + r"(?:,?(?: for)? (?:a|one) (?:moment|minute|min|second|sec|bit))?(?:,? (?:please|pls|thanks))?[?]?"
)
HOLD_AT_START = re.compile(
    r"(?:(?:no|oh|ok|okay|please|pls|just),? )*+(?:hold (?:on|it|off)|wait|hang on|not yet|stay paused)\b"
)
NO_AT_START = re.compile(
    r"(?:actually,?\s+|please,?\s+(?=[^\n]{0,60}\Z))?(?:no|nope|cancel that|stop(?!\s+watching)|don'?t|never\s?mind"
    r"|do not(?=[,.!;:]?\s?(?:$|(?:do|run|execute|proceed|continue|apply)\b[\w ,.!]{0,20}\Z)))\b[,.!;:]?(?:\s|$)",
    re.I,
)
# What begins as a no does, and is none
NOT_A_NO = re.compile(
    r"(?:(?:actually|please),?\s+)?(?:no\s+(?:problem|prob|worrie|worry|objection|issue|rush|hurry|doubt|concern|complaint)s?\b"
    r"|no\s+need\s+to\s+(?:ask|wait|worry|stop|cancel)\b"
    r"|(?:don'?t|do not)\s+(?:worry|hesitate|wait|stop|cancel|ask)\b"
    r"|never\s?mind\s+(?!it\b|that\b|this\b|then\b|please\b|thanks\b|sorry\b|i\b|just\b|for now\b|about\b"
    r"|everything\b|all\b|the whole\b)\w)",
    re.I,
)
# Behind one of those: it is a no all the same
A_NO_AFTER = re.compile(
    r"[,;:.!…–—-]\s{0,9}(?:please\s{1,9})?(?:(?:don'?t|do not) do|leave it)\b"
    r"|(?<!don't )(?<!dont )(?<!do not )(?<!need to )(?<!never )\b(?:cancel|abort|quit|stop(?!\s{1,9}watching))\b",
    re.I,
)
COMMAND = re.compile(r"(pending|undo|audit|grants|cancel|status|stop)(?:\s+(\d{1,3}))?")
UNDO = re.compile(
    r"(?:undo (?:that|this|it|all|everything)|undo (?:the|my|your) last (?:thing|one|change|step|action)(?: you did)?"
    r"|(?:take|put|move) (?:that|this|it|them) back(?: again)?|revert(?: (?:that|this|it))?)"
)
RECORD = re.compile(
    r"(?:what (?:did|have) you (?:just )?(?:do|done|change|changed)(?: (?:here|just now|so far))?"
    r"|who (?:approved|confirmed|cancelled|canceled|rejected|did|asked for) (?:that|this|it))\??"
)
COURTESY = re.compile(
    r"^(?:(?:please|pls|plz|(?:can|could) (?:you|u)) )+|(?: (?:please|pls|plz|thanks|thx)){1,2}$"
)
HELP = re.compile(
    r"(?:what (?:can|could) (?:you|u) do(?: for (?:me|us))?\??|how (?:do|can) i use (?:you|this)\??|help(?: me)?"
    r"(?: (?:with|on|about|for))?(?: (?:the )?([\w-]{1,40}))?(?: server)?(?: please)?)"
)
UNADDRESSED = frozenset(
    {"me", "us", "please", "with", "on", "about", "for", "the", "server", "this", "that", "it"}
)
TRIM = " \t\r\n.!…"
# What phones, other keyboards and other alphabets have in the place of an apostrophe
APOSTROPHES = str.maketrans(
    dict.fromkeys("\u2019\u2018\u201b\u2032\u02bc\u02bb\u02b9\u02c8\uff07`\u00b4", "'")
)
QUOTES = "'\"‘’“”`«»"
REPLACE = re.compile(
    rf"(?:please\s+)?(?:change|replace)\s+[{QUOTES}](?P<old>.+?)[{QUOTES}]\s+(?:to|with|by)\s+[{QUOTES}](?P<new>.*)[{QUOTES}]",
    re.I | re.S,
)
ASSIGN = re.compile(
    r"(?:please\s+)?(?:change|set)\s+(?:the\s+)?(?P<name>[\w-]+)\s+(?:to|=)\s+(?P<value>.+)", re.I | re.S
)
# “Call it two instead”; not “call it a day”.
RENAME = re.compile(
    r"(?:please\s++)?(?:call|name)\s++it\s++(?!(?:a|an|off|quits|even|done)\b)(?P<name>\S[^\n]{0,99}?)"
    r"(?:\s++instead)?(?:,?\s++please)?[.!]?",
    re.I,
)

LONGEST_COMMAND = 400  # characters
MODE = re.compile(r"mode[ \t]+([A-Za-z_-]{1,40}?)(?:(?:[ \t]*+=[ \t]*+|[ \t]++)([\w.]{1,10}))?", re.I)


def is_yes(text: str) -> bool:
    return _plain(text) in YES


def is_doubtful_yes(text: str, mentioned: bool) -> bool:
    """Whether what is written as a yes may begin something else: “ok...”; in other languages “y” is an “and”, or an
    “uh”."""
    end = text[len(text.rstrip(TRIM)) :]
    trails_off = "…" in end or end.count(".") > 1
    return is_yes(text) and (trails_off or (_plain(text) == "y" and not mentioned))


def is_acknowledgement(text: str) -> bool:
    """Whether a yes may as well say that somebody has read what was said last."""
    return _plain(text) in ACKNOWLEDGEMENTS


def is_stop(text: str) -> bool:
    return _plain(text) in STOP


def is_hold(text: str) -> bool:
    """Whether all of a text asks to wait: “hold on”, “please wait a moment”."""
    return bool(HOLD.fullmatch(_plain(text)))


def begins_with_wait(text: str) -> bool:
    """Whether a text asks to wait with a word for it: “one minute” alone may be the answer to a question."""
    return bool(HOLD_AT_START.match(_plain(text)))


def begins_with_hold(text: str) -> bool:
    """Whether a text asks to wait, whatever else it says: “hold on, I am asking Ben”."""
    return is_hold(text) or begins_with_wait(text)


def is_no(text: str) -> bool:
    begins = text.strip().translate(APOSTROPHES)
    if COURTESY.sub("", _plain(text).replace(",", "")) in NO:
        return True
    mild = NOT_A_NO.match(begins) and not A_NO_AFTER.search(begins)
    return bool(NO_AT_START.match(begins) and not mild)


@dataclass(frozen=True, slots=True)
class Command:
    word: str
    count: int | None = None
    about: str = ""  # the server that help is wanted with; "" for all


def command(text: str) -> Command | None:
    """`pending`, `undo 3`, `undo that`, `audit`, `help files`, `cancel`: only as the whole text."""
    about = help_topic(text)
    if about is not None:
        return Command("help", about=about)
    plain = COURTESY.sub("", _plain(text))
    if UNDO.fullmatch(plain.rstrip("?")):
        return Command("undo")
    if RECORD.fullmatch(plain):
        return Command("audit")
    found = COMMAND.fullmatch(plain)
    return Command(found[1], int(found[2]) if found[2] else None) if found else None


def help_topic(text: str) -> str | None:
    """What help is wanted with, "" for all; None where the text asks for something else."""
    found = HELP.fullmatch(_plain(text))
    return None if found is None else "" if found[1] in UNADDRESSED else found[1] or ""


def mode(text: str) -> dict[str, str] | None:
    """`mode manual`, `mode confidence 0.9`: the switches that this names, as written; only as the whole text."""
    found = MODE.fullmatch(text.strip(TRIM))
    if not found:
        return None
    word, number = found[1].lower().replace("-", "_"), found[2]
    word = "confidence_threshold" if word in ("confidence", "threshold") else word
    return {"approval_mode": word} | ({"confidence": number} if number else {})


@dataclass(frozen=True, slots=True)
class Replace:
    """Replace these words wherever they stand in the arguments."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Assign:
    """Give one argument another value."""

    name: str
    value: str


def edit(text: str) -> Replace | Assign | None:
    """An edit sentence: `change 'could you please' to 'please'`, or `set path to notes.md`."""
    stripped = text.strip()
    quoted = next((form for form in (stripped.rstrip("."), stripped) if form[-1:] in tuple(QUOTES)), "")
    found = REPLACE.fullmatch(quoted)  # only where its end fits: else every possible beginning would be tried
    if found:
        return Replace(found["old"], found["new"])
    found = ASSIGN.fullmatch(stripped)
    if found:
        return Assign(found["name"], _unquoted(found["value"].strip()))
    return None


def new_name(text: str) -> str:
    """What the thing that a card is about is to be called: `call it two instead`; "" where the text says none."""
    found = RENAME.fullmatch(text.strip()) if len(text) <= LONGEST_COMMAND else None
    return _unquoted(found["name"].strip()) if found else ""


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] in QUOTES and value[-1] in QUOTES:
        return value[1:-1]
    return value


def _plain(text: str) -> str:
    """The text as commands are written; "" where it is longer than any of them."""
    text = text.strip(TRIM)
    if len(text) > LONGEST_COMMAND:
        return ""
    return re.sub(r"\s+", " ", text).lower().translate(APOSTROPHES)


STEERING = frozenset(
    "abort add approve begin cancel change continue do drop exchange hold leave move omit pause redo remove reorder "
    "repeat replace resume retry run skip start stop swap".split()
)
ALONE = frozenset(
    "abort approve continue hold pause resume retry skip stop".split()
)  # that say enough by themselves
POLITE = frozenset("and bot can could just lets let's now ok please then we would you".split())
PLACES = frozenset("first second third fourth fifth sixth seventh eighth ninth tenth last next".split())
STEER_WORD = re.compile(r"[a-z0-9']+")
LONGEST_STEERING = 200  # characters


def is_about_steps(text: str) -> bool:
    """Whether a message says how a plan is to go on: “skip the last step”, “please drop steps 2 and 3”, “pause the
    plan”. Whoever may say so is another matter."""
    if len(text) > LONGEST_STEERING:
        return False
    words = STEER_WORD.findall(re.sub(r"<[^<>\s]{1,80}>", " ", text.lower().translate(APOSTROPHES)))
    while words and words[0] in POLITE:
        words.pop(0)
    if not words or words[0] not in STEERING:
        return False
    pairs = set(pairwise(words))
    if {"step", "steps"} & set(words) or any((place, "one") in pairs for place in PLACES):
        return True
    return words[0] in ALONE and (len(words) == 1 or "plan" in words)
