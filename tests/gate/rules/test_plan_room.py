"""What a plan keeps of the previews of its steps."""

from dataclasses import replace

import pytest

from gate.rules.action import Affected, Fact, Preview
from gate.rules.plan_room import LEFT_OUT, ROOM, within_room
from tests.tasks import having, step_of

SMALL = Preview("Write a.md", "Write", (Fact("path", "a.md"),), "+a", (Affected("a.md"),), undo="yes")


def step(id, preview, **changes):
    return having(step_of(id), preview=preview, **changes)


@pytest.mark.parametrize(
    "details",
    [
        {"diff": "x" * ROOM},
        {"facts": (Fact("content", "x" * ROOM),)},
        {"facts": (Fact("content", "", "x" * ROOM),)},
        {"affected": (Affected("x" * 200),) * (ROOM // 200 + 1)},
    ],
)
def test_a_preview_for_which_a_window_has_no_room_is_kept_without_its_details_and_says_so(details):
    large = replace(SMALL, notes=("Look.",), **details)
    (kept,) = within_room([step("s1", large)])
    assert kept.preview == Preview("Write a.md", "Write", (), undo="yes", notes=("Look.", LEFT_OUT))


def test_previews_are_kept_in_the_order_of_the_steps_as_long_as_there_is_room():
    third = replace(SMALL, diff="x" * (ROOM // 3))
    steps = within_room([step(f"s{n}", third) for n in range(30)] + [step("s30", SMALL), step("s31", None)])
    assert [bool(one.preview and one.preview.diff) for one in steps] == [True] * 2 + [False] * 28 + [
        True,
        False,
    ]
    assert within_room(steps) == steps


def test_what_an_approval_of_the_plan_may_cover_keeps_what_it_is_approved_by():
    covered = step("s2", replace(SMALL, facts=(Fact("content", "x" * ROOM),)), seal="ab" * 32)
    assert within_room([step("s1", replace(SMALL, diff="x" * ROOM)), covered])[1] == covered
