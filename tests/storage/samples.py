"""Values of the gate, plain ones and any ones, for the tests of the stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from gate.rules.action import Action, CallClass, Inverse, Json, Preview, Risk, Session, Verdict
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.audit import Entry
from tests.actions import action_of

THREAD = Session("T1", "C1", "1700000000.000100")
TTL = timedelta(seconds=300)
LATER = timedelta(days=30)

# Every string that Python has: NUL, control characters, lone surrogates and pairs of them.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: texts,
    int: st.integers(0, 2**31 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=20),
    NoneType: st.none(),
    datetime: st.builds(
        lambda zone, since: datetime(1990, 1, 1, tzinfo=zone) + since,
        st.sampled_from([UTC, timezone(timedelta(hours=-9, minutes=30))]),
        st.timedeltas(timedelta(0), timedelta(days=40_000)),
    ),
    # A key is made of three parts; those of Slack hold no colon.
    Session: st.builds(Session, *[st.text(st.characters(exclude_characters=":"), max_size=9)] * 3),
}


@cache
def any_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of this type: of its fields, with every string, moment and JSON value that there is."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in SIMPLE:
        return SIMPLE[hint]
    if origin in (Union, UnionType):
        return st.one_of(*map(any_of, inner))
    if origin is tuple:
        return st.lists(any_of(inner[0]), max_size=2).map(tuple)
    if origin is frozenset:
        return st.frozensets(any_of(inner[0]), max_size=2)
    if origin is Mapping:
        return st.dictionaries(texts, any_of(inner[1]), max_size=3)
    if issubclass(hint, Enum):
        return st.sampled_from(hint)
    hints = get_type_hints(hint)
    return st.builds(hint, **{field.name: any_of(hints[field.name]) for field in fields(hint)})


def action(action_id: str = "a1", now: datetime = datetime(2026, 1, 1, tzinfo=UTC), **changes: Any) -> Action:
    """A prepared action, made `now`."""
    plain: dict[str, Any] = {
        "id": action_id,
        "version": 1,
        "revision": 1,
        "state": State.PREPARED,
        "session": THREAD,
        "requester": "U1",
        "server": "filesystem",
        "tool": "move_file",
        "args": b'{"to":"archive/a.md"}',
        "cls": CallClass.WRITE,
        "risk": Risk.LOW,
        "verdict": Verdict.CONFIRM,
        "reason": "It writes.",
        "rule": "class: write",
        "policy": "p1",
        "definition": "d1",
        "approvers": Approvers(),
        "always_gated": False,
        "preview": Preview("Move a.md to archive/a.md", "Move", ()),
        "capture": {"hash": "abc"},
        "receipt": "r1",
        "phrase": "",
        "created_at": now,
        "expires_at": now + TTL,
    }
    return action_of(**{**plain, **changes})


def inverse(until: datetime | None) -> Inverse:
    return Inverse("filesystem", "move_file", b'{"to":"a.md"}', until=until)


def said(event: str = "proposed", **changes: Any) -> Entry:
    """An audit entry about the sample action."""
    return Entry(**{"event": event, "session": THREAD.key, "actor": "U1", "action": "a1", **changes})
