"""Take one event out of the bytes of a calendar file; every other byte stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

from icalendar.parser import Contentline


def without(data: bytes, uid: str) -> tuple[bytes, int]:
    """The bytes without the events of this UID, and how many other entries (events, to-dos, journals) are left."""
    kept, left = [], 0
    for block, entry in _blocks(data):
        if entry == "VEVENT" and _uid(block) == uid:
            continue
        left += entry in ("VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY")
        kept.append(block)
    return b"".join(kept), left


def _blocks(data: bytes) -> Iterator[tuple[bytes, str]]:
    """The file in pieces: each entry of a calendar whole, with its kind; what is around them line by line."""
    inside: list[bytes] = []
    kind, depth = "", 0
    for line in data.splitlines(keepends=True):
        word = line.strip().upper()
        begins = word.removeprefix(b"BEGIN:").decode("ascii", "replace") if word.startswith(b"BEGIN:") else ""
        if not depth and (not begins or begins == "VCALENDAR"):
            yield line, ""
            continue
        kind = kind or begins
        depth += bool(begins) - word.startswith(b"END:")
        inside.append(line)
        if not depth:
            yield b"".join(inside), kind
            inside, kind = [], ""
    yield b"".join(inside), kind


def _uid(block: bytes) -> str:
    """The UID of an entry, not of an alarm in it."""
    unfolded = block.replace(b"\r\n ", b"").replace(b"\n ", b"").replace(b"\r\n\t", b"").replace(b"\n\t", b"")
    depth = 0
    for line in unfolded.splitlines():
        word = line.strip().upper()
        depth += word.startswith(b"BEGIN:") - word.startswith(b"END:")
        if depth == 1 and word.startswith((b"UID:", b"UID;")):
            written = Contentline(line.decode("utf-8", "replace"))  # type: ignore[no-untyped-call]
            return str(written.parts()[2])
    return ""
