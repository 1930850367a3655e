"""The sandbox: what a task may not do is refused by the kernel, and whatever it does, the call ends with a sentence."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.answers import MOST_CHARACTERS
from servers.sandbox import calling, confinement, kernel, protocol
from servers.sandbox.calling import ENVIRONMENT, Job, Limits, Protection, Sandbox, protection
from servers.sandbox.confinement import NICE
from servers.sandbox.fork_server import MOST_FILES, MOST_SCRATCH, Child, ForkServer, cleared, used
from servers.sandbox.protocol import MOST_DIGITS, packed
from tests.servers.sandboxed.tasks import ATTEMPTS, FILTERED, WRITES

BY_LANDLOCK = "write overwrite truncate delete rename folder link read list environment".split()
BY_LIMITS = ["more files"]
BY_USER = ["root"]
BY_SECCOMP = sorted(ATTEMPTS.keys() - {*BY_LANDLOCK, *BY_LIMITS, *BY_USER})
needs_landlock = pytest.mark.skipif(not kernel.landlock_version(), reason="this kernel has no Landlock")
needs_seccomp = pytest.mark.skipif(not confinement.has_seccomp(), reason="this kernel has no seccomp filters")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox("tests.servers")
    yield made
    made.stop()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with one file that everybody may read and write, as far as its mode goes."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o777)
    (tmp_path / "kept").write_bytes(b"kept")
    (tmp_path / "kept").chmod(0o666)
    return tmp_path


def tried(sandbox: Sandbox, how: str, folder: Path, **more: object) -> int:
    args = {"how": how, "path": str(folder), "process": os.getpid()}
    result = sandbox.call(Job("sandboxed.attempt", args=args, **more))  # type: ignore[arg-type]
    assert not result.refused
    return int(result.told["errno"])


@needs_landlock
@pytest.mark.parametrize("how", BY_LANDLOCK)
@pytest.mark.parametrize("scratch", [False, True])
def test_a_task_can_touch_no_file_outside_its_scratch_folder(
    sandbox: Sandbox, outside: Path, how: str, scratch: bool
) -> None:
    assert tried(sandbox, how, outside, scratch=scratch)
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"kept": b"kept"}


@needs_landlock
def test_a_task_reads_only_what_it_is_given(sandbox: Sandbox, outside: Path) -> None:
    assert tried(sandbox, "read", outside)
    assert tried(sandbox, "read", outside, reads=[outside]) == 0
    assert tried(sandbox, "overwrite", outside, reads=[outside])


@needs_landlock
def test_a_task_reads_no_settings_of_the_project(sandbox: Sandbox) -> None:
    assert tried(sandbox, "list", confinement.HOME)
    assert tried(sandbox, "list", Path.home())
    assert tried(sandbox, "list", Path("/etc"))


@needs_seccomp
@pytest.mark.parametrize("how", BY_SECCOMP)
def test_a_task_reaches_no_network_no_program_and_no_other_process(
    sandbox: Sandbox, outside: Path, how: str
) -> None:
    if how == "old numbers" and os.uname().machine != "x86_64":
        pytest.skip("only x86_64 has them")
    assert tried(sandbox, how, outside)


@pytest.fixture(scope="module")
def old() -> Iterator[Sandbox]:
    """For tasks that make their fork server believe that the kernel is an old one."""
    made = Sandbox("tests.servers")
    yield made
    made.stop()


@needs_landlock
@needs_seccomp
@pytest.mark.parametrize("how", FILTERED)
@pytest.mark.parametrize("more", [{}, {"scratch": True}, {"scratch": True, "program": "/bin/cat"}])
def test_what_an_old_landlock_does_not_know_of_is_refused_by_the_filter(
    old: Sandbox, outside: Path, how: str, more: dict[str, object]
) -> None:
    args = {"how": how, "path": str(outside), "process": os.getpid()}
    result = old.call(Job("old_kernel.filtered", args=args, reads=[outside], **more))  # type: ignore[arg-type]
    assert (result.refused, result.told) == ("", {"errno": errno.EPERM})
    assert (outside / "kept").read_bytes() == b"kept"


@pytest.mark.slow
@needs_seccomp
@pytest.mark.parametrize("how", WRITES)
def test_a_task_without_a_scratch_folder_writes_nothing_on_a_kernel_without_landlock(
    outside: Path, how: str
) -> None:
    sandbox = Sandbox("tests.servers")
    try:
        result = sandbox.call(Job("no_landlock.attempt", args={"how": how, "path": str(outside)}))
    finally:
        sandbox.stop()
    assert (result.refused, result.told) == ("", {"errno": errno.EPERM})
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == {"kept": b"kept"}


@needs_seccomp
def test_a_task_cannot_give_up_the_lock_of_its_caller(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"locked")
    with (tmp_path / "a").open("r+b") as file, (tmp_path / "a").open("r+b") as other:
        fcntl.flock(file, fcntl.LOCK_EX)
        result = sandbox.call(Job("sandboxed.unlock", files=[file.fileno()]))
        assert result.told == {"errno": [errno.EPERM, errno.EPERM]}
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.slow
def test_a_task_that_fills_the_disk_is_stopped(sandbox: Sandbox) -> None:
    assert sandbox.call(Job("sandboxed.fill", scratch=True, limits=Limits(seconds=60))).stopped
    assert sandbox.call(Job("sandboxed.echo", [b"next"])).data == b"next"


@needs_seccomp
@pytest.mark.parametrize("how", ["remove", "rename", "remove a folder", "make none"])
@pytest.mark.parametrize("more", [{}, {"program": "/bin/cat"}])
def test_every_file_of_a_scratch_folder_keeps_its_name_and_is_counted(
    sandbox: Sandbox, how: str, more: dict[str, object]
) -> None:
    """Files without one are not seen in the folder: a task held 3 GB in them."""
    job = Job("sandboxed.unname", args={"how": how}, scratch=True, **more)  # type: ignore[arg-type]
    told = sandbox.call(job).told
    assert told["errno"] in (errno.EPERM, errno.EACCES)
    assert told["there"] == ["held", "other"]


def test_a_task_that_makes_many_files_is_stopped_before_they_fill_the_disk(sandbox: Sandbox) -> None:
    """60,000 empty ones made a short task of somebody else take 3.9 seconds: all were counted, again and again."""
    assert sandbox.call(Job("sandboxed.litter", scratch=True, limits=Limits(seconds=60))).stopped
    assert sandbox.call(Job("sandboxed.echo", [b"next"])).data == b"next"


def test_no_folder_is_cleared_away_in_one_step_that_others_wait_for(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    (folder / "in it").mkdir(parents=True)
    (folder / "in it" / "file").touch()
    (folder / "link").symlink_to(tmp_path)
    for number in range(MOST_FILES):
        (folder / str(number)).touch()
    assert used(str(folder)) > MOST_SCRATCH
    steps = 1
    while not cleared(str(folder)):
        left = len(list(folder.iterdir()))
        assert left == MOST_FILES + 2 - 200 * steps
        steps += 1
    assert steps == 6
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_cleared_away_is_left_and_not_tried_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    for number in range(300):
        (tmp_path / str(number)).touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refused)
        assert cleared(str(tmp_path))
    assert cleared(str(tmp_path / "missing"))


@needs_seccomp
def test_a_task_cannot_bring_down_the_process_that_clears_its_folder_away(sandbox: Sandbox) -> None:
    assert sandbox.call(Job("sandboxed.echo", [b"first"])).data == b"first"
    before = sandbox._server
    assert sandbox.call(Job("sandboxed.dig", scratch=True)).told == {"depth": 0}
    assert sandbox.call(Job("sandboxed.echo", [b"next"])).data == b"next"
    assert before
    assert sandbox._server is before
    assert before.poll() is None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux has it")
async def test_where_memory_runs_out_a_task_goes_before_the_bot(sandbox: Sandbox) -> None:
    job = Job("sandboxed.hang", limits=Limits(seconds=5))
    waiting = asyncio.create_task(asyncio.to_thread(sandbox.call, job))
    found = await gone(lambda: "1000" in scores(sandbox))
    assert (await waiting).stopped
    assert found


def scores(sandbox: Sandbox) -> list[str]:
    return [read(Path(f"/proc/{one}/oom_score_adj")).decode().strip() for one in children(sandbox)]


@needs_seccomp
@pytest.mark.parametrize(
    "how", ["tcp", "udp", "unix", "kill", "trace", "mode", "leave the group", "namespace", "sibling"]
)
def test_a_task_that_may_start_a_program_gets_nothing_else(sandbox: Sandbox, outside: Path, how: str) -> None:
    assert tried(sandbox, how, outside, program="/bin/sh", scratch=True)


@pytest.mark.parametrize("how", BY_LIMITS + BY_USER)
def test_a_task_gets_no_more_files_and_no_other_user(sandbox: Sandbox, outside: Path, how: str) -> None:
    assert tried(sandbox, how, outside)


@needs_landlock
def test_a_task_starts_the_one_program_and_no_other(sandbox: Sandbox) -> None:
    def started(program: str) -> bytes:
        job = Job("sandboxed.start", [], {"program": program}, program="/bin/cat", scratch=True)
        return sandbox.call(job).data

    sh = Job("sandboxed.echo", [b"1"], program="/bin/sh")
    assert sandbox.call(sh).data == b"1"
    assert not sandbox.call(Job("sandboxed.start", args={"program": "/bin/cat"}, program="/bin/cat")).refused
    assert sandbox.call(Job("sandboxed.start", args={"program": "/bin/ls"}, program="/bin/cat")).stopped
    assert started("/bin/cat") == b""


def test_a_task_inherits_no_descriptor_and_no_secret(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    with socket.create_server(("127.0.0.1", 0)):
        told = sandbox.call(Job("sandboxed.held")).told
    assert len(told["open"]) == 4  # the three to nowhere, and that of its answer
    left = set(told["variables"]) - set(ENVIRONMENT)
    assert not {name for name in left if "TOKEN" in name or "HOME" in name}
    assert told["user"] != 0


def test_a_task_collects_its_own_garbage_and_does_not_look_through_the_code_loaded_before(
    sandbox: Sandbox,
) -> None:
    told = sandbox.call(Job("sandboxed.garbage")).told
    assert told["collects"]
    assert told["looks_at"] * 10 < told["leaves"]


def test_a_scratch_folder_is_new_private_and_gone_afterwards(sandbox: Sandbox) -> None:
    first, second = (sandbox.call(Job("sandboxed.scratch", args={"name": "a"}, scratch=True)) for _ in "ab")
    assert first.data == second.data == b"kept"
    assert first.told["before"] == second.told["before"] == []
    assert first.told["folder"] != second.told["folder"]
    sandbox.stop()  # waits until the folders are cleared away
    assert not Path(first.told["folder"]).exists()
    assert not Path(second.told["folder"]).exists()


def test_a_file_that_is_passed_open_can_be_read_and_not_written(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"what it says")
    (tmp_path / "a").chmod(0o600)
    with (tmp_path / "a").open("rb") as file:
        result = sandbox.call(Job("sandboxed.given", files=[file.fileno()]))
    assert result.data == b"what it says"
    assert result.told["errno"]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("task", ["hang", "spin", "eat", "flood", "crash", "fail", "nest"])
def test_whatever_a_task_does_the_call_ends_with_a_sentence(sandbox: Sandbox, task: str) -> None:
    result = sandbox.call(
        Job(f"sandboxed.{task}", limits=Limits(seconds=1, memory=256 << 20, output=1 << 20))
    )
    assert result.stopped == (task != "nest")
    assert (result.refused == calling.TOO_MUCH) == result.stopped
    assert sandbox.call(Job("sandboxed.echo", [b"next"])).data == b"next"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"x",
        b"\xff" * 8 + b"{}",
        packed({"told": []}),
        (2).to_bytes(8, "big") + b"[]",
        (100_000).to_bytes(8, "big") + b"[" * 100_000,
        (9).to_bytes(8, "big") + b"\xff" * 9,
        packed({"told": {}}, b"of no length"),
        packed({"told": {}, "size": 12}, b"cut off"),
        packed({"told": {}, "size": 3}, b"longer"),
        packed({"told": {}, "size": 12}),
    ],
)
def test_an_answer_that_is_none_counts_as_stopped(sandbox: Sandbox, answer: bytes) -> None:
    assert sandbox.call(Job("sandboxed.lie", args={"answer": answer.hex()})).stopped


def test_a_refusal_is_a_sentence_about_the_file(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    result = sandbox.call(Job("sandboxed.refuse"))
    assert (result.refused, result.stopped) == ("has a reason.", False)
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    with pytest.raises(ToolError, match=r"^a\.pdf has a reason\.$"):
        calling.run("sandboxed.refuse", "a.pdf")


def test_half_a_character_in_an_answer_is_replaced(sandbox: Sandbox) -> None:
    """A file can name one, and no answer of a tool can carry it: the call would fail without a sentence."""
    result = sandbox.call(Job("sandboxed.echo", args={"word": "a\ud800b \U0001f600 \\ud800"}))
    assert result.told["word"] == "a?b \U0001f600 \\ud800"
    lie = packed({"refused": "is \udfff"}).hex()
    assert sandbox.call(Job("sandboxed.lie", args={"answer": lie})).refused == "is ?"


def test_a_task_takes_and_gives_megabytes(sandbox: Sandbox) -> None:
    blobs = [os.urandom(3 << 20), b"", os.urandom(5 << 20)]
    result = sandbox.call(Job("sandboxed.echo", blobs, {"word": "grüße"}))
    assert result.data == b"".join(blobs)
    assert result.told == {"word": "grüße", "sizes": [3 << 20, 0, 5 << 20]}


@pytest.mark.parametrize(
    "task", ["os.system", "..x", "nothing.here", "sandboxed.nothing", "sandboxed.tasks.echo"]
)
def test_only_the_tasks_of_the_package_can_be_named(sandbox: Sandbox, task: str) -> None:
    assert sandbox.call(Job(task)).stopped
    assert sandbox.call(Job("sandboxed.echo", [b"next"])).data == b"next"


def test_many_threads_call_at_once(sandbox: Sandbox) -> None:
    found: list[bytes] = []

    def one(n: int) -> None:
        found.append(sandbox.call(Job("sandboxed.echo", [str(n).encode()])).data)

    threads = [threading.Thread(target=one, args=[n]) for n in range(3 * calling.AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found, key=int) == [str(n).encode() for n in range(len(threads))]


@pytest.mark.slow
async def test_a_cancelled_call_kills_its_task_and_the_loop_stays_free(sandbox: Sandbox) -> None:
    with anyio.move_on_after(1):
        await to_thread.run_sync(sandbox.call, Job("sandboxed.hang", limits=Limits(seconds=600)))
    assert await gone(lambda: not children(sandbox))


@pytest.mark.slow
async def test_stopping_ends_the_calls_that_wait(sandbox: Sandbox) -> None:
    waiting = asyncio.create_task(
        asyncio.to_thread(sandbox.call, Job("sandboxed.hang", limits=Limits(seconds=600)))
    )
    assert await gone(lambda: len(children(sandbox)) == 1)
    sandbox.stop()
    assert (await waiting).stopped
    again = await asyncio.to_thread(sandbox.call, Job("sandboxed.echo", [b"anew"]))
    assert again.data == b"anew"
    assert await gone(lambda: not children(sandbox))  # else the next test takes it for its own


async def test_a_fork_server_that_is_killed_takes_its_children_along_and_is_replaced(
    sandbox: Sandbox,
) -> None:
    waiting = asyncio.create_task(
        asyncio.to_thread(sandbox.call, Job("sandboxed.hang", limits=Limits(seconds=600)))
    )
    assert await gone(lambda: len(children(sandbox)) == 1)
    assert sandbox._server
    os.kill(sandbox._server.pid, signal.SIGKILL)
    assert (await waiting).stopped
    again = await asyncio.to_thread(sandbox.call, Job("sandboxed.echo", [b"anew"]))
    assert again.data == b"anew"


@pytest.mark.slow
async def test_what_a_task_started_is_killed_with_it(sandbox: Sandbox) -> None:
    job = Job(
        "sandboxed.start_and_hang", args={"program": "/bin/sh"}, program="/bin/sh", limits=Limits(seconds=1)
    )
    assert (await asyncio.to_thread(sandbox.call, job)).stopped
    assert await gone(lambda: not children(sandbox))
    assert await gone(lambda: not spinning())


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux gives orphans to the fork server"
)
async def test_what_a_killed_task_had_started_is_taken_in_and_counts_no_more(sandbox: Sandbox) -> None:
    limits = Limits(seconds=1)
    hangs = Job("sandboxed.start_and_hang", args={"program": "/bin/sh"}, program="/bin/sh", limits=limits)
    waiting = asyncio.create_task(asyncio.to_thread(sandbox.call, hangs))
    assert await gone(lambda: bool(spinning()))
    started = [path.parent for path in spinning()]
    assert (await waiting).stopped
    # It takes them in while it works on the next calls, as far as they have ended by then.
    for _ in range(100):
        assert (await asyncio.to_thread(sandbox.call, Job("sandboxed.echo", [b"1"]))).data == b"1"
        if not any(map(Path.exists, started)):
            break
    assert not any(map(Path.exists, started))


def test_what_ends_late_of_a_killed_task_is_taken_in_without_another_call() -> None:
    ours, theirs = socket.socketpair()
    late = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    server = ForkServer(theirs, "tests.servers", ended={late.pid})
    looks = threading.Thread(target=lambda: any(no_more(server) for _ in range(50)), daemon=True)
    with ours, theirs:
        looks.start()
        assert late.stdin
        late.stdin.close()
        looks.join(5)
        ended = not server.ended
    late.returncode = 0  # taken in already
    assert ended


class Starved(ForkServer):
    """The system has no process left for a child of it."""

    def _fork(self, *_: object) -> Child:
        raise BlockingIOError(errno.EAGAIN, "no process left")


@pytest.mark.parametrize(
    ("scratch", "said"), [(True, calling.NO_ROOM), (False, calling.BUSY)], ids=["no folder", "no process"]
)
def test_a_task_that_cannot_begin_ends_no_other(
    scratch: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that got no scratch folder ended the fork server, and with it the calls of everybody."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    ours, theirs = socket.socketpair()
    sandbox, server = Sandbox("tests.servers"), Starved(theirs, "tests.servers")
    sandbox._orders = ours
    serving = threading.Thread(target=server.serve, daemon=True)
    with theirs:
        serving.start()
        for _ in range(2):
            result = sandbox.call(Job("sandboxed.echo", [b"1"], scratch=scratch))
            assert (result.refused, result.begun) == (said, False)
        sandbox.stop()
        serving.join(10)
    assert not server.children


def no_more(server: ForkServer) -> bool:
    """Whether nothing is left of what was killed, after one more step."""
    server._step()
    return not server.ended


def children(sandbox: Sandbox) -> list[str]:
    """The processes that the fork server has; none where it is not there yet."""
    if not sandbox._server:
        return []
    process = sandbox._server.pid
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def spinning() -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"while :; do :; done" in read(path)]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def gone(when: Callable[[], bool]) -> bool:
    """Whether this becomes true within some seconds."""
    for _ in range(1_000):
        if when():
            return True
        await asyncio.sleep(0.01)
    return False


def test_the_protection_in_force_is_found_out_by_trying() -> None:
    found = protection()
    assert found.works
    assert found.writes == found.reads == bool(kernel.landlock_version())
    assert found.network == confinement.has_seccomp()
    assert found.other_user == confinement.drops_user()
    assert found.sentence


def test_protection_says_what_is_missing() -> None:
    assert "no file can be opened" in Protection(works=False).sentence
    half = Protection(works=True, writes=True, reads=True)
    assert half.sentence.endswith("but this host lets them reach the network, start programs")
    assert "can neither write" in Protection(True, True, True, True, True).sentence


def unpacked(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The head of an answer, and what follows it."""
    size = protocol.head_size(data[:8])
    return protocol.head(data[8 : 8 + size]), data[8 + size :]


def test_a_head_that_is_cut_or_too_long_is_no_head() -> None:
    whole = packed({"a": 1}, b"rest")
    assert unpacked(whole) == ({"a": 1}, b"rest")
    for cut in range(16):
        with pytest.raises(ValueError):
            unpacked(whole[:cut])


def test_a_head_of_very_many_lists_is_not_parsed() -> None:
    """Eight megabytes of them held up every thread of the bot for more than a second."""
    assert unpacked(packed({"told": {"a": [[]] * 200_000}}))[1] == b""
    with pytest.raises(ValueError, match="too many parts"):
        unpacked(packed({"told": {"a": [[]] * 250_000}}))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "many", [lambda: [1] * 2_000_000, lambda: {str(n): n for n in range(400_000)}, lambda: [""] * 600_000]
)
def test_a_head_of_very_many_values_is_not_parsed(many: Callable[[], object]) -> None:
    """Numbers are no parts, and 2.6 million of them took a quarter of a second."""
    with pytest.raises(ValueError, match="too many parts"):
        unpacked(packed({"told": {"a": many()}}))


@pytest.mark.parametrize("number", ["1" * (MOST_DIGITS + 1), "-" + "1" * 4300, "0." + "1" * 4300, "1" * 5000])
def test_a_head_with_a_number_of_many_digits_is_refused(number: str) -> None:
    """1,900 of 4,300 digits took 0.17 s."""
    text = f'{{"told": {{"a": [{number}]}}}}'.encode()
    with pytest.raises(ValueError, match="too many digits"):
        unpacked(len(text).to_bytes(8, "big") + text)


@pytest.mark.parametrize(
    "number", ["2.22507385850720113605740979670913197593481954635e-308", "7" * 60, "2225e-316", "2225E-0316"]
)
def test_numbers_that_take_long_to_be_read_are_read_step_by_step(number: str) -> None:
    """8 MB of them took 0.3 s in one step, in which no other thread runs."""
    steps = 0

    def count(frame: object, event: str, of: object) -> None:
        nonlocal steps
        steps += event == "call"

    sys.setprofile(count)
    try:
        found = protocol.parsed(f"[{', '.join([number] * 11_000)}]".encode())
    finally:
        sys.setprofile(None)
    assert found == [json.loads(number)] * 11_000
    assert steps > 11_000


def test_a_text_of_very_many_digits_is_no_number() -> None:
    told = {"a": "1" * 5000, "b": 10 ** (MOST_DIGITS - 1), "c": 0.5}
    assert unpacked(packed({"told": told}))[0]["told"] == told


def test_a_text_of_very_many_commas_is_one_value() -> None:
    said = 'a, "b": c\\' * 9_000
    assert unpacked(packed({"told": {"a": "," * 4_000_000}}))[0]["told"] == {"a": "," * 4_000_000}
    assert unpacked(packed({"told": {"a": said, "b": [1] * 400_000}}))[1] == b""


@pytest.mark.parametrize(
    "text",
    [b"[[],[]]", b"[" * 50_000 + b"]" * 50_000, b'["' + b"x" * (4 << 20) + b'"]', b"[", b"\xff", b"[1e]"],
)
def test_json_beside_a_head_is_counted_before_it_is_parsed(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 MB of empty lists held up every thread of the bot for 2.6 s."""
    monkeypatch.setattr(protocol, "body", partial(protocol.parsed, most=protocol.MOST_BODY, parts=2))
    with pytest.raises(ValueError):
        protocol.body(text)


def test_a_list_for_an_answer_is_longer_than_an_answer_and_no_longer_than_what_is_parsed() -> None:
    assert protocol.MOST_LISTED >= 2 * MOST_CHARACTERS
    things = [{"a": "\U0001f600" * 1_000, "half": "\ud800"}] * 1_000
    text, more = protocol.first_of(things)
    found = protocol.body(text)
    assert (more, found[0]["half"]) == (True, "?")
    assert MOST_CHARACTERS < sum(len(one["a"]) for one in found) <= protocol.MOST_LISTED
    assert protocol.first_of([]) == (b"[]", False)


def test_halves_of_characters_are_replaced_step_by_step() -> None:
    text = b'{"told": {"a": [' + b", ".join([b'"\\ud800"'] * 140_000) + b"]}}"
    found = protocol.whole(protocol.head(text), text)
    assert found["told"]["a"] == ["?"] * 140_000


def test_the_bytes_of_an_answer_are_held_once(sandbox: Sandbox) -> None:
    sandbox.call(Job("sandboxed.echo"))
    tracemalloc.start()
    try:
        result = sandbox.call(Job("sandboxed.flood"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(result.data) < peak < 1.6 * len(result.data)


def test_room_that_a_file_takes_beyond_its_size_is_counted(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        assert not kernel.libc.fallocate(
            file.fileno(), 1, ctypes.c_long(0), ctypes.c_long(1 << 20)
        )  # KEEP_SIZE
        assert (tmp_path / "a").stat().st_size == 0
        assert used(str(tmp_path)) >= 1 << 20


def test_a_task_moves_only_the_place_of_the_next_read_of_a_descriptor(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"what it says")
    with (tmp_path / "a").open("rb") as file:
        sandbox.call(Job("sandboxed.given", files=[file.fileno()]))
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == len(b"what it says")
        assert disk.measure(file.fileno(), "a").size == len(b"what it says")


def test_what_stands_in_a_text_is_no_part_whatever_is_escaped_in_it() -> None:
    for signs in product('\\"[,n', repeat=5):
        text = json.dumps(["".join(signs), [], "".join(signs)]).encode()
        assert not protocol.has_more(text, parts=2, values=2)
        assert protocol.has_more(text, parts=1, values=2)
        assert protocol.has_more(text, parts=2, values=1)


def test_a_text_of_very_many_brackets_is_no_part() -> None:
    cells = ["[{" * 2_000] * 100
    assert protocol.body(protocol.first_of(cells)[0]) == cells
    with pytest.raises(ValueError, match="too many parts"):
        protocol.body(protocol.first_of([[{}] * 30_000])[0])


def test_a_confined_process_steps_behind_the_bot(sandbox: Sandbox) -> None:
    assert sandbox.call(Job("sandboxed.nice")).told == {
        "nice": min(os.getpriority(os.PRIO_PROCESS, 0) + NICE, 19)
    }
