"""What differs between two texts line by line, worked out beside the bot: texts can be made for it to take minutes."""

from __future__ import annotations

from servers.sandbox.calling import SANDBOX, Job, Limits, decoded

SECONDS = 5
ALL_LINES = 1 << 30  # around what differs


def unified(old: bytes, new: bytes, names: tuple[str, str], around: int, most: int) -> str | None:
    """As `diff -u` prints it, with `around` lines before and after what differs. None: it has more characters than
    `most`, or the texts are too large to be compared.

    Where it takes longer than SECONDS, all old lines go and all new ones come.
    """
    if old == new:
        return ""
    args = {"names": names, "around": around, "seconds": SECONDS, "most": most}
    limits = Limits(seconds=2 * SECONDS, output=4 * most + (1 << 20))
    result = SANDBOX.call(Job("formats.difference", (old, new), args, limits=limits))
    return None if result.refused or result.told.get("more") else decoded(result.data, names[0], most)


def of_file(said: str, old: bytes, new: bytes, most: int, around: int = 3) -> str | None:
    """The same for a text file as it is now and as it would be."""
    return unified(old, new, (f"{said} (now)", f"{said} (after)"), around, most)
