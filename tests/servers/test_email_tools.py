"""The mail server: what it says of itself, what it finds, how it sums up a thread, what it drafts and refuses."""

from __future__ import annotations

import email
import email.policy
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from servers.email import configured
from servers.email.mailboxes import identified
from tests.servers.files import Ask, sha, tree
from tests.servers.gate_around_server import check_cards
from tests.servers.mail import CLASSES, mail_app, maildir, mailing

ONE, TWO, THREE = (identified(name) for name in ("1.first.host", "2.second.host", "3.other.host"))
TO_BOB = {"to": "Bob Builder <bob@example.com>", "subject": "Figures", "body": "Here they are.\n"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_says_all_that_the_gate_wants_to_know(tmp_path: Path, mode: Any) -> None:
    async with Client(mail_app(maildir(tmp_path)), mode=mode) as client:
        tools = (await client.list_tools()).tools
        check_cards(tools, CLASSES, frozenset({"send_draft"}))
        open_world = {tool.name for tool in tools if tool.annotations and tool.annotations.open_world_hint}
        assert open_world == {"send_draft"}


@pytest.mark.slow(but=3)
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, [THREE, TWO, ONE]),
        ({"text": "FIGURES"}, [ONE]),
        ({"text": "with ann"}, [TWO]),
        ({"text": "color"}, []),
        ({"text": "ärger"}, [THREE]),
        ({"sender": "jürgen"}, [THREE]),
        ({"recipient": "cleo"}, [ONE]),
        ({"subject": "q3"}, [TWO, ONE]),
        ({"since": "2026-11-19"}, [THREE, TWO]),
        ({"until": "2026-11-18"}, [ONE]),
        ({"since": "2026-11-19", "until": "2026-11-19"}, [TWO]),
        ({"unread": True}, [TWO]),
        ({"mailbox": "inbox"}, [THREE, TWO, ONE]),
        ({"mailbox": "Nowhere"}, []),
    ],
)
async def test_mails_are_found_by_what_they_say(
    tmp_path: Path, asked: dict[str, Any], found: list[str]
) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        answer = await gate("search_emails", **asked)
        assert [line["message_id"] for line in answer["messages"]] == found
        assert answer["note"] == ("" if found else "There are none.")


async def test_a_mail_is_read_as_people_read_it(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        read = await gate("read_email", message_id=THREE)
        assert read["text"].startswith("From: Jürgen <juergen@example.org>\nTo: ann@example.com\n")
        assert read["text"].endswith("Subject: Ärger\n\nLunch?")
        assert (await gate("read_email", message_id=TWO))["text"].count("color") == 0
        assert (await gate("read_email", message_id="nope"))["exists"] is False


MIXED = b"""From: Bob <bob@example.com>
From: Eve <eve@example.com>
To: Ann <ann@example.com>
Subject: Three parts
References: <one@example.com>
Cc: %b
Content-Type: multipart/mixed; boundary=B

--B
Content-Type: multipart/alternative; boundary=C

--C
Content-Type: text/plain; charset=unicode_escape

Plain words \\ud800 first.
--C
Content-Type: text/html

<p>First, plain words</p>
--C--
--B
Content-Type: text/html

<p>Wording that only the page has?</p>
--B
Content-Type: text/calendar; name=meeting.ics

BEGIN:VCALENDAR
--B
Content-Type: message/rfc822
Content-Disposition: attachment; filename=old.eml

Subject: inner

Inner words
--B--
""" % (b"x" * 40_000)


async def test_nothing_in_a_mail_is_left_out_without_a_word(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    (home / "cur" / "9.mixed.host:2,").write_bytes(MIXED)
    mixed, inner = identified("9.mixed.host"), sha(b"Subject: inner\n\nInner words")
    async with mailing(home) as gate:
        text = (await gate("read_email", message_id=mixed))["text"]
        assert "From: Bob <bob@example.com>\nFrom: Eve <eve@example.com>\n" in text
        assert "Cc: [40,000 characters, too many to be read]" in text
        calendar = "[A calendar in this mail cannot be read.]"
        inside = "[In this mail is another one:]\nSubject: inner\n\nInner words\n[until here]"
        assert f"Plain words ? first.\nWording that only the page has?\n{calendar}\n{inside}" in text
        assert "First, plain" not in text
        assert "[attachment: meeting.ics, text/calendar, 15 bytes, " in text
        assert f"[attachment: old.eml, message/rfc822, 27 bytes, SHA-256 {inner}]" in text
        found = await gate("search_emails", text="wording meeting.ics")
        assert [line["message_id"] for line in found["messages"]] == [mixed]
        thread = await gate("summarize_thread", message_id=ONE)
        assert thread["messages"] == 3, thread


async def test_a_thread_is_summed_up_by_rule(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        for start in (ONE, TWO):
            told = await gate("summarize_thread", message_id=start)
            assert told["text"] == (
                "The Q3 report: 2 messages, 2026-11-18 08:12 to 2026-11-19 10:00 (UTC)\n"
                "Wrote: Bob Builder <bob@example.com> (1), Cleo <cleo@example.com> (1)\n"
                "Only addressed: Ann Example <ann@example.com>\n"
                "Questions:\n"
                "- Bob Builder, 2026-11-18: can you send me the figures?\n"
                "- Cleo, 2026-11-19: Is Friday fixed? (nobody has answered)\n"
                "Last, Cleo, 2026-11-19 10:00:\n"
                "They are with Ann.\n\nIs Friday fixed?"
            )
        assert (await gate("summarize_thread", message_id=THREE))["messages"] == 1
        assert "There is no mail nope" in await gate.refused("summarize_thread", message_id="nope")


async def test_a_draft_is_shown_as_it_will_be_and_can_be_taken_back(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    async with mailing(home) as gate:
        before = tree(home)
        done = await gate.do(
            "draft_email", to="Bob <bob@example.com>, cleo@example.com", bcc="Dora <dora@example.com>",
            subject="Re: Grüße", body="Hello\r\nyou – all\n.\n", in_reply_to=TWO,
        )  # fmt: skip
        assert done.preview.summary == "Draft a mail: Re: Grüße, to bob@example.com and 2 more"
        assert done.preview.diff == (
            "From: Ann Example <ann@example.com>\n"
            "To: Bob <bob@example.com>, cleo@example.com\n"
            "Bcc: Dora <dora@example.com> (the others do not see this)\n"
            "Subject: Re: Grüße\n\n"
            "Hello\nyou – all\n."
        )
        [draft] = (await gate("list_drafts"))["drafts"]
        assert draft["draft_id"] == done.result["draft_id"]
        assert draft["recipients"] == "bob@example.com, cleo@example.com, dora@example.com"
        data = (home / done.result["file"]).read_bytes()
        assert data.isascii()
        mail = email.message_from_bytes(data, policy=email.policy.default)
        assert mail["References"] == "<one@example.com> <two@example.com>"
        assert mail["In-Reply-To"] == "<two@example.com>"
        assert mail["Message-ID"] == "<id1@example.com>"
        assert mail.get_content() == "Hello\nyou – all\n.\n"
        await gate.undo(done)
    assert tree(home) == before


HOSTILE: list[tuple[dict[str, str], str]] = [
    ({"subject": "Hi\r\nBcc: eve@example.com"}, "line break"),
    ({"subject": "Hi\nBcc: eve@example.com"}, "line break"),
    ({"subject": "Hi\rBcc: eve@example.com"}, "line break"),
    ({"subject": "Hi\u2028Bcc: eve@example.com"}, "line break"),
    ({"subject": "Hi\0"}, "line break"),
    ({"to": "bob@example.com\r\nBcc: eve@example.com"}, "line break"),
    ({"cc": "bob@example.com\nBcc: eve@example.com"}, "line break"),
    ({"to": '"Bob\r\nBcc: eve@example.com" <bob@example.com>'}, "line break"),
    ({"to": "bob"}, "not all addresses"),
    ({"to": "bob@example.com eve@example.com"}, "not all addresses"),
    ({"to": "bob@example.com, @"}, "not all addresses"),
    ({"to": '"Bob <bob@example.com>'}, "not all addresses"),
    ({"to": "a@b.c <bob@example.com>"}, "not all addresses"),
    ({"to": "bob@exa mple.com"}, "not all addresses"),
    ({"to": "bob@example..com"}, "not all addresses"),
    ({"to": "bob@-example.com"}, "not all addresses"),
    ({"to": "bоb@example.com"}, "not all addresses"),  # a Cyrillic о
    ({"to": "<bob@example.com>@eve.example"}, "not all addresses"),
    ({"to": "alice@example.org)bob@example.org"}, "not all addresses"),
    ({"to": "team: bob@example.com, eve@example.com;"}, "not all addresses"),
    ({"to": ""}, "Nobody would get"),
    ({"to": ", ".join(f"p{n}@example.com" for n in range(101))}, "at most 100"),
    ({"body": "a\0b"}, "no mail can carry"),
    ({"in_reply_to": "nothing"}, "There is no mail nothing"),
]


@pytest.mark.slow
async def test_what_is_no_address_or_would_smuggle_a_header_is_refused(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    async with mailing(home) as gate:
        before = tree(home)
        for args, said in HOSTILE:
            assert said in await gate.refused("draft_email", **(TO_BOB | args)), args
            assert said in await gate.blind("draft_email", **(TO_BOB | args)), args
        await gate.refused("draft_email", **TO_BOB, attachment="/etc/passwd")
    assert tree(home) == before


BROKEN = {
    "empty": b"",
    "binary": b"\x00\xff\xfe\x01" * 400,
    "nameless": b"Subject\n\nhello",
    "charset": b"From: a@b\nSubject: x\nContent-Type: text/plain; charset=nowhere\n\nh\xe4llo",
    "from": b"From: =?utf-8?q?=0A?= <\nTo: <<>>, @\nSubject: \xff\nDate: yesterday\n\nx",
    "nested": b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(3000)
    ),
    "many": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 500,
    "long": b"Subject: " + b"x" * 200_000 + b"\n\nx",
    "date": b"Date: Fri, 99 Nov 99999 08:00:00 +9999\n\nx",
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.timeout(30)
async def test_a_mail_that_makes_no_sense_hides_no_other(tmp_path: Path, name: str) -> None:
    home = maildir(tmp_path)
    (home / "cur" / f"9.{name}.host:2,").write_bytes(BROKEN[name])
    (home / "cur" / "8.link.host:2,").symlink_to("/etc/hostname")
    (home / ".Drafts/cur" / f"9.{name}.draft:2,").write_bytes(BROKEN[name])
    bad = identified(f"9.{name}.host")
    async with mailing(home) as gate:
        assert (await gate("summarize_thread", message_id=ONE))["messages"] == 2
        await gate("draft_email", **TO_BOB)
        drafts = await gate("list_drafts")
        assert "Figures" in [line["subject"] for line in drafts["drafts"]]
        assert [line["message_id"] for line in (await gate("search_emails", text="figures"))["messages"]] == [
            ONE
        ]
        for tool in ("read_email", "summarize_thread"):
            answer = await gate.host.call("email", tool, f'{{"message_id": "{bad}"}}'.encode(), 20)
            assert not answer.is_error or answer.text.endswith((".", ").")), answer.text


def test_a_folder_that_is_no_maildir_stops_the_start_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("x")
    (tmp_path / "file").write_text("x")
    home, me = str(tmp_path / "mail"), "ann@example.com"
    for words in (
        [],
        ["--maildir", home],
        ["--maildir", home, "--from", "nobody"],
        ["--maildir", home, "--from", "ann@example.com, bob@example.com"],
        ["--maildir", str(tmp_path / "notes"), "--from", me],
        ["--maildir", str(tmp_path / "file"), "--from", me],
        ["--maildir", home, "--from", me, "--smtp-host", "x", "--smtp-user", "ann"],
        ["--maildir", home, "--from", me, "--smtp-security", "ssl"],
    ):
        with pytest.raises(ValueError, match=r"\.$|Try"):
            configured(words)
    assert not (tmp_path / "mail").exists()
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["a.md"]


@pytest.mark.slow
async def test_the_server_runs_on_standard_input_and_output(tmp_path: Path) -> None:
    words = ["-m", "servers.email", "--maildir", str(tmp_path / "mail"), "--from", "Ann <ann@example.com>"]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=Path(__file__).parents[2])
    async with Client(command, read_timeout_seconds=60) as client:
        ask = Ask(client)
        made = await ask("draft_email", **TO_BOB)
        [draft] = (await ask("list_drafts"))["drafts"]
        assert draft["draft_id"] == made["draft_id"]
        assert "No mail server is set up" in await ask.refused("send_draft", draft_id=made["draft_id"])
        assert len((await ask("list_drafts"))["drafts"]) == 1
