"""Diffs of previews: what they say is exact, and a hostile text takes no longer than another."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from difflib import SequenceMatcher
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.rules import diffs
from tests.cpu_time import within

WORDS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n", "e\n", "f"]), max_size=60)


def applied(diff: str, before: list[str]) -> list[str]:
    """What a text becomes by a unified diff, hunk by hunk; what it takes away must be there."""
    made, at = list[str](), 0
    lines = diff.replace("\n\\ No newline at end of file\n", "§").splitlines(keepends=True)
    lines = [part for line in lines for part in re.split(r"(?<=§)", line) if part]
    for line in lines[2:]:
        text = line[1:].removesuffix("§") if line.endswith("§") else line[1:]
        if line.startswith("@@"):
            found = re.match(r"@@ -(\d+)(?:,(\d+))? ", line)
            assert found
            start = int(found[1]) - (found[2] != "0")
            made, at = made + before[at:start], start
            continue
        if line[0] in " -":
            assert before[at] == text
            at += 1
        if line[0] in " +":
            made.append(text)
    return made + before[at:]


@given(WORDS, WORDS)
def test_the_quick_diff_of_two_texts_is_right(one: list[str], other: list[str]) -> None:
    before, after = "".join(one).splitlines(keepends=True), "".join(other).splitlines(keepends=True)
    told = "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        for line in diffs._printed(before, after, "x", "y")
    )
    assert applied(told, before) == after


def test_two_changes_far_apart_in_a_long_text_are_shown_alone() -> None:
    lines = [f"line {n}\n" for n in range(5000)]
    changed = ["first\n", *lines[1:-1], "last\n"]
    told = diffs.unified("".join(lines), "".join(changed), "notes.md")
    assert told.count("\n") < 25
    assert applied(told, lines) == changed


def test_a_hostile_pair_of_texts_takes_no_more_time_than_their_length() -> None:
    rng = random.Random(7)
    common = [f"{n}\n" for n in range(100)]
    before, after = ("".join(rng.choice(common) for _ in range(20_000)) for _ in range(2))
    with within(1):  # difflib's own: minutes
        assert diffs.unified(before, after, "x")


def test_of_very_many_gaps_only_some_are_looked_through() -> None:
    """Two texts of 64 kB with a gap of two lines after each line that both have."""
    names = [f"{n:x}\n" for n in range(8_000)]
    before, after = ("".join(name + gap for name in names) for gap in ("x\nq\n", "q\nx\n"))
    with patch.object(diffs, "SequenceMatcher", wraps=SequenceMatcher) as matched:
        told = diffs.unified(before, after, "x")
    assert matched.call_count < 1_000
    assert applied(told, before.splitlines(keepends=True)) == after.splitlines(keepends=True)


@given(WORDS, WORDS)
def test_the_edges_of_a_large_gap_are_equal_and_as_long_as_they_can_be(
    one: list[str], other: list[str]
) -> None:
    blocks = list(diffs._edges(one, other, (5, 7)))
    assert all(one[i - 5 : i - 5 + size] == other[j - 7 : j - 7 + size] for i, j, size in blocks)
    assert sum(size for _, _, size in blocks) <= min(len(one), len(other))
    if one and other and one[0] == other[0]:
        assert blocks[0][:2] == (5, 7)
    if one and other and one[-1] == other[-1]:
        i, j, size = blocks[-1]
        assert i + size == 5 + len(one) or j + size == 7 + len(other)


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("Staged changes:\ndiff --git a/.env b/.env\n+++ b/.env\n@@ -0,0 +1 @@\n+A=1\n", [".env"]),
        ("diff --git a/my x/.env b/my x/.env\n--- a/my x/.env\t\n+++ b/my x/.env\t\n", ["my x/.env"]),
        ("diff --git i/a.md w/a.md\n", ["a.md"]),
        ("diff --git .env .env\n", [".env"]),
        ("diff --cc .env\nindex 1,2..3\n", [".env"]),
        ("diff --git a/x b/.env\nrename from x\nrename to .env\n", ["x", ".env"]),
        ('diff --git "a/\\303\\251.pem" "b/\\303\\251.pem"\n', ["é.pem"]),
        ('diff --git "a/a\\"\\t\\9" b/x\n', ['a"\t9', "x"]),
        ("\x1b[1mdiff --git a/.env b/.env\x1b[m\n", [".env"]),
        ("Message: x\n--- None\n+++ .env\n\n@@ -0,0 +1 @@\n", ["None", ".env"]),
        ("--- /dev/null\n+++ b/.env\n", [".env"]),
        ("+diff --git a/x b/x\n---- a/.env\n+++ b\n the diff --git of a/.env\n", []),
        ("", []),
    ],
)
def test_the_files_of_a_difference_of_git_are_known_however_git_writes_them(
    text: str, files: list[str]
) -> None:
    found = diffs.differing_files(text)
    assert set(files) <= set(found)
    assert files or not found


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('[{"filename": "a", "patch": "+x", "previous_filename": "b"}]', ("a", "b")),
        (' {"files": [{"filename": "a", "patch": "+x"}, {"filename": "b", "patch": ""}]}', ("a",)),
        ('{"path": "a", "items": [{"path": "c", "content": "x"}, {"path": ["b"], "content": ""}]}', ("c",)),
        (
            '{"a.md": {"filename": "a.md", "content": "x"}, "b": {"path": "a.md", "diff_hunk": "x"}}',
            ("a.md",),
        ),
        ('{"body": "{\\"path\\": \\"a\\", \\"patch\\": \\"x\\"}"}', ()),
        ('+{"path": "a", "content": "x"}', ()),
        ("", ()),
    ],
)
def test_the_files_are_known_whose_content_an_answer_of_json_gives(text: str, files: tuple[str, ...]) -> None:
    assert diffs.excerpted_files(text) == files


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [{"text_matches": [{"fragment": "x", "property": "content"}]}]}',
        '[{"path": ["b"], "content": "x"}]',
        '{"files": [{"path": "a", "patch": "x"}, {"patch": "y"}]}',
    ],
)
def test_content_without_a_name_beside_it_is_of_a_file_that_nobody_knows(text: str) -> None:
    """GitHub's `search_code` gives the fields that it is asked for: `fields: ["text_matches"]`."""
    with pytest.raises(ValueError, match="without the name"):
        diffs.excerpted_files(text)


@pytest.mark.parametrize("text", ['[{"path": "a', "{", '{"path": "a"} {"path": "b"}', "[" * 200_000])
def test_json_that_is_cut_off_or_broken_names_no_files(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        diffs.excerpted_files(text)


def test_a_difference_of_very_many_lines_is_looked_through_in_no_time() -> None:
    for line in (
        "--- a\n+++ b\n",
        'diff --git "' + "\\a" * 100 + "\n",
        "diff --git " + "a " * 200 + "\n",
        "\x1b[" * 9 + "\n",
        "diff --git " + '"' + '\\"' * 120_000,
        "diff --git " + ' "' * 120_000,
    ):
        with within(1):
            diffs.differing_files(line * (256 * 1024 // len(line)))
        with within(1), suppress(ValueError):
            diffs.patched_files("x\n" + line * (256 * 1024 // len(line)))


HEAD = f"commit {'7f' * 20}\nAuthor: Ann <ann@example.com>\n\n    Raise\n    --- a/hr\n"
CHANGED = "\n--- a/ok.md\n+++ b/ok.md\n@@ -1,3 +1,2 @@ def x\n one\n--- a/hr/x\n-two\n+++ b/three\n\\ No newline at end of file\n"


@pytest.mark.parametrize(
    "headers",
    [
        "--- a/hr/pay\nroll.md\n+++ b/hr/pay\nroll.md\n@@ -1 +1 @@\n-one\n+Ann 98000\n",
        "--- a/hr/pay\nroll.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-Ann 98000\n",
        "--- /dev/null\n+++ b/x\n@@ -1,2 +1 @@\n\n--- a/hr/pay\nroll.md\n+++ b/hr/pay\nroll.md\n",
        "--- /dev/null\n+++ b/x\n@@ -1,9 +1,9 @@\n@@ -0,0 +1 @@\n+x\n\n--- a/hr/pay\nroll.md\n+++ b/hr/pay\nroll.md\n",
    ],
)
def test_a_commit_with_a_line_break_in_the_name_of_a_file_names_no_files(headers: str) -> None:
    for before in ("", CHANGED):
        with pytest.raises(ValueError, match="line break"):
            diffs.shown_files("HEAD^{/fix: it}", f"{HEAD}{before}\n{headers}")


def test_a_line_of_a_file_that_reads_as_a_header_is_none() -> None:
    renamed = "\n--- a/old.md\n+++ b/new.md\n"
    assert diffs.shown_files("HEAD", HEAD + CHANGED + renamed + CHANGED) == (
        "ok.md",
        "old.md",
        "new.md",
    )


@pytest.mark.parametrize("target", ["aside..other", "aside...other", f"{'7f' * 20}..other", "other"])
def test_a_difference_whose_headers_are_no_names_of_files_tells_of_none(target: str) -> None:
    one = target.split("..")[0]
    told = f"diff --git a/{one} b/other\nindex 1..2 100644\n--- a/{one}\n+++ b/other\n@@ -1 +1 @@\n-x\n+y\n"
    with pytest.raises(ValueError, match="names no file"):
        diffs.compared_files(target, told)
    assert diffs.compared_files("HEAD~1", "--- a/a.md\n+++ b/a.md\n") == ("a.md",)


OURS = (
    "diff --git a/a.md b/a.md\nindex 1..2 100644\n--- a/a.md\n+++ b/a.md\n@@ -1,3 +1,3 @@ def x\n one\n \n-two\n+three\n"
    "\\ No newline at end of file\n"
)
MERGED = (
    "diff --cc b.md\nindex 1,2..3\n--- a/b.md\n+++ b/b.md\n@@@ -1,1 -1,1 +1,5 @@@\n++<<<<<<< HEAD\n +two\n++=======\n"
    "+ three\n++>>>>>>> other\n"
)
REST = (
    "* Unmerged path b.md\ndiff --git a/x b/y\nold mode 100644\nnew mode 100755\nsimilarity index 100%\nrename from x\n"
    "rename to y\nBinary files a/x and b/y differ\n"
)


def test_a_difference_that_git_wrote_itself_names_its_files() -> None:
    for below in (OURS, MERGED, REST, OURS + MERGED + REST, MERGED + OURS, ""):
        told = f"Unstaged changes:\n{below}"
        assert diffs.patched_files(told) == diffs.differing_files(told)


@pytest.mark.parametrize(
    "line", ["hr/pay.md --- Text", "1 Ann 98000", " Ann 98000", "-Ann", "Submodule hr 1..2:"]
)
def test_a_difference_with_a_line_of_another_program_names_none(line: str) -> None:
    for told in (f"{line}\n{OURS}", f"{OURS}{line}\n", f"{MERGED}{line}\n", f"{OURS}{line}\n{OURS}", line):
        with pytest.raises(ValueError, match="not written all of it"):
            diffs.patched_files(f"Unstaged changes:\n{told}")


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\r"])
def test_a_line_ends_at_a_newline_and_nowhere_else(sign: str) -> None:
    diff = diffs.unified(f"one{sign}two\nthree", f"one{sign}two\nfour", "a.txt")
    assert diff.split("\n")[2:] == [
        "@@ -1,2 +1,2 @@",
        f" one{sign}two",
        *("-three", "\\ No newline at end of file"),
        *("+four", "\\ No newline at end of file", ""),
    ]
