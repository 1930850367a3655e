"""The clipboard: read, set, put back; secrets are neither shown nor kept; and the real one of a host with a screen."""

from __future__ import annotations

import shutil
import stat
import subprocess
import time
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError

from bot.policy_file import load_policy
from gate.rules.action import Verdict
from gate.rules.policy import decide
from servers.clipboard import History, configured, server
from servers.clipboard_programs import KIND, LARGEST, Clipboard, Held, Host, Kind, Way, _looked
from servers.detection.single_words import secret
from tests.servers.files import Ask, Clock
from tests.servers.gate_around_server import Gate, gated
from tools.mcp.schema import problems

TOKEN = "ghp_" + "aB3" * 12


class Memory:
    """A clipboard that is a variable."""

    def __init__(self, text: str = "") -> None:
        self.held = Held("empty")
        self.write(text)

    def read(self) -> Held:
        return self.held

    def write(self, text: str) -> None:
        kind: Kind = "text" if text else "empty"
        self.held = Held(kind, text)


@asynccontextmanager
async def asking(folder: Path, clipboard: Clipboard, clock: Clock | None = None) -> AsyncIterator[Ask]:
    async with Client(server(folder, clipboard, clock or Clock()), read_timeout_seconds=60) as client:
        yield Ask(client)


@asynccontextmanager
async def gate_over(folder: Path, clipboard: Clipboard) -> AsyncIterator[Gate]:
    async with gated(folder / "logs", "clipboard", server(folder / "kept", clipboard, Clock())) as gate:
        yield gate


async def test_a_text_is_set_shown_and_put_back(tmp_path: Path) -> None:
    board = Memory("one\ntwo")
    async with gate_over(tmp_path, board) as gate:
        done = await gate.do("set_clipboard", text="one\nthree")
        assert done.preview.diff == "@@ -1,2 +1,2 @@\n one\n-two\n+three"
        assert (await gate("get_clipboard"))["text"] == "one\nthree"
        past = (await gate("clipboard_history"))["entries"]
        assert [(one["why"], one["text"]) for one in past] == [
            ("set", "one\nthree"),
            ("replaced", "one\ntwo"),
        ]
        assert (await gate("clipboard_history", contains="TWO"))["entries"] == past[1:]
        await gate.undo(done)
    assert board.held.text == "one\ntwo"


async def test_what_looks_secret_is_neither_shown_nor_written_down_and_still_put_back(tmp_path: Path) -> None:
    board = Memory(TOKEN)
    async with gate_over(tmp_path, board) as gate:
        seen = await gate("get_clipboard")
        assert not seen["text"]
        assert "looks like a password" in seen["note"]
        assert (await gate("get_clipboard", show_secret=True))["text"] == TOKEN, "the gate asks first"
        done = await gate.do("set_clipboard", text="plain")
        assert TOKEN not in repr(done)
        assert "looks secret, so it is not shown: 40 characters" in done.preview.diff
        assert [one["text"] for one in (await gate("clipboard_history"))["entries"]] == ["plain"]
        await gate.undo(done)
        assert board.held.text == TOKEN
        again = await gate.do("set_clipboard", text="plain")
    assert TOKEN.encode() not in (tmp_path / "kept" / "clipboard.sqlite").read_bytes()
    async with asking(tmp_path / "kept", board) as ask:
        assert "started anew" in await ask.refused("restore_clipboard", record=again.result["record"])


@pytest.mark.parametrize(
    ("args", "verdict", "private"),
    [
        ({}, Verdict.RUN, False),
        ({"show_secret": False}, Verdict.RUN, False),
        ({"show_secret": True}, Verdict.TYPED, True),
    ],
)
async def test_a_secret_in_the_clipboard_is_typed_for_and_shown_to_whoever_asked_alone(
    tmp_path: Path, args: dict[str, bool], verdict: Verdict, private: bool
) -> None:
    (tmp_path / "policy.yaml").write_text("")
    shipped = load_policy(tmp_path / "policy.yaml")
    async with gate_over(tmp_path, Memory(TOKEN)) as gate:
        found = decide(shipped, gate.spec("get_clipboard"), args, "C1", lambda s, v: not problems(s, v))
    assert (found.verdict, found.private, found.always_gated) == (verdict, private, private)


WITH_SLASHES = [
    "wJalrXUtn/EMI7bPxRfiCYzK8qL/2mNo5vQw1dTs",
    "xK9#m/2$vL7pW4",
    "Tr0ub4dor/Horse=9",
    "/9j4AAQSkZJRgABAQ8x",
]


@pytest.mark.parametrize(
    "text", [TOKEN, "password: hunter2!", "xK9#mQ2$vL7pW4", "a\n" + TOKEN + "\nb", *WITH_SLASHES]
)
def test_it_looks_secret(text: str) -> None:
    assert secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Call the printer.",
        "reports/Q3/summary-2026.md",
        "Dampfschiff",
        "12.50",
        "src/main/java/FooBar.java",
        "https://example.com/a/B2?x=1",
        "C:/Shared/Documents/x2.md",
        "/usr/lib/x86_64-linux-gnu/libssl.so.3",
    ],
)
def test_it_does_not_look_secret(text: str) -> None:
    assert not secret(text)


async def test_what_is_no_text_is_named_and_its_loss_is_said_before(tmp_path: Path) -> None:
    board = Memory()
    board.held = Held("other", what="image/png")
    async with gate_over(tmp_path, board) as gate:
        assert (await gate("get_clipboard"))["note"] == "It holds image/png."
        done = await gate.do("set_clipboard", text="x")
        assert done.preview.diff == "@@ -1 +1 @@\n-(image/png)\n+x"
        assert done.preview.undo == "no: not in this case"
        assert done.result["record"] is None


@pytest.mark.slow
async def test_what_changed_since_is_left_alone(tmp_path: Path) -> None:
    board = Memory("shown")
    async with gate_over(tmp_path, board) as gate:
        seen = await gate.look("set_clipboard", text="x")
        board.write("copied meanwhile")
        assert "has changed since" in await gate.refused("set_clipboard", **seen.args)
        done = await gate.do("set_clipboard", text="x")
        board.write("copied later")
        assert not await gate.unchanged(done)
        assert "has changed since" in await gate.undo_refused(done)
    assert board.held.text == "copied later"


class Deaf(Memory):
    """A clipboard that another program takes at once."""

    def write(self, text: str) -> None:
        self.held = Held("text", "another program's")


async def test_what_cannot_be_set_is_said(tmp_path: Path) -> None:
    async with asking(tmp_path, Deaf()) as ask:
        assert "another program took it" in await ask.refused("set_clipboard", text="x")
        assert "no clipboard takes" in await ask.refused("set_clipboard", text="a\0b")
        assert "would change nothing" in await ask.refused("preview_clipboard", text="another program's")


async def test_the_history_ends_after_thirty_days_and_belongs_to_its_owner(tmp_path: Path) -> None:
    clock = Clock()
    async with asking(tmp_path / "kept", Memory(), clock) as ask:
        await ask("set_clipboard", text="old")
        clock.time += timedelta(days=31)
        await ask("set_clipboard", text="new")
        past = (await ask("clipboard_history"))["entries"]
        assert [(one["why"], one["text"]) for one in past] == [("set", "new"), ("replaced", "old")]
        long = await ask("clipboard_history", contains="nothing like it")
        assert long["note"] == "There is nothing."
    assert stat.S_IMODE((tmp_path / "kept" / "clipboard.sqlite").stat().st_mode) == 0o600


def test_the_history_is_gone_through_text_by_text(tmp_path: Path) -> None:
    """All of its texts at once took 760 MB."""
    history = History.at(tmp_path, Clock())
    for number in range(40):
        history.keep(f"{number}: a lot of words " * 20_000, "set")
    tracemalloc.start()
    try:
        found = history.entries("39: a lot")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [one.record for one in found] == ["40"]
    assert most < 8_000_000


def test_a_folder_that_cannot_be_used_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="Name another folder"):
        configured(["--folder", tmp_path / "file"])


def copied(host: Host, data: bytes, kind: str, seen: Held) -> None:
    """Another program puts something there; wait until the host sees it."""
    command = ["xclip", "-selection", "clipboard", "-in", "-target", kind]
    subprocess.run(command, input=data, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 10
    while host.read() != seen:
        assert time.monotonic() < deadline, host.read()


def test_the_real_clipboard_gives_back_what_it_was_given(
    screen_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", screen_name)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    host = Host()
    for text in ("Grüße\nline two\n", "x" * 200_000, ""):
        host.write(text)
        assert host.read() == Held("text" if text else "empty", text)
    copied(host, b"\x89PNG", "image/png", Held("other", what="image/png"))
    copied(host, b"y" * (LARGEST + 10), "UTF8_STRING", Held("other", what="more than 1 MB of text"))


def one_way(folder: Path, listed: str, given: str) -> Way:
    """A program that lists what is there and gives a text under one name only."""
    program = folder / "program"
    program.write_text(
        f'#!/bin/sh\ncase "$1" in list) echo "{listed}";; "{given}") echo a poem;; *) echo no such target >&2; exit 1; esac\n'
    )
    program.chmod(0o700)
    return Way((str(program), "list"), (str(program), KIND), ())


@pytest.mark.parametrize(
    "kind", ["text/plain", "TEXT", "STRING", "text/plain;charset=utf-8", "text/plain;charset=us-ascii"]
)
def test_a_text_is_read_under_the_name_that_its_owner_lists(tmp_path: Path, kind: str) -> None:
    listed = "\n".join(["TARGETS", "text/html", kind])
    assert _looked(one_way(tmp_path, listed, kind)) == Held("text", "a poem\n")


def test_a_text_that_is_listed_and_cannot_be_read_is_not_called_empty(tmp_path: Path) -> None:
    held = _looked(one_way(tmp_path, "TARGETS\nUTF8_STRING", "nothing"))
    assert held == Held("other", what="a text that cannot be read")


def test_of_a_long_name_of_a_kind_the_beginning_is_told(tmp_path: Path) -> None:
    held = _looked(one_way(tmp_path, "image/" + "x" * 20_000, "nothing"))
    assert held == Held("other", what="image/" + "x" * 94)


def test_a_host_without_a_screen_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    if shutil.which("xclip") and not shutil.which("pbpaste"):
        with pytest.raises(ToolError, match=r"xclip finds no screen\. On Linux install"):
            Host().read()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="none of pbcopy, wl-copy, xclip and xsel is installed"):
        Host().read()
