"""Captions of a meeting as lines of who says what. Runs in the sandbox."""

from __future__ import annotations

import io

import webvtt
from webvtt.errors import MalformedCaptionError, MalformedFileError

from servers.sandbox.protocol import Refused

MOST_CUES = 50_000
LONGEST = 1_000  # characters of one sentence over several captions


def text(content: str, ending: str) -> str:
    """A line for each caption, by its number; a sentence that goes on in further ones is in the line of its first."""
    try:
        found = webvtt.from_buffer(io.StringIO(content.lstrip("\ufeff")), format=ending.removeprefix("."))
    except (MalformedFileError, MalformedCaptionError, ValueError, IndexError) as error:
        raise Refused(f"holds no captions that can be read ({type(error).__name__}). Save it anew.") from None
    if len(found) > MOST_CUES:
        raise Refused(f"holds {len(found):,} captions, more than {MOST_CUES:,}. Take a part of it.")
    lines: list[str] = []
    before, open_at = "", -1
    for number, cue in enumerate(found.captions):
        said = " ".join(cue.text.split())
        who = cue.voice or ""
        goes_on = open_at >= 0 and who == before and len(lines[open_at]) < LONGEST
        if goes_on and not lines[open_at].endswith((".", "!", "?", "…")):
            lines[open_at] += f" {said}"
            lines.append("")
        else:
            lines.append(f"{who}: {said}" if who else said)
            open_at = number
        before = who
    return "\n".join(lines)
