"""How complex a request is, by rule: the phrases planner's assessment."""

from __future__ import annotations

from gate.action import Class
from gate.task import Assessment, Missing
from gate.tool import ToolSpec
from gate.world import Tools
from tools.pieces import Piece
from tools.understand import Meant

CALL = 10
DESTRUCTIVE = 15  # more
SIMPLE = 29  # the most that a request of at most two calls gets: below 30 is simple (spec 001)
FEW = 2


def assessed(meant: Meant, tools: Tools) -> Assessment:
    """10 for each call, and 15 more for each that its recipe or its server calls destructive; at most 100. One or
    two calls are simple, so at most 29; but calls that take results of others are a plan, so at least 30. Questions
    with an assumption are given too; only one without makes it unclear."""
    destroying = sum(destroys(piece, tools) for piece in meant.pieces)
    calls = len(meant.pieces)
    complexity = min(100, CALL * calls + DESTRUCTIVE * destroying)
    if calls <= FEW:
        complexity = min(SIMPLE, complexity)
    if any(piece.refs for piece in meant.pieces):
        complexity = max(SIMPLE + 1, complexity)
    reason = f"{calls} call{'s' if calls != 1 else ''}" + (
        f", {destroying} destructive" if destroying else ""
    )
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


def class_of(spec: ToolSpec) -> Class:
    """What its recipe or its server says of it: a guess, for the assessment alone. Policy decides elsewhere."""
    if spec.recipe.cls is not None:
        return spec.recipe.cls
    if spec.hints.read_only:
        return Class.READ
    return Class.DESTRUCTIVE if spec.hints.destructive else Class.UNKNOWN
