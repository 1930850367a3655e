"""A call of a server in this process that nobody waits for any more: its reads end, its changes come to their end."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from anyio import from_thread, to_thread
from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk, file_ops, trash
from servers.filesystem.paths import Roots
from servers.filesystem.tools import Tools
from servers.knowledge import indexing
from tests.cpu_time import within
from tests.servers.files import files, sample, sha, tree

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
GIGABYTE = 1 << 30


async def came_to_its_end(call: Callable[[], object], at_once: bool = True) -> bool:
    """Whether a call in a thread comes to its end that is given up, `at_once` or by itself."""
    ended = list[bool]()

    def thread() -> None:
        if at_once:
            from_thread.run_sync(scope.cancel)
        call()
        ended.append(True)

    with anyio.CancelScope() as scope:
        await to_thread.run_sync(thread)
    return bool(ended)


READS: dict[str, Callable[[Tools], object]] = {
    "get_metadata": lambda tools: tools.get_metadata("notes.md"),
    "read_file": lambda tools: tools.read_file("notes.md"),
    "list_dir": lambda tools: tools.list_dir(".", recursive=True),
    "search_files": lambda tools: tools.search_files(".", "*", "two"),
    "describe_paths": lambda tools: tools.describe_paths(["notes.md", "reports/q3.md"]),
    "describe_paths, whole": lambda tools: tools.describe_paths(["reports"], whole_folders=True),
    "describe_paths, to delete": lambda tools: tools.describe_paths(["reports"], to_delete=True),
    "preview_transfer": lambda tools: tools.preview_transfer("reports", "archive"),
    "preview_write": lambda tools: tools.preview_write("notes.md"),
    "a name that others may look like": lambda tools: tools.preview_write("nötes.md"),
}


@pytest.mark.parametrize("read", READS)
async def test_a_read_that_was_given_up_ends(tmp_path: Path, read: str) -> None:
    tools = Tools(Roots.at([sample(tmp_path)]), lambda: AT, folders=True)
    assert not await came_to_its_end(lambda: READS[read](tools))
    assert await came_to_its_end(lambda: READS[read](tools), at_once=False)


async def test_a_change_that_was_given_up_before_it_began_changes_nothing(tmp_path: Path) -> None:
    root = sample(tmp_path)
    tools, before = Tools(Roots.at([root]), lambda: AT, folders=True), tree(root)
    changes: list[Callable[[], object]] = [
        lambda: tools.delete_file("reports"),
        lambda: tools.move_file("notes.md", "archive"),
        lambda: tools.copy_file("notes.md", "archive"),
        lambda: tools.write_file("notes.md", "new"),
    ]
    for change in changes:
        assert not await came_to_its_end(change)
    assert tree(root) == before


async def test_a_change_that_was_given_up_after_it_began_comes_to_its_end(tmp_path: Path) -> None:
    root = sample(tmp_path)
    place = Roots.at([root]).find("notes.md")

    def change() -> None:
        with file_ops.alone(place.root):
            from_thread.run_sync(scope.cancel)
            file_ops.exchange(place, lambda file: disk.write_all(file, b"new"), None, AT)
        file_ops.delete([place], None, AT)  # a second one of the same call, as when a sent draft is filed

    with anyio.CancelScope() as scope:
        await to_thread.run_sync(change)
    assert not (root / "notes.md").exists()
    kept = [manifest.reason for manifest in trash.entries(place.root, trash.Budget())]
    assert sorted(kept) == ["deleted", "replaced"]


async def test_a_read_after_a_change_in_the_same_thread_is_given_up_again(tmp_path: Path) -> None:
    tools = Tools(Roots.at([sample(tmp_path)]), lambda: AT)
    file_ops.alone(tools.roots.roots[0]).__enter__()
    assert await came_to_its_end(lambda: tools.write_file("notes.md", "new"), at_once=False)
    assert not await came_to_its_end(lambda: tools.get_metadata("notes.md"))


async def test_the_files_of_one_description_are_hashed_up_to_1_gb_in_all(tmp_path: Path) -> None:
    root = sample(tmp_path)
    with (root / "large").open("wb") as large:
        large.truncate(GIGABYTE)
    async with files(root) as ask:
        told = await ask("describe_paths", paths=["notes.md", "large", "reports/q3.md"])
    assert told["expected"] == {
        "notes.md": sha("one\ntwo\n"),
        "large": "file",
        "reports/q3.md": sha("Q3\n"),
    }


def test_files_of_more_than_1_gb_are_not_hashed_before_their_delete_is_refused(tmp_path: Path) -> None:
    tools = Tools(Roots.at([sample(tmp_path)]), lambda: AT)
    names = sparse(tmp_path / "sample", GIGABYTE // 2, ".bin")
    calls: list[Callable[[], object]] = [
        lambda: tools.describe_paths(names, to_delete=True),
        lambda: tools.delete_file(names),
    ]
    with within(1):
        for call in calls:
            with pytest.raises(ToolError, match="These hold more than 1 GB in all"):
                call()


def test_files_that_are_too_large_for_an_index_are_not_hashed(tmp_path: Path) -> None:
    sparse(tmp_path, GIGABYTE, ".pdf")
    place = (roots := Roots.at([tmp_path])).find(".")
    with within(1):
        change = indexing.difference(indexing.Known({}), roots, [(place, True)])
    assert [one.partition(" ")[2] for one in change.skipped] == ["(larger than 20 MB)"] * 10


def sparse(folder: Path, size: int, ending: str) -> list[str]:
    """Ten files that take no room on the disk."""
    names = [f"{number}{ending}" for number in range(10)]
    for name in names:
        with (folder / name).open("wb") as file:
            file.truncate(size)
    return names
