"""Formulas in one line, as people type them: 1/2, (a+b)/c, x², √(2x). Runs in the sandbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servers.formats.blocks import NO_STYLE, Run, Text, plain, raised, trimmed

FRACTION, POWER, ROOT = "f", "sSup", "rad"  # as Word calls them


def in_line(kind: str, parts: Sequence[Text], before: str = "", stacked: bool = False) -> Iterator[Run]:
    """What a fraction, a power, or a root is in a line. `parts`: above and below; below and what is raised; the index
    and what is under the root. `before`: the text before it, which may be a number. `stacked`: without a line between.
    """
    made = [trimmed(part) for part in parts]
    if kind == ROOT:
        index, under = (plain(made[0]) if made[1:] else ""), made[-1] if made else ()
        yield Run(f"{raised(index)}√")
        yield from _bracketed(under)
    elif len(made) != 2:
        yield from (run for part in parts for run in part)
    elif kind == FRACTION:
        yield Run(" " if before[-1:].isalnum() else "")
        yield from _bracketed(made[0])
        yield Run(" over " if stacked else "/")
        yield from _bracketed(made[1])
    else:
        above = raised(plain(made[1]))
        yield from _bracketed(made[0])
        yield from [Run(above)] if above != plain(made[1]) else [Run("^"), *_bracketed(made[1])]


def _bracketed(text: Text) -> Iterator[Run]:
    """In brackets where it is more than one number or word."""
    bare = plain(text).replace(".", "").replace(",", "")
    if bare.isdecimal() or bare.isalpha():
        yield from text
    else:
        yield from (Run("(", NO_STYLE), *text, Run(")", NO_STYLE))
