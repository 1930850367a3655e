"""Sending: to everybody who was shown and nobody else, what was shown and nothing else, once, or not at all."""

from __future__ import annotations

import asyncio
import email
import email.policy
import itertools
import re
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import AuthResult, LoginPassword
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp.server.mcpserver.exceptions import ToolError

from gate.rules.canonical_json import canonical
from gate.rules.templates import expand
from servers.email import smtp
from servers.email.mailboxes import identified
from servers.email.outgoing import MOST_HEADERS, Outgoing
from servers.email.smtp import Post
from tests.servers.files import tree
from tests.servers.gate_around_server import Gate
from tests.servers.mail import ME, Taken, listening, maildir, mailing, posting
from tests.servers.test_email_tools import TO_BOB

EVERYBODY = {
    **TO_BOB,
    "cc": "Cleo <cleo@example.com>, bob@EXAMPLE.com",
    "bcc": "Dora <dora@example.com>",
    "body": "Hello\n.\n..two\nFrom here\nÄnd – so on\n",
}


async def drafted(gate: Gate, **args: Any) -> str:
    made = await gate.do("draft_email", **(EVERYBODY | args))
    return str(made.result["draft_id"])


def drafts(home: Path) -> list[Path]:
    return sorted((home / ".Drafts/cur").iterdir())


def outbox(home: Path) -> list[Path]:
    return sorted((home / ".Outbox/cur").iterdir())


@pytest.mark.slow
async def test_what_is_shown_is_what_is_sent_and_to_whom(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    async with posting(home, taken) as gate:
        draft = await drafted(gate)
        done = await gate.do("send_draft", draft_id=draft)
        assert done.preview.summary == "Send Figures, to bob@example.com and 2 more"
        assert done.preview.diff == (
            "From: Ann Example <ann@example.com>\n"
            "To: Bob Builder <bob@example.com>\n"
            "Cc: Cleo <cleo@example.com>, bob@EXAMPLE.com\n"
            "Bcc: Dora <dora@example.com> (the others do not see this)\n"
            "Subject: Figures\n\n"
            "Hello\n.\n..two\nFrom here\nÄnd – so on"
        )
        assert done.preview.notifies == (
            "bob@example.com, cleo@example.com (Cc), bob@EXAMPLE.com (Cc), dora@example.com (Bcc)"
        )
        assert done.preview.undo.startswith("no")
        assert done.preview.recoverable == "A mail that was sent stays sent"
        assert expand(done.spec.recipe.noun, done.scope) == "to 3 people"  # to be typed
    [mail] = taken.mails
    assert mail.mail_from == "ann@example.com"
    assert mail.rcpt_tos == ["bob@example.com", "cleo@example.com", "dora@example.com"]
    assert mail.original_content
    assert b"dora" not in mail.original_content
    assert b"Bcc" not in mail.original_content
    got = email.message_from_bytes(mail.original_content, policy=email.policy.default)
    assert got["Date"] == "Sat, 21 Nov 2026 09:30:00 +0000"
    assert got["Message-ID"] == "<id1@example.com>"
    assert got.get_content().replace("\r\n", "\n") == EVERYBODY["body"]
    assert (drafts(home), outbox(home)) == ([], [])
    [copy] = (home / ".Sent/cur").iterdir()
    assert copy.read_bytes() == b"Bcc: dora@example.com\n" + mail.original_content.replace(b"\r\n", b"\n")


@pytest.mark.slow
async def test_a_draft_that_is_edited_on_the_card_is_the_draft_that_is_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    async with posting(home, taken) as gate:
        draft = await drafted(gate)
        edits = {"body": "Please see below.\n", "to": "eve@example.com", "bcc": "", "subject": "Figures 2"}
        done = await gate.do("send_draft", draft_id=draft, **edits)
        assert done.preview.diff == (
            "From: Ann Example <ann@example.com>\nTo: eve@example.com\n"
            "Cc: Cleo <cleo@example.com>, bob@EXAMPLE.com\nSubject: Figures 2\n\nPlease see below."
        )
    [mail] = taken.mails
    assert mail.rcpt_tos == ["eve@example.com", "cleo@example.com", "bob@EXAMPLE.com"]
    assert mail.original_content
    got = email.message_from_bytes(mail.original_content, policy=email.policy.default)
    assert (got["Subject"], got["Message-ID"]) == ("Figures 2", "<id1@example.com>")
    assert got.get_content().strip() == "Please see below."


@pytest.mark.slow
async def test_a_draft_that_changed_since_it_was_shown_is_not_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    async with posting(home, taken) as gate:
        draft = await drafted(gate)
        seen = await gate.look("send_draft", draft_id=draft)
        edited = await gate.look("send_draft", draft_id=draft, subject="Other")
        [file] = drafts(home)
        assert "changed since" in await gate.refused("send_draft", **(edited.args | {"subject": "Third"}))
        assert "changed since" in await gate.refused("send_draft", **(seen.args | {"bcc": "eve@example.com"}))
        file.write_bytes(file.read_bytes().replace(b"Hello", b"Hallo"))
        assert "changed since" in await gate.refused("send_draft", **seen.args)
    assert taken.mails == []
    assert drafts(home) == [file]


@pytest.mark.slow
async def test_a_mail_is_sent_once(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    async with posting(home, taken) as gate:
        draft = await drafted(gate)
        seen = await gate.look("send_draft", draft_id=draft)
        both = await asyncio.gather(
            *(gate.host.call("email", "send_draft", canonical(seen.args), 30) for _ in range(8))
        )
        assert sum(not answer.is_error for answer in both) == 1
        assert "There is no" in await gate.refused("send_draft", **seen.args)
    assert len(taken.mails) == 1


@pytest.mark.slow
async def test_one_recipient_that_is_refused_stops_it_for_all(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken(refuses={"dora@example.com"})
    async with posting(home, taken) as gate:
        draft, before = await drafted(gate), tree(home)
        told = await gate.refused("send_draft", draft_id=draft)
        assert told == (
            "The mail server takes no mail to dora@example.com (550 nobody of that name). Nothing was sent, and the "
            "draft is still there."
        )
        assert tree(home) == before
        taken.refuses.clear()
        await gate("send_draft", draft_id=draft)
    assert len(taken.mails) == 1


@pytest.mark.slow
async def test_a_mail_that_is_not_wanted_stays_a_draft(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken(answer="554 looks like spam")
    async with posting(home, taken) as gate:
        draft, before = await drafted(gate), tree(home)
        assert "554 looks like spam" in await gate.refused("send_draft", draft_id=draft)
    assert tree(home) == before


async def test_a_line_that_breaks_too_late_leaves_it_open_whether_it_was_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken(vanishes=True)
    async with posting(home, taken) as gate:
        draft = await drafted(gate)
        told = await gate.refused("send_draft", draft_id=draft)
        assert "it may have been sent" in told
        [line] = (await gate("list_drafts"))["drafts"]
        assert (line["draft_id"], line["state"]) == (draft, "perhaps sent")
        assert "There is no" in await gate.refused("send_draft", draft_id=draft)
        done = await gate.do("delete_draft", draft_id=draft)
        await gate.undo(done)
    assert len(outbox(home)) == 1
    assert len(taken.mails) == 1


async def test_a_mail_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    async with listening(Taken()) as port:
        pass
    async with mailing(home, Post("127.0.0.1", port, "none")) as gate:
        draft, before = await drafted(gate), tree(home)
        assert f"127.0.0.1:{port} cannot be used" in await gate.refused("send_draft", draft_id=draft)
    assert tree(home) == before
    async with mailing(home) as gate:
        assert "--smtp-host" in await gate.blind("send_draft", draft_id=draft)


@contextmanager
def saying(*answers: bytes, again: bytes = b"", pause: float = 0.0) -> Iterator[Post]:
    """A mail server that says each of these for a line that it is told, the last one without end."""

    def serve() -> None:
        line, _ = listener.accept()
        with line, suppress(OSError):
            heard = line.makefile("rb")
            for number, answer in enumerate(answers):
                if number:
                    heard.readline()
                line.sendall(answer)
            while again and not ended.wait(pause):
                line.sendall(again)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended, thread = threading.Event(), threading.Thread(target=serve)
        thread.start()
        try:
            yield Post("127.0.0.1", listener.getsockname()[1], "none")
        finally:
            ended.set()
            thread.join(20)


WITHOUT_END = b"220-" + b"x" * 8_000 + b"\r\n" + b"220-x\r\n" * 10


@pytest.mark.parametrize("answers", [(), (b"220 hi\r\n", b"250 ok\r\n"), (b"220 hi\r\n", b"250-ok\r\n")])
def test_an_answer_of_the_mail_server_without_an_end_is_not_read_on(answers: tuple[bytes, ...]) -> None:
    tracemalloc.start()
    try:
        with (
            saying(*answers, again=WITHOUT_END) as post,
            pytest.raises(ToolError, match="answer is too long"),
        ):
            post.send("ann@example.com", ["bob@example.com"], b"\r\n")
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("again", [b"2", b"220-x\r\n"])
def test_a_mail_server_that_says_a_little_again_and_again_is_left_after_a_while(
    again: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "ALL_SECONDS", 0.2)
    with (
        saying(again=again, pause=0.01) as post,
        pytest.raises(ToolError, match=r"more than 0 seconds|timed out"),
    ):
        post.send("ann@example.com", ["bob@example.com"], b"\r\n")


def test_a_mail_server_that_answers_without_end_after_it_was_given_the_mail_may_have_sent_it() -> None:
    ok = b"250 ok\r\n"
    with (
        saying(b"220 hi\r\n", ok, ok, ok, b"354 go\r\n", again=b"250-x\r\n" * 1_000) as post,
        pytest.raises(smtp.PerhapsSent, match="answer is too long"),
    ):
        post.send("ann@example.com", ["bob@example.com"], b"\r\n")


def answered(answer: bytes) -> None:
    """A mail is sent, and this is the last answer to it."""
    ok = b"250 ok\r\n"
    with saying(b"220 hi\r\n", ok, ok, ok, b"354 go\r\n", answer, again=b"221 bye\r\n", pause=0.01) as post:
        post.send("ann@example.com", ["bob@example.com"], b"\r\n")


@pytest.mark.parametrize(
    "answer",
    [b"\r\n250 2.0.0 Ok: queued\r\n", b"OK queued\r\n", b"\xff\r\n", b"354 go on\r\n", b"650 ok\r\n"],
)
def test_a_mail_to_which_the_answer_is_neither_yes_nor_no_may_have_been_sent(answer: bytes) -> None:
    """A person who reads that nothing was sent sends it a second time."""
    with pytest.raises(smtp.PerhapsSent, match="neither yes nor no"):
        answered(answer)


@pytest.mark.parametrize("answer", [b"200 ok\r\n", b"250-2.0.0 Ok:\r\n250 queued\r\n", b"252 accepted\r\n"])
def test_a_mail_to_which_the_answer_begins_with_a_two_was_sent(answer: bytes) -> None:
    answered(answer)


@pytest.mark.parametrize("answer", [b"421 later\r\n", b"451 later\r\n", b"554 spam\r\n"])
def test_a_mail_to_which_the_answer_begins_with_a_four_or_a_five_was_not_sent(answer: bytes) -> None:
    with pytest.raises(ToolError, match=r"no mail like this .* Nothing was sent"):
        answered(answer)


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of our own for localhost: the file to trust, and the context of its server."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")]),
    )
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return folder / "cert.pem", context


def knows_ann(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
    right = isinstance(data, LoginPassword) and (data.login, data.password) == (b"ann", b"secret")
    return AuthResult(success=right, handled=False)


@pytest.mark.slow
async def test_encryption_and_password_are_used_or_nothing_is_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    trusted, context = certificate(tmp_path)
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("secret\n")
    wrong.write_text("guess\n")
    async with (
        listening(
            taken, tls_context=context, require_starttls=True, auth_required=True, authenticator=knows_ann
        ) as port,
        listening(taken, tls=context) as wrapped,
        listening(taken) as plain,
    ):
        refused = {
            "cannot be used": Post("localhost", port, authorities=None),
            "does not take the user name": Post("localhost", port, "starttls", "ann", wrong, trusted),
            "offers no encryption": Post("localhost", plain, "starttls", "ann", right, trusted),
            "takes no mail from": Post("localhost", port, "starttls", authorities=trusted),
            "No such file": Post("localhost", port, "starttls", "ann", tmp_path / "none", trusted),
        }
        draft = ""
        for said, post in refused.items():
            async with mailing(home, post) as gate:
                draft = draft or await drafted(gate)
                told = await gate.refused("send_draft", draft_id=draft)
                assert said in told
                assert "Nothing was sent" in told
        assert taken.mails == []
        async with mailing(home, Post("localhost", port, "starttls", "ann", right, trusted)) as gate:
            await gate("send_draft", draft_id=draft)
        async with mailing(home, Post("localhost", wrapped, "tls", authorities=trusted)) as gate:
            again = await gate("send_draft", draft_id=await drafted(gate))
            assert again["note"].startswith(
                "It was sent, but its copy could not be filed"
            )  # the same id twice
    assert len(taken.mails) == 2
    with pytest.raises(ValueError, match="without encryption"):
        Post("localhost", 25, "none", "ann", right)


HEAD = b"From: ann@example.com\nTo: bob@example.com\nSubject: x\nMIME-Version: 1.0\n"
TRICKY: list[tuple[bytes, str]] = [
    (b"From: ann@example.com\nTo: bob@example.com\nTo: eve@example.com\n\nx", "two To headers"),
    (b"From: ann@example.com\nto: bob@example.com\nTO: eve@example.com\n\nx", "two To headers"),
    (b"From: boss@example.com\nTo: bob@example.com\n\nx", "server sends"),
    (b"From: ann@example.com, boss@example.com\nTo: bob@example.com\n\nx", "server sends"),
    (b"From: ann@example.com\nTo: bob@example.com\nResent-To: eve@example.com\n\nx", "not sent as they are"),
    (b"From: ann@example.com\nTo: bob@example.com\rBcc: eve@example.com\n\nx", "not sent as they are"),
    (b"From: ann@example.com\nTo: bob@example.com\nnonsense\n\nx", "that is none"),
    (b"From: ann@example.com\nTo: team: bob@example.com;\n\nx", "cannot be read"),
    (b"From: ann@example.com\nTo: bob@example.com <eve@example.com>\n\nx", "cannot be read"),
    (b"From: ann@example.com\nTo: b\xc3\xb6b@example.com\n\nx", "Write it anew"),
    (b"From: ann@example.com\nSubject: x\n\nx", "Nobody would get"),
    (b"\n\nTo: bob@example.com\n\nx", "Nobody would get"),
]


@pytest.mark.slow
async def test_a_draft_that_programs_would_read_differently_is_not_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    async with posting(home, taken) as gate:
        for data, said in TRICKY:
            (home / ".Drafts/cur/7.tricky:2,D").write_bytes(data)
            [line] = (await gate("list_drafts"))["drafts"]
            assert said in await gate.refused("send_draft", draft_id=line["draft_id"]), data
            assert said in await gate.blind("send_draft", draft_id=line["draft_id"]), data
    assert taken.mails == []


async def test_a_draft_of_another_program_is_shown_whole_and_sent_as_it_is_shown(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    body = (
        b'Content-Type: multipart/mixed; boundary="b"\nX-Mailer: Other\nReply-To: eve@example.org\n\n'
        b"--b\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\nGr\xc3\xbc\xc3\x9fe\n.\n"
        b"--b\nContent-Type: text/html\n\n<b>Hi</b>\n"
        b"--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n"
        b"Content-Transfer-Encoding: base64\n\naGVsbG8=\n--b--\n"
    )
    (home / ".Drafts/cur/7.other:2,D").write_bytes(HEAD + body)
    async with posting(home, taken) as gate:
        [line] = (await gate("list_drafts"))["drafts"]
        assert "more than plain text" in await gate.blind("send_draft", draft_id=line["draft_id"], body="x")
        done = await gate.do("send_draft", draft_id=line["draft_id"])
        assert done.preview.diff == (
            "From: ann@example.com\nTo: bob@example.com\nSubject: x\nX-Mailer: Other\nReply-To: eve@example.org\n\n"
            "Grüße\n.\n[as html:]\n<b>Hi</b>\n[attachment: a.pdf, application/pdf, 5 bytes, SHA-256 "
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824]"
        )
    [mail] = taken.mails
    assert mail.original_content
    got = email.message_from_bytes(mail.original_content.replace(b"\r\n", b"\n"), policy=email.policy.default)
    assert [got[name] for name in ("From", "To", "Subject", "X-Mailer", "Reply-To", "Date")] == [
        "ann@example.com", "bob@example.com", "x", "Other", "eve@example.org", "Sat, 21 Nov 2026 09:30:00 +0000",
    ]  # fmt: skip
    assert [(part.get_content_type(), part.get_content()) for part in got.iter_parts()] == [
        ("text/plain", "Grüße\n.\n"),
        ("text/html", "<b>Hi</b>\n"),
        ("application/pdf", b"hello"),
    ]


AT = datetime(2026, 11, 24, 9, tzinfo=UTC)


def ready(body: bytes) -> Outgoing:
    return Outgoing(b"To: bob@example.com\n\n" + body, {}, ME, "", "", "")


def test_every_end_of_a_line_goes_out_as_smtp_wants_it() -> None:
    head = b"Date: Tue, 24 Nov 2026 09:00:00 +0000\r\nTo: bob@example.com\r\n\r\n"
    for some in itertools.product((b"a", b".", b"\r", b"\n"), repeat=5):
        body = b"".join(some)
        whole = body if body.endswith(b"\n") else body + b"\n"
        wire = ready(b"x" + body).wire(AT)
        assert re.sub(rb"\r\n$", b"", wire) == re.sub(
            rb"\r\n$", b"", head + b"x" + re.sub(rb"\r\n|\r|\n", b"\r\n", whole)
        )
        assert smtp._quoted(wire) == re.sub(rb"(?m)^\.", b"..", wire)


def test_a_mail_of_empty_lines_takes_little_memory_to_be_sent() -> None:
    """10 MB of them took 1 GB and a second in which no other thread ran: each end of a line became an object."""
    out = ready(b"\n.\n" * (1 << 20))
    tracemalloc.start()
    try:
        wire = out.wire(AT)
        smtp._quoted(wire)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(out.data)
    finally:
        tracemalloc.stop()


async def test_a_draft_of_nothing_but_headers_is_not_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    (home / ".Drafts/cur/9.x:2,DS").write_text("To: bob@example.com\n" + "a:\n" * MOST_HEADERS)
    with pytest.raises(ToolError, match="more than 256 KB of headers"):
        Outgoing(b"a:\n" * MOST_HEADERS, {}, ME, "", "", "").wire(AT)
    async with posting(home, taken) as gate:
        await gate.refused("send_draft", draft_id=identified("9.x"))
    assert taken.mails == []
