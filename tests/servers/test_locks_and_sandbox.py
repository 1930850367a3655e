"""What takes its time is done before the lock of a folder is taken: nobody has to wait for the files of others."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import pytest
from anyio import from_thread, to_thread
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar import tools as calendar
from servers.days import Days
from servers.filesystem.paths import Roots
from servers.knowledge import indexing, taking
from servers.knowledge.models import Indexed
from servers.knowledge.tools import Changing
from servers.sandbox import calling
from servers.sandbox.calling import BUSY, STOPPED, Job, Limits, Result, pieces
from servers.sandbox.protocol import Refused
from tests.servers.files import Clock
from tests.servers.test_calendar_tools import BERLIN, event, sample
from tests.servers.test_task_tools import Now

HOSTILE, CRASHING = b"hostile", b"crashing"


@dataclass
class InThisProcess:
    """In place of the sandbox: its tasks in this process, on a clock of its own. Notes the documents and mails that are
    opened, and every task within which somebody else cannot change the root. A hostile file takes all its time."""

    root: Path
    time: float = 1000.0
    opened: list[tuple[bytes, float]] = field(default_factory=list)
    within: list[str] = field(default_factory=list)
    busy: bool = False
    meanwhile: Callable[[str], object] = lambda task: None

    def call(self, job: Job) -> Result:
        blobs = [b"".join(pieces(blob)) for blob in job.blobs]
        self.within += [job.task] * (not self._is_free())
        self.meanwhile(job.task)
        if job.task.endswith(".text"):
            seconds = (job.limits or Limits()).seconds
            self.opened.append((blobs[0], seconds))
            if self.busy:
                return Result(refused=BUSY, stopped=True)
            if blobs[0].startswith(HOSTILE):
                self.time += seconds
                return replace(STOPPED, seconds=seconds)
            if blobs[0].startswith(CRASHING):
                return replace(STOPPED, seconds=0.1)
        return _result(job, blobs)

    def _is_free(self) -> bool:
        lock = self.root / ".countersign" / "lock"
        if not lock.exists():
            return True
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


def _result(job: Job, blobs: list[bytes]) -> Result:
    package, _, name = job.task.partition(".")
    try:
        told, data = import_module(f"servers.{package}.tasks").TASKS[name](*blobs, **job.args)
    except Refused as refused:
        return Result(refused=str(refused))
    if job.into:
        job.into.write(data)
    return Result(told, b"" if job.into else data)


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InThisProcess:
    made = InThisProcess(tmp_path)
    monkeypatch.setattr(calling, "SANDBOX", made)
    monkeypatch.setattr(taking, "monotonic", lambda: made.time)
    return made


@pytest.fixture
def changing(tmp_path: Path) -> Changing:
    return Changing(Roots.at([tmp_path]), Clock())


def hostile(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).write_bytes(HOSTILE + b"%d" % number)


def known(changing: Changing) -> list[str]:
    with indexing.stored(changing.roots.roots[0]) as index:
        return sorted(indexing.known(index).files)


def test_no_file_is_opened_while_others_wait_for_the_folder(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    """Five PDF files held the lock for all 60 s of the call, and every other change in the root was refused."""
    hostile(tmp_path, "z.pdf")
    (tmp_path / "page.html").write_text("<p>A page.</p>")
    (tmp_path / "mail.eml").write_text("Subject: Offer\n\nFor the roof.\n")
    changing.index_folder(".")
    (tmp_path / "page.html").write_text("<p>Another page.</p>")
    changed = changing.update_index(".")
    changing.restore_index(changed.record)
    assert len(sandbox.opened) == 4
    assert sandbox.within == []


def test_hostile_documents_get_a_time_together_and_are_named_one_with_each_call(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    """Five PDF files of 12 KB let no call come to its end, so that their folder could never be indexed."""
    names = [f"{letter}.pdf" for letter in "abcde"]
    hostile(tmp_path, *names)
    (tmp_path / "note.md").write_text("The lease ends in May.\n")
    for number, name in enumerate(names):
        begun = sandbox.time
        done = changing.update_index(".") if number else changing.index_folder(".")
        assert sandbox.time - begun <= taking.SECONDS
        left = names[number + 1 :]
        assert done.added == 1 + (not number)
        named = [f"{name} (broken, or too much to open)", *(f"{one} ({LATER})" for one in left)]
        assert done.skipped == [*([many(len(left))] if left else []), *named]
        assert known(changing) == [*names[: number + 1], "note.md"]
    assert [seconds for _, seconds in sandbox.opened] == [taking.SECONDS] * 5
    with pytest.raises(ToolError, match="Nothing has changed"):
        changing.update_index(".")


LATER = "left to the next update of the index"


def many(count: int) -> str:
    files = f"{count} file{'s' * (count != 1)}"
    return f"{files} (no time was left to open them: update the index again)"


def test_a_document_that_had_only_a_part_of_the_time_is_not_to_blame(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    def slow(task: str) -> None:
        sandbox.time += 10 * (task == "formats.text")

    (tmp_path / "a.html").write_text("<p>It takes 10 s.</p>")
    hostile(tmp_path, "b.pdf")
    sandbox.meanwhile = slow
    first = changing.index_folder(".")
    assert (first.added, first.skipped[1:]) == (1, [f"b.pdf ({LATER})"])
    second = changing.update_index(".")
    assert (second.added, second.skipped) == (1, ["b.pdf (broken, or too much to open)"])
    assert [seconds for _, seconds in sandbox.opened] == [25, 15, 25]


def test_a_document_that_stops_its_process_before_its_time_is_over_is_to_blame(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    def slow(task: str) -> None:
        sandbox.time += task == "formats.text"

    for number, name in enumerate("abc"):
        (tmp_path / f"{name}.pdf").write_bytes(CRASHING + b"%d" % number)
    sandbox.meanwhile = slow
    assert changing.index_folder(".").skipped == [f"{one}.pdf (broken, or too much to open)" for one in "abc"]
    assert [seconds for _, seconds in sandbox.opened] == [25, 24, 23]


def test_a_changed_document_that_is_left_out_stays_in_the_index_as_it_was(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    (tmp_path / "b.html").write_text("<p>As it was.</p>")
    changing.index_folder(".")
    hostile(tmp_path, "a.pdf")
    (tmp_path / "b.html").write_text("<p>As it is.</p>")
    done = changing.update_index(".")
    assert (done.added, done.changed, done.skipped[-1]) == (1, 0, f"b.html ({LATER})")
    assert known(changing) == ["a.pdf", "b.html"]
    assert changing.update_index(".").changed == 1


def test_a_hostile_mail_is_taken_in_as_it_stands_within_the_same_time(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    hostile(tmp_path, "a.eml", "b.eml")
    begun = sandbox.time
    done = changing.index_folder(".")
    assert done.skipped[1:] == ["a.eml (cannot be read as .eml: taken in as it stands)", f"b.eml ({LATER})"]
    assert sandbox.time - begun == taking.SECONDS


def test_a_document_for_which_there_was_no_turn_is_not_taken_in_empty(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    """It counted as broken, and was never opened again."""
    (tmp_path / "page.html").write_text("<p>The lease ends in May.</p>")
    sandbox.busy = True
    with pytest.raises(ToolError, match="Try again in a minute"):
        changing.index_folder(".")
    sandbox.busy = False
    assert changing.index_folder(".").chunks == 1


def test_an_index_that_others_changed_meanwhile_is_not_replaced(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    others = list[Indexed]()

    def meanwhile(task: str) -> None:
        if task == "knowledge.changed" and not others:
            sandbox.meanwhile = lambda task: None
            others.append(changing.index_folder("other"))

    (tmp_path / "other").mkdir()
    for name in ("mine.md", "other/theirs.md"):
        (tmp_path / name).write_text("The lease ends in May.\n")
    sandbox.meanwhile = meanwhile
    with pytest.raises(ToolError, match="The index has changed"):
        changing.index_folder(".")
    assert known(changing) == ["other/theirs.md"]
    with indexing.stored(changing.roots.roots[0]) as index:
        assert indexing.named(index) == others[0].sha256


async def test_no_more_files_are_opened_for_a_call_that_was_given_up(
    tmp_path: Path, sandbox: InThisProcess, changing: Changing
) -> None:
    def give_up(task: str) -> None:
        if task == "formats.text":
            from_thread.run_sync(scope.cancel)

    for name in "abc":
        (tmp_path / f"{name}.html").write_text(f"<p>{name}</p>")
    sandbox.meanwhile = give_up
    with anyio.CancelScope() as scope:
        await to_thread.run_sync(changing.index_folder, ".")
    assert len(sandbox.opened) == 1
    assert not (tmp_path / ".countersign" / "knowledge").exists()


def blocking(root: Path) -> calendar.Tools:
    return calendar.Tools(Roots.at([root]), Days(Now(), ZoneInfo(BERLIN)), iter(map(str, range(9))).__next__)


BLOCK: dict[str, Any] = {"title": "Focus", "start": "2026-11-30 14:00"}


def test_no_calendar_is_opened_while_others_wait_for_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = InThisProcess(sample(tmp_path))
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    assert blocking(sandbox.root).create_time_block(**BLOCK).title == "Focus"
    assert sandbox.within == []


@pytest.mark.parametrize("hour", ["14", "16"])
def test_an_event_that_is_written_while_free_time_is_looked_for_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hour: str
) -> None:
    def meanwhile(task: str) -> None:
        if task == "calendar.between":
            sandbox.meanwhile = lambda task: None
            lines = (f"DTSTART:20261130T{int(hour) - 1}0000Z", "DURATION:PT1H", "SUMMARY:Y")
            (sandbox.root / "meanwhile.ics").write_text(event(*lines, uid="y"))

    sandbox = InThisProcess(sample(tmp_path))
    sandbox.meanwhile = meanwhile
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    if hour == "14":
        with pytest.raises(ToolError, match="That time is not free"):
            blocking(sandbox.root).create_time_block(**BLOCK)
    else:
        assert blocking(sandbox.root).create_time_block(**BLOCK).title == "Focus"
    assert len(list(sandbox.root.glob("2026-11-30-*.ics"))) == (hour == "16")


def test_a_calendar_that_is_written_all_the_time_ends_the_search_for_free_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter(range(99))

    def meanwhile(task: str) -> None:
        if task == "calendar.between":
            (sandbox.root / f"{next(looks)}.ics").write_text("x")

    sandbox = InThisProcess(sample(tmp_path))
    sandbox.meanwhile = meanwhile
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    with pytest.raises(ToolError, match="Ask again in a minute"):
        blocking(sandbox.root).create_time_block(**BLOCK)
    assert next(looks) == calendar.LOOKS
