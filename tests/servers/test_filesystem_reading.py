"""The reading tools: what they show, where they stop, and that they leave nothing behind."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import TextContent

from servers.filesystem import disk
from servers.filesystem.listing import Budget, matcher, search
from servers.filesystem.paths import Roots, Spot
from tests.cpu_time import within
from tests.servers.files import Clock, files, sample, sha, tree
from tests.servers.test_calendar_tools import event
from tests.servers.test_hostile_files import over
from views.tool_results import in_words


async def test_a_folder_is_listed_in_order_with_sizes_and_kinds(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "link").symlink_to("notes.md")
    async with files(root) as ask:
        top = await ask("list_dir", path=".")
        deep = await ask("list_dir", path=".", recursive=True)
        inner = await ask("list_dir", path="reports")
    assert [(item["name"], item["kind"], item["size"]) for item in top["items"]] == [
        ("archive", "folder", None),
        ("link", "link", 8),
        ("notes.md", "file", 8),
        ("reports", "folder", None),
    ]
    assert top["roots"] == ["sample"]
    assert [item["name"] for item in deep["items"]][-2:] == ["reports/q3.md", "reports/q4.md"]
    assert [item["name"] for item in inner["items"]] == ["reports/q3.md", "reports/q4.md"]


async def test_a_long_listing_stops_and_says_so(tmp_path: Path) -> None:
    root = sample(tmp_path)
    for number in range(1_200):
        (root / "archive" / f"{number:04}").touch()
    async with files(root) as ask:
        whole = await ask("list_dir", path="archive")
        some = await ask("list_dir", path="archive", limit=7)
        for number in range(1_200):
            (root / "archive" / f"{number:04}").rename(root / "archive" / f"{number:04}{'x' * 245}")
        wide = await ask("list_dir", path="archive")
    assert (len(whole["items"]), whole["truncated"]) == (1_000, True)
    assert (len(some["items"]), some["truncated"]) == (7, True)
    assert "Only the first 7" in some["note"]
    assert 500 < len(wide["items"]) < 1_000
    assert wide["truncated"]
    assert len(json.dumps(wide, indent=2)) < 256 * 1024


async def test_names_that_are_no_text_are_shown_with_escapes(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "archive" / os.fsdecode(b"caf\xe9")).touch()
    (root / "archive" / "two\nlines").touch()
    async with files(root) as ask:
        shown = await ask("list_dir", path="archive")
    assert [item["name"] for item in shown["items"]] == ["archive/caf\\xe9", "archive/two\\nlines"]


async def test_a_text_is_read_page_by_page_between_characters(tmp_path: Path) -> None:
    root = sample(tmp_path)
    text = "aé漢😀" * 5_000
    (root / "long.txt").write_text(text)
    read, offset = "", 0
    async with files(root) as ask:
        while offset is not None:
            page = await ask("read_file", path="long.txt", offset=offset, limit=1_001)
            assert page["sha256"] == sha(text)
            read, offset = read + page["text"], page["next_offset"]
        inside = await ask("read_file", path="long.txt", offset=2, limit=16)
    assert read == text
    assert inside["text"].startswith("漢")
    assert inside["offset"] == 3


@pytest.mark.parametrize("character", ["x", "\n", '"', "漢", "\x01"])
async def test_an_answer_is_never_longer_than_hosts_keep(tmp_path: Path, character: str) -> None:
    root = sample(tmp_path)
    (root / "big.txt").write_text(character * 300_000)
    async with files(root) as ask:
        result = await ask.client.call_tool("read_file", {"path": "big.txt"})
        refusal = await ask.refused("preview_write", path="big.txt")
    page = result.structured_content
    assert page
    assert "There is more" in page["note"]
    assert page["next_offset"] == len(page["text"].encode())
    assert 40_000 < len(json.dumps(page, ensure_ascii=False)) < 256 * 1024
    assert isinstance(result.content[0], TextContent)
    assert len(result.content[0].text) < 256 * 1024
    assert "too large to show" in refusal


async def test_the_encoding_is_said_and_what_is_no_text_is_described(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "mark.txt").write_bytes(b"\xef\xbb\xbfhi")
    (root / "old.txt").write_bytes(b"caf\xe9\n")
    (root / "joined.txt").write_bytes(b"\xef\xbb\xbfcaf\xe9\n")
    (root / "image.bin").write_bytes(b"\x89PNG\0\1\2")
    async with files(root) as ask:
        marked = await ask("read_file", path="mark.txt")
        old = await ask("read_file", path="old.txt")
        joined = await ask("read_file", path="joined.txt")
        image = await ask("read_file", path="image.bin")
    assert (marked["text"], marked["encoding"]) == ("\ufeffhi", "utf-8")
    assert "byte order mark" in marked["note"]
    assert (old["text"], old["encoding"]) == ("café\n", "cp1252")
    assert "Windows-1252, which is a guess" in old["note"]
    assert (joined["text"], joined["encoding"], joined["offset"]) == ("café\n", "cp1252", 3)
    assert "Windows-1252, which is a guess. Starts with a byte order mark" in joined["note"]
    assert (image["kind"], image["text"], image["size"]) == ("binary", "", 7)
    assert image["sha256"] == sha(b"\x89PNG\0\1\2")
    assert image["note"] == "This is not text, but a file of 7 bytes."


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
async def test_a_file_in_utf_16_is_read_in_pages_without_a_broken_character(
    tmp_path: Path, encoding: str
) -> None:
    root = sample(tmp_path)
    whole = "Preis: 5 €, groß 🙂\n" * 40
    (root / "wide.txt").write_bytes(whole.encode(encoding))
    read, offset = "", 0
    async with files(root) as ask:
        while offset is not None:
            page = await ask("read_file", path="wide.txt", offset=offset, limit=101)
            read, offset = read + page["text"], page["next_offset"]
        odd = await ask("read_file", path="wide.txt", offset=7, limit=20)
    assert read == whole
    assert "\ufffd" not in odd["text"]


async def test_the_euro_sign_of_an_old_file_is_a_euro_sign_and_a_search_finds_it(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "price.txt").write_bytes("Der Preis beträgt 5 €.\n".encode("cp1252"))
    async with files(root) as ask:
        read = await ask("read_file", path="price.txt")
        found = await ask("search_files", path=".", pattern="*.txt", contains="5 €")
    assert read["text"] == "Der Preis beträgt 5 €.\n"
    assert "price.txt" in str(found)


async def test_metadata_says_what_is_there_and_that_nothing_is(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "link").symlink_to("notes.md")
    (root / "notes.md").chmod(0o640)
    async with files(root) as ask:
        note = await ask("get_metadata", path="notes.md")
        folder = await ask("get_metadata", path="reports")
        nothing = await ask("get_metadata", path="reports/none.md")
        link = await ask("get_metadata", path="link")
        no_folder = await ask.refused("get_metadata", path="none/none.md")
    assert (note["kind"], note["size"], note["mode"], note["sha256"]) == (
        "file",
        8,
        "-rw-r-----",
        sha("one\ntwo\n"),
    )
    assert (folder["kind"], folder["entries"], folder["sha256"]) == ("folder", 2, None)
    assert (nothing["exists"], nothing["kind"], nothing["sha256"]) == (False, "absent", "absent")
    assert in_words(nothing, "").startswith("There is no file or folder ")
    assert "absent" not in in_words(nothing, "")
    assert (link["kind"], link["sha256"]) == ("link", None)
    assert "“none” does not exist" in no_folder


async def test_files_are_found_by_name_and_by_what_they_say(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "archive" / "image.bin").write_bytes(b"two\0two")
    (root / "loop").symlink_to(".")
    async with files(root) as ask:
        by_name = await ask("search_files", path=".", pattern="Q?.MD")
        by_path = await ask("search_files", path=".", pattern="reports/*")
        by_text = await ask("search_files", path=".", pattern="*", contains="TWO")
        below = await ask("search_files", path="reports", pattern="q3*")
        nothing = await ask("search_files", path=".", pattern="[z-a]*")
    assert [match["path"] for match in by_name["matches"]] == ["reports/q3.md", "reports/q4.md"]
    assert [match["path"] for match in by_path["matches"]] == ["reports/q3.md", "reports/q4.md"]
    assert [(m["path"], m["line"], m["excerpt"]) for m in by_text["matches"]] == [("notes.md", 2, "two")]
    assert [match["path"] for match in below["matches"]] == ["reports/q3.md"]
    assert nothing["matches"] == []


async def test_a_search_says_which_files_it_has_not_looked_into(tmp_path: Path) -> None:
    root = sample(tmp_path)
    (root / "large.txt").write_text("x\n" * (1 << 19) + "password=hunter2\n")
    (root / "zero.txt").write_bytes(b"password=hunter2\n\0")
    async with files(root) as ask:
        found = await ask("search_files", path=".", pattern="*", contains="hunter2")
        early = await ask("search_files", path=".", pattern="*", contains="X")
        texts = await ask("search_files", path="reports", pattern="*", contains="hunter2")
    assert (found["matches"], found["truncated"]) == ([], True)
    assert found["summary"] == "No file contains this text, as far as it was looked for."
    assert "1 large file was searched in part: the first 1 MiB alone." in found["note"]
    assert "1 other file was not searched: no text." in found["note"]
    assert [one["path"] for one in early["matches"]] == ["large.txt"]
    assert "in part" not in early["note"]
    assert (texts["truncated"], texts["note"]) == (False, "")
    assert texts["summary"] == "No file contains this text in reports."


def test_a_search_says_that_a_file_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = sample(tmp_path)

    @contextmanager
    def reading(spot: Spot) -> Iterator[int]:
        if spot.said == "reports/q4.md":
            raise ToolError(f"{spot.said} cannot be opened: Permission denied.")
        with opening(spot) as file:
            yield file

    opening = disk.reading
    monkeypatch.setattr(disk, "reading", reading)
    found = search(Roots.at([root]).find("."), "*", "hunter2", 50, Budget())
    assert found.truncated
    assert found.note == "1 other file was not searched: cannot be opened."


@pytest.mark.parametrize("pattern", ["(a+)+$", "*a" * 100, "[" * 200, "*" * 200, "?" * 200, "[!a-z]*" * 20])
def test_no_pattern_takes_long(pattern: str) -> None:
    with within(1):
        matcher(pattern)("a" * 250 + "!", "")
        matcher(pattern)("a" * 4_000 + "!", "")


@pytest.mark.parametrize("most", [{"characters": 40}, {"room": 15}])
async def test_a_look_is_cut_off_after_so_many_characters_of_names(
    tmp_path: Path, most: dict[str, int]
) -> None:
    place = Roots.at([sample(tmp_path)]).find(".")
    all_of_it = search(place, "*", None, 1_000, Budget())
    cut = search(place, "*", None, 1_000, Budget(**most))
    assert 0 < len(cut.matches) < len(all_of_it.matches)
    assert "names. Look in a smaller folder." in cut.note


async def test_a_search_is_cut_off_after_its_time_and_its_number_of_names(tmp_path: Path) -> None:
    root = sample(tmp_path)
    place = Roots.at([root]).find(".")
    ticks = iter(range(100))
    slow = search(place, "*", None, 1_000, Budget(seconds=3, clock=lambda: float(next(ticks))))
    few = search(place, "*", None, 1_000, Budget(visits=2))
    just = search(place, "*", None, 1_000, Budget(visits=5))
    all_of_it = search(place, "*", None, 1_000, Budget())
    assert slow.truncated
    assert "3 seconds" in slow.note
    assert 0 < len(slow.matches) < len(all_of_it.matches)
    assert few.truncated
    assert [match.path for match in few.matches] in (
        ["archive", "notes.md"],
        ["archive", "reports"],
        ["notes.md", "reports"],
    )
    assert just == all_of_it
    assert not all_of_it.truncated


async def test_a_tree_as_deep_as_disks_allow_is_left_in_good_order(tmp_path: Path) -> None:
    root = sample(tmp_path)
    deep = root / "archive"
    for _ in range(100):
        deep = deep / "d"
    deep.mkdir(parents=True)
    before = len(os.listdir("/dev/fd"))
    async with files(root) as ask:
        found = await ask("search_files", path="archive", pattern="d")
    assert found["truncated"]
    assert "folders deep" in found["note"]
    assert len(os.listdir("/dev/fd")) <= before


async def test_what_is_neither_file_nor_folder_is_refused_at_once(tmp_path: Path) -> None:
    root = sample(tmp_path)
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(root / "socket"))
        started = time.monotonic()
        async with files(root) as ask:
            for name in ("pipe", "socket"):
                assert "not a plain file" in await ask.refused("read_file", path=name)
                assert "not a plain file" in await ask.refused("preview_write", path=name)
                assert "not a plain file" in await ask.refused("copy_file", source=name, destination="copy")
                assert "not a plain file" in await ask.refused("move_file", source=name, destination="moved")
                assert "not a plain file" in await ask.refused("delete_file", path=name)
                assert "not a plain file" in await ask.refused("write_file", path=name, content="x")
                assert (await ask("get_metadata", path=name))["kind"] == "other"
            assert (await ask("search_files", path=".", pattern="*", contains="zzz"))["matches"] == []
        assert time.monotonic() - started < 5


async def test_reading_leaves_nothing_in_the_root(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root, clock=Clock()) as ask:
        await ask("list_dir", path=".")
        await ask("list_trash")
        await ask("list_changes", path=".")
        await ask("preview_write", path="new.md")
        await ask("preview_transfer", source="notes.md", destination="archive")
        await ask.refused("preview_restore", trash_id="20260301T120000-0123456789abcdef")
    assert not (root / ".countersign").exists()


async def test_the_servers_own_folder_is_invisible_and_out_of_reach(tmp_path: Path) -> None:
    root = sample(tmp_path)
    async with files(root) as ask:
        deleted = await ask("delete_file", path="notes.md")
        inside = f".countersign/trash/{deleted['trash_id']}/0"
        assert (root / inside).read_text() == "one\ntwo\n"
        everything = await ask("list_dir", path=".", recursive=True)
        found = await ask("search_files", path=".", pattern="*")
        said = [item["name"] for item in everything["items"]] + [match["path"] for match in found["matches"]]
        assert not [name for name in said if "countersign" in name]
        for hidden in (
            inside,
            ".countersign",
            ".Countersign/x",
            "./.countersign/./x",
            ".countersign /x",
            ".count\u200dersign/x",
        ):
            assert "kept by this server" in await ask.refused("list_dir", path=hidden)
            assert "kept by this server" in await ask.refused("read_file", path=hidden)
            assert "kept by this server" in await ask.refused("get_metadata", path=hidden)
            assert "kept by this server" in await ask.refused("write_file", path=hidden, content="x")
            assert "kept by this server" in await ask.refused("move_file", source=hidden, destination="out")
            assert "kept by this server" in await ask.refused(
                "move_file", source="reports/q3.md", destination=hidden
            )
            assert "kept by this server" in await ask.refused("copy_file", source=hidden, destination="out")
            assert "kept by this server" in await ask.refused("delete_file", path=[hidden])
            assert "kept by this server" in await ask.refused("search_files", path=hidden, pattern="*")
            assert "kept by this server" in await ask.refused("watch_folder", path=hidden)
    assert set(tree(root)) == {"archive", "reports", "reports/q3.md", "reports/q4.md"}


async def test_paths_with_several_roots_begin_with_the_name_of_theirs(tmp_path: Path) -> None:
    root, other = sample(tmp_path), tmp_path / "other"
    other.mkdir()
    (other / "b.txt").write_text("b")
    async with files(root, other) as ask:
        for path in ("notes.md", "sample/notes.md", str(root / "notes.md"), "./sample//notes.md"):
            assert (await ask("read_file", path=path))["path"] == "sample/notes.md"
        assert [item["name"] for item in (await ask("list_dir", path="other"))["items"]] == ["other/b.txt"]
        assert (await ask("list_dir", path="."))["roots"] == ["sample", "other"]
        assert "different allowed folders" in await ask.refused(
            "delete_file", path=["notes.md", "other/b.txt"]
        )
        moved = await ask("move_file", source="notes.md", destination="other")
    assert moved["destination"] == "other/notes.md"
    assert (other / "notes.md").read_text() == "one\ntwo\n"


async def test_a_folder_that_may_not_be_entered_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, really = sample(tmp_path), os.open
    (root / "closed").mkdir()
    (root / "closed" / "inner.md").write_text("needle")

    def refusing(name: str, *args: int, **more: int) -> int:  # root, as which tests may run, may enter any
        if name == "closed" and "dir_fd" in more:
            raise PermissionError(13, "Permission denied", name)
        return really(name, *args, **more)

    monkeypatch.setattr(os, "open", refusing)
    why = "1 folder was not looked into: no right to."
    async with files(root) as ask:
        deep = await ask("list_dir", path=".", recursive=True)
        found = await ask("search_files", path=".", pattern="*", contains="needle")
    assert why in deep["note"]
    assert (found["matches"], found["truncated"]) == ([], True)
    assert why in found["note"]


IN_A_LOCKED = {  # what is asked, with a file of the server's and how that is seen to be read
    "filesystem": ("list_dir", {"path": ".", "recursive": True}, "files/{}/one.txt", "open/one.txt"),
    "security": ("scan_for_pii", {"path": "."}, "files/{}/one.txt", "open/one.txt"),
    "knowledge": ("index_folder", {"path": "."}, "files/{}/one.txt", '"added": 1'),
    "calendar": ("list_events", {"start": "2026-11-24", "days": 1}, "calendar/{}/one.ics", "open/one.ics"),
    "email": ("search_emails", {}, "mail/.{}/cur/one:2,S", '"mailbox": "open"'),
}
LOCKED = r"1 folder was not looked into|locked \(it may not be entered\)"
LOST = "1 name was left out: the disk does not tell what that is"


@pytest.mark.parametrize("server", IN_A_LOCKED)
@pytest.mark.parametrize(("error", "why"), [(None, LOCKED), (errno.EACCES, LOCKED), (errno.ENOTCONN, LOST)])
async def test_a_folder_that_gives_its_names_alone_ends_no_walk(
    tmp_path: Path, server: str, error: int | None, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner may read it and not enter it; or a disk that is mounted there does not answer any more."""
    tool, args, name, sign = IN_A_LOCKED[server]
    text = event("DTSTART:20261124T120000Z") if server == "calendar" else "Subject: x\n\nann@example.org\n"
    for folder in ("locked", "open"):
        each = tmp_path / name.format(folder)
        each.parent.mkdir(parents=True)
        each.write_text(text)
    (tmp_path / "mail" / "cur").mkdir(parents=True, exist_ok=True)
    locked, really = (tmp_path / name.format("locked")).parent, os.stat
    if error is None:
        locked.chmod(0o444)
        if os.access(locked / each.name, os.F_OK):
            pytest.skip("whoever runs this may enter every folder")
    inode = locked.stat().st_ino

    def refusing(path: Any, *more: Any, dir_fd: int | None = None, **others: Any) -> os.stat_result:
        if error and dir_fd is not None and os.fstat(dir_fd).st_ino == inode:
            raise OSError(error, os.strerror(error), path)
        return really(path, *more, dir_fd=dir_fd, **others)

    monkeypatch.setattr(os, "stat", refusing)
    try:
        async with over(tmp_path, server) as said:
            told = await said(tool, **args)
    finally:
        locked.chmod(0o755)
    assert sign in told
    assert re.search(why, told)


@pytest.mark.parametrize(
    ("nanoseconds", "year"),
    [
        (10**30, 9999),
        (260_000_000_000 * 10**9, 9999),
        (-(10**30), 1),
        (-62_135_596_800 * 10**9, 1),
        (0, 1970),
    ],
)
def test_a_time_that_has_no_date_is_told_as_the_nearest_that_has_one(nanoseconds: int, year: int) -> None:
    told = disk.modified(cast("os.stat_result", SimpleNamespace(st_mtime_ns=nanoseconds)))
    assert told.year == year
    assert all(told.astimezone(ZoneInfo(f"Etc/GMT{hours}")) for hours in ("-14", "+12"))


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("filesystem", "list_dir", "files/far.txt"),
        ("security", "propose_cleanup", "files/far.txt"),
        ("security", "find_duplicates", "files/far.txt"),
        ("email", "search_emails", "mail/cur/far:2,S"),
    ],
)
async def test_a_file_changed_after_the_year_9999_hides_no_other(
    tmp_path: Path, server: str, tool: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the disk can keep such a time or not: the server is told one."""
    far = tmp_path / name
    far.parent.mkdir(parents=True)
    for each in (far, far.with_name("near:2,S")):
        each.write_text("Subject: near\n\nWords\n")
    status = disk.status

    def changed(here: Spot) -> os.stat_result | None:
        info = status(here)
        if info is None or not here.name.startswith("far"):
            return info
        return os.stat_result(info[:10], {"st_mtime_ns": 10**21, "st_ctime_ns": info.st_ctime_ns})

    monkeypatch.setattr(disk, "status", changed)
    async with over(tmp_path, server) as said:
        told = await said(tool, **({} if server == "email" else {"path": "."}))
    assert "Error" not in told
    assert "far" in told or told.count('"message_id"') == 2 or '"files": 2' in told
