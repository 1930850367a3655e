"""What a file lies in, by the name that an argument of its server's tools selects it by: a calendar, a mailbox.

A rule about such an argument (`mailbox: HR`) is about each file in there, however a call has come to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gate.arguments.identifiers import Ids, fold
from gate.rules.action import Json

FOLDER_END = re.compile(r"(?<=[^/])/")
CALENDAR, MAILBOX = "calendar", "mailbox"  # the arguments by which a tool is told one
# In a Maildir the folder of a mailbox has dots before its name, and the inbox has no folder of its own
MAIL = re.compile(r"(?:^|/)(?:\.*+([^/]*+)/)?(?:cur|new)/")

OF_CALENDARS = ".ics"  # a file of events, which may lie in the served folder itself
TOP = "."  # as an argument names that

# Folders that one path may have, holders, and characters that their names may have together: 0.03 s
MOST_FOLDERS, MOST_HOLDERS, MOST_CHARACTERS = 50, 400, 50_000


def lie_in_too_much(paths: Sequence[str], inside: Sequence[str], named: Sequence[str] = ()) -> bool:
    """Whether what these files lie in, named by these arguments, is more than is held against rules; or what is so
    `named`."""
    if any(path.count("/") > MOST_FOLDERS for path in paths):
        return True
    names = dict.fromkeys([*(name for path in paths for name in _holders(path, inside)), *named])
    return len(names) > MOST_HOLDERS or sum(map(len, names)) > MOST_CHARACTERS


def holders(paths: Sequence[str], inside: Sequence[str]) -> tuple[str, ...]:
    """What these files lie in, as these arguments name it: as written, and in either case.

    A mail lies in its mailbox, any other file in each of its folders, one of events without a folder in ".". The folder
    that a mailbox is counts as no holder beside it: a name that was confirmed would not be all that a rule is held
    against.
    """
    return holder_forms(name for path in paths for name in _holders(path, inside))


def lying_together(paths: Iterable[str], inside: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """These files by what they lie in."""
    found: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        found.setdefault(holders([path], inside), []).append(path)
    return found


def holder_forms(names: Iterable[str]) -> tuple[str, ...]:
    """These names as written, and in either case."""
    names = dict.fromkeys(names)
    return tuple(dict.fromkeys(form for name in names for form in (name, fold(name), fold(name).upper())))


def seen_forms(forms: Sequence[str], texts: Sequence[str]) -> Sequence[str]:
    """Those of such forms that a rule with these texts has to see. A schema in any letters needs no capitals: one that
    spares a name would not spare it in them."""
    return forms if texts else [one for one in forms if one != (plain := fold(one)).upper() or one == plain]


def _holders(path: str, inside: Sequence[str]) -> list[str]:
    folders = [path[: end.start()] for end in FOLDER_END.finditer(path)]
    if not folders and CALENDAR in inside and path.lower().endswith(OF_CALENDARS):
        return [TOP]
    mail = MAIL.search(path) if MAILBOX in inside else None
    if mail is None:
        return folders
    mailbox = mail[1] or "INBOX"
    return [mailbox] if mail.start() == 0 and path.startswith(".") else [mailbox, *folders]


def in_any_letters(schema: Json, names: Sequence[str]) -> Json:
    """A schema that holds for holders, under these arguments, in whatever letters it names them."""
    ids = Ids(names)
    ids.form(dict.fromkeys((way[0] for way in ids.ways), ""))
    return ids.schema(schema)
