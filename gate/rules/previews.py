"""From a call to what people see of it: facts, diff, affected things, and whether it can be taken back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gate.arguments.unicode_safety import is_deceptive
from gate.rules.action import Affected, Fact, Json, Preview
from gate.rules.canonical_json import MAX_BYTES, MAX_INT, BadArguments, canonical, leaves
from gate.rules.diffs import unified
from gate.rules.policy import words
from gate.rules.templates import PLACEHOLDER, TemplateError, expand, holds
from gate.rules.templates import names as names_needed
from gate.rules.tool import Show, Summary, ToolSpec, Undo

DECEPTIVE_TEXT = (
    "Some characters here are invisible or look like others. They are spelled out as \\u{…}: read with care."
)
COVERED = "What is in it now is not shown: it is a secret file."
COVERED_BY_RULE = "What is in it now is not shown: a rule of the policy keeps it from being read at once."
COVERED_BY_REVIEW = "What is there now is not shown: a review of the read that gives it is wanted."
HELD_NOTES = frozenset({COVERED_BY_RULE, COVERED_BY_REVIEW})  # where not everybody may know what was read
TOUCHED_UNSEEN = (
    "What this touches cannot be shown: a review of the read that gives it is wanted. Name each thing yourself, or ask "
    "your administrator which reads the reviews are to hold."
)
NOTIFIES_UNSEEN = "people who are not shown, as what tells of them is kept from others"
TOUCHED_COVERED = "{count:,} more that it touches: a rule of the policy keeps them from being read at once."
MAX_AFFECTED = 1000
MAX_FACTS = 10_000  # of which the largest window could just show the shortest
MAX_TOLD = 60  # characters of the kind of a thing and of when it was changed, which a server tells
ARGUMENT = re.compile(r"\{args\.(\w+)\}")
QUOTED = re.compile(r"“\{(args\.\w+)\}”")
QUOTES = re.compile(r"""["“”„‟«»‹›″‶〝〞〟＂]|''""")  # also what looks like one
INDEX = re.compile(r"\[\d+\]")
WORD = re.compile(r"[\w./@#:-]{1,80}")  # a value of which nobody takes a part for the whole
TELLING = 3  # arguments in the line of a tool without a recipe
TELLING_LENGTH = 60


def text_of(value: Json) -> str:
    """A leaf as text: strings as they are, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def measured(value: Json) -> str:
    """A value of which nothing is told but that: how long it is, and enough of its hash to compare it."""
    text = text_of(value)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{len(text):,} characters, SHA-256 {digest}…"


def facts(
    args: Json,
    added: Sequence[str] = (),
    before: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> tuple[Fact, ...]:
    """Every leaf of the arguments, parameters in `order`. `added`: parameters that the recipe put there.
    `before`: the facts of the version that was edited, so that what changed is marked. At most MAX_FACTS + 1."""
    return tuple(islice(_facts(args, added, before, order), MAX_FACTS + 1))


def _facts(
    args: Json, added: Sequence[str], before: Mapping[str, str] | None, order: Sequence[str]
) -> Iterator[Fact]:
    seen = set[str]()
    place = {name: index for index, name in enumerate(order)}
    ordered = sorted(args, key=lambda name: place.get(name, len(place)))
    for path, value in (leaf for part in [{n: args[n]} for n in ordered] or [{}] for leaf in leaves(part)):
        now = text_of(value)
        bound = path.split(".")[0].split("[")[0] in added  # looked up anew, and edited by nobody
        old = None if before is None or bound or before.get(path) == now else before.get(path, "")
        seen.add(path)
        yield Fact(path, now, old, bound)
    yield from (Fact(path, "", (before or {})[path]) for path in sorted(set(before or ()) - seen))


def _with_told(
    found: Sequence[Fact], told: Mapping[str, str], affected: Sequence[Affected], spec: ToolSpec, diff: str
) -> tuple[Fact, ...]:
    """The facts, those marked that people are told of above them: the template of the first line places the value as it
    is, or it is a declared path and the whole name of an affected thing, or the difference has a line for it. A value
    that merely occurs there is not: names of files and texts of tools are other people's. `told`: what the first line
    tells of the arguments. Of two arguments with the same value, a name tells one.
    """
    targets = spec.recipe.targets
    paths = {name.replace("[]", "") for name in (*targets.paths, *targets.looks)} if targets else set()
    names = {part for thing in affected for part in (thing.name, *thing.name.split(" → "))}
    count = Counter(fact.value for fact in found)
    lines = _lines_of(found, spec.recipe.show.says, diff)

    def is_told(fact: Fact) -> bool:
        if told.get(f"args.{fact.label}") == fact.value:
            return True
        if lines[f"+ {fact.label}: {fact.value}"] == 1 and fact.label in spec.recipe.show.says:
            return True
        return INDEX.sub("", fact.label) in paths and fact.value in names and count[fact.value] == 1

    return tuple(replace(fact, named=True) if is_told(fact) else fact for fact in found)


def _told(template: str, placed: Mapping[str, str]) -> dict[str, str]:
    """What the first line tells of the arguments: single words, and what it has in quotes, where it has no others. Any
    other value could end before its end."""
    fooling = any(QUOTES.search(value) or not value.isprintable() for value in placed.values())
    quoted = set() if fooling else set(QUOTED.findall(template))
    return {name: value for name, value in placed.items() if WORD.fullmatch(value) or name in quoted}


def _lines_of(found: Sequence[Fact], says: Sequence[str], diff: str) -> Counter[str]:
    """How often the difference has each line, where no argument can bring in a line of its own."""
    breaks = any(len(fact.value.splitlines()) > 1 for fact in found)
    return Counter[str]() if breaks or not says else Counter(diff.split("\n"))


def _placed(template: str, scope: Mapping[str, Json]) -> dict[str, str]:
    """What a template makes of each value that it names."""
    return {found[1]: text_of(expand(found[0], scope)) for found in PLACEHOLDER.finditer(template)}


def has_deceptive_text(preview: Preview) -> bool:
    """Whether anything on the card may not look like what it is."""
    texts = [preview.summary, preview.verb, preview.diff, preview.notifies, preview.undo, preview.recoverable]
    texts += (text for f in preview.facts for text in (f.label, f.value))
    return any(map(is_deceptive, [*texts, *(text for a in preview.affected for text in (a.name, a.kind))]))


def target_of(preview: Preview) -> str:
    """The one thing that a call is about, by its name; "" where that is not known."""
    if len(preview.affected) == 1:
        return preview.affected[0].name.partition(" → ")[0]
    told = [fact.value for fact in preview.facts if fact.named and fact.value in preview.summary]
    return told[0] if told else ""


def default_verb(spec: ToolSpec) -> str:
    """The first word of the tool's name: `create_issue` gives Create."""
    return (words(spec.name) or ["run"])[0].capitalize()


def summary_template(spec: ToolSpec, scope: Mapping[str, Json]) -> str:
    """The first line of the card as the recipe has it for this case."""
    recipe = spec.recipe
    return next((one.summary for one in recipe.summaries if _applies(one, scope)), recipe.summary)


def _applies(one: Summary | Undo, scope: Mapping[str, Json]) -> bool:
    """Whether its conditions are met; an empty one always is."""
    return (not one.when or holds(one.when, scope)) and not (one.unless and holds(one.unless, scope))


def summary_of(spec: ToolSpec, args: Json, otherwise: str = "") -> str:
    """What a call does in its recipe's words, as far as the arguments alone tell; else `otherwise`."""
    scope = {"args": args}
    try:
        return str(expand(summary_template(spec, scope), scope)) or otherwise
    except TemplateError:
        return otherwise


def plainly(spec: ToolSpec, args: Json) -> str:
    """What a call without a recipe does: the tool's title or the words of its name, and its most telling arguments, the
    required ones first."""
    shown = [f"“{text}”" if " " in text else text for text in _telling(spec, args).values()]
    own = spec.title if spec.title != spec.name else ""  # a server that gives none is taken to give the name
    title = own or " ".join(words(spec.name)).capitalize() or spec.full_name
    return " ".join([title, *([", ".join(shown)] if shown else [])])


def _telling(spec: ToolSpec, args: Json) -> dict[str, str]:
    """The most telling arguments, by name, as text."""
    required = spec.required
    names = sorted(spec.schema.get("properties", args), key=lambda name: name not in required)
    values = {name: args[name] for name in names if isinstance(args.get(name), str | int | float)}
    told = {name: text_of(value) for name, value in values.items() if not isinstance(value, bool)}
    short = [
        (name, text) for name, text in told.items() if 0 < len(text) <= TELLING_LENGTH and text.isprintable()
    ]
    return dict(short[:TELLING])


def build(
    spec: ToolSpec,
    args: Json,
    capture: Mapping[str, Json],
    before: Mapping[str, str] | None = None,
) -> Preview:
    """The preview of a call, from its arguments and from what was captured. Raises TemplateError."""
    recipe = spec.recipe
    scope = {"args": args, "capture": capture}
    summary = summary_template(spec, scope)
    affected, more = _affected(recipe.show.items, scope)
    placed = _placed(summary, scope) if summary else {}
    if not summary and len(args) == 1:  # of several, the line does not say which is which
        placed = {f"args.{name}": text for name, text in _telling(spec, args).items()}
    given = facts(args, tuple(recipe.bind), before, tuple(spec.schema.get("properties", {})))
    found = given[:MAX_FACTS]
    diff = _diff(spec, scope)
    preview = Preview(
        summary=str(expand(summary, scope)) if summary else plainly(spec, args),
        verb=recipe.verb or default_verb(spec),
        facts=_with_told(found, _told(summary, placed), affected, spec, diff),
        diff=diff,
        affected=affected,
        notifies=_notifies(spec, scope),
        undo=undo_words(spec, args, capture),
        recoverable=str(expand(recipe.recoverable, scope)),
        compared=_compared(spec),
        problem=_too_many(len(affected), more, len(given) > len(found)),
    )
    return with_warning(preview)


def build_without_reads(
    spec: ToolSpec,
    args: Json,
    capture: Mapping[str, Json],
    before: Mapping[str, str] | None = None,
) -> Preview:
    """The same without what its reads gave, where nobody gets that before a person has looked at it. What touches more
    than the arguments name cannot be confirmed, since nobody could see what. Raises TemplateError."""
    shown = build(_telling_no_reads(spec), args, capture, before)
    touched, more = _affected(spec.recipe.show.items, {"args": args, "capture": capture})
    named = named_by({text_of(value) for _, value in leaves(args)}, touched)
    unseen = TOUCHED_UNSEEN if more or len(named) < len(touched) else ""
    notes = (*shown.notes, COVERED_BY_REVIEW)
    return replace(shown, affected=named, notes=notes, problem=shown.problem or unseen)


def build_covered(
    spec: ToolSpec,
    args: Json,
    capture: Mapping[str, Json],
    before: Mapping[str, str] | None = None,
) -> Preview:
    """The same where a rule keeps what its reads gave from being read at once: below the first line nothing stands of
    it, and of what is touched besides what the arguments name the number. Raises TemplateError."""
    plain = replace(
        _telling_no_reads(spec).recipe, summary=spec.recipe.summary, summaries=spec.recipe.summaries
    )
    shown = build(replace(spec, recipe=plain), args, capture, before)
    touched, more = _affected(spec.recipe.show.items, {"args": args, "capture": capture})
    asked = {name: value for name, value in args.items() if name not in spec.recipe.bind}
    named = named_by({text_of(value) for _, value in leaves(asked)}, touched)
    unseen = len(touched) + more - len(named)
    notes = (*shown.notes, COVERED_BY_RULE, *([TOUCHED_COVERED.format(count=unseen)] if unseen else []))
    return replace(shown, affected=named, notes=notes)


def named_by(given: Collection[str], touched: Sequence[Affected]) -> tuple[Affected, ...]:
    """Those of the things touched whose names are among these values, by their names alone."""
    return tuple(
        Affected(one.name) for one in touched if all(part in given for part in one.name.split(" → "))
    )


def _telling_no_reads(spec: ToolSpec) -> ToolSpec:
    """The tool with a recipe whose words on a card quote the arguments alone."""
    recipe = spec.recipe
    plain = replace(
        recipe,
        summary="" if quotes_reads(recipe.summary) else recipe.summary,
        summaries=[one for one in recipe.summaries if not quotes_reads(one.summary)],
        show=Show(),
        notifies=NOTIFIES_UNSEEN if quotes_reads(recipe.notifies) else recipe.notifies,
        recoverable="" if quotes_reads(recipe.recoverable) else recipe.recoverable,
    )
    return replace(spec, recipe=plain)


def quotes_reads(template: str) -> bool:
    """Whether a template tells something of what was read, and not of the arguments alone."""
    return any(path[0] == "capture" for path in names_needed(template))


def failed_preview(spec: ToolSpec, args: Json, problem: str) -> Preview:
    """A preview that says why there is none, from the arguments alone. Such an action cannot be confirmed."""
    scope = {"args": args}
    summary = summary_template(spec, scope)
    try:
        placed = _placed(summary, scope)
        said = str(expand(summary, scope)) or plainly(spec, args)
    except TemplateError:
        placed, said = {}, plainly(spec, args)
    found = _with_told(facts(args), _told(summary, placed), (), spec, "")
    return with_warning(Preview(said, spec.recipe.verb or default_verb(spec), found, problem=problem))


def _too_many(affected: int, more: int, of_arguments: bool) -> str:
    """What of the call no card can show; "" where one can."""
    if more:
        return f"This touches {affected + more:,} things, and {affected:,} can be shown."
    return f"This has more than {MAX_FACTS:,} arguments, and no more can be shown." if of_arguments else ""


def with_warning(preview: Preview) -> Preview:
    """The preview, with a word of warning where its texts are not what they look like."""
    return (
        replace(preview, notes=(*preview.notes, DECEPTIVE_TEXT)) if has_deceptive_text(preview) else preview
    )


def covered_by_facts(preview: Preview, why: str = COVERED) -> Preview:
    """The preview without what is in the target now: that is not for everybody who sees the card. What its lines told
    of the arguments stands among the facts again."""
    if not preview.diff:
        return preview
    lines = set(preview.diff.split("\n"))
    facts_again = (
        replace(fact, named=fact.named and f"+ {fact.label}: {fact.value}" not in lines)
        for fact in preview.facts
    )
    return replace(preview, diff="", facts=tuple(facts_again), notes=(*preview.notes, why))


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
    """The argument that is the new text of a difference made here, or those whose whole effect a text shows that a read
    gave; "" where it is made of anything else."""
    show = spec.recipe.show
    if show.of:
        return " ".join(show.of)
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
    known = isinstance(size, int) and not isinstance(size, bool) and abs(size) < MAX_INT
    return Affected(
        name=text_of(item.get("name", item.get("path", item))),
        size=size if known else None,
        kind=_clipped(text_of(item.get("kind") or "")),
        modified=_clipped(text_of(item.get("modified") or "")),
    )


def _clipped(text: str) -> str:
    """The beginning of what stands beside the name of each thing, with what is left out counted."""
    return text if len(text) <= MAX_TOLD else f"{text[:MAX_TOLD]}… (+{len(text) - MAX_TOLD:,})"


def way_back(spec: ToolSpec, scope: Mapping[str, Json]) -> Undo | None:
    """The first inverse whose condition holds."""
    return next((undo for undo in spec.recipe.undo if _applies(undo, scope)), None)


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
