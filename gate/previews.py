"""From a call to what people see of it: facts, diff, affected things, and whether it can be taken back."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gate.action import Affected, Class, Fact, Json, Preview
from gate.canonical import MAX_BYTES, BadArguments, canonical, leaves
from gate.policy import words
from gate.strange import strange
from gate.template import TemplateError, expand, holds
from gate.tool import ToolSpec, Undo

STRANGE = (
    "Some characters here are invisible or look like others. They are spelled out as \\u{…}: read with care."
)
MAX_AFFECTED = 1000


def text_of(value: Json) -> str:
    """A leaf as text: strings as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def facts(
    args: Json,
    added: Sequence[str] = (),
    before: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> tuple[Fact, ...]:
    """Every leaf of the arguments, parameters in `order`. `added`: parameters that the recipe put there.
    `before`: the facts of the version that was edited, so that what changed is marked."""
    found = []
    place = {name: index for index, name in enumerate(order)}
    ordered = sorted(args, key=lambda name: place.get(name, len(place)))
    for path, value in (leaf for part in [{n: args[n]} for n in ordered] or [{}] for leaf in leaves(part)):
        now = text_of(value)
        bound = path.split(".")[0].split("[")[0] in added  # looked up anew, and edited by nobody
        old = None if before is None or bound or before.get(path) == now else before.get(path, "")
        found.append(Fact(path, now, old, bound))
    gone = set(before or ()) - {fact.label for fact in found}
    return (*found, *(Fact(path, "", (before or {})[path]) for path in sorted(gone)))


def has_strange(preview: Preview) -> bool:
    texts = [preview.summary, *(f.label for f in preview.facts), *(f.value for f in preview.facts)]
    return any(map(strange, [*texts, *(a.name for a in preview.affected)]))


def unified(before: str, after: str, path: str) -> str:
    """A unified diff with three lines of context, as `diff -u` prints it."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path} (now)", f"{path} (after)"
    )
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def default_verb(spec: ToolSpec) -> str:
    """The first word of the tool's name: `create_issue` gives Create."""
    return (words(spec.name) or ["run"])[0].capitalize()


def summary_of(spec: ToolSpec, args: Json, otherwise: str = "") -> str:
    """What a call does in its recipe's words, as far as the arguments alone tell; else `otherwise`."""
    try:
        return str(expand(spec.recipe.summary, {"args": args})) or otherwise
    except TemplateError:
        return otherwise


def build(
    spec: ToolSpec,
    cls: Class,
    args: Json,
    capture: Mapping[str, Json],
    before: Mapping[str, str] | None = None,
) -> Preview:
    """The preview of a call, from its arguments and from what was captured. Raises TemplateError."""
    recipe = spec.recipe
    scope = {"args": args, "capture": capture}
    affected, more = _affected(recipe.show.items, scope)
    preview = Preview(
        summary=str(expand(recipe.summary, scope)) if recipe.summary else f"{spec.title}: {spec.full_name}",
        verb=recipe.verb or default_verb(spec),
        facts=facts(args, tuple(recipe.bind), before, tuple(spec.schema.get("properties", {}))),
        diff=_diff(spec, scope),
        affected=affected,
        notifies=_notifies(spec, scope),
        undo=undo_words(spec, args, capture),
        recoverable=str(expand(recipe.recoverable, scope)),
        problem=f"This touches {len(affected) + more:,} things, and {len(affected):,} can be shown."
        if more
        else "",
    )
    return warned(preview)


def warned(preview: Preview) -> Preview:
    """The preview, with a word of warning where its texts are not what they look like."""
    return replace(preview, notes=(*preview.notes, STRANGE)) if has_strange(preview) else preview


def _notifies(spec: ToolSpec, scope: Mapping[str, Json]) -> str:
    told = str(expand(spec.recipe.notifies, scope))
    return "" if told == "nobody" else told


def _diff(spec: ToolSpec, scope: Mapping[str, Json]) -> str:
    show = spec.recipe.show
    if show.kind == "text":
        return str(expand(show.after, scope))
    if show.kind != "diff":
        return ""
    try:
        before = expand(show.before, scope)
    except TemplateError:
        return ""  # nothing there yet: the new content stands among the facts
    after = expand(show.after, scope)
    if not isinstance(before, str) or not isinstance(after, str):
        return ""
    if not before and after in scope["args"].values():
        return ""  # all of it is new, and stands among the facts
    return unified(before, after, str(expand(show.path, scope)))


def _affected(template: str, scope: Mapping[str, Json]) -> tuple[tuple[Affected, ...], int]:
    if not template:
        return (), 0
    items = expand(template, scope)
    if not isinstance(items, list):
        raise TemplateError(f"{template} is not a list of things")
    shown = [_thing(item) for item in items[:MAX_AFFECTED]]
    return tuple(shown), len(items) - len(shown)


def _thing(item: Json) -> Affected:
    if not isinstance(item, dict):
        return Affected(text_of(item))
    size = item.get("size")
    return Affected(
        name=text_of(item.get("name", item.get("path", item))),
        size=size if isinstance(size, int) and not isinstance(size, bool) else None,
        kind=text_of(item.get("kind") or ""),
        modified=text_of(item.get("modified") or ""),
    )


def way_back(spec: ToolSpec, scope: Mapping[str, Json]) -> Undo | None:
    """The first inverse whose condition holds."""
    for undo in spec.recipe.undo:
        if undo.when and not holds(undo.when, scope):
            continue
        if undo.unless and holds(undo.unless, scope):
            continue
        return undo
    return None


def undo_words(spec: ToolSpec, args: Json, capture: Mapping[str, Json]) -> str:
    """Whether it can be taken back, said before anyone confirms."""
    if not spec.recipe.undo:
        return "no: I know no way to take this back"
    scope = {"args": args, "capture": capture, "result": {}}
    way = way_back(spec, scope)
    if way is None:
        return "no: not in this case"
    if _too_long(way, scope):
        return "no: what is there now is too long to be put back"
    if way.partly:
        return f"partly: {way.partly}"
    days = spec.recipe.keeps_days
    return f"yes, for {days} days" if days else "yes"


def _too_long(way: Undo, scope: Mapping[str, Json]) -> bool:
    """Whether the inverse call, as far as it is known before the result, is more than can be called."""
    length = 0
    for template in way.args.values():
        try:
            length += len(canonical({"": expand(template, scope)}))
        except TemplateError:
            continue  # comes with the result
        except BadArguments:
            return True
    return length > MAX_BYTES
