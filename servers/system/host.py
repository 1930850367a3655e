"""What the tools reach of this host: the applications an operator allows, and the screen.

An application is started by its path, never through a shell. A picture of the screen is made small enough to be sent.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from mcp.server.mcpserver.exceptions import ToolError
from PIL import Image, ImageGrab

_NAME = re.compile(r"[\w][\w .-]{0,39}")
_FORM = "Write an application as NAME=PROGRAM, such as editor=/usr/bin/gedit: “{}” is not like that."
SETTLING = 0.5  # seconds in which an application that cannot start has ended
LARGEST = 1_500_000  # bytes of a picture that is sent as PNG
Screen = Callable[[], Image.Image]
_NO_SCREEN = (
    "This host has no screen that can be seen ({why}). Start the server in a session with one; on Wayland install grim "
    "or gnome-screenshot."
)


@dataclass(frozen=True)
class Application:
    """One that may be opened: the words it is started with, the first of them a whole path."""

    name: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        return shlex.join(self.words)


def named(said: str) -> Application:
    """From `NAME=PROGRAM [ARGUMENTS]`. Raises ValueError with a sentence."""
    name, _, rest = said.partition("=")
    try:
        words = tuple(shlex.split(rest))
    except ValueError:
        raise ValueError(_FORM.format(said)) from None
    if not _NAME.fullmatch(name) or not words:
        raise ValueError(_FORM.format(said))
    program = Path(words[0])
    if not program.is_absolute() or not program.is_file() or not os.access(program, os.X_OK):
        raise ValueError(
            f"{program} is not the whole path of a program that can be started. Name it in full."
        )
    return Application(name, words)


def allowed(known: Mapping[str, Application], name: str) -> Application:
    """The application of this name. Raises ToolError for one that is not on the list."""
    found = known.get(name) or next((one for one in known.values() if one.name.lower() == name.lower()), None)
    if found is None:
        there = f"These may be opened: {', '.join(known)}." if known else "None may be opened."
        raise ToolError(
            f"“{name}” may not be opened here. {there} An operator adds to them with --application."
        )
    return found


def start(application: Application, *files: Path) -> int | None:
    """Start it with these files. Returns its process id, or None when it has handed over to another and ended.

    Raises ToolError when it cannot start, or ends at once with an error.
    """
    silent = subprocess.DEVNULL
    try:
        program = subprocess.Popen(
            [*application.words, *map(str, files)],
            stdin=silent,
            stdout=silent,
            stderr=silent,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"{application.name} cannot be started: {error.strerror}. Ask the operator."
        ) from None
    Thread(target=program.wait, daemon=True).start()  # so that no dead process stays behind
    try:
        ended = program.wait(timeout=SETTLING)
    except subprocess.TimeoutExpired:
        return program.pid
    if ended:
        raise ToolError(
            f"{application.name} ended at once with the code {ended}. Perhaps this host has no screen to show it on."
        )
    return None


class Picture(NamedTuple):
    """What was on the screen, ready to be sent."""

    data: bytes
    kind: str  # image/png or image/jpeg
    whole: tuple[int, int]
    size: tuple[int, int]


def grabbed() -> Image.Image:
    """All of the screen. Raises ToolError with a sentence where there is none."""
    try:
        return ImageGrab.grab()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(_NO_SCREEN.format(why=str(error).rstrip(".") or "it cannot be taken")) from None


def picture(screen: Screen, width: int) -> Picture:
    """The screen, at most so many pixels wide."""
    seen = screen().convert("RGB")
    whole = seen.size
    if seen.width > width:
        seen = seen.resize((width, max(seen.height * width // seen.width, 1)), Image.Resampling.LANCZOS)
    data, kind = _encoded(seen, "PNG"), "image/png"
    if len(data) > LARGEST:
        data, kind = _encoded(seen, "JPEG"), "image/jpeg"
    return Picture(data, kind, whole, seen.size)


def _encoded(seen: Image.Image, form: str) -> bytes:
    out = io.BytesIO()
    seen.save(out, form)
    return out.getvalue()
