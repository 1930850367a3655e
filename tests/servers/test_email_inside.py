"""What stands in a mail belongs to who wrote it: mails inside of mails, days in sentences, texts that programs wrapped."""

from __future__ import annotations

import email
import email.policy
from email.message import EmailMessage
from pathlib import Path
from typing import cast

import pytest

from servers.email import messages, tasks, texts
from tests.servers.mail import maildir, mailing

HEAD = b"From: Bob <bob@example.com>\nTo: ann@example.com\nSubject: Move\nDate: Wed, 18 Nov 2026 09:12:00 +0100\n"


def read(data: bytes) -> EmailMessage:
    return messages.message(data, "It")


def text(body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> EmailMessage:
    return read(HEAD + b"Content-Type: " + kind + b"\n\n" + body)


def forwarded() -> EmailMessage:
    inner = EmailMessage()
    inner["From"], inner["To"], inner["Subject"] = "Ina <ina@example.org>", "bob@example.com", "Sale"
    inner["Date"] = "Mon, 16 Nov 2026 08:00:00 +0000"
    inner.set_content("We decided to sell. Do you agree?")
    inner.add_alternative("<p>We decided to sell. Do you agree? <b>By May.</b></p>", subtype="html")
    inner.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="offer.pdf")
    outer = email.message_from_bytes(HEAD, policy=email.policy.default)
    outer = cast(EmailMessage, outer)
    outer.set_content("See below.")
    outer.add_attachment(inner)
    return read(outer.as_bytes())


def test_a_mail_inside_of_another_one_is_read_with_who_wrote_it() -> None:
    assert texts.said(forwarded()) == (
        "See below.\n[In this mail is another one:]\nFrom: Ina <ina@example.org>\nTo: bob@example.com\n"
        "Date: Mon, 16 Nov 2026 08:00:00 +0000\nSubject: Sale\n\nWe decided to sell. Do you agree?\n"
        "[The HTML of this mail says something else:]\nWe decided to sell. Do you agree? By May.\n[until here]"
    )


def test_what_a_mail_inside_of_another_one_says_is_not_told_as_the_words_of_who_sent_it_on() -> None:
    told = tasks._written(forwarded())
    assert (told["words"], told["decisions"], told["questions"]) == ("See below.", [], [])
    assert told["attached"] == ["“Sale”", "offer.pdf"]


@pytest.mark.slow
async def test_a_mail_is_found_by_the_subject_of_a_mail_inside_of_it(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    (home / "cur" / "9.other.host:2,S").write_bytes(forwarded().as_bytes())
    async with mailing(home) as gate:
        [found] = (await gate("search_emails", text="Ina Sale"))["messages"]
    assert found["subject"] == "Move"


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir haben entschieden, am 1. Mai umzuziehen.",
        "We decided to pay Dr. Miller 500 EUR, approx. half of it.",
        "We agreed to sign version 2.1 on 3. June at the latest.",
    ],
)
def test_a_decision_is_told_with_its_day(sentence: str) -> None:
    assert tasks._decisions(f"Hello,\n{sentence} More follows.\n") == [sentence]


def test_a_question_is_told_whole_when_it_was_wrapped_or_names_a_day() -> None:
    words = (
        "Hi Ann,\n\ncan you tell me whether the figures of the last quarter\nare ready by Friday?\n"
        "Passt dir der 3. Mai?\n- first?\n- second?\nSee https://example.com/?q=1 for more.\n"
    )
    assert tasks._questions(words) == [
        "can you tell me whether the figures of the last quarter are ready by Friday?",
        "Passt dir der 3. Mai?",
        "- first?",
        "- second?",
    ]


@pytest.mark.parametrize("charset", [b"iso-8859-1", b"us-ascii", b"ISO-8859-1"])
def test_the_sign_for_euro_is_read_where_a_program_names_the_older_charset(charset: bytes) -> None:
    mail = text("Preis: 5 € – “fest”".encode("cp1252"), b"text/plain; charset=" + charset)
    assert texts.said(mail) == "Preis: 5 € – “fest”"


@pytest.mark.parametrize(
    ("options", "body", "said"),
    [
        (b"", b"one \ntwo\nthree \n-- \nBob \nBuilder", "one two\nthree \n-- \nBob Builder"),
        (b"; delsp=yes", b"pays 12 \n00 EUR\n", "pays 1200 EUR"),
        (b"", b"> quoted \n> text\n>> more \nmine", "> quoted text\n>> more \nmine"),
        (b"", b" >no quote", ">no quote"),
    ],
)
def test_lines_that_were_broken_to_be_sent_are_one_again(options: bytes, body: bytes, said: str) -> None:
    assert texts.said(text(body, b"text/plain; format=flowed" + options)) == said
