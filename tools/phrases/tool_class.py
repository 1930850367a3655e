"""What a tool seems to do, for guesses of the planner alone. Policy decides elsewhere."""

from __future__ import annotations

from gate.rules.action import Class
from gate.rules.tool import ToolSpec


def class_of(spec: ToolSpec) -> Class:
    """What its recipe or its server says of it: a guess, for the assessment alone. Policy decides elsewhere."""
    if spec.recipe.cls is not None:
        return spec.recipe.cls
    if spec.hints.read_only:
        return Class.READ
    return Class.DESTRUCTIVE if spec.hints.destructive else Class.UNKNOWN
