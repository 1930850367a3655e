"""From a call to what people see of it: facts, diff, affected things, and whether it can be taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gate.rules.action import Affected, Fact, Json, Preview
from gate.rules.canonical_json import MAX_BYTES, BadArguments, canonical, leaves
from gate.rules.diffs import unified
from gate.rules.policy import words
from gate.rules.templates import PLACEHOLDER, TemplateError, expand, holds
from gate.rules.tool import ToolSpec, Undo
from gate.rules.unicode_safety import is_deceptive

DECEPTIVE_TEXT = (
    "Some characters here are invisible or look like others. They are spelled out as \\u{…}: read with care."
)
COVERED = "What is in it now is not shown: it is a secret file."
MAX_AFFECTED = 1000
ARGUMENT = re.compile(r"\{args\.(\w+)\}")
WORD = re.compile(r"[\w./@#:-]{1,80}")  # a value of which nobody takes a part for the whole
TELLING = 3  # arguments in the line of a tool without a recipe
TELLING_LENGTH = 60


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


def _named(found: Sequence[Fact], summary: str) -> tuple[Fact, ...]:
    """The facts, those marked that a template of the first line names as they are. A value with a space in it could end
    before its end, so it is none of them."""
    placed = {match[1] for match in PLACEHOLDER.finditer(summary) if not match[2]}
    return tuple(
        replace(fact, named=True) if f"args.{fact.label}" in placed and WORD.fullmatch(fact.value) else fact
        for fact in found
    )


def has_deceptive_text(preview: Preview) -> bool:
    """Whether anything on the card may not look like what it is."""
    texts = [preview.summary, preview.verb, preview.diff, preview.notifies, preview.undo, preview.recoverable]
    texts += (text for f in preview.facts for text in (f.label, f.value))
    return any(map(is_deceptive, [*texts, *(text for a in preview.affected for text in (a.name, a.kind))]))


def default_verb(spec: ToolSpec) -> str:
    """The first word of the tool's name: `create_issue` gives Create."""
    return (words(spec.name) or ["run"])[0].capitalize()


def summary_of(spec: ToolSpec, args: Json, otherwise: str = "") -> str:
    """What a call does in its recipe's words, as far as the arguments alone tell; else `otherwise`."""
    try:
        return str(expand(spec.recipe.summary, {"args": args})) or otherwise
    except TemplateError:
        return otherwise


def plainly(spec: ToolSpec, args: Json) -> str:
    """What a call without a recipe does: the tool's title and its most telling arguments, the required ones first."""
    required = spec.schema.get("required", ())
    names = sorted(spec.schema.get("properties", args), key=lambda name: name not in required)
    values = [args[name] for name in names if isinstance(args.get(name), str | int | float)]
    told = [text_of(value) for value in values if not isinstance(value, bool)]
    short = [text for text in told if 0 < len(text) <= TELLING_LENGTH and text.isprintable()]
    shown = [f"“{text}”" if " " in text else text for text in short[:TELLING]]
    return " ".join([spec.title or spec.full_name, *([", ".join(shown)] if shown else [])])


def build(
    spec: ToolSpec,
    args: Json,
    capture: Mapping[str, Json],
    before: Mapping[str, str] | None = None,
) -> Preview:
    """The preview of a call, from its arguments and from what was captured. Raises TemplateError."""
    recipe = spec.recipe
    scope = {"args": args, "capture": capture}
    summary = next((one.summary for one in recipe.summaries if holds(one.when, scope)), recipe.summary)
    affected, more = _affected(recipe.show.items, scope)
    preview = Preview(
        summary=str(expand(summary, scope)) if summary else plainly(spec, args),
        verb=recipe.verb or default_verb(spec),
        facts=_named(
            facts(args, tuple(recipe.bind), before, tuple(spec.schema.get("properties", {}))), summary
        ),
        diff=_diff(spec, scope),
        affected=affected,
        notifies=_notifies(spec, scope),
        undo=undo_words(spec, args, capture),
        recoverable=str(expand(recipe.recoverable, scope)),
        compared=_compared(spec),
        problem=f"This touches {len(affected) + more:,} things, and {len(affected):,} can be shown."
        if more
        else "",
    )
    return with_warning(preview)


def with_warning(preview: Preview) -> Preview:
    """The preview, with a word of warning where its texts are not what they look like."""
    return (
        replace(preview, notes=(*preview.notes, DECEPTIVE_TEXT)) if has_deceptive_text(preview) else preview
    )


def covered_by_facts(preview: Preview) -> Preview:
    """The preview without what is in the target now: that is not for everybody who sees the card."""
    return replace(preview, diff="", notes=(*preview.notes, COVERED)) if preview.diff else preview


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


def _compared(spec: ToolSpec) -> str:
    """The argument that is the new text of a difference made here; "" where it is made of anything else."""
    show = spec.recipe.show
    found = ARGUMENT.fullmatch(show.after) if show.kind == "diff" else None
    return found[1] if found else ""


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
