"""What a preview shows of a change of text."""

from __future__ import annotations

from gate.action import Class
from gate.previews import build
from gate.tool import Recipe, Show, ToolSpec

WRITE = Show("diff", before="{capture.now.text}", after="{args.content}", path="{args.path}")


def shown(show: Show, now: str) -> str:
    spec = ToolSpec("s", "write", "Write", "", {}, "d", recipe=Recipe(show=show))
    args = {"path": "a.md", "content": "new\n"}
    return build(spec, Class.WRITE, args, {"now": {"text": now}}).diff


def test_a_text_over_another_is_a_difference():
    assert shown(WRITE, "old\n").endswith("-old\n+new\n")


def test_a_text_where_nothing_was_is_told_once_among_the_arguments():
    assert shown(WRITE, "") == ""


def test_a_difference_that_a_read_gave_is_shown_as_it_is():
    assert shown(Show("text", after="{capture.now.text}"), "-one\n+two\n") == "-one\n+two\n"
