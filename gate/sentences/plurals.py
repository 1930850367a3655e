"""Numbers with their noun, `1 row` and `2 rows`: of regular nouns."""

from __future__ import annotations


def counted(amount: int, noun: str) -> str:
    return f"{amount:,} {noun if amount == 1 else plural(noun)}"


def plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in tuple("aeou") else f"{noun}s"
