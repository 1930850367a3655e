"""What the status of a repository of git says: what is staged, and what is under way, as a merge or a rebase."""

from __future__ import annotations

import re

from gate.rules.diffs import unquoted

TO_BE_COMMITTED = re.compile(r"^Changes to be committed:\n(?:  \(.*\n)*((?:\t.*(?:\n|$))+)", re.MULTILINE)
CHANGE = re.compile(r"\t[a-z ]{1,20}:\s{1,20}(.*)")
BEGINNING = re.compile(r"(Repository status:\n)?(On branch |HEAD detached |Not currently on any branch)")
STATE = re.compile(
    r"^(You are currently (?!bisecting)|You are still |You are in the middle of |You have unmerged |"
    r"All conflicts fixed|Cherry-pick currently |Revert currently |(interactive )?rebase in progress)"
)
UNKNOWN = "It does not say whether a merge or something like it is under way."


def under_way(status: str) -> str:
    """The lines that say so, and an empty one below; nothing where nothing is. Also where the status is in another form
    than git's long one, which says nothing of it (`status.short`)."""
    found = [line for line in status.split("\n") if STATE.match(line)]
    if not found and not BEGINNING.match(status):
        found = [UNKNOWN]
    return "\n".join([*found, "", ""]) if found else ""


def to_be_committed(status: str) -> str:
    """The lines that name what is staged, and an empty one below; nothing where nothing is. A difference leaves out the
    submodules of which `.gitmodules` says so (`ignore = all`)."""
    found = TO_BE_COMMITTED.search(status)
    return f"{found[1].rstrip()}\n\n" if found else ""


def staged_files(status: str) -> tuple[str, ...]:
    """The names in these lines, of what was renamed both."""
    changes = map(CHANGE.fullmatch, to_be_committed(status).split("\n"))
    names = [name for change in changes if change for name in (change[1], *change[1].split(" -> "))]
    return tuple(dict.fromkeys(map(unquoted, names)))
