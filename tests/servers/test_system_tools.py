"""The host: what it is, what runs, its screen, and that only what an operator allowed is ever started."""

from __future__ import annotations

import base64
import io
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, TextContent
from PIL import Image

from gate.rules.action import Verdict
from gate.rules.policy import Policy, Rule, decide
from servers.system import LARGEST, configured, grabbed, named, picture, server
from tests.servers.files import Ask
from tests.servers.gate_around_server import Gate, gated
from tools.mcp.schema import problems

# An application for tests: it writes down what it was started with, then waits to be closed.
EDITOR = "import json, sys, time; open(sys.argv[1], 'w').write(json.dumps(sys.argv[2:])); time.sleep(60)"


def screen() -> Image.Image:
    return Image.new("RGB", (640, 480), "navy")


@asynccontextmanager
async def gate_over(folder: Path, code: str = EDITOR) -> AsyncIterator[Gate]:
    """A host with one application and one folder with a file."""
    root = folder / "shared"
    root.mkdir()
    (root / "-rf notes.md").write_text("notes")
    script = folder / "editor.py"
    script.write_text(code)
    editor = named(f"editor={sys.executable} {script} {folder / 'started'}")
    async with gated(folder / "logs", "system", server([editor], [root], screen)) as gate:
        yield gate


def started(folder: Path) -> list[str]:
    """What the application was started with, as soon as it says so."""
    deadline = time.monotonic() + 20
    while not (folder / "started").exists() or not (folder / "started").read_text():
        assert time.monotonic() < deadline
    words: list[str] = json.loads((folder / "started").read_text())
    return words


async def test_an_application_of_the_list_is_opened_with_exactly_the_file_that_was_shown(
    tmp_path: Path,
) -> None:
    async with gate_over(tmp_path) as gate:
        done = await gate.do("open_file_with", path="-rf notes.md", application="Editor")
        pid = done.result["pid"]
        try:
            assert [one.name.partition(":")[0] for one in done.preview.affected] == ["editor", "-rf notes.md"]
            assert done.preview.undo.startswith("no")
            assert "closes it" in done.preview.recoverable
            assert started(tmp_path) == [str(tmp_path / "shared" / "-rf notes.md")]
            names = await gate("list_processes", sort="started", limit=500)
            assert pid in {one["pid"] for one in names["processes"]}
        finally:
            os.kill(pid, signal.SIGTERM)


async def test_what_is_not_allowed_or_not_what_was_shown_is_not_opened(tmp_path: Path) -> None:
    async with gate_over(tmp_path) as gate:
        assert "These may be opened: editor." in await gate.refused(
            "open_application", application="sh -c id"
        )
        assert "cannot be part" in await gate.blind(
            "open_file_with", path="../editor.py", application="editor"
        )
        assert "does not exist" in await gate.blind("open_file_with", path="x.md", application="editor")
        seen = await gate.look("open_file_with", path="-rf notes.md", application="editor")
        (tmp_path / "shared" / "-rf notes.md").write_text("other")
        assert "has other content" in await gate.refused("open_file_with", **seen.args)
        assert "it means" in await gate.refused(
            "open_application", application="editor", expected_command="/bin/true"
        )
    assert not (tmp_path / "started").exists()


async def test_one_that_ends_at_once_is_told_apart(tmp_path: Path) -> None:
    async with gate_over(tmp_path, "import sys; sys.exit(3)") as gate:
        assert "ended at once with the code 3" in await gate.refused("open_application", application="editor")


async def test_one_that_hands_over_has_no_process(tmp_path: Path) -> None:
    async with gate_over(tmp_path, "") as gate:
        assert (await gate.do("open_application", application="editor")).result["pid"] is None


async def test_without_a_list_nothing_is_opened() -> None:
    async with Client(configured([]), read_timeout_seconds=60) as client:
        ask = Ask(client)
        assert "None may be opened" in await ask.refused("open_application", application="editor")


@pytest.mark.parametrize(
    "said",
    ["editor", "editor=", "editor=gedit", "editor=/no/such/program", "=/bin/true", 'a="', "a;b=/bin/true"],
)
def test_an_application_without_its_whole_path_is_refused_at_the_start(said: str) -> None:
    with pytest.raises(ValueError, match=r"whole path|Write an application as"):
        configured(["--application", said])


async def test_the_host_is_described(tmp_path: Path) -> None:
    async with gate_over(tmp_path) as gate:
        info = await gate("get_system_info")
        assert info["memory"] > info["memory_available"] > 0
        assert info["applications"] == ["editor"]
        assert info["folders"] == ["shared"]
        mine = await gate("list_processes", contains="python", sort="cpu", limit=1)
        assert mine["truncated"] is (mine["total"] > 1)
        assert "python" in mine["processes"][0]["name"].lower()
        assert "cmdline" not in json.dumps(mine)
        listed = (await gate("list_processes", sort="memory", limit=500))["processes"]
        assert listed == sorted(listed, key=lambda one: -one["memory"])


async def test_a_screenshot_is_a_picture_of_the_size_that_was_asked_for() -> None:
    async with Client(server(screen=screen), read_timeout_seconds=60) as client:
        answer = await client.call_tool("take_screenshot", {"width": 320})
        facts: Any = answer.structured_content
        told, shown = answer.content
    assert isinstance(told, TextContent)
    assert isinstance(shown, ImageContent)
    assert json.loads(told.text) == facts
    assert (facts["width"], facts["height"], facts["screen_width"]) == (320, 240, 640)
    seen = Image.open(io.BytesIO(base64.b64decode(shown.data)))
    assert (seen.format, seen.size, seen.getpixel((5, 5))) == ("PNG", (320, 240), (0, 0, 128))


@pytest.mark.slow
def test_a_screen_full_of_detail_is_sent_as_jpeg() -> None:
    made = picture(lambda: Image.effect_noise((1600, 1000), 90), 3840)
    assert made.kind == "image/jpeg"
    assert 0 < len(made.data) < 2 * LARGEST


def test_the_real_screen_is_seen(screen_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", screen_name)
    assert grabbed().size == (320, 240)


def test_a_host_without_a_screen_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    if sys.platform == "linux":
        with pytest.raises(ToolError, match="This host has no screen that can be seen"):
            grabbed()


@pytest.mark.parametrize("name", ["editor", "Editor", "EDITOR"])
@pytest.mark.parametrize("tool", ["open_application", "open_file_with", "preview_open"])
async def test_a_rule_about_an_application_holds_for_it_in_any_letters(
    tmp_path: Path, tool: str, name: str
) -> None:
    """Its server finds it so."""
    own = Rule("r", ("system.*",), deny=True, schema={"properties": {"application": {"const": "editor"}}})
    worded = Rule("r", ("system.*",), deny=True, texts=("^editor$",))
    async with gate_over(tmp_path) as gate:
        for rule in (own, worded):
            found = decide(
                Policy("p", (rule,)),
                gate.spec(tool),
                {"application": name},
                "C1",
                lambda s, v: not problems(s, v),
            )
            assert found.verdict is Verdict.DENY
