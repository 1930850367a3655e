"""The always-gate list that comes along: calls that a person types for, whatever mode, grant or confidence.

An operator adds to it and never shortens it. What only reads is spared (see `policy.decide`), but for what it reads
of secret files. A shell or a database is not spared: what those do stands in their arguments, so these rules raise
the class first.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.rules.action import CallClass
from gate.rules.policy import Rule
from gate.rules.production_files import PRODUCTION
from gate.rules.secret_files import SECRET_FILE

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


def _rule(
    name: str, tools: tuple[str, ...], *patterns: str, raises: bool = False, reads: bool = False
) -> Rule:
    return Rule(
        name=name,
        tools=tools,
        always=True,
        reads=reads,
        at_least=CallClass.DESTRUCTIVE if raises else None,
        texts=patterns,
    )


DELETERS = (
    *_named("delete remove erase unlink trash purge wipe shred", FILES),
    *("*.delete", "*.remove", "*.unlink", "*.rm", "*.rm_*", "*.rmdir"),
)
SHELL_TOOLS = tuple(_named(SHELLS))
SQL_TOOLS = (*_named(DATABASES), "*SQL*")
INSTALL_TOOLS = (*_named("install"), *_named("add upgrade update remove", "package dependency"))

ALWAYS: tuple[Rule, ...] = (
    _rule("deleting files", DELETERS),
    _rule("dropping tables", tuple(_named("drop truncate", "table database schema collection index"))),
    _rule("dropping tables", SQL_TOOLS, DROPS, raises=True),
    _rule("production configuration", ("*",), PRODUCTION),
    _rule("installing packages", INSTALL_TOOLS),
    _rule("installing packages", SHELL_TOOLS, INSTALLS, raises=True),
    _rule("installing packages", SHELL_TOOLS, INSTALLER_WORD, INSTALLING_WORD, raises=True),
    _rule("destructive shell commands", SHELL_TOOLS, DESTROYS, raises=True),
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
