"""Mails that are a calendar say what they invite to, and text files that are attached are searched."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

from servers.email import messages, texts
from tests.servers.mail import maildir, mailing

HEAD = "From: Ivy <ivy@example.org>\nTo: ann@example.com\nDate: Mon, 23 Nov 2026 10:12:00 +0100\n"
EVENT = (
    "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nSUMMARY:Budget round\n"
    "DTSTART;TZID=W. Europe Standard Time:20261201T100000\nDTEND;TZID=W. Europe Standard Time:20261201T113000\n"
    "LOCATION:Room 4\nDESCRIPTION:bring cake\nRRULE:FREQ=WEEKLY;COUNT=3\nEND:VEVENT\nEND:VCALENDAR\n"
)
SAID = (
    "[Invitation: Budget round, 2026-12-01 10:00 (W. Europe Standard Time), until 2026-12-01 11:30 "
    "(W. Europe Standard Time), repeats: FREQ=WEEKLY;COUNT=3, at Room 4, bring cake]"
)


def said(calendar: str) -> str:
    kind = "Content-Type: text/calendar; charset=utf-8; method=REQUEST"
    return texts.said(messages.message(f"{HEAD}Subject: x\n{kind}\n\n{calendar}".encode(), "It")).strip()


def test_a_mail_that_is_only_a_calendar_says_what_it_invites_to() -> None:
    assert said(EVENT) == SAID
    assert said(EVENT.replace("METHOD:REQUEST", "METHOD:CANCEL")).startswith("[Cancelled: Budget round, ")
    day = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20261201\nEND:VEVENT\nEND:VCALENDAR\n"
    assert said(day) == "[Invitation: (no title), 2026-12-01]"
    assert said(day.replace("DTSTART;VALUE=DATE:20261201\n", "DURATION:PT90M\n")) == (
        "[Invitation: (no title), without a time, for 1:30:00]"
    )


def test_a_calendar_that_is_broken_too_long_or_empty_is_said_to_be() -> None:
    assert said("garbage") == "[A calendar in this mail cannot be read.]"
    assert said(EVENT + " " * 100_000) == "[A calendar in this mail is too long to be read.]"
    assert said("BEGIN:VCALENDAR\nEND:VCALENDAR\n") == "[A calendar in this mail has no events.]"
    one = EVENT.removeprefix("BEGIN:VCALENDAR\nMETHOD:REQUEST\n").removesuffix("END:VCALENDAR\n")
    many = "".join(one.replace("Budget", str(n)) for n in range(25))
    assert said(f"BEGIN:VCALENDAR\n{many}END:VCALENDAR\n").endswith("[5 more events are in it.]")


async def test_invitations_and_text_files_are_searched_and_of_others_it_is_said(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    kind = "Content-Type: text/calendar; charset=utf-8"
    (home / "cur" / "4.ivy.host:2,S").write_text(f"{HEAD}Subject: Invitation\n{kind}\n\n{EVENT}")
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "bob@example.com", "ann@example.com", "Files"
    mail.set_content("see attached")
    mail.add_attachment("The crane costs 900.", filename="notes.txt")
    (home / "cur" / "5.files.host:2,S").write_bytes(mail.as_bytes())
    async with mailing(home) as gate:
        for words, subject in (("budget cake", "Invitation"), ("crane", "Files"), ("notes.txt", "Files")):
            found = await gate("search_emails", text=words)
            assert ([one["subject"] for one in found["messages"]], found["note"]) == ([subject], "")
        [one] = (await gate("search_emails", text="budget"))["messages"]
        assert SAID in (await gate("read_email", message_id=one["message_id"]))["text"]
        mail.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="plan.pdf")
        (home / "cur" / "6.files.host:2,S").write_bytes(mail.as_bytes())
        found = await gate("search_emails", text="crane")
        assert found["note"] == "1 message has attachments of which only the names were searched."
        assert (await gate("search_emails", sender="bob"))["note"] == ""
