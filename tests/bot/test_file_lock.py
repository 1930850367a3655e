"""A lock on a file: one holder, and free as soon as the holder ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bot.file_lock import hold

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys, time
from pathlib import Path
from bot.file_lock import hold
held = hold(Path(sys.argv[1]))
print(held is not None, flush=True)
time.sleep(60)
"""


def test_a_second_holder_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lock"
    first = hold(path)
    assert first is not None
    assert hold(path) is None
    first.close()
    second = hold(path)
    assert second is not None
    second.close()


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        assert hold(tmp_path / "lock") is None
        other.kill()
    held = hold(tmp_path / "lock", wait=30)
    assert held is not None
    held.close()
