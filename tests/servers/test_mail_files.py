"""Mails and captions that lie in a folder: looked through and indexed by what they say, not by how it is encoded."""

from __future__ import annotations

from email.message import EmailMessage
from pathlib import Path

import pytest

from servers.knowledge import indexing
from tests.servers import papers
from tests.servers.test_knowledge_tools import knowing
from tests.servers.test_security_tools import fake, security

TOKEN = fake("ghp_", "Zq8Rt2Lm5Xc9", "Vb3Nk7Pw4Hd6Js1Fg0Ty2Ue8")
OTHER = fake("ghp_", "Kd7Wm3Qx9Pz5", "Tb8Lr2Vn6Hc4Jf1Gs0Ya3Ue7")


def mail(text: str, encoding: str, *attached: tuple[str, bytes]) -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Bob <bob@example.org>", "ann@example.com", "Wartungsfenster"
    made.set_content(text, cte=encoding)
    for name, data in attached:
        made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "8bit"])
async def test_a_secret_in_a_mail_is_found_however_its_text_is_encoded(tmp_path: Path, encoding: str) -> None:
    long = "ä " * 40 + TOKEN + "\nwrite to carla.weiss@example.net\n"
    async with security(tmp_path, m_eml=mail(long, encoding)) as ask:
        secrets = await ask("scan_for_secrets", path=".")
        people = await ask("scan_for_pii", path="m.eml")
    assert [(one["path"], one["sure"]) for one in secrets["findings"]] == [("m.eml", "certain")]
    assert secrets["skipped"] == []
    assert any(one["shown"].startswith("c•") for one in people["findings"])


async def test_what_is_attached_to_a_mail_is_looked_through_or_named(tmp_path: Path) -> None:
    page = papers.docx(f"The key is {TOKEN} today.\n")
    attached = [("keys.docx", page), ("notes.txt", OTHER.encode()), ("logo.png", b"\x89PNG\r\n\x1a\n\0\1\2")]
    async with security(tmp_path, m_eml=mail("see below", "7bit", *attached)) as ask:
        told = await ask("scan_for_secrets", path=".")
    assert len(told["findings"]) == 2
    assert told["skipped"] == ["m.eml has attachments that were not read: logo.png"]
    assert "1 file could be looked into only in part: " in told["note"]


@pytest.mark.parametrize("name", ["m_eml", "m_mbox"])
async def test_a_file_of_several_mails_is_looked_through_as_it_stands(tmp_path: Path, name: str) -> None:
    two = f"From a@b.de Wed Nov 18 09:12:00 2026\nSubject: x\n\n{TOKEN}\n"
    async with security(tmp_path, **{name: two * 2}) as ask:
        told = await ask("scan_for_secrets", path=".")
    assert len(told["findings"]) == 2
    assert "holds several mails" in told["skipped"][0]
    assert told["skipped"][0].endswith("What is encoded in it was not looked into.")


@pytest.mark.slow
async def test_mails_and_captions_are_indexed_by_what_they_say(tmp_path: Path) -> None:
    text = "Das Wartungsfenster für die Server ist am Samstag um 22 Uhr.\n"
    (tmp_path / "m.eml").write_bytes(
        mail(text, "base64", ("plan.txt", b"The crane costs 900 euros a day.\n"))
    )
    (tmp_path / "s.vtt").write_text(
        "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>The launch is on 4 June.</v>\n"
    )
    (tmp_path / "bad.vtt").write_text("The picnic is on 5 July.\n")
    async with knowing(tmp_path) as ask:
        told = await ask("index_folder", path=".")
        assert told["skipped"] == ["bad.vtt (cannot be read as .vtt: taken in as it stands)"]
        for query, path in (
            ("Wartungsfenster Samstag", "m.eml"),
            ("crane costs", "m.eml"),
            ("launch", "s.vtt"),
        ):
            found = await ask("search_documents", query=query)
            assert [one["path"] for one in found["hits"]][:1] == [path], query
            assert "-->" not in str(found)
            assert "<v" not in str(found)
        assert (await ask("search_documents", query="picnic"))["hits"][0]["path"] == "bad.vtt"


async def test_more_mails_than_are_opened_at_once_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "MOST_MARKED", 1)
    for name in ("a.eml", "b.eml"):
        (tmp_path / name).write_bytes(mail("hello", "7bit"))
    async with knowing(tmp_path) as ask:
        assert "2 new mails and captions" in await ask.refused("index_folder", path=".")
