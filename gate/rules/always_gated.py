"""The always-gate list that comes along: calls that a person types for, whatever mode, grant or confidence.

An operator adds to it and never shortens it. What only reads is spared (see `policy.decide`), but for what it reads
of secret files. A shell or a database is not spared: what those do stands in their arguments, so these rules raise
the class first.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.arguments.command_tools import RUNS, field_names, runs_commands
from gate.arguments.deleting_tools import deletes_files, drops_tables, only_looks, said_words
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


ADDING = frozenset("add remove update upgrade".split())
PACKAGES = frozenset("dependencies dependency package packages".split())


def _installs(full_name: str, _: Json) -> bool:
    said = said_words(full_name)
    return any("install" in word for word in said) or bool(said & ADDING and said & PACKAGES)


def _is_shell(full_name: str, args: Json) -> bool:
    """Whether a tool runs commands, by a word of its name or the name of an argument."""
    said = words(full_name.partition(".")[2])
    return not (RUNS | set(SHELLS.split())).isdisjoint(said) or runs_commands(said, {}, args)


def _is_database(full_name: str, args: Json) -> bool:
    """Whether a tool runs statements, by a word of its name or the name of an argument."""
    if not only_looks(full_name) and not (DATABASE | set(DATABASES.split())).isdisjoint(
        said_words(full_name)
    ):
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
    _rule("deleting files", DELETERS, about=deletes_files),
    _rule("dropping tables", DROPPERS, about=drops_tables),
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
