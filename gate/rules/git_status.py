"""What the status of a repository of git says is under way in it: a merge, a rebase, a cherry-pick or a revert."""

from __future__ import annotations

import re

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
