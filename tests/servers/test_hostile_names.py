"""Names and things in folders of others that are no plain files: they hide nothing else, and nothing waits on them."""

from __future__ import annotations

import mailbox
import os
import socket
from pathlib import Path

import pytest

from tests.servers.mail import mail_app, maildir, mailing
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
