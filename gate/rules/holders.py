"""What a file lies in, by the name that an argument of its server's tools selects it by: a calendar, a mailbox.

A rule about such an argument (`mailbox: HR`) is about each file in there, however a call has come to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gate.rules.action import Json
from gate.rules.identifiers import Ids, fold

FOLDER_END = re.compile(r"(?<=[^/])/")
# In a Maildir the folder of a mailbox has dots before its name, and the inbox has no folder of its own
MAIL = re.compile(r"(?:^|/)(?:([^/]++)/)?(?:cur|new)/")

# Folders that one path may have, holders, and characters that their names may have together: 0.03 s
MOST_FOLDERS, MOST_HOLDERS, MOST_CHARACTERS = 50, 400, 50_000


def lie_in_too_much(paths: Sequence[str]) -> bool:
    """Whether what these files lie in is more than is held against rules."""
    if any(path.count("/") > MOST_FOLDERS for path in paths):
        return True
    names = dict.fromkeys(name for path in paths for name in _holders(path))
    return len(names) > MOST_HOLDERS or sum(map(len, names)) > MOST_CHARACTERS


def holders(paths: Sequence[str]) -> tuple[str, ...]:
    """The folders that these files lie in, or the mailboxes of mails: as written, and in either case."""
    names = dict.fromkeys(name for path in paths for name in _holders(path))
    return tuple(dict.fromkeys(form for name in names for form in (name, fold(name), fold(name).upper())))


def _holders(path: str) -> list[str]:
    mail = MAIL.search(path)
    folder = (mail[1] or "") if mail else ""
    if folder.startswith("."):
        return [folder.lstrip(".") or "INBOX"]
    folders = [path[: end.start()] for end in FOLDER_END.finditer(path)]
    return [folder or "INBOX", *folders] if mail else folders  # or an event in a folder that is called so


def in_any_letters(schema: Json, names: Sequence[str]) -> Json:
    """A schema that holds for holders, under these arguments, in whatever letters it names them."""
    ids = Ids(names)
    ids.form(dict.fromkeys(names, ""))
    return ids.schema(schema)
