"""Strict templates of recipes, such as `{args.path}`: filled from what is known, or an error.

Many servers answer with JSON as text: a step into a text goes on inside it, as in `{capture.issue.text.key}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from posixpath import normpath
from typing import TypeVar

from gate.rules.action import Json
from gate.rules.diffs import compared_files, differing_files, excerpted_files, patched_files, shown_files
from gate.rules.git_status import staged_files, to_be_committed, under_way
from gate.sentences.plurals import counted

PLACEHOLDER = re.compile(
    r"\{([a-z_][\w-]*(?:\.[\w$-]+|\[\d+\])*)(?:\|([a-z]+)(?::([a-z]+(?: [a-z]+)*))?)?\}", re.IGNORECASE
)
NAMED = ("display_name", "displayName", "name", "login")
MAX_NAMES = 12
EVERY_NAME = ("*", "*.*", "**", "**/*")  # patterns
# https://github.com/github/github-mcp-server/blob/main/pkg/github/repositories.go, get_file_contents
DOWNLOAD = re.compile(r"successfully downloaded text file \(SHA: ([0-9a-f]{40,64})\)[^\n]*\n(.*)", re.DOTALL)
STEP = re.compile(r"[^.\[\]]+")
_T = TypeVar("_T")


class TemplateError(Exception):
    """A template names something that is not there, or a filter that does not exist."""


class Unreadable(TemplateError):
    """A value is there, and its filter cannot take it apart."""


def human_size(count: int) -> str:
    """Bytes in words: 512 B, 1.2 KB (1 KB = 1,000 B), 3.4 MB."""
    if count < 1000:
        return f"{count} B"
    size = float(count)
    for unit in ("KB", "MB", "GB"):
        size /= 1000
        if size < 999.95 or unit == "GB":
            break
    return f"{size:.1f} {unit}"


def _last_part(value: Json) -> str:
    return str(value).rstrip("/").rsplit("/", 1)[-1]


def _folder(value: Json) -> str:
    """The last two parts of the path of a folder; of a repository of git without its `.git`."""
    parts = normpath(str(value).replace("\\", "/")).split("/")
    if len(parts) > 1 and parts[-1] == ".git":
        parts.pop()
    return "/".join(part for part in parts[-2:] if part not in ("", ".", ".."))


def _tree(value: Json) -> str:
    """The path in a revision of git, as in `HEAD:docs`; nothing where it is a whole commit."""
    revision, colon, path = str(value).partition(":")
    while colon and revision.count("{") > revision.count("}"):  # words in it, as in `HEAD^{/fix: it}:docs`
        more, colon, path = path.partition(":")
        revision += more
    return path


def _shown_files(value: Json) -> tuple[str, ...]:
    """The files of an answer about a revision of git, which stands beside its text."""
    if not isinstance(value, Mapping):
        raise ValueError("it is no answer about a revision")
    return shown_files(str(value.get("revision", "")), str(value.get("text", "")))


def _compared_files(value: Json) -> tuple[str, ...]:
    """The files of a difference to a target, which stands beside its text."""
    if not isinstance(value, Mapping):
        raise ValueError("it is no answer about a target")
    return compared_files(str(value.get("target", "")), str(value.get("text", "")))


def _people(value: Json) -> str:
    """The names in a list of people, as an issue tracker gives it."""
    found = value if isinstance(value, list) else [value]
    told = [str(next((one[k] for k in NAMED if one.get(k)), one)) if isinstance(one, dict) else str(one)
            for one in found if one]  # fmt: skip
    more = len(told) - MAX_NAMES
    return ", ".join(told[:MAX_NAMES]) + (f" and {more} others" if more > 0 else "") if told else "nobody"


def _rows(value: Json) -> str:
    """A list of things, one on a line with what is simple of each: `id 31, name Done`."""
    found = json.loads(value) if isinstance(value, str) else value
    lines = [
        ", ".join(f"{k} {v}" for k, v in one.items() if isinstance(v, str | int))
        if isinstance(one, dict)
        else str(one)
        for one in (found if isinstance(found, list) else [found])
    ]
    return "\n".join(lines)


def _search_text(args: Json) -> str:
    """What a search for files looks for: `“rent” in *.md`, `“rent”` in files of any name, or `*.md`."""
    if not isinstance(args, Mapping):
        raise ValueError("no arguments are given to it")
    pattern, contains = str(args.get("pattern", "*")), args.get("contains")
    if not contains:
        return pattern
    return f"“{contains}”" if pattern in EVERY_NAME else f"“{contains}” in {pattern}"


def _downloaded(value: Json) -> str:
    """The text of a file, as GitHub's own server gives it: below a line that names its SHA."""
    return _download(value)[2]


def _sha_of_download(value: Json) -> str:
    """The SHA that GitHub's own server names with the text of a file."""
    return _download(value)[1]


def _download(value: Json) -> re.Match[str]:
    found = DOWNLOAD.fullmatch(str(value))
    if found is None:
        raise ValueError("it is not the text of a file")
    return found


def _counted(value: Json, noun: str) -> str:
    """A number, or how many are in a list, with the noun: `1 row`, `2 rows`."""
    amount = len(value) if isinstance(value, list | dict) else value
    if not isinstance(amount, int):
        raise ValueError("it is neither a number nor a list")
    return counted(amount, noun)


def _paths(value: Json) -> list[Json]:
    """The lines that are absolute paths; none of a capture that found nothing there."""
    value = value.get("content", "") if isinstance(value, Mapping) else value
    return [line for line in str(value).split("\n") if line.startswith("/")]


FILTERS: dict[str, Callable[[Json], str]] = {
    "name": _last_part,
    "place": lambda v: (
        "all files" if v in (".", "") else v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)
    ),
    "size": lambda v: human_size(v if isinstance(v, int) else len(str(v).encode("utf-8", "surrogatepass"))),
    "count": lambda v: str(len(v) if isinstance(v, list | dict) else 1),
    "lines": lambda v: str(len(str(v).splitlines())),
    "people": _people,
    "rows": _rows,
    "sought": _search_text,
    "downloaded": _downloaded,
    "sha": _sha_of_download,
    "intact": lambda v: "" if "\ufffd" in str(v) else str(v),  # nothing where bytes were lost in reading
    "differing": lambda v: "\n".join(differing_files(str(v))),  # the files of a difference of git
    "patched": lambda v: "\n".join(
        patched_files(str(v))
    ),  # the same, of one that is git's own from the second line on
    "staged": lambda v: "\n".join(staged_files(str(v))),  # the files that a status of git says are staged
    "excerpted": lambda v: "\n".join(excerpted_files(str(v))),  # the files whose content JSON gives
    "shown": lambda v: "\n".join(_shown_files(v)),  # the files of what git shows of a revision
    "compared": lambda v: "\n".join(_compared_files(v)),  # the files of a difference to a target
    "paths": lambda v: "\n".join(map(str, _paths(v))),  # the absolute paths that stand on lines of their own
    "underway": lambda v: under_way(str(v)),  # what a status of git says is not finished
    "uncommitted": lambda v: to_be_committed(str(v)),  # what it says is staged
    "folder": _folder,
    "tree": _tree,
    "owner": lambda v: str(v).partition("/")[0],  # of a repository by its full name
    "body": lambda v: str(v).partition("\n\n")[2],  # what a mail says below its headers
    "json": lambda v: json.dumps(v, ensure_ascii=False, sort_keys=True),
}

LISTS: dict[str, Callable[[Json], list[Json]]] = {
    "differing": lambda v: list(differing_files(str(v))),
    "patched": lambda v: list(patched_files(str(v))),
    "staged": lambda v: list(staged_files(str(v))),
    "excerpted": lambda v: list(excerpted_files(str(v))),
    "shown": lambda v: list(_shown_files(v)),
    "compared": lambda v: list(_compared_files(v)),
    "paths": _paths,
}


def expand(template: Json, scope: Mapping[str, Json]) -> Json:
    """Fill a template, recursively. A string that is one placeholder keeps the type of its value, or is the list that
    its filter finds.

    Raises TemplateError naming what is missing.
    """
    if isinstance(template, Mapping):
        return {key: expand(value, scope) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [expand(value, scope) for value in template]
    if not isinstance(template, str):
        return template
    alone = PLACEHOLDER.fullmatch(template)
    if alone and not alone[2]:
        return look_up(alone[1], scope)
    if alone and alone[2] in LISTS:
        return _filtered(LISTS[alone[2]], alone, scope)
    return PLACEHOLDER.sub(lambda found: _text(found, scope), template)


def look_up(path: str, scope: Mapping[str, Json]) -> Json:
    """The value at `args.to[0].name`. Raises TemplateError."""
    value: Json = scope
    for found in STEP.finditer(path):
        step = found[0]
        try:
            inside = _parsed(value) if isinstance(value, str) else value
            value = inside[int(step)] if isinstance(inside, list) else inside[step]
        except (KeyError, IndexError, TypeError, ValueError, RecursionError):
            raise TemplateError(_lacking(path[: found.start()].rstrip(".["), step)) from None
    return value


@lru_cache(maxsize=1)  # a template may look up fifty places of one answer; nobody changes what is found
def _parsed(text: str) -> Json:
    return json.loads(text)


def _lacking(place: str, step: str) -> str:
    """A sentence for people: what is missing at this place of the values that templates are filled with."""
    whose = {
        "args": "the arguments have",
        "capture": "what was read for it first has",
        "result": "the answer of the tool has",
    }
    return f"{whose.get(place.partition('.')[0].partition('[')[0], f'“{place}” has')} no “{step}”"


def _text(found: re.Match[str], scope: Mapping[str, Json]) -> str:
    if found[2]:
        return _filtered(_filter_of(found), found, scope)
    value = look_up(found[1], scope)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _filter_of(found: re.Match[str]) -> Callable[[Json], str]:
    """The filter of a placeholder, with its noun where it takes one. Raises TemplateError."""
    if found[2] == "counted" and found[3]:
        return lambda value: _counted(value, found[3])
    if found[2] not in FILTERS or found[3]:
        raise TemplateError(f"{found[0]}: there is no filter “{found[0].partition('|')[2][:-1]}”")
    return FILTERS[found[2]]


def _filtered(change: Callable[[Json], _T], found: re.Match[str], scope: Mapping[str, Json]) -> _T:
    value = look_up(found[1], scope)
    try:
        return change(value)
    except RecursionError:
        raise TemplateError(f"{found[0]} cannot be shown: it is too deep") from None
    except (ValueError, OverflowError) as error:  # a number that no unit holds, or nobody could print
        raise Unreadable(f"{found[0]} cannot be shown: {error}") from None


def names(template: Json) -> set[tuple[str, ...]]:
    """Every name a template needs, as paths, so that a recipe can be checked when it is loaded.

    Raises TemplateError for a filter that does not exist.
    """
    if isinstance(template, Mapping):
        return set().union(*(names(value) for value in template.values()))
    if isinstance(template, list | tuple):
        return set().union(*(names(value) for value in template))
    if not isinstance(template, str):
        return set()
    for found in PLACEHOLDER.finditer(template):
        if found[2]:
            _filter_of(found)
    return {tuple(STEP.findall(found[1])) for found in PLACEHOLDER.finditer(template)}


def holds(condition: str, scope: Mapping[str, Json]) -> bool:
    """Whether the one placeholder of a condition is there and true."""
    try:
        return bool(expand(condition, scope))
    except TemplateError:
        return False
