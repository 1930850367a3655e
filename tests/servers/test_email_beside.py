"""Drafts that others may have written: what goes out with one is on its card, or it is not sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.email import beside
from servers.email.mailboxes import identified
from servers.email.messages import ready
from tests.servers.mail import ME, Taken, maildir, posting

HEAD = b"From: ann@example.com\nTo: bob@example.com\nSubject: x\n"
MIXED = HEAD + b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
TEXT = b"--b\nContent-Type: text/plain\n\nhi\n"
FILE = b"--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n"
CODED = FILE + b"Content-Transfer-Encoding: base64\n"


def shown(data: bytes) -> str:
    facts, sent = ready(data, ME, {})
    assert sent == data
    return str(facts["message"])


UNSEEN = {
    "a text before the parts": MIXED + b"SECRET\n" + TEXT + b"--b--\n",
    "a text behind the parts": MIXED + TEXT + b"--b--\nSECRET\n",
    "no parts at all": MIXED + b"SECRET\n",
    "signs that are no base64": MIXED + TEXT + CODED + b"\naGk=\n!SECRET!\n--b--\n",
    "base64 behind its end": MIXED + TEXT + CODED + b"\naGk=\nU0VDUkVU\n--b--\n",
    "a text behind the end of uuencode": HEAD
    + b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n#:&D*\n`\nend\nSECRET\n",
    "an encoding with a comment": HEAD + b"Content-Transfer-Encoding: base64 (SECRET)\n\naGk=\n",
    "an encoding of parts": MIXED.replace(b"\n\n", b"\nContent-Transfer-Encoding: base64\n\n")
    + TEXT
    + b"--b--\n",
    "a line that quoted-printable leaves out": HEAD
    + b"Content-Transfer-Encoding: quoted-printable\n\nhi=\rSECRET\nho\n",
    "one header twice": MIXED + b"--b\nContent-Type: text/plain\nContent-Type: text/SECRET\n\nhi\n--b--\n",
    "a header that goes on with nothing": MIXED + b"--b\n SECRET\nContent-Type: text/plain\n\nhi\n--b--\n",
    "a line of a mailbox": MIXED + b"--b\nFrom SECRET\nContent-Type: text/plain\n\nhi\n--b--\n",
    "headers without end": MIXED + b"--b\n" + b"a: b\n" * (beside.MOST + 1) + b"\nhi\n--b--\n",
}


@pytest.mark.parametrize("data", UNSEEN.values(), ids=list(UNSEEN))
def test_a_draft_with_something_in_it_that_nobody_would_see_is_refused(data: bytes) -> None:
    with pytest.raises(ToolError, match="nobody would see before it is sent"):
        ready(data, ME, {})


TOLD = {
    "a description of a file": MIXED + TEXT + FILE + b"Content-Description: SECRET\n\nhi\n--b--\n",
    "a description of all": HEAD + b"Content-Description: SECRET\n\nhi\n",
    "a second name": MIXED + FILE.replace(b"a.pdf", b"a.pdf; filename*=utf-8''SECRET") + b"\nhi\n--b--\n",
    "another name": MIXED + FILE.replace(b"/pdf", b"/pdf; name=SECRET") + b"\nhi\n--b--\n",
    "the name of a text": HEAD + b"Content-Type: text/plain; name=SECRET\n\nhi\n",
    "a parameter": MIXED + FILE.replace(b"a.pdf", b"a.pdf; x-more=SECRET") + b"\nhi\n--b--\n",
    "a comment": MIXED + FILE.replace(b"a.pdf", b"a.pdf (SECRET)") + b"\nhi\n--b--\n",
    "a comment of the version": HEAD + b"MIME-Version: 1.0 (SECRET)\n\nhi\n",
    "a comment beside an address": HEAD.replace(b"bob@example.com", b"bob@example.com (SECRET)") + b"\nhi\n",
    "a comment beside the sender": HEAD.replace(b"ann@example.com", b"ann@example.com (SECRET)") + b"\nhi\n",
    "an id that is none": HEAD + b"Message-ID: <a@b> SECRET\n\nhi\n",
    "a word behind a date": HEAD + b"Orig-Date: Fri, 27 Nov 2026 10:00:00 +0000 SECRET\n\nhi\n",
    "a comment beside who wrote a mail in it": MIXED
    + b"--b\nContent-Type: message/rfc822\n\nFrom: a@b.example (SECRET)\n\nhi\n--b--\n",
    "a header that is there twice": HEAD + b"X-Note: mine\nX-Note: SECRET\n\nhi\n",
    "a kind of parts": MIXED.replace(b"/mixed", b"/SECRET") + TEXT + b"--b--\n",
    "a header of a mail in it": MIXED + b"--b\nContent-Type: message/rfc822\n\nX-Q: SECRET\n\nhi\n--b--\n",
    "the address of a file elsewhere": MIXED
    + b'--b\nContent-Type: message/external-body; access-type=URL; URL="http://SECRET/"\n\n'
    + b"Content-Type: text/plain\n\nhi\n--b--\n",
}


@pytest.mark.parametrize("data", TOLD.values(), ids=list(TOLD))
def test_what_a_draft_says_of_its_parts_is_on_its_card(data: bytes) -> None:
    assert "secret" in shown(data).lower()


THUNDERBIRD = (
    b"FCC: imap://a/Sent\nX-Mozilla-Draft-Info: internal/draft; vcard=0\n"
    b"Message-ID: <1@example.com>\nDate: Fri, 27 Nov 2026 10:00:00 +0000\nMIME-Version: 1.0\n"
    b"User-Agent: Mozilla Thunderbird\nIn-Reply-To: <0@example.com>\nReferences: <0@example.com>\n <00@example.com>\n"
    b'Content-Type: multipart/mixed; boundary="b"\n\nThis is a multi-part message in MIME format.\n'
    b"--b\nContent-Type: text/plain; charset=UTF-8; format=flowed\nContent-Transfer-Encoding: 8bit\n\nhi\n"
    b'--b\nContent-Type: application/pdf; name="a.pdf"\nContent-Disposition: attachment; filename="a.pdf"\n'
    b"Content-Transfer-Encoding: base64\n\naGVs\nbG8=\n\n--b--\n"
)
APPLE = (
    b"X-Uniform-Type-Identifier: com.apple.mail-draft\nMime-Version: 1.0 (Mac OS X Mail 16.0)\n"
    b'Content-Type: multipart/alternative;\n\tboundary="b"\nMessage-Id: <1@example.com>\n\n\n'
    b"--b\nContent-Transfer-Encoding: quoted-printable\nContent-Type: text/plain;\n\tcharset=utf-8\n\nGr=C3=BC=C3=9Fe\n\n"
    b"--b\nContent-Type: multipart/related; boundary=c\n\n\n--c\nContent-Type: text/html\n\n<b>hi</b>\n"
    b"--c\nContent-Disposition: inline; filename=a.png\nContent-Type: image/png; name=a.png\n"
    b"Content-Id: <c@example.com>\nContent-Transfer-Encoding: base64\n\naGk=\n\n--c--\n\n--b--\n"
)


@pytest.mark.parametrize(
    ("body", "beside"),
    [(THUNDERBIRD, []), (APPLE, ["[Mime-Version: 1.0 (Mac OS X Mail 16.0)]"]), (b"\nhi\n", [])],
)
def test_drafts_of_usual_programs_are_sent_without_more_words(body: bytes, beside: list[str]) -> None:
    for data in (HEAD + body, (HEAD + body).replace(b"\n", b"\r\n")):
        lines = shown(data).splitlines()
        assert [
            line for line in lines if line.startswith("[") and not line.startswith(("[att", "[as "))
        ] == beside


async def test_a_foreign_draft_is_refused_before_anybody_is_asked_and_when_it_is_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    (home / ".Drafts/cur/7.x:2,D").write_bytes(UNSEEN["a text before the parts"])
    async with posting(home, taken) as gate:
        assert "nobody would see" in await gate.blind("send_draft", draft_id=identified("7.x"))
        assert "nobody would see" in await gate.refused("send_draft", draft_id=identified("7.x"))
    assert taken.mails == []
