"""The operator's allow list of applications, and how one is started: by its path, never through a shell."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from mcp.server.mcpserver.exceptions import ToolError

_NAME = re.compile(r"[\w][\w .-]{0,39}")
_FORM = "Write an application as NAME=PROGRAM, such as editor=/usr/bin/gedit: “{}” is not like that."
SETTLING = 0.5  # seconds in which an application that cannot start has ended


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
