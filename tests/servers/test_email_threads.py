"""Threads as mail programs write them: whose words are whose, what was decided, what is attached; several words sought."""

from __future__ import annotations

import time
from base64 import b64encode
from email.message import EmailMessage
from pathlib import Path

import pytest

from servers.decision_sentences import decided
from servers.email import messages, tasks, texts
from servers.email.threads import related
from servers.email.wording import MOST_SPLIT, own_words
from tests.cpu_time import seconds, within
from tests.servers.figures import told
from tests.servers.mail import maildir, mailing

OUTLOOK = """From: {who}
Sent: Tuesday, 17 November 2026 09:12
To: Ann Example <ann@example.com>
Subject: Offers

Which offer do we take? The first one ends on Friday.
"""
OWN = "Hello,\n\nthe second. Can you sign on Monday?"
# How programs put what is answered below, above or into an answer; all of it is Bob's but OWN.
QUOTING = {
    "Outlook": OWN + "\n\n" + OUTLOOK.format(who="Bob <bob@example.com>"),
    "Outlook with a line": OWN + "\n\n" + "_" * 32 + "\n" + OUTLOOK.format(who="Bob <bob@example.com>"),
    "Outlook, German": OWN + "\n\nVon: Bob <bob@example.com>\nGesendet: Dienstag, 17. November 2026 09:12\nAn: Ann\nBetreff: Angebote\n\nWhich offer do we take?\n",
    "old Outlook": OWN + "\n\n-----Original Message-----\nFrom: Bob\nSent: Tuesday\nTo: Ann\n\nWhich offer do we take?\n",
    "Gmail": OWN + "\n\nOn Tue, Nov 17, 2026 at 9:12 AM Bob Builder <bob@example.com> wrote:\n\n> Which offer do we take?\n",
    "Gmail, wrapped": OWN + "\n\nOn Tue, Nov 17, 2026 at 9:12 AM Bob Builder of the Great Works <\nbob@example.com> wrote:\n\n> Which offer do we take?\n",
    "Thunderbird, German": OWN + "\n\nAm 17.11.2026 um 09:12 schrieb Bob Builder:\n> Which offer do we take?\n",
    "Apple Mail, French": OWN + "\n\nLe 17 nov. 2026 à 09:12, Bob Builder <bob@example.com> a écrit :\n\n> Which offer do we take?\n",
    "between the lines": "> Which offer do we take?\n\n" + OWN + "\n",
    "below": "On Tue, 17 Nov 2026 Bob wrote:\n> Which offer do we take?\n\n" + OWN + "\n",
}  # fmt: skip


@pytest.mark.parametrize("program", QUOTING)
def test_what_is_quoted_is_not_taken_for_own_words(program: str) -> None:
    assert own_words(QUOTING[program]) == OWN
    assert told("email.summarize_thread: whose words") == f"{len(QUOTING)} of {len(QUOTING)}"


LETTER = "\n\n".join(
    "\n".join(f"Point {n}.{line}: as we said, the offer of last week stands." for line in range(n % 40))
    or "So:"
    for n in range(50)
)


@pytest.mark.parametrize("program", [name for name in QUOTING if name not in ("between the lines", "below")])
def test_what_is_quoted_below_a_long_letter_is_found_too(program: str) -> None:
    assert 30_000 < len(LETTER) < MOST_SPLIT
    assert own_words(QUOTING[program].replace(OWN, LETTER)) == LETTER


def test_a_letter_in_long_lines_stays_whole() -> None:
    lines = [f"Line {n} " + "goes on and on " * 400 for n in range(5)]
    text = "\n".join(["Hello,", *lines, "bye"])
    assert own_words(text).split() == text.split()


@pytest.mark.parametrize(
    "piece",
    ["\n", " \n", "x", "Word and word. ", "> a\nb\n", "On Monday Bob wrote:\n", "From: a\nSent: b\nTo: c\n\n", "--\n",
     "_" * 40 + "\n", "On 1 Bob and Cleo and Dora.\n", "This e-mail is confidential ", "Sent from my\n", "Best\n"],
)  # fmt: skip
def test_a_mail_of_any_length_is_taken_apart_in_time(piece: str) -> None:

    text = piece * (tasks.LONGEST_TEXT // len(piece))
    with within(tasks.SECONDS, time.process_time):
        own_words(text)


DECIDED = """We agreed to take the second offer.|The board has approved the budget.|It was decided that Bob goes.|Let's go with the blue one.|We'll sign on Monday.
Agreed, the first of May.|Decision: we stay in Kiel.|The trip is cancelled.|We have all decided to wait.|Wir haben beschlossen, das zweite Angebot zu nehmen.
Beschluss: Das Büro bleibt.|Es wurde vereinbart, dass Bob fährt.|Der Termin wird auf Freitag verschoben.|Wir nehmen das zweite Angebot.|Einverstanden, dann am Montag.
Das Team hat sich auf Python geeinigt.|Gestern haben wir uns für Kiel entschieden.|We've settled on Friday.|So then we will use the old printer.|Es bleibt bei der alten Regel.""".replace(
    "\n", "|"
).split("|")
OPEN = """Should we take the second offer?|Have we decided?|We have not decided yet.|If we agreed, Bob would go.|I wonder whether the board has approved it.|Bob will call you.
The decision is hard.|Sollen wir das zweite nehmen?|Es wurde noch nichts beschlossen.|Ob wir das nehmen, ist offen.|The meeting is on Friday.|Please decide soon.|Ich nehme den Zug.
We would like to hear from you.|Agreement is a fine word.|Bitte entscheidet bis Montag.|Das Angebot ist gut.|Nobody agreed.|She takes the bus.|Wir hoffen auf gutes Wetter.""".replace(
    "\n", "|"
).split("|")


def test_decisions_are_told_from_what_is_open() -> None:
    found = sum(map(decided, DECIDED))
    wrong = sum(map(decided, OPEN))
    assert (found, wrong) == (len(DECIDED), 0)
    assert (
        told("decisions in English and German")
        == f"{found} of {len(DECIDED)} found, {wrong} of {len(OPEN)} taken wrongly"
    )


def put(home: Path, number: int, text: str, attachment: str = "") -> None:
    mail = EmailMessage()
    mail["From"] = "Ann Example <ann@example.com>" if number % 2 else "Bob Builder <bob@example.com>"
    mail["To"] = "Cleo <cleo@example.com>"
    mail["Subject"] = "Offers"
    mail["Date"] = f"Wed, {10 + number} Nov 2026 10:00:00 +0000"
    mail["Message-ID"] = f"<offer{number}@example.com>"
    mail["References"] = "<offer0@example.com>"
    mail.set_content(text)
    if attachment:
        mail.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename=attachment)
    (home / "cur" / f"{10 + number}.offer.host:2,S").write_bytes(mail.as_bytes())


async def test_a_summary_says_what_was_decided_and_attached_and_who_asked(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    put(home, 0, "Which offer do we take?", "Angebot Müller.pdf")
    put(
        home,
        1,
        "We agreed to take the second offer.\n\n" + OUTLOOK.format(who="Bob Builder <bob@example.com>"),
    )
    async with mailing(home) as gate:
        found = (await gate("search_emails", subject="Offers"))["messages"]
        text = (await gate("summarize_thread", message_id=found[0]["message_id"]))["text"]
    assert "- Bob Builder, 2026-11-10: Which offer do we take?" in text
    assert text.count("Which offer do we take?") == 1
    assert "Decided, as it seems:\n- Ann Example, 2026-11-11: We agreed to take the second offer." in text
    assert "Attachments:\n- Bob Builder, 2026-11-10: Angebot Müller.pdf" in text


async def test_a_search_finds_all_its_words_wherever_they_stand(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    put(home, 0, "The price of the second\noffer is too high for Müller.", "Angebot.pdf")
    async with mailing(home) as gate:
        for text, count in (
            ("müller price", 1), ('"second offer"', 1), ('"offer second"', 0), ("price nobody", 0), ("angebot.pdf", 1), ("board figures", 1),
        ):  # fmt: skip
            assert len((await gate("search_emails", text=text))["messages"]) == count, text


def test_blanks_between_the_parts_of_a_page_are_kept() -> None:
    mail = EmailMessage()
    mail.set_content(
        "<table><tr><td>Total</td><td>900 EUR</td></tr></table><p>Dear Ann,<br>see<b> here</b></p><ul><li>one<li>two</ul>"
        "<div>a</div><div>b</div><a href='https://example.org'>link</a>", subtype="html",
    )  # fmt: skip
    assert texts.said(mail) == "Total\t900 EUR\n\nDear Ann,\nsee here\n\n- one\n- two\n\na\n\nb\n\nlink"


@pytest.mark.slow
async def test_of_a_long_thread_the_newest_messages_are_told_and_the_others_counted(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    for n in range(205):
        (home / "cur" / f"{n}.long.host:2,S").write_text(
            f"From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: Rent\nMessage-ID: <long{n}@example.com>\n"
            + "In-Reply-To: <long0@example.com>\n" * bool(n)
            + f"Date: Mon, 02 Nov 2026 {n // 60:02}:{n % 60:02}:00 +0000\n\nDid you read {n:03}?\n"
        )
    async with mailing(home) as gate:
        found = await gate("search_emails", text='"Did you read 000"')
        [first] = [one for one in found["messages"] if one["date"].startswith("2026-11-02T00:00")]
        thread = await gate("summarize_thread", message_id=first["message_id"])
    assert (thread["messages"], thread["last"][:16]) == (201, "2026-11-02T03:24")
    assert "The thread has 4 older messages that are not in this" in thread["note"]
    assert thread["text"].endswith("Did you read 204?")


def with_html(text: str, page: str) -> EmailMessage:
    mail = EmailMessage()
    mail.set_content(text)
    mail.add_alternative(page, subtype="html")
    return messages.message(mail.as_bytes(), "a.eml")


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("See you tomorrow.", "<p>Please wire the whole amount to X.</p>"),
        ("Please pay 900 EUR.", "<p>Please pay <b>9000</b> EUR.</p>"),
        ("", "<p>Please wire the whole amount to X.</p>"),
    ],
)
def test_html_that_says_something_else_than_the_plain_text_is_read_too(text: str, page: str) -> None:
    mail = with_html(text, page)
    other = page.replace("<b>", "").replace("</b>", "")[3:-4]
    assert texts.said(mail).strip() == f"{text}\n{texts.OTHER_HTML}\n{other}".strip()
    assert tasks.written(mail.as_bytes(), names=["a.eml"])[0]["found"][0]["unread"] == (
        "has HTML that says something else than its plain text"
    )


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("*Hello* Ann,\n\n1. see <https://example.com/4711>", "<p><b>Hello</b> Ann,<ol><li><a href='https://example.com/4711'>see</a></ol>"),
        ("Hello Ann", "<style>p {width: 100px}</style><p>Hello Ann</p><p>Unsubscribe here</p>"),
    ],
)  # fmt: skip
def test_html_that_says_the_same_is_not_read_again(text: str, page: str) -> None:
    mail = with_html(text, page)
    assert texts.said(mail) == text
    assert texts.half_read(texts.said(mail)) == ""


def test_html_that_is_too_long_to_be_compared_is_named() -> None:
    text = texts.said(with_html("Hello", f"<p>{'word ' * (texts.LONGEST_HTML // 5)}</p>"))
    assert text == f"Hello\n{texts.LONG_HTML}"
    assert texts.half_read(text) == "has HTML that is too long to be compared with its plain text"


def test_text_behind_the_end_of_base64_is_said_to_be_cut_off() -> None:
    head = (
        b"From: a@example.com\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    )
    first, second = b64encode(b"We agree!!"), b64encode(b" Only if you pay twice.")
    assert first.endswith(b"=")
    cut = messages.message(head + first + b"\n" + second + b"\n", "a.eml")
    whole = messages.message(head + b64encode(b"We agree!! Only if you pay twice.") + b"\n", "b.eml")
    assert messages.partly(cut) == [
        "[This mail is cut off: its text goes on behind the mark of its end, which cannot be read.]"
    ]
    assert messages.partly(whole) == []


def test_a_thread_is_all_that_its_ids_lead_to_in_either_direction() -> None:
    others = {"a": {"1", "2"}, "b": {"2", "3"}, "c": {"3"}, "d": {"8", "9"}, "e": set[str](), "f": {"0", "4"}}
    assert related({"0", "1"}, others) == {"a", "b", "c", "f"}
    assert related({"9"}, others) == {"d"}
    assert related({"7"}, others) == set()


def test_no_long_chain_of_answers_takes_long_to_follow() -> None:
    others = {f"{n}": {f"<{n}@a>", f"<{n + 1}@a>"} for n in range(6_000)}
    assert seconds(lambda: related({"<6000@a>"}, others), 2, 0.2) < 0.2
    assert len(related({"<6000@a>"}, others)) == 6_000
