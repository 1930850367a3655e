"""The window in which an admin says that a tool only reads: what the tool says of itself, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gate.rules.action import Action
from gate.rules.tool import ToolSpec
from views.block_kit import Block, boxes, bullets, field, line, option, pack, select, sentence, words
from views.modals import ONLY_READS, View, modal

SURE = "only_reads_sure"  # block and action id of the menu with the one answer
FEW = 40  # arguments that are described
LINE = 300  # characters of the description of one
ABOUT = (
    "Its server says that this tool only reads, and nobody has checked that. Once you say so, too, *everybody's* calls "
    "of it run without a card, with any arguments, until its server changes it. Where you may confirm this call, this "
    "confirms it."
)


def window(action: Action, spec: ToolSpec) -> View:
    """All that the tool says of itself in words, for whoever is to believe it."""
    told = [
        line(words(spec.title, "bold", most=200), words(f", of the server {spec.server}", most=100)),
        *(boxes(spec.description) or [line(words("It does not say what it does.", "italic"))]),
        line(words("What it is given", "bold")),
        *_arguments(spec),
    ]
    sure = option("It only reads, whatever it is given", "yes")
    asked = field(SURE, "What does this tool do?", select(SURE, [sure]))
    blocks = [sentence(ABOUT), *pack(told), asked]
    return modal(ONLY_READS, "Only reads?", blocks, action, "Do not ask again")


def _arguments(spec: ToolSpec) -> Iterator[Block]:
    properties = spec.schema.get("properties")
    found = list(properties.items()) if isinstance(properties, Mapping) else []
    if found:
        yield bullets(line(*_argument(str(name), about)) for name, about in found[:FEW])
    if len(found) > FEW:
        yield line(words(f"… and {len(found) - FEW:,} more", "italic"))
    if not found:
        yield line(words("Nothing", "italic"))


def _argument(name: str, about: object) -> Iterator[Block]:
    yield words(name, "bold", most=100)
    described = about.get("description") if isinstance(about, Mapping) else None
    if isinstance(described, str) and described:
        yield words(f": {described}", most=LINE)
