"""Feedback: what a reply says about a result: thanks, a change, start over, or nothing that code can tell.

Code decides, never a model: a planner that is shown “ok, thanks” may propose once more what it has just done.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from enum import StrEnum

from gate.sentences.feedback_words import BACKWARD, FILLERS, HEDGES, NO_NAMES, PRAISE, REQUESTS, THANKS
from gate.sentences.tokenize import UNSURE, visible_text

MAX_TEXT = 400  # characters that are read: whoever writes more than that asks for something
LONGEST_PHRASE = 7  # words of a phrase
NAME = "<name>"  # a mention of somebody
EMOJI = re.compile(r":[a-z0-9_+-]{1,60}:")
POSITIVE_EMOJI = frozenset(
    ":+1: :thumbsup: :ok_hand: :ok: :white_check_mark: :heavy_check_mark: :pray: :tada: :heart: :clap: :raised_hands: "
    ":100: :rocket: :star: :star-struck: :muscle: :bow: :handshake: :partying_face:".split()
)
POSITIVE_SIGNS = frozenset("👍👌🙏✅✔☑🎉❤♥👏🙌💯🆗🤝💪🙇🥳")
TOKEN = re.compile(r"<[^<>\s]{1,80}>|@?[^\W_]+(?:['-][^\W_]+)*|[.,;:!?\n()–—…-]|\S")
START_OVER = re.compile(
    r"(?:please |bitte )?(?:(?:start|begin) (?:over|again|anew|from scratch)|(?:noch ?mal )?(?:ganz )?von vorne?"
    r"|(?:fang|fange) (?:bitte )?(?:noch ?mal )?(?:neu|von vorne?) an|neu anfangen)(?: please| bitte)?"
)


class FeedbackKind(StrEnum):
    """What a reply is."""

    THANKS = "thanks"  # thanks or approval and nothing else: nothing may come of it
    OVER = "start over"
    CHANGE = "change"  # it asks for something to be different, or refers to what was done
    UNCLEAR = "unclear"  # praise with words that are not known, a bare yes to nothing, a bare no
    OTHER = "other"  # it says nothing about a result: a request, or a plain description of what is wanted


def classify_feedback(text: str) -> FeedbackKind:
    """What a message says about a result that its writer has just been given. Takes linear time."""
    seen = visible_text(unicodedata.normalize("NFC", text[:MAX_TEXT])).strip()
    if START_OVER.fullmatch(" ".join(seen.rstrip(".! ").split())):
        return FeedbackKind.OVER
    unsure = bool(UNSURE.search(seen))
    tokens, glad = _tokens(seen)
    segments = _segments(tokens)
    words = [word for segment in segments for word in segment[1]]
    asks = "?" in tokens
    if len(text) > MAX_TEXT:
        return FeedbackKind.CHANGE if BACKWARD & set(words) else FeedbackKind.OTHER
    grateful = _is_thanks_or_praise(segments)
    if (grateful or (glad and not words)) and not unsure and not asks:
        return FeedbackKind.THANKS
    if not _unknown(words):
        return FeedbackKind.UNCLEAR
    if BACKWARD & set(words):
        return FeedbackKind.CHANGE
    if glad or _begins_with_praise(words):
        return FeedbackKind.CHANGE if asks or REQUESTS & set(words) else FeedbackKind.UNCLEAR
    return FeedbackKind.OTHER


def is_thanks(text: str) -> bool:
    """Whether a message is thanks or approval and nothing else."""
    return classify_feedback(text) is FeedbackKind.THANKS


def _tokens(seen: str) -> tuple[list[str], bool]:
    """Words and punctuation, without emoji; and whether an emoji approves."""
    glad = bool(POSITIVE_EMOJI & set(EMOJI.findall(seen))) or bool(POSITIVE_SIGNS & set(seen))
    plain = EMOJI.sub(" ", seen)
    # “c” in So or Sk: signs and skin tones. Joiners have gone with what draws nothing.
    plain = "".join(" " if unicodedata.category(c) in ("So", "Sk", "Cn") else c for c in plain)
    found = TOKEN.findall(plain.replace("*", " ").replace("_", " "))
    return [NAME if token.startswith("<@") else token for token in found], glad


def _segments(tokens: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The words between two signs, with the sign that stood before them."""
    segments: list[tuple[str, list[str]]] = [("", [])]
    for token in tokens:
        if token[0].isalnum() or token[0] in "@<":
            segments[-1][1].append(token)
        else:
            segments.append((token, []))
    return [segment for segment in segments if segment[1]]


def _is_thanks_or_praise(segments: Sequence[tuple[str, list[str]]]) -> bool:
    """Whether every segment is thanks or approval; a name may stand behind thanks."""
    positive = after_thanks = False
    for sign, words in segments:
        if after_thanks and sign == "," and len(words) == 1 and _name(words[0]):
            continue
        found, after_thanks = _phrases(words)
        if found is None:
            return False
        positive = positive or found
    return positive


def _phrases(words: Sequence[str]) -> tuple[bool | None, bool]:
    """Whether the words, all of them, are known and some of them positive, None where one is not known; and whether
    they end with thanks."""
    at, positive, thanked = 0, False, False
    while at < len(words):
        size = _known(words, at)
        if not size:
            if thanked and at == len(words) - 1 and _name(words[at]):
                return positive, True
            return None, False
        phrase = " ".join(words[at : at + size])
        thanked = phrase in THANKS
        positive = positive or thanked or phrase in PRAISE
        at += size
    return positive, thanked


def _known(words: Sequence[str], at: int) -> int:
    """How many words from here are the longest phrase that is known; 0 where none is."""
    for size in range(min(LONGEST_PHRASE, len(words) - at), 0, -1):
        phrase = " ".join(words[at : at + size])
        if phrase in THANKS or phrase in PRAISE or phrase in FILLERS:
            return size
    return 0


def _name(word: str) -> bool:
    if word == NAME or word.startswith("@"):
        return True
    return word.isalpha() and word not in NO_NAMES


def _unknown(words: Sequence[str]) -> bool:
    """Whether something is said besides thanks, praise, yes, no and filling words."""
    at = 0
    while at < len(words):
        size = _known(words, at)
        if not size and words[at] not in HEDGES:
            return True
        at += size or 1
    return False


def _begins_with_praise(words: Sequence[str]) -> bool:
    """Whether the message begins with thanks or praise."""
    at = 0
    while at < len(words):
        size = _known(words, at)
        phrase = " ".join(words[at : at + size])
        if phrase in THANKS or phrase in PRAISE:
            return True
        if not size and words[at] != NAME:
            return False
        at += size or 1
    return False
