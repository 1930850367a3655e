"""Whether the name of a tool says that it deletes files or drops tables: those are always gated."""

from __future__ import annotations

from functools import lru_cache

from gate.arguments.command_tools import READ_VERBS
from gate.arguments.deleting_names import DROPPING, JOINED, OF_FILES, TABLES, THINGS, VERBS
from gate.arguments.tool_names import words
from gate.rules.action import Json

CONJUNCTIONS = frozenset({"and", "or", "then", "with", "after"})
KEEPING = frozenset({"recover", "restore", "undelete", "untrash"})  # from the trash


@lru_cache(maxsize=65_536)
def said_words(full_name: str) -> frozenset[str]:
    """The words of a tool's name."""
    return frozenset(words(full_name.partition(".")[2]))


def only_looks(full_name: str) -> bool:
    """Whether a name begins with a verb that reads and adds no second one: `list_empty_folders`."""
    said = words(full_name.partition(".")[2])
    return bool(said) and said[0] in READ_VERBS and CONJUNCTIONS.isdisjoint(said)


def deletes_files(full_name: str, _: Json = None) -> bool:
    """Whether the name of a tool says that it deletes files."""
    if only_looks(full_name):
        return False
    said = said_words(full_name)
    verbs = said & VERBS
    alone = said & OF_FILES or VERBS.issuperset(words(full_name.rpartition(".")[2]) or [""])
    of_files = verbs and said & THINGS and not (verbs == {"trash"} and said & KEEPING)
    return bool(alone or of_files or said & JOINED["files"])


def drops_tables(full_name: str, _: Json = None) -> bool:
    """Whether it says that it drops tables."""
    if only_looks(full_name):
        return False
    said = said_words(full_name)
    return bool((said & DROPPING and said & TABLES) or said & JOINED["tables"])
