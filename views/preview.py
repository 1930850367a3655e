"""A preview as rich text: whole where it fits, else its beginnings and ends with what was left out counted."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from gate.rules.action import Action, Affected, CallClass, Fact, Preview
from views.block_kit import PAGE, Block, boxes, fits_line, framed, inline, line, pack, quote, weight, words
from views.tool_results import WIDEST, moment_in
from views.wording import amount, reversible, size

CARD_TEXT = 9_000  # characters of the preview on a card
SHORT_TEXT = 6_000  # characters of a preview that does not fit
CARD_BLOCKS = 30  # of the 50; the rest is for everything around
MODAL_BLOCKS = 85  # of the 100
MODAL_BYTES = 220 * 1024  # of 250 KB; counted in the longest spelling, with \u escapes

WHOLE = 1_000_000  # a clip that no argument reaches
HEAD, TAIL = 700, 300  # characters shown of a text that does not fit
SUMMARY = 140  # characters up to which every card shows the first line whole
MOST_SAID = 60  # arguments that are looked for in what stands above them
FEW = 12  # arguments and affected things shown of a preview that does not fit

# Rows of a table, in which a label cannot pass for a value nor a value for a row.
_LABEL = re.compile(r"[\w.\[\]-]{1,32}", re.ASCII)
_PATH_LABEL = re.compile(r"[\w./\[\]-]{1,80}", re.ASCII)  # of bound arguments, such as expected.drafts/a.md
_SPELLED = re.compile(r"[\w.\[\]-]{1,80}", re.ASCII)  # without a blank
_BETWEEN = re.compile(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])")
Naming = Callable[[str], str]  # how the names of arguments are shown
_ROW = 100
EMPTY = "It will be empty."
HELD = re.compile(r" \(a folder with \d+ files?\)$")  # how the filesystem server names what it lists


def fits(action: Action) -> bool:
    """Whether one card can show all that belongs on it. Cheap: a few milliseconds at 64 KiB of arguments."""
    preview = action.preview
    if is_longer(preview, CARD_TEXT):
        return False
    if sum(len(thing.name) for thing in preview.affected) > CARD_TEXT and not _named_above(preview):
        return False  # before odd characters are spelled out, which takes no less room
    pages = _pages(_brief(preview, action.cls), CARD_TEXT)
    return pages is not None and len(pages) <= CARD_BLOCKS


def is_longer(preview: Preview, most: int) -> bool:
    """Whether its difference alone has more characters, before odd ones are spelled out. That takes no less room, and a
    quarter of a second for one as long as a file may be."""
    return len(preview.diff) > most


def is_larger(preview: Preview, most: int) -> bool:
    """The same in bytes, as a window counts them."""
    return is_longer(preview, most) or len(json.dumps(preview.diff)) > most


def reviewable(action: Action) -> bool:
    """Whether at least the modal can show the whole preview."""
    if is_larger(action.preview, MODAL_BYTES):
        return False
    pages = _pages(_whole(action.preview), MODAL_BYTES)
    return pages is not None and len(pages) <= MODAL_BLOCKS and len(json.dumps(pages)) <= MODAL_BYTES


def _pages(elements: Iterable[Block], most: int) -> list[Block] | None:
    """The elements as blocks, or None where they are too long together or one of them alone. No more of them are made
    than fit."""
    kept, room = list[Block](), most
    for element in elements:
        size = weight(element)
        room -= size
        if room < 0 or size > PAGE:
            return None
        kept.append(element)
    return pack(kept)


def whole(preview: Preview) -> list[Block]:
    """The whole diff, everything affected, and every argument: what changes before how it is called."""
    return list(_whole(preview))


def _whole(preview: Preview, name: Naming = str) -> Iterator[Block]:
    yield from _diff(preview.diff)
    yield from _affected(preview.affected)
    if (preview.diff or preview.affected) and preview.facts:
        yield _heading()
    yield from _facts(preview.facts, name)


def reviewed(preview: Preview, cls: CallClass) -> list[Block]:
    """As `whole`, for the review of a destructive action: without arguments that stand above, without what the recipe
    has looked up, such as digests, and with the names of arguments in words."""
    return list(_whole(replace(preview, facts=tuple(unsaid(preview, cls))), named))


def brief(preview: Preview, cls: CallClass) -> list[Block]:
    """As `whole`, for a card: without what its first line, its difference or its table says already, and without what
    the recipe has looked up, and with the names of arguments in words. Of a tool that nobody has reviewed, every
    argument."""
    return list(_brief(preview, cls))


def _brief(preview: Preview, cls: CallClass) -> Iterator[Block]:
    yield from _text_of_diff(preview.diff)
    if not _named_above(preview):
        yield from _affected(preview.affected)
    left = unsaid(preview, cls)
    if emptied := [fact for fact in left if _is_emptied(fact, preview)]:
        yield line(words(EMPTY))
    yield from _facts([fact for fact in left if fact not in emptied], named)


def _is_emptied(fact: Fact, preview: Preview) -> bool:
    """Whether this is the new text of a file, and there is none."""
    compared = fact.label in preview.compared.split()
    return compared and not fact.value and fact.old is None and not preview.diff


def unsaid(preview: Preview, cls: CallClass) -> list[Fact]:
    """The arguments that nothing above them says: of a tool that nobody has reviewed, all."""
    if cls is CallClass.UNKNOWN:
        return list(preview.facts)
    left = [fact for fact in preview.facts if not (fact.added or _is_compared(fact, preview))]
    if len(left) > MOST_SAID:
        return left
    return [fact for fact in left if fact.old is not None or not _is_said(fact, preview)]


def _is_compared(fact: Fact, preview: Preview) -> bool:
    """Whether the difference shows all of this argument; so of what stands for there being none. An argument may
    have the empty name."""
    none_given = (fact.label, fact.value) == ("", "{}")
    of = re.split(r"[.\[]", fact.label, maxsplit=1)[0]
    return none_given or (bool(preview.diff) and of in preview.compared.split())


def _is_said(fact: Fact, preview: Preview) -> bool:
    """Whether what stands above says an argument: whoever made the preview knows that it does, and no card clips it
    there. That the value occurs there is not enough: it may be part of a name that somebody has chosen for that. Of a
    difference, a whole line counts that names the argument, where its recipe says that there is one: whoever writes a
    text could write a value of another argument into it."""
    if not fact.named or not 0 < len(fact.value) <= _ROW:
        return False
    whole_line = fits_line(preview.summary, SUMMARY)
    if (whole_line and fact.value in preview.summary) or fact.value in _names(preview):
        return True
    return f"+ {fact.label}: {fact.value}" in preview.diff.split("\n")


def _names(preview: Preview) -> set[str]:
    """The whole names of what is affected; of what is moved, of both places."""
    return {part for thing in preview.affected for part in (thing.name, *thing.name.split(" → "))}


def _named_above(preview: Preview) -> bool:
    """Whether all that is affected is the one thing of the first line."""
    if len(preview.affected) != 1 or not fits_line(preview.summary, SUMMARY):
        return False
    source, _, target = preview.affected[0].name.partition(" → ")
    into = target.removesuffix(f"/{source.rpartition('/')[2]}")  # the folder that it keeps its name in
    return bool(source) and source in preview.summary and into in preview.summary


def sized(preview: Preview) -> str:
    """How large the one thing of the first line is, where that does not say it already; "" elsewhere."""
    found = preview.affected[0].size if _named_above(preview) else None
    told = "" if found is None else size(found)
    return "" if told and told in preview.summary else told


def short(preview: Preview) -> list[Block]:
    """As `whole`, for a card on which that does not fit. Says of everything left out that it was."""
    shown: list[Block] = []
    room = SHORT_TEXT
    for element in _shortened(preview):
        room -= weight(element)
        if room < 0:
            return [*shown, _aside("… and more")]
        shown.append(element)
    return shown


def _shortened(preview: Preview) -> Iterator[Block]:
    yield from _text_of_diff(preview.diff, folded=True)
    yield from _affected(preview.affected, FEW)
    if len(preview.affected) > FEW:
        yield _aside(f"… {len(preview.affected) - FEW:,} more")
    facts = [fact for fact in preview.facts if not fact.added]
    for fact in facts[:FEW]:
        yield from _fact(fact, _apart(facts, named), folded=True)
    if len(facts) > FEW:
        yield _aside(f"… {len(facts) - FEW:,} more arguments")


def _heading() -> Block:
    """Stands above the arguments, where something stands above them."""
    return line(words("Arguments", "bold"))


def consequences(preview: Preview) -> list[Block]:
    """Who hears of it, whether it can be taken back, how long it is kept."""
    undo = ". ".join(filter(None, [preview.undo, preview.recoverable]))
    back = [line(words("Can be undone: ", "bold"), words(undo, most=500))] if undo else []
    return [*notified(preview), *back]


def sequel(preview: Preview) -> list[Block]:
    """Who hears of it, and how long what can be had back is kept: what `wording.loses` does not say."""
    kept = preview.recoverable if preview.undo.startswith("yes") else ""
    return [*notified(preview), *([line(words(f"{kept}.", most=500))] if kept else [])]


def reversibility(preview: Preview) -> str:
    """Whether it can be taken back, and what is kept where that does not say for how long; "" where nobody knows."""
    back = reversible(preview.undo)
    kept = "" if re.search(r" for \d", preview.undo) else preview.recoverable
    return " · ".join(filter(None, [f"{kept[:1].lower()}{kept[1:]}" if back else "", back]))


def notified(preview: Preview) -> list[Block]:
    """Who hears of it."""
    if not preview.notifies:
        return []
    return [line(words("Will also notify: ", "bold"), words(preview.notifies, most=500))]


def warnings(preview: Preview) -> list[Block]:
    """What code noticed about this call."""
    sign = {"type": "emoji", "name": "warning"}
    return [line(sign, words(f" {note}", most=300)) for note in preview.notes[:10]]


def prose(words: str) -> list[Block]:
    """The proposer's own words, apart from the facts and marked as unchecked."""
    if not words:
        return []
    return [_aside("Proposer's words (not checked):"), quote(words, 600)]


def named(label: str) -> str:
    """The name of an argument in words, `expected top` of `expected_top`; *Show everything* has it as it is."""
    return _BETWEEN.sub(" ", label) if _SPELLED.fullmatch(label) else label


def _apart(facts: Sequence[Fact], name: Naming) -> Naming:
    """The same, where no other argument has that name."""
    taken = {fact.label for fact in facts}
    return lambda label: label if name(label) in taken else name(label)


def _facts(facts: Sequence[Fact], name: Naming = str) -> Iterator[Block]:
    """Short facts in one table, then the others each under its label: a box belongs to the label above it."""
    if [(fact.label, fact.value) for fact in facts] == [("", "{}")]:
        yield _aside("No arguments")
        return
    name = _apart(facts, name)
    rows = [fact for fact in facts if _is_row(fact)]
    asked, added = [f for f in rows if not f.added], [f for f in rows if f.added]
    if asked:
        yield from framed(_table([(name(fact.label), fact.value) for fact in asked]))
    edited = [(name(fact.label), fact.old) for fact in asked if fact.old is not None]
    if edited:
        yield _aside("Before the edit:")
        yield from framed(_table(edited))
    for fact in facts:
        if not _is_row(fact):
            yield from _fact(fact, name)
    if added:
        yield _aside("Looked up for this, and checked again before it runs:")
        yield from framed(_table([(fact.label, fact.value) for fact in added]))


def _is_row(fact: Fact) -> bool:
    label = _PATH_LABEL if fact.added else _LABEL
    fitting = all(_is_short(value) for value in (fact.value, fact.old) if value is not None)
    return fitting and label.fullmatch(fact.label) is not None


def _is_short(value: str) -> bool:
    return 0 < len(value) <= _ROW and "\n" not in value and value == value.strip()


def _table(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label:<{width}}  {inline(value)}" for label, value in rows)


def _fact(fact: Fact, name: Naming, folded: bool = False) -> Iterator[Block]:
    told = words(name(fact.label), "bold", most=300 if folded else WHOLE)
    label = told if fact.label else words("(no name)", "italic")
    added = [words(" (added by the tool's recipe)", "italic")] if fact.added else []
    if fact.old is None:
        yield from _value([label, *added], fact.value, folded)
    else:
        yield from _value([label, *added, words(" before the edit", "italic")], fact.old, folded)
        yield from _value([label, words(" now", "italic")], fact.value, folded)


def _value(head: list[Block], value: str, folded: bool) -> Iterator[Block]:
    if not value:
        yield line(*head, words(": empty", "italic"))
        return
    yield line(*head)
    yield from _text(value, folded)


def _text(text: str, folded: bool) -> Iterator[Block]:
    """A text in boxes; folded, a long one is its head and tail, and how much is between them."""
    hidden = len(text) - HEAD - TAIL
    if not folded or hidden <= 0:
        yield from boxes(text)
        return
    yield from boxes(text[:HEAD])
    yield _aside(f"… {hidden:,} more characters …")
    yield from boxes(text[-TAIL:])


def _diff(diff: str) -> Iterator[Block]:
    if diff:
        yield line(words("What changes", "bold"))
        yield from _text(diff, folded=False)


def _text_of_diff(diff: str, folded: bool = False) -> Iterator[Block]:
    if diff:
        yield from _text(diff, folded)


def _affected(things: Sequence[Affected], most: int | None = None) -> Iterator[Block]:
    """One row each, the name last so that it cannot pass for another column."""
    if not things:
        return
    counted = _outside(things)
    known = [t.size for t in counted if t.size is not None]
    unsized = len(counted) - len(known)
    count = amount(things)
    total = f", {size(sum(known))}" + (" in all" if len(things) > 1 else "") if known else ""
    unknown = f", {unsized} of unknown size" if known and unsized else ""
    yield line(words(f"Affected: {count}{total}{unknown}", "bold"))
    sized = any(thing.size is not None for thing in things[:most])
    rows = [
        (size(t.size) if sized else "", inline(moment_in(t.modified)), inline(t.kind), inline(t.name))
        for t in things[:most]
    ]
    widths = [min(max(len(row[i]) for row in rows), WIDEST) for i in range(3)]
    yield from framed("\n".join(_row(row, widths) for row in rows))


def _outside(things: Sequence[Affected]) -> list[Affected]:
    """Those whose size counts: all but the folders of which the content is listed, too."""
    names = sorted(thing.name for thing in things)

    def holds_others(thing: Affected) -> bool:
        inside = f"{HELD.sub('', thing.name.partition(' → ')[0])}/"
        place = bisect_left(names, inside)
        return place < len(names) and names[place].startswith(inside)

    return [thing for thing in things if thing.kind != "folder" or not holds_others(thing)]


def _row(row: Sequence[str], widths: Sequence[int]) -> str:
    columns = [row[0].rjust(widths[0]), row[1].ljust(widths[1]), row[2].ljust(widths[2])]
    return "  ".join([*(c for c, width in zip(columns, widths, strict=True) if width), row[3]])


def _aside(own: str) -> Block:
    return line(words(own, "italic"))
