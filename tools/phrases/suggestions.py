"""What is said where nothing was understood: the closest that could be written, by its words and letters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from gate.rules.action import Json
from gate.rules.close_names import close_matches
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec
from tools.phrases.help import (
    called,
    can_run,
    destroys,
    examples,
    form,
    harmless,
    of_server,
    servers,
    usable,
)
from tools.phrases.phrasebook import Phrase, PhraseBook
from tools.phrases.plan_draft import not_there, plain_word
from tools.phrases.sentence_patterns import SHORT, SLOT, VALUE, best, plain, spoken
from tools.phrases.tokenize import Heard
from tools.phrases.typed_values import bullets
from tools.phrases.words_not_names import other_kind

WORD = re.compile(r"[a-z]{2,30}")
AT_WILL = re.compile(r"\[[^\[\]]*\]")  # words of a sentence that may be left out
EMPTY = frozenset(
    "an the my me you your it its is are am be do does did can could would will please pls of in on to into for from "
    "at by with and or this that these there some any have has had we us our want need like let lets just so as if "
    "up out hey hi hello thanks thank".split()
)
MOST_WORDS = 16  # of the line
LETTERS = 160  # of the line, for the comparison by letters
ALIKE = 0.82  # of two words' letters: a slip of the finger; `remove` is no `move`
SAME_BEGINNING = 4  # letters
# What a word counts that stands in a tool's name or in a description, not in the sentence itself
HINTED = 0.6
STRANGE = 0.5  # what a word counts that nothing here knows: a name, most likely
BY_WORDS, BY_LETTERS = 0.8, 0.2
ENOUGH = 0.52
CLOSEST = 3
SHOWN = 80  # characters of the line
NAME = re.compile(
    r"(?:[\w-]++\.)?+(?=[A-Za-z][\w-]*?_[\w-])[\w-]++|[\w-]++\.[a-z]\w*+"
)  # list_tasks, task.list
ALMOST = 0.7  # of a tool's name
SURE = 4  # letters of a server's name
# Words that no English sentence has and that many German, French, Spanish, Italian and Dutch ones have.
FOREIGN = frozenset(
    "aus auf bitte das dem der eine einen erstelle finde für gibt ich ist kopiere liegt lösche mir mit nach nicht oder "
    "schreibe suche und verschiebe vom von welche wo zeig zeige zu zum zur "
    "avec dans déplace les montre où pour quels sont supprime une "
    "archivo archivos borra carpeta favor las los muestra mueve para por qué una "
    "cartella che della gli mostra nella sposta "
    "bestand een het naar toon verwijder".split()
)
ANY_WORD = re.compile(r"[^\W\d_]+")
OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u2e80-\ud7ff]")  # Greek to Thai, and the scripts of East Asia
# Words that ask for something to go; what does that is suggested to nobody else.
DESTROYING = frozenset(
    "delete deleting deleted remove removing removed trash erase rid throw purge wipe clear bin destroy empty discard "
    "drop cancel".split()
)
TIDYING = DESTROYING | {"clean", "cleanup", "tidy", "sort"}
SLIP = 0.7  # of a word's letters
ONLY_ENGLISH = " Without a model I understand English sentences only."
HELP = "`help` shows what else there is."


@dataclass(frozen=True, slots=True)
class Choice:
    """Something that could be written. `text` is what is shown of it, `says` the sentences that mean it, `hints`
    other words about it; `about` tells what is the same thing, `server` where it belongs ("": to several). `verbs`:
    first words of other sentences that ask for it."""

    text: str
    says: Sequence[str]
    hints: str
    about: str
    server: str = ""
    verbs: str = ""


def closest(line: str, choices: Iterable[Choice], most: int) -> list[Choice]:
    """The choices that come closest, the best first, one for each thing; none where nothing is close."""
    known = [_Known(choice) for choice in choices]
    typed = VALUE.sub("{}", line.lower())[:LETTERS]
    weights = _weights(words_of(typed)[:MOST_WORDS], known)
    scored = [(-one.score(typed, weights), place, one.choice) for place, one in enumerate(known)]
    found: dict[str, Choice] = {}
    for score, _, choice in sorted(scored, key=lambda entry: entry[:2]):
        if score <= -ENOUGH and len(found) < most:
            found.setdefault(choice.about, choice)
    return list(found.values())


def words_of(text: str) -> list[str]:
    """The words that say something, each once, without the ending of the plural."""
    return list(dict.fromkeys(_one(word) for word in WORD.findall(text.lower()) if word not in EMPTY))


class _Known:
    """A choice, and the words by which it is found."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice
        says = [SLOT.sub(" ", say) for say in choice.says]
        self.said = {word for say in says for word in words_of(AT_WILL.sub(" ", say))}
        hints = [choice.hints.replace("_", " "), *(part for say in says for part in AT_WILL.findall(say))]
        self.hinted = {word for hint in hints for word in words_of(hint)} - self.said

    def score(self, typed: str, weights: Sequence[tuple[frozenset[str], float]]) -> float:
        """0 to 1: how much of the line it accounts for, and how alike it is written."""
        total = sum(weight for _, weight in weights)
        own = sum(weight * self._counts(meant) for meant, weight in weights)
        if not own:
            return 0.0
        letters = max(SequenceMatcher(None, typed, plain(say)[:LETTERS]).ratio() for say in self.choice.says)
        return BY_WORDS * own / total + BY_LETTERS * letters

    def _counts(self, meant: frozenset[str]) -> float:
        return 1.0 if meant & self.said else HINTED if meant & self.hinted else 0.0


def _weights(typed: Sequence[str], known: Sequence[_Known]) -> list[tuple[frozenset[str], float]]:
    """For each word of the line, the words here that it stands for, and what it counts: the rarer, the more."""
    spread: dict[str, int] = {}
    for one in known:
        for word in one.said | one.hinted:
            spread[word] = spread.get(word, 0) + 1
    rarest = math.log(1 + len(known))
    found = []
    for word in typed:
        meant = _meant(word, spread)
        often = max((spread[one] for one in meant), default=0)
        found.append((meant, math.log(1 + len(known) / often) if often else STRANGE * rarest))
    return found


def _meant(word: str, known: Iterable[str]) -> frozenset[str]:
    """The known words that a typed one stands for: itself, else those that begin alike or are nearly spelt so."""
    known = set(known)
    return frozenset({word} if word in known else (one for one in known if _alike(word, one)))


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    if len(short) < SAME_BEGINNING or one[0] != other[0] or len(long) - len(short) > 3:
        return False
    if long.startswith(short):
        return True
    return len({*short} & {*long}) >= 3 and SequenceMatcher(None, one, other).ratio() > ALIKE


def _one(word: str) -> str:
    """A word without the ending of the plural."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


COMMANDS = (
    Choice(
        "`undo`: what can be taken back", ("undo", "undo that", "take it back", "revert it"), "last", "undo"
    ),
    Choice(
        "`pending`: what waits for you", ("pending", "what waits for approval"), "confirm open", "pending"
    ),
    Choice("`audit`: the record of this thread", ("audit", "what happened"), "history record log", "audit"),
)


def near(line: str, heard: Heard, book: PhraseBook, tools: Tools) -> str:
    """“I did not understand …”, with what comes closest: at most six lines."""
    text = missed(line, heard)
    named = _named(heard.typed(line), tools)
    if named:
        return f"{text} There is a tool of that name. Write:\n{bullets(named)}"
    meant = _well_spelt(line, book, tools)
    choices = [*_choices(meant or line, book, tools), *COMMANDS]
    close = _by_first_word(line, choices) + closest(meant or line, choices, CLOSEST)
    server = _server_of(meant, book, tools) or (close[0].server if close else _server(line, tools))
    shown = [heard.typed(meant)] if meant else []
    shown += [choice.text for choice in close]
    if not shown:
        return f"{text} {of_server(server, book, tools) if server else examples(book, tools)}"
    shown += [one.example for one in harmless(book, tools) if one.example and one.server == server]
    more = f"`help {plain_word(server)}` shows more like this, `help` what else there is." if server else HELP
    return f"{text} You can write:\n{bullets(list(dict.fromkeys(shown))[:CLOSEST])}\n{more}"


def _is_slip(word: str, verb: str) -> bool:
    """Whether letters changed places, or one is missing or too many: `clean` is no slip of `clear`."""
    return sum((Counter(word) - Counter(verb)).values()) + sum((Counter(verb) - Counter(word)).values()) <= 1


def _server_of(meant: str, book: PhraseBook, tools: Tools) -> str:
    """The server of a sentence; "" where it is none."""
    found = best(usable(book, tools), meant) if meant else None
    return found.phrase.server if found else ""


def _by_first_word(line: str, choices: Iterable[Choice]) -> list[Choice]:
    """What does what the first word says in other words: `archive the draft` is a move."""
    *_, said = spoken(line)
    first = said.partition(" ")[0].lower()
    return [choice for choice in choices if choice.verbs and first in choice.verbs.split()][:1]


def _well_spelt(line: str, book: PhraseBook, tools: Tools) -> str:
    """The line with the slip in its first word mended, where that makes a sentence of it; else ""."""
    if len(line) > SHORT:
        return ""
    *_, said = spoken(line)
    first, blank, rest = said.partition(" ")
    known = {pattern.say.split()[0] for phrase in usable(book, tools) for pattern in phrase.patterns}
    verbs = {word for one in known for word in WORD.findall(one.lower())}
    word = first.lower()
    for verb in close_matches(word, verbs, CLOSEST, SLIP) if word not in verbs | TIDYING else ():
        if _is_slip(word, verb) and best(usable(book, tools), f"{verb}{blank}{rest}"):
            return f"{verb}{blank}{rest}"
    return ""


def missed(line: str, heard: Heard) -> str:
    """“I did not understand …”."""
    shown = " ".join(heard.typed(line).split())
    shown = shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
    return f"I did not understand “{shown}”.{ONLY_ENGLISH if _is_foreign(line) else ''}"


def elsewhere(line: str, server: str, book: PhraseBook, tools: Tools) -> str:
    """What can be written to other servers than the one that a line was taken for; "" where nothing comes close."""
    kind = other_kind((words_of(line) or [""])[-1], servers(tools))
    named = kind.server if kind else _server(line, tools)
    kept = {phrase.full_name for phrase in harmless(book, tools)}
    others = [choice for choice in _choices(line, book, tools) if choice.server not in ("", server)]
    close = closest(line, [one for one in others if one.server == named or one.about in kept], CLOSEST)
    if close:
        return f"If you mean no file, you can write:\n{bullets([one.text for one in close])}"
    return of_server(named, book, tools) if named not in ("", server) else ""


def _is_foreign(line: str) -> bool:
    words = VALUE.sub(" ", line)
    return bool(OTHER_SCRIPT.search(words)) or not FOREIGN.isdisjoint(ANY_WORD.findall(words.lower()))


def _server(line: str, tools: Tools) -> str:
    """The one server that the line names; "" where it names none."""
    for word in words_of(VALUE.sub(" ", line)):
        found = called(word, list(servers(tools)), nearly=False) if len(word) >= SURE else []
        if len(found) == 1:
            return found[0]
    return ""


def _named(line: str, tools: Tools) -> list[str]:
    """How tools are called whose name the line begins with, with or without their server; nearly so will do."""
    word = line.split()[0].strip("`:,") if line.split() else ""
    if not NAME.fullmatch(word):
        return []
    by_name: dict[str, list[ToolSpec]] = {}
    for spec in tools.specs():
        for name in (spec.full_name, spec.name):
            by_name.setdefault(name, []).append(spec)
    names = [word] if word in by_name else close_matches(word.lower(), by_name, CLOSEST, ALMOST)
    found = {spec.full_name: spec for name in names for spec in by_name[name]}
    return [f"`{form(spec)}`" for spec in list(found.values())[:CLOSEST]]


def _choices(line: str, book: PhraseBook, tools: Tools) -> Iterator[Choice]:
    """All phrases and runbooks whose tools are there, and of which something can be shown that is understood as it
    stands. What destroys something is none of them unless the line asks for that."""
    words = set(words_of(line))
    phrases = usable(book, tools) if words & DESTROYING else harmless(book, tools)
    examples = {phrase.full_name: phrase.example for phrase in reversed(phrases) if phrase.example}
    for phrase in phrases:
        text = phrase.example or examples.get(phrase.full_name, "")
        if text:
            says = [pattern.say for pattern in phrase.patterns]
            hints = f"{phrase.tool} {phrase.server}"
            yield Choice(text, says, hints, phrase.full_name, phrase.server, phrase.hints)
    for runbook in book.runbooks:
        if can_run(runbook, book, tools) and (words & TIDYING or not destroys(runbook, book, tools)):
            name = runbook.name.replace("-", " ")
            text = f"`{runbook.example or f'run {runbook.name}'}`: {runbook.title.lower()}, in several steps"
            yield Choice(text, [f"run {name}", name, runbook.title], runbook.description, runbook.name)


def away(phrase: Phrase, paths: Sequence[Json], tools: Tools) -> str:
    """What is said to a sentence whose tool is not there. `paths`: the files that it names."""
    text = not_there(phrase.server)
    files = " and ".join(map(str, paths))
    reads = files and tools.find("filesystem", "read_file")
    return f"{text} You can write: read {files}." if reads else text
