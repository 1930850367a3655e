"""What a path may say: checks on text alone, before any disk is touched."""

from __future__ import annotations

import unicodedata
from urllib.parse import unquote

from mcp.server.mcpserver.exceptions import ToolError

PRIVATE = ".countersign"  # the server's own folder in each root: trash and watches
LONGEST_PATH = 4096  # characters
LONGEST_NAME = 255  # bytes of UTF-8, as file systems count
_UNWRITABLE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control, lone surrogate, line and paragraph separator


def split(path: str) -> tuple[str, ...]:
    """The parts of a path as a person wrote it, without empty ones and `.`.

    Raises ToolError for what may never be part of one: `..` in any spelling, control characters, our own folder.
    """
    if len(path) > LONGEST_PATH:
        raise ToolError(f"The path is {len(path)} characters long. Give one of at most {LONGEST_PATH}.")
    if any(unicodedata.category(c) in _UNWRITABLE for c in path):
        raise ToolError("The path holds a control character. Give it in plain characters.")
    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for part in parts:
        _check(part)
    return parts


def _check(part: str) -> None:
    plain = unquote(part)
    if "/" in plain or "\\" in plain or plain in (".", ".."):
        raise ToolError(
            f"“{part}” cannot be part of a path here. Use names and “/”, never “..” or a backslash."
        )
    if len(part.encode()) > LONGEST_NAME:
        raise ToolError(f"A name in the path is longer than {LONGEST_NAME} bytes. Give a shorter one.")
    if private(part):
        raise ToolError(
            f"“{PRIVATE}” is kept by this server. Use list_trash and list_changes to see what is in it."
        )


def private(name: str) -> bool:
    """Whether some file system could take this name for our own folder."""
    return look(name).casefold() == PRIVATE


def look(name: str) -> str:
    """What a reader sees of a name: composed, without invisible characters and spaces or dots at its end."""
    seen = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return "".join(seen).lstrip(" ").rstrip(" .")


def odd(name: str) -> bool:
    """Whether another name could look the same as this one."""
    return not name.isascii() or look(name) != name


def shown(name: str) -> str:
    """A name from the disk as text that JSON and people can bear: bytes outside UTF-8 and controls as escapes."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in _UNWRITABLE else c for c in text
    )
