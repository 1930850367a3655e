"""Asking a folder as people keep it: wrapped lines, headings, abbreviations, and licences that hold every word."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from servers.knowledge import tasks
from servers.knowledge.text_parts import SIZE, chunks, is_made_of, root, sections
from tests.servers.figures import told
from tests.servers.test_knowledge_tools import knowing

LICENCE = """                    Licence of the software

Permission is hereby granted, free of charge, to any person obtaining a copy of this
software to use, copy, modify, merge, publish, distribute the software, and to permit
persons to whom the software is furnished to do so on vacation, in the office, by car.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND. IN NO EVENT SHALL THE
HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, ARISING FROM THE SOFTWARE.
"""
HANDBOOK = """# Handbook

## Vacation

Everybody has 30 days a year. Up to five of them can be taken into the first
quarter of the next year, when the team lead
agrees in writing.

## Sick leave

Call the office before 9:00 and send the certificate, e.g. as a photo, to
Dr. Weber on the third day at the latest.

COMPANY CARS

Book one in the calendar. Fuel is paid with the card in the glove box; private
trips are paid by whoever makes them, i.e. 30 cents a kilometre.

## Remote work
### Abroad
Work from another country of the European Union is possible for at most
20 days in a row. Ask the payroll office first: it needs the A1 form.
"""
PLAN = """Umzug nach Leipzig
==================

Der Umzug findet am 14. März statt. Die Firma Krause
holt die Möbel ab, ca. um 8 Uhr, und bringt sie in die Karl-Liebknecht-Str. 12 in
Leipzig.

Kosten
------

- Transport: 2.400 Euro
- Versicherung der Möbel während des Transports und der Lagerung, inkl. aller
  Rechner und Bildschirme: 310 Euro
"""
SOFTWARE = (
    "Which software may be used is decided by Ann. The software for accounting is bought once a year.\n"
)
LEASE = """# Mietvertrag

Die Kündigungsfrist beträgt drei Monate zum Quartalsende. Die Nebenkosten werden jährlich abgerechnet.
Für Haustiere ist eine Genehmigung des Vermieters nötig.
"""
TEXTS = {
    "LICENSE": LICENCE, "handbook.md": HANDBOOK, "plan.md": PLAN, "software.txt": SOFTWARE, "vertrag.md": LEASE,
}  # fmt: skip
ASKED = {
    "How many days of vacation do I have?": ("handbook.md", "Everybody has 30 days a year."),
    "What about vacation?": (
        "handbook.md",
        "Everybody has 30 days a year. Up to five of them can be taken into the first quarter of the next year, "
        "when the team lead agrees in writing.",
    ),
    "Can days be taken into the next year?": (
        "handbook.md",
        "Up to five of them can be taken into the first quarter of the next year, when the team lead agrees in writing.",
    ),
    "Where do I send the certificate?": (
        "handbook.md",
        "Call the office before 9:00 and send the certificate, e.g. as a photo, to Dr. Weber on the third day at the "
        "latest.",
    ),
    "Who pays for private trips?": (
        "handbook.md",
        "Fuel is paid with the card in the glove box; private trips are paid by whoever makes them, i.e. 30 cents a "
        "kilometre.",
    ),
    "How do I get a company car?": (
        "handbook.md",
        "Book one in the calendar. Fuel is paid with the card in the glove box; private trips are paid by whoever makes "
        "them, i.e. 30 cents a kilometre.",
    ),
    "Can I work from another country?": (
        "handbook.md",
        "Work from another country of the European Union is possible for at most 20 days in a row.",
    ),
    "Wann holt die Firma Krause die Möbel ab?": (
        "plan.md",
        "Die Firma Krause holt die Möbel ab, ca. um 8 Uhr, und bringt sie in die Karl-Liebknecht-Str. 12 in Leipzig.",
    ),
    "Versicherung der Möbel": (
        "plan.md",
        "- Versicherung der Möbel während des Transports und der Lagerung, inkl. aller Rechner und Bildschirme: 310 Euro",
    ),
    "Welche Frist gilt für die Kündigung?": (
        "vertrag.md",
        "Die Kündigungsfrist beträgt drei Monate zum Quartalsende.",
    ),
    "Wie wird über die Kosten abgerechnet?": ("vertrag.md", "Die Nebenkosten werden jährlich abgerechnet."),
    "Sind Haustiere erlaubt?": ("vertrag.md", "Für Haustiere ist eine Genehmigung des Vermieters nötig."),
    "Wer genehmigt ein Tier im Haus?": ("vertrag.md", "Für Haustiere ist eine Genehmigung des Vermieters nötig."),
    "Which software may persons use?": ("software.txt", "Which software may be used is decided by Ann."),
    "Which licence does the software have, and what warranty?": ("LICENSE", ""),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A handbook, a plan, a lease, a note and a licence."""
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


@pytest.mark.slow
async def test_questions_are_answered_with_whole_sentences_of_the_right_section(folder: Path) -> None:
    wrong = []
    async with knowing(folder) as ask:
        await ask("index_folder", path=".")
        for question, (path, answer) in ASKED.items():
            found = (await ask("ask_about_files", question=question, limit=1))["sources"]
            if [(one["path"], answer and one["quote"]) for one in found] != [(path, answer)]:
                wrong.append((question, [one["quote"] for one in found]))
    right = f"{len(ASKED) - len(wrong)} of {len(ASKED)}"
    assert right == told("knowledge.ask_about_files"), wrong


@pytest.mark.parametrize(
    ("word", "part", "made"),
    [
        ("Kündigungsfristen", "Frist", True),
        ("Jahresurlaub", "Urlaub", True),
        ("Urlaubsanträge", "Urlaub", True),
        ("Nebenkosten", "Kosten", True),
        ("Verträge", "Vertrag", True),
        ("Genehmigungen", "Genehmigung", True),
        ("release", "lease", False),
        ("report", "port", False),
        ("express", "press", False),
        ("Rechnung", "Recht", False),
        ("Kosten", "Nebenkosten", False),
    ],
)
def test_a_word_is_found_in_its_forms_and_compounds(word: str, part: str, made: bool) -> None:
    assert is_made_of(root(word), root(part)) == made


@pytest.mark.slow
async def test_licences_come_last_where_nobody_asks_about_them(folder: Path) -> None:
    async with knowing(folder) as ask:
        await ask("index_folder", path=".")
        plain = await ask("search_documents", query="use software")
        asked = await ask("search_documents", query="use of software, licence")
        alone = await ask("search_documents", query="liable for damages")
    assert [hit["path"] for hit in plain["hits"]] == ["software.txt", "LICENSE"]
    assert asked["hits"][0]["path"] == "LICENSE"
    assert [hit["path"] for hit in alone["hits"]] == ["LICENSE"]


def test_a_heading_stands_with_what_is_below_it() -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + "A line of this part, again and again. " * 9 for n in range(9))
    parts = list(chunks(long))
    assert all(part.text.startswith("## Part ") and not part.text.rstrip().endswith(" ##") for part in parts)
    assert max(len(part.text) for part in parts) <= SIZE
    assert [one.heading for part in parts for one in sections(part.text)] == [f"Part {n}" for n in range(9)]


def test_what_is_no_prose_keeps_its_lines() -> None:
    [section] = sections("Buy:\n- milk\n- bread\n1. first\n| a | b |\nName: Ann\nTown: Kiel")
    assert section.sentences == [
        "Buy:",
        "- milk",
        "- bread",
        "1. first",
        "| a | b |",
        "Name: Ann",
        "Town: Kiel",
    ]


def test_the_words_of_an_index_are_looked_through_once_and_only_where_the_exact_words_are_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, look = list[list[str]](), tasks._other_forms

    def counted(base: sqlite3.Connection, terms: Sequence[str]) -> Any:
        looks.append([*terms])
        return look(base, terms)

    monkeypatch.setattr(tasks, "_other_forms", counted)
    text = LEASE.encode()
    _, index = tasks.changed(b"", text, folder=["", True], gone=[], new=[["a.md", "0" * 64, len(text)]])
    for query, times in (("Nebenkosten", 0), ("Kosten", 1), ("Kosten Strom", 1)):
        looks.clear()
        assert tasks.search(index, query=query, within="", limit=5)[0]["hits"]
        assert len(looks) == times, query
