"""The target of an undo: how it differs from what the action left, shown to whoever is asked and looked at again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gate.actions.preview import PreviewReadFailed, PreviewResult, policy_decision, run_read
from gate.rules.action import FOUND_CHANGED, Action, Decision, Inverse, Json
from gate.rules.canonical_json import stored_args
from gate.rules.ports import World
from gate.rules.previews import target_of, text_of
from gate.rules.templates import TemplateError, look_up
from gate.rules.tool import Read, Trust
from gate.rules.undo_privacy import has_held_words, preview_of_undo

NOT_LOOKED = "I could not look whether it changed since"
NEVER_LOOKED = "Nothing tells whether it changed since."
TOOL_CHANGED = "The tool that takes it back has changed since."
IS_UNDO = "no: this is an undo itself"


@dataclass(frozen=True, slots=True)
class Drift:
    """How the target differs from what the action left: in words for a card that everybody may see, and `quietly`,
    without a value, for the log and for all others."""

    notes: tuple[str, ...] = ()
    quietly: tuple[str, ...] = ()
    seen: bool = True  # False: nobody could look
    found: Mapping[str, Json] = field(default_factory=dict)  # how the target is now, of what is compared


async def look_for_drift(world: World, undo: Action, original: Action | None) -> Drift | None:
    """How the tool of an undo, and its target, differ from what they were; None where they do not."""
    tool, target = _tool_drift(world, undo), None
    if original is not None and original.inverse is not None:
        target = await _target_drift(world, original.inverse, undo.session.channel)
    if tool is None or target is None:
        return tool or target
    return replace(target, notes=(*tool.notes, *target.notes), quietly=(*tool.quietly, *target.quietly))


def shown_with_drift(
    undo: Action, original: Action | None, seen: PreviewResult, decision: Decision, drift: Drift | None
) -> PreviewResult:
    """What a person is asked about: what the undo would do now, how its target has changed, and how that was found."""
    found = drift or Drift()
    is_held = original is not None and has_held_words(original)
    notes = found.quietly if decision.private or decision.secret or is_held else found.notes
    told = preview_of_undo(seen.preview, decision, seen.args, original)
    preview = replace(
        told, summary=undo.preview.summary, verb="Undo", undo=IS_UNDO, notes=(*notes, *told.notes)
    )
    capture = {**seen.capture, FOUND_CHANGED: found.found} if found.seen else seen.capture
    return replace(seen, preview=preview, capture=capture)


async def drift_refusal(world: World, undo: Action) -> str:
    """Why an undo is called off when it begins: what it takes back has changed since it was looked at, maybe by a
    process that is no more; where a person was asked about a change, since that. "" where it has not."""
    original = await world.ledger.action(undo.undoes)
    if original is None or original.inverse is None:
        return ""
    shown = undo.capture.get(FOUND_CHANGED)
    if undo.version > 1 and shown is None:
        return ""  # the person was told that nobody could look
    drift = await _target_drift(world, original.inverse, undo.session.channel)
    if drift and not drift.seen:
        return NOT_LOOKED
    same = (drift.found if drift else {}) == (shown or {})
    return "" if same else f"{target_of(original.preview) or 'Its target'} changed after it was looked at"


def _tool_drift(world: World, undo: Action) -> Drift | None:
    """The tool of an undo, where it is another one than was read when its way back was told."""
    spec = world.tools.find(undo.server, undo.tool)
    return Drift((TOOL_CHANGED,), (TOOL_CHANGED,)) if spec and spec.changed else None


async def _target_drift(world: World, inverse: Inverse, channel: str) -> Drift | None:
    """None where it does not differ."""
    if not inverse.drift_tool:
        return None if _is_bundled(world, inverse) else Drift((NEVER_LOOKED,), (NEVER_LOOKED,), seen=False)
    try:
        read = Read(inverse.drift_tool, stored_args(inverse.drift_args))
        now = await run_read(world, inverse.server, read, {}, channel)
    except (PreviewReadFailed, TemplateError) as error:
        return Drift((f"{NOT_LOOKED}: {error}.",), (f"{NOT_LOOKED}.",), seen=False)
    found = {key: value_at(now.found, key) for key in inverse.drift_same}
    changed = {key: was for key, was in inverse.drift_same.items() if found[key] != was}
    notes = tuple(
        f"Changed since: {key} was {_abbreviated(was)}, is {_abbreviated(found[key])}."
        for key, was in changed.items()
    )
    quietly = (f"Changed since: {', '.join(changed)}.",)
    if now.private or now.covered or _is_kept_from_others(world, inverse, channel):
        notes = quietly
    return Drift(notes, quietly, found=found) if changed else None


def _is_bundled(world: World, inverse: Inverse) -> bool:
    """Whether the tool of a way back is ours, which itself refuses what has changed since."""
    spec = world.tools.find(inverse.server, inverse.tool)
    return spec is not None and spec.trust is Trust.BUNDLED


def _is_kept_from_others(world: World, inverse: Inverse, channel: str) -> bool:
    """Whether what the read gave that looks for drift may not be told to everybody."""
    spec = world.tools.find(inverse.server, inverse.drift_tool)
    decision = policy_decision(world, spec, stored_args(inverse.drift_args), channel) if spec else None
    return decision is None or decision.private or decision.secret


def value_at(read: Mapping[str, Json], path: str) -> Json:
    """What a read has found at a path, as `text.sha`; None where there is nothing."""
    try:
        return look_up(path, read)
    except TemplateError:
        return None  # gone


def _abbreviated(value: Json) -> str:
    """Enough of a hash or a text to see that it is another one."""
    text = text_of(value)
    return text if len(text) <= 40 else f"{text[:12]}… ({len(text):,} characters)"
