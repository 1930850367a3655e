"""Looking after files: what is found is masked, what is proposed is not done, and no key leaves its file."""

from __future__ import annotations

import logging
import os
import stat
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyrage
import pytest
from mcp import Client, StdioServerParameters

from gate.actions.preview import make_preview
from gate.rules.action import CallClass, Verdict
from gate.rules.policy import Rule
from servers.detection.credentials import credentials
from servers.detection.hits import hits
from servers.detection.personal import personal
from servers.security import configured, server
from servers.security.tools import Keys
from tests.cpu_time import within
from tests.servers import papers
from tests.servers.files import Ask, Clock, Mode, tree
from tests.servers.gate_around_server import check_cards, gated
from tests.servers.test_closed_calendars import Asker
from views.preview import unsaid

CLASSES = dict.fromkeys(
    "scan_for_pii scan_for_secrets find_duplicates propose_cleanup show_recipient preview_encrypt preview_decrypt "
    "get_metadata describe_paths preview_restore".split(),
    "read",
) | {"encrypt_file": "write", "decrypt_file": "write", "restore_file": "write", "delete_file": "destructive"}


def everything(root: Path) -> list[bytes]:
    """The bytes of all files below, with those of the server's own folder."""
    return [path.read_bytes() for path in root.rglob("*") if path.is_file()]


def key_beside(root: Path) -> Keys:
    """A key outside of the folder, in one of its own."""
    return Keys(root.parent / f"{root.name} of the operator" / "keys" / "identity.txt")


@asynccontextmanager
async def security(root: Path, mode: Mode = "auto", **files: str | bytes) -> AsyncIterator[Ask]:
    for name, data in files.items():
        (root / name.replace("_", ".")).write_bytes(data.encode() if isinstance(data, str) else data)
    async with Client(
        server([root], Clock(), key_beside(root)), mode=mode, read_timeout_seconds=90
    ) as client:
        yield Ask(client)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Mode) -> None:
    async with security(tmp_path, mode) as ask:
        check_cards((await ask.client.list_tools()).tools, CLASSES)


def fake(*parts: str) -> str:
    """A secret put together here, so that no scanner takes this file for one that holds it."""
    return "".join(parts)


FOUND_PERSONAL = [
    ("write to ann.lee+x@mail.example.org now", "email", "a•••@mail.example.org"),
    ("card 4111 1111 1111 1111 ok", "payment card", "••••••••••••1111"),
    ("card 5500-0055-5555-5559", "payment card", "••••••••••••5559"),
    ("IBAN DE89 3704 0044 0532 0130 00.", "bank account (IBAN)", "••••••••••••••••••3000"),
    ("GB29NWBK60161331926819", "bank account (IBAN)", "••••••••••••••••••6819"),
    ("ssn 123-45-6789", "social security number (US)", "•••••6789"),
    ("call +49 (0)30 901820-12", "phone number", "•••••••••2012"),
    ("call (415) 555-0132 today", "phone number", "••••••0132"),
    ("born: 1980-02-03", "date of birth", "••• (10 characters)"),
    ("from 203.0.113.9", "network address", "203.0.113.•••"),
]
FOUND_SECRET = [
    (fake("-----BEGIN RSA PRIVATE", " KEY-----\n", "MIIEpAIBAAKCAQEA" * 6, "\n-----END RSA PRIVATE", " KEY-----"), "private key"),
    (fake("AGE-SECRET-KEY-", "1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8GF2TVDW0S3JN54KHCE"), "age key"),
    (fake("key AKIA", "QYLPMN5HFIQR7XYA"), "aws access key"),
    (fake("ghp_", "wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx"), "github token"),
    (fake("glpat-", "a1B2c3D4e5F6g7H8i9J0"), "gitlab token"),
    (fake("xoxb-", "781236542736-2364535789652-GkwFDQoHqzXDVsC6GzqYUypD"), "slack token"),
    (fake("https://hooks.slack", ".com/services/T0DCUJB1Q/B0DD08H5G/bJtrpFi1fO1JMCcwLx8uZyAg"), "slack webhook"),
    (fake("AIza", "SyDYk3VcXp-8nEuHb7fLzQmR2tWsOv1JgKa"), "google api key"),
    (fake("sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"), "stripe key"),
    (fake("sk-proj", "-Vb8qLk2nXw5RtYz0PcMsDf7HgJa3EuQi9Ot"), "openai key"),
    (fake("npm_", "q7Rk2vXw9Lz4Tn8Bs1Mf6Hd3Jc5Gy0Ka1PxE"), "npm token"),
    (fake("eyJ", "hbGciOiJIUzI1NiJ9.eyJ", "zdWIiOiIxMjM0IiwibmFtZSI6IkFubiJ9.", "dBjftJeZ4CVPmB92K27uhbUJU1p1r_wW1gFWFOEjXk"), "jwt"),
    ("postgres://app:Tr0ub4dor&3@db.internal/x", "password in an address"),
    ("DB_PASSWORD = 'Tr0ub4dor&3'", "password"),
    ('"api_key": "a8F3kLm29QpXz71Bv0Rt"', "named secret"),
]  # fmt: skip
HARMLESS = [
    "version 1.2.3.4.5 of 2026-11-21", "4111 1111 1111 1112", "0000 0000 0000 0000", "DE89 3704 0044 0532 0130 01",
    "000-12-3456", "127.0.0.1 and 192.168.1.2 and 999.1.1.1", "password: ${PASSWORD}", "password = changeme",
    "token: aaaaaaaaaaaaaaaaaaaaaaaa", "the secret of a good soup is patience", "a@b", "@here", "ordinary text",
    "https://example.org/path?x=1", "commit 3f786850e387550fdab836ed7e6dc881de23001b", "12345678901234567890123",
    "AWS_KEY=" + fake("AKIA", "IOSFODNN7EXAMPLE"), "password: <your password here>", "apiKey: process.env.API_KEY",
    "password = os.environ['DB_PASSWORD']", "API_TOKEN=your-token-goes-here", "git@github.com:ann/repo.git",
    "Password: required, at least twelve signs", 'token = secrets.token_urlsafe(32)', "api_key: ${{ secrets.API_KEY }}",
]  # fmt: skip


async def test_personal_data_is_found_and_masked(tmp_path: Path) -> None:
    text = "\n".join(line for line, *_ in FOUND_PERSONAL)
    async with security(tmp_path, people_txt=text) as ask:
        found = await ask("scan_for_pii", path="people.txt")
    assert [(one["line"], one["kind"], one["shown"]) for one in found["findings"]] == [
        (n, kind, shown) for n, (_, kind, shown) in enumerate(FOUND_PERSONAL, 1)
    ]
    assert "1111 1111" not in str(found)


async def test_secrets_are_found_and_never_shown(tmp_path: Path) -> None:
    text = "\n".join(line for line, _ in FOUND_SECRET)
    async with security(tmp_path, config_env=text) as ask:
        found = await ask("scan_for_secrets", path=".")
    lines = [1, *range(4, 4 + len(FOUND_SECRET))]  # the first one has three
    assert [(one["line"], one["kind"]) for one in found["findings"]] == [
        (line, kind) for line, (_, kind) in zip(lines, FOUND_SECRET, strict=False)
    ]
    for part in ("Tr0ub4dor", "a8F3kLm2", "QYLPMN5H", "wWPw5k4a", "T0DCUJB1Q", "SyDYk3V", "MIIEpAI"):
        assert part not in str(found)


@pytest.mark.parametrize("line", HARMLESS)
def test_what_only_looks_so_is_left_in_peace(line: str) -> None:
    assert [*hits(line, personal), *hits(line, credentials)] == []


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(
    "piece",
    [
        "tel 030 1234567 ",
        "4111 ",
        "AKIA",
        "password:",
        'key="',
        "a",
        "1 ",
        "a@",
        "a.a",
        "eyJ-",
        "-eyJ",
        "+1 ",
        "DE89 3704 ",
        "token=",
        "x://a:",
        "1.",
        "(",
        "born:",
    ],
)
def test_no_line_takes_longer_than_it_is(piece: str) -> None:
    with within(5, time.process_time):
        for find in (personal, credentials):
            list(hits(piece * (200_000 // len(piece)), find))


@pytest.mark.slow
async def test_documents_are_looked_into_and_what_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.txt").write_text("bob@example.org")
    os.symlink("/etc/passwd", tmp_path / "link.txt")
    async with security(tmp_path, a_docx=papers.docx("ann@example.org"), raw_bin=b"\0x@example.org") as ask:
        document = await ask("scan_for_pii", path="a.docx")
        folder = await ask("scan_for_pii", path=".")
        assert "is not text" in await ask.refused("scan_for_pii", path="raw.bin")
        assert "does not exist" in await ask.refused("scan_for_pii", path="none.txt")
        assert await ask.refused("scan_for_pii", path="link.txt")
    assert [one["kind"] for one in document["findings"]] == ["email"]
    assert [one["path"] for one in folder["findings"]] == ["a.docx", "deep/b.txt"]
    assert folder["skipped"] == ["raw.bin is not text"]
    assert "1 file could not" in folder["note"]


async def test_files_with_the_same_bytes_are_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "copy.txt").write_text("same")
    os.link(tmp_path / "deep" / "copy.txt", tmp_path / "deep" / "name.txt")
    async with security(tmp_path, a_txt="same", b_txt="diff", c_txt="", d_txt="") as ask:
        found = await ask("find_duplicates", path=".")
        assert (await ask("find_duplicates", path=".", smallest=5))["groups"] == []
    assert [group["paths"] for group in found["groups"]] == [["a.txt", "deep/copy.txt", "deep/name.txt"]]
    assert found["wasted"] == 8


@pytest.mark.slow
async def test_what_could_go_is_proposed_with_its_reason_and_stays(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a (1).txt").write_text("same")
    secret = f"key {FOUND_SECRET[2][0]}"
    async with security(
        tmp_path,
        a_txt="same",
        draft_tmp="x",
        none_txt="",
        old_txt="old text",
        env_txt=secret,
        big_bin=b"1" * (1 << 20),
    ) as ask:
        for name in tree(tmp_path):
            os.utime(tmp_path / name, (Clock().time.timestamp() - 100,) * 2)
        long_ago = datetime(2020, 5, 6, tzinfo=UTC).timestamp()
        os.utime(tmp_path / "old.txt", (long_ago, long_ago))
        before = tree(tmp_path)
        found = await ask("propose_cleanup", path=".", large_mb=1)
        assert tree(tmp_path) == before
    kinds = {one["kind"]: one for one in found["proposals"]}
    assert kinds["duplicate"]["paths"] == ["deep/a (1).txt"]
    assert kinds["duplicate"]["keep"] == "a.txt"
    assert kinds["temporary"]["action"] == "delete draft.tmp"
    assert kinds["empty"]["paths"] == ["none.txt"]
    assert kinds["old"]["why"] == "Not changed since 2020-05-06."
    assert kinds["large"]["paths"] == ["big.bin"]
    assert kinds["sensitive"]["action"] == "encrypt env.txt"
    assert found["size"] == 5
    assert "Nothing was changed" in found["summary"]


@pytest.mark.parametrize("name", ["report.txt", "report {key} (copy).txt", "{key}"])
async def test_a_recipient_stands_on_the_card_also_where_the_name_of_the_file_holds_it(
    tmp_path: Path, name: str
) -> None:
    key = str(pyrage.x25519.Identity.generate().to_public())
    name = name.format(key=key)
    root = tmp_path / "files"
    root.mkdir()
    (root / name).write_text("salaries")
    made = server([root], Clock(), key_beside(root))
    async with gated(tmp_path / "logs", "security", made) as gate:
        spec = gate.spec("encrypt_file")
        seen = await make_preview(gate.world, spec, {"path": name, "recipients": [key]}, "C")
    for cls in (CallClass.WRITE, CallClass.DESTRUCTIVE):
        assert "recipients[0]" in [fact.label for fact in unsaid(seen.preview, cls)]


async def test_a_file_is_encrypted_for_this_server_and_others_and_opened_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    other, said = pyrage.x25519.Identity.generate(), []
    async with security(tmp_path, plan_txt="the plan") as ask:
        said.append(await ask("show_recipient"))
        made = await ask("encrypt_file", path="plan.txt", recipients=[str(other.to_public())])
        mine = await ask("show_recipient")
        (tmp_path / "plan.txt").unlink()
        said += [made, mine, await ask("decrypt_file", path="plan.txt.age")]
        said.append(await ask("decrypt_file", path="plan.txt.age", destination="copy.txt"))
        said.append(await ask.refused("encrypt_file", path="plan.txt", recipients=[str(other)]))
    assert (tmp_path / "plan.txt").read_text() == (tmp_path / "copy.txt").read_text() == "the plan"
    assert pyrage.decrypt((tmp_path / "plan.txt.age").read_bytes(), [other]) == b"the plan"
    assert made["recipients"] == [mine["recipient"], str(other.to_public())]
    key = key_beside(tmp_path).file
    assert key
    assert not any(b"AGE-SECRET" in data for data in everything(tmp_path))
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    for told in (str(said), caplog.text):
        assert key.read_text().split()[-1] not in told
        assert "AGE-SECRET" not in told
        assert str(other) not in told


async def test_what_cannot_be_opened_is_said(tmp_path: Path) -> None:
    stranger = pyrage.x25519.Identity.generate().to_public()
    files: dict[str, Any] = {
        "x_age": pyrage.encrypt(b"x", [stranger]),
        "junk_age": b"age-encryption.org/v1\njunk",
        "a_txt": "a",
    }
    async with security(tmp_path, **files) as ask:
        assert "no key" in await ask.refused("decrypt_file", path="x.age")
        await ask("encrypt_file", path="a.txt")
        (tmp_path / "half.age").write_bytes((tmp_path / "a.txt.age").read_bytes()[:-3])
        for path, why in (
            ("x.age", "not encrypted for this server"),
            ("junk.age", "not a whole"),
            ("half.age", "not a whole"),
        ):
            assert why in await ask.refused("decrypt_file", path=path)
        assert "encrypted already" in await ask.refused("encrypt_file", path="a.txt.age")
        assert "must end in .age" in await ask.refused("encrypt_file", path="a.txt", destination="b.txt")
        assert "no public key" in await ask.refused("encrypt_file", path="a.txt", recipients=["age1x"])
        assert "does not end in .age" in await ask.refused("decrypt_file", path="a.txt")
        key = key_beside(tmp_path).file
        assert key
        key.write_text("nonsense")
        assert "Put the right one back" in await ask.refused("decrypt_file", path="a.txt.age")
        assert "Put the right one back" in await ask.refused("encrypt_file", path="a.txt")
    assert set(os.listdir(tmp_path)) == {
        ".countersign", "a.txt", "a.txt.age", "half.age", "junk.age", "x.age"
    }  # fmt: skip


@pytest.mark.slow
async def test_a_key_that_was_made_inside_the_folder_still_opens_and_is_used_for_nothing_new(
    tmp_path: Path,
) -> None:
    old = pyrage.x25519.Identity.generate()
    (tmp_path / ".countersign" / "keys").mkdir(parents=True)
    (tmp_path / ".countersign" / "keys" / "age-identity.txt").write_text(f"# kept\n{old}\n")
    files: dict[str, Any] = {"old_age": pyrage.encrypt(b"from before", [old.to_public()]), "a_txt": "a"}
    async with security(tmp_path, **files) as ask:
        await ask("decrypt_file", path="old.age")
        made = await ask("encrypt_file", path="a.txt")
    assert (tmp_path / "old").read_bytes() == b"from before"
    assert str(old.to_public()) not in made["recipients"]
    with pytest.raises(pyrage.DecryptError):
        pyrage.decrypt((tmp_path / "a.txt.age").read_bytes(), [old])


async def test_without_a_key_files_are_encrypted_for_the_operators_recipients(tmp_path: Path) -> None:
    operator, friend = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    (tmp_path / "a.txt").write_text("a")
    words = ["--root", str(tmp_path), "--no-key", "--recipient", str(operator.to_public())]
    async with Client(configured(words)) as client:
        ask = Ask(client)
        plan = await ask("preview_encrypt", call={"path": "a.txt", "recipients": [str(friend.to_public())]})
        made = await ask("encrypt_file", path="a.txt", recipients=[str(friend.to_public())])
        assert "this server has no key. Open it with age" in await ask.refused(
            "decrypt_file", path="a.txt.age"
        )
    async with Client(configured(words[:3])) as client:
        assert "Say for whom to encrypt" in await Ask(client).refused("encrypt_file", path="a.txt")
        assert "Say for whom to encrypt" in await Ask(client).refused(
            "preview_encrypt", call={"path": "a.txt"}
        )
    assert plan["recipients"] == made["recipients"] == [str(operator.to_public()), str(friend.to_public())]
    for key in (operator, friend):
        assert pyrage.decrypt((tmp_path / "a.txt.age").read_bytes(), [key]) == b"a"


async def test_a_key_inside_an_allowed_folder_is_refused_however_it_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    (root / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to(root)
    for path in (
        root / "key",
        root / "deep" / "key",
        tmp_path / "link" / "key",
        root / ".." / "shared" / "key",
    ):
        with pytest.raises(ValueError, match="inside the allowed folder shared"):
            configured(["--root", root, "--key-file", path])
    monkeypatch.setenv("HOME", str(root))
    async with Client(server([root])) as client:
        assert "inside the allowed folder" in await Ask(client).refused("encrypt_file", path="a.txt")
    assert os.listdir(root) == ["a.txt"]


def test_two_servers_that_make_a_key_at_once_agree_on_one(tmp_path: Path) -> None:
    keys = [Keys(tmp_path / "state" / "key") for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        made = {str(found) for found in threads.map(lambda one: one.own(), keys)}
    assert len(made) == 1
    assert os.listdir(tmp_path / "state") == ["key"]


async def test_a_key_that_cannot_be_made_or_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("")
    root = tmp_path / "shared"
    root.mkdir()
    (root / "a.txt").write_text("a")
    for path, why in (
        (tmp_path / "in the way" / "key", "cannot be read: Not a directory"),
        (tmp_path, "cannot be read: Is a directory"),
        (Path("/proc/none/key"), "No key can be made in /proc/none/key"),
    ):
        async with Client(server([root], Clock(), Keys(path))) as client:
            assert why in await Ask(client).refused("encrypt_file", path="a.txt")


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ann@example.org")
    words = ["-m", "servers.security", "--root", str(tmp_path)]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        assert (await Ask(client)("scan_for_pii", path="."))["kinds"] == {"email": 1}


async def test_a_secret_file_that_is_decrypted_under_another_name_is_still_told(tmp_path: Path) -> None:
    async with security(tmp_path, server_key="secret") as ask:
        await ask("encrypt_file", path="server.key")
        plan = await ask("preview_decrypt", call={"path": "server.key.age", "destination": "notes.txt"})
    assert plan["touched"] == ["notes.txt", "server.key"]


async def test_a_rule_about_a_public_key_holds_however_it_is_written(tmp_path: Path) -> None:
    """age takes one in capitals, and with blanks around it."""
    closed, other = (str(pyrage.x25519.Identity.generate().to_public()) for _ in range(2))
    root = tmp_path / "shared"
    root.mkdir()
    (root / "a.txt").write_text("a")
    told = {"required": ["recipients"], "properties": {"recipients": {"contains": {"const": closed}}}}
    async with gated(tmp_path / "logs", "security", server([root], Clock(), key_beside(root))) as gate:
        for rule in (
            Rule("one key", ("security.*",), deny=True, texts=(closed,)),
            Rule("one key", ("security.*",), deny=True, schema=told),
        ):
            ask = Asker(gate, (rule,))
            for written in (closed, closed.upper(), f" {closed}", f"{closed.upper()}\n"):
                seen = await ask.look("encrypt_file", path="a.txt", recipients=[other, written])
                denied = seen.decision and seen.decision.verdict is Verdict.DENY
                assert denied or "I may not look" in seen.preview.problem, written
                call = {"path": "a.txt", "recipients": [other, written]}
                assert await ask("preview_encrypt", call=call) == "denied", written
            seen = await ask.look("encrypt_file", path="a.txt", recipients=[other])
            assert seen.decision
            assert seen.decision.verdict is Verdict.CONFIRM
