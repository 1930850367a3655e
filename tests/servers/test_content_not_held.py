"""What calls wait with for their turn in the sandbox is not in the memory of the bot: files are open, not read."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pyrage
import pytest

from servers.sandbox.calling import Job, Sandbox, Streamed, count
from tests.servers.test_data_query import data
from tests.servers.test_knowledge_tools import knowing
from tests.servers.test_security_tools import security

LARGE = 24 << 20  # bytes


@contextmanager
def holding_little() -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < LARGE / 2


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox("tests.servers")
    yield made
    made.stop()


@pytest.mark.slow
def test_a_file_goes_to_a_task_and_its_answer_to_another_file_piece_by_piece(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    content = os.urandom(LARGE)
    (tmp_path / "a").write_bytes(content)
    sandbox.call(Job("sandboxed.echo"))
    with (tmp_path / "a").open("rb") as file, tempfile.TemporaryFile() as made:
        with holding_little():
            result = sandbox.call(Job("sandboxed.echo", [Streamed(file.fileno(), LARGE), b"!"], into=made))
        made.seek(0)
        assert made.read() == content + b"!"
    assert (result.told["sizes"], result.data) == ([LARGE, 1], b"")


def test_a_file_that_was_cut_off_meanwhile_counts_as_stopped(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"short")
    with (tmp_path / "a").open("rb") as file:
        assert sandbox.call(Job("sandboxed.echo", [Streamed(file.fileno(), LARGE)])).stopped


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has it")
def test_a_disk_without_room_for_an_answer_is_said(sandbox: Sandbox) -> None:
    with suppress(OSError), open("/dev/full", "wb") as full:  # its end tries once more to write
        result = sandbox.call(Job("sandboxed.echo", [bytes(1 << 20)], into=full))
    assert (result.stopped, "disk for temporary files is full" in result.refused) == (True, True)


@pytest.mark.parametrize("found", [-1, 11, True, 1.0, "1", None])
def test_what_is_no_number_or_too_large_a_one_is_not_counted(found: object) -> None:
    assert [count(0, 10), count(10, 10)] == [0, 10]
    with pytest.raises(ValueError, match="no such number"):
        count(found, 10)


READS: dict[str, dict[str, object]] = {
    "search_documents": {"query": "x"},
    "ask_about_files": {"question": "x"},
    "get_related_chunks": {"chunk": "a.md#1"},
    "check_index": {"path": "."},
    "preview_index": {"call": {"path": "."}},
    "preview_update": {"call": {"path": "."}},
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", READS)
async def test_no_read_of_an_index_holds_it(tmp_path: Path, tool: str) -> None:
    """One person's five searches held 128 MB each while they waited, of a file that took no room on the disk."""
    index = tmp_path / ".countersign" / "knowledge" / "index.sqlite"
    index.parent.mkdir(parents=True)
    index.write_bytes(b"SQLite format 3\0")
    os.truncate(index, LARGE)
    async with knowing(tmp_path) as ask:
        await ask.refused(tool, **READS[tool])
        with holding_little():
            assert "cannot be read" in await ask.refused(tool, **READS[tool])


@pytest.mark.slow
async def test_no_change_of_an_index_holds_it_nor_the_texts(tmp_path: Path) -> None:
    """Two roots at once took 760 MB: the index before, all the texts and the index after, each twice."""
    for number in range(12):
        (tmp_path / f"{number}.txt").write_text(f"{number} lorem ipsum dolor\n" * (LARGE // 400))
    async with knowing(tmp_path) as ask:
        await ask("check_index", path=".")
        with holding_little():
            await ask("index_folder", path=".")
            (tmp_path / "0.txt").unlink()
            done = await ask("update_index", path=".")
            seen = await ask("preview_restore_index", record=done["record"])
            kept = {"expected_index": seen["expected_index"], "expected_record": seen["expected_record"]}
            await ask("restore_index", record=done["record"], **kept)
    assert (tmp_path / ".countersign" / "knowledge" / "index.sqlite").stat().st_size > LARGE / 2


@pytest.mark.slow
async def test_no_look_at_a_table_holds_its_rows(tmp_path: Path) -> None:
    """Of a file of 4 KB whose view gives 126 MB, they were held between two tasks."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute(
            "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 24) "
            "SELECT i, printf('%.*c', 1000000, 'x') AS x FROM n"
        )
    async with data(tmp_path) as ask:
        await ask("deduplicate_records", path="t.sqlite", table="v")
        with holding_little():
            await ask("deduplicate_records", path="t.sqlite", table="v")


@pytest.mark.slow
async def test_no_change_of_rows_holds_the_database_nor_the_record(tmp_path: Path) -> None:
    """From a database of 38 MB the bot grew to 709 MB: the file before and after, the record, and slices of both."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        base.execute("CREATE TABLE t(a, b, c, d, name, large)")
        base.execute("INSERT INTO t VALUES (1, 1, 1, 1, 'n', hex(zeroblob(?)))", [LARGE // 4])
        base.commit()
    changes = [{"table": "t", "op": "update", "where": {"a": 1}, "values": {"name": "m"}}]
    async with data(tmp_path) as ask:
        await ask("query_sqlite", path="t.sqlite", sql="SELECT 1")
        with holding_little():
            await ask("preview_write_sqlite", path="t.sqlite", changes=changes)
            done = await ask("write_sqlite", path="t.sqlite", changes=changes)
            await ask("check_rows", record=done["record"])
            seen = await ask("preview_restore_rows", record=done["record"])
            kept = {"expected": seen["expected"], "expected_record": seen["kept"]}
            await ask("restore_rows", record=done["record"], **kept)
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as base:
        assert base.execute("SELECT name, length(large) FROM t").fetchall() == [("n", LARGE // 2)]


@pytest.mark.slow
async def test_a_table_without_its_duplicates_is_not_held(tmp_path: Path) -> None:
    lines = [f"{number},{'x' * 100_000}" for number in range(LARGE // 100_000)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *lines, lines[0], ""]))
    async with data(tmp_path) as ask:
        await ask("deduplicate_records", path="t.csv")
        with holding_little():
            await ask("write_without_duplicates", source="t.csv", destination="u.csv")
    assert (tmp_path / "u.csv").read_text() == "\n".join(["a,b", *lines, ""])


@pytest.mark.slow
async def test_no_file_is_held_to_be_encrypted_or_decrypted(tmp_path: Path) -> None:
    """One of 127 MB took 270 MB, and held up all other threads for 0.3 s."""
    content = os.urandom(LARGE)
    (tmp_path / "a.bin").write_bytes(content)
    async with security(tmp_path) as ask:
        await ask("find_duplicates", path=".")
        with holding_little():
            await ask("encrypt_file", path="a.bin")
            await ask("decrypt_file", path="a.bin.age", destination="b.bin")
    assert (tmp_path / "b.bin").read_bytes() == content


@pytest.mark.slow
async def test_a_look_at_an_encrypted_file_holds_neither_it_nor_what_is_in_it(tmp_path: Path) -> None:
    async with security(tmp_path, a_txt="x") as ask:
        await ask("encrypt_file", path="a.txt")
        mine = pyrage.x25519.Recipient.from_str((await ask("show_recipient"))["recipient"])
        (tmp_path / "large.age").write_bytes(pyrage.encrypt(bytes(LARGE), [mine]))
        with holding_little():
            seen = await ask("preview_decrypt", call={"path": "large.age"})
    assert seen["items"][1]["size"] == LARGE
