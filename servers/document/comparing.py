"""What differs between two documents, as people read it: `- gone`, `+ new`, and [old → new] words in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# In a changed line, in this order: words that were exchanged, that came, and that went.
MARKS = (("-]{+", " → "), ("{+", "[added: "), ("+}", "]"), ("[-", "["), ("-]", " → nothing]"))
MOST = 20_000  # characters; the fields beside it hold all


def in_words(first: str, second: str, counts: Mapping[str, int], difference: str) -> str:
    """One sentence, and under it the lines that differ with those around them."""
    if not difference:
        return f"{first} and {second} hold the same text."
    kinds = [(kind, counts[kind]) for kind in ("added", "removed", "changed") if counts[kind]]
    told = ", ".join(f"{count:,} line{'s' * (count != 1)} {kind}" for kind, count in kinds)
    head = f"From {first} to {second}: {told}."
    text = "\n".join([head, *_lines(difference)])
    if len(text) <= MOST:
        return text
    return f"{text[:MOST].rpartition(chr(10))[0]}\n(There is more than this.)"


def _lines(difference: str) -> Iterator[str]:
    for row in difference.split("\n"):
        sign, line = row[:1], row[1:]
        if row.startswith("@@ from line "):
            yield f"\nLine {row.removeprefix('@@ from line ').partition(' ')[0]}:"
        elif sign == "~":
            yield f"~ {_exchanged(line)}"
        else:
            yield f"{sign} {line}".rstrip()


def _exchanged(line: str) -> str:
    for mark, said in MARKS:
        line = line.replace(mark, said)
    return line
