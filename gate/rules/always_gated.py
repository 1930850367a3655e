"""The always-gate list that comes along: calls that a person types for, whatever mode, grant or confidence.

An operator adds to it and never shortens it. What only reads is spared (see `policy.decide`), but for what it reads
of secret files. A shell or a database is not spared: what those do stands in their arguments, so these rules raise
the class first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from gate.arguments.command_tools import READ_VERBS, RUNS, field_names, runs_commands
from gate.arguments.production_files import PRODUCTION
from gate.arguments.secret_files import SECRET_FILE
from gate.arguments.statements import DATABASE, SQL
from gate.arguments.tool_names import words
from gate.rules.action import CallClass, Json
from gate.rules.policy import Rule
from gate.rules.policy_rules import About

FILES = "file folder dir path document object blob"
SHELLS = "shell bash command cmd exec terminal console process powershell script run"
DATABASES = "sql query execute statement database run"

# Some argument contains this, in a tool that runs commands or statements. Repeats have bounds, so that no text takes
# long to search.
DESTROYS = (
    r"(?i)(^|[;&|(`\s/])(rm|rmdir|unlink|shred|truncate|dd|mkfs(\.\w{1,10})?|wipefs|fdisk|parted|del|erase|format|"
    r"remove-item|kill|killall|pkill|shutdown|reboot|halt|chmod|chown|crontab|iptables|userdel)($|[\s;&|)])|"
    r"\s-delete\b|\bof=/|>\s?/dev/|\|\s{0,9}(sudo\s{1,9})?(ba|z|da)?sh\b|(^|[\s/=>])\.env\b|"
    r"\bgit\s{1,9}(reset\b.{0,40}--hard|clean\b|push\b.{0,90}(\s-f\b|--force)|branch\s{1,9}-D)|"
    r"\b(kubectl|docker|podman|helm|terraform|aws|gcloud|az)\b.{0,90}\b(delete|destroy|rm|rmi|prune|uninstall|terminate)"
)
INSTALLERS = (
    r"pip[\d.]{0,4}|pipx|uv|poetry|conda|npm|pnpm|yarn|bun|gem|cargo|go|brew|apt|apt-get|aptitude|dnf|yum|apk|pacman|"
    r"zypper|snap|choco|winget|dpkg|rpm"
)
INSTALLS = rf"(?i)\b({INSTALLERS})\b.{{0,90}}(\b(install|add|get)\b|\s-(S|i|Uvh)\b)"
INSTALLER_WORD = rf"(?i)^([\w/.-]{{0,90}}/)?({INSTALLERS})$"
INSTALLING_WORD = r"^(install|add|get|i|-i|-S)$"
DROPS = r"(?i)\b(drop|truncate)\b"


def _named(*parts: str) -> Iterator[str]:
    """Patterns for tools whose name has one word of each part, in this order: snake_case or camelCase."""
    stems = [""]
    for part in parts:
        stems = [f"{stem}*[{word[0]}{word[0].upper()}]{word[1:]}" for stem in stems for word in part.split()]
    yield from (f"{stem}*" for stem in stems)


# The same in words, in whatever order, case and style a name has them
VERBS = frozenset(
    "clean cleanup clear del delete deletes deleting deltree destroy destroys discard empty erase erases nuke "
    "obliterate purge purges remove removes removing rm rmdir rmtree shred trash unlink wipe wipes".split()
)
CONJUNCTIONS = frozenset({"and", "or", "then", "with", "after"})
OF_FILES = frozenset({"deltree", "rm", "rmdir", "rmtree"})  # they take away nothing else
KEEPING = frozenset({"recover", "restore", "undelete", "untrash"})  # from the trash
THINGS = frozenset(
    "attachment attachments blob blobs dir directories directory dirs doc docs document documents file files "
    "filesystem folder folders fs object objects path paths".split()
)
DROPPING = frozenset("drop drops dropping truncate truncates".split())
TABLES = frozenset(
    "collection collections column database databases db index indexes indices keyspace schema schemas table tables "
    "view".split()
)
ADDING = frozenset("add remove update upgrade".split())
PACKAGES = frozenset("dependencies dependency package packages".split())
JOINED: Mapping[str, frozenset[str]] = {
    name: frozenset(
        f"{a}{b}" for verb in verbs for thing in things for a, b in ((verb, thing), (thing, verb))
    )
    for name, verbs, things in (("files", VERBS, THINGS), ("tables", DROPPING, TABLES))
}  # a name without any sign between its words


@lru_cache(maxsize=65_536)
def _said(full_name: str) -> frozenset[str]:
    """The words of a tool's name."""
    return frozenset(words(full_name.partition(".")[2]))


def _only_looks(full_name: str) -> bool:
    """Whether a name begins with a verb that reads and adds no second one: `list_empty_folders`."""
    said = words(full_name.partition(".")[2])
    return bool(said) and said[0] in READ_VERBS and CONJUNCTIONS.isdisjoint(said)


def _deletes(full_name: str, _: Json) -> bool:
    if _only_looks(full_name):
        return False
    said = _said(full_name)
    verbs = said & VERBS
    alone = said & OF_FILES or VERBS.issuperset(words(full_name.rpartition(".")[2]) or [""])
    of_files = verbs and said & THINGS and not (verbs == {"trash"} and said & KEEPING)
    return bool(alone or of_files or said & JOINED["files"])


def _drops(full_name: str, _: Json) -> bool:
    if _only_looks(full_name):
        return False
    said = _said(full_name)
    return bool((said & DROPPING and said & TABLES) or said & JOINED["tables"])


def _installs(full_name: str, _: Json) -> bool:
    said = _said(full_name)
    return any("install" in word for word in said) or bool(said & ADDING and said & PACKAGES)


def _is_shell(full_name: str, args: Json) -> bool:
    """Whether a tool runs commands, by a word of its name or the name of an argument."""
    said = words(full_name.partition(".")[2])
    return not (RUNS | set(SHELLS.split())).isdisjoint(said) or runs_commands(said, {}, args)


def _is_database(full_name: str, args: Json) -> bool:
    """Whether a tool runs statements, by a word of its name or the name of an argument."""
    if not _only_looks(full_name) and not (DATABASE | set(DATABASES.split())).isdisjoint(_said(full_name)):
        return True
    return any(not SQL.isdisjoint(words(name[:100])) for name in field_names(args))


def _rule(
    name: str, tools: tuple[str, ...], *patterns: str, about: About | None = None, reads: bool = False
) -> Rule:
    return Rule(
        name=name,
        tools=tools,
        about=about,
        always=True,
        reads=reads,
        at_least=CallClass.DESTRUCTIVE if about in (_is_shell, _is_database) else None,
        texts=patterns,
    )


DELETERS = (
    *_named("delete remove erase unlink trash purge wipe shred", FILES),
    *("*.delete", "*.remove", "*.unlink", "*.rm", "*.rm_*", "*.rmdir"),
)
DROPPERS = tuple(_named("drop truncate", "table database schema collection index"))
SHELL_TOOLS = tuple(_named(SHELLS))
SQL_TOOLS = (*_named(DATABASES), "*SQL*")
INSTALL_TOOLS = (*_named("install"), *_named("add upgrade update remove", "package dependency"))

ALWAYS: tuple[Rule, ...] = (
    _rule("deleting files", DELETERS, about=_deletes),
    _rule("dropping tables", DROPPERS, about=_drops),
    _rule("dropping tables", SQL_TOOLS, DROPS, about=_is_database),
    _rule("production configuration", ("*",), PRODUCTION),
    _rule("installing packages", INSTALL_TOOLS, about=_installs),
    _rule("installing packages", SHELL_TOOLS, INSTALLS, about=_is_shell),
    _rule("installing packages", SHELL_TOOLS, INSTALLER_WORD, INSTALLING_WORD, about=_is_shell),
    _rule("destructive shell commands", SHELL_TOOLS, DESTROYS, about=_is_shell),
    _rule("secret files", ("*",), SECRET_FILE, reads=True),
    Rule(
        name="secrets in the clipboard",
        tools=("*.get_clipboard",),
        always=True,
        at_least=CallClass.DESTRUCTIVE,
        schema={"required": ["show_secret"], "properties": {"show_secret": {"not": {"const": False}}}},
        private=True,
    ),
)
