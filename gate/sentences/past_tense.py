"""The first line of a call, told in the past once the call has happened."""

from __future__ import annotations

IRREGULAR = {
    "bring": "Brought",
    "build": "Built",
    "find": "Found",
    "forget": "Forgot",
    "make": "Made",
    "run": "Ran",
    "send": "Sent",
    "take": "Took",
    "write": "Wrote",
}
REGULAR = frozenset(
    "add append approve archive assign book change clear close comment commit compare convert copy count create "
    "decrypt delete deploy describe disable download draft duplicate edit empty enable encrypt export extract fill "
    "fork forward generate import index insert install invite link list log look mark merge move open pin poke post "
    "publish purge push query release remember remove rename reopen replace reply restore review revoke save schedule "
    "search share show shred sign stage start stop submit switch tag transfer uninstall unstage unwatch update upload "
    "watch".split()
)
DOUBLED = frozenset({"commit", "log", "pin", "shred", "stop", "submit", "tag", "transfer"})


def past(summary: str) -> str:
    """A summary once it has happened, `Moved a.md to b.md` of `Move a.md to b.md`; "" for an unknown verb."""
    first, space, rest = summary.partition(" ")
    told = _past_of(first.lower())
    return f"{told}{space}{rest}" if told else ""


def past_if_known(summary: str) -> str:
    """The same, but unchanged for an unknown verb: where a sign or a sentence says already that it is done."""
    return past(summary) or summary


def _past_of(verb: str) -> str:
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb not in REGULAR:
        return ""
    if verb.endswith("e"):
        return f"{verb}d".capitalize()
    if verb.endswith("y") and verb[-2] not in "aeou":
        return f"{verb[:-1]}ied".capitalize()
    return f"{verb}{verb[-1] if verb in DOUBLED else ''}ed".capitalize()
