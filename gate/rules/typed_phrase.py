"""The phrase that a destructive action asks for: made here, from the stored action, and compared exactly."""

from __future__ import annotations

import re

from gate.rules.action import Action

LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"  # no 0/O, 1/I: it is read and typed by people
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._@#/+-]{0,39}")
MAX_TRIES = 3


def phrase_for(receipt: str, verb: str, noun: str, targets: int) -> str:
    """`delete q3-draft.md 7F3K`; for several targets `delete 3 7F3K`. ASCII only; differs with every version.

    A noun that cannot be typed plainly is left out: the code alone tells the versions apart.
    """
    number = int(receipt[16:24], 16)
    code = "".join(LETTERS[number >> shift & 31] for shift in (15, 10, 5, 0))
    subject = str(targets) if targets > 1 else noun if PLAIN.fullmatch(noun) else ""
    word = verb.lower() if PLAIN.fullmatch(verb) else "confirm"
    return " ".join(part for part in (word, subject, code) if part)


def phrase_matches(action: Action, typed: str) -> bool:
    """Exact, but for ASCII spaces around. No case folding and no Unicode normalisation: both accept look-alikes
    (https://www.unicode.org/reports/tr39/)."""
    return bool(action.phrase) and typed.strip(" \t\r\n") == action.phrase
