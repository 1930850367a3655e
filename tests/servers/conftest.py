"""What tests of the bundled servers may ask for besides: a screen."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.services import unavailable


@pytest.fixture(scope="session")
def screen_name() -> Iterator[str]:
    """The name of an X display of our own, 320 by 240, with xclip to reach its clipboard."""
    if not shutil.which("Xvfb") or not shutil.which("xclip"):
        unavailable("there is no Xvfb or no xclip: apt-get install xvfb xclip", "REQUIRE_SCREEN")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "320x240x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout
        yield f":{int(program.stdout.readline())}"
        program.terminate()
