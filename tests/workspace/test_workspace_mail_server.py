"""The mail server for trying takes what a real client sends, byte for byte, and delivers nothing."""

from __future__ import annotations

import asyncio
import smtplib
from pathlib import Path

import pytest

from workspace.mail_server import MailServer

MAIL = b"Subject: x\r\n\r\n.\r\n..two\r\nGr\xc3\xbc\xc3\x9fe\r\n"


async def test_a_mail_is_kept_as_it_was_sent_with_everybody_it_was_for(tmp_path: Path) -> None:
    postbox = MailServer(tmp_path / "mails")
    port = await postbox.start()

    def send() -> None:
        with smtplib.SMTP("127.0.0.1", port, timeout=20) as line:
            assert line.noop()[0] == 250
            assert line.docmd("TURN")[0] == 500
            assert line.docmd("DATA")[0] == 503
            for _ in range(2):
                line.sendmail(
                    "ann@example.com", ["bob@example.com", "dora@example.com"], MAIL, ["BODY=8BITMIME"]
                )

    await asyncio.to_thread(send)
    await postbox.stop()
    kept = [path.read_bytes() for path in sorted((tmp_path / "mails").iterdir())]
    assert (
        kept
        == [
            b"X-Envelope-From: ann@example.com\r\nX-Envelope-To: bob@example.com, dora@example.com\r\n" + MAIL
        ]
        * 2
    )


async def test_an_incomplete_mail_is_not_stored(tmp_path: Path) -> None:
    postbox = MailServer(tmp_path / "mails")
    port = await postbox.start()

    def send() -> None:
        line = smtplib.SMTP("127.0.0.1", port, timeout=20)
        line.ehlo()
        line.mail("ann@example.com")
        line.rcpt("bob@example.com")
        assert line.docmd("DATA")[0] == 354
        line.send(b"Subject: half\r\n")
        line.close()
        with pytest.raises(smtplib.SMTPServerDisconnected):
            smtplib.SMTP("127.0.0.1", port, timeout=20).docmd("NOOP", "x" * 5000)

    await asyncio.to_thread(send)
    await postbox.stop()
    assert list((tmp_path / "mails").iterdir()) == []
