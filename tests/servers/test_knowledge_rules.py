"""Rules about files hold for the index of `knowledge`: for each file that is taken in, and for where it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.rules.action import CallClass, Verdict
from gate.rules.policy import Rule
from servers.knowledge import server
from tests.servers.files import Clock
from tests.servers.gate_around_server import gated
from tests.servers.test_closed_calendars import Asker

IN_HR = Rule(
    "closed", ("*",), deny=True, schema={"required": ["path"], "properties": {"path": {"pattern": "^hr/"}}}
)


async def test_a_file_that_was_moved_is_not_given_under_its_old_path(tmp_path: Path) -> None:
    root = tmp_path / "files"
    for folder in ("open", "hr"):
        (root / folder).mkdir(parents=True)
    (root / "open" / "pay.md").write_text("The wombat earns 98,000 in Leipzig.\n")
    async with gated(tmp_path / "logs", "knowledge", server([root], Clock())) as gate:
        await gate("index_folder", path=".")
        asks = Asker(gate, (IN_HR,))
        assert "98,000" in await asks("search_documents", query="wombat")
        (root / "open" / "pay.md").rename(root / "hr" / "pay.md")
        for tool, args in (
            ("search_documents", {"query": "wombat"}),
            ("ask_about_files", {"question": "What does the wombat earn?"}),
            ("get_related_chunks", {"chunk": "open/pay.md#1"}),
        ):
            assert "98,000" not in await asks(tool, **args), tool


@pytest.mark.parametrize(
    ("rule", "verdict"),
    [
        (
            Rule(
                "r",
                ("*",),
                deny=True,
                schema={"required": ["path"], "properties": {"path": {"const": "hr/pay.md"}}},
            ),
            Verdict.DENY,
        ),
        (Rule("r", ("*",), at_least=CallClass.DESTRUCTIVE, texts=(r"pay\.md$",)), Verdict.TYPED),
    ],
)
async def test_a_rule_about_one_file_holds_for_the_index_of_many(
    tmp_path: Path, rule: Rule, verdict: Verdict
) -> None:
    folder = tmp_path / "files" / "hr"
    folder.mkdir(parents=True)
    for name in ("pay", *map(str, range(600))):
        (folder / f"{name}.md").write_text(f"Word {name}.\n")
    async with gated(tmp_path / "logs", "knowledge", server([folder.parent], Clock())) as gate:
        seen = await Asker(gate, (rule,)).look("index_folder", path=".")
    assert seen.decision is not None
    assert seen.decision.verdict is verdict
