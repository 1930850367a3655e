"""What others called something begins no line of its own on a card, in no preview of a bundled server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.rules.action import Preview
from servers.calendar import server as calendar
from servers.clipboard_programs import Held
from servers.data import server as data
from servers.document import server as document
from tests.servers.gate_around_server import gated
from tests.servers.mail import Taken, maildir, posting
from tests.servers.papers import form
from tests.servers.test_clipboard_tools import Memory, gate_over
from tests.servers.test_data_rows import books, update
from tests.servers.test_task_tools import database, tasks

FORGED = "+ repeats: daily"
BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
EACH = pytest.mark.parametrize("sign", BREAKS)


def shown(preview: Preview) -> list[str]:
    """The lines of a preview, however a reader may tell them apart, and that none of them was forged."""
    told = [preview.summary, *(thing.name for thing in preview.affected)]
    assert all(len(text.splitlines()) == 1 for text in told)
    lines = [*told, *preview.diff.splitlines()]
    assert not any(line.startswith(FORGED) for line in lines)
    return lines


def holds(lines: list[str], text: str, sign: str) -> bool:
    """Whether a line has the whole text, with what breaks it as an escape."""
    escape = sign.encode("unicode_escape").decode()
    as_json = json.dumps(sign)[1:-1]
    forms = {text.replace(sign, escape), text.replace(sign, as_json)}
    return any(form in line for line in lines for form in forms)


def event(summary: str) -> bytes:
    written = summary.replace("\r\n", "\n").replace("\n", "\\n")
    lines = f"""BEGIN:VCALENDAR
VERSION:2.0
PRODID:x
BEGIN:VEVENT
UID:lunch@example.com
DTSTAMP:20261124T000000Z
DTSTART:20261224T100000Z
DTEND:20261224T110000Z
SUMMARY:{written}
END:VEVENT
END:VCALENDAR
"""
    return lines.replace("\n", "\r\n").encode()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("sign", ["\n", "\x85", "\u2028", "\u2029"])
async def test_an_invitation_adds_nothing_to_a_new_event(tmp_path: Path, sign: str) -> None:
    (tmp_path / "root").mkdir()
    title = f"Lunch{sign}{FORGED}"
    (tmp_path / "root" / "x.ics").write_bytes(event(title))
    async with gated(tmp_path / "logs", "calendar", calendar([tmp_path / "root"])) as gate:
        args = {"title": "t", "start": "2026-12-24 10:00", "timezone": "UTC"}
        lines = shown((await gate.look("create_event", **args, description=f"one{sign}two")).preview)
        assert holds(lines, f"! at the same time: {title}, Thursday", sign)
        assert [each for each in lines if "desc" in each] == ["+ description: one", "+ description: two"]
        lines = shown((await gate.look("delete_event", event_id="lunch@example.com")).preview)
        assert holds(lines, f"Delete the event {title}, Thursday", sign)


@pytest.mark.slow(but=1)
@EACH
async def test_a_key_and_a_name_of_a_column_show_no_other_values(tmp_path: Path, sign: str) -> None:
    key, column = f"x (changed) @@{sign}{FORGED}", f"b: 1{sign}{FORGED}"
    schema = f"""CREATE TABLE t(k TEXT PRIMARY KEY, "{column}", d) WITHOUT ROWID;
        INSERT INTO t VALUES ('{key}', '{FORGED}{sign}{FORGED}', 'one');"""
    async with books(tmp_path, schema) as gate:
        lines = shown((await gate.look("write_sqlite", **update({"d": "one"}, d="two"))).preview)
        assert holds(lines, f"@@ t, {key} (changed) @@", sign)
        assert holds(lines, f" {column}: ", sign)
        await gate.undo(await gate.do("write_sqlite", **update({"d": "one"}, **{column: key})))


@EACH
async def test_a_cell_leaves_out_no_other_row(tmp_path: Path, sign: str) -> None:
    (tmp_path / "root").mkdir()
    cell = f"x{sign}{FORGED}"
    text = f'a,"b{sign}{FORGED}","b{sign}{FORGED}"\n1,"{cell}",\n1,"{cell}",\n2,y,\n'
    (tmp_path / "root" / "a.csv").write_bytes(text.encode())
    async with gated(tmp_path / "logs", "data", data([tmp_path / "root"])) as gate:
        args = {"source": "a.csv", "destination": "b.csv"}
        done = await gate.do("write_without_duplicates", **args)
        lines = shown(done.preview)
        assert holds(lines, f"- row 2: 1 · {cell} ·  (as row 1: 1 · {cell} · )", sign)
        assert [line for line in lines if line.startswith("- row")] == [lines[-1]]
    written = (tmp_path / "root" / "b.csv").read_bytes().decode()
    assert cell in written


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("sign", ["\n", "\r", "\r\n", "\v", "\f", "\x85"])
async def test_a_field_of_a_form_fills_in_no_other(tmp_path: Path, sign: str) -> None:
    (tmp_path / "root").mkdir()
    value = f"Ann{sign}{FORGED}"
    (tmp_path / "root" / "f.pdf").write_bytes(form(value))
    async with gated(tmp_path / "logs", "document", document([tmp_path / "root"])) as gate:
        call = {"path": "f.pdf", "values": {"name": "Bob"}, "destination": "g.pdf"}
        lines = shown((await gate.look("fill_pdf_form", **call)).preview)
        assert "+name: Bob" in lines
        assert len([line for line in lines if line.startswith("-name: Ann")]) == 1


@EACH
async def test_a_column_that_is_renamed_adds_nothing_to_a_conversion(tmp_path: Path, sign: str) -> None:
    (tmp_path / "root").mkdir()
    name = f"a{sign}{FORGED}"
    (tmp_path / "root" / "a.csv").write_bytes(f'"{name}","{name}"\n1,2\n'.encode())
    async with gated(tmp_path / "logs", "document", document([tmp_path / "root"])) as gate:
        seen = await gate.look("convert_format", source="a.csv", destination="b.json")
        assert holds([seen.preview.summary], name, sign)
        shown(seen.preview)


@EACH
async def test_a_task_that_others_wrote_says_nothing_of_another_field(tmp_path: Path, sign: str) -> None:
    title = f"Call{sign}{FORGED}"
    async with tasks(tmp_path) as gate:
        await gate("create_task", title="one", notes="a\tb")
        with database(tmp_path) as base:
            base.execute("UPDATE task SET title = ?", [title])
        lines = shown((await gate.look("update_task", task_id=1, title="other")).preview)
        assert holds(lines, f"- title: {title}", sign)
        seen = await gate.look("delete_task", task_id=1)
        assert holds(shown(seen.preview), title, sign)
        done = await gate.do("delete_task", task_id=1)
        _, args = gate.inverse(done)
        lines = shown((await gate.look("restore_task", **args)).preview)
        assert holds(lines, title, sign)
        assert "+ notes: a\tb" in lines
        await gate.undo(done)
        other = {**args["task"], "title": "other"}
        lines = shown((await gate.look("restore_task", task=other)).preview)
        assert holds(lines, f"- title: {title}", sign)
        with database(tmp_path) as base:
            assert base.execute("SELECT title FROM task").fetchall() == [(title,)]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("subtype", ["pdf=0A", "x=E2=80=A8", "x=C2=85"])
async def test_the_kind_of_a_file_adds_nothing_to_a_mail(tmp_path: Path, subtype: str) -> None:
    home = maildir(tmp_path)
    kind = f"=?utf-8?q?{subtype}{FORGED.replace(' ', '_')}?="
    parts = "".join(
        f"--q\nContent-Type: {main}/{kind}\nContent-Disposition: {place}\n\nzz\n"
        for main, place in (("application", "attachment"), ("text", "inline"))
    )
    head = "From: ann@example.com\nTo: bob@example.com\nSubject: s\nMIME-Version: 1.0\n"
    mail = f"{head}Content-Type: multipart/mixed; boundary=q\n\n{parts}--q--\n"
    (home / ".Drafts" / "cur" / "9.draft.host:2,DS").write_text(mail)
    async with posting(home, Taken()) as gate:
        (draft,) = (await gate("list_drafts"))["drafts"]
        seen = await gate.look("send_draft", draft_id=draft["draft_id"])
        assert "cannot be sent from here" in seen.preview.problem
        assert len(seen.preview.problem.splitlines()) == 1


async def test_the_kind_of_what_is_in_the_clipboard_adds_nothing(tmp_path: Path) -> None:
    class Odd(Memory):
        def read(self) -> Held:
            return Held("other", what=f"image/png\r{FORGED}")

    async with gate_over(tmp_path, Odd()) as gate:
        lines = shown((await gate.look("set_clipboard", text="new")).preview)
        assert f"-(image/png\\r{FORGED})" in lines


def test_every_separator_that_a_reader_knows_is_among_these() -> None:
    every = (chr(code) for code in range(0x110000))
    assert {sign for sign in every if len(f"a{sign}b".splitlines()) > 1} == {*BREAKS} - {"\r\n"}
