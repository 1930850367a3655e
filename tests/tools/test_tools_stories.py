"""The runbooks that look first, over all the servers that they need: what they read, plan and do, on real files."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo_servers import demo_servers, sample_desk
from bot.demo_stories import sample_stories, story_servers
from bot.wiring import bundled
from gate.rules.action import Json
from gate.rules.canonical_json import canonical
from gate.rules.planner_port import (
    Call,
    CallReport,
    Exchange,
    Mode,
    PlannerContext,
    Propose,
    ProposedStep,
    ProposePlan,
    Reply,
    Say,
)
from gate.rules.templates import expand
from servers.filesystem import server as filesystem
from tests.services import unavailable
from tests.tools.mcp_hosts import hosting
from tests.tools.phrases_setup import FILE, FILES, turn
from tools.mcp.client import Host
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases, misfits


@dataclass(frozen=True)
class Stage:
    """The sample files of the stories, all servers over them, and the planner."""

    files: Path
    host: Host
    planner: Phrases

    async def reply(self, text: str) -> tuple[Reply, list[Call]]:
        """The planner's last word in a planning turn whose reads are really done; and those reads."""
        asked, done = turn(text, Mode.PLAN), list[Call]()
        while True:
            reply = (await self.planner.reply(asked, PlannerContext(text), ())).reply
            if not isinstance(reply, Propose):
                return reply, done
            told = tuple([await self._read(place, call) for place, call in enumerate(reply.calls)])
            done += reply.calls
            asked = replace(asked, exchanges=(*asked.exchanges, Exchange(reply, told)))

    async def _read(self, place: int, call: Call) -> CallReport:
        answer = await self.host.call(call.server, call.tool, canonical(dict(call.args)))
        return CallReport(place, "failed" if answer.is_error else "succeeded", answer.text)

    async def plan(self, text: str) -> tuple[ProposedStep, ...]:
        reply, _ = await self.reply(text)
        assert isinstance(reply, ProposePlan), reply
        return reply.steps

    async def carry_out(self, steps: tuple[ProposedStep, ...]) -> None:
        results: dict[str, Json] = {}
        for place, step in enumerate(steps, 1):
            refs = {name: expand(ref, {"steps": results}) for name, ref in step.refs.items()}
            args = canonical({**step.call.args, **refs})
            answer = await self.host.call(step.call.server, step.call.tool, args)
            assert not answer.is_error, answer.text
            results[str(place)] = answer.structured

    def names(self, folder: str) -> set[str]:
        found = (self.files / folder).rglob("*")
        return {str(path.relative_to(self.files / folder)) for path in found if path.is_file()}


@pytest.fixture(scope="session")
def tesseract() -> None:
    if not shutil.which("tesseract"):
        unavailable("there is no Tesseract: apt-get install tesseract-ocr", "REQUIRE_TESSERACT")


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    files = tmp_path / "files"
    files.mkdir()
    desk = sample_desk(tmp_path / "desk", datetime(2026, 11, 21, tzinfo=UTC))
    configs = (*demo_servers(desk, 9), *story_servers(sample_stories(files)))
    inproc = {"filesystem": filesystem([files]), **{one.name: bundled(one) for one in configs}}
    async with hosting(tmp_path, FILES, *configs, inproc=inproc) as host:
        yield Stage(files, host, Phrases(load_phrases(FILE), host))


async def test_the_runbooks_of_the_stories_fit_their_tools(stage: Stage) -> None:
    assert misfits(stage.planner.book, stage.host) == []


async def test_secrets_are_encrypted_and_their_files_go_to_the_trash_in_one_call(stage: Stage) -> None:
    steps = await stage.plan("run clean-up-secrets for private")
    assert [(step.call.tool, step.title) for step in steps] == [
        ("encrypt_file", "Encrypt private/backup.ini"),
        ("encrypt_file", "Encrypt private/mail-server.txt"),
        ("delete_file", "Put the readable files into the trash"),
    ]
    assert steps[2].call.args == {"path": ["private/backup.ini", "private/mail-server.txt"]}
    await stage.carry_out(steps)
    assert stage.names("private") == {"backup.ini.age", "mail-server.txt.age", "opening-hours.txt"}
    reply, _ = await stage.reply("run clean-up-secrets for private")
    assert reply == Say("Clean up secrets: nothing was found, so there is nothing to do.")


async def test_downloads_are_sorted_and_what_is_there_twice_goes(stage: Stage) -> None:
    steps = await stage.plan("run sort-downloads")
    moved = {step.call.args["source"]: step.call.args["destination"] for step in steps[:-1]}
    assert moved == {
        "downloads/ticket.pdf": "documents/ticket.pdf",
        "downloads/minutes.txt": "documents/minutes.txt",
        "downloads/offer.md": "documents/offer.md",
        "downloads/holiday.png": "pictures/holiday.png",
    }
    assert steps[-1].call.args == {"path": ["downloads/ticket (1).pdf", "downloads/minutes (1).txt"]}
    await stage.carry_out(steps)
    assert stage.names("downloads") == set()
    assert stage.names("documents") == {"ticket.pdf", "minutes.txt", "offer.md"}


async def test_contracts_are_compared_before_anything_is_proposed(stage: Stage) -> None:
    text = "run compare-contracts for contracts/lease-2026.md, second=contracts/lease-2027.md, to=bob@example.com"
    write, draft = await stage.plan(text)
    rent, end = (
        "1. The rent is [-1,900-]{+2,150+} EUR a month.",
        "2. The lease ends on 31 May [-2027-]{+2029+}.",
    )
    for words in (f"~{rent}", f"~{end}", "Lines changed: 3, removed: 0, added: 1."):
        assert words in str(write.call.args["content"])
    assert "+5. The tenant may sublet one room." in str(draft.call.args["body"])
    assert draft.call.args["subject"] == "What changed in lease-2027.md"


@pytest.mark.slow
@pytest.mark.usefixtures("tesseract")
async def test_receipts_are_read_and_held_against_the_bookings(stage: Stage) -> None:
    reply, looks = await stage.reply("run reconcile-receipts for receipts")
    assert isinstance(reply, ProposePlan), reply
    assert sum(call.server == "ocr" for call in looks) == 3
    await stage.carry_out(reply.steps)
    assert (stage.files / "receipts" / "open.csv").read_text().splitlines() == [
        "what,which",
        "no booking,receipts/taxi.png",
        "no receipt,2026-11-12 Hotel Mar 120.00",
    ]
    with closing(sqlite3.connect(stage.files / "receipts" / "books.sqlite")) as books:
        assert books.execute("SELECT count(*) FROM receipt").fetchone() == (4,)
        (stage.files / "receipts" / "taxi.png").unlink()
        books.execute("UPDATE booking SET payee = 'Cafe Sol' WHERE payee = 'Cafe Luna'")
        books.commit()
    await stage.carry_out(await stage.plan("run reconcile-receipts for receipts"))  # it can be run again
    assert "no booking,receipts/lunch.png" in (stage.files / "receipts" / "open.csv").read_text()


async def test_a_look_that_fails_is_said_and_nothing_is_planned(stage: Stage) -> None:
    reply, _ = await stage.reply("run clean-up-secrets for attic")
    assert isinstance(reply, Say)
    assert "cannot be run like this" in reply.text
    assert "attic does not exist" in reply.text
