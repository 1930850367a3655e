"""The first word of a line in the past."""

import pytest

from gate.sentences.past_tense import past


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Move a.md to b.md", "Moved a.md to b.md"),
        ("Copy a.md", "Copied a.md"),
        ("Write 5 B to a.md", "Wrote 5 B to a.md"),
        ("Submit the form", "Submitted the form"),
        ("List all files", "Listed all files"),
        ("Query 3 tables", "Queried 3 tables"),
        ("Log “done”", "Logged “done”"),
        ("Find duplicates", "Found duplicates"),
        ("Stop watching reports", "Stopped watching reports"),
        ("Send", "Sent"),
        ("Put 5 B into the clipboard", ""),
        ("Git commit x", ""),
        ("", ""),
    ],
)
def test_a_line_whose_verb_is_known_is_told_as_done(line, said):
    assert past(line) == said
