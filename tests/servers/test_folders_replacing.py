"""Cards of tools that make a file say where another one gives way to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer

from servers.data import server as data
from servers.document import server as document
from servers.meeting import server as meeting
from tests.servers.gate_around_server import gated
from tests.servers.test_document_filling import folder, form

SAID = " (in place of the present one, which goes to the trash)"
FILLED = {"path": "a.pdf", "values": {"amount": "5"}}
Case = tuple[str, Callable[[Sequence[Path]], MCPServer], str, dict[str, Any], str, str]
CASES: list[Case] = [
    ("document", document, "fill_pdf_form", FILLED, "b.pdf", SAID),
    ("document", document, "fill_pdf_form", FILLED, "a.pdf", ""),
    ("document", document, "fill_pdf_form", FILLED, "new.pdf", ""),
    ("data", data, "write_without_duplicates", {"source": "a.csv"}, "b.csv", SAID),
    ("data", data, "write_without_duplicates", {"source": "a.csv"}, "a.csv", ""),
    ("data", data, "write_without_duplicates", {"source": "a.csv"}, "new.csv", ""),
    ("meeting", meeting, "generate_minutes", {"source": "n.txt"}, "m.docx", SAID),
    ("meeting", meeting, "generate_minutes", {"source": "n.txt"}, "new.docx", ""),
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[2]} {case[4]}")
async def test_a_card_says_that_another_file_gives_way(tmp_path: Path, case: Case) -> None:
    name, made, tool, args, to, said = case
    root = folder(tmp_path)
    (root / "a.pdf").write_bytes(form())
    (root / "b.pdf").write_bytes(form(first=b"(other)/V(1)"))
    (root / "a.csv").write_text("x,y\n1,2\n1,2\n3,4\n")
    (root / "b.csv").write_text("name\nAnn\n")
    (root / "n.txt").write_text("Attendees: Ann\nDecision: We buy it.\n")
    (root / "m.docx").write_bytes(b"PK")
    async with gated(tmp_path / "logs", name, made([root])) as gate:
        seen = await gate.look(tool, **args, destination=to)
    assert seen.preview.is_complete, seen.preview.problem
    assert seen.preview.summary.partition(" (")[2] == said.removeprefix(" (")
