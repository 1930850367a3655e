"""The receipt covers all of a proposal, and which version of whose action it is; and nothing that comes after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gate.rules.action import Action, Affected, Fact, Preview, Proposal
from gate.rules.approvers import Approvers, Named
from gate.rules.receipt import digest, intact, receipt
from tests.actions import but
from tests.storage.samples import action, any_of

# What is not shown, or comes after the decision: the MAC of the row covers it.
OTHERS = {"revision", "state", "created_at", "origin", "receipt", "flaw"} | {
    "resolution", "execution", "result_review", "undo",
}  # fmt: skip
SHOWN = but(
    action(),
    phrase="delete a.md 7F3K",
    approvers=Approvers(
        frozenset({"U2"}), frozenset({"S1"}), 2, (Named(frozenset({"U3"}), frozenset({"S2"})),)
    ),
    preview=Preview("Delete a.md", "Delete", (Fact("path", "a.md"),), affected=(Affected("a.md", 1),)),
)


def places(kind: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every field of a dataclass, also of those in it and of the first of several in a tuple, with its type."""
    for name, hint in get_type_hints(kind).items():
        yield (*path, name), hint
        if is_dataclass(hint):
            yield from places(hint, (*path, name))
        elif get_args(hint) and is_dataclass(get_args(hint)[0]):
            yield from places(get_args(hint)[0], (*path, name, 0))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        value = value[name] if isinstance(name, int) else getattr(value, name)
    return value


def put(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    if not path:
        return new
    name, *rest = path
    if isinstance(name, int):
        return (*value[:name], put(value[name], tuple(rest), new), *value[name + 1 :])
    return replace(value, **{name: put(getattr(value, name), tuple(rest), new)})


PLACES = list(places(Proposal))
EACH = settings(max_examples=15)


def test_the_places_reach_what_people_see_in_a_preview() -> None:
    names = {".".join(map(str, path)) for path, _ in PLACES}
    assert {
        "decision.approvers.needed",
        "preview.facts.0.value",
        "preview.affected.0.size",
        "source.prose",
    } <= names


@pytest.mark.parametrize(("path", "hint"), PLACES, ids=[".".join(map(str, path)) for path, _ in PLACES])
@given(data=st.data())
@EACH
def test_whatever_changes_of_a_proposal_is_another_receipt(path: Any, hint: Any, data: st.DataObject) -> None:
    new = data.draw(any_of(hint))
    assume(new != at(SHOWN.proposal, path))
    changed = replace(SHOWN, proposal=put(SHOWN.proposal, path, new))
    assert receipt(changed) != receipt(SHOWN)


@pytest.mark.parametrize("name", sorted({field.name for field in fields(Action)} - OTHERS - {"proposal"}))
def test_another_version_thread_or_requester_is_another_receipt(name: str) -> None:
    new = {"version": 2, "session": replace(SHOWN.session, thread="2")}.get(name, "another")
    assert receipt(replace(SHOWN, **{name: new})) != receipt(SHOWN)


@given(other=any_of(Action))
@EACH
def test_what_comes_after_the_decision_is_no_part_of_it(other: Action) -> None:
    after = replace(SHOWN, **{name: getattr(other, name) for name in OTHERS})
    assert receipt(after) == receipt(SHOWN)


@given(value=any_of(Proposal))
@EACH
def test_every_proposal_has_one_digest(value: Proposal) -> None:
    assert digest(value) == digest(replace(value)) != digest(replace(value, tool=value.tool + "x"))


def test_a_field_that_is_added_later_changes_no_digest() -> None:
    @dataclass(frozen=True)
    class Before:
        a: str

    @dataclass(frozen=True)
    class After:
        a: str
        b: str = ""

    assert digest(Before("x")) == digest(After("x")) != digest(After("x", "y"))


def test_what_has_no_spelling_is_refused() -> None:
    with pytest.raises(TypeError, match="no spelling of set"):
        digest({"a": {1}})


def test_an_action_is_intact_with_its_own_receipt_in_a_row_without_a_flaw() -> None:
    made = replace(SHOWN, receipt=receipt(SHOWN))
    assert intact(made)
    assert not intact(replace(made, flaw="altered"))
    assert not intact(but(made, phrase=""))
