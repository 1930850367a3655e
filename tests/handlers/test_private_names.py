"""Where the reads that look names up are private, nobody is told what names there are by what the bot writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.handlers.test_sentences import answer_to, shown
from tests.product import OPS, running_product
from tests.slack_app import TEAM
from tools.phrases.name_lookup import NAMES_WITHHELD

pytestmark = pytest.mark.slow

SHIPPED = Path(__file__).parents[2] / "manifests" / "policy.yaml"
PRIVATE = """servers:
  filesystem:
    tools:
      search_files: {private: true}
      list_dir: {private: true}
"""
SENTENCES = (
    "read the summary",
    "read the sumary",
    "delete the summaries",
    "move drafts/q3-draft.md to archve",
    "move drafts/q3-draft.md to new.md then delete the q3 figures",
)


async def test_a_name_is_neither_asked_about_nor_suggested_in_the_thread_or_on_the_record(
    tmp_path: Path,
) -> None:
    policy = SHIPPED.read_text(encoding="utf-8").replace("servers:\n", PRIVATE, 1)
    async with running_product(tmp_path, policy=policy) as product:
        told = [shown(await answer_to(product, sentence)) for sentence in SENTENCES]
        await product.ws.settled()
        everything = [one.text + shown(one) for one in product.ws.by_app(OPS)]
        lines = await product.parts.world.ledger.audit_tail(team=TEAM, limit=1_000)
    assert lines
    assert [NAMES_WITHHELD in one for one in told].count(True) >= 4, told
    for hidden in ("q3-summary", "q2-summary", "q3-figures", "lease-2026"):
        assert not [one for one in everything if hidden in one]
        assert not [one for one in lines if hidden in repr(one)]
