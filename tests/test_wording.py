"""The catalogue of what people read is up to date, and has no words of ours that are none of theirs."""

from __future__ import annotations

import re

from tests.wording import PAGE, catalogue, page

OURS = re.compile(
    r"\b(twins?|tiers?|seal(s|ed)?|gates?|gated|settle[sd]?|re-?plan(s|ned)?|requesters?|nodes?|verdicts?|idempotent|"
    r"ledger|inverse|tainted|drift(s|ed)?|preconditions?)\b",
    re.IGNORECASE,
)
FILLED = re.compile(r"\{[^{}]*\}|`[^`]*`")
ALLOWED = {  # the beginning of a text -> why it has such a word
    "“…” is always gated": "what policy.md calls the list that an operator writes",
    "What destroys something, or is always gated": "the same",
    "*Allow* confirms this call": "the same",
    "Every tool here stands behind a gate": "for agents, over MCP",
    "Approve, change, re-plan or cancel": "for programs: the names of the API's verbs",
    "The audit log ends with an entry of version 1": "for operators: what SECURITY.md calls the MACs of rows",
}


def test_the_catalogue_is_as_python_m_tests_wording_writes_it() -> None:
    assert PAGE.read_text() == page()


def test_no_sentence_has_a_word_of_ours() -> None:
    said = [text for modules in catalogue().values() for found in modules.values() for text in found]
    wrong = [
        text for text in said if OURS.search(FILLED.sub("", text)) and not text.startswith(tuple(ALLOWED))
    ]
    assert wrong == []
    assert [start for start in ALLOWED if not any(text.startswith(start) for text in said)] == []
