"""Drafts that others may have written: each is sent as its card says, built anew, or it is not sent."""

from __future__ import annotations

import email
import email.policy
import re
from email.utils import getaddresses
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.email.mailboxes import identified
from servers.email.messages import content, message, payload
from servers.email.sending import ready
from tests.servers.mail import ME, Taken, maildir, posting

HEAD = b"From: ann@example.com\nTo: bob@example.com\nSubject: x\n"
MIXED = HEAD + b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
TEXT = b"--b\nContent-Type: text/plain\n\nhi\n"
FILE = b"--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename=a.pdf\n"
CODED = FILE + b"Content-Transfer-Encoding: base64\n"


def built(data: bytes) -> tuple[str, bytes]:
    facts, sent = ready(data, ME, {})
    assert ready(data, ME, {}) == (facts, sent)
    assert ready(sent, ME, {})[1] == sent
    return str(facts["message"]), sent


def read(sent: bytes) -> str:
    """All that somebody may read in a mail but what is attached: its SHA-256 is on the card."""
    mail = email.message_from_bytes(sent, policy=email.policy.default)
    told = [f"{name}: {value}" for part in mail.walk() for name, value in part.items()]
    shown = (part for part in mail.walk() if part.get_content_disposition() != "attachment")
    texts = [part.get_payload(decode=True) for part in shown if not part.is_multipart()]
    return "\n".join([*told, *(text.decode() for text in texts if isinstance(text, bytes))])


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
    "an encoding on the next line": HEAD + b"Content-Transfer-Encoding:\n base64\n\nU0VDUkVU\n",
    "an encoding with a blank behind": HEAD + b"Content-Transfer-Encoding: base64 \n\nU0VDUkVU\n",
    "an encoding with another blank": HEAD + b"Content-Transfer-Encoding: \xc2\xa0base64\n\nU0VDUkVU\n",
    "an encoding in an encoding": HEAD + b"Content-Transfer-Encoding: =?utf-8?q?base64?=\n\nU0VDUkVU\n",
    "a kind in an encoding": HEAD + b"Content-Type: =?utf-8?q?text/html?=\n\nSECRET\n",
    "a place in an encoding": MIXED
    + TEXT.replace(b"\n\nhi", b"\nContent-Disposition: =?utf-8?q?attachment?=\n\nSECRET")
    + b"--b--\n",
    "two boundaries, one in brackets": MIXED.replace(b"=b", b'="<b>"')
    + TEXT
    + FILE
    + b"\n--<b>\n\nSECRET\n--<b>--\n--b--\n",
    "two boundaries, one in an encoding": MIXED.replace(b"=b", b'="=?utf-8?q?b?="')
    + TEXT
    + b"--=?utf-8?q?b?=\n\nSECRET\n--b--\n",
    "a boundary with a blank behind": MIXED.replace(b"=b", b'="b "') + TEXT + b"--b \n\nSECRET\n--b--\n",
    "letters of a mainframe": HEAD + b"Content-Type: text/plain; charset=cp037\n\nSECRET\n",
    "letters of Python": HEAD + b"Content-Type: text/plain; charset=unicode_escape\n\n\\x53ECRET\n",
    "letters that are none": MIXED + TEXT.replace(b"plain", b"plain; charset=us-ascii\0") + b"--b--\n",
    "a subject in letters of a mainframe": HEAD.replace(b" x", b" =?cp037?q?SECRET?=") + b"\nhi\n",
    "a subject behind its end": HEAD.replace(b" x", b" =?utf-8?b?SGk=U0VDUkVU?=") + b"\nhi\n",
    "a subject that is encoded twice": HEAD.replace(b" x", b" =?utf-8?q?=3D=3Futf-8=3Fq=3FSECRET=3F=3D?=")
    + b"\nhi\n",
    "a name behind its end": MIXED
    + FILE.replace(b"a.pdf", b'"=?utf-8?b?YS5wZGY=U0VDUkVU?="')
    + b"\nhi\n--b--\n",
    "another address of the sender": HEAD + b"Reply-To: bob@example.com <SECRET@example.com>\n\nhi\n",
    "two addresses, one behind": HEAD + b"Reply-To: Bob <bob@example.com>; SECRET@example.com\n\nhi\n",
    "an address behind the sender": HEAD.replace(b"ann@example.com", b"ann@example.com <SECRET@example.com>")
    + b"\nhi\n",
    "a blank behind a soft end of a line": HEAD
    + b"Content-Transfer-Encoding: quoted-printable\n\nSEC= \nRET\n",
}


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


LONG = "of the Legal Department of the Example Company Limited, Berlin and Munich and elsewhere"


@pytest.mark.parametrize("header", ["To", "Cc", "From", "Reply-To", "Sender"])
@pytest.mark.parametrize(
    "name",
    [f"eve@example.com, Ann {LONG}", f"Ann (Head {LONG}", f"Legal: Ann; {LONG}", f"Ann <e@x.org> {LONG}"],
)
def test_a_long_name_goes_out_as_the_card_has_it(header: str, name: str) -> None:
    """Python divides such a line and leaves the quotation marks out: others got the answers of everybody."""
    person = f'"{name}" <ann@example.com>'
    heads = {"From": "ann@example.com", "To": "bob@example.com"} | {header: person}
    lines = [*(f"{one}: {said}" for one, said in heads.items()), "Subject: x", "Message-ID: <a@b>"]
    try:
        card, sent = built("\n".join([*lines, "", "hi", ""]).encode())
    except ToolError as refused:
        assert "which cannot be sent from here as it is shown" in str(refused)  # noqa: PT017
        return
    assert name in card
    told = str(email.message_from_bytes(sent)[header])
    assert getaddresses([" ".join(told.split())]) == [(name, "ann@example.com")]


@pytest.mark.parametrize("data", (UNSEEN | TOLD).values(), ids=list(UNSEEN | TOLD))
def test_a_draft_is_sent_as_its_card_says_or_refused(data: bytes) -> None:
    try:
        card, sent = built(data)
    except ToolError as refused:
        assert "The draft" in str(refused)  # noqa: PT017 - either is right
    else:
        assert ("secret" in card.lower()) == ("secret" in read(sent).lower())
        assert not re.search(rb"boundary=[^=]*<|cp037|unicode_escape", sent)


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


OUTLOOK = (
    b'Content-Type: multipart/mixed;\n boundary="----=_NextPart_000_001A_01DC.5F(2)/+?"\nMIME-Version: 1.0\n\n'
    b"------=_NextPart_000_001A_01DC.5F(2)/+?\n"
    b'Content-Type: text/plain;\n\tcharset="ks_c_5601-1987"\nContent-Transfer-Encoding: BASE64\n\nvsiz5w==\n'
    b"------=_NextPart_000_001A_01DC.5F(2)/+?\n"
    b'Content-Type: application/pdf;\n\tname="=?iso-8859-1?Q?Gr=FC=DFe.pdf?="\n'
    b'Content-Disposition: attachment;\n\tfilename="=?iso-8859-1?Q?Gr=FC=DFe.pdf?="\n\nhi\n'
    b"------=_NextPart_000_001A_01DC.5F(2)/+?--\n"
)
PARTS = {
    "thunderbird": (THUNDERBIRD, ["multipart/mixed", "text/plain", "application/pdf"], "[attachment: a.pdf,"),
    "apple": (
        APPLE,
        ["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"],
        "Grüße\n[as html:]\n<b>hi</b>\n[attachment: a.png,",
    ),
    "outlook": (
        OUTLOOK,
        ["multipart/mixed", "text/plain", "application/pdf"],
        "안녕\n[attachment: Grüße.pdf,",
    ),
    "none": (b"\nhi\n", ["text/plain"], "hi"),
}


@pytest.mark.parametrize("program", PARTS)
def test_drafts_of_usual_programs_keep_their_parts(program: str) -> None:
    body, kinds, says = PARTS[program]
    for data in (HEAD + body, (HEAD + body).replace(b"\n", b"\r\n")):
        card, sent = built(data)
        mail, was = (message(each, "It") for each in (sent, data))
        assert says in card
        assert [part.get_content_type() for part in mail.walk()] == kinds
        assert [part["Content-ID"] for part in mail.walk()] == [part["Content-ID"] for part in was.walk()]
        for name in ("Message-ID", "In-Reply-To", "References", "User-Agent"):
            assert str(mail[name]).split() == str(was[name]).split()


@pytest.mark.parametrize("word", [b"\n base64", b"base64 ", b"\n\tBase64", b"\xc2\xa0base64", b"base64;"])
def test_a_mail_is_read_by_the_word_of_its_encoding(word: bytes) -> None:
    mail = message(HEAD + b"Content-Transfer-Encoding: " + word + b"\n\naGVsbG8=\n", "It")
    assert (content(mail), payload(mail)) == ("hello", b"hello")


async def test_a_foreign_draft_is_refused_before_anybody_is_asked_and_when_it_is_sent(tmp_path: Path) -> None:
    home, taken = maildir(tmp_path), Taken()
    (home / ".Drafts/cur/7.x:2,D").write_bytes(TOLD["a header of a mail in it"])
    async with posting(home, taken) as gate:
        assert "a part of the kind message/rfc822" in await gate.blind(
            "send_draft", draft_id=identified("7.x")
        )
        assert "a part of the kind message/rfc822" in await gate.refused(
            "send_draft", draft_id=identified("7.x")
        )
    assert taken.mails == []
