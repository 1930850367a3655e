"""The names of what a file lies in, by which an argument selects it."""

from __future__ import annotations

import pytest

from gate.rules.holders import holders, in_any_letters


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("cur/7.host:2,S", {"INBOX"}),
        ("new/7.host", {"INBOX"}),
        (".HR/cur/7.host:2,S", {"HR"}),
        (".HR.Pay/new/7.host", {"HR.Pay"}),
        ("..HR/cur/", {"HR"}),
        ("HR/cur/7.host", {"HR"}),
        ("team/lunch.ics", {"team"}),
        ("team/2026/lunch.ics", {"team", "team/2026"}),
        ("lunch.ics", set[str]()),
        ("HR", set[str]()),
        ("", set[str]()),
    ],
)
def test_a_file_lies_in_its_folders_and_a_mail_in_its_mailbox(path: str, names: set[str]) -> None:
    found = holders([path])
    assert names <= set(found)
    assert bool(found) is bool(names)


def test_a_holder_has_each_of_its_names_in_either_case() -> None:
    assert holders(["Team/lunch.ics", "Team/tea.ics"]) == ("Team", "team", "TEAM")


def test_a_schema_holds_for_a_holder_in_any_letters_and_for_nothing_else() -> None:
    schema = {"properties": {"mailbox": {"pattern": "^HR$"}, "text": {"pattern": "^HR$"}}}
    folded = {"properties": {"mailbox": {"pattern": "(?i:^HR$)"}, "text": {"pattern": "^HR$"}}}
    assert in_any_letters(schema, ["mailbox"]) == folded
    assert in_any_letters(None, ["mailbox"]) is None
