"""Words by which the name of a tool says that it deletes files or tables, in whatever order and style."""

from __future__ import annotations

from collections.abc import Mapping

VERBS = frozenset(
    "clean cleanup clear del delete deletes deleting deltree destroy destroys discard empty erase erases nuke "
    "obliterate purge purges remove removes removing rm rmdir rmtree shred trash unlink wipe wipes".split()
)
OF_FILES = frozenset({"deltree", "rm", "rmdir", "rmtree"})  # they take away nothing else
THINGS = frozenset(
    "attachment attachments blob blobs dir directories directory dirs doc docs document documents file files "
    "filesystem folder folders fs object objects path paths".split()
)
DROPPING = frozenset("drop drops dropping truncate truncates".split())
TABLES = frozenset(
    "collection collections column database databases db index indexes indices keyspace schema schemas table tables "
    "view".split()
)
JOINED: Mapping[str, frozenset[str]] = {
    name: frozenset(
        f"{a}{b}" for verb in verbs for thing in things for a, b in ((verb, thing), (thing, verb))
    )
    for name, verbs, things in (("files", VERBS, THINGS), ("tables", DROPPING, TABLES))
}  # a name without any sign between its words
