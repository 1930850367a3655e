"""Scans measured on labelled texts, and led on by a cursor until nothing is left."""

from __future__ import annotations

import random
import string
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.detection import credentials as credential_rules
from servers.detection.credentials import credentials, invented, to_hide
from servers.detection.hits import OVERLAP, PIECE, Hit, hits
from servers.detection.personal import personal
from servers.filesystem import listing
from servers.filesystem.paths import Roots
from servers.sandbox import calling
from servers.sandbox.calling import Job, Limits, Result
from servers.sandbox.portions import Portions
from servers.security import scan, tasks
from servers.security.models import Scan
from tests.servers import credential_texts, papers, people
from tests.servers.figures import FIGURES, told
from tests.servers.test_security_tools import FOUND_SECRET, security

SECRET = "ghp_Q3vXw9Lk2TzB7rYp5NcJ8mHs4DfG6aE1uRtV"  # made up


def test_personal_data_is_found_and_little_else() -> None:
    wanted = found = right = wrong = 0
    for one in people.corpus():
        at, spans = 0, []
        for value in one.values:
            at = one.text.index(value, at) + len(value)
            spans.append((at - len(value), at))
        seen = list(hits(one.text, personal))
        wanted += len(spans)
        found += sum(any(hit.start < b and a < hit.end for hit in seen) for a, b in spans)
        right += sum(any(hit.start < b and a < hit.end for a, b in spans) for hit in seen)
        wrong += sum(not any(hit.start < b and a < hit.end for a, b in spans) for hit in seen)
    recall, precision = found / wanted, right / (right + wrong)
    assert min(recall, precision) >= 0.99
    assert told("security.scan_for_pii") == "recall ≥ 99 %, precision ≥ 99 %"


def test_secrets_are_found_in_the_places_where_people_leave_them_and_little_else() -> None:
    texts = credential_texts.corpus()
    secrets, harmless = [one for one in texts if one.secret], [one for one in texts if not one.secret]
    missed = [one.name for one in secrets if not _seen(one)]
    wrong = [one.name for one in harmless if any(True for _ in hits(one.text, credentials))]
    assert len(missed) / len(secrets) <= 0.05, missed
    assert len(wrong) / len(harmless) <= 0.03, wrong
    assert min(len(secrets), len(harmless)) >= 150
    what, figure = FIGURES["security.scan_for_secrets"]
    assert figure == "recall ≥ 95 %, false positives ≤ 3 %"
    assert f"{len(secrets)} texts with secrets and {len(harmless)} without" in what


def _seen(one: credential_texts.Labelled) -> bool:
    start = one.text.index(one.secret)
    return any(hit.start < start + len(one.secret) and start < hit.end for hit in hits(one.text, credentials))


def test_passwords_in_the_files_of_programs_are_found_by_their_form() -> None:
    word, salted, long = (
        "Tq7vLm2xRw9Z",
        "Kx8/fP2.qLw7RzT5vYm3Nb",
        "Zr4Wq8Lm2Xc9Vb3Nk7Pw4Hd6Js1Fg0Ty2Ue8Rt5Ya6Bn3Km1Lp7Qd",
    )
    found = {
        f"db.corp.de:5432:shop:bob:{word}\n": word,
        f"*:*:*:bob:{word}\n": word,
        f"bob:$apr1$k3Pz/a1${salted}\n": f"apr1$k3Pz/a1${salted}",
        f"ann:$2y$10${long[:53]}\n": f"2y$10${long[:53]}",
        "ann:{SHA}" + f"{long[:27]}=\n": f"{long[:27]}=",
        f'$p = ConvertTo-SecureString "{word}" -AsPlainText -Force\n': word,
        f"ConvertTo-SecureString -AsPlainText -String '{word}' -Force\n": word,
    }
    for text, secret in found.items():
        assert [text[hit.start : hit.end] for hit in hits(text, credentials)] == [secret], text
    for text in (
        "10:15:5432:ready\n",
        "see a.py:5432: in f: it fails\n",
        "$p = ConvertTo-SecureString $plain -AsPlainText -Force\n",
        'ConvertTo-SecureString "<your-password>" -AsPlainText\n',
        "bob:$apr1$short\n",
    ):
        assert not list(hits(text, credentials)), text


def test_a_key_that_may_be_public_is_likely_and_one_that_never_is_is_certain() -> None:
    made = credential_texts.KNOWN
    r = random.Random(3)
    for name, sure in (("google", "likely"), ("github", "certain"), ("aws", "certain")):
        text = "".join(
            part if isinstance(part, str) else credential_texts.signs(r, *part) for part in made[name]
        )
        assert [hit.sure for hit in hits(text, credentials)] == [sure], name


@pytest.mark.parametrize(
    "line",
    [
        'SNYK_TOKEN ?= "12345678-ABCD-ABCD-ABCD-1234567890AB"',
        'const HEROKU_KEY = "12345678-ABCD-ABCD-ABCD-1234567890AB"',
        'SONAR.LOGIN ::= "12345678ABCDEFH1234567890ABCDEFH12345678"',
    ],
)
def test_a_key_that_counts_up_is_told_as_a_placeholder_perhaps(line: str) -> None:
    [hit] = hits(line, credentials)
    assert (hit.kind, hit.sure) == ("key of a provider (likely a placeholder)", "perhaps")


@pytest.mark.parametrize(
    "line",
    [
        'const KEY_SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"',
        'SNYK_TOKEN = "your-token-12345678-abcd-1234567890ab"',
    ],
)
def test_an_alphabet_and_a_key_that_says_it_is_none_are_not_told(line: str) -> None:
    assert [*hits(line, credentials)] == []


def test_an_example_that_google_publishes_is_not_told_and_another_key_of_its_form_is() -> None:
    rest = credential_texts.signs(random.Random(4), string.ascii_letters + string.digits, 27)
    assert [*hits(f'key: "AIzaSyAnLA7N{rest}"', credentials)] == []
    assert [hit.kind for hit in hits(f'key: "AIzaSyAnLA7M{rest}"', credentials)] == ["google api key"]


async def test_a_placeholder_is_no_reason_to_encrypt_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.env").write_text('SNYK_TOKEN="12345678-ABCD-ABCD-ABCD-1234567890AB"\n')
    async with security(tmp_path) as ask:
        scan = await ask("scan_for_secrets", path=".")
        cleanup = await ask("propose_cleanup", path=".")
    assert [one["sure"] for one in scan["findings"]] == ["perhaps"]
    assert cleanup["proposals"] == []


@pytest.mark.slow
def test_hardly_any_text_made_by_chance_is_taken_for_an_invented_one() -> None:
    r = random.Random(5)
    for signs in (credential_texts.HEX, credential_texts.ALL, credential_texts.B64):
        made = [credential_texts.signs(r, signs, 32) for _ in range(20_000)]
        assert sum(map(invented, made)) <= 2


def test_what_stands_where_two_pieces_meet_is_found_once() -> None:
    line = "write to ann@example.org\n"
    for before in (PIECE - 10, PIECE - OVERLAP - 5, PIECE - OVERLAP - 14, 3 * PIECE):
        text = "ü" + "." * (before - 2) + "\n" + line
        assert [text[hit.start : hit.end] for hit in hits(text, personal)] == ["ann@example.org"]


@pytest.mark.parametrize("text", ["password=example ", "AKIAIOSFODNN7EXAMPLE ", "pwd: Zq8#mW2v!k "])
def test_a_text_made_of_what_looks_secret_is_hidden_unseen_from_some_place_on(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at, of_one = list[Any](), credential_rules._span
    monkeypatch.setattr(credential_rules, "_span", lambda match: looked_at.append(match) or of_one(match))
    made = f"Müller says: {text * 240} key {SECRET} the end"
    found = list(hits(made, to_hide))
    assert len(looked_at) < 60
    assert found[0].start >= len("Müller says: ")
    assert found[-1].end == len(made)
    assert made.index(SECRET) > found[-1].start > 300
    assert [one.end <= other.start for one, other in pairwise(found)] == [True] * (len(found) - 1)
    before = f"key {SECRET} is ours. {made}"
    assert any(before.startswith(SECRET, hit.start) for hit in hits(before, to_hide))


def test_a_secret_that_two_rules_see_in_part_is_hidden_whole() -> None:
    found = [Hit(0, 4, "a", "likely", "-"), Hit(2, 9, "b", "certain", "a…"), Hit(9, 12, "c", "likely", "-")]
    joined = list(credential_rules._apart(b"abcdefghijkl", found))
    assert [(hit.start, hit.end, hit.shown) for hit in joined] == [
        (0, 9, "••• (9 characters)"),
        (9, 12, "-"),
    ]


@pytest.mark.slow
async def test_a_scan_of_many_files_goes_on_where_it_stopped(tmp_path: Path) -> None:
    secret = FOUND_SECRET[3][0]
    for n in range(30):
        (tmp_path / f"d{n % 3}").mkdir(exist_ok=True)
        (tmp_path / f"d{n % 3}" / f"f{n:02}.env").write_text(f"A={secret}\n" * (200 if n % 2 else 1))
    seen: list[tuple[str, int]] = []
    async with security(tmp_path) as ask:
        cursor, calls = "", 0
        while cursor or not calls:
            found = await ask("scan_for_secrets", path=".", cursor=cursor)
            seen += [(one["path"], one["line"]) for one in found["findings"]]
            cursor, calls = found["next_cursor"], calls + 1
            assert bool(cursor) == found["truncated"] == ("ask for the rest" in found["note"])
        assert "no cursor" in await ask.refused("scan_for_secrets", path=".", cursor="x")
    assert calls > 1
    assert len(seen) == len(set(seen)) == 15 * 200 + 15


async def test_patterns_are_tried_in_a_process_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a thread of the bot they would hold up whoever clicks: the click took twice as long."""
    monkeypatch.setattr(tasks, "FINDERS", {})
    monkeypatch.setattr(scan, "MOST_AT_ONCE", 2)
    files = {f"f{n}_txt": b"ann@example.org" if n % 2 else b"\0\1\2" for n in range(7)}
    async with security(tmp_path, **files) as ask:
        found = await ask("scan_for_pii", path=".")
    assert [one["path"] for one in found["findings"]] == ["f1.txt", "f3.txt", "f5.txt"]
    assert found["skipped"] == [f"f{n}.txt is not text" for n in (0, 2, 4, 6)]
    assert found["files"] == 3


@pytest.mark.slow
async def test_a_file_that_cannot_be_looked_through_in_time_hides_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "LIMITS", Limits(seconds=1))
    (tmp_path / "b.txt").write_bytes(b"1234567812345670 +49 30 1234567 " * (7 << 15))
    async with security(tmp_path, a_txt=b"ann@example.org", c_txt=b"bob@example.org") as ask:
        found = await ask("scan_for_pii", path=".")
    assert [one["path"] for one in found["findings"]] == ["a.txt", "c.txt"]
    assert found["skipped"] == [f"b.txt {calling.TOO_MUCH}"]


class SlowDocuments:
    """A sandbox that needs half a minute for each document, and stops it then; the rest is done in this process."""

    def __init__(self) -> None:
        self.time = 0.0

    def clock(self) -> float:
        return self.time

    def call(self, job: Job) -> Result:
        if job.task == "formats.text":
            self.time += 30
            return calling.STOPPED
        return Result(*tasks.find(*job.blobs, **job.args))  # type: ignore[arg-type]


def scanned(root: Path, path: str = ".", cursor: str = "", **files: str) -> Scan:
    """A scan in this thread."""
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    return scan.scan_files(Roots.at([root]), path, "personal", cursor)


def test_a_document_that_takes_all_the_time_does_not_keep_a_scan_from_what_is_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor named the document, and each further call stopped at it again."""
    sandbox = SlowDocuments()
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    monkeypatch.setattr(listing, "Budget", partial(listing.Budget, clock=sandbox.clock))
    first = scanned(tmp_path, a_txt="ann@example.org", b_pdf="x", c_txt="bob@example.org")
    assert [one.path for one in first.findings] == ["a.txt"]
    assert first.truncated
    assert first.skipped == ["b.pdf is broken, or takes too long to open beside others. Name it alone"]
    second = scanned(tmp_path, cursor=first.next_cursor)
    assert [one.path for one in second.findings] == ["c.txt"]
    assert (second.truncated, second.skipped) == (False, [])
    with pytest.raises(ToolError, match="no cursor"):
        scanned(tmp_path, "a.txt", first.next_cursor)


def test_a_scan_goes_on_with_the_first_file_that_was_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files of a call that was not made in time were called broken, and passed by."""
    monkeypatch.setattr(tasks, "TOGETHER", 0.0)
    monkeypatch.setattr(calling, "SANDBOX", SlowDocuments())
    monkeypatch.setattr(scan, "Portions", lambda job, most, _: Portions(job, most, 0.0))
    files = {f"{name}_txt": f"{name}@example.org" for name in "abc"}
    seen, cursor = list[str](), ""
    for left in (True, True, False):
        found = scanned(tmp_path, cursor=cursor, **files)
        seen += [one.path for one in found.findings]
        cursor = found.next_cursor
        assert (bool(cursor), found.truncated, found.skipped) == (left, left, [])
    assert seen == ["a.txt", "b.txt", "c.txt"]


def test_of_a_text_that_takes_long_the_first_findings_are_told_beside_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "BESIDE", 0.2)
    slow = b"ann@example.org\n" + b"1234567812345670 +49 30 1234567 " * (1 << 15)
    told, _ = tasks.find(slow, b"bob@example.org", finder="personal", most=10_000)
    assert told["found"][1][0][0] == 1
    assert told["partly"] == [tasks.SLOW, ""]
    assert told["through"] == 2


def test_a_scan_that_gets_no_turn_says_so_and_calls_no_file_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Result(refused=calling.BUSY, stopped=True, begun=False)
    monkeypatch.setattr(SlowDocuments, "call", lambda *_: busy)
    monkeypatch.setattr(calling, "SANDBOX", SlowDocuments())
    found = scanned(tmp_path, a_txt="ann@example.org", b_txt="bob@example.org")
    assert (found.skipped, found.truncated) == ([], True)
    assert "The next file was not opened: too many files are being read just now." in found.note
    with pytest.raises(ToolError, match=r"a\.txt was not opened: too many files"):
        scanned(tmp_path, "a.txt")


async def test_files_that_cannot_be_looked_into_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    files = {f"f{n:03}_bin": b"\0\1\2" for n in range(230)}
    async with security(tmp_path, **files) as ask:
        found = await ask("scan_for_pii", path=".")
    assert "230 files could not be looked into: f000.bin is not text; f001.bin" in found["note"]
    assert "and 227 more" in found["note"]
    assert found["named"] == [f"f{n:03}.bin" for n in range(50)]
    assert found["skipped"] == [f"{name} is not text" for name in found["named"]]


@pytest.mark.parametrize("tool", ["find_duplicates", "propose_cleanup"])
async def test_a_walk_over_too_many_long_names_stops_and_says_so(
    tmp_path: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50,000 names of 4,000 characters, which all were kept, took 1.3 GB."""
    monkeypatch.setattr(listing, "Budget", partial(listing.Budget, characters=100))
    files = {f"{n:020}_txt": "same" for n in range(9)}
    async with security(tmp_path, **files) as ask:
        found = await ask(tool, path=".")
    assert found["files"] == 4
    assert found["truncated"]
    assert "too many long names" in found["note"]


async def test_a_workbook_and_a_pdf_in_a_folder_are_opened(tmp_path: Path) -> None:
    files = {
        "a_pdf": papers.pdf("IBAN DE89 3704 0044 0532 0130 00"),
        "b_xlsx": papers.xlsx([["mail"], ["bob@example.org"]]),
    }
    async with security(tmp_path, **files) as ask:
        found = await ask("scan_for_pii", path=".")
    assert found["kinds"] == {"bank account (IBAN)": 1, "email": 1}
    assert not found["skipped"]
