"""What differs between two texts line by line, worked out beside the bot: texts can be made for it to take minutes."""

from __future__ import annotations

from servers.sandbox.calling import SANDBOX, Job, Limits, decoded

SECONDS, GRACE = 5, 20  # of processor time to compare, and on the clock beside that
LONGEST = 60_000  # characters of a text that is shown whole: no more can be set
ALL_LINES = 1 << 30  # around what differs


def unified(old: bytes, new: bytes, names: tuple[str, str], around: int, most: int) -> str | None:
    """As `diff -u` prints it, with `around` lines before and after what differs. None: it has more characters than
    `most`, or the texts are too large to be compared.

    Where it takes longer than SECONDS, all old lines go and all new ones come.
    """
    if old == new:
        return ""
    args = {"names": names, "around": around, "seconds": SECONDS, "most": most}
    limits = Limits(seconds=SECONDS + GRACE, output=4 * most + (1 << 20))
    result = SANDBOX.call(Job("formats.difference", (old, new), args, limits=limits))
    if result.refused or result.told.get("more"):
        return None
    return decoded(result.data, names[0] or "The text", most)


def of_file(said: str, old: bytes, new: bytes, most: int, around: int = 3) -> str | None:
    """The same for a text file as it is now and as it would be."""
    return unified(old, new, (f"{said} (now)", f"{said} (after)"), around, most)


def change(old: str, new: str) -> str:
    """The same for two texts without names, with one line around what differs. In place of one that is too long stands
    how long it is."""
    found = _changed(old, new)
    if found is None:
        found = _changed(*(t if len(t) <= LONGEST else f"({len(t):,} characters)\n" for t in (old, new)))
    return "\n".join((found or "").splitlines()[2:])


def _changed(old: str, new: str) -> str | None:
    first, second = (text.encode("utf-8", "replace") for text in (old, new))
    return unified(first, second, ("", ""), 1, 4 * LONGEST)
