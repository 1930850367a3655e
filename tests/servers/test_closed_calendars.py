"""What a rule closes of calendars and mails is not told by tools that find it by its time, an id or a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.wiring import SystemClock
from gate.actions.gated_results import MadeCall, without_gated_files
from gate.actions.preview import PreviewResult, make_preview, policy_decision
from gate.rules.action import CallClass, Verdict
from gate.rules.always_gated import ALWAYS
from gate.rules.canonical_json import canonical
from gate.rules.judging_turns import JudgingTurns
from gate.rules.policy import Policy, Rule
from gate.rules.previews import COVERED_BY_RULE, TOUCHED_COVERED
from servers.email.mailboxes import identified
from servers.email.smtp import Post
from tests.model_stub import says
from tests.servers.files import same_age
from tests.servers.gate_around_server import Gate
from tests.servers.mail import mail_app, mailing
from tests.servers.model_hosts import sampling
from tests.servers.test_calendar_tools import calendar
from tests.servers.test_every_read import OF_FILES

Calls = Mapping[str, Mapping[str, Any]]
BOARD = Rule("one calendar is closed", ("*",), deny=True, texts=(r"(^|/)board(/|$)",))
HR = Rule("one mailbox is closed", ("*",), deny=True, texts=(r"(^|/)\.?HR(/|$)",))
HIDDEN = ("canary", "room 9", "board/", ".hr/", "mailbox': 'hr'", "300k")
DAY = {"start": "2026-11-24", "days": 1}
NEW = {"title": "Coffee", "start": "2026-11-24 10:30", "location": "Kitchen", "description": "Bring cake"}
BLOCK = {"title": "Focus", "start": "2026-11-24 10:30"}
EVENTS: Calls = {
    "list_events": DAY,
    "find_free_slots": DAY,
    "get_event": {"event_id": "cfo@example.com"},
    "preview_event": {"event": NEW},
    "preview_time_block": {"block": BLOCK},
}
PAY, LUNCH = "1700000000.M1P1.host", "1.lunch.host"
CLOSED_ID, OPEN_ID = identified(PAY), identified(LUNCH)
MAILS: Calls = {
    "search_emails": {"text": "salaries"},
    "read_email": {"message_id": CLOSED_ID},
    "summarize_thread": {"message_id": OPEN_ID},
    "preview_draft": {
        "draft": {"to": "bob@example.com", "subject": "x", "body": "y", "in_reply_to": CLOSED_ID}
    },
}
DRAFT = identified("7.canary.host")
DRAFTS: Calls = {
    "list_drafts": {},
    "preview_send": {"sending": {"draft_id": DRAFT}},
    "preview_delete": {"draft_id": DRAFT},
}


def event(title: str, at: str, more: str = "") -> str:
    """A calendar with one event of an hour."""
    uid = f"{title.split()[0].lower()}@example.com"
    inside = f"UID:{uid}\nDTSTAMP:20261101T000000Z\nDTSTART:202611{at}0000Z\nDURATION:PT1H\nSUMMARY:{title}\n{more}"
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\n{inside}END:VEVENT\nEND:VCALENDAR\n"


def calendars(folder: Path) -> Path:
    home = folder / "calendar"
    for name in ("board", "team"):
        (home / name).mkdir(parents=True)
    secret = event("CFO interview CANARY", "24T10", "LOCATION:Room 9\nDESCRIPTION:salary 300k\n")
    (home / "board" / "e1.ics").write_text(secret)
    (home / "team" / "lunch.ics").write_text(event("Lunch", "24T12"))
    return home


def maildir(folder: Path) -> Path:
    home = folder / "mail"
    for part in ("cur", "new", "tmp", ".HR/cur", ".Drafts/cur"):
        (home / part).mkdir(parents=True)
    head = "To: ann@example.com\nDate: Fri, 20 Nov 2026 03:00:00 +0000\n"
    pay = (
        f"From: boss@example.com\n{head}Subject: CANARY salaries\nMessage-ID: <pay@x>\nIn-Reply-To: <lunch@x>\n\n"
        "ANN gets 300k CANARY\n"
    )
    lunch = f"From: bob@example.com\n{head}Subject: Lunch\nMessage-ID: <lunch@x>\n\nWho talks of salaries?\n"
    (home / ".HR" / "cur" / f"{PAY}:2,S").write_text(pay)
    (home / "cur" / f"{LUNCH}:2,S").write_text(lunch)
    return home


def drafted(home: Path, headers: str = "") -> None:
    """A draft that is there already."""
    head = f"{headers}Date: Fri, 20 Nov 2026 03:00:00 +0000\nMessage-ID: <d@x>\n"
    kept = f"From: ann@example.com\nTo: bob@example.com\nSubject: CANARY\n{head}\nCANARY 300k\n"
    (home / ".Drafts" / "cur" / "7.canary.host:2,DS").write_text(kept)


@dataclass(frozen=True)
class Asker:
    """Somebody who asks one server for things under some rules."""

    gate: Gate
    rules: tuple[Rule, ...] = ()
    loaded: tuple[Rule, ...] = ()  # while the call is under way

    @property
    def world(self) -> Any:
        policy = Policy("v", (*ALWAYS, *self.rules))
        return SimpleNamespace(
            tools=self.gate.host, policy=policy, clock=SystemClock(), judging=JudgingTurns()
        )

    async def __call__(self, tool: str, /, **args: Any) -> str:
        """What they are told; of what is not a plain read, once somebody has confirmed it."""
        spec = self.gate.spec(tool)
        decision = policy_decision(self.world, spec, args, "C")
        if decision.verdict is Verdict.DENY:
            return "denied"
        answer = await self.gate.host.call(spec.server, tool, canonical(args), 30)
        confirmed = decision.verdict is not Verdict.RUN
        call = MadeCall(spec, args, "C", is_confirmed=confirmed, is_private=decision.private)
        then = replace(self, rules=(*self.rules, *self.loaded))
        kept = await without_gated_files(then.world, call, answer)
        return f"{kept.text} {kept.structured}"

    async def look(self, tool: str, /, **args: Any) -> PreviewResult:
        """The card of a change."""
        return await make_preview(self.world, self.gate.spec(tool), args, "C")


def hidden(said: object) -> list[str]:
    return [word for word in HIDDEN if word in str(said).lower()]


@pytest.mark.slow
async def test_no_read_tells_of_a_closed_calendar(tmp_path: Path) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        for tool, args in EVENTS.items():
            said = await Asker(gate, (BOARD,))(tool, **args)
            assert hidden(said) == [], tool
            assert tool == "preview_time_block" or "one calendar is closed" in said
            assert tool == "preview_time_block" or hidden(await Asker(gate)(tool, **args)), tool


@pytest.mark.slow
async def test_no_read_tells_of_a_closed_mailbox(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        for tool, args in MAILS.items():
            said = await Asker(gate, (HR,))(tool, **args)
            assert hidden(said) == [], tool
            assert "one mailbox is closed" in said
            assert tool == "preview_draft" or hidden(await Asker(gate)(tool, **args)), tool


async def test_a_closed_mail_is_not_told_under_the_name_of_another_file_of_its_mailbox(
    tmp_path: Path,
) -> None:
    home = maildir(tmp_path)
    closed, twin = (home / box / "cur" / f"{PAY}:2,S" for box in (".HR", "HR"))
    by_path = {"required": ["path"], "properties": {"path": {"pattern": r"^\.HR/"}}}
    rule = Rule("one mailbox is closed", ("*",), deny=True, schema=by_path)
    async with mailing(home) as gate:
        ask = Asker(gate, (rule,))
        assert "one mailbox is closed" in await ask("search_emails", text="300k")
        twin.parent.mkdir(parents=True)
        twin.write_bytes(b"Subject: x\n\nwords".ljust(closed.stat().st_size))
        same_age(twin, closed.stat())
        assert hidden(await ask("search_emails", text="300k")) == []
        assert "CANARY" not in await ask("search_emails", text="words")
        found = await gate("search_emails", text="words")
        assert [one["file"] for one in found["messages"]] == [f"HR/cur/{PAY}:2,S"]
        assert len((await gate("search_emails", mailbox="HR"))["messages"]) == 2


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("pattern", [r"(^|/)\.Drafts(/|$)", r"(^|/)Drafts(/|$)"])
async def test_no_read_tells_of_closed_drafts(pattern: str, tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    closed = Rule("no drafts", ("*",), deny=True, texts=(pattern,))
    async with mailing(home, Post("localhost", 1, "none")) as gate:
        for tool, args in DRAFTS.items():
            said = await Asker(gate, (closed,))(tool, **args)
            assert hidden(said) == [], tool
            assert "no drafts" in said
            assert hidden(await Asker(gate)(tool, **args)), tool
        assert hidden(await Asker(gate, (HR,))("list_drafts"))


async def test_a_draft_in_a_closed_folder_is_neither_sent_nor_deleted(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home)
    closed = Rule("no drafts", ("*",), deny=True, texts=(r"(^|/)\.Drafts(/|$)",))
    async with mailing(home, Post("localhost", 1, "none")) as gate:
        for tool in ("send_draft", "delete_draft"):
            seen = await Asker(gate, (closed,)).look(tool, draft_id=DRAFT)
            assert seen.decision
            assert seen.decision.verdict is Verdict.DENY


async def test_the_card_of_an_event_that_a_rule_keeps_tells_it_in_its_first_line_alone(
    tmp_path: Path,
) -> None:
    looks = ("calendar.get_event", "calendar.list_events")
    asks = Rule("the board asks", looks, at_least=CallClass.WRITE, texts=(r"(^|/)board(/|$)",))
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        kept, other = [
            (await Asker(gate, (asks,)).look("delete_event", event_id=event_id)).preview
            for event_id in ("cfo@example.com", "lunch@example.com")
        ]
    assert "CFO interview CANARY" in kept.summary
    assert hidden(replace(kept, summary="")) == []
    assert {COVERED_BY_RULE, TOUCHED_COVERED.format(count=1)} <= set(kept.notes)
    assert kept.is_complete
    assert [one.name for one in other.affected] != []
    assert other.notes == ()


async def test_every_read_of_these_servers_was_tried(tmp_path: Path) -> None:
    async with calendar(calendars(tmp_path)) as events, mailing(maildir(tmp_path)) as mails:
        for gate, tried in ((events, EVENTS), (mails, {**MAILS, **DRAFTS})):
            reads = {spec.name for spec in gate.host.specs() if spec.recipe.cls is CallClass.READ}
            assert reads - OF_FILES == tried.keys()


async def test_a_calendar_that_is_open_is_told_by_its_name_and_by_its_days(tmp_path: Path) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        ask = Asker(gate, (BOARD,))
        for calendar_ in ("team", "./team/"):
            assert "Lunch" in await ask("list_events", **DAY, calendar=calendar_)
            slots = await ask("find_free_slots", **DAY, calendar=calendar_)
            assert "T09:00:00+00:00" in slots
            assert "T12:00:00+00:00" in slots
        assert "Lunch" in await ask("get_event", event_id="lunch@example.com")
        assert "Lunch" in await ask("get_event", event_id="lunch@example.com", calendar="team")
        assert "There is no event cfo" in await ask("get_event", event_id="cfo@example.com", calendar="team")
        assert "There are none" in await ask("list_events", start="2026-12-24", days=1)
        assert "T17:00:00+00:00" in await ask("find_free_slots", start="2026-11-25", days=1)
        assert await ask("list_events", **DAY, calendar="board") == "denied"


async def test_a_rule_about_the_served_folder_is_about_the_events_that_lie_in_it(tmp_path: Path) -> None:
    home = calendars(tmp_path)
    (home / "alone.ics").write_text(event("Alone CANARY", "24T15"))
    schema = {"required": ["calendar"], "properties": {"calendar": {"const": "."}}}
    async with calendar(home, timezone="UTC") as gate:
        ask = Asker(gate, (Rule("the folder itself", ("calendar.*",), deny=True, schema=schema),))
        for tool, args in (
            ("list_events", DAY),
            ("find_free_slots", DAY),
            ("get_event", {"event_id": "alone@example.com"}),
            ("delete_file", {"path": "alone.ics"}),
        ):
            assert hidden(await ask(tool, **args)) == []
        assert "Lunch" in await ask("list_events", **DAY, calendar="team")
        assert "Lunch" in await ask("get_event", event_id="lunch@example.com")


@pytest.mark.slow
async def test_a_mailbox_that_is_open_is_told_by_its_name(tmp_path: Path) -> None:
    async with mailing(maildir(tmp_path)) as gate:
        ask = Asker(gate, (HR,))
        for mailbox in ("INBOX", "inbox"):
            assert "Lunch" in await ask("search_emails", text="salaries", mailbox=mailbox)
            assert "Who talks" in await ask("summarize_thread", message_id=OPEN_ID, mailbox=mailbox)
            assert "Who talks" in await ask("read_email", message_id=OPEN_ID, mailbox=mailbox)
        assert "Lunch" in await ask("search_emails", text="lunch")
        assert "Who talks" in await ask("read_email", message_id=OPEN_ID)
        assert "no mailbox Nowhere" in await ask("read_email", message_id=OPEN_ID, mailbox="Nowhere")
        assert await ask("search_emails", mailbox="HR") == "denied"
        assert await ask("read_email", message_id=CLOSED_ID, mailbox="HR") == "denied"


async def test_a_rule_about_a_mail_sees_what_a_draft_says_of_itself(tmp_path: Path) -> None:
    """Arguments of `send_draft` that are left out are sent as they were drafted."""
    home = maildir(tmp_path)
    drafted(home)

    def closed(**said: str) -> Rule:
        properties = {name: {"pattern": pattern} for name, pattern in said.items()}
        schema = {"required": [*said], "properties": properties}
        return Rule("closed", ("email.send_draft",), deny=True, schema=schema)

    async with mailing(home, Post("localhost", 1, "none")) as gate:
        for rule, args in (
            (closed(body="^CANARY 300k$"), {}),
            (closed(subject="^CANARY$"), {}),
            (closed(subject="^CANARY$", body="300k"), {}),
            (closed(subject="^CANARY$", body="300k"), {"subject": None}),
            (closed(subject="^Other$", body="300k"), {"subject": "Other"}),
            (closed(to="^bob@example[.]com$", subject="^CANARY$"), {}),
            (closed(cc="^eve@example[.]com$", body="300k"), {"cc": "eve@example.com"}),
            (closed(mailbox="^Drafts$", to="^bob@example[.]com$"), {}),
            (closed(mailbox="^drafts$", to="^bob@"), {"to": "Bob <bob@example.com>"}),
            (Rule("closed", ("email.send_draft",), deny=True, texts=("300k",)), {}),
        ):
            seen = await Asker(gate, (rule,)).look("send_draft", draft_id=DRAFT, **args)
            assert seen.decision
            assert seen.decision.verdict is Verdict.DENY, (rule, args)
            assert "body" not in seen.args
        for rule, args in (
            (closed(subject="^CANARY$"), {"subject": "Other"}),
            (closed(body="300k"), {"body": "Nothing."}),
            (closed(to="^eve@example[.]com$", subject="^CANARY$"), {}),
        ):
            seen = await Asker(gate, (rule,)).look("send_draft", draft_id=DRAFT, **args)
            assert seen.decision
            assert seen.decision.verdict is Verdict.TYPED, (rule, args)


async def test_a_rule_about_two_lists_of_people_sees_both_as_the_draft_has_them(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    drafted(home, "Cc: Legal <legal@example.com>\n")

    async def verdict(gate: Gate, **said: str) -> Verdict:
        properties = {name: {"pattern": pattern} for name, pattern in said.items()}
        rule = Rule("closed", ("*",), deny=True, schema={"required": [*said], "properties": properties})
        seen = await Asker(gate, (rule,)).look("send_draft", draft_id=DRAFT)
        assert seen.decision
        return seen.decision.verdict

    async with mailing(home, Post("localhost", 1, "none")) as gate:
        assert await verdict(gate, to="^bob@example[.]com$", cc="^legal@") is Verdict.DENY
        assert (
            await verdict(gate, to="^legal@example[.]com$", cc="^legal@", subject="^Other") is Verdict.TYPED
        )
        assert await verdict(gate, to="^bob@example[.]com$", bcc="^nobody@") is Verdict.TYPED


async def test_a_card_does_not_name_an_event_of_a_closed_calendar(tmp_path: Path) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as gate:
        seen = await Asker(gate, (BOARD,)).look("create_event", **NEW)
        assert hidden(seen.preview) == []
        assert COVERED_BY_RULE in seen.preview.notes
        shown = {fact.label for fact in seen.preview.facts if not fact.named}
        assert shown >= {"location", "description"}, "the card would show nowhere what is written"
        blocked = await Asker(gate, (BOARD,)).look("create_time_block", **BLOCK)
        assert "not free" in blocked.preview.problem
        assert hidden(blocked.preview) == []
        assert "CANARY" in (await Asker(gate).look("create_event", **NEW)).preview.diff


async def test_an_event_of_a_closed_calendar_is_not_deleted_nor_a_closed_mail_answered(
    tmp_path: Path,
) -> None:
    async with calendar(calendars(tmp_path)) as events, mailing(maildir(tmp_path)) as mails:
        answer = {"to": "bob@example.com", "subject": "x", "body": "y", "in_reply_to": CLOSED_ID}
        for gate, rule, tool, args in (
            (events, BOARD, "delete_event", {"event_id": "cfo@example.com"}),
            (mails, HR, "draft_email", answer),
        ):
            seen = await Asker(gate, (rule,)).look(tool, **args)
            assert seen.decision
            assert seen.decision.verdict is Verdict.DENY


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"private": True}, {"at_least": CallClass.WRITE}], ids=["private", "asks"]
)
async def test_what_is_named_under_a_rule_that_only_asks_or_only_makes_it_private_is_given(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    async with calendar(calendars(tmp_path), timezone="UTC") as events, mailing(maildir(tmp_path)) as mails:
        ask = Asker(events, (replace(BOARD, deny=False, **changes),))
        assert "CANARY" in await ask("list_events", **DAY, calendar="board")
        assert "CANARY" in await ask("get_event", event_id="cfo@example.com", calendar="board")
        assert hidden(await ask("list_events", **DAY)) == []
        assert hidden(await ask("get_event", event_id="cfo@example.com")) == []
        ask = Asker(mails, (replace(HR, deny=False, **changes),))
        assert "CANARY" in await ask("search_emails", mailbox="HR")
        assert "CANARY" in await ask("read_email", message_id=CLOSED_ID, mailbox="HR")
        assert hidden(await ask("search_emails")) == []
        assert hidden(await ask("read_email", message_id=CLOSED_ID)) == []


async def test_a_private_rule_that_is_loaded_while_a_read_runs_gives_nothing_to_the_channel(
    tmp_path: Path,
) -> None:
    private = replace(BOARD, deny=False, private=True)
    async with calendar(calendars(tmp_path), timezone="UTC") as events:
        for rules, loaded, told in (((), (private,), []), ((private,), (), ["CANARY"])):
            said = await Asker(events, rules, loaded)(
                "get_event", event_id="cfo@example.com", calendar="board"
            )
            assert [word for word in ("CANARY",) if word in said] == told


async def test_what_cannot_be_read_of_a_closed_calendar_is_not_quoted(tmp_path: Path) -> None:
    home = calendars(tmp_path)
    (home / "board" / "e1.ics").write_text("BEGIN:VCALENDAR\nCANARY salary 300k\nEND:VCALENDAR\n")
    async with calendar(home, timezone="UTC") as gate:
        for tool, args in EVENTS.items():
            assert hidden(await Asker(gate, (BOARD,))(tool, **args)) == [], tool
        assert hidden(await Asker(gate)("list_events", **DAY))
        assert "Lunch" in await Asker(gate, (BOARD,))("list_events", **DAY, calendar="team")


@pytest.mark.parametrize(
    "data", ["BEGIN:VCALENDAR\nCANARY salary\nEND:VCALENDAR\n", "x" * (4 << 20) + "too large"]
)
async def test_a_closed_calendar_with_a_long_name_is_not_named(tmp_path: Path, data: str) -> None:
    """A sentence of so many characters was cut before the gate was told which file it is about."""
    home = calendars(tmp_path)
    folder = home / "board" / ("pay cut" + "x" * 200) / ("y" * 250) / ("z" * 250)
    folder.mkdir(parents=True)
    (folder / "e1.ics").write_text(data)
    (home / "board" / "e1.ics").unlink()
    async with calendar(home, timezone="UTC") as gate:
        for tool, args in EVENTS.items():
            assert "pay cut" not in await Asker(gate, (BOARD,))(tool, **args), tool
        assert "pay cut" in await Asker(gate)("list_events", **DAY)


async def test_what_cannot_be_read_of_a_closed_mailbox_is_not_named(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    broken = b"Content-Type: multipart/mixed; boundary=b\n" * 300
    (home / ".HR" / "cur" / f"{PAY}:2,S").write_bytes(broken)
    async with mailing(home) as gate:
        for tool, args in MAILS.items():
            assert hidden(await Asker(gate, (HR,))(tool, **args)) == [], tool
        assert hidden(await Asker(gate)("search_emails", text="salaries"))
        assert "Lunch" in await Asker(gate, (HR,))("search_emails", text="salaries", mailbox="INBOX")


async def test_an_event_or_a_mail_that_is_twice_there_is_not_placed(tmp_path: Path) -> None:
    events, mails = calendars(tmp_path), maildir(tmp_path)
    (events / "team" / "copy.ics").write_text((events / "board" / "e1.ics").read_text())
    (mails / "cur" / f"{PAY}:2,S").write_text("From: a@example.com\n\nx\n")
    async with calendar(events) as one, mailing(mails) as other:
        assert hidden(await Asker(one, (BOARD,))("get_event", event_id="cfo@example.com")) == []
        assert hidden(await Asker(other, (HR,))("read_email", message_id=CLOSED_ID)) == []
        assert "a@example.com" in await Asker(other, (HR,))(
            "read_email", message_id=CLOSED_ID, mailbox="INBOX"
        )


@pytest.mark.slow
async def test_a_model_is_not_given_a_closed_mail_of_a_thread(tmp_path: Path) -> None:
    app = mail_app(maildir(tmp_path))
    async with sampling(tmp_path / "logs", "email", app, [says("- x")]) as asked:
        asked.gated = (f".HR/cur/{PAY}:2,S",)
        await asked("summarize_thread", message_id=OPEN_ID)
        assert asked.stub.requests == []
    assert "CANARY" not in str(asked.record)


@pytest.mark.parametrize(
    "head",
    [
        "From: CANARY <boss@canary.example>\nTo: bob@example.com",
        "From: ann@example.com\nTo: CANARY-Corp",
        "From: ann@example.com\nBcc: CANARY <canary@x@y>",
        "From: ann@example.com\nTo: Canary: bob@example.com;",
    ],
)
async def test_a_draft_that_cannot_be_sent_is_not_quoted(tmp_path: Path, head: str) -> None:
    home = maildir(tmp_path)
    drafted(home)
    [file] = (home / ".Drafts" / "cur").iterdir()
    file.write_text(f"{head}\nSubject: CANARY\n\nCANARY\n")
    async with mailing(home, Post("localhost", 1, "none")) as gate:
        said = await Asker(gate)("preview_send", sending={"draft_id": DRAFT})
        assert "Write it anew" in said
        assert "canary" not in said.lower()


IN_BOARD: dict[str, Any] = {"required": ["calendar"], "properties": {"calendar": {"const": "board"}}}
IN_A_FILE: dict[str, Any] = {"path": {"pattern": "e1"}, **IN_BOARD["properties"]}
OF_BOTH = {"required": [*IN_A_FILE], "properties": IN_A_FILE}


@pytest.mark.parametrize("said", [{"texts": (r"e1\.ics$",), "schema": IN_BOARD}, {"schema": OF_BOTH}])
async def test_a_rule_about_a_calendar_and_a_file_keeps_what_is_found_by_an_id_or_a_day(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    home = calendars(tmp_path)
    (home / "board" / "e2.ics").write_text(event("Open", "24T14"))
    async with calendar(home, timezone="UTC") as gate:
        ask = Asker(gate, (Rule("closed", ("calendar.*",), deny=True, **said),))
        for tool, args in (
            ("get_event", {"event_id": "cfo@example.com"}),
            ("list_events", {"start": "2026-11-24", "days": 1}),
        ):
            assert "closed" in await ask(tool, **args)
            assert "CFO" in await Asker(gate)(tool, **args)
        assert "Open" in await ask("get_event", event_id="open@example.com")


async def test_a_rule_about_a_mailbox_and_a_file_keeps_a_mail_that_is_read_by_its_id(tmp_path: Path) -> None:
    home = maildir(tmp_path)
    wanted = {"path": {"pattern": "HR/cur/"}, "mailbox": {"const": "HR"}}
    rule = Rule("closed", ("email.*",), deny=True, schema={"required": [*wanted], "properties": wanted})
    async with mailing(home) as gate:
        assert "closed" in await Asker(gate, (rule,))("read_email", message_id=CLOSED_ID)
        assert "closed" not in await Asker(gate)("read_email", message_id=CLOSED_ID)
