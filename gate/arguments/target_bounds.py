"""How many targets a call may have, and how deep and how many names are looked for: what is more is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

from gate.arguments.canonical_paths import named_below
from gate.arguments.declared_targets import Targets
from gate.arguments.form_count import PER_PLACE, count_without_texts, too_many_forms
from gate.arguments.holders import lie_in_too_much
from gate.arguments.json_texts import is_json, is_too_deep
from gate.arguments.target_texts import (
    arguments_of,
    is_prose,
    paths_and_holders,
    target_texts,
    with_parsed_json,
)
from gate.arguments.text_forms import (
    PLAIN,
    Forms,
    address,
    names_beyond,
    names_too_many_files,
    path_variants,
)
from gate.rules.action import Json

# Characters of one target that a read reports, as of a path, and of all those that are not plain
LONGEST_REPORTED, MOST_REPORTED, MOST_NAMES_REPORTED = 4_096, 64 * 1024, 3_000
MOST_TARGETS = 2_000  # that a call declares: each rule goes over them, in 5 milliseconds


def is_beyond_search(targets: Targets | None, args: Json) -> bool:
    """Whether nobody knows all that arguments say: they hold JSON in more layers of texts, or with more levels, than
    are gone through, or name more files in one text than are looked at. Of those that hold words only JSON as a whole
    counts, since only that is opened."""
    if not isinstance(args, Mapping):
        return False
    if any(names_too_many_files(text) for text, of in target_texts(targets, args) if of is not address):
        return True
    if targets is not None:
        return False
    opened = (
        value for key, value in args.items() if not is_prose(key, value) or is_json(value, too_deep=True)
    )
    return any(map(is_too_deep, opened))


def has_names_beyond(targets: Targets | None, args: Json) -> bool:
    """Whether some text among the arguments holds more names than have forms, which a schema sees."""
    return isinstance(args, Mapping) and any(
        names_beyond(text) for text, of in target_texts(targets, args) if of is not address
    )


def too_many_targets(targets: Targets | None, args: Json, given: Iterable[Json] = ()) -> bool:
    """Whether the targets among the arguments have more forms, or stand for more names, than one call may have.

    `given`: the arguments in each way of which other forms are made; it is gone through no further than needed.
    """
    if not isinstance(args, Mapping):
        return False
    if targets and _are_too_long(targets.resolved_to):
        return True
    if targets and _lie_in_too_much(targets, args):
        return True
    if targets and len(target_texts(targets, args)) > MOST_TARGETS:
        return True
    reported = targets.resolved_to if targets else ()
    told = [(one, of) for one in reported for of in (path_variants, address)]
    others = (one for one in given if one is not args and isinstance(one, Mapping))
    copied = (_texts_and_places(targets, one) for one in chain([args], others))
    return too_many_forms(chain([(told, len(told))] if told else [], copied))


def _texts_and_places(
    targets: Targets | None, args: Mapping[str, Json]
) -> tuple[Collection[tuple[str, Forms]], int]:
    """The targets among the arguments, each once, and in how many places of each form they and other values stand: each
    of these gets a copy."""
    opened = with_parsed_json(args) if targets is None else args
    both = (args,) if opened is args else (args, opened)
    found = [target_texts(targets, one) for one in both]
    copied = both if targets is None else ([args.get(name) for name in arguments_of(targets)],)
    places = max(map(len, found)) + max(map(count_without_texts, copied)) // PER_PLACE
    return dict.fromkeys(one for each in found for one in each), places


def _lie_in_too_much(targets: Targets, args: Mapping[str, Json]) -> bool:
    paths, inside = paths_and_holders(targets, args)
    return lie_in_too_much((*paths, *named_below(paths, targets.roots)), inside, targets.resolved_in)


def _are_too_long(reported: Sequence[str]) -> bool:
    """Whether what a read reports is more, or longer, than what one call names: an answer has 256 K characters, of
    which the forms are 18 times as many."""
    if len(reported) > MOST_NAMES_REPORTED or any(len(one) > LONGEST_REPORTED for one in reported):
        return True
    return sum(len(one) for one in reported if not PLAIN.fullmatch(one)) > MOST_REPORTED
