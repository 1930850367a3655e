"""What a plan keeps of the previews of its steps: about as much as a window could show, however many there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gate.rules.action import Preview
from gate.rules.steps import Step

# Characters of all previews of a plan together: the window with the whole plan takes no more, and every list of plans
# reads all of them.
ROOM = 220 * 1024
LEFT_OUT = "This is too long to be shown with the plan."


def within_room(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, in their order, without the details of previews for which there is no room left. A step that an
    approval of the plan may cover keeps them: its card shows them."""
    kept, room = list[Step](), ROOM
    for step in steps:
        size = _length(step.preview) if step.preview else 0
        if step.preview and size > room and not step.preflight.seal:
            short = without_details(step.preview, LEFT_OUT)
            step = replace(step, preflight=replace(step.preflight, preview=short))
        else:
            room -= size
        kept.append(step)
    return tuple(kept)


def without_details(preview: Preview, *why: str) -> Preview:
    """The preview without its difference, its facts and what is affected. `why`: what is said in their place."""
    return replace(preview, facts=(), diff="", affected=(), notes=(*preview.notes, *why))


def _length(preview: Preview) -> int:
    """The characters of its details, as they are stored."""
    facts = sum(len(one.label) + len(one.value) + len(one.old or "") for one in preview.facts)
    return len(preview.diff) + facts + sum(len(one.name) + len(one.kind) for one in preview.affected)
