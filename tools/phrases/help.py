"""Help: what can be written, in short; which servers there are; and the examples of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from gate.rules.action import CallClass
from gate.rules.close_names import close_matches
from gate.rules.ports import Tools
from gate.rules.tool import ToolSpec
from tools.mcp.schema import either
from tools.phrases.phrasebook import Phrase, PhraseBook, Runbook
from tools.phrases.plan_draft import PLAIN, class_of, plain_word
from tools.phrases.runbook_steps import needs
from tools.phrases.runbooks import listed
from tools.phrases.typed_values import bullets, clipped

FEW = 4
SERVERS = 4  # examples where all servers could be meant
EXAMPLES = 12  # of one server
TOOLS = 30  # of one server, by name
NAMES = 20  # of servers
ARGUMENTS = 4  # of a tool, as it is written
NOTHING = (
    "No server is connected right now, so there is nothing that I could do. Please try again in a moment."
)
# What the bundled servers are for, in plain words, which `help` knows as well.
RUNBOOKS = ("runbook", "runbooks")


def examples(book: PhraseBook, tools: Tools) -> str:
    """A few examples, of as many servers as there are, and how to see the others."""
    some = _some(book, tools)
    count = len(servers(tools))
    if not count:
        return some
    first = next(
        (phrase.server for phrase in usable(book, tools) if phrase.example), next(iter(servers(tools)))
    )
    others = f", `help` shows all {count} things I can help with" if count > 1 else ""
    return f"{some}\n`help {plain_word(first)}` shows more like the first{others}.{_runs(book, tools)}"


def _some(book: PhraseBook, tools: Tools) -> str:
    said: dict[str, list[str]] = {}
    for phrase in usable(book, tools):
        if phrase.example:
            said.setdefault(phrase.server, []).append(phrase.example)
    rows = zip_longest(*list(said.values())[:SERVERS])
    shown = [text for row in rows for text in row if text][:SERVERS]
    if shown:
        return f"You can write, for example:\n{bullets(shown)}"
    name = next((spec.full_name for spec in tools.specs()), "server.tool")
    return f"Name a tool and its arguments, for example: `{name} name=value`."


def _runs(book: PhraseBook, tools: Tools) -> str:
    return " `runbooks` lists plans with a name." if runnable(book, tools) else ""


def welcome(book: PhraseBook, tools: Tools) -> str:
    """What to say to who asks what there is at all."""
    there = servers(tools)
    if not there:
        return NOTHING
    return f"{_some(book, tools)}\n{_all(there)}{_runs(book, tools)}"


def of_server(name: str, book: PhraseBook, tools: Tools) -> str:
    """A few examples of one server, and how to see the others."""
    each = {p.tool: p.example for p in reversed(harmless(book, tools)) if p.server == name and p.example}
    said = [*reversed(each.values())][:FEW]
    word = plain_word(name)
    if not said:
        return f"`help {word}` shows what I can do there."
    return f"With {word} you can write, for example:\n{bullets(said)}\n`help {word}` shows more."


def guide(about: str, tools: Tools, book: PhraseBook | None = None) -> str:
    """Help about one server, or about all. `about`: how somebody calls it, "" for all. `book`: the phrases, where
    they are what is understood. Text for people; what stands in backticks can be written as it is."""
    there = servers(tools)
    if not there:
        return NOTHING
    if not about:
        return _all(there)
    if book and about.lower() in RUNBOOKS:
        return listed(book) if runnable(book, tools) else "There are no runbooks."
    named = called(about, [*there, *(one.name for one in tools.servers())])
    if len(named) != 1:
        return _unknown(about, named, there)
    specs = there.get(named[0], [])
    return _one(named[0], specs, tools, book) if specs else _away(named[0], there)


def servers(tools: Tools) -> Mapping[str, Sequence[ToolSpec]]:
    """The tools of each server that has any, in the order in which they are listed."""
    found: dict[str, list[ToolSpec]] = {}
    for spec in tools.specs():
        found.setdefault(spec.server, []).append(spec)
    return found


def called(about: str, names: Sequence[str], nearly: bool = True) -> list[str]:
    """The servers that this may mean: `files` is filesystem, `mail` is email; `nearly`: `calender` is calendar."""
    names, word = list(dict.fromkeys(names)), about.lower()
    exact = [name for name in names if name.lower() == word]
    short = word.removesuffix("s")
    found = exact or [name for name in names if name.lower().removesuffix("s") == short]
    if found or len(short) < 3:
        return found
    within = [name for name in names if short in name.lower() or PLAIN.get(name) == word]
    lowered = {name.lower(): name for name in names}
    return within or [lowered[one] for one in close_matches(word, lowered, 2, 0.7) if nearly]


def form(spec: ToolSpec) -> str:
    """How a tool is called by name, with the arguments that it must have."""
    required = [str(name) for name in spec.schema.get("required", ()) if name not in spec.recipe.bind]
    return " ".join([spec.full_name, *(f"{name}=…" for name in required[:ARGUMENTS])])


def usable(book: PhraseBook, tools: Tools) -> Sequence[Phrase]:
    """The phrases whose tools are there."""
    return [phrase for phrase in book.phrases if tools.find(phrase.server, phrase.tool)]


def runnable(book: PhraseBook, tools: Tools) -> Sequence[Runbook]:
    return [runbook for runbook in book.runbooks if can_run(runbook, book, tools)]


def can_run(runbook: Runbook, book: PhraseBook, tools: Tools) -> bool:
    """Whether the tools of its steps are there."""
    return all(tools.find(server, tool) for server, tool in needs(runbook, book.phrases))


def harmless(book: PhraseBook, tools: Tools) -> Sequence[Phrase]:
    """The same without those that destroy something: nobody is told of them who did not ask."""
    return [phrase for phrase in usable(book, tools) if not _destroys(phrase.server, phrase.tool, tools)]


def destroys(runbook: Runbook, book: PhraseBook, tools: Tools) -> bool:
    return any(_destroys(server, tool, tools) for server, tool in needs(runbook, book.phrases))


def _destroys(server: str, tool: str, tools: Tools) -> bool:
    spec = tools.find(server, tool)
    named = tool.startswith(("delete_", "purge_", "remove_"))
    return named or (spec is not None and class_of(spec) is CallClass.DESTRUCTIVE)


def _run_with(name: str, book: PhraseBook, tools: Tools) -> list[Runbook]:
    """The runbooks that use a server."""
    found = runnable(book, tools)
    return [one for one in found if name in {server for server, _ in needs(one, book.phrases)}]


def _all(there: Mapping[str, Sequence[ToolSpec]]) -> str:
    known = [name for name in PLAIN if name in there]
    names = [plain_word(name) for name in (*known, *(name for name in there if name not in PLAIN))]
    rest = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return (
        f"I can help with: {', '.join(names[:NAMES])}{rest}.\n"
        f"For examples of one, mention me with `help {names[0]}`, or write `/countersign help {names[0]}`."
    )


def _one(name: str, specs: Sequence[ToolSpec], tools: Tools, book: PhraseBook | None) -> str:
    said = [p.example for p in usable(book, tools) if p.server == name and p.example] if book else []
    parts = [f"You can write, for example:\n{bullets(said[:EXAMPLES])}"] if said else []
    if book is None:
        parts = ["Say in your own words what you want done with it."]
    names = ", ".join(f"`{spec.name}`" for spec in specs[:TOOLS])
    rest = f" and {len(specs) - TOOLS} more" if len(specs) > TOOLS else ""
    parts.append(f"`{name}` has {_count(len(specs), 'tool')}: {names}{rest}.")
    if book is not None:
        parts.append(f"Each works by its name, too: `{form(specs[0])}`.")
        runs = ", ".join(f"`{one.name}`" for one in _run_with(name, book, tools))
        parts.append(f"Runbooks with it: {runs}; write `runbooks` to see them." if runs else "")
    return "\n".join(filter(None, parts))


def _unknown(about: str, named: Sequence[str], there: Mapping[str, Sequence[ToolSpec]]) -> str:
    missed = f"I know nothing called “{clipped(about, 40)}”."
    if named:
        return f"{missed} Did you mean {either([f'`help {name}`' for name in named[:3]])}?"
    names = ", ".join(f"`{plain_word(name)}`" for name in list(there)[:NAMES])
    return f"{missed} I can help with these: {names}. Write `help` and one of these words."


def _away(name: str, there: Mapping[str, Sequence[ToolSpec]]) -> str:
    names = ", ".join(f"`{plain_word(one)}`" for one in list(there)[:NAMES])
    return f"The server `{name}` is set up, and is not connected right now. I can help with these: {names}."


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
