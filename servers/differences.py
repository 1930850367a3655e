"""What differs between two texts line by line, worked out beside the bot: texts can be made for it to take minutes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from servers.sandbox.calling import SANDBOX, Job, Limits

SECONDS = 5


def unified(old: Sequence[str], new: Sequence[str], names: tuple[str, str], around: int = 3) -> str:
    """As `diff -u` prints it, with `around` lines before and after what differs.

    Lines keep their ends. Where it takes longer than SECONDS, all old lines go and all new ones come.
    """
    if list(old) == list(new):
        return ""
    texts = [json.dumps(list(lines)).encode() for lines in (old, new)]
    args = {"names": names, "around": around}
    result = SANDBOX.call(Job("formats.difference", texts, args, limits=Limits(seconds=SECONDS)))
    return _replaced(old, new, names) if result.refused else result.data.decode("utf-8", "surrogatepass")


def of_file(said: str, old: bytes, new: bytes, around: int = 3) -> str:
    """The same for a text file as it is now and as it would be. `around` 0: all lines are shown."""
    lines = [data.decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new)]
    return unified(lines[0], lines[1], (f"{said} (now)", f"{said} (after)"), around or sum(map(len, lines)))


def _replaced(old: Sequence[str], new: Sequence[str], names: tuple[str, str]) -> str:
    head = [f"--- {names[0]}\n", f"+++ {names[1]}\n", f"@@ -1,{len(old)} +1,{len(new)} @@\n"]
    return "".join([*head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)])
