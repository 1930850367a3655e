"""What a change is called once it has happened: `Moved a.md to b.md` of `Move a.md to b.md`."""

from __future__ import annotations

IRREGULAR = {
    "build": "Built",
    "make": "Made",
    "run": "Ran",
    "send": "Sent",
    "take": "Took",
    "write": "Wrote",
}
REGULAR = frozenset(
    "add append approve archive assign book change clear close comment commit convert copy create decrypt "
    "delete deploy disable download draft duplicate edit empty enable encrypt export extract fill forward generate "
    "import index insert install invite mark merge move open pin poke post publish purge push release remove rename "
    "reopen replace reply restore revoke save schedule share shred sign start stop submit tag transfer uninstall "
    "unwatch update upload watch".split()
)
DOUBLED = frozenset({"commit", "pin", "shred", "stop", "submit", "tag", "transfer"})


def past(summary: str) -> str:
    """The line with its first word in the past; "" where that word is none of those known here."""
    first, space, rest = summary.partition(" ")
    told = _of(first.lower())
    return f"{told}{space}{rest}" if told else ""


def _of(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb not in REGULAR:
        return ""
    if verb.endswith("e"):
        return f"{verb}d".capitalize()
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied".capitalize()
    return f"{verb}{verb[-1] if verb in DOUBLED else ''}ed".capitalize()
