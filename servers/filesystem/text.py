"""Files as text: which encoding, a page at a time, or whole for a difference."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import answers, disk
from servers.filesystem.models import Before, FileText
from servers.filesystem.paths import Place, spot
from servers.text_encoding import HEAD, Encoding, detect

MOST_BYTES = answers.MOST_CHARACTERS  # in one answer


def page(place: Place, offset: int, limit: int, refusal: Callable[[str, os.stat_result], str]) -> FileText:
    """Up to `limit` bytes of a file from `offset` as text, cut between characters, with the hash of it all. Raises
    ToolError where there is a `refusal` of what is opened."""
    with spot(place) as here, disk.reading(here) as file:
        if why := refusal(place.said, os.fstat(file)):
            raise ToolError(why)
        whole = disk.measure(file, place.said)
        head, data = read_at(file, 0, HEAD), read_at(file, offset, limit)
    found = encoding(head)
    answer = FileText(
        path=place.said,
        kind="text" if found else "binary",
        encoding=found.name if found else "binary",
        text="",
        offset=offset,
        size=whole.size,
        sha256=whole.sha256,
    )
    if found is None:
        note = f"This is not text, but a file of {whole.size:,} bytes."
        return answer.model_copy(update={"note": note})
    first, text, end = _characters(data, offset, found.name, whole.size)
    while not answers.fits(text):
        data = data[: len(data) // 2]
        first, text, end = _characters(data, offset, found.name, whole.size)
    more = end < whole.size
    return answer.model_copy(
        update={
            "offset": first,
            "text": text,
            "next_offset": end if more else None,
            "note": _note(head, found, end, whole.size),
        }
    )


def _characters(data: bytes, offset: int, name: str, size: int) -> tuple[int, str, int]:
    """The whole characters in a slice: where they start, the text, where the next page starts."""
    skipped = 0
    if not offset and name != "utf-8" and data.startswith(codecs.BOM_UTF8):
        skipped = len(codecs.BOM_UTF8)
    while name == "utf-8" and offset and skipped < min(3, len(data)) and data[skipped] & 0xC0 == 0x80:
        skipped += 1
    if name.startswith(("utf-16", "utf-32")):
        skipped = -offset % (2 if name.startswith("utf-16") else 4)
    decoder = codecs.getincrementaldecoder(name)("replace")
    text = decoder.decode(data[skipped:], final=offset + len(data) >= size)
    if (
        name != "utf-8"
    ):  # there the mark is a character of the file, for it would be missing where it is written back
        text = text.removeprefix("\ufeff")
    return offset + skipped, text, offset + len(data) - len(decoder.getstate()[0])


def _note(head: bytes, found: Encoding, end: int, size: int) -> str:
    notes = []
    if found.guess:
        notes.append(f"Not UTF-8; shown as {found.guess}, which is a guess.")
    if head.startswith(codecs.BOM_UTF8):
        notes.append("Starts with a byte order mark.")
    if end < size:
        notes.append(f"There is more: {size:,} bytes in all. Ask for what follows byte {end:,}.")
    return " ".join(notes)


def encoding(data: bytes) -> Encoding | None:
    """The encoding of a file by its start; None for one that is no text."""
    return detect(data[:HEAD], whole=len(data) < HEAD)


def read_at(file: int, offset: int, most: int) -> bytes:
    """Up to `most` bytes of a regular file."""
    parts, have = [], 0
    while have < most and (part := os.pread(file, most - have, offset + have)):
        parts.append(part)
        have += len(part)
    return b"".join(parts)


def before(place: Place) -> Before:
    """The text that a write would replace, whole. Raises ToolError when it cannot be shown, or written, as text."""
    with spot(place) as here:
        if disk.status(here) is None:
            return Before(path=place.said, exists=False, text="", sha256=disk.ABSENT, size=0)
        with disk.reading(here) as file:
            found = disk.sole(place.said, disk.measure(file, place.said))
            data = read_at(file, 0, MOST_BYTES + 1)
    too_large = ToolError(f"{place.said} is too large to show what would change. Edit it by hand.")
    if len(data) > MOST_BYTES:
        raise too_large
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ToolError(
            f"{place.said} is not UTF-8 text; writing text would ruin it. Write to another name."
        ) from None
    if not answers.fits(text):
        raise too_large
    return Before(path=place.said, exists=True, text=text, sha256=disk.sha256(data), size=found.size)
