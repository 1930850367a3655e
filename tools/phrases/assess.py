"""How complex a request is, by rule: the phrases planner's assessment."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules.action import Class
from gate.rules.ports import Tools
from gate.rules.task import Assessment, Missing
from tools.phrases.interpret import Meant
from tools.phrases.plan_draft import Piece
from tools.phrases.tool_class import class_of

CALL = 10
DESTRUCTIVE = 15  # more
# The most that a request of at most two calls gets; below 30 is simple (docs/promises.md TASK-09).
SIMPLE = 29
FEW = 2


def assessed(meant: Meant, tools: Tools) -> Assessment:
    """10 for each call, and 15 more for each that its recipe or its server calls destructive; at most 100. One or
    two calls are simple, so at most 29; but calls that take results of others, or are only known after a look, are
    a plan, so at least 30. Questions with an assumption are given too; only one without makes it unclear."""
    destroying = sum(destroys(piece, tools) for piece in meant.pieces)
    calls = len(meant.pieces) + len(meant.looks)
    if meant.lookups:  # what each instruction comes to is not known yet
        calls = max(calls, len(meant.said))
    complexity = min(100, CALL * calls + DESTRUCTIVE * destroying)
    if calls <= FEW:
        complexity = min(SIMPLE, complexity)
    if meant.looks or in_order(meant.pieces, tools):
        complexity = max(SIMPLE + 1, complexity)
    reason = f"{calls} call{'s' if calls != 1 else ''}" + (
        f", {destroying} destructive" if destroying else ""
    )
    if meant.looks:
        reason = "it looks first, and then knows its steps"
    if meant.needed:
        reason = "a value is missing" if len(meant.needed) == 1 else f"{len(meant.needed)} values are missing"
    return Assessment(
        complexity=complexity,
        steps=max(1, calls),
        missing=(Missing.VALUE,) if meant.needed else (),
        questions=meant.questions,
        reason=reason,
    )


def in_order(pieces: Sequence[Piece], tools: Tools) -> bool:
    """Whether some call needs what an earlier one does: its result, a path that it makes, or one that it changes."""
    for place, piece in enumerate(pieces):
        if piece.refs or any(_depends(piece, before, tools) for before in pieces[:place]):
            return True
    return False


def _depends(piece: Piece, before: Piece, tools: Tools) -> bool:
    spec = tools.find(before.call.server, before.call.tool)
    changed = before.takes if spec is None or class_of(spec) is not Class.READ else ()
    made = any(
        path == new or path.startswith(f"{new.rstrip('/')}/") for path in piece.takes for new in before.gives
    )
    inside = any(
        f"{path}/".startswith(f"{new.rstrip('/')}/") for path in piece.into for new in before.folders
    )
    return made or inside or bool({*piece.takes} & {*changed})


def destroys(piece: Piece, tools: Tools) -> bool:
    spec = tools.find(piece.call.server, piece.call.tool)
    return spec is not None and class_of(spec) is Class.DESTRUCTIVE
