"""What takes its time is done before a lock is taken: nobody has to wait for the files of others."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing
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
from servers.data import sources
from servers.data.models import Change
from servers.data.tools import Tools as Data
from servers.days import Days
from servers.email.mailboxes import Boxes
from servers.email.search import Index
from servers.email.words import Wanted, terms
from servers.filesystem.listing import Budget
from servers.filesystem.paths import Roots
from servers.knowledge import indexing, taking
from servers.knowledge.models import Indexed
from servers.knowledge.tools import Changing
from servers.sandbox import calling
from servers.sandbox.calling import AT_ONCE, BUSY, STOPPED, Job, Limits, Result, pieces
from servers.sandbox.protocol import Refused
from servers.sandbox.task_queue import Turns
from tests.servers.files import Clock
from tests.servers.mail import maildir
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


class Watched(Turns):
    """Notes for each wait for a turn what stands in the way of a program that changes a database meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(AT_ONCE, AT_ONCE)
        self._path, self.within = path, list[str]()

    def queued(self, owner: str) -> AbstractContextManager[threading.Event]:
        with closing(sqlite3.connect(self._path, timeout=0, isolation_level=None)) as program:
            try:
                program.execute("BEGIN EXCLUSIVE")
                self.within.append("")
            except sqlite3.OperationalError as error:
                self.within.append(str(error))
        return super().queued(owner)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, name); INSERT INTO t(name) VALUES ('Ann'), ('Ann')"
        )
    monkeypatch.setattr(sources.SANDBOX, "_turns", made := Watched(tmp_path / "t.sqlite"))
    return made


RENAMED = [Change(table="t", op="update", where={"id": 1}, values={"name": "Eve"})]


def test_no_database_is_locked_while_a_read_of_it_waits_for_its_turn(
    tmp_path: Path, watched: Watched
) -> None:
    """A person whose turns were all taken kept everybody's changes out with reads that had not begun."""
    data = Data(Roots.at([tmp_path]), Clock())
    assert data.query_sqlite("t.sqlite", "SELECT name FROM t").rows == [["Ann"], ["Ann"]]
    assert data.describe_database("t.sqlite").tables[0].name == "t"
    assert data.deduplicate_records("t.sqlite", ["name"], "t").unique == 1
    assert data.preview_write_sqlite("t.sqlite", RENAMED).rows == 1
    result: Any = data.query_sqlite("t.sqlite", "SELECT missing FROM t")
    assert result.is_error
    assert watched.within == [""] * 7  # the rows of a table are read in one turn, and looked at in another


def test_no_database_is_locked_while_a_change_of_it_waits_for_its_turn(
    tmp_path: Path, watched: Watched
) -> None:
    data = Data(Roots.at([tmp_path]), Clock())
    record = data.write_sqlite("t.sqlite", RENAMED).record
    assert data.check_rows(record).state
    assert data.preview_restore_rows(record).rows == 1
    assert data.restore_rows(record).rows == 1
    assert watched.within == [""] * 4


def test_a_change_whose_turn_does_not_come_says_so(
    tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "WAIT_SECONDS", 0.0)
    data = Data(Roots.at([tmp_path]), Clock())
    with ExitStack() as others:
        for _ in range(AT_ONCE):
            others.enter_context(watched.queued("somebody"))
        for refused in (
            lambda: data.write_sqlite("t.sqlite", RENAMED),
            lambda: data.preview_write_sqlite("t.sqlite", RENAMED),
        ):
            with pytest.raises(ToolError, match=r"t\.sqlite was not opened: .* Try again in a minute\."):
                refused()
    assert not any(watched.within)


@dataclass
class OfAnn(InThisProcess):
    """In it the first call waits for its turn, which comes once all is done that happens `meanwhile`."""

    index: Index = field(default_factory=Index)

    def call(self, job: Job) -> Result:
        self.within += [job.task] * self.index._lock.locked()
        meanwhile, self.meanwhile = self.meanwhile, lambda task: None
        meanwhile(job.task)
        return _result(job, [b"".join(pieces(blob)) for blob in job.blobs])


def search(index: Index, home: Path, text: str) -> tuple[list[str], str]:
    """The subjects that are found, and what is said of those that are not read."""
    budget, wrong = Budget(60), list[str]()
    letters = [*Boxes(Roots.at([home])).letters(budget)]
    found = index.search(letters, Wanted(terms(text), None, None, ZoneInfo(BERLIN)), budget, wrong)
    assert wrong == []
    return [facts["subject"] for _, facts in found], budget.spent


@pytest.fixture
def of_ann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OfAnn:
    monkeypatch.setattr(calling, "SANDBOX", made := OfAnn(maildir(tmp_path)))
    return made


def test_a_search_of_mail_that_waits_for_its_turn_holds_no_other_search_up(of_ann: OfAnn) -> None:
    """Three long reads of one person and one new mail had the searches of everybody wait for 45 s, one after another."""

    def meanwhile(task: str) -> None:
        assert of_ann.within == []
        of_ben.append(search(of_ann.index, of_ann.root, "report"))

    of_ben = list[tuple[list[str], str]]()
    of_ann.meanwhile = meanwhile
    found, spent = search(of_ann.index, of_ann.root, "report")
    assert of_ben == [(found, spent)]
    assert (sorted(found), spent) == (["Re: The Q3 report", "The Q3 report"], "")
    assert of_ann.within == []


@pytest.mark.parametrize("gone", [False, True])
def test_each_search_finds_a_mail_as_it_was_when_it_was_looked_for(of_ann: OfAnn, gone: bool) -> None:
    path = of_ann.root / "cur" / "9.late.host:2,S"

    def meanwhile(task: str) -> None:
        path.unlink()
        if not gone:
            path.write_text("Subject: Late\n\nThe wall.\n")
        of_ben.append(search(of_ann.index, of_ann.root, "wall"))

    path.write_text("Subject: Late\n\nThe roof.\n")
    search(of_ann.index, of_ann.root, "")
    path.write_text("Subject: Late\n\nThe roof is new.\n")
    of_ben = list[tuple[list[str], str]]()
    of_ann.meanwhile = meanwhile
    found, spent = search(of_ann.index, of_ann.root, "roof")
    assert of_ben == [([] if gone else ["Late"], "")]
    assert (found, spent) == (["Late"], "")
    assert search(of_ann.index, of_ann.root, "roof") == ([], "")


def test_a_mail_that_another_search_forgot_is_told_of_as_not_read(of_ann: OfAnn) -> None:
    """It has listed the mailbox before, and this one after, the mail was there."""

    def meanwhile(task: str) -> None:
        path.rename(of_ann.root / "away")
        search(of_ann.index, of_ann.root, "")
        (of_ann.root / "away").rename(path)

    search(of_ann.index, of_ann.root, "")
    path = next((of_ann.root / "cur").iterdir())
    (of_ann.root / "cur" / "9.late.host:2,S").write_text("Subject: Late\n\nThe roof.\n")
    of_ann.meanwhile = meanwhile
    _, spent = search(of_ann.index, of_ann.root, "")
    assert spent.startswith("1 of ")
    assert spent.endswith(" messages are not read yet: search again to go on.")
    assert search(of_ann.index, of_ann.root, "")[1] == ""
