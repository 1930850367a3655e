"""What the result of a read says that its content is from: files, folders, and what these lie in."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from gate.arguments.declared_targets import Targets, with_folders
from gate.arguments.target_bounds import LONGEST_REPORTED
from gate.arguments.target_texts import touched
from gate.rules.action import Json
from gate.rules.templates import expand
from gate.rules.tool import Answer

SLASH = re.compile("/")
MOST_FILES = 3_000  # that are looked at for one result: 0.1 s where their names are plain


def found_files(targets: Targets, args: Mapping[str, Json], result: Json, text: str = "") -> tuple[str, ...]:
    """The files whose content is in the result of a read, or in its text, each once; also below the folder that the
    arguments name. Raises TemplateError where the text does not tell all of them."""
    paths = [
        path
        for name in targets.found
        for path in (_in_text(name, args, text) if "{" in name else _found(result, name.split(".")))
    ]
    names = dict.fromkeys(path for path in paths if isinstance(path, str))
    return with_folders(targets, args, names)


def found_in_answer(targets: Targets, args: Mapping[str, Json], answer: Answer) -> tuple[str, ...]:
    """The same of an answer. The text of a failure, which is in no certain form, tells none."""
    if answer.is_error:
        targets = replace(targets, found=tuple(name for name in targets.found if "{" not in name))
    return found_files(targets, args, answer.structured, answer.text)


def _in_text(template: str, args: Mapping[str, Json], text: str) -> Sequence[Json]:
    """What a template finds in the text of a result, beside which it may have the arguments."""
    found = expand(template, {"result": {**args, "text": text}})
    return found if isinstance(found, list) else [found]


def _found(value: Json, steps: Sequence[str]) -> Iterator[Json]:
    if not steps:
        yield value
        return
    name, listed, needed = steps[0].removesuffix("]").partition("[")
    inner = value.get(name) if isinstance(value, Mapping) else None
    for one in inner if listed and isinstance(inner, list) else [inner]:
        if not needed or (isinstance(one, Mapping) and one.get(needed) is not None):
            yield from _found(one, steps[1:])


def found_holders(targets: Targets, result: Json) -> tuple[str, ...]:
    """What the content of a result of a read lies in, as it says itself, each once."""
    return tuple(_texts(result, targets.found_in))


def entries(targets: Targets, result: Json) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """The names in each entry of the lists of a result that say what its content lies in, and its other words."""
    fields = [
        (name.split("."), of) for of, names in enumerate((targets.found_in, targets.words)) for name in names
    ]
    for first in dict.fromkeys(steps[0] for steps, _ in fields):
        below = [(steps[1:], of) for steps, of in fields if steps[0] == first]
        for entry in _found(result, [first]):
            texts = [
                (text, of) for steps, of in below for text in _found(entry, steps) if isinstance(text, str)
            ]
            yield [text for text, of in texts if not of and text], [text for text, of in texts if of and text]


def told_files(targets: Targets, result: Json) -> tuple[str, ...]:
    """The files of whose content a result of a read tells something, each once."""
    return tuple(_texts(result, targets.told))


def told_folders(targets: Targets, args: Mapping[str, Json], result: Json) -> tuple[str, ...]:
    """The folders of which a result of a read tells what is in them, below those that the arguments ask for; and all of
    them with a slash at their end, as a rule may say what is in one (`^private/`)."""
    asked = [path.rstrip("/") for path in touched(targets, args)]
    names = _texts(result, (*targets.told, *targets.listed))
    above = dict.fromkeys(islice((one for name in names for one in _folders_of(name)), MOST_FILES + 1))
    around = _folders_around(asked, sorted({len(one) for one in above}))
    below = [one for one in above if one and one not in around]
    inside = [*above, *(asked if names else ())]
    return tuple(dict.fromkeys([*below, *(f"{one}/" for one in inside if one.strip("./"))]))


def _folders_around(paths: Sequence[str], lengths: Sequence[int]) -> frozenset[str]:
    """The paths and the folders that they stand in, of those that have one of these lengths."""
    return frozenset(
        path[:length]
        for path in paths
        for length in lengths[: bisect(lengths, len(path))]
        if path[length : length + 1] in ("", "/")
    )


def _folders_of(name: str) -> Iterator[str]:
    """The folders that a name stands in; of one that is longer than is looked at the name alone, which is refused."""
    if len(name) > LONGEST_REPORTED:
        yield name
    else:
        yield from (name[: end.start()] for end in SLASH.finditer(name))


def _texts(result: Json, fields: Sequence[str]) -> dict[str, None]:
    found = (path for name in fields for path in _found(result, name.split(".")))
    return dict.fromkeys(path for path in found if isinstance(path, str) and path)
