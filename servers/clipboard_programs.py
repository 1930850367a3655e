"""The clipboard of this host, which is reached by the programs of its system."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Timer
from typing import Final, Literal, NamedTuple, Protocol

from mcp.server.mcpserver.exceptions import ToolError

EMPTY: Final = "empty"
OTHER: Final = "other"
Kind = Literal["text", "empty", "other"]

SECONDS, SETTLED = 5.0, 1.0
LONGEST_KIND = 100  # characters of a name that whoever owns the clipboard gives
LARGEST = 1 << 20  # bytes of text that are read
_NO_SCREEN = re.compile("display|wayland|connect", re.IGNORECASE)  # all programs say one of these words
# Names under which programs give text, the best first
_TEXTS = ("UTF8_STRING", "text/plain;charset=utf-8", "text/plain", "STRING", "TEXT")
_UNREAD = "a text that cannot be read"
_NONE = (
    "This host has no clipboard that can be reached: {why}. On Linux install xclip (or wl-clipboard) and start the "
    "server in a session with a screen."
)


class Held(NamedTuple):
    """What a clipboard holds: its kind, its text, and, for what is no text, a word for it."""

    kind: Kind
    text: str = ""
    what: str = ""


class Clipboard(Protocol):
    """One clipboard. Both raise ToolError with a sentence when it cannot be reached."""

    def read(self) -> Held: ...

    def write(self, text: str) -> None: ...


class Way(NamedTuple):
    """The commands of one program. `kinds` lists what is there; where there is none, all is taken for text. KIND in
    `read` is the name that is listed."""

    kinds: Sequence[str]
    read: Sequence[str]
    write: Sequence[str]


KIND = "{kind}"
_XCLIP = ("xclip", "-selection", "clipboard")
WAYS = (
    Way((), ("pbpaste",), ("pbcopy",)),
    Way(
        ("wl-paste", "--list-types"),
        ("wl-paste", "--no-newline", "--type", "text"),
        ("wl-copy", "--type", "text/plain;charset=utf-8"),
    ),
    Way(
        (*_XCLIP, "-out", "-target", "TARGETS"),
        (*_XCLIP, "-out", "-target", KIND),
        (*_XCLIP, "-in"),
    ),
    Way((), ("xsel", "--clipboard", "--output"), ("xsel", "--clipboard", "--input")),
)


@dataclass(frozen=True)
class Host:
    """The clipboard of this host."""

    def read(self) -> Held:
        return _reached()[1]

    def write(self, text: str) -> None:
        way, _ = _reached()
        _give(way.write, text.encode())
        deadline = time.monotonic() + SETTLED
        # xclip comes back before its other half, which stays behind, has taken the clipboard
        while self.read().text != text and time.monotonic() < deadline:
            time.sleep(0.01)


def _reached() -> tuple[Way, Held]:
    """The first way that leads to a clipboard, and what is in it. Raises ToolError when none does."""
    why = "none of pbcopy, wl-copy, xclip and xsel is installed"
    for way in WAYS:
        if shutil.which(way.read[0]) and shutil.which(way.write[0]):
            held = _looked(way)
            if held:
                return way, held
            why = f"{way.read[0]} finds no screen"
    raise ToolError(_NONE.format(why=why))


def _looked(way: Way) -> Held | None:
    """What is there; None when this way leads to no clipboard."""
    kind = ""
    if way.kinds:
        ended, kinds, said = _took(way.kinds)
        if ended:
            return None if _NO_SCREEN.search(said) else Held(EMPTY)
        named = kinds.decode("utf-8", "replace").split("\n")
        others = [name for name in named if name.startswith("text/plain")]
        kind = next((name for name in (*_TEXTS, *others) if name in named), "")
        if not kind:
            return Held(OTHER, what=next((kind for kind in named if "/" in kind), "no text")[:LONGEST_KIND])
    ended, data, said = _took([kind if word == KIND else word for word in way.read])
    if ended:
        return None if _NO_SCREEN.search(said) else Held(OTHER, what=_UNREAD) if kind else Held(EMPTY)
    return _held(data)


def _held(data: bytes) -> Held:
    if len(data) > LARGEST:
        return Held(OTHER, what=f"more than {LARGEST >> 20} MB of text")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Held(OTHER, what="bytes that are no text")
    return Held("text", text) if text else Held(EMPTY)


def _took(command: Sequence[str]) -> tuple[int, bytes, str]:
    """How a program ended, at most LARGEST + 1 bytes of what it gave, and what it complained about."""
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout
        assert program.stderr
        late = Timer(SECONDS, program.kill)
        late.start()
        data, said = program.stdout.read(LARGEST + 1), b""
        if len(data) > LARGEST:
            program.kill()  # the rest, however long, is not waited for
        else:
            said = program.stderr.read(2_000)
        program.wait()
        late.cancel()
    if program.returncode < 0 and len(data) <= LARGEST:
        raise ToolError(
            f"{command[0]} did not answer: the program that owns the clipboard hangs. Close it, then try again."
        )
    return max(program.returncode, 0), data, said.decode("utf-8", "replace")


def _give(command: Sequence[str], data: bytes) -> None:
    """Hand over the text. The program may stay behind to serve it, so nothing of it is waited for but its start."""
    try:
        subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError):
        raise ToolError(
            f"{command[0]} did not take the text. Nothing is sure: look at the clipboard."
        ) from None
