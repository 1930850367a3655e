"""How complex a request is, by rule: the phrases planner's assessment."""

from __future__ import annotations

from gate.action import Class
from gate.task import Assessment, Missing
from gate.world import Tools
from tools.classes import class_of
from tools.pieces import Piece
from tools.understand import Meant

CALL = 10
DESTRUCTIVE = 15  # more
SIMPLE = 29  # the most that a request of at most two calls gets: below 30 is simple (spec 001)
FEW = 2


def assessed(meant: Meant, tools: Tools) -> Assessment:
    """10 for each call, and 15 more for each that its recipe or its server calls destructive; at most 100. One or
    two calls are simple, so at most 29; but calls that take results of others, or are only known after a look, are
    a plan, so at least 30. Questions with an assumption are given too; only one without makes it unclear."""
    destroying = sum(destroys(piece, tools) for piece in meant.pieces)
    calls = len(meant.pieces) + len(meant.looks)
    complexity = min(100, CALL * calls + DESTRUCTIVE * destroying)
    if calls <= FEW:
        complexity = min(SIMPLE, complexity)
    if meant.looks or any(piece.refs for piece in meant.pieces):
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
        clear=not meant.needed,
        steps=max(1, calls),
        missing=(Missing.VALUE,) if meant.needed else (),
        questions=meant.questions,
        reason=reason,
    )


def destroys(piece: Piece, tools: Tools) -> bool:
    spec = tools.find(piece.call.server, piece.call.tool)
    return spec is not None and class_of(spec) is Class.DESTRUCTIVE
