"""Tools that run commands or statements: what a call does stands in its words, so it is typed for by default.

No list of harmful commands decides here. A call is spared where its command is one of a few that only look, written
without anything that a shell would interpret; and where an operator or a recipe has stated the tool's class.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from gate.arguments import tool_names
from gate.arguments.change_arguments import says_change
from gate.arguments.form_count import too_many_forms
from gate.arguments.json_texts import pairs_of, parsed
from gate.arguments.schema_defaults import TooManyParts
from gate.arguments.secret_files import ends_as_secret
from gate.arguments.statements import DATABASE, PIPELINES, STATEMENTS, class_of_statements
from gate.arguments.text_forms import path_variants
from gate.arguments.web_requests import sends_something
from gate.rules.action import CallClass, Json
from gate.rules.tool import ToolSpec

RUNS = frozenset(
    "ansible bash cmd command commands console csh docker eval evaluate exec execute executor fish helm interpreter "
    "kubectl ksh podman powershell psql pwsh repl sh shell spawn ssh subprocess sudo terminal terraform tty zsh".split()
)
# These run something where they stand beside one of the other words, or alone.
STARTS = frozenset("call create evaluate input interact invoke launch run send start submit write".split())
STARTED = frozenset(
    "bin binary code container javascript js node process program python ruby script scripts".split()
)
CALLED = frozenset(
    "aws az bun cargo curl deno gcloud git java lua make mysql node npm npx perl php python redis ruby run scp sqlite "
    "wget".split()
)  # tools that are called like a program
READ_VERBS = frozenset(
    "count describe find get help history info list ls read search show status view".split()
)
# An argument of such a name, where it is free text, is a command.
COMMANDS = frozenset(
    "argv bash cmd cmdline command commandline command_line commands exec script shell_command shell_script "
    "shellcommand terminal_command".split()
)
COMMANDS_IN_LETTERS = frozenset(name.replace("_", "") for name in COMMANDS)
OPTION_FIELDS = frozenset(
    "cwd dir directory description timeout timeout_ms timeout_seconds title workdir working_dir "
    "working_directory".split()
)  # arguments that may stand beside a command that only looks
PLAIN = re.compile(r"[A-Za-z0-9 _./:,@%+=-]{1,2000}")  # nothing that a shell interprets, on one line
MOST_WORDS = 1_000  # of a command that is looked at; a longer one is typed for
OPTION = re.compile(r"-[A-Za-z0-9]{1,12}|--[a-z][a-z-]{1,30}")
# What only looks, and the options it may have; None: nothing may follow.
READERS: Mapping[str, re.Pattern[str] | None] = {
    **dict.fromkeys("cat df du echo head ls stat tail uname wc".split(), OPTION),
    **dict.fromkeys("date hostname id pwd uptime whoami".split(), None),
}
GIT = frozenset("branch diff log show status".split())
GIT_READ_OPTIONS = re.compile(
    r"--(oneline|stat|short|porcelain|graph|name-only|name-status|staged|cached|all)|-[0-9]{1,5}|-s"
)
GIT_WRITES = frozenset(
    "add commit push".split()
)  # these change something, and take nothing away in this form
# Without anything that a shell interprets, should the tool pass the list on as one line, and without an option
MESSAGE = re.compile(r"(?:(?!(?<![^ ])-[^ ])[\w .,:/!?@+%#…–-]){1,2000}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")

# Tools with these words in their names take statements (statements.py), and no commands
TAKES_STATEMENTS = frozenset(
    "database db mysql postgres postgresql query sql sqlite statement statements".split()
)
# Characters of all texts and names in a call, those inside of its JSON included, and how many of them: what is more is
# not judged as statements, so that no call holds up others
MOST_CHARACTERS, MOST_TEXTS = 16_000, 1_000
UNREADABLE_COMMAND = "it runs commands, and what this one does cannot be told from its words"
ADDS_SOMETHING = "its command adds something"
STATES_CHANGE = "it holds what reads as a statement that changes something, or may"
SENDS_SOMETHING = "what it asks of an address may change something there"
TOO_MUCH = "its arguments are more than are searched for statements that change something"
SAYS_CHANGE = "its argument “{name}” says that it changes something"


def class_of_words(spec: ToolSpec, args: Json) -> tuple[CallClass, str]:
    """The class that a call has at least because of a command, a statement or a request in it, and why."""
    words = tool_names.words(spec.name)
    runs = runs_commands(words, spec.schema, args)
    if runs and not is_harmless_command(words, args):
        return CallClass.DESTRUCTIVE, UNREADABLE_COMMAND
    given = parsed(args)
    if too_much_to_judge(given):
        return (CallClass.DESTRUCTIVE if may_hold_statements(words, given) else CallClass.WRITE), TOO_MUCH
    cls = class_of_statements(words, args, _about(spec, args))  # beside a command that only looks, too
    if cls is CallClass.DESTRUCTIVE:
        return cls, UNREADABLE_COMMAND
    if runs and adds_something(words, args):
        return CallClass.WRITE, ADDS_SOMETHING
    if cls is CallClass.READ and sends_something(words, args):
        return CallClass.WRITE, SENDS_SOMETHING
    if cls is CallClass.READ and not runs and (said := _said_change(spec, args)):
        return CallClass.WRITE, said
    return cls, STATES_CHANGE


def _said_change(spec: ToolSpec, args: Json) -> str:
    """Why an argument, given or left out, says a change; "" where none does."""
    try:
        name = says_change(spec, args)
    except TooManyParts:
        return TOO_MUCH
    return SAYS_CHANGE.format(name=name[:100]) if name else ""


def too_much_to_judge(given: Json) -> bool:
    """Whether arguments, JSON inside of texts read, hold more texts and names than are judged. Numbers are none: a
    search may have thousands."""
    room, left, count = MOST_CHARACTERS, [given], 0
    while left:
        one = left.pop()
        if isinstance(one, str):
            room -= len(one)
        elif isinstance(one, Mapping):
            room, count = room - sum(map(len, one)), count + len(one)
            left += one.values()
        elif isinstance(one, list):
            left += one
        else:
            continue
        count += 1
        if room < 0 or count > MOST_TEXTS:
            return True
    return False


def may_hold_statements(said: Sequence[str], given: Json) -> bool:
    """Whether a tool with these words in its name, or a field in a call of it, is called like a statement, a pipeline
    or a database."""
    known = DATABASE | STATEMENTS | PIPELINES
    if not known.isdisjoint(said):
        return True
    names = dict.fromkeys(_names(given))
    return any(name.startswith("$") or not known.isdisjoint(tool_names.words(name[:100])) for name in names)


def _names(given: Json) -> Iterator[str]:
    """The names of fields at whatever depth, JSON inside of texts read."""
    left = [given]
    while left:
        one = left.pop()
        pairs = pairs_of(one)
        if pairs is not None:
            yield from (name for name, _ in pairs)
            left += (item for _, item in pairs)
        elif isinstance(one, list):
            left += one


def _about(spec: ToolSpec, args: Json) -> str:
    """What the server says of a tool and of the arguments that a call of it has."""
    declared = spec.schema.get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    given = [properties.get(name) for name in args] if isinstance(args, Mapping) else []
    said = [one.get("description") for one in given if isinstance(one, Mapping)]
    texts = (spec.title, spec.description, *(one for one in said if isinstance(one, str)))
    return "\n".join(text[: tool_names.LONGEST] for text in texts)


def runs_commands(words: Sequence[str], schema: Mapping[str, Json], args: Json) -> bool:
    """Whether a tool whose name has these words, with this schema, runs commands."""
    said = set(words)
    if words and words[0] in READ_VERBS:
        named = False
    else:
        named = bool(said & RUNS) or (bool(said & STARTS) and bool(said & STARTED)) or said <= CALLED
    return (named and not said & TAKES_STATEMENTS) or any(_commands(schema, args))


def _commands(schema: Mapping[str, Json], args: Json) -> Iterator[str]:
    """The names of arguments that take a command, in whatever capitals and wide letters. One with a fixed choice of
    words takes none. All tools of a server have up to 150,000 names."""
    declared = schema.get("properties")
    properties = declared if isinstance(declared, Mapping) else {}
    for name in {*properties, *field_names(args)}:
        plain = name if name.isascii() else unicodedata.normalize("NFKC", name[:100])
        if plain.lower().replace("-", "").replace("_", "") not in COMMANDS_IN_LETTERS:
            continue
        about = properties.get(name, {})
        chosen = isinstance(about, Mapping) and ("enum" in about or "const" in about)
        if not chosen:
            yield name


def field_names(value: Json) -> Iterator[str]:
    """The names of fields in the arguments, at whatever depth."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, Mapping):
            yield from one
            left += one.values()
        elif isinstance(one, list):
            left += one


def _plain_name(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace("-", "_")


def _command(words: Sequence[str], args: Json) -> list[str]:
    """The words of the one command of a call; none where that is not plain."""
    if not isinstance(args, Mapping):
        return []
    given = {name: value for name, value in args.items() if _plain_name(name) not in OPTION_FIELDS}
    return _line(given, "git" if "git" in words else "")


def adds_something(words: Sequence[str], args: Json) -> bool:
    """Whether a harmless command changes something all the same: git, where it adds, commits or pushes."""
    command = _command(words, args)
    return command[:1] == ["git"] and not GIT_WRITES.isdisjoint(command[1:2])


def is_harmless_command(words: Sequence[str], args: Json) -> bool:
    """Whether the command of a call is one of the few that only look (of git, also those that only add)."""
    command = _command(words, args)
    if not 0 < len(command) <= MOST_WORDS or not _only_looks(command):
        return False
    targets = [(word, path_variants) for word in command]
    if too_many_forms([(targets, len(targets))]):
        return False
    return not any(ends_as_secret(form) for word in command for form in (word, *path_variants(word)))


def _only_looks(command: Sequence[str]) -> bool:
    if command[0] == "git":
        return _git(command[1:])
    if not all(map(PLAIN.fullmatch, command)) or command[0] not in READERS:
        return False
    allowed = READERS[command[0]]
    return all(
        bool(allowed and allowed.fullmatch(word)) for word in command[1:] if word.startswith("-")
    ) and (allowed is not None or len(command) == 1)


def _line(given: Mapping[str, Json], program: str) -> list[str]:
    """The words of the one command that is given; none where that is not plain. A tool that is a program may be
    given its arguments alone."""
    texts = [value for value in given.values() if isinstance(value, str)]
    lists = [value for value in given.values() if isinstance(value, list)]
    if len(texts) + len(lists) != len(given) or len(texts) > 1 or len(lists) > 1:
        return []
    if not all(isinstance(word, str) and word for value in lists for word in value):
        return []
    if texts and not PLAIN.fullmatch(texts[0]):
        return []
    line = [word for text in texts for word in text.split(" ") if word] + [
        w for value in lists for w in value
    ]
    return line if not program or line[:1] == [program] else [program, *line]


def _git(line: Sequence[str]) -> bool:
    if not line or line[0] not in GIT | GIT_WRITES:
        return False
    verb, rest = line[0], list(line[1:])
    if verb == "commit":
        return len(rest) == 2 and rest[0] in ("-m", "--message") and bool(MESSAGE.fullmatch(rest[1]))
    if verb == "branch":
        return not rest
    if verb in GIT_WRITES:
        return all(NAME.fullmatch(word) and ".." not in word for word in rest) and "/" not in "".join(
            rest[:1] if verb == "push" else []
        )
    return all(GIT_READ_OPTIONS.fullmatch(word) or NAME.fullmatch(word) for word in rest)
