"""No text that somebody gives becomes another header, another recipient, or another line of a file."""

from __future__ import annotations

import email
import email.policy
from datetime import UTC, datetime
from email.headerregistry import Address
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.calendar import drafts
from servers.calendar.events import NewEvent
from servers.days import Days
from servers.email import messages, outgoing
from servers.email.sending import ready
from servers.filesystem.paths import Roots
from tests.cpu_time import seconds

ME = Address("Ann", addr_spec="ann@example.com")
AT = datetime(2026, 1, 1, tzinfo=UTC)
HEAD = messages.Letterhead(ME, AT, "<1@example.com>")
GIVEN = {"to": "bob@example.com", "subject": "hello", "body": "text\n"}
HIDDEN = [
    "=?utf-8?q?hello=0D=0ABcc:_evil@example.com?=",
    "=?utf-8?b?aGkNCkJjYzogZXZpbEBleGFtcGxlLmNvbQ==?=",
    "Grüße =?UTF-8?Q?x=0ABcc:_evil@example.com?=",
    "=?utf-8?q?x=0D=0AX-Evil:_1?= and more",
    "=?utf-8*en?q?x=0D=0A=0D=0Aanother body?=",
    "=?utf-8?q?=E2=80=A8Bcc:_evil@example.com?=",
    "a\r\nBcc: evil@example.com",
    "a\u2028Bcc: evil@example.com",
]


@pytest.mark.parametrize("text", HIDDEN)
@pytest.mark.parametrize("field", ["subject", "to", "cc", "bcc"])
def test_a_line_break_in_any_code_makes_no_header(field: str, text: str) -> None:
    given = text if field == "subject" else f'"{text}" <bob@example.com>'
    with pytest.raises(ToolError):
        messages.composed(HEAD, {**GIVEN, field: given})


@pytest.mark.parametrize(
    "text", ["Why =? and ?= matter", "a=b?c", "50% off?", "Grüße aus Köln — 你好", "a" * 500]
)
def test_usual_subjects_arrive_as_they_were_written(text: str) -> None:
    mail = messages.composed(HEAD, {**GIVEN, "subject": text})
    out = outgoing.told(*ready(mail.as_bytes(policy=messages.STORED), ME, {}), ME)
    wire = email.message_from_bytes(out.wire(AT), policy=email.policy.default)
    assert (str(wire["Subject"]), str(wire["To"]), wire["Bcc"]) == (text, "bob@example.com", None)
    assert out.envelope == ["bob@example.com"]


def test_an_id_of_a_mail_that_came_in_makes_no_header_in_the_answer() -> None:
    """Encoded twice, so that it has no blank once it is decoded."""
    inner = "=?utf-8?q?x=0D=0ABcc:evil@example.com?="
    outer = "".join(f"={byte:02X}" for byte in inner.encode())
    came = messages.message(
        f"From: eve@example.com\nReferences: <=?utf-8?q?{outer}?=@x> <fine@x>\n"
        f"Message-ID: <{inner}@x>\n\nhi\n".encode(),
        "The mail",
    )
    answers = messages.thread_of(came)
    head = messages.Letterhead(ME, AT, "<1@example.com>", answers)
    mail = messages.composed(head, GIVEN)
    read = email.message_from_bytes(mail.as_bytes(policy=messages.STORED), policy=email.policy.default)
    assert read["Bcc"] is None
    assert all("evil" not in one for one in answers)


def test_a_header_that_would_be_read_as_another_is_refused_whatever_was_looked_for() -> None:
    head = messages.Letterhead(ME, AT, "<1@example.com>", ("<=?utf-8?q?x=0D=0ABcc:evil@example.com?=@x>",))
    with pytest.raises(ToolError, match="That cannot be written as a mail"):
        messages.composed(head, GIVEN)


def test_a_foreign_draft_with_an_encoded_line_break_is_not_sent() -> None:
    data = (
        b"From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: =?utf-8?q?hello=0D=0ABcc:_evil@example.com?=\n"
        b"Date: Thu, 01 Jan 2026 00:00:00 +0000\nMessage-ID: <1@x>\n\nhi\n"
    )
    with pytest.raises(ToolError, match="Write the mail anew as a draft"):
        ready(data, ME, {})


def test_the_name_of_an_attachment_stays_in_its_line() -> None:
    mail = messages.message(
        b"From: ann@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        b"Content-Type: application/x-a\nContent-Disposition: attachment;\n"
        b" filename*=utf-8''a.pdf%0D%0AFrom%3A%20boss%40example.com\n\nx\n--b--\n",
        "The mail",
    )
    (line,) = messages.attachments(mail)
    assert "\n" not in line
    assert "\r" not in line


def test_a_header_of_very_many_lines_is_put_together_once() -> None:
    """Each of its lines was added to all before it."""
    head = b"X: a\n" + b" \n" * (outgoing.MOST_HEADERS // 2 - 5)
    assert outgoing.fields(head) == [("x", head)]
    assert seconds(lambda: outgoing.fields(head), 3, 0.15) < 0.15


@pytest.mark.parametrize("break_", ["\r\n", "\r", "\n", "\x85", "\u2028", "\u2029"])
def test_a_text_of_an_event_makes_no_property_of_its_file(break_: str, tmp_path: Path) -> None:
    days = Days(lambda: AT, ZoneInfo("UTC"))
    asked = NewEvent(
        title="Lunch", start="2026-02-01 12:00", minutes=30, description=f"a{break_}ATTENDEE:mailto:eve@x"
    )
    made = drafts.draft(asked, days, Roots.at([tmp_path]))
    text = made.written("uid", AT).decode()
    assert not any(line.startswith("ATTENDEE") for line in text.splitlines())
    for field in ("title", "location"):
        with pytest.raises(ToolError, match="Write one line"):
            drafts.draft(asked.model_copy(update={field: f"a{break_}b"}), days, Roots.at([tmp_path]))
