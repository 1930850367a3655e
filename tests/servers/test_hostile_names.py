"""Names and things in folders of others that are no plain files: they hide nothing else, and nothing waits on them."""

from __future__ import annotations

import asyncio
import mailbox
import os
import socket
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from mcp import Client

from servers.calendar import server as calendars
from tests.servers.files import Ask
from tests.servers.mail import mail_app, maildir, mailing
from tests.servers.test_calendar_tools import calendar, event
from tests.servers.test_hostile_files import over
from tests.servers.test_knowledge_tools import knowing

STRANGE = (b"bad\xff\xfename", b"two\nlines", b"bell\x07\x1b[31m", b"\xed\xa0\x80", "rtl\u202ename".encode())


def put(folder: bytes, name: bytes, text: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def strange(folder: Path, ending: str, text: str) -> None:
    """Files of these names, and everything else that can have a name."""
    base = os.fsencode(folder)
    for name in STRANGE:
        put(base, name + ending.encode(), text)
    os.mkfifo(folder / f"fifo{ending}")
    (folder / f"folder{ending}").mkdir()
    outside = folder.parent / "outside"
    outside.write_text(text.replace("needle", "outside needle"))
    (folder / f"link{ending}").symlink_to(outside)
    (folder / f"link2{ending}").symlink_to(folder / f"link{ending}")
    (folder / f"loop{ending}").symlink_to(folder / f"loop{ending}")
    (folder / f"gone{ending}").symlink_to(folder / "nothing")
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(os.path.relpath(folder / f"s{ending}"))


MAIL = "From: Eve <eve@example.net>\nTo: ann@example.com\nSubject: needle\n\nneedle\n"


@pytest.mark.slow
async def test_strange_names_keep_no_other_document_out_of_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "plain.md").write_text("The needle is in the hay.\n")
    strange(notes, ".md", "A needle of somebody else.\n")
    async with knowing(notes) as ask:
        done = await ask("index_folder", path=".")
        found = await ask("search_documents", query="needle")
        assert {one["path"] for one in found["hits"]} >= {"plain.md"}
        assert "outside" not in str(found)
        assert "no plain text" in str(done)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return maildir(tmp_path)


@pytest.mark.parametrize("sub", ["cur", "new"])
async def test_strange_names_hide_no_other_mail_and_can_be_read(home: Path, sub: str) -> None:
    strange(home / sub, ".eml", MAIL)
    async with mailing(home) as gate:
        every = await gate("search_emails")
        assert {"The Q3 report", "Ärger"} <= {one["subject"] for one in every["messages"]}
        found = (await gate("search_emails", text="needle"))["messages"]
        assert len(found) == len(STRANGE)
        for one in found:
            read = await gate("read_email", message_id=one["message_id"])
            assert "needle" in read["text"]
            assert read["file"].encode().isascii() or "rtl" in read["file"]
            assert not set(read["file"]) & {"\n", "\x07", "\x1b"}


async def test_a_mailbox_of_a_strange_name_hides_no_other(home: Path) -> None:
    for name in STRANGE:
        put(os.path.join(os.fsencode(home), b"." + name, b"cur"), b"one", MAIL)
    (home / ".linked").symlink_to(home / ".Drafts")
    os.mkfifo(home / ".fifo")
    async with mailing(home) as gate:
        found = await gate("search_emails", text="needle")
        assert len(found["messages"]) == len(STRANGE)
        assert len((await gate("search_emails"))["messages"]) == 3 + len(STRANGE)


@pytest.mark.parametrize("name", ["all.mbox", "all.eml", "4.more.host:2,S"])
async def test_a_file_of_many_mails_is_refused_in_words(home: Path, name: str) -> None:
    box = mailbox.mbox(home / "cur" / name)
    for _ in range(3):
        box.add(MAIL)
    box.close()
    async with mailing(home) as gate:
        found = await gate("search_emails")
        assert len(found["messages"]) == 3
        assert "several mails" in found["note"]


@pytest.mark.parametrize("first", ["From: x@example.com\n", "From the desk of Ann\n", ""])
async def test_a_mail_that_only_looks_like_many_is_read(home: Path, first: str) -> None:
    (home / "cur" / "4.more.host:2,S").write_text(
        f"{first}Subject: needle\n\nText\n\nFrom here on it is easy.\n"
    )
    async with mailing(home) as gate:
        assert len((await gate("search_emails"))["messages"]) == 4


def test_a_mailbox_that_is_a_link_is_refused_at_the_start(home: Path) -> None:
    link = home.parent / "linked"
    link.symlink_to(home)
    with pytest.raises(ValueError, match="is a link"):
        mail_app(link)


@pytest.mark.parametrize("name", ["cur", "new", ".Sent", ".Drafts"])
def test_a_mailbox_folder_that_is_a_link_is_refused_at_the_start(home: Path, name: str) -> None:
    other = home.parent / "elsewhere"
    (other / "cur").mkdir(parents=True)
    if (home / name).exists():
        (home / name).rename(home.parent / "old")
    (home / name).symlink_to(other)
    with pytest.raises(ValueError, match="is a link"):
        mail_app(home)


EVENT = event("DTSTART:20261124T120000Z", "DURATION:PT1H")


async def test_a_calendar_of_a_strange_name_is_read_and_hides_no_other(tmp_path: Path) -> None:
    """One of 240 bytes that are no UTF-8 is four times as long by its escapes: every calendar tool ended."""
    root = tmp_path / "calendar"
    root.mkdir()
    (root / "plain.ics").write_text(EVENT, newline="")
    names = (b"\xff" * 240, *STRANGE)
    for name in names:
        put(os.fsencode(root), name + b".ics", EVENT)
        put(os.path.join(os.fsencode(root), b"in " + name), b"one.ics", EVENT)
    async with calendar(root) as gate:
        listed = await gate("list_events", start="2026-11-24", days=1)
        assert (len(listed["events"]), listed["note"]) == (1 + 2 * len(names), "")
        free = await gate("find_free_slots", start="2026-11-24", days=1)
        assert free["note"] == ""


async def test_an_event_in_a_file_of_a_strange_name_is_told_and_not_deleted(tmp_path: Path) -> None:
    """The trash keeps names as text, so that it could not be brought back."""
    root = tmp_path / "calendar"
    put(os.fsencode(root), b"bad\xff.ics", EVENT)
    async with Client(calendars([root], ZoneInfo("UTC"))) as client:
        ask = Ask(client)
        [listed] = (await ask("list_events", start="2026-11-24", days=1))["events"]
        found = await ask("get_event", event_id=listed["event_id"])
        assert found["file"] == listed["file"] == "bad\\xff.ics"
        assert "no plain text" in await ask.refused("delete_event", event_id=listed["event_id"])
    assert (await asyncio.to_thread(os.listdir, os.fsencode(root))).count(b"bad\xff.ics") == 1


READS = {
    "calendar": (
        "list_events",
        {"start": "2026-11-24", "days": 1},
        "calendar/{}.ics",
        EVENT,
        ("bad.ics", "2026-11-24T13:00"),
    ),
    "email": (
        "search_emails",
        {"text": "needle"},
        "mail/cur/{}:2,S",
        MAIL,
        ("cur/bad", "cannot be read to its end", "message_id"),
    ),
    "security": ("scan_for_pii", {"path": "."}, "files/{}.txt", MAIL, ("good.txt", "bad.txt")),
    "knowledge": ("index_folder", {"path": "."}, "files/{}.txt", MAIL, ('"added": 1', "bad.txt")),
    "filesystem": (
        "search_files",
        {"path": ".", "pattern": "*", "contains": "needle"},
        "files/{}.txt",
        MAIL,
        ("good.txt", "1 other file"),
    ),
}


@pytest.mark.parametrize("server", READS)
async def test_a_file_that_the_disk_cannot_give_hides_no_other(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, args, name, text, says = READS[server]
    good, bad = (tmp_path / name.format(each) for each in ("good", "bad"))
    for each in (bad, good):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(text)
    pread, inode = os.pread, bad.stat().st_ino

    def broken(file: int, size: int, offset: int) -> bytes:
        if os.fstat(file).st_ino == inode:
            raise OSError(5, "Input/output error")
        return pread(file, size, offset)

    monkeypatch.setattr(os, "pread", broken)
    async with over(tmp_path, server) as said:
        told = await said(tool, **args)
    assert all(sign in told for sign in says)
