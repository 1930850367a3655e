"""What is said where nothing was understood: the closest that could be written, else where to look."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gate.rules.close_names import close_matches
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec
from tools.phrases.help import called, can_run, examples, form, of_server, servers, usable
from tools.phrases.matching import VALUE
from tools.phrases.phrasebook import PhraseBook
from tools.phrases.sentence_patterns import readable
from tools.phrases.similarity import Choice, closest, words_of
from tools.phrases.tokenize import Heard
from tools.phrases.typed_values import bullets

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
WORD = re.compile(r"[^\W\d_]+")
OTHER_SCRIPT = re.compile(r"[\u0370-\u1fff\u2e80-\ud7ff]")  # Greek to Thai, and the scripts of East Asia
ONLY_ENGLISH = " Without a model I understand English sentences only."
HELP = "`help` shows what else there is."
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
    """“I did not understand …”, with what comes closest: at most five lines."""
    text = missed(line, heard)
    named = _named(heard.typed(line), tools)
    if named:
        return f"{text} There is a tool of that name. Write:\n{bullets(named)}"
    close = closest(line, [*_choices(book, tools), *COMMANDS], CLOSEST)
    if close:
        best = close[0].server
        more = f"`help {best}` shows more like this, `help` what else there is." if best else HELP
        return f"{text} You can write:\n{bullets([choice.text for choice in close])}\n{more}"
    server = _server(line, tools)
    return f"{text} {of_server(server, book, tools) if server else examples(book, tools)}"


def missed(line: str, heard: Heard) -> str:
    """“I did not understand …”."""
    shown = " ".join(heard.typed(line).split())
    shown = shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
    return f"I did not understand “{shown}”.{ONLY_ENGLISH if _is_foreign(line) else ''}"


def elsewhere(line: str, server: str, book: PhraseBook, tools: Tools) -> str:
    """What can be written to other servers than the one that a line was taken for; "" where nothing comes close."""
    others = [choice for choice in _choices(book, tools) if choice.server not in ("", server)]
    close = closest(line, others, CLOSEST)
    if close:
        return f"If you mean no file, you can write:\n{bullets([one.text for one in close])}"
    named = _server(line, tools)
    return of_server(named, book, tools) if named not in ("", server) else ""


def _is_foreign(line: str) -> bool:
    words = VALUE.sub(" ", line)
    return bool(OTHER_SCRIPT.search(words)) or not FOREIGN.isdisjoint(WORD.findall(words.lower()))


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


def _choices(book: PhraseBook, tools: Tools) -> Iterator[Choice]:
    """All phrases and runbooks whose tools are there."""
    for phrase in usable(book, tools):
        says = [pattern.say for pattern in phrase.patterns]
        hints = f"{phrase.tool} {phrase.server}"
        yield Choice(phrase.example or readable(says[0]), says, hints, phrase.full_name, phrase.server)
    for runbook in book.runbooks:
        if can_run(runbook, book, tools):
            name = runbook.name.replace("-", " ")
            text = f"`{runbook.example or f'run {runbook.name}'}`: {runbook.title.lower()}, in several steps"
            yield Choice(text, [f"run {name}", name, runbook.title], runbook.description, runbook.name)
