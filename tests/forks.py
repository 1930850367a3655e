"""Processes forked from one that has imported the product: to import it takes two seconds of processor time."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.cli.main import main

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["tests.chaos.replica", "tests.chaos.hammer_process", "tests.forks", "bot.cli.serve", "bot.cli.doctor"]
)
SECONDS = 90.0  # for a command to end, on a machine that has much else to do


def bot(*words: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What comes of `python -m bot WORDS` in this folder, with these variables and no others. Raises TimeoutExpired."""
    with tempfile.TemporaryDirectory() as folder:
        said = [Path(folder, name) for name in ("out", "err")]
        process = FORKS.Process(target=_as_bot, args=(words, cwd, dict(env), said))
        process.start()
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, SECONDS)
        out, wrong = (one.read_text(encoding="utf-8") for one in said)
    return subprocess.CompletedProcess(words, process.exitcode, out, wrong)


def _as_bot(words: Sequence[str], cwd: Path, env: Mapping[str, str], said: Sequence[Path]) -> None:
    """All that the process does. `said`: where its standard output and its standard error go."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), number)
    raise SystemExit(main(words))
