"""The index of mails: words in any order, phrases and fields; each mail is read once, and again when it changes."""

from __future__ import annotations

import datetime
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from servers.email import messages, tasks
from servers.email.mailboxes import Boxes
from servers.email.search import Index
from servers.email.words import Wanted, plain, terms
from servers.filesystem.listing import Budget
from servers.filesystem.paths import Roots
from servers.sandbox import calling
from servers.sandbox.calling import Job, Result
from tests.cpu_time import within
from tests.servers.files import same_age
from tests.servers.mail import maildir, mailing

OFFER = """From: Dora Dunn <dora@example.net>
To: ann@example.com
Subject: Offer for the roof
Date: Mon, 16 Nov 2026 09:00:00 +0000
Content-Type: multipart/mixed; boundary=b

--b

The new roof costs 12.500,00 EUR.
Bob knows (call him) – Grüße,
Dora
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename="Angebot-4711.pdf"

x
--b--
"""


def mail(number: int, words: str) -> str:
    return (
        f"From: P{number} <p{number}@example.com>\nTo: ann@example.com\nSubject: Mail {number}\n\n{words}\n"
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = maildir(tmp_path)
    (home / "cur" / "4.offer.host:2,S").write_text(OFFER)
    return home


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("roof offer", ["Offer for the roof"]),
        ("offer roof", ["Offer for the roof"]),
        ('"offer roof"', []),
        ('"OFFER for   the"', ["Offer for the roof"]),
        ('eur "new roof"', ["Offer for the roof"]),
        ("roof figures", []),
        ("from:dora", ["Offer for the roof"]),
        ("From:Dora bob", ["Offer for the roof"]),
        ("from:bob", ["The Q3 report"]),
        ('subject:"q3 report" friday', ["Re: The Q3 report", "The Q3 report"]),
        ("subject:friday", []),
        ("to:cleo", ["The Q3 report"]),
        ("von:jürgen", ["Ärger"]),
        ("betreff:ärger lunch", ["Ärger"]),
        ("angebot-4711", ["Offer for the roof"]),
        ("12.500,00", ["Offer for the roof"]),
        ("(call him)", ["Offer for the roof"]),
        ("q3", ["Re: The Q3 report", "The Q3 report"]),
        ("GRÜSSE", ["Offer for the roof"]),
        ("oo", ["Offer for the roof"]),
        ("roof*", []),
        ('roof" OR body:figures', []),
        ("roof NOT offer", []),
        ("NEAR(roof offer)", []),
        ("from:", []),
        ('""', ["Ärger", "Re: The Q3 report", "The Q3 report", "Offer for the roof"]),
    ],
)
async def test_a_search_asks_for_words_phrases_and_fields(home: Path, text: str, subjects: list[str]) -> None:
    async with mailing(home) as gate:
        found = await gate("search_emails", text=text)
        assert [line["subject"] for line in found["messages"]] == subjects


async def test_a_mail_is_read_again_when_it_changes(home: Path) -> None:
    path = home / "cur" / "4.offer.host:2,S"
    before = path.stat()
    async with mailing(home) as gate:

        async def finds(text: str) -> int:
            return len((await gate("search_emails", text=text))["messages"])

        assert await finds("roof") == 1
        path.write_text(OFFER.replace("roof", "wall"))
        same_age(path, before)
        assert (await finds("roof"), await finds("wall")) == (0, 1)
        other = path.with_name("other")
        other.write_text(OFFER)
        same_age(other, before)
        other.replace(path)
        assert await finds("roof") == 1, "another file of the same size and time"
        path.rename(path.with_name("4.offer.host:2,"))
        unread = await gate("search_emails", text="roof", unread=True)
        assert [line["unread"] for line in unread["messages"]] == [True]
        path.with_name("4.offer.host:2,").unlink()
        assert await finds("roof") == 0
        (home / "new" / "5.late.host").write_text(OFFER)
        assert await finds("roof") == 1
        assert (await gate("search_emails", mailbox="Drafts"))["messages"] == []
        assert await finds("roof") == 1


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """300 mails of words out of a few, so that each word is in many of them."""
    chance = random.Random(7)
    home = maildir(tmp_path)
    for number in range(300):
        words = " ".join(chance.choices(["tea", "Tee", "a", "ab", "c++", "groß", "x y", "naïve", "12"], k=4))
        path = home / "cur" / f"{number}.many.host:2,"
        path.write_text(mail(number, words), "utf-8")
        os.utime(path, (number, number))
    return home


def ticking(steps: int) -> Iterator[float]:
    """A clock that stands still for so many looks, and is an hour later then."""
    yield from (0.0 for _ in range(steps))
    while True:
        yield 3600.0


def searched(index: Index, home: Path, text: str, budget: Budget) -> tuple[set[str], list[str]]:
    """The names of the mails that are found, and what was wrong."""
    letters, wrong = [*Boxes(Roots.at([home])).letters(Budget(60))], list[str]()
    asked = Wanted(terms(text), None, None, ZoneInfo("UTC"))
    return {letter.name for letter, _ in index.search(letters, asked, budget, wrong)}, wrong


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "text",
    [
        "te",
        "tee a",
        "c++ groß",
        '"x y" ab',
        "GROSS 12",
        "ï",
        "mail",
        "naïve tea 12",
        "zzz",
        "tee groß naïve c++ mail",
        '"tee groß"',
        '"groß c++ naïve"',
    ],
)
def test_the_index_finds_what_reading_all_texts_would_find(many: Path, text: str) -> None:
    found, wrong = searched(Index(), many, text, Budget(60))
    wanted = [term.words for term in terms(text)]
    texts = {path.name.partition(":")[0]: plain(path.read_text("utf-8").partition("Subject: ")[2]) for path in [
        *many.glob("cur/*.many.*")
    ]}  # fmt: skip
    assert {name for name in found if ".many." in name} == {
        name for name, said in texts.items() if all(word in said for word in wanted)
    }
    assert wrong == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ['"' + "a" * 190 + '"', " ".join("a" * n for n in range(3, 20)), "a" * 189 + "b"]
)
def test_letters_that_are_in_millions_of_places_are_searched_once(tmp_path: Path, text: str) -> None:
    """The index went through all places of each three letters of the words: 7 seconds for each such mail."""
    home, index = maildir(tmp_path), Index()
    (home / "cur" / "1.many.host:2,S").write_text(mail(1, ("a" * 76 + "\n") * 50_000))
    searched(index, home, "hello", Budget(60))
    with within(2, time.process_time):
        found, _ = searched(index, home, text, Budget(60))
    assert found == (set() if "b" in text or " " not in text else {"1.many.host"})


@pytest.mark.slow
def test_a_search_that_ran_out_of_time_goes_on_the_next_time(many: Path) -> None:
    index, clock = Index(), ticking(100)
    budget = Budget(60, clock=lambda: next(clock))
    first, _ = searched(index, many, "mail", budget)
    assert 0 < len(first) < 200
    assert budget.spent.endswith("of 303 messages are not read yet: search again to go on.")
    assert "299.many.host" in first, "the newest are read first"
    rest = Budget(60)
    found, _ = searched(index, many, "mail", rest)
    assert (len(found), rest.spent) == (300, "")


async def test_a_mail_that_cannot_be_read_is_told_of_in_every_search(home: Path) -> None:
    (home / "cur" / "9.many.host:2,").write_bytes(
        b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 500
    )
    async with mailing(home) as gate:
        for _ in range(2):
            found = await gate("search_emails", text="roof")
            assert len(found["messages"]) == 1
            assert found["note"].count("more than 200 parts") == 1


class InThisProcess:
    """In place of the sandbox: the task in this process. Each call tells of as many messages as `TOGETHER` allows."""

    def __init__(self) -> None:
        self.calls = 0

    def call(self, job: Job) -> Result:
        self.calls += 1
        told, data = tasks.TASKS[job.task.removeprefix("email.")](*job.blobs, **job.args)
        return Result(told, data)


def test_a_mail_that_has_not_changed_is_read_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox, index = InThisProcess(), Index()
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    made = []
    for _ in range(2):
        assert len(searched(index, home, "roof", Budget())[0]) == 1
        made.append(sandbox.calls)
    assert made[0] == made[1] > 0


def test_messages_that_are_not_begun_in_time_are_read_by_the_next_call(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together, thirty mails of strangers that take 0.5 s each had every portion stopped, and nothing was found."""
    sandbox = InThisProcess()
    monkeypatch.setattr(calling, "SANDBOX", sandbox)
    monkeypatch.setattr(tasks, "TOGETHER", 0.0)
    wrong: list[str] = []
    letters = [*Boxes(Roots.at([home])).letters(Budget())]
    found = Index().search(letters, Wanted(terms("roof offer"), None, None, ZoneInfo("UTC")), Budget(), wrong)
    assert [facts["subject"] for _, facts in found] == ["Offer for the roof"]
    assert sandbox.calls == len(letters) > 1
    assert wrong == ["1 message has attachments of which only the names were searched."]


def test_a_message_that_was_stopped_alone_is_not_begun_with_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = InThisProcess()
    calls: list[int] = []

    def call(job: Job) -> Result:
        calls.append(len(job.blobs))
        return calling.STOPPED if any(b"Angebot" in blob for blob in job.blobs) else sandbox.call(job)

    monkeypatch.setattr(calling, "SANDBOX", SimpleNamespace(call=call))
    index, letters = Index(), [*Boxes(Roots.at([home])).letters(Budget())]
    made: list[int] = []
    for _ in range(2):
        wrong: list[str] = []
        index.search(letters, Wanted([], None, None, ZoneInfo("UTC")), Budget(), wrong)
        assert len(wrong) == 1
        assert "4.offer.host:2,S is broken, or too much to open" in wrong[0]
        made.append(len(calls))
    assert made[0] == made[1]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "header",
    [
        "Subject: " + "a" * 200_000,
        "Content-Type: text/plain; " + "".join(f"a*{n}=b; " for n in range(8_000)),
        "To: " + "a@b.c, " * 20_000,
    ],
    ids=["subject", "parameters", "recipients"],
)
async def test_a_long_header_neither_hides_other_messages_nor_fills_an_answer(
    home: Path, header: str
) -> None:
    for number in range(12):
        (home / "cur" / f"{100 + number}.long.host:2,S").write_text(f"{header}\nX: y\n\nthe long one\n")
    async with mailing(home) as gate:
        found = await gate("search_emails", text="roof offer")
        assert [each["subject"] for each in found["messages"]] == ["Offer for the roof"]
        assert found["note"] == "1 message has attachments of which only the names were searched."
        first = (await gate("search_emails", text="long"))["messages"][0]["message_id"]
        for tool in ("read_email", "summarize_thread"):
            assert len(str(await gate(tool, message_id=first))) < 250_000


def test_headers_without_an_end_are_refused_before_they_are_parsed() -> None:
    with within(0.5, time.process_time):
        with pytest.raises(
            ToolError, match=r"endless has more than 256 kB of headers\. Open it in a mail program\."
        ):
            messages.message(b"X-A: b\n" * 2_000_000, "endless")


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
@pytest.mark.parametrize(
    "date",
    ["Fri, 31 Dec 9999 23:59:59 +0000", "Fri, 31 Dec 9999 23:59:59 -1200", "Mon, 1 Jan 0001 00:00:00 +1400"],
)
async def test_a_mail_dated_at_the_end_of_all_years_hides_no_other(home: Path, zone: str, date: str) -> None:
    (home / "cur" / "9.far.host:2,S").write_text(f"Date: {date}\nSubject: far\nFrom: x@example.com\n\nfar\n")
    budget, wrong = Budget(), list[str]()
    letters = [*Boxes(Roots.at([home])).letters(budget)]
    since = Wanted([], datetime.date(2020, 1, 1), datetime.date(9998, 1, 1), ZoneInfo(zone))
    found = [*Index().search(letters, since, budget, wrong)]
    assert "Offer for the roof" in {facts["subject"] for _, facts in found}
    async with mailing(home) as gate:
        every = (await gate("search_emails"))["messages"]
        [far] = [one for one in every if one["subject"] == "far"]
        assert "far" in (await gate("read_email", message_id=far["message_id"]))["text"]
        assert await gate("summarize_thread", message_id=far["message_id"])
